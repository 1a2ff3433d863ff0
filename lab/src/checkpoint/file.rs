//! A checkpoint's file: a line of JSON that says what it is, and compressed sections with checksums.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hps_system::process::{Process, ProcessConfig};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{CheckpointsError, Store};
use crate::VERSION;

/// The version of the format.
pub const FORMAT: u32 = 1;
/// The first line.
const MAGIC: &str = "hps checkpoint";
/// The end of the names of checkpoints.
const SUFFIX: &str = "checkpoint";
/// Bytes of the lines before the sections at most.
const MOST_HEADER_BYTES: u64 = 16 << 20;

/// Header of a checkpoint: its second line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of the lab.
    pub version: String,
    /// SHA-256 of the command that has written it: states have the layout of one build.
    pub build: String,
    /// Instructions of the program before it.
    pub instructions: u64,
    /// Cycles before it, in a timed run.
    pub cycles: Option<u64>,
    /// The settings of the run, which determine its state.
    pub run: Value,
    /// The command.
    pub about: Value,
    sections: Vec<Section>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Section {
    name: String,
    /// Bytes in the file, and unpacked.
    stored_bytes: u64,
    bytes: u64,
    /// CRC-32 of the bytes in the file.
    crc32: u32,
}

impl Header {
    pub(crate) fn new(
        instructions: u64,
        cycles: Option<u64>,
        run: &Value,
        about: &Value,
    ) -> Header {
        Header {
            format: FORMAT,
            version: VERSION.to_owned(),
            build: BUILD.clone(),
            instructions,
            cycles,
            run: run.clone(),
            about: about.clone(),
            sections: Vec::new(),
        }
    }
}

/// SHA-256 of the command that runs.
static BUILD: LazyLock<String> = LazyLock::new(|| {
    let read = std::env::current_exe().and_then(std::fs::read);
    let digest = Sha256::digest(read.unwrap_or_default());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
});

/// A checkpoint of a folder, with its header read.
#[derive(Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    /// The header.
    pub header: Header,
    /// Where the sections begin.
    sections_at: u64,
}

/// The name of the checkpoint behind so many instructions.
pub(crate) fn name_of(instructions: u64) -> String {
    format!("{instructions:015}.{SUFFIX}")
}

/// Writes a checkpoint, or another file of its format.
pub(crate) fn write(
    path: PathBuf,
    mut header: Header,
    sections: &[(&str, Vec<u8>)],
) -> Result<PathBuf, CheckpointsError> {
    let host = |cause| CheckpointsError::Host {
        path: path.clone(),
        cause,
    };
    let mut packed = Vec::new();
    for (name, bytes) in sections {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).map_err(host)?;
        let stored = encoder.finish().map_err(host)?;
        header.sections.push(Section {
            name: (*name).to_owned(),
            stored_bytes: stored.len() as u64,
            bytes: bytes.len() as u64,
            crc32: crc32fast::hash(&stored),
        });
        packed.push(stored);
    }
    let line = serde_json::to_string(&header).map_err(|cause| host(cause.into()))?;
    let crc = crc32fast::hash(line.as_bytes());
    let mut content = format!("{MAGIC}\n{line}\n{crc:08x}\n").into_bytes();
    packed.iter().for_each(|stored| content.extend(stored));
    write_whole(&path, &content)?;
    Ok(path)
}

/// Writes a file so that it has its name only once all of it is on disk.
pub(super) fn write_whole(path: &Path, content: &[u8]) -> Result<(), CheckpointsError> {
    // Files of several kinds have one number, and threads write them side by side.
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let written = || {
        let mut file = File::create(&unfinished)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    written().map_err(|cause| CheckpointsError::Host {
        path: path.to_owned(),
        cause,
    })
}

impl CheckpointFile {
    /// Opens a checkpoint: a file, or the last whole one of a folder.
    ///
    /// # Errors
    /// There is none, or it is damaged, or another build has written it.
    pub fn open(path: &Path) -> Result<CheckpointFile, CheckpointsError> {
        if !path.is_dir() {
            return CheckpointFile::read(path);
        }
        let mut names = checkpoints_in(path)?;
        let Some(last) = names.pop() else {
            return Err(CheckpointsError::Unusable {
                path: path.to_owned(),
                problem: format!("the folder has no checkpoint (*.{SUFFIX})"),
            });
        };
        // The newest may be damaged: an older one does as well.
        CheckpointFile::read(&last).or_else(|problem| {
            let older = names.iter().rev();
            let mut read = older.filter_map(|path| CheckpointFile::read(path).ok());
            read.next().ok_or(problem)
        })
    }

    fn read(path: &Path) -> Result<CheckpointFile, CheckpointsError> {
        let host = |cause| CheckpointsError::Host {
            path: path.to_owned(),
            cause,
        };
        let unusable = |problem: String| CheckpointsError::Unusable {
            path: path.to_owned(),
            problem,
        };
        let damaged = || unusable("the file is no checkpoint, or its head is damaged".to_owned());
        let file = File::open(path).map_err(host)?;
        let len = file.metadata().map_err(host)?.len();
        let mut head = Vec::new();
        file.take(MOST_HEADER_BYTES)
            .read_to_end(&mut head)
            .map_err(host)?;
        let mut lines = head.splitn(4, |&byte| byte == b'\n');
        let (magic, line, crc) = (lines.next(), lines.next(), lines.next());
        if magic != Some(MAGIC.as_bytes()) {
            return Err(unusable("the file is no checkpoint of hps".to_owned()));
        }
        let (Some(line), Some(crc)) = (line, crc) else {
            return Err(damaged());
        };
        if crc != format!("{:08x}", crc32fast::hash(line)).as_bytes() {
            return Err(damaged());
        }
        let value: Value = serde_json::from_slice(line).map_err(|_| damaged())?;
        if value["format"] != FORMAT {
            let format = &value["format"];
            return Err(unusable(format!(
                "the checkpoint has format {format}, and this version of hps reads format {FORMAT}: use the version that \
                 wrote it, {}",
                value["version"]
            )));
        }
        let header: Header = serde_json::from_value(value).map_err(|_| damaged())?;
        if header.build != *BUILD {
            return Err(unusable(format!(
                "another build of hps {} has written the checkpoint; only that build reads it: run the program again",
                header.version
            )));
        }
        let sections_at = (MAGIC.len() + 1 + line.len() + 1 + crc.len() + 1) as u64;
        let sections = header.sections.iter();
        let end = sections.fold(sections_at, |end, one| end.saturating_add(one.stored_bytes));
        if end != len {
            return Err(unusable(format!(
                "the file is cut: it has {len} bytes, and its head says {end}"
            )));
        }
        Ok(CheckpointFile {
            path: path.to_owned(),
            header,
            sections_at,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the checkpoint and of the pages that it refers to.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// Unpacks a section.
    pub(crate) fn section(&self, name: &str) -> Result<Vec<u8>, CheckpointsError> {
        use std::os::unix::fs::FileExt;
        let unusable = |problem: &str| CheckpointsError::Unusable {
            path: self.path.clone(),
            problem: format!("the section {name} {problem}"),
        };
        let mut at = self.sections_at;
        for section in &self.header.sections {
            if section.name != name {
                at += section.stored_bytes;
                continue;
            }
            let mut stored = vec![0; section.stored_bytes as usize];
            let file = File::open(&self.path);
            let read = file.and_then(|file| file.read_exact_at(&mut stored, at));
            read.map_err(|cause| CheckpointsError::Host {
                path: self.path.clone(),
                cause,
            })?;
            if crc32fast::hash(&stored) != section.crc32 {
                return Err(unusable("is damaged (its checksum differs)"));
            }
            let mut bytes = Vec::new();
            let mut decoder = ZlibDecoder::new(&stored[..]).take(section.bytes + 1);
            let unpacked = decoder.read_to_end(&mut bytes);
            return match unpacked {
                Ok(count) if count as u64 == section.bytes => Ok(bytes),
                _ => Err(unusable("cannot be unpacked")),
            };
        }
        Err(unusable("is missing"))
    }

    /// The processes of all contexts.
    pub(crate) fn processes(
        &self,
        config: &ProcessConfig,
    ) -> Result<Vec<Process>, CheckpointsError> {
        let store = Store::read(self.folder())?;
        let bytes = self.section("processes")?;
        Ok(Process::load(&bytes, config, Box::new(store))?)
    }

    /// Refuses a run with other settings.
    pub(crate) fn check_run(&self, run: &Value) -> Result<(), CheckpointsError> {
        let empty = serde_json::Map::new();
        let before = self.header.run.as_object().unwrap_or(&empty);
        let now = run.as_object().unwrap_or(&empty);
        let names = before.keys().chain(now.keys());
        for name in names {
            let (before, now) = (before.get(name), now.get(name));
            if before != now {
                let shown = |value: Option<&Value>| match value {
                    None | Some(Value::Null) => "none".to_owned(),
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                };
                return Err(CheckpointsError::OtherRun {
                    path: self.path.clone(),
                    what: name.clone(),
                    before: shown(before),
                    now: shown(now),
                });
            }
        }
        Ok(())
    }
}

/// The checkpoints of a folder, in the order of the run.
fn checkpoints_in(folder: &Path) -> Result<Vec<PathBuf>, CheckpointsError> {
    let host = |cause| CheckpointsError::Host {
        path: folder.to_owned(),
        cause,
    };
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(host)? {
        let path = entry.map_err(host)?.path();
        if path.extension().is_some_and(|ending| ending == SUFFIX) {
            all.push(path);
        }
    }
    all.sort_unstable();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_number_are_written_side_by_side() {
        let folder = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            for kind in ["pack", "slice"] {
                let path = folder.path().join(format!("000001.{kind}"));
                scope.spawn(move || {
                    for _ in 0..50 {
                        write_whole(&path, kind.as_bytes()).expect("written");
                        assert_eq!(std::fs::read(&path).expect("read"), kind.as_bytes());
                    }
                });
            }
        });
    }
}
