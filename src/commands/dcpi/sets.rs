//! Samples of a database with the objects that they are of.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use hps_dcpi::database::{Contents, Database, Header, Places, Stored, UNKNOWN};
use hps_dcpi::report::{Line, by_procedure};
use hps_dcpi::samples::Event;
use hps_lab::{Program, VERSION};
use hps_system::image::{FileReader, Isa, ProgramImage};
use hps_workloads::sha256_hex;

use super::args::SetArgs;

/// Digits of a hash that are shown.
const SHORT_HASH: usize = 12;

/// Samples with their object.
pub(super) struct Set {
    pub stored: Stored,
    /// `None`: code outside of all objects.
    pub image: Option<Arc<ProgramImage>>,
}

impl Set {
    pub fn image(&self) -> Option<&ProgramImage> {
        self.image.as_deref()
    }

    pub fn name(&self) -> &str {
        &self.stored.header.image
    }

    /// Samples by procedure, the most first.
    pub fn by_procedure(&self, events: &[Event]) -> Vec<Line> {
        by_procedure(self.image(), self.name(), &self.stored.samples, events)
    }

    /// Samples of cycles in the code of a procedure.
    pub fn cycles_within(&self, range: std::ops::Range<u64>) -> u64 {
        let cycles = self.stored.samples.of(Event::Cycles);
        cycles.map_or(0, |cycles| cycles.within(range))
    }

    /// Name and hash, by which `--program` chooses it.
    fn label(&self) -> String {
        let header = &self.stored.header;
        let hash = header.image_hash.chars().take(SHORT_HASH);
        format!("{} ({})", header.image, hash.collect::<String>())
    }
}

/// The contents of some epochs. Damaged files are told.
pub(super) fn contents(folder: &Path, epochs: &[u32]) -> anyhow::Result<Contents> {
    let contents = Database::open(folder)?.read(epochs)?;
    for (path, damage) in &contents.damaged {
        say!("hps: {}: passed over: {damage}", path.display());
    }
    Ok(contents)
}

/// Whether `--program` names an object: by its path, the last part of it, or the beginning of its hash or build id.
fn is_named(header: &Header, wanted: &str) -> bool {
    let begins = |id: &str| !wanted.is_empty() && id.starts_with(wanted);
    let file_name = header.image.rsplit('/').next();
    header.image == wanted
        || file_name == Some(wanted)
        || begins(&header.image_hash)
        || header.build_id.as_deref().is_some_and(begins)
}

/// All samples that the options name, each with its object.
pub(super) fn sets(args: &SetArgs) -> anyhow::Result<Vec<Set>> {
    let mut found = Vec::new();
    let mut names = Vec::new();
    let folder = &args.db[0];
    let database = Database::open(folder)?;
    for stored in contents(folder, &args.epoch)?.images {
        let header = &stored.header;
        names.push(header.image.clone());
        let wanted = args.program.as_deref();
        if wanted.is_none_or(|wanted| is_named(header, wanted)) {
            found.push(Set {
                image: object(&database, header)?,
                stored,
            });
        }
    }
    if found.is_empty() {
        names.dedup();
        match &args.program {
            Some(wanted) if !names.is_empty() => bail!(
                "--program {wanted}: the database has samples of {}",
                names.join(", ")
            ),
            _ => bail!("{}: no samples are there", folder.display()),
        }
    }
    Ok(found)
}

/// The sets that the options name, if their samples stand for equal periods on one machine.
pub(super) fn comparable(args: &SetArgs) -> anyhow::Result<Vec<Set>> {
    let found = sets(args)?;
    let first = &found[0].stored.header;
    let fits = |set: &Set| {
        let header = &set.stored.header;
        let period = |set: &Set| set.stored.samples.of(Event::Cycles).map(|c| c.period);
        header.machine == first.machine && period(set) == period(&found[0])
    };
    if !found.iter().all(fits) {
        bail!(
            "samples of several machines or periods are there: choose with --program or --epoch among {}",
            labels(&found)
        );
    }
    Ok(found)
}

/// The one set that the options name.
pub(super) fn only(args: &SetArgs) -> anyhow::Result<Set> {
    let mut found = sets(args)?;
    if found.len() > 1 {
        bail!(
            "samples of several objects or periods are there: choose with --program or --epoch among {}",
            labels(&found)
        );
    }
    found.pop().context("no samples are there")
}

/// Names and hashes of sets, for a choice among them.
pub(super) fn labels<'a>(sets: impl IntoIterator<Item = &'a Set>) -> String {
    let labels: Vec<String> = sets.into_iter().map(Set::label).collect();
    labels.join(", ")
}

/// The object that samples are of, if its file is still the same one; `None` of code outside of all objects.
fn object(database: &Database, header: &Header) -> anyhow::Result<Option<Arc<ProgramImage>>> {
    if header.version != VERSION {
        say!(
            "hps: the samples of {} were made by version {}; this is {VERSION}",
            header.image,
            header.version
        );
    }
    if header.image_hash.is_empty() && header.image == UNKNOWN {
        return Ok(None);
    }
    let kept = database.kept(&header.image_hash);
    let image = match header.places {
        Places::Running => Program::find(&header.image, Isa::from_name(&header.isa))?.image,
        Places::File if kept.exists() => Arc::new(ProgramImage::look_at(&kept, None)?),
        Places::File => Arc::new(file_of(header)?),
    };
    if image.hash != header.image_hash && sha256_hex(needed(&image)) != header.image_hash {
        bail!(
            "{}: it is not the file of the database any more: its file has changed; collect again, or choose another object \
             with --program",
            header.image
        );
    }
    Ok(Some(image))
}

/// The bytes of a file that a run reads: of a program with data behind it, those that its headers name.
fn needed(image: &ProgramImage) -> &[u8] {
    let bytes = image.bytes();
    let read = |buffer: &mut [u8], at: u64| {
        let end = (at as usize).checked_add(buffer.len());
        let part = end.and_then(|end| bytes.get(at as usize..end)).ok_or(())?;
        buffer.copy_from_slice(part);
        Ok::<(), ()>(())
    };
    let needed = ProgramImage::needed_bytes(bytes, bytes.len() as u64, read);
    needed.map_or(bytes, |needed| &bytes[..needed as usize])
}

/// The file of an object where it was sampled.
fn file_of(header: &Header) -> anyhow::Result<ProgramImage> {
    let path = Path::new(&header.image);
    match &header.root {
        Some(root) => {
            let reader = FileReader::under(root.as_ref());
            let reader = reader.with_context(|| format!("{root}: the root of {}", header.image))?;
            let image = ProgramImage::look_at(path, Some(&reader));
            image.with_context(|| format!("it was sampled below {root}"))
        }
        None if path.is_absolute() => Ok(ProgramImage::look_at(path, None)?),
        None => {
            let program = Program::find(&header.image, Isa::from_name(&header.isa))?;
            Ok(ProgramImage::look_into(
                program.image.bytes(),
                &header.image,
            )?)
        }
    }
}
