//! A program about to run: memory laid out, stack filled, operating system attached.

pub mod layout;
mod stack;

use std::path::PathBuf;
use std::sync::Arc;

use crate::hart::{GuestCounters, Hart};
use crate::image::{LoadError, ProgramImage, Segment};
use crate::memory::{Memory, MemoryError, PAGE_SIZE, Perm, page_align_down, page_align_up};
use crate::os::{DuplicateError, Linux, Output, Stdin};

/// What a guest process gets from outside. The default: no arguments, no environment, no files,
/// empty input, discarded output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessConfig {
    /// The arguments, the program's name first. Empty: only the image's file name.
    pub args: Vec<String>,
    /// The environment, as name and value.
    pub env: Vec<(String, String)>,
    /// The host folder that the guest sees as `/`. None: there are no files.
    pub root: Option<PathBuf>,
    /// The guest may change files under the root.
    pub writable: bool,
    /// Seed of all randomness that the guest can see.
    pub seed: u64,
    /// The most memory that the guest can have mapped, in bytes.
    pub memory_limit_bytes: u64,
    /// The most that the guest may write to streams and files together, in bytes; the run stops
    /// beyond.
    pub output_limit_bytes: Option<u64>,
    /// Standard input.
    pub stdin: Stdin,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
}

impl Default for ProcessConfig {
    fn default() -> Self {
        ProcessConfig {
            args: Vec::new(),
            env: Vec::new(),
            root: None,
            writable: false,
            seed: 0,
            memory_limit_bytes: Memory::DEFAULT_LIMIT_BYTES,
            output_limit_bytes: Some(1 << 30),
            stdin: Stdin::Empty,
            stdout: Output::Discard,
            stderr: Output::Discard,
        }
    }
}

/// A guest process with one thread.
#[derive(Debug)]
pub struct Process {
    /// The registers.
    pub hart: Hart,
    /// Its memory.
    pub mem: Memory,
    /// Its operating system.
    pub os: Linux,
    /// The program.
    pub image: Arc<ProgramImage>,
    /// What is added to the counters of the machine that runs it, modulo 2^64, where the guest reads
    /// them: not zero if it has come from another machine.
    pub counters_before: GuestCounters,
}

impl Process {
    /// Lays the program out in fresh memory, as `execve` does, ready for its first instruction.
    ///
    /// # Errors
    /// [`LoadError`] if the image and its stack do not fit, the host refuses memory, or the
    /// configuration cannot be used.
    pub fn new(image: Arc<ProgramImage>, config: &ProcessConfig) -> Result<Process, LoadError> {
        let memory_error = |source| LoadError::Memory {
            file: image.name.clone(),
            source,
        };
        let mut mem = Memory::new(config.memory_limit_bytes).map_err(memory_error)?;
        place_image(&mut mem, &image)?;
        let stack_bottom = layout::STACK_TOP - layout::STACK_BYTES;
        mem.map(stack_bottom, layout::STACK_BYTES, Perm::RW)
            .map_err(memory_error)?;

        // Segments end below IMAGE_TOP, which is page-aligned, so this cannot overflow.
        let heap = page_align_up(image.end()).unwrap_or(layout::IMAGE_TOP);
        let args = arguments(&image, config);
        let mut os = Linux::new(image.isa, config, &args[0], heap)?;
        mem.map(layout::TRAMPOLINE, PAGE_SIZE, Perm::RX)
            .map_err(memory_error)?;
        write(&mut mem, layout::TRAMPOLINE, os.trampoline(), &image)?;

        let stack = stack::build(&image, &args, config, &mut os)?;
        write(&mut mem, stack.pointer, &stack.bytes, &image)?;
        let mut hart = Hart {
            pc: image.entry,
            ..Hart::default()
        };
        os.abi().set_stack_pointer(&mut hart, stack.pointer);
        Ok(Process {
            hart,
            mem,
            os,
            image,
            counters_before: GuestCounters::default(),
        })
    }
}

impl Process {
    /// A second process in the same state, which shares nothing with this one.
    ///
    /// # Errors
    /// [`DuplicateError`] if both would share something of the host that one of them can change:
    /// its standard streams, files of a writable root; or if the host refuses memory.
    pub fn duplicate(&self) -> Result<Process, DuplicateError> {
        Ok(Process {
            hart: self.hart.clone(),
            mem: self.mem.duplicate()?,
            os: self.os.duplicate()?,
            image: self.image.clone(),
            counters_before: self.counters_before,
        })
    }
}

/// The arguments with the program's name; the host's folders are nobody's business.
fn arguments(image: &ProgramImage, config: &ProcessConfig) -> Vec<String> {
    if config.args.is_empty() {
        let name = image.name.rsplit('/').next().unwrap_or_default();
        vec![name.to_owned()]
    } else {
        config.args.clone()
    }
}

fn place_image(mem: &mut Memory, image: &ProgramImage) -> Result<(), LoadError> {
    let memory_error = |source| LoadError::Memory {
        file: image.name.clone(),
        source,
    };
    for segment in &image.segments {
        map_segment(mem, segment).map_err(memory_error)?;
    }
    for segment in &image.segments {
        write(mem, segment.addr, image.segment_bytes(segment), image)?;
    }
    Ok(())
}

/// Maps a segment. A page that it shares with the segment before it gets the permissions of both.
fn map_segment(mem: &mut Memory, segment: &Segment) -> Result<(), MemoryError> {
    let too_large = MemoryError::BadRange {
        addr: segment.addr,
        len: segment.mem_bytes,
    };
    let mut start = page_align_down(segment.addr);
    let end = page_align_up(segment.end()).ok_or(too_large)?;
    if let Some(shared) = mem.permissions(start) {
        mem.protect(start, PAGE_SIZE, shared.union(segment.perm))?;
        start += PAGE_SIZE;
    }
    if start < end {
        mem.map(start, end - start, segment.perm)
    } else {
        Ok(())
    }
}

fn write(mem: &mut Memory, addr: u64, bytes: &[u8], image: &ProgramImage) -> Result<(), LoadError> {
    mem.write_bytes_forced(addr, bytes)
        .map_err(|fault| LoadError::Memory {
            file: image.name.clone(),
            source: MemoryError::NotMapped { addr: fault.addr },
        })
}
