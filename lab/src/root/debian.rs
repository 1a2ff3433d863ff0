//! Packages of Debian, unpacked by `mmdebstrap`: apt resolves them and checks the archive's signature.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files::sha256;
use super::lock::{Lock, Package, SourceKind};
use super::{RootError, settle};
use crate::host;

/// Packages of every Debian system, by apt's pattern.
const ESSENTIAL: &str = "?essential";
const ARCHIVES: &str = "var/cache/apt/archives";
const LISTS: &str = "var/lib/apt/lists";

/// A root that is asked for.
#[derive(Clone, Debug)]
pub struct Order {
    /// Packages beside the essential ones; those that they depend on come along.
    pub packages: Vec<String>,
    /// Suite of Debian.
    pub suite: String,
    /// Architecture by Debian's name.
    pub architecture: String,
    /// Mirrors: addresses, or lines as in `sources.list`. Empty: the suite of Debian's own mirror.
    pub mirrors: Vec<String>,
}

/// A root that was made of a lock file.
#[derive(Clone, Debug)]
pub struct Remade {
    /// Lock file of the new root.
    pub lock: Lock,
    /// Whether all files equal those of the original root. Other versions of the lab or of `mmdebstrap` may make other
    /// files from equal packages.
    pub has_same_files: bool,
}

/// Unpacks packages and those that they depend on.
pub(super) fn unpack(
    root: &Path,
    order: &Order,
    said: &mut dyn FnMut(&str),
) -> Result<Lock, RootError> {
    check(order)?;
    let include = [&[ESSENTIAL.to_string()], &order.packages[..]].concat();
    mmdebstrap(root, order, &include, said).map_err(|errors| errors.failed())?;
    let mut lock = Lock::new(SourceKind::Debian);
    lock.suite = Some(order.suite.clone());
    lock.architecture = Some(order.architecture.clone());
    lock.release_date = release_date(root);
    lock.requested.clone_from(&order.packages);
    lock.packages = packages(root, said)?;
    settle::debian(root, &archives(root)?, said)?;
    Ok(lock)
}

/// Unpacks exactly the packages of a lock file, which lies in `file`.
pub(super) fn unpack_again(
    root: &Path,
    wanted: &Lock,
    file: &Path,
    mirrors: &[String],
    said: &mut dyn FnMut(&str),
) -> Result<(), RootError> {
    let (Some(suite), Some(architecture)) = (&wanted.suite, &wanted.architecture) else {
        return Err(RootError::BadLock {
            file: file.to_path_buf(),
            problem: "its root was made from an image; name the image with --from".to_string(),
        });
    };
    let named = |package: &Package| format!("{}={}", package.name, package.version);
    let order = Order {
        packages: wanted.packages.iter().map(named).collect(),
        suite: suite.clone(),
        architecture: architecture.clone(),
        mirrors: mirrors.to_vec(),
    };
    check(&order)?;
    let date = || match &wanted.release_date {
        Some(date) => date.clone(),
        None => "that of the lock file".to_string(),
    };
    let not_there = |packages| RootError::NotThere {
        packages,
        date: date(),
    };
    if let Err(errors) = mmdebstrap(root, &order, &order.packages, said) {
        let refused: Vec<String> = wanted
            .packages
            .iter()
            .filter(|package| errors.are_about(&package.name))
            .map(|package| format!("{} {}", package.name, package.version))
            .collect();
        return Err(match refused.is_empty() {
            true => errors.failed(),
            false => not_there(refused),
        });
    }
    let found = packages(root, said)?;
    let others: Vec<String> = wanted
        .packages
        .iter()
        .filter(|package| !found.contains(package))
        .map(|package| format!("{} {} with this content", package.name, package.version))
        .collect();
    if !others.is_empty() {
        return Err(not_there(others));
    }
    if let Some(more) = found.iter().find(|one| !wanted.packages.contains(one)) {
        return Err(RootError::BadLock {
            file: file.to_path_buf(),
            problem: format!("it lacks {}, which others depend on", more.name),
        });
    }
    settle::debian(root, &archives(root)?, said)
}

/// Checks that the tools are there and that all names are names of Debian.
fn check(order: &Order) -> Result<(), RootError> {
    tool(TOOL, "unpacks packages", "mmdebstrap")?;
    dpkg_deb()?;
    check_name(&order.suite, "suite")?;
    check_name(&order.architecture, "architecture")?;
    let mut packages = order.packages.iter();
    packages.try_for_each(|package| check_name(package, "package"))
}

/// Names of packages (with versions), suites and architectures have these characters only.
fn check_name(word: &str, what: &'static str) -> Result<(), RootError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "+-.:=~/".contains(c);
    let begins = word.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins && word.chars().all(is_allowed) {
        true => Ok(()),
        false => Err(RootError::Name {
            word: word.to_string(),
            what,
        }),
    }
}

/// Error messages of `mmdebstrap` and apt.
struct Errors(Vec<String>);

impl Errors {
    fn failed(self) -> RootError {
        RootError::Failed {
            tool: TOOL.to_string(),
            said: self.0.join("; "),
        }
    }

    /// Whether apt names a package: in quotes, or at the end.
    fn are_about(&self, package: &str) -> bool {
        let mut words = self.0.iter().flat_map(|line| line.split(' '));
        words.any(|word| word.trim_matches(|c| "'‘’".contains(c)) == package)
    }
}

const TOOL: &str = "mmdebstrap";
/// Beginnings of lines of `mmdebstrap` that tell a user nothing.
const NO_STEPS: [&str; 5] = [
    "skipping",
    "main()",
    "running --",
    "finding correct",
    "automatically chosen",
];

/// Unpacks packages into an empty folder, keeps their archives and the lists of the mirror there.
fn mmdebstrap(
    root: &Path,
    order: &Order,
    include: &[String],
    said: &mut dyn FnMut(&str),
) -> Result<(), Errors> {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 022 && exec \"$@\"", "sh"]);
    command.args([
        TOOL,
        "--mode=chrootless",
        "--variant=extract",
        "--skip=cleanup/apt",
        "--aptopt=Acquire::Retries \"3\"",
        // Old snapshots are wanted too; their signatures are checked.
        "--aptopt=Acquire::Check-Valid-Until \"false\"",
    ]);
    command.arg(format!("--architectures={}", order.architecture));
    // A pattern stands alone, since a comma would be a part of it.
    command.args(include.iter().map(|one| format!("--include={one}")));
    if order.mirrors.is_empty() {
        // The suite alone: what updates and security bring is soon replaced, and no lock file could be made again.
        command.arg("--setup-hook=sed -i '2,$d' \"$1\"/etc/apt/sources.list");
    }
    command
        .args(["--", &order.suite])
        .arg(root)
        .args(&order.mirrors);
    let io = |cause: std::io::Error| Errors(vec![cause.to_string()]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .env("LC_ALL", "C.UTF-8")
        .spawn()
        .map_err(io)?;
    let mut errors = Vec::new();
    let lines = child.stderr.take().map(BufReader::new);
    for line in lines.into_iter().flat_map(BufRead::lines) {
        let line = line.map_err(io)?;
        match line.split_once(": ") {
            Some(("I", step)) if !NO_STEPS.iter().any(|begin| step.starts_with(begin)) => {
                said(step.trim_end_matches('.'));
            }
            // The lines that only repeat that something failed.
            Some(("E", "mmdebstrap failed to run")) => {}
            Some(("E", error)) if !error.contains("apt-get ") => errors.push(error.to_string()),
            _ => {}
        }
    }
    match child.wait().map_err(io)?.success() {
        true => Ok(()),
        false => Err(Errors(errors)),
    }
}

/// A program of the host.
pub(super) fn tool(
    tool: &'static str,
    job: &'static str,
    package: &'static str,
) -> Result<PathBuf, RootError> {
    host::find(&[tool]).ok_or(RootError::Tool { tool, job, package })
}

pub(super) fn dpkg_deb() -> Result<PathBuf, RootError> {
    tool("dpkg-deb", "reads packages", "dpkg")
}

/// The archives of the packages that were unpacked.
fn archives(root: &Path) -> Result<Vec<PathBuf>, RootError> {
    let folder = root.join(ARCHIVES);
    let entries = fs::read_dir(&folder).map_err(RootError::reading(&folder))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|file| file.extension().is_some_and(|end| end == "deb"))
        .collect();
    files.sort();
    Ok(files)
}

/// The packages that were unpacked, by the names of their archives: `NAME_VERSION_ARCHITECTURE.deb`.
fn packages(root: &Path, said: &mut dyn FnMut(&str)) -> Result<Vec<Package>, RootError> {
    said("naming packages");
    let mut found = Vec::new();
    for file in archives(root)? {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let parts: Vec<&str> = stem.split('_').collect();
        let [name, version, architecture] = parts[..] else {
            continue;
        };
        let read = fs::File::open(&file).and_then(sha256);
        found.push(Package {
            name: name.to_string(),
            version: version.replace("%3a", ":"),
            architecture: architecture.to_string(),
            sha256: Some(read.map_err(RootError::reading(&file))?),
        });
    }
    found.sort();
    Ok(found)
}

/// When the release was published, by the file that the mirror signed; the first mirror's by name.
fn release_date(root: &Path) -> Option<String> {
    let entries = fs::read_dir(root.join(LISTS)).ok()?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    files.into_iter().find_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is_release = name.ends_with("InRelease") || name.ends_with("_Release");
        let text = is_release.then(|| fs::read_to_string(&path).ok())??;
        let line = text.lines().find_map(|line| line.strip_prefix("Date: "))?;
        Some(line.to_string())
    })
}
