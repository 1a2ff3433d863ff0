//! A file of the database: a header in JSON, samples as differences of addresses and counts, a checksum.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `HPSDCPI` and the number of the format |
//! | 4 | length of the header, little endian |
//! | so many | the header |
//! | some | the number of addresses; for each in ascending order its distance from the one before and its samples |
//! | to the last four | for each edge in the order of its ends: the distance of its begin from the one before, its end and its samples |
//! | 4 | CRC-32 of all bytes before it, little endian |
//!
//! Numbers of the lists have seven bits a byte. Formats 1 and 2 are read, too: their headers have neither `build_id`, `root`
//! nor `places`, their addresses are those of the running program, and format 1 has neither the number of addresses nor
//! edges.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::DatabaseError;
use crate::samples::{Counts, Event, Range};

/// The number of the format.
pub const FORMAT: u8 = 3;

/// The number of the format with addresses of the running program.
const OF_PROGRAMS: u8 = 2;

/// The number of the format without edges.
const WITHOUT_EDGES: u8 = 1;

const MAGIC: &[u8; 7] = b"HPSDCPI";

/// Image of samples in code outside of all objects, such as code that a compiler has made while the program ran.
pub const UNKNOWN: &str = "unknown";

/// Addresses at which a file has samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Places {
    /// Addresses of the running program: formats 1 and 2.
    #[default]
    Running,
    /// Addresses that the file of the object says, wherever it was loaded.
    File,
}

/// Description of the samples of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Name of the object: a program that comes with the project, or the path of a program or library; [`UNKNOWN`].
    pub image: String,
    /// SHA-256 of its file, hexadecimal; empty of [`UNKNOWN`].
    pub image_hash: String,
    /// The linker's name for the bytes of the file, hexadecimal, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// The folder of the host below which `image` is a path; `None`: it is one of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Addresses of the samples.
    #[serde(default)]
    pub places: Places,
    /// Instruction set of the program.
    pub isa: String,
    /// The machine, with every key.
    pub machine: String,
    /// Name of the machine.
    pub machine_name: String,
    /// The version that made the samples.
    pub version: String,
    /// Event that was counted.
    pub event: Event,
    /// Between two samples.
    pub period: Range,
}

impl Places {
    fn text(self) -> String {
        match self {
            Places::Running => "of the running program (format 2)".to_owned(),
            Places::File => format!("of its file (format {FORMAT})"),
        }
    }
}

impl Header {
    /// Name of the file of its image and event.
    #[must_use]
    pub fn file_name(&self) -> String {
        let name = Path::new(&self.image).file_name();
        let name = name.map_or_else(|| "program".into(), |n| n.to_string_lossy());
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '_'
            }
        };
        let name: String = name.chars().take(60).map(plain).collect();
        let hash: String = self.image_hash.chars().take(12).collect();
        let dash = if hash.is_empty() { "" } else { "-" };
        format!("{name}{dash}{hash}.{}", self.event.name())
    }

    /// Whether samples of the two may be looked at together: same image, machine and version.
    pub(super) fn is_of_same_run(&self, other: &Header) -> bool {
        (&self.image_hash, self.places) == (&other.image_hash, other.places)
            && self.machine == other.machine
            && self.version == other.version
    }

    /// Whether samples may be added to those of a file.
    pub(super) fn check_against(&self, there: &Header, path: &Path) -> Result<(), DatabaseError> {
        let short = |text: &str| text.chars().take(12).collect::<String>();
        let period = |r: Range| format!("{} to {}", r.least, r.most);
        let differs = [
            ("image", short(&there.image_hash), short(&self.image_hash)),
            ("version", there.version.clone(), self.version.clone()),
            (
                "machine",
                there.machine_name.clone(),
                self.machine_name.clone(),
            ),
            ("period", period(there.period), period(self.period)),
            ("addresses", there.places.text(), self.places.text()),
        ];
        let same_machine = there.machine == self.machine;
        let found = differs
            .into_iter()
            .find(|(what, theirs, ours)| theirs != ours || *what == "machine" && !same_machine);
        match found {
            None => Ok(()),
            Some((what, theirs, ours)) => Err(DatabaseError::Other {
                path: path.display().to_string(),
                what,
                ours: if theirs == ours {
                    format!("another description of {ours}")
                } else {
                    ours
                },
                theirs,
            }),
        }
    }
}

/// Why a file cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Damage {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] std::sync::Arc<io::Error>),
    /// The file is none of a database, or has another format.
    #[error("it is no file of samples of format {FORMAT} or older")]
    Format,
    /// The checksum is wrong.
    #[error("its checksum is wrong")]
    Checksum,
    /// The content contradicts itself.
    #[error("its {0} is damaged")]
    Content(&'static str),
}

impl Damage {
    fn unreadable(error: io::Error) -> Damage {
        Damage::Unreadable(std::sync::Arc::new(error))
    }
}

/// Writes samples in the place of the file that is there, which stays if anything fails.
pub(super) fn write(path: &Path, header: &Header, counts: &Counts) -> io::Result<()> {
    replace(path, &encode(header, counts)?)
}

/// Writes bytes in the place of the file that is there, which stays if anything fails.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = beside(path, "new");
    let written = || {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    written().inspect_err(|_| {
        // An incomplete file is of no use, and a failure to remove it changes nothing.
        let _ = fs::remove_file(&temporary);
    })
}

/// The path of a file beside another one: its name with one more ending.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn encode(header: &Header, counts: &Counts) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(header)?;
    let mut bytes = MAGIC.to_vec();
    bytes.push(FORMAT);
    bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&json);
    number(counts.by_pc.len() as u64, &mut bytes);
    let mut last = 0;
    for (&pc, &count) in &counts.by_pc {
        number(pc - last, &mut bytes);
        number(count, &mut bytes);
        last = pc;
    }
    last = 0;
    for (&(from, to), &count) in &counts.by_edge {
        number(from - last, &mut bytes);
        number(to, &mut bytes);
        number(count, &mut bytes);
        last = from;
    }
    let sum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

/// A number, seven bits a byte, the lowest first; the upper bit says that more follow.
fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part {
            return None;
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<(Header, Counts), Damage> {
    decode(&fs::read(path).map_err(Damage::unreadable)?)
}

fn decode(bytes: &[u8]) -> Result<(Header, Counts), Damage> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(Damage::Format)?;
    let (&format, rest) = rest.split_first().ok_or(Damage::Format)?;
    if !matches!(format, WITHOUT_EDGES | OF_PROGRAMS | FORMAT) {
        return Err(Damage::Format);
    }
    let (body, sum) = bytes
        .split_at_checked(bytes.len() - 4)
        .ok_or(Damage::Checksum)?;
    if crc32fast::hash(body).to_le_bytes() != sum {
        return Err(Damage::Checksum);
    }
    let rest = &rest[..rest.len() - 4];
    let (length, rest) = rest.split_at_checked(4).ok_or(Damage::Content("length"))?;
    let length = length.try_into().map_err(|_| Damage::Content("length"))?;
    let length = u32::from_le_bytes(length) as usize;
    let (json, mut rest) = rest
        .split_at_checked(length)
        .ok_or(Damage::Content("header"))?;
    let header: Header = serde_json::from_slice(json).map_err(|_| Damage::Content("header"))?;
    let counts = take_counts(&mut rest, format, header.period);
    Ok((header, counts.ok_or(Damage::Content("list of samples"))?))
}

fn take_counts(rest: &mut &[u8], format: u8, period: Range) -> Option<Counts> {
    let mut counts = Counts::new(period);
    let addresses = match format {
        WITHOUT_EDGES => u64::MAX,
        _ => take_number(rest)?,
    };
    let mut pc = 0_u64;
    while (counts.by_pc.len() as u64) < addresses {
        if format == WITHOUT_EDGES && rest.is_empty() {
            break;
        }
        pc = pc.checked_add(take_number(rest)?)?;
        counts.by_pc.insert(pc, take_number(rest)?);
    }
    let mut from = 0_u64;
    while !rest.is_empty() {
        from = from.checked_add(take_number(rest)?)?;
        let edge = (from, take_number(rest)?);
        counts.by_edge.insert(edge, take_number(rest)?);
    }
    Some(counts)
}
