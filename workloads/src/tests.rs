use super::*;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// An image written to a file that qemu-riscv64 can run; removed when dropped.
struct ImageFile(PathBuf);

impl ImageFile {
    fn new(workload: &Workload, test: &str) -> ImageFile {
        let folder = std::env::temp_dir().join(format!(
            "hps-workloads-{}-{test}-{}",
            std::process::id(),
            workload.name
        ));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let path = folder.join(workload.name);
        fs::write(&path, workload.image_riscv64).expect("the image can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .expect("the image can be made executable");
        ImageFile(path)
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new("qemu-riscv64")
            .arg(&self.0)
            .args(args)
            .output()
            .expect("qemu-riscv64 must run; install the Debian package qemu-user")
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        if let Some(folder) = self.0.parent() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn u16_at(image: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([image[offset], image[offset + 1]])
}

#[test]
fn names_are_unique_and_found() {
    let names: HashSet<_> = all().iter().map(|w| w.name).collect();
    assert_eq!(names.len(), all().len());
    for workload in all() {
        assert_eq!(find(workload.name).map(|w| w.name), Some(workload.name));
    }
    assert!(find("no such program").is_none());
}

#[test]
fn images_are_static_riscv_executables() {
    for workload in all() {
        let image = workload
            .image("riscv64")
            .expect("every program has a RISC-V image");
        assert_eq!(
            &image[..6],
            b"\x7fELF\x02\x01",
            "{}: 64-bit little-endian ELF",
            workload.name
        );
        assert_eq!(
            u16_at(image, 16),
            2,
            "{}: fixed-address executable",
            workload.name
        );
        assert_eq!(u16_at(image, 18), 243, "{}: machine", workload.name);
        assert!(workload.image("pdp11").is_none());
    }
}

#[test]
fn images_name_no_folder_of_the_machine_that_built_them() {
    for workload in all() {
        for needle in [&b"/home/"[..], b"/root/", b"/tmp/", b"/usr/"] {
            let found = workload
                .image_riscv64
                .windows(needle.len())
                .any(|bytes| bytes == needle);
            assert!(
                !found,
                "{}: {}",
                workload.name,
                String::from_utf8_lossy(needle)
            );
        }
    }
}

#[test]
fn expected_outputs_are_whole_lines_and_differ_by_size() {
    for workload in all() {
        for size in Size::ALL {
            assert!(
                workload.expected(size).ends_with('\n'),
                "{} {}",
                workload.name,
                size.arg()
            );
        }
        assert_ne!(
            workload.expected_small, workload.expected_large,
            "{}",
            workload.name
        );
    }
}

#[test]
fn small_runs_print_what_is_expected() {
    for workload in all() {
        let output = ImageFile::new(workload, "small").run(&workload.args(Size::Small));
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "",
            "{}",
            workload.name
        );
        assert_eq!(output.status.code(), Some(0), "{}", workload.name);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            workload.expected_small,
            "{}",
            workload.name
        );
    }
}

#[test]
fn a_bad_argument_is_refused_with_code_2() {
    for workload in all() {
        let output = ImageFile::new(workload, "refusal").run(&["huge"]);
        assert_eq!(output.status.code(), Some(2), "{}", workload.name);
        assert!(output.stdout.is_empty(), "{}", workload.name);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(message, format!("usage: {} [small|large]\n", workload.name));
    }
}
