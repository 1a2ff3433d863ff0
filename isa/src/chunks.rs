//! The store of a checkpoint's chunks, lent to the memories that a thread writes or reads.

use std::any::Any;
use std::cell::RefCell;
use std::io;

use crate::memory::PAGE_SIZE;

/// Bytes of a chunk at most: those of a page.
pub const CHUNK_BYTES: usize = PAGE_SIZE as usize;

/// A store of chunks of at most [`CHUNK_BYTES`] bytes.
pub trait Chunks: Any + Send {
    /// Stores a chunk, and returns its number. Equal chunks may have one number.
    ///
    /// # Errors
    /// I/O errors of the host.
    fn put(&mut self, bytes: &[u8]) -> io::Result<u64>;

    /// Appends the bytes of a chunk.
    ///
    /// # Errors
    /// I/O errors of the host; [`io::ErrorKind::InvalidData`] if there is no such chunk or it is damaged.
    fn get(&mut self, number: u64, into: &mut Vec<u8>) -> io::Result<()>;
}

struct Lent {
    chunks: Box<dyn Chunks>,
    problem: Option<io::Error>,
}

thread_local! {
    static LENT: RefCell<Option<Lent>> = const { RefCell::new(None) };
}

/// Lends a store to this thread until [`take_back`].
pub fn lend(chunks: Box<dyn Chunks>) {
    LENT.set(Some(Lent {
        chunks,
        problem: None,
    }));
}

/// Takes the store back, with the first error of a page. `None` if none is lent.
#[must_use]
pub fn take_back() -> Option<(Box<dyn Chunks>, Option<io::Error>)> {
    LENT.take().map(|lent| (lent.chunks, lent.problem))
}

/// Works on the lent store.
///
/// # Errors
/// Errors of `work`; [`io::ErrorKind::NotFound`] if no store is lent.
pub fn with<T>(work: impl FnOnce(&mut dyn Chunks) -> io::Result<T>) -> io::Result<T> {
    LENT.with_borrow_mut(|lent| match lent {
        Some(lent) => work(lent.chunks.as_mut()),
        None => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "no store of chunks is lent",
        )),
    })
}

/// Keeps an error for [`take_back`]: serializers drop the texts of errors.
fn noted<T>(done: io::Result<T>) -> Option<T> {
    done.map_err(|cause| {
        LENT.with_borrow_mut(|lent| {
            if let Some(lent) = lent {
                lent.problem.get_or_insert(cause);
            }
        });
    })
    .ok()
}

/// Puts a page into the lent store.
pub(crate) fn put(page: &[u8]) -> Option<u64> {
    noted(with(|chunks| chunks.put(page)))
}

/// Appends a page of the lent store.
pub(crate) fn get(number: u64, into: &mut Vec<u8>) -> Option<()> {
    noted(with(|chunks| chunks.get(number, into)))
}
