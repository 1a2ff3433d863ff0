use super::*;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// An image written to a file that QEMU can run; removed when dropped.
struct ImageFile {
    path: PathBuf,
    qemu: String,
}

impl ImageFile {
    fn new(workload: &Workload, isa: &str, test: &str) -> ImageFile {
        let folder = std::env::temp_dir().join(format!(
            "hps-workloads-{}-{test}-{isa}-{}",
            std::process::id(),
            workload.name
        ));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let path = folder.join(workload.name);
        fs::write(&path, image(workload, isa)).expect("the image can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .expect("the image can be made executable");
        ImageFile {
            path,
            qemu: format!("qemu-{isa}"),
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        let run = Command::new(&self.qemu).arg(&self.path).args(args).output();
        run.unwrap_or_else(|e| {
            panic!(
                "{} must run ({e}); install the Debian package qemu-user",
                self.qemu
            )
        })
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        if let Some(folder) = self.path.parent() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn image(workload: &Workload, isa: &str) -> &'static [u8] {
    workload
        .image(isa)
        .unwrap_or_else(|| panic!("{}: no {isa} image", workload.name))
}

/// The types of an image's program headers.
fn segment_kinds(image: &[u8]) -> impl Iterator<Item = u32> {
    let (size, count) = (u16_at(image, 54), u16_at(image, 56));
    (0..usize::from(count)).map(move |n| {
        let at = 64 + n * usize::from(size);
        u32::from(u16_at(image, at)) | u32::from(u16_at(image, at + 2)) << 16
    })
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
fn images_are_static_executables_of_their_instruction_set() {
    for workload in all() {
        for (isa, machine) in ISAS.into_iter().zip([243, 0x9026]) {
            let (image, what) = (image(workload, isa), format!("{} {isa}", workload.name));
            assert_eq!(
                &image[..6],
                b"\x7fELF\x02\x01",
                "{what}: 64-bit little-endian ELF"
            );
            assert_eq!(u16_at(image, 16), 2, "{what}: fixed-address executable");
            assert_eq!(u16_at(image, 18), machine, "{what}: machine");
            assert!(
                segment_kinds(image).all(|kind| kind != 2 && kind != 3),
                "{what}: wants a dynamic linker"
            );
        }
        assert!(workload.image("pdp11").is_none());
    }
}

#[test]
fn images_name_no_folder_of_the_machine_that_built_them() {
    for workload in all() {
        for isa in ISAS {
            for needle in [&b"/home/"[..], b"/root/", b"/tmp/", b"/usr/"] {
                let found = image(workload, isa)
                    .windows(needle.len())
                    .any(|bytes| bytes == needle);
                assert!(
                    !found,
                    "{} {isa}: {}",
                    workload.name,
                    String::from_utf8_lossy(needle)
                );
            }
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
fn small_runs_print_what_is_expected_on_each_instruction_set() {
    for (workload, isa) in everywhere() {
        let what = format!("{} {isa}", workload.name);
        let output = ImageFile::new(workload, isa, "small").run(&workload.args(Size::Small));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{what}");
        assert_eq!(output.status.code(), Some(0), "{what}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            workload.expected_small,
            "{what}"
        );
    }
}

#[test]
fn a_bad_argument_is_refused_with_code_2() {
    for (workload, isa) in everywhere() {
        let what = format!("{} {isa}", workload.name);
        let output = ImageFile::new(workload, isa, "refusal").run(&["huge"]);
        assert_eq!(output.status.code(), Some(2), "{what}");
        assert!(output.stdout.is_empty(), "{what}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            message,
            format!("usage: {} [small|large]\n", workload.name),
            "{what}"
        );
    }
}

/// Each program on each instruction set.
fn everywhere() -> impl Iterator<Item = (&'static Workload, &'static str)> {
    all().iter().flat_map(|w| ISAS.map(|isa| (w, isa)))
}

/// Alpha divides in software, and the images bring their own routines.
#[test]
fn the_alpha_runtime_divides() {
    let runtime = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("runtime");
    let folder = std::env::temp_dir().join(format!("hps-workloads-divide-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    let program = folder.join("divide");
    let sources = ["alpha/crt0.S", "alpha/divide.S", "alpha/divide_test.c"]
        .into_iter()
        .chain(["start.c", "print.c", "string.c", "random.c"]);
    let built = Command::new("alpha-linux-gnu-gcc")
        .args(["-O2", "-mcpu=ev6", "-ffreestanding", "-fno-pic", "-static"])
        .args(["-fno-tree-loop-distribute-patterns", "-nostdlib", "-no-pie"])
        .arg("-I")
        .arg(&runtime)
        .arg("-o")
        .arg(&program)
        .args(sources.map(|source| runtime.join(source)))
        .output()
        .expect("the compiler must run; install the Debian package gcc-alpha-linux-gnu");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let run = |args: &[&str]| {
        let run = Command::new("qemu-alpha").arg(&program).args(args).output();
        run.expect("qemu-alpha must run; install the Debian package qemu-user")
    };
    let (divided, by_zero) = (run(&[]), run(&["0"]));
    let _ = fs::remove_dir_all(&folder);
    assert_eq!(
        (divided.status.code(), divided.stdout.as_slice()),
        (Some(0), &b"divided\n"[..]),
        "{}",
        String::from_utf8_lossy(&divided.stderr)
    );
    assert_eq!(by_zero.status.code(), None, "killed by SIGFPE");
}
