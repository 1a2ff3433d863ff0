//! `hps root`: makes root folders for programs, says what they are made of, and finds what has changed in them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use hps_lab::root::{self, Lock, Order, RootError, SourceKind, lock_digest};

use crate::cli::{RootCommand, RootMakeArgs};
use crate::document::{Described, Format};
use crate::text::{Align, Table, one_line, print};

/// Most differences that are named.
const MOST_NAMED: usize = 40;

/// Runs the command; the result is the exit code.
pub fn root(command: &RootCommand) -> anyhow::Result<u8> {
    match command {
        RootCommand::Make(args) => make(args)?,
        RootCommand::Show { folder, json } => {
            let lock = Lock::of(folder)?;
            json.print_text(&shown(folder, &lock))?;
            json.write(&lock)?;
        }
        RootCommand::Check { folder } => return check(folder),
    }
    Ok(0)
}

fn make(args: &RootMakeArgs) -> anyhow::Result<()> {
    let folder: &PathBuf = &args.folder;
    let said = &mut |step: &str| say!("hps: {}: {step}", folder.display());
    let lock = if let Some(file) = &args.lock {
        let remade = root::make_again(folder, file, &args.mirror, said)?;
        if !remade.has_same_files {
            say!(
                "hps: warning: {}: its packages are those of {}, but some of its files differ, as another version of hps or \
                 mmdebstrap makes them",
                folder.display(),
                file.display()
            );
        }
        remade.lock
    } else if let Some(image) = &args.from {
        root::make_from(folder, image, &args.arch, said)?
    } else {
        let order = Order {
            packages: args.with.clone(),
            suite: args.suite.clone(),
            architecture: args.arch.clone(),
            mirrors: args.mirror.clone(),
        };
        root::make(folder, &order, said)?
    };
    let packages = lock.packages.len();
    let file = folder.join(root::LOCK);
    let digest = lock_digest(folder).context("the root has a lock file")?;
    let (folder, file) = (folder.display(), file.display());
    print(&format!(
        "{folder}: {packages} packages; {file} names them (SHA-256 {})\n",
        &digest[..12]
    ))?;
    Ok(())
}

/// The text of a lock file.
fn shown(folder: &Path, lock: &Lock) -> String {
    let from = match lock.source {
        SourceKind::Debian => {
            let suite = lock.suite.as_deref().unwrap_or("?");
            let date = lock.release_date.as_deref().unwrap_or("an unknown date");
            format!("packages of Debian {suite}, as published {date}")
        }
        SourceKind::Tar => "a tar of a file system".to_string(),
        SourceKind::Oci => "an OCI image".to_string(),
    };
    let mut text = format!("{}: {}\n", folder.display(), one_line(&from));
    let digest = lock_digest(folder);
    for (name, value) in [
        ("architecture", lock.architecture.as_deref()),
        ("made by hps", Some(&*lock.version)),
        ("SHA-256 of the image", lock.image_sha256.as_deref()),
        ("SHA-256 of the lock file", digest.as_deref()),
    ] {
        if let Some(value) = value {
            text += &format!("{name}: {}\n", one_line(value));
        }
    }
    let columns = ["package", "version", "architecture", "asked for"].map(|c| (c, Align::Left));
    let mut table = Table::new(&columns);
    for package in &lock.packages {
        let is_asked = lock.requested.contains(&package.name);
        table.row([
            package.name.clone(),
            package.version.clone(),
            package.architecture.clone(),
            if is_asked { "yes" } else { "" }.to_string(),
        ]);
    }
    text + &table.render()
}

fn check(folder: &Path) -> anyhow::Result<u8> {
    let differences = match root::check(folder) {
        // A list that was changed is a difference too.
        Err(error @ RootError::BadLock { .. }) => {
            print(&format!("{error}\n"))?;
            return Ok(1);
        }
        found => found?,
    };
    let mut text = String::new();
    for one in differences.iter().take(MOST_NAMED) {
        text += &format!("{}: {}\n", one.what.name(), one.path);
    }
    if differences.len() > MOST_NAMED {
        text += &format!("and {} more\n", differences.len() - MOST_NAMED);
    }
    let folder = folder.display();
    text += &match differences.len() {
        0 => format!("{folder}: as it was made\n"),
        1 => format!("{folder}: 1 file differs from what was made\n"),
        count => format!("{folder}: {count} files differ from what was made\n"),
    };
    print(&text)?;
    Ok(u8::from(!differences.is_empty()))
}

/// Format of a lock file, which says itself.
const FORMAT: Format = Format::new("hps-root", 1);

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<Lock>(&["root show"])
}
