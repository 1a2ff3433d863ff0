//! The functions of Lua scripts as SHIM's tags: a call and return hook writes what runs, as the
//! SHIM thesis has a JavaScript engine write its methods.
//!
//! The tag of a function is a small one whose text is `file:line`, the place of its definition; C
//! functions have the name by which they were first called. On a return the tag becomes that of the
//! function below on Lua's own stack, so that errors caught by `pcall`, tail calls and coroutines
//! leave no wrong tag behind.
#![warn(missing_docs)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_int};

use hps_shim_tags as tags;
use mlua::Lua;
use mlua::ffi::{self, lua_Debug, lua_State};

thread_local! {
    /// Tags by what identifies a function.
    static TAGS: RefCell<HashMap<u64, u64>> = RefCell::new(HashMap::new());
}

/// Writes a tag at each call and return in `lua` and its coroutines from now on. Without an observer
/// nothing is installed.
///
/// # Errors
/// Error of Lua, if it has no memory left.
pub fn observe(lua: &Lua) -> mlua::Result<()> {
    if !tags::is_observed() {
        return Ok(());
    }
    // SAFETY: the closure only sets a hook, which raises no error and leaves the stack as it is. New
    // coroutines inherit it.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCALL | ffi::LUA_MASKRET, 0);
        })
    }
}

unsafe extern "C-unwind" fn hook(state: *mut lua_State, ar: *mut lua_Debug) {
    // SAFETY: Lua calls the hook with a live state and an activation record of that state, filled
    // for `lua_getinfo`; `caller` is filled by `lua_getstack` before it is used.
    unsafe {
        if (*ar).event != ffi::LUA_HOOKRET {
            tags::tag(tag_of(state, ar));
            return;
        }
        let mut caller: lua_Debug = std::mem::zeroed();
        let tag = match ffi::lua_getstack(state, 1, &raw mut caller) {
            0 => 0,
            _ => tag_of(state, &raw mut caller),
        };
        tags::tag(tag);
    }
}

/// The tag of an activation record's function.
///
/// # Safety
/// `state` is live and `ar` one of its activation records.
unsafe fn tag_of(state: *mut lua_State, ar: *mut lua_Debug) -> u64 {
    // SAFETY: as the caller promises; "S" fills `what`, `short_src` and `linedefined` with strings
    // that end with a zero byte, and "f" pushes a value, which is popped.
    unsafe {
        ffi::lua_getinfo(state, c"S".as_ptr(), ar);
        let is_c = *(*ar).what == b'C' as _;
        let key = if is_c {
            ffi::lua_getinfo(state, c"f".as_ptr(), ar);
            let function = ffi::lua_tocfunction(state, -1);
            ffi::lua_settop(state, -2);
            function.map_or(0, |f| f as usize as u64)
        } else {
            let source = CStr::from_ptr((*ar).short_src.as_ptr());
            fnv1a(source.to_bytes(), (*ar).linedefined)
        };
        TAGS.with_borrow_mut(|known| *known.entry(key).or_insert_with(|| new_tag(state, ar, is_c)))
    }
}

/// Names a function that was never seen before.
///
/// # Safety
/// Like [`tag_of`], with "S" filled in.
unsafe fn new_tag(state: *mut lua_State, ar: *mut lua_Debug, is_c: bool) -> u64 {
    // SAFETY: as the caller promises; "n" fills `name` with null or a string that ends with a zero
    // byte.
    unsafe {
        let text = if is_c {
            ffi::lua_getinfo(state, c"n".as_ptr(), ar);
            let name = (*ar).name;
            let name = (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy());
            format!("{} [C]", name.as_deref().unwrap_or("?"))
        } else {
            let source = CStr::from_ptr((*ar).short_src.as_ptr()).to_string_lossy();
            match (*ar).linedefined {
                0 => format!("{source} (main)"),
                line => format!("{source}:{line}"),
            }
        };
        tags::name(&text)
    }
}

/// FNV-1a of a source's name and a line.
fn fnv1a(source: &[u8], line: c_int) -> u64 {
    let bytes = source.iter().copied().chain(line.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
