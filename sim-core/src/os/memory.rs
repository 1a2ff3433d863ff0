//! Calls that change the guest's memory.

use std::os::unix::fs::FileExt;

use super::Linux;
use super::abi::MapFlags;
use super::descriptors::Kind;
use super::errno::Errno;
use super::streams::retry;
use crate::memory::{Memory, PAGE_SIZE, Perm};
use crate::process::layout;

const PROT_READ: u64 = 1;
const PROT_WRITE: u64 = 2;
const PROT_EXEC: u64 = 4;

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
struct Pages(u64);

impl Pages {
    fn align_up(self, value: u64) -> Option<u64> {
        value.checked_next_multiple_of(self.0)
    }

    fn is_aligned(self, addr: u64) -> bool {
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

/// The end of the heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heap {
    start: u64,
    end: u64,
}

impl Heap {
    pub(super) fn new(start: u64) -> Heap {
        Heap { start, end: start }
    }
}

impl Linux {
    fn pages(&self) -> Pages {
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
        let Heap { start, end } = self.heap;
        let top = if start < layout::PIE_BASE {
            layout::PIE_BASE
        } else {
            layout::IMAGE_TOP
        };
        if wanted < start || wanted > top {
            return end;
        }
        // Both are below 2^36, so rounding up cannot overflow.
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
            self.heap.end = wanted;
        }
        self.heap.end
    }

    pub(super) fn mmap(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [hint, len, prot, flags, fd, offset] = *a;
        let flags = self.abi.map_rules().decode(flags);
        let pages = self.pages();
        let len = pages.length(len)?;
        if flags.invalid || (!flags.anonymous && !pages.is_aligned(offset)) {
            return Err(Errno::EINVAL);
        }
        if !flags.anonymous {
            self.check_file_map(fd, prot, flags)?;
        }
        let addr = choose_address(mem, pages, hint, len, flags)?;
        mem.map(addr, len, permissions(prot))?;
        if !flags.anonymous
            && let Err(errno) = self.copy_file(mem, fd, offset, addr, len)
        {
            mem.unmap(addr, len)?;
            return Err(errno);
        }
        Ok(addr)
    }

    /// Files are mapped by copying them, so writes to a shared map could not reach the file.
    fn check_file_map(&self, fd: u64, prot: u64, flags: MapFlags) -> Result<(), Errno> {
        let file = self.files.get(fd)?;
        match file.kind {
            Kind::File(_) | Kind::Zero if !file.flags.read => Err(Errno::EACCES),
            Kind::File(_) if flags.shared && prot & PROT_WRITE != 0 => Err(Errno::ENODEV),
            Kind::File(_) | Kind::Zero => Ok(()),
            _ => Err(Errno::ENODEV),
        }
    }

    fn copy_file(
        &self,
        mem: &mut Memory,
        fd: u64,
        offset: u64,
        addr: u64,
        len: u64,
    ) -> Result<(), Errno> {
        let Kind::File(host) = &self.files.get(fd)?.kind else {
            return Ok(());
        };
        let mut buffer = vec![0; (len as usize).min(1 << 20)];
        let mut done = 0;
        while done < len {
            let piece = (len - done).min(buffer.len() as u64) as usize;
            let at = offset.checked_add(done).ok_or(Errno::EOVERFLOW)?;
            let count = retry(|| host.read_at(&mut buffer[..piece], at))?;
            if count == 0 {
                break;
            }
            mem.write_bytes_forced(addr + done, &buffer[..count])?;
            done += count as u64;
        }
        Ok(())
    }

    pub(super) fn munmap(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let len = self.pages().range(a[0], a[1])?;
        mem.unmap(a[0], len)?;
        Ok(0)
    }

    pub(super) fn mprotect(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        if a[1] == 0 {
            return Ok(0);
        }
        let len = self.pages().range(a[0], a[1])?;
        mem.protect(a[0], len, permissions(a[2]))?;
        Ok(0)
    }

    pub(super) fn mremap(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const MAYMOVE: u64 = 1;
        const FIXED: u64 = 2;
        let [old, old_len, new_len, flags, new_addr, _] = *a;
        let pages = self.pages();
        let old_len = pages.range(old, old_len)?;
        let new_len = pages.length(new_len)?;
        let fixed = flags & FIXED != 0;
        if flags & !(MAYMOVE | FIXED) != 0 || (fixed && flags & MAYMOVE == 0) {
            return Err(Errno::EINVAL);
        }
        if !mem.is_mapped(old, old_len) {
            return Err(Errno::EFAULT);
        }
        let perm = mem.permissions(old).ok_or(Errno::EFAULT)?;
        if fixed {
            let overlaps = new_addr < old + old_len && old < new_addr.saturating_add(new_len);
            if pages.range(new_addr, new_len)? != new_len || overlaps {
                return Err(Errno::EINVAL);
            }
            return move_pages(mem, old, old_len, new_addr, new_len, perm);
        }
        if new_len <= old_len {
            if new_len < old_len {
                mem.unmap(old + new_len, old_len - new_len)?;
            }
            return Ok(old);
        }
        let extra = new_len - old_len;
        if layout::is_guest_range(old, new_len) && mem.is_free(old + old_len, extra) {
            mem.map(old + old_len, extra, perm)?;
            return Ok(old);
        }
        if flags & MAYMOVE == 0 {
            return Err(Errno::ENOMEM);
        }
        let target = mem
            .find_gap(new_len, layout::MMAP_FLOOR, layout::MMAP_TOP)
            .ok_or(Errno::ENOMEM)?;
        move_pages(mem, old, old_len, target, new_len, perm)
    }

    pub(super) fn madvise(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [addr, len, advice, ..] = *a;
        if len == 0 {
            return Ok(0);
        }
        let len = self.pages().range(addr, len)?;
        if !mem.is_mapped(addr, len) {
            return Err(Errno::ENOMEM);
        }
        if advice == self.abi.advice_dontneed() {
            // The pages read as zero again. Permissions may differ from page to page.
            for page in (addr..addr + len).step_by(PAGE_SIZE as usize) {
                let perm = mem.permissions(page).ok_or(Errno::ENOMEM)?;
                mem.map(page, PAGE_SIZE, perm)?;
            }
        }
        Ok(0)
    }

    pub(super) fn msync(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let len = self.pages().align_up(a[1]).ok_or(Errno::ENOMEM)?;
        if mem.is_mapped(a[0], len) {
            Ok(0)
        } else {
            Err(Errno::ENOMEM)
        }
    }
}

fn choose_address(
    mem: &Memory,
    pages: Pages,
    hint: u64,
    len: u64,
    flags: MapFlags,
) -> Result<u64, Errno> {
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
    mem.find_gap(len, layout::MMAP_FLOOR, layout::MMAP_TOP)
        .ok_or(Errno::ENOMEM)
}

/// Moves the content of a range to `target`. Its first page gives the permissions.
fn move_pages(
    mem: &mut Memory,
    old: u64,
    old_len: u64,
    target: u64,
    new_len: u64,
    perm: Perm,
) -> Result<u64, Errno> {
    let kept = old_len.min(new_len);
    let mut page = vec![0; PAGE_SIZE as usize];
    mem.map(target, new_len, perm)?;
    for offset in (0..kept).step_by(PAGE_SIZE as usize) {
        mem.read_bytes_forced(old + offset, &mut page)?;
        // Pages of zeros need not be committed.
        if page.iter().any(|&byte| byte != 0) {
            mem.write_bytes_forced(target + offset, &page)?;
        }
    }
    mem.unmap(old, old_len)?;
    Ok(target)
}
