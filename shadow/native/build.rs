//! Compiles the library that is preloaded, so that who runs shadows needs no compiler.
//!
//! Without a C compiler, or for another architecture, the library is empty, and compiled when it is needed.

use std::path::Path;
use std::process::Command;

const FLAGS: [&str; 15] = include!("src/flags.in");

fn main() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let library = Path::new(&variable("OUT_DIR")).join("shadow.so");
    let [target, host] = ["TARGET", "HOST"].map(|name| variable(name).starts_with("x86_64-"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let is_built = target
        && host
        && Command::new(compiler)
            .args(FLAGS)
            .arg("-o")
            .arg(&library)
            .arg("preload/shadow.c")
            .output()
            .is_ok_and(|output| output.status.success());
    if !is_built {
        std::fs::write(&library, "").expect("the build's folder can be written");
    }
    for line in [
        "rerun-if-changed=preload",
        "rerun-if-changed=src/flags.in",
        "rerun-if-env-changed=CC",
    ] {
        println!("cargo:{line}");
    }
}
