//! Functions that a browser calls. Text goes in and out through memory of this module.

use std::cell::RefCell;

use crate::Session;

thread_local! {
    static SESSION: RefCell<Session> = RefCell::new(Session::new());
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Room for a question of so many bytes, which [`hps_ask`] takes back.
#[unsafe(no_mangle)]
pub extern "C" fn hps_room(bytes: usize) -> *mut u8 {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with(|text| *text.borrow_mut() = panic.to_string());
    }));
    Box::into_raw(vec![0u8; bytes].into_boxed_slice()).cast()
}

/// Answers the question in a room of so many bytes; the length of the answer in bytes.
///
/// # Safety
/// The room is of [`hps_room`], has this size, and is used once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hps_ask(room: *mut u8, bytes: usize) -> usize {
    // SAFETY: the caller promises a room of this size that is not used any more.
    let question = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(room, bytes)) };
    let answer = match std::str::from_utf8(&question) {
        Ok(question) => SESSION.with(|session| session.borrow_mut().answer_text(question)),
        Err(_) => String::new(),
    };
    ANSWER.with(|kept| {
        *kept.borrow_mut() = answer;
        kept.borrow().len()
    })
}

/// Address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn hps_answer() -> *const u8 {
    ANSWER.with(|kept| kept.borrow().as_ptr())
}

/// Address of the words of a panic.
#[unsafe(no_mangle)]
pub extern "C" fn hps_panic() -> *const u8 {
    PANIC.with(|kept| kept.borrow().as_ptr())
}

/// Number of bytes of the words of a panic.
#[unsafe(no_mangle)]
pub extern "C" fn hps_panic_bytes() -> usize {
    PANIC.with(|kept| kept.borrow().len())
}
