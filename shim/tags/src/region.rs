//! Finding and mapping the region that the environment names.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

use crate::layout::{Layout, MAGIC, NAMES, REGION_BYTES, SLOTS, Slot, VERSION};

/// The region of this process; null until it is open, and always null without an observer.
static SHARED: AtomicPtr<Layout> = AtomicPtr::new(std::ptr::null_mut());
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
/// The key whose destructor gives back a thread's slot when the thread ends.
static KEY: AtomicU32 = AtomicU32::new(0);

const UNKNOWN: u8 = 0;
const OPENING: u8 = 1;
const ON: u8 = 2;
const OFF: u8 = 3;

/// Whether it is known that this process has no observer.
#[inline(always)]
pub fn is_off() -> bool {
    STATE.load(Ordering::Relaxed) == OFF
}

/// The region, opened at the first call. `None` without an observer, or while another thread is
/// opening it.
pub fn open() -> Option<&'static Layout> {
    let first = STATE.compare_exchange(UNKNOWN, OPENING, Ordering::AcqRel, Ordering::Acquire);
    match first {
        Err(ON) => {}
        Err(_) => return None,
        Ok(_) => {
            let mapped = map().filter(|_| prepare_threads());
            SHARED.store(mapped.unwrap_or(std::ptr::null_mut()), Ordering::Release);
            STATE.store(if mapped.is_some() { ON } else { OFF }, Ordering::Release);
        }
    }
    // SAFETY: null, or mapped for the life of the process with the layout's size and a page's
    // alignment; every bit pattern is valid and what others write are atomics.
    unsafe { SHARED.load(Ordering::Acquire).as_ref() }
}

/// Lets the destructor of the calling thread give back this slot; null: none.
pub fn at_thread_end(slot: *const Slot) {
    // SAFETY: the key was created before the region was on, which it is for whoever has a slot.
    unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), slot.cast()) };
}

fn prepare_threads() -> bool {
    extern "C" fn ended(slot: *mut libc::c_void) {
        // SAFETY: only slots of the region, which stays mapped, are ever set for the key.
        if let Some(slot) = unsafe { slot.cast::<Slot>().as_ref() } {
            crate::release(slot);
        }
    }
    extern "C" fn forked() {
        crate::forget();
        at_thread_end(std::ptr::null());
    }
    let mut key = 0;
    // SAFETY: `key` is valid for a write, and the destructor has the signature that is asked for.
    let created = unsafe { libc::pthread_key_create(&raw mut key, Some(ended)) } == 0;
    KEY.store(key, Ordering::Relaxed);
    // SAFETY: the handler is a function without captures that only writes a thread's own words.
    created && unsafe { libc::pthread_atfork(None, None, Some(forked)) } == 0
}

/// Maps the region that `HPS_SHIM_REGION` names, if this process is the one to write it.
fn map() -> Option<*mut Layout> {
    let path = std::env::var_os("HPS_SHIM_REGION").filter(|path| !path.is_empty())?;
    let fresh = path == "self";
    let fd = if fresh {
        new_region()?
    } else {
        let path = CString::new(path.as_bytes()).ok()?;
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        (fd >= 0).then_some(fd)?
    };
    // The descriptor stays open: by it an observer finds the region of a running program.
    let mapped = map_fd(fd, fresh);
    if mapped.is_none() {
        // SAFETY: it was opened above, and nothing else owns it.
        unsafe { libc::close(fd) };
    }
    mapped
}

fn map_fd(fd: libc::c_int, fresh: bool) -> Option<*mut Layout> {
    // SAFETY: an all-zero `stat` is a valid value.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is valid for a write.
    if unsafe { libc::fstat(fd, &raw mut status) } != 0 || status.st_size < REGION_BYTES as i64 {
        return None;
    }
    // SAFETY: a new mapping where the kernel wants it, of a file that is long enough.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            REGION_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            fd,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return None;
    }
    let region = at.cast::<Layout>();
    // SAFETY: just mapped, with the layout's size and a page's alignment.
    let header = unsafe { &(*region).header };
    if fresh {
        header.version.store(VERSION, Ordering::Relaxed);
        header.slot_count.store(SLOTS as u32, Ordering::Relaxed);
        header
            .slot_bytes
            .store(size_of::<Slot>() as u32, Ordering::Relaxed);
        header.name_count.store(NAMES as u32, Ordering::Relaxed);
        header
            .region_bytes
            .store(REGION_BYTES as u64, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
    }
    let known = header.magic.load(Ordering::Acquire) == MAGIC
        && header.version.load(Ordering::Relaxed) == VERSION;
    let own = std::process::id();
    // A program that the observed one executes has code at other addresses: it stays silent.
    let claimed = known
        && match header
            .pid
            .compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => true,
            Err(of) => of == own,
        };
    if !claimed {
        // SAFETY: mapped above; the borrow of its header ends here.
        unsafe { libc::munmap(at, REGION_BYTES) };
        return None;
    }
    Some(region)
}

/// An empty region of one's own, sealed so that no observer can lose a page of it.
fn new_region() -> Option<libc::c_int> {
    // SAFETY: the name ends with a zero byte.
    let fd = unsafe {
        libc::memfd_create(
            c"hps-shim".as_ptr(),
            libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING,
        )
    };
    if fd < 0 {
        return None;
    }
    let seals = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    // SAFETY: calls on a descriptor of our own without pointers.
    let made = unsafe {
        libc::ftruncate(fd, REGION_BYTES as i64) == 0
            && libc::fcntl(fd, libc::F_ADD_SEALS, seals) == 0
    };
    if !made {
        // SAFETY: this function owns it, and nothing else does.
        unsafe { libc::close(fd) };
        return None;
    }
    Some(fd)
}
