//! Writers in C, C++ and Rust and the reader of `hps-shim` agree about the region.

use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use hps_shim::region::{
    AskedEvent, ENDED, ENTRY_GONE, ENTRY_MORE, FIRST_ADDRESS, Header, LIVE, Layout, MAGIC, Name,
    REGION_VARIABLE, Region, Slot, VERSION, changes_of, depth_of,
};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Compiles sources of `tests/writers` with the host's compiler, warnings being errors.
fn compile(compiler: &str, standard: &str, sources: &[&str], out: &Path) -> PathBuf {
    let program = out.join(sources[0].replace('.', "_"));
    let mut command = Command::new(compiler);
    command
        .args([standard, "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .arg("-I")
        .arg(folder("../include"))
        .arg("-o")
        .arg(&program);
    for source in sources {
        command.arg(folder("tests/writers").join(source));
    }
    let output = command.output().unwrap_or_else(|e| {
        panic!("{compiler}: {e}; install the host's compiler (Debian: build-essential)")
    });
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

#[test]
fn offsets_of_the_c_header_are_those_of_the_reader() {
    let out = tempfile::tempdir().expect("a folder");
    let program = compile("cc", "-std=c11", &["layout.c"], out.path());
    let output = Command::new(program).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let seen: Vec<usize> = text
        .lines()
        .map(|line| {
            let number = line.rsplit(' ').next().expect("a word");
            number.parse().expect("a number")
        })
        .collect();
    let expected = [
        size_of::<Layout>(),
        size_of::<Slot>(),
        size_of::<Name>(),
        offset_of!(Layout, slots),
        offset_of!(Layout, names),
        offset_of!(Header, magic),
        offset_of!(Header, version),
        offset_of!(Header, slot_count),
        offset_of!(Header, slot_bytes),
        offset_of!(Header, name_count),
        offset_of!(Header, region_bytes),
        offset_of!(Header, pid),
        offset_of!(Header, threads),
        offset_of!(Header, refused),
        offset_of!(Header, names_refused),
        offset_of!(Header, gate),
        offset_of!(Header, event_count),
        offset_of!(Header, events) + size_of::<AskedEvent>() + offset_of!(AskedEvent, user_only),
        offset_of!(Header, events) + 3 * size_of::<AskedEvent>() + offset_of!(AskedEvent, config1),
        offset_of!(Slot, tag),
        offset_of!(Slot, depth),
        offset_of!(Slot, events),
        offset_of!(Slot, live),
        offset_of!(Slot, tid),
        offset_of!(Slot, generation),
        offset_of!(Slot, counting),
        offset_of!(Slot, refused),
        offset_of!(Slot, counters),
        offset_of!(Slot, stack),
        offset_of!(Name, state),
        offset_of!(Name, length),
        offset_of!(Name, text),
        MAGIC as usize,
        VERSION as usize,
        FIRST_ADDRESS as usize,
        ENTRY_MORE as usize,
        ENTRY_GONE as usize,
        LIVE as usize,
        ENDED as usize,
    ];
    assert_eq!(seen, expected, "{text}");
}

/// Checks that the reader sees what the scenario must leave behind.
fn check(region: &Region, who: &str) {
    let layout = region.layout();
    let header = &layout.header;
    let at = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Relaxed);
    assert_ne!(header.pid.load(Ordering::Relaxed), 0, "{who}: nobody came");
    assert_eq!(header.threads.load(Ordering::Relaxed), 2, "{who}");
    assert_eq!(header.refused.load(Ordering::Relaxed), 0, "{who}");
    assert_eq!(region.name(1).as_deref(), Some("alpha"), "{who}");
    assert_eq!(region.name(2).as_deref(), Some("beta"), "{who}");
    assert_eq!(region.name(3), None, "{who}");

    let main = &layout.slots[0];
    assert_eq!(main.live.load(Ordering::Relaxed), LIVE, "{who}");
    assert_ne!(main.tid.load(Ordering::Relaxed), 0, "{who}");
    assert_eq!(at(&main.generation), 1, "{who}");
    // alpha, 0x12345678, 100 to 103.
    assert_eq!(depth_of(at(&main.depth)), 6, "{who}");
    // 302 entries came and 296 went: each is a change. C++ and Rust tried a scope or two beside.
    let changes = changes_of(at(&main.depth));
    assert!([598, 600, 602].contains(&changes), "{who}: {changes}");
    assert_eq!(at(&main.tag), 103, "{who}");
    let stack: Vec<u64> = main.stack[..6].iter().map(at).collect();
    assert_eq!(stack, [1, 0x1234_5678, 100, 101, 102, 103], "{who}");
    assert_eq!(at(&main.stack[223]), 100 + 221, "{who}: the deepest entry");
    assert_eq!(at(&main.counters[3]), 39, "{who}: 40 and all ones");
    assert_eq!(main.counters.iter().map(at).sum::<u64>(), 39, "{who}");

    // The thread ended, and the forked child took its slot.
    let other = &layout.slots[1];
    assert_eq!(at(&other.generation), 2, "{who}");
    assert_eq!(at(&other.counters[0]), 5, "{who}: counters only grow");
    assert_eq!(
        (depth_of(at(&other.depth)), at(&other.tag)),
        (1, 77),
        "{who}"
    );
    assert_ne!(
        other.tid.load(Ordering::Relaxed),
        main.tid.load(Ordering::Relaxed),
        "{who}"
    );
}

fn run(mut program: Command, who: &str) {
    let region = Region::create().expect("a region");
    let output = program
        .env(REGION_VARIABLE, region.path())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{who}: {output:?}");
    check(&region, who);
}

#[test]
fn c_and_cpp_write_what_is_read() {
    let out = tempfile::tempdir().expect("a folder");
    let second = compile_unit(out.path());
    let second = second.to_str().expect("a name");
    for (compiler, standard, source) in [
        ("cc", "-std=c11", "writer.c"),
        ("cc", "-std=gnu17", "writer.c"),
        ("c++", "-std=c++11", "writer.cpp"),
        ("c++", "-std=c++20", "writer.cpp"),
    ] {
        let program = compile(compiler, standard, &[source, second], out.path());
        // Without an observer it runs as well.
        let alone = Command::new(&program)
            .env_remove(REGION_VARIABLE)
            .status()
            .expect("it runs");
        assert!(alone.success(), "{source} without a region: {alone}");
        run(Command::new(&program), &format!("{source} {standard}"));
    }
}

/// The second translation unit, which shares the first one's slot.
fn compile_unit(out: &Path) -> PathBuf {
    let object = out.join("second_unit.o");
    let status = Command::new("cc")
        .args(["-c", "-O2", "-I"])
        .arg(folder("../include"))
        .arg(folder("tests/writers/second_unit.c"))
        .arg("-o")
        .arg(&object)
        .status();
    assert!(status.is_ok_and(|s| s.success()), "cc of second_unit.c");
    object
}

/// The scenario in Rust: the body of the process that `rust_writes_what_is_read` starts.
#[test]
fn rust_writer() {
    if std::env::var_os("HPS_SHIM_TEST_WRITER").is_none() {
        return;
    }
    use hps_shim_tags as tags;
    tags::wait();
    assert!(tags::is_observed());
    let alpha = tags::name("alpha");
    assert_eq!((tags::name("beta"), tags::name("alpha")), (2, alpha));
    tags::pop();
    tags::push(alpha);
    tags::push(0x1234_5678);
    tags::count(3, 40);
    tags::count(3, u64::MAX);
    tags::count(8, 1);
    drop(tags::scope(9));
    for i in 0..300 {
        tags::push(100 + i);
    }
    for _ in 0..296 {
        tags::pop();
    }
    std::thread::spawn(|| {
        tags::tag(tags::name("beta"));
        tags::count(0, 5);
    })
    .join()
    .expect("the thread");
    // SAFETY: the child calls nothing but the crate under test and `_exit`.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            tags::push(77);
            libc::_exit(0);
        }
        assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
    }
    // This thread's slot stays as it is when the process ends with the thread in it.
    std::process::exit(0);
}

#[test]
fn rust_writes_what_is_read() {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program
        .args(["--exact", "rust_writer"])
        .env("HPS_SHIM_TEST_WRITER", "1");
    run(program, "Rust");
}

#[test]
fn without_a_region_nothing_happens() {
    assert!(!hps_shim_tags::is_observed());
    hps_shim_tags::push(1);
    hps_shim_tags::tag(2);
    hps_shim_tags::pop();
    hps_shim_tags::count(0, 1);
    assert_eq!(hps_shim_tags::name("x"), 0);
    hps_shim_tags::wait();
    hps_shim_tags::leave();
}
