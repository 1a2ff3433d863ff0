//! Tests that the host cannot run.

use std::io::Write as _;

/// Notes that something is not tested, and why: `./test.sh` prints all of them at its end. Under CI, which has all that the
/// tests want, it is a failure.
///
/// # Panics
/// The environment has `CI=true`.
pub fn left_out(what: &str, why: &str) {
    let line = format!("{what}: {why}\n");
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "not tested: {line}"
    );
    eprint!("not tested: {line}");
    if let Some(path) = std::env::var_os("HPS_LEFT_OUT") {
        let file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the list of what is left out");
    }
}
