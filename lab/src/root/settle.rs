//! Effects of maintainer scripts that programs need: accounts, name services, alternatives. The scripts do not run on the
//! host. Files that depend on the host or on the mirror are removed, so that equal packages make equal roots.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hps_sim_core::machine::Stop;
use hps_system::os::Owner;
use hps_system::process::ProcessConfig;

use super::debian::dpkg_deb;
use super::files::{inside, write_anew};
use super::{RootError, remove};
use crate::{Lab, Program};

/// User and group as which programs run unless others are asked for: 1000.
const USER: &str = "user:x:1000:1000::/home/user:/bin/bash\n";
const GROUP: &str = "user:x:1000:\n";
/// Longest time that the alternatives of a package take, in seconds of the host.
const LONGEST: Duration = Duration::from_secs(60);

/// Puts unpacked packages into order. `archives` are those that were unpacked.
pub(super) fn debian(
    root: &Path,
    archives: &[PathBuf],
    said: &mut dyn FnMut(&str),
) -> Result<(), RootError> {
    said("doing what maintainer scripts would do");
    for (file, copied, more) in [
        ("etc/passwd", "usr/share/base-passwd/passwd.master", USER),
        ("etc/group", "usr/share/base-passwd/group.master", GROUP),
        ("etc/nsswitch.conf", "usr/share/libc-bin/nsswitch.conf", ""),
        ("etc/profile", "usr/share/base-files/profile", ""),
        ("etc/hosts", "", "127.0.0.1 localhost\n::1 localhost\n"),
        ("etc/hostname", "", "hps\n"),
        ("etc/timezone", "", "Etc/UTC\n"),
    ] {
        let from = place(root, copied)?;
        let text = match from.is_file() && !copied.is_empty() {
            true => fs::read_to_string(&from).map_err(RootError::reading(&from))?,
            false => String::new(),
        };
        write_anew(&place(root, file)?, (text + more).as_bytes())?;
    }
    let home = place(root, "home/user/.profile")?;
    write_anew(&home, b"")?;
    alternatives(root, archives, said)?;
    let localtime = place(root, "etc/localtime")?;
    if fs::symlink_metadata(&localtime).is_err() {
        let made = symlink("/usr/share/zoneinfo/Etc/UTC", &localtime);
        made.map_err(RootError::writing(&localtime))?;
    }
    for name in [
        "dev",
        "etc/apt/sources.list",
        "etc/apt/sources.list.d",
        "etc/fstab",
        "etc/resolv.conf",
        "var/cache/apt",
        "var/lib/apt/lists",
        "var/log/alternatives.log",
        "var/log/apt",
    ] {
        remove(&place(root, name)?)?;
    }
    let devices = place(root, "dev")?;
    fs::create_dir(&devices).map_err(RootError::writing(&devices))
}

fn place(root: &Path, name: &str) -> Result<PathBuf, RootError> {
    inside(root, Path::new(name)).map_err(RootError::writing(&root.join(name)))
}

/// Sets the alternatives of the packages. Their scripts run in the simulated machine, by the shell of the root, and find
/// no program but `update-alternatives`.
fn alternatives(
    root: &Path,
    archives: &[PathBuf],
    said: &mut dyn FnMut(&str),
) -> Result<(), RootError> {
    const TOOL: &str = "usr/bin/update-alternatives";
    if !place(root, TOOL)?.is_file() {
        return Ok(());
    }
    let tools = root.join(".hps-tools");
    let link = tools.join("update-alternatives");
    let made = fs::create_dir(&tools).and_then(|()| symlink(format!("/{TOOL}"), &link));
    made.map_err(RootError::writing(&link))?;
    let dpkg_deb = dpkg_deb()?;
    for archive in archives {
        let script = Command::new(&dpkg_deb)
            .arg("--info")
            .arg(archive)
            .arg("postinst")
            .output();
        let script = script.map_err(RootError::reading(archive))?.stdout;
        let script = String::from_utf8_lossy(&script);
        if !script.contains("update-alternatives") {
            continue;
        }
        if let Err(problem) = run_script(root, &script) {
            let name = archive.file_stem().unwrap_or_default().to_string_lossy();
            said(&format!(
                "alternatives of {name} are not all set: {problem}"
            ));
        }
    }
    remove(&tools)
}

fn run_script(root: &Path, script: &str) -> Result<(), String> {
    // A missing program must not end the script.
    let script = script.replace("set -e", ":");
    let args = ["/bin/sh", "-c", &script, "postinst", "configure"];
    let variable = |name: &str, value: &str| (name.to_string(), value.to_string());
    let process = ProcessConfig {
        args: args.map(str::to_string).to_vec(),
        env: vec![
            variable("PATH", "/.hps-tools"),
            variable("DPKG_ADMINDIR", "/var/lib/dpkg"),
        ],
        root: Some(root.to_path_buf()),
        writable: true,
        owner: Owner { uid: 0, gid: 0 },
        time_limit: Some(LONGEST),
        ..ProcessConfig::default()
    };
    let program = Program::under_root(process, None)
        .map_err(|error| error.to_string())?
        .ok_or("the root has no /bin/sh")?;
    let ran = Lab::of(&program).run().map_err(|error| error.to_string())?;
    match ran.stop {
        Stop::Exit(_) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// Permissions that files keep. With the usual creation masks of users, equal packages then give equal roots. A program
/// owns all files.
const PERMISSIONS: u32 = 0o755;

/// Takes from a root what could act on the host: devices, FIFOs, sockets and set-id bits. Its owner can read all of it.
pub(super) fn settle(root: &Path) -> Result<(), RootError> {
    let entries = fs::read_dir(root).map_err(RootError::reading(root))?;
    for entry in entries {
        let path = entry.map_err(RootError::reading(root))?.path();
        let about = fs::symlink_metadata(&path).map_err(RootError::reading(&path))?;
        let kind = about.file_type();
        if kind.is_symlink() {
            continue;
        }
        if !kind.is_dir() && !kind.is_file() {
            fs::remove_file(&path).map_err(RootError::writing(&path))?;
            continue;
        }
        let mode = about.permissions().mode() & 0o7777;
        let readable = if kind.is_dir() { 0o700 } else { 0o400 };
        let settled = mode & PERMISSIONS | readable;
        if settled != mode {
            let changed = fs::set_permissions(&path, Permissions::from_mode(settled));
            changed.map_err(RootError::writing(&path))?;
        }
        if kind.is_dir() {
            settle(&path)?;
        }
    }
    Ok(())
}
