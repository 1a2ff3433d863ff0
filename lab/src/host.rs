//! Facilities of the host: processors, other programs on the search path, and runs of QEMU.

use std::path::PathBuf;
use std::process::Command;

use hps_system::image::Isa;

/// Processors that this process may use.
#[must_use]
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// QEMU's user mode for an instruction set, if the host has it.
#[must_use]
pub fn qemu(isa: Isa) -> Option<PathBuf> {
    let name = qemu_name(isa);
    find(&[&name, &format!("{name}-static")])
}

/// The name of QEMU's user mode for an instruction set.
#[must_use]
pub fn qemu_name(isa: Isa) -> String {
    format!("qemu-{isa}")
}

/// The name of Debian's C compiler for an instruction set.
#[must_use]
pub fn cross_compiler_name(isa: Isa) -> String {
    format!("{isa}-linux-gnu-gcc")
}

/// The first of these programs that is on the search path.
#[must_use]
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| {
        folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|file| is_executable(file))
    })
}

fn is_executable(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The first line of what a program says to `--version`.
#[must_use]
pub fn version(program: &std::path::Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()
        .map(str::to_string)
}

/// A text as one word of a POSIX shell: in single quotes unless each of its characters is an ordinary one.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A path as one word of a POSIX shell ([`shell_word`]).
#[must_use]
pub fn path_word(path: &std::path::Path) -> String {
    shell_word(&path.to_string_lossy())
}

/// A command line that a POSIX shell splits into these words again.
#[must_use]
pub fn shell_words<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_word(word.as_ref())).collect();
    words.join(" ")
}

/// Writes a file that may be executed.
///
/// # Errors
/// The host's error.
pub fn write_executable(file: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(file, bytes)?;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_words_that_were_quoted() {
        let words = [
            "",
            "a b",
            "it's",
            "$(rm x)",
            "`x`;&|<>*?~#!",
            "line\nline",
            "-x=1",
            "\\",
        ];
        let line = format!("printf '%s\\0' {}", shell_words(&words));
        let output = Command::new("sh").arg("-c").arg(line).output();
        let printed = output.expect("a shell").stdout;
        let expected: Vec<u8> = words
            .iter()
            .flat_map(|w| [w.as_bytes(), b"\0"].concat())
            .collect();
        assert_eq!(printed, expected);
        assert_eq!(shell_word("/a/b-c.ron"), "/a/b-c.ron");
    }
}
