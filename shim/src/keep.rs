//! Files of raw samples: 8 bytes of magic, the number of counters, then each sample's words, little
//! endian.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::ShimError;
use crate::sample::{MAX_COUNTERS, Sample};

const MAGIC: &[u8; 8] = b"HPSSMPL1";
const FIXED_WORDS: usize = 4;

/// Writes samples to a file.
#[derive(Debug)]
pub struct Keeper {
    path: PathBuf,
    counters: usize,
    file: BufWriter<File>,
}

impl Keeper {
    /// Makes the file.
    ///
    /// # Errors
    /// [`ShimError::Write`].
    pub fn create(path: &Path, counters: usize) -> Result<Self, ShimError> {
        let fail = |source| ShimError::Write {
            path: path.to_owned(),
            source,
        };
        let counters = counters.min(MAX_COUNTERS);
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(fail)?);
        file.write_all(MAGIC).map_err(fail)?;
        file.write_all(&(counters as u64).to_le_bytes())
            .map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            counters,
            file,
        })
    }

    /// Appends samples.
    ///
    /// # Errors
    /// [`ShimError::Write`].
    pub fn write(&mut self, samples: &[Sample]) -> Result<(), ShimError> {
        let mut write = || -> std::io::Result<()> {
            for sample in samples {
                for word in [sample.start, sample.end, sample.thread, sample.tag] {
                    self.file.write_all(&word.to_le_bytes())?;
                }
                for word in &sample.counters[..self.counters] {
                    self.file.write_all(&word.to_le_bytes())?;
                }
            }
            Ok(())
        };
        write().map_err(|source| ShimError::Write {
            path: self.path.clone(),
            source,
        })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// [`ShimError::Write`].
    pub fn finish(mut self) -> Result<(), ShimError> {
        self.file.flush().map_err(|source| ShimError::Write {
            path: self.path,
            source,
        })
    }
}

/// Reads a file of samples, with the number of their counters.
///
/// # Errors
/// [`ShimError::BadSamples`] if it is none, or ends within a sample.
pub fn read_samples(path: &Path) -> Result<(usize, Vec<Sample>), ShimError> {
    let bad = |why: String| ShimError::BadSamples {
        path: path.to_owned(),
        why,
    };
    let file = File::open(path).map_err(|e| bad(e.to_string()))?;
    let mut bytes = Vec::new();
    BufReader::new(file)
        .read_to_end(&mut bytes)
        .map_err(|e| bad(e.to_string()))?;
    let body = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| bad("it begins with something else".to_owned()))?;
    let words: Vec<u64> = body
        .chunks_exact(8)
        .map(|bytes| bytes.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b)))
        .collect();
    let counters = words.first().map_or(usize::MAX, |&n| n as usize);
    if counters > MAX_COUNTERS {
        return Err(bad("its number of counters is impossible".to_owned()));
    }
    let records = words[1..].chunks_exact(FIXED_WORDS + counters);
    if !records.remainder().is_empty() || body.len() % 8 != 0 {
        return Err(bad("it ends within a sample".to_owned()));
    }
    let samples = records.map(|words| {
        let mut sample = Sample {
            start: words[0],
            end: words[1],
            thread: words[2],
            tag: words[3],
            ..Sample::default()
        };
        sample.counters[..counters].copy_from_slice(&words[FIXED_WORDS..]);
        sample
    });
    Ok((counters, samples.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_back_and_damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.samples");
        let samples: Vec<Sample> = (0..100)
            .map(|i| Sample {
                start: i << 40,
                end: (i << 40) + 9,
                thread: 7,
                tag: u64::MAX - i,
                counters: [i, 2 * i, 0, 0, 0, 0, 0, 0],
            })
            .collect();
        let mut keeper = Keeper::create(&path, 2).unwrap();
        keeper.write(&samples[..40]).unwrap();
        keeper.write(&samples[40..]).unwrap();
        keeper.finish().unwrap();
        assert_eq!(read_samples(&path).unwrap(), (2, samples));
        let whole = std::fs::read(&path).unwrap();
        for cut in [3, 12, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(matches!(
                read_samples(&path),
                Err(ShimError::BadSamples { .. })
            ));
        }
    }
}
