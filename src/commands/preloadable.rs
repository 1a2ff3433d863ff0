//! The check that a library can be preloaded into a program. A program that cannot is refused before it runs, instead of
//! a report that the library's output is missing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::bail;
use hps_shadow_native::form::found;

/// `PT_INTERP`
const INTERPRETER: u32 = 3;
/// Bytes of a file that hold its headers.
const HEADER_BYTES: u64 = 4096;

/// Texts of the command that preloads a library.
pub struct Wanting {
    /// Name that messages begin with.
    pub name: &'static str,
    /// The command that does the same work in the simulator.
    pub simulated: &'static str,
    /// Advice for a program that is linked statically; `None` if the command needs no preloading there.
    pub otherwise: Option<&'static str>,
    /// True for a command that runs on x86-64 alone.
    pub is_x86: bool,
}

/// Refuses programs in which `LD_PRELOAD` has no effect. A file that cannot be found or read is left to the start of
/// the program, whose error names it.
pub fn check(program: &OsStr, wanting: &Wanting) -> anyhow::Result<()> {
    let Wanting {
        name,
        simulated,
        otherwise,
        ..
    } = wanting;
    if wanting.is_x86 && !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        bail!("{name} runs on x86-64 Linux alone; {simulated} in the simulator");
    }
    let Some(path) = found(program) else {
        return Ok(());
    };
    let mut head = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(HEADER_BYTES).read_to_end(&mut head));
    if read.is_err() {
        return Ok(());
    }
    let shown = path.display();
    if head.starts_with(b"#!") {
        say!(
            "hps: note: {shown} is a script: its interpreter is observed, and the programs that it starts are not"
        );
        return Ok(());
    }
    if !head.starts_with(b"\x7fELF") {
        return Ok(());
    }
    match u16_at(&head, 18) {
        Some(machine) if machine != own_machine() => {
            let what = match machine {
                243 => "RISC-V",
                0x9026 => "Alpha",
                _ => "another instruction set",
            };
            bail!(
                "{shown}: a program for {what}, which this host does not run natively; {simulated} in the simulator"
            );
        }
        _ => {}
    }
    if is_privileged(&path) {
        bail!(
            "{name}: {shown} is set-uid or set-gid, and nothing is preloaded into such programs: copy it, which \
             takes the bits away"
        );
    }
    if let (Some(otherwise), Some(false)) = (otherwise, has_interpreter(&head)) {
        bail!(
            "{name}: {shown} is linked statically, and nothing can be preloaded into it: {otherwise}"
        );
    }
    Ok(())
}

/// Whether the program runs as somebody else.
fn is_privileged(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const SET_UID_OR_GID: u32 = 0o6000;
    std::fs::metadata(path).is_ok_and(|status| status.mode() & SET_UID_OR_GID != 0)
}

/// `e_machine` of this host.
fn own_machine() -> u16 {
    if cfg!(target_arch = "aarch64") {
        183
    } else {
        62
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let chunk = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*chunk))
}

/// Whether a 64-bit ELF file asks for an interpreter, which is what preloads libraries.
fn has_interpreter(head: &[u8]) -> Option<bool> {
    let table = u64::from_le_bytes(*head.get(32..)?.first_chunk()?);
    let table = usize::try_from(table).ok()?;
    let (size, count) = (
        usize::from(u16_at(head, 54)?),
        usize::from(u16_at(head, 56)?),
    );
    for index in 0..count {
        let kind = head.get(table + index * size..)?.first_chunk()?;
        if u32::from_le_bytes(*kind) == INTERPRETER {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_linked_dynamically() {
        let own = std::env::current_exe().unwrap();
        let mut head = Vec::new();
        let file = File::open(&own).unwrap();
        file.take(HEADER_BYTES).read_to_end(&mut head).unwrap();
        assert_eq!(has_interpreter(&head), Some(true));
        let wanting = Wanting {
            name: "a test",
            simulated: "nothing does",
            otherwise: Some(""),
            is_x86: false,
        };
        assert!(check(own.as_os_str(), &wanting).is_ok());
        assert_eq!(has_interpreter(&head[..40]), None);
    }
}
