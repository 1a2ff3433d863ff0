//! The store of pages that the checkpoints of a folder share.
//!
//! Each checkpoint adds a *pack* with the chunks that no earlier one had. A pack is compressed in frames, so that pages
//! that are alike share their compression, and ends with the hashes of its chunks.

use std::any::Any;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hps_isa::chunks::{CHUNK_BYTES, Chunks};
use rustc_hash::FxHashMap;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use super::CheckpointsError;
use super::file::write_whole;

/// Chunks of a frame.
const FRAME_CHUNKS: usize = 64;
/// The end of the names of packs.
const SUFFIX: &str = "pages";
const MAGIC: &[u8; 8] = b"hpspages";
/// The last bytes of a pack: number of chunks, where the index begins, its CRC-32, and [`MAGIC`].
const TRAILER_BYTES: usize = 8 + 8 + 4 + 8;
/// The file that is locked by the command that writes into a folder.
pub(crate) const LOCK: &str = "lock";

/// Half of the SHA-256 of a chunk.
type Hash = [u8; 16];

/// A store of chunks in a folder.
pub struct Store {
    folder: PathBuf,
    /// Keeps other commands from writing.
    _lock: Option<Held>,
    packs: Vec<Pack>,
    /// Numbers of chunks: the pack in the upper half, the place in it in the lower.
    known: FxHashMap<Hash, u64>,
    growing: Growing,
    /// The frame that was unpacked last.
    unpacked: Option<((usize, usize), Vec<u8>)>,
}

/// The lock of a folder, which is given back when it is dropped.
struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // A child process that is being started has the open file too, until it executes its program.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// A pack of the folder.
struct Pack {
    number: u64,
    path: PathBuf,
    file: File,
    frames: Vec<Frame>,
    /// Where each chunk begins in its frame, and its length.
    chunks: Vec<(u32, u16)>,
}

/// Chunks that are compressed together.
#[derive(Clone, Copy)]
struct Frame {
    at: u64,
    stored_bytes: u32,
    bytes: u32,
    crc32: u32,
}

/// The pack that the next checkpoint adds.
#[derive(Default)]
struct Growing {
    content: Vec<u8>,
    frames: Vec<Frame>,
    hashes: Vec<Hash>,
    lens: Vec<u16>,
    /// Bytes of the frame that is not full.
    open: Vec<u8>,
}

impl Store {
    /// Opens the store of a folder to add to it.
    ///
    /// # Errors
    /// The folder cannot be made or read, a pack is damaged, or another command writes into the folder.
    pub fn open(folder: &Path) -> Result<Store, CheckpointsError> {
        let host = |cause| CheckpointsError::Host {
            path: folder.to_owned(),
            cause,
        };
        std::fs::create_dir_all(folder).map_err(host)?;
        let lock = File::create(folder.join(LOCK)).map_err(host)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(CheckpointsError::Unusable {
                path: folder.to_owned(),
                problem: "another command writes checkpoints into this folder".to_owned(),
            });
        }
        let mut store = Store::read(folder)?;
        store._lock = Some(Held(lock));
        for (pack, number) in store.packs.iter().zip(0..) {
            for (hash, place) in pack.hashes()?.into_iter().zip(0..) {
                store.known.entry(hash).or_insert(number << 32 | place);
            }
        }
        Ok(store)
    }

    /// Opens the store of a folder to read it.
    ///
    /// # Errors
    /// The folder cannot be read, or a pack is damaged.
    pub fn read(folder: &Path) -> Result<Store, CheckpointsError> {
        let host = |cause| CheckpointsError::Host {
            path: folder.to_owned(),
            cause,
        };
        let mut packs = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(host)? {
            let path = entry.map_err(host)?.path();
            let is_pack = path.extension().is_some_and(|ending| ending == SUFFIX);
            let number = path
                .file_stem()
                .and_then(|stem| stem.to_str()?.parse().ok());
            if let (true, Some(number)) = (is_pack, number) {
                packs.push(Pack::open(path, number)?);
            }
        }
        packs.sort_unstable_by_key(|pack| pack.number);
        if let Some((wanted, _)) = (0..).zip(&packs).find(|(n, pack)| *n != pack.number) {
            return Err(CheckpointsError::Unusable {
                path: folder.join(format!("{wanted:06}.{SUFFIX}")),
                problem: "the pack is missing; packs of checkpoints that are not needed any more stay, since later ones \
                          refer to them"
                    .to_owned(),
            });
        }
        Ok(Store {
            folder: folder.to_owned(),
            packs,
            ..Store::nowhere()
        })
    }

    /// The store that was lent as a trait object.
    pub(super) fn back(lent: Box<dyn Chunks>) -> Store {
        let lent: Box<dyn Any> = lent;
        lent.downcast()
            .map_or_else(|_| Store::nowhere(), |store| *store)
    }

    /// A store that has no folder.
    pub(super) fn nowhere() -> Store {
        Store {
            folder: PathBuf::new(),
            _lock: None,
            packs: Vec::new(),
            known: FxHashMap::default(),
            growing: Growing::default(),
            unpacked: None,
        }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes what was put into the store since the last pack.
    pub(super) fn finish_pack(&mut self) -> Result<(), CheckpointsError> {
        let number = self.packs.len() as u64;
        let growing = std::mem::take(&mut self.growing);
        if growing.hashes.is_empty() {
            return Ok(());
        }
        let added = self.add_pack(number, growing);
        if added.is_err() {
            // No later checkpoint may refer to it.
            self.known.retain(|_, chunk| *chunk >> 32 < number);
        }
        added
    }

    fn add_pack(&mut self, number: u64, mut growing: Growing) -> Result<(), CheckpointsError> {
        let path = self.folder.join(format!("{number:06}.{SUFFIX}"));
        let content = growing.finish().map_err(|cause| CheckpointsError::Host {
            path: path.clone(),
            cause,
        })?;
        write_whole(&path, &content)?;
        self.packs.push(Pack::open(path, number)?);
        Ok(())
    }
}

impl Chunks for Store {
    fn put(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let digest = Sha256::digest(bytes);
        let mut hash = Hash::default();
        hash.copy_from_slice(&digest[..size_of::<Hash>()]);
        if let Some(&known) = self.known.get(&hash) {
            return Ok(known);
        }
        let number = (self.packs.len() as u64) << 32 | self.growing.hashes.len() as u64;
        self.growing.add(hash, bytes)?;
        self.known.insert(hash, number);
        Ok(number)
    }

    fn get(&mut self, number: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let missing = || io::Error::new(io::ErrorKind::InvalidData, format!("no page {number:#x}"));
        let (pack_at, place) = ((number >> 32) as usize, (number & 0xffff_ffff) as usize);
        let pack = self.packs.get(pack_at).ok_or_else(missing)?;
        let &(start, len) = pack.chunks.get(place).ok_or_else(missing)?;
        let frame = (pack_at, place / FRAME_CHUNKS);
        if self
            .unpacked
            .as_ref()
            .is_none_or(|(known, _)| *known != frame)
        {
            self.unpacked = Some((frame, pack.unpack(frame.1)?));
        }
        let (_, bytes) = self.unpacked.as_ref().ok_or_else(missing)?;
        let end = start as usize + usize::from(len);
        into.extend(bytes.get(start as usize..end).ok_or_else(missing)?);
        Ok(())
    }
}

impl Growing {
    fn add(&mut self, hash: Hash, bytes: &[u8]) -> io::Result<()> {
        debug_assert!(bytes.len() <= CHUNK_BYTES);
        self.open.extend(bytes);
        self.hashes.push(hash);
        self.lens.push(bytes.len() as u16);
        match self.hashes.len() % FRAME_CHUNKS {
            0 => self.close_frame(),
            _ => Ok(()),
        }
    }

    fn close_frame(&mut self) -> io::Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.open)?;
        let stored = encoder.finish()?;
        self.frames.push(Frame {
            at: (MAGIC.len() + self.content.len()) as u64,
            stored_bytes: stored.len() as u32,
            bytes: self.open.len() as u32,
            crc32: crc32fast::hash(&stored),
        });
        self.content.extend(stored);
        self.open.clear();
        Ok(())
    }

    /// The file of the pack.
    fn finish(&mut self) -> io::Result<Vec<u8>> {
        self.close_frame()?;
        let mut file = MAGIC.to_vec();
        file.append(&mut self.content);
        let index_at = file.len();
        for frame in &self.frames {
            file.extend(frame.at.to_le_bytes());
            file.extend(frame.stored_bytes.to_le_bytes());
            file.extend(frame.bytes.to_le_bytes());
            file.extend(frame.crc32.to_le_bytes());
        }
        self.lens
            .iter()
            .for_each(|len| file.extend(len.to_le_bytes()));
        self.hashes.iter().for_each(|hash| file.extend(hash));
        let crc = crc32fast::hash(&file[index_at..]);
        file.extend((self.hashes.len() as u64).to_le_bytes());
        file.extend((index_at as u64).to_le_bytes());
        file.extend(crc.to_le_bytes());
        file.extend(MAGIC);
        Ok(file)
    }
}

/// Bytes of a frame in the index.
const FRAME_BYTES: usize = 8 + 4 + 4 + 4;

impl Pack {
    fn open(path: PathBuf, number: u64) -> Result<Pack, CheckpointsError> {
        let host = |cause| CheckpointsError::Host {
            path: path.clone(),
            cause,
        };
        let damaged = || CheckpointsError::Unusable {
            path: path.clone(),
            problem: "the pack of pages is damaged; checkpoints that refer to it are lost"
                .to_owned(),
        };
        let file = File::open(&path).map_err(host)?;
        let index = Index::read(&file).map_err(host)?.ok_or_else(damaged)?;
        let mut frames = Vec::new();
        for frame in index.frames.chunks_exact(FRAME_BYTES) {
            frames.push(Frame {
                at: number_at(frame, 0),
                stored_bytes: number_at(frame, 8) as u32,
                bytes: number_at(frame, 12) as u32,
                crc32: number_at(frame, 16) as u32,
            });
        }
        let mut chunks = Vec::new();
        let mut start = 0;
        for (at, len) in index.lens.chunks_exact(2).enumerate() {
            if at % FRAME_CHUNKS == 0 {
                start = 0;
            }
            let len = number_at(len, 0) as u16;
            chunks.push((start, len));
            start += u32::from(len);
        }
        Ok(Pack {
            number,
            path,
            file,
            frames,
            chunks,
        })
    }

    fn hashes(&self) -> Result<Vec<Hash>, CheckpointsError> {
        let index = Index::read(&self.file).map_err(|cause| CheckpointsError::Host {
            path: self.path.clone(),
            cause,
        })?;
        let hashes = index.map(|index| index.hashes).unwrap_or_default();
        Ok(hashes.as_chunks().0.to_vec())
    }

    fn unpack(&self, frame: usize) -> io::Result<Vec<u8>> {
        let damaged = || {
            let problem = format!("{}: its frame {frame} is damaged", self.path.display());
            io::Error::new(io::ErrorKind::InvalidData, problem)
        };
        let frame = self.frames.get(frame).ok_or_else(damaged)?;
        let mut stored = vec![0; frame.stored_bytes as usize];
        self.file.read_exact_at(&mut stored, frame.at)?;
        if crc32fast::hash(&stored) != frame.crc32 {
            return Err(damaged());
        }
        let mut bytes = Vec::with_capacity(frame.bytes as usize);
        ZlibDecoder::new(&stored[..])
            .take(u64::from(frame.bytes))
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The index of a pack, in parts.
struct Index {
    frames: Vec<u8>,
    lens: Vec<u8>,
    hashes: Vec<u8>,
}

impl Index {
    /// `None` if it is damaged.
    fn read(file: &File) -> io::Result<Option<Index>> {
        let len = file.metadata()?.len();
        let Some(trailer_at) = len.checked_sub(TRAILER_BYTES as u64) else {
            return Ok(None);
        };
        let mut trailer = [0; TRAILER_BYTES];
        file.read_exact_at(&mut trailer, trailer_at)?;
        let (count, index_at) = (number_at(&trailer, 0), number_at(&trailer, 8));
        let index_bytes = trailer_at.checked_sub(index_at);
        let (true, Some(index_bytes)) = (trailer.ends_with(MAGIC), index_bytes) else {
            return Ok(None);
        };
        let mut frames = vec![0; index_bytes as usize];
        file.read_exact_at(&mut frames, index_at)?;
        let crc = number_at(&trailer[16..20], 0) as u32;
        let frame_count = count.div_ceil(FRAME_CHUNKS as u64);
        let wanted = frame_count
            .checked_mul(FRAME_BYTES as u64)
            .and_then(|bytes| bytes.checked_add(count.checked_mul(2 + 16)?));
        if crc32fast::hash(&frames) != crc || wanted != Some(index_bytes) {
            return Ok(None);
        }
        let mut lens = frames.split_off(frame_count as usize * FRAME_BYTES);
        let hashes = lens.split_off(count as usize * 2);
        Ok(Some(Index {
            frames,
            lens,
            hashes,
        }))
    }
}

/// Up to eight bytes as a number, the lowest first.
fn number_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    let bytes = &bytes[at..bytes.len().min(at + 8)];
    number[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(number)
}
