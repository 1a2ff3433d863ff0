//! Calls that map and unmap the guest's memory.

use hps_isa::layout;
use hps_isa::memory::{Memory, PAGE_SIZE, Perm};
use serde::{Deserialize, Serialize};

use super::Linux;
use super::abi::MapFlags;
use super::descriptors::Kind;
use super::errno::Errno;
use super::file_mappings::{FileMappings, MappedFile};
use super::memory_locks::Locks;
use super::procfs::Device;
use crate::image::ProgramImage;
use crate::process::Placement;
use crate::symbols::Recorder;

const PROT_READ: u64 = 1;
const PROT_WRITE: u64 = 2;
const PROT_EXEC: u64 = 4;
/// Memory for atomic operations: every page is.
const PROT_SEM: u64 = 8;
/// Down to the start of a mapping that grows down.
const PROT_GROWSDOWN: u64 = 0x0100_0000;
/// Up to the end of a mapping that grows up, of which there are none.
const PROT_GROWSUP: u64 = 0x0200_0000;

/// RISC-V has no page that is writable and not readable.
fn permissions(prot: u64) -> Perm {
    [
        (PROT_READ, Perm::R),
        (PROT_WRITE, Perm::RW),
        (PROT_EXEC, Perm::X),
    ]
    .into_iter()
    .filter(|&(flag, _)| prot & flag != 0)
    .fold(Perm::NONE, |perm, (_, bits)| perm.union(bits))
}

/// Pages as the program sees them, of this many bytes.
#[derive(Clone, Copy)]
pub(super) struct Pages(pub u64);

impl Pages {
    pub(super) fn align_up(self, value: u64) -> Option<u64> {
        value.checked_next_multiple_of(self.0)
    }

    pub(super) fn is_aligned(self, addr: u64) -> bool {
        addr.is_multiple_of(self.0)
    }

    /// A length in whole pages.
    fn length(self, len: u64) -> Result<u64, Errno> {
        match self.align_up(len) {
            Some(0) => Err(Errno::EINVAL),
            Some(len) if len <= Memory::LIMIT => Ok(len),
            _ => Err(Errno::ENOMEM),
        }
    }

    /// A range of whole pages that the guest may change.
    fn range(self, addr: u64, len: u64) -> Result<u64, Errno> {
        let len = self.length(len)?;
        let is_ours = self.is_aligned(addr) && layout::is_guest_range(addr, len);
        if is_ours { Ok(len) } else { Err(Errno::EINVAL) }
    }
}

/// Ranges in the memory of a process. A child that borrows the memory borrows them, too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AddressSpace {
    pub place: Placement,
    pub heap: Heap,
    pub mappings: FileMappings,
    pub locks: Locks,
}

impl AddressSpace {
    /// The address space of a new program whose areas lie in their places, whose heap begins at `heap_start`, and whose
    /// code is recorded by `code`.
    pub(super) fn new(heap_start: u64, place: Placement, code: Recorder) -> AddressSpace {
        AddressSpace {
            place,
            heap: Heap {
                start: heap_start,
                end: heap_start,
            },
            mappings: FileMappings::recorded(code),
            locks: Locks::default(),
        }
    }
}

/// The end of the heap.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Heap {
    start: u64,
    end: u64,
}

impl Heap {
    pub(super) fn range(self) -> std::ops::Range<u64> {
        self.start..self.end
    }
}

impl Linux {
    /// Places for the areas of a program that begins.
    pub(crate) fn draw_placement(&mut self, image: &ProgramImage) -> Placement {
        Placement::draw(self.run.addresses.as_mut(), image)
    }

    /// A program begins whose heap begins at `heap_start`: its address space has nothing else yet.
    pub(crate) fn begin_space(&mut self, heap_start: u64, place: Placement) {
        let recorder = self.space.mappings.code.clone();
        self.space = AddressSpace::new(heap_start, place, recorder);
    }

    pub(super) fn pages(&self) -> Pages {
        Pages(self.abi.page_bytes())
    }

    /// `brk` of OSF/1 and of Linux on Alpha, which reports failure.
    pub(super) fn osf_brk(&mut self, mem: &mut Memory, wanted: u64) -> Result<u64, Errno> {
        let end = self.brk(mem, wanted);
        if wanted != 0 && end != wanted {
            return Err(Errno::ENOMEM);
        }
        Ok(end)
    }

    /// `brk`: returns the end of the heap, which is the old one if it cannot be moved.
    pub(super) fn brk(&mut self, mem: &mut Memory, wanted: u64) -> u64 {
        let Heap { start, end } = self.space.heap;
        let top = match start {
            0..layout::PIE_BASE => layout::PIE_BASE,
            layout::PIE_BASE..=layout::IMAGE_TOP => layout::IMAGE_TOP,
            _ => Memory::LIMIT,
        };
        if wanted < start || wanted > top {
            return end;
        }
        // Both are below the end of memory, so rounding up cannot overflow.
        let pages = self.pages();
        let old_end = pages.align_up(end).unwrap_or(end);
        let new_end = pages.align_up(wanted).unwrap_or(wanted);
        let moved = if new_end > old_end {
            mem.is_free(old_end, new_end - old_end)
                && mem.map(old_end, new_end - old_end, Perm::RW).is_ok()
        } else {
            new_end == old_end || mem.unmap(new_end, old_end - new_end).is_ok()
        };
        if moved {
            if new_end < old_end {
                self.forget(new_end, old_end - new_end);
            }
            self.space.heap.end = wanted;
        }
        self.space.heap.end
    }

    pub(super) fn mmap(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [hint, len, prot, flags, fd, offset] = *a;
        let flags = self.abi.map_rules().decode(flags);
        let pages = self.pages();
        if !pages.is_aligned(offset) {
            return Err(Errno::EINVAL);
        }
        if !flags.anonymous && self.files.get(fd)?.flags.path_only {
            return Err(Errno::EBADF);
        }
        check_huge(flags)?;
        let len = pages.length(len)?;
        if !flags.anonymous
            && offset
                .checked_add(len)
                .is_none_or(|end| end > i64::MAX as u64)
        {
            return Err(Errno::EOVERFLOW);
        }
        let addr = self.choose_address(mem, hint, len, flags)?;
        let is_locked = flags.locked || self.space.locks.future;
        if is_locked {
            self.check_lock_of_mapping(len, flags.locked)?;
        }
        let is_event = !flags.anonymous && matches!(self.perf_file(fd), Ok(Some(_)));
        let file = if is_event {
            self.check_event_mapping(fd, (offset, len), flags.shared)?;
            None
        } else {
            self.file_to_map(fd, prot, flags, offset)?
        };
        let perm = permissions(prot);
        let is_reservation =
            file.is_none() && !is_event && (perm == Perm::NONE || flags.no_reserve);
        if is_reservation && !is_locked {
            mem.reserve(addr, len, perm)?;
        } else {
            mem.map(addr, len, perm)?;
        }
        self.forget(addr, len);
        if is_locked {
            self.space.locks.ranges.insert(addr..addr + len, ());
        }
        if is_event {
            self.event_is_mapped(mem, fd, &(addr..addr + len), prot & PROT_WRITE != 0)?;
        } else if let Some(file) = file {
            let range = addr..addr + len;
            let copied = file.copy_to(mem, range.clone());
            let mapped = copied.and_then(|()| self.space.mappings.place(mem, pages.0, range, file));
            if let Err(errno) = mapped {
                mem.unmap(addr, len)?;
                self.forget(addr, len);
                return Err(errno);
            }
        } else if flags.shared {
            self.space.mappings.anonymous.insert(addr..addr + len, ());
        }
        Ok(addr)
    }

    /// Checks what is to be mapped; gives the file, if it has content.
    fn file_to_map(
        &mut self,
        fd: u64,
        prot: u64,
        flags: MapFlags,
        offset: u64,
    ) -> Result<Option<MappedFile>, Errno> {
        if flags.invalid || (flags.grows_down && (flags.shared || !flags.anonymous)) {
            return Err(Errno::EINVAL);
        }
        if flags.anonymous {
            // `MAP_SHARED_VALIDATE` is for files alone.
            return if flags.validate {
                Err(Errno::EINVAL)
            } else {
                Ok(None)
            };
        }
        if flags.validate && flags.unknown {
            return Err(Errno::EOPNOTSUPP);
        }
        let open = self.files.get(fd)?;
        let writes_file = flags.shared && prot & PROT_WRITE != 0;
        if !open.flags.read || (writes_file && !open.flags.write) {
            return Err(Errno::EACCES);
        }
        match &open.kind {
            Kind::File(host) => {
                if writes_file && open.path.is_none() {
                    super::memory_files::permits_writes(host)?;
                }
                let writes = flags.shared && open.flags.write;
                let most = self.limits.descriptors();
                let path = open.path.as_ref();
                let mut file =
                    self.space
                        .mappings
                        .hold(host, path, offset, (flags.shared, writes), most)?;
                file.shows_file |= prot & PROT_WRITE == 0;
                Ok(Some(file))
            }
            Kind::Device(Device::Zero) => Ok(None),
            _ => Err(Errno::ENODEV),
        }
    }

    /// Forgets what was known of a range.
    pub(super) fn forget(&mut self, addr: u64, len: u64) {
        self.space.mappings.forget(&(addr..addr + len));
        self.space.locks.ranges.remove(addr..addr + len);
        self.forget_buffers(&(addr..addr + len));
    }

    pub(super) fn munmap(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [addr, len, ..] = *a;
        let pages = self.pages();
        // A length that rounds up beyond 64 bits rounds to 0 in the kernel.
        let len = pages.align_up(len).unwrap_or(0);
        let end = addr.checked_add(len).filter(|&end| end <= Memory::LIMIT);
        let end = end.ok_or(Errno::EINVAL)?;
        if len == 0 || !pages.is_aligned(addr) {
            return Err(Errno::EINVAL);
        }
        // Nothing lies below the lowest address and behind the last one.
        let addr = addr.max(pages.align_up(layout::LOWEST).unwrap_or(layout::LOWEST));
        if addr < end {
            let len = pages.range(addr, end - addr)?;
            mem.unmap(addr, len)?;
            self.forget(addr, len);
        }
        Ok(0)
    }

    pub(super) fn mprotect(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const GROWS: u64 = PROT_GROWSDOWN | PROT_GROWSUP;
        let [mut addr, len, prot, ..] = *a;
        let pages = self.pages();
        if prot & GROWS == GROWS || !pages.is_aligned(addr) {
            return Err(Errno::EINVAL);
        }
        if len == 0 {
            return Ok(0);
        }
        let len = pages.align_up(len).filter(|&len| len <= Memory::LIMIT);
        let end = len.and_then(|len| addr.checked_add(len));
        let end = end.ok_or(Errno::ENOMEM)?;
        let known = PROT_READ | PROT_WRITE | PROT_EXEC | PROT_SEM | GROWS;
        if prot & !known != 0 {
            return Err(Errno::EINVAL);
        }
        if prot & GROWS != 0 {
            let top = self.space.place.stack_top;
            let stack = top - layout::STACK_BYTES;
            if !mem.is_mapped(addr, 1) {
                return Err(Errno::ENOMEM);
            }
            let is_stack = (stack..top).contains(&addr);
            if prot & PROT_GROWSUP != 0 || !is_stack {
                return Err(Errno::EINVAL);
            }
            addr = stack;
        }
        let len = pages.range(addr, end - addr)?;
        if !mem.is_mapped(addr, len) {
            return Err(Errno::ENOMEM);
        }
        if prot & PROT_WRITE != 0 && self.space.mappings.has_read_only(addr..addr + len) {
            return Err(Errno::EACCES);
        }
        mem.protect(addr, len, permissions(prot))?;
        if prot & PROT_WRITE != 0 {
            self.space.mappings.keep_content(addr..addr + len);
        }
        if prot & PROT_EXEC != 0 {
            self.space.mappings.record_code(addr..addr + len);
        }
        Ok(0)
    }

    pub(super) fn mremap(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const MAYMOVE: u64 = 1;
        const FIXED: u64 = 2;
        const DONTUNMAP: u64 = 4;
        let [old, old_len, new_len, flags, new_addr, _] = *a;
        let pages = self.pages();
        let has = |flag| flags & flag != 0;
        if flags & !(MAYMOVE | FIXED | DONTUNMAP) != 0
            || (has(FIXED | DONTUNMAP) && !has(MAYMOVE))
            || (has(DONTUNMAP) && old_len != new_len)
            || !pages.is_aligned(old)
        {
            return Err(Errno::EINVAL);
        }
        let old_len = pages.align_up(old_len).ok_or(Errno::EINVAL)?;
        let new_len = pages.length(new_len)?;
        if !mem.is_mapped(old, old_len.max(1)) {
            return Err(Errno::EFAULT);
        }
        // Without a length it would be mapped a second time.
        let old_len = pages.range(old, old_len)?;
        let perm = mem.permissions(old).ok_or(Errno::EFAULT)?;
        if has(FIXED) {
            let overlaps = new_addr < old + old_len && old < new_addr.saturating_add(new_len);
            if pages.range(new_addr, new_len)? != new_len || overlaps {
                return Err(Errno::EINVAL);
            }
            self.move_pages(mem, old, old_len, new_addr, new_len, perm)?;
            return self.keep_old(mem, has(DONTUNMAP), old, old_len, new_addr, perm);
        }
        if new_len <= old_len && !has(DONTUNMAP) {
            if new_len < old_len {
                mem.unmap(old + new_len, old_len - new_len)?;
                self.forget(old + new_len, old_len - new_len);
            }
            return Ok(old);
        }
        let extra = new_len - old_len;
        let fits = layout::is_guest_range(old, new_len) && mem.is_free(old + old_len, extra);
        if fits && !has(DONTUNMAP) {
            map_like(mem, (old, old_len), old + old_len, extra, perm)?;
            self.space
                .mappings
                .extend(mem, pages.0, old + old_len, old + new_len)?;
            return Ok(old);
        }
        if !has(MAYMOVE) {
            return Err(Errno::ENOMEM);
        }
        let target = self.find_gap(mem, new_len)?;
        self.move_pages(mem, old, old_len, target, new_len, perm)?;
        self.keep_old(mem, has(DONTUNMAP), old, old_len, target, perm)
    }

    /// Moves the content of a range to `target`. Its first page gives the permissions.
    fn move_pages(
        &mut self,
        mem: &mut Memory,
        old: u64,
        old_len: u64,
        target: u64,
        new_len: u64,
        perm: Perm,
    ) -> Result<(), Errno> {
        let kept = old_len.min(new_len);
        let mut page = vec![0; PAGE_SIZE as usize];
        map_like(mem, (old, old_len), target, new_len, perm)?;
        self.forget(target, new_len);
        for offset in (0..kept).step_by(PAGE_SIZE as usize) {
            // Pages of zeros need not be committed.
            if !mem.is_written(old + offset) {
                continue;
            }
            mem.read_bytes_forced(old + offset, &mut page)?;
            if page.iter().any(|&byte| byte != 0) {
                mem.write_bytes_forced(target + offset, &page)?;
            }
        }
        let page_bytes = self.pages().0;
        self.space
            .mappings
            .relocate(mem, page_bytes, (old, kept), target)?;
        if new_len > kept {
            self.space
                .mappings
                .extend(mem, page_bytes, target + kept, target + new_len)?;
        }
        mem.unmap(old, old_len)?;
        self.forget(old, old_len);
        Ok(())
    }

    /// `MREMAP_DONTUNMAP`: empty pages take the place of those that went to `target`.
    fn keep_old(
        &mut self,
        mem: &mut Memory,
        is_kept: bool,
        old: u64,
        old_len: u64,
        target: u64,
        perm: Perm,
    ) -> Result<u64, Errno> {
        if is_kept {
            map_like(mem, (target, old_len), old, old_len, perm)?;
            let page_bytes = self.pages().0;
            self.space
                .mappings
                .relocate(mem, page_bytes, (target, old_len), old)?;
            self.space.mappings.restore(mem, old..old + old_len)?;
        }
        Ok(target)
    }

    fn choose_address(
        &self,
        mem: &Memory,
        hint: u64,
        len: u64,
        flags: MapFlags,
    ) -> Result<u64, Errno> {
        let pages = self.pages();
        if flags.fixed {
            if !pages.is_aligned(hint) {
                return Err(Errno::EINVAL);
            }
            if !layout::is_guest_range(hint, len) {
                return Err(if hint < layout::LOWEST {
                    Errno::EPERM
                } else {
                    Errno::ENOMEM
                });
            }
            if flags.no_replace && !mem.is_free(hint, len) {
                return Err(Errno::EEXIST);
            }
            return Ok(hint);
        }
        let hint = hint - hint % pages.0;
        if hint != 0 && layout::is_guest_range(hint, len) && mem.is_free(hint, len) {
            return Ok(hint);
        }
        self.find_gap(mem, len)
    }

    /// The highest free place for `len` bytes below the stack, or above it if there is none.
    pub(super) fn find_gap(&self, mem: &Memory, len: u64) -> Result<u64, Errno> {
        mem.find_gap(len, layout::MMAP_FLOOR, self.space.place.mmap_top)
            .or_else(|| mem.find_gap(len, layout::HIGH, Memory::LIMIT))
            .ok_or(Errno::ENOMEM)
    }
}

/// Huge pages exist where a program may ask for them, but none is set aside.
fn check_huge(flags: MapFlags) -> Result<(), Errno> {
    if !flags.huge {
        return Ok(());
    }
    Err(if flags.anonymous && flags.huge_exists {
        Errno::ENOMEM
    } else {
        Errno::EINVAL
    })
}

/// Maps pages as those of the range `model` are mapped: as a reservation if there is one.
fn map_like(
    mem: &mut Memory,
    model: (u64, u64),
    addr: u64,
    len: u64,
    perm: Perm,
) -> Result<(), Errno> {
    if mem.has_reserved(model.0, model.1) {
        mem.reserve(addr, len, perm)?;
    } else {
        mem.map(addr, len, perm)?;
    }
    Ok(())
}
