//! Dynamic programs and scripts of a root folder, beside QEMU's user mode.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use super::build::{Isa, MODES, build_dynamic};
use super::support::{Hps, Run};

const LIBRARIES: [&str; 4] = ["libc.so", "libm.so", "libgcc_s.so", "libstdc++.so"];

/// A root folder with the loader and the libraries of a cross compiler.
pub(super) fn root_of_libraries(isa: Isa) -> (Hps, String) {
    let hps = Hps::new();
    let root = hps.path("root");
    for folder in ["bin", "lib", "tmp"] {
        fs::create_dir_all(Path::new(&root).join(folder)).unwrap();
    }
    let libraries = format!("/usr/{}/lib", isa.prefix());
    for entry in fs::read_dir(&libraries).expect(&libraries) {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_library = LIBRARIES.iter().any(|library| name.starts_with(library));
        // `libc.so` without a number is a text for the linker.
        if is_library && !name.ends_with(".so") || name.starts_with("ld-linux") {
            let to = format!("{root}/lib/{name}");
            fs::copy(format!("{libraries}/{name}"), to).unwrap();
        }
    }
    (hps, root)
}

/// Such a root folder with the programs of this file in `/bin`, and the library that one of them opens.
fn root(isa: Isa) -> (Hps, String) {
    let (hps, root) = root_of_libraries(isa);
    let part = build_dynamic(isa, "dynamic_part.c", &["-O1", "-shared", "-fPIC"]);
    fs::copy(part, format!("{root}/lib/libpart.so")).unwrap();
    for (source, name, flags) in [
        ("dynamic.c", "pie", &["-O2", "-pie", "-fPIE"][..]),
        ("dynamic.c", "fixed", &["-O2", "-no-pie", "-fno-pie"]),
        ("dynamic_cxx.cc", "cxx", &["-O1"]),
    ] {
        let flags = [flags, &["-pthread", "-lm", "-ldl"]].concat();
        let program = build_dynamic(isa, source, &flags);
        fs::copy(program, format!("{root}/bin/{name}")).unwrap();
    }
    (hps, root)
}

fn script(root: &str, name: &str, text: &str) {
    let path = format!("{root}/bin/{name}");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
}

fn run(hps: &Hps, mode: &[&str], options: &[&str], command: &[&str]) -> Run {
    hps.run(&[&["run"], mode, options, &["--"], command].concat())
}

fn qemu(isa: Isa, root: &str, program: &str) -> String {
    let name = match isa {
        Isa::Riscv64 => "qemu-riscv64",
        Isa::Alpha => "qemu-alpha",
    };
    let output = Command::new(name)
        .args(["-L", root, &format!("{root}{program}")])
        .output()
        .expect("QEMU's user mode (./test.sh installs it)");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn dynamic_programs_do_as_in_qemu() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        for program in ["/bin/pie", "/bin/fixed", "/bin/cxx"] {
            let expected = qemu(isa, &root, program);
            assert!(expected.lines().count() > 5, "{expected}");
            for mode in MODES {
                let run = run(&hps, mode, &["--root", &root], &[program]);
                assert_eq!(run.stderr, "", "{isa:?} {program} {mode:?}");
                assert_eq!(run.expect_code(0), expected, "{isa:?} {program} {mode:?}");
            }
        }
    }
}

/// The loader begins where the libraries end, below which nothing has been mapped; the program has its fixed place.
#[test]
fn maps_name_the_loader_and_the_libraries() {
    let (hps, root) = root(Isa::Riscv64);
    let cat = super::build::build(Isa::Riscv64, "dynamic_maps.c", &["-O1"]);
    fs::copy(cat, format!("{root}/bin/static")).unwrap();
    let program = build_dynamic(Isa::Riscv64, "dynamic_maps.c", &["-O1", "-pie", "-fPIE"]);
    fs::copy(program, format!("{root}/bin/maps")).unwrap();
    let options = ["--root", &root];
    let text = run(&hps, &[], &options, &["maps"]).expect_code(0);
    for name in [
        "/bin/maps",
        "/lib/ld-linux-riscv64-lp64d.so.1",
        "/lib/libc.so.6",
    ] {
        let code = text
            .lines()
            .filter(|line| line.contains(" r-xp ") && line.ends_with(name));
        assert_eq!(code.count(), 1, "{name}: {text}");
    }
    assert!(text.starts_with("80000000-"), "{text}");
    let text = run(&hps, &[], &options, &["static"]).expect_code(0);
    assert!(!text.contains("ld-linux"), "{text}");
}

#[test]
fn scripts_and_names_are_looked_up_under_the_root() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let options = ["--root", &root, "--env", "PATH=/none:/bin"];
        script(&root, "one", "#!/bin/pie arguments \n");
        script(&root, "two", "#! /bin/one\n");
        symlink("/bin/two", format!("{root}/bin/link")).unwrap();
        // As the kernel of the host does with such scripts: the rest of a line is one argument.
        let cases: [(&[&str], &str); 4] = [
            (
                &["one", "a", "b"],
                "[/bin/pie][arguments][/bin/one][a][b]\n",
            ),
            (
                &["/bin/two", "a"],
                "[/bin/pie][arguments][/bin/one][/bin/two][a]\n",
            ),
            (&["link"], "[/bin/pie][arguments][/bin/one][/bin/link]\n"),
            (&["pie", "arguments"], "[pie][arguments]\n"),
        ];
        for (command, expected) in cases {
            let run = run(&hps, &[], &options, command);
            assert_eq!(run.expect_code(0), expected, "{isa:?} {command:?}");
        }
        let misspelt = run(&hps, &[], &options, &["pies"]);
        assert_eq!(misspelt.code, 2, "{}", misspelt.stderr);
        for part in ["(/none, /bin)", "did you mean pie?"] {
            assert!(misspelt.stderr.contains(part), "{}", misspelt.stderr);
        }
        // A file of the name that cannot be run is told with the reason.
        symlink("/bin/around", format!("{root}/bin/around")).unwrap();
        symlink("/nowhere", format!("{root}/bin/astray")).unwrap();
        fs::write(format!("{root}/bin/unmarked"), "#!/bin/pie\n").unwrap();
        for (name, reason) in [
            (
                "around",
                "/bin/around: program: its links or its interpreters lead round",
            ),
            (
                "astray",
                "/bin/astray: program: its link leads to no file under the root",
            ),
            ("unmarked", "/bin/unmarked: program: it is not executable"),
        ] {
            let refused = run(&hps, &[], &options, &[name]);
            assert_eq!(refused.code, 2, "{}", refused.stderr);
            assert!(refused.stderr.contains(reason), "{}", refused.stderr);
        }
        // A dynamic program executes another one, also through scripts. The instruction-driven core has one program.
        for mode in MODES {
            let order = ["pie", "exec", "/bin/fixed", "arguments", "x"];
            let run = run(&hps, mode, &options, &order);
            let (code, expected) = match mode.contains(&"instruction") {
                true => (
                    3,
                    "executes /bin/fixed\ndestructor\nrefused: Function not implemented\n",
                ),
                false => (0, "executes /bin/fixed\n[/bin/fixed][arguments][x]\n"),
            };
            assert_eq!(run.expect_code(code), expected, "{isa:?} {mode:?}");
        }
        let said = run(&hps, &[], &options, &["pie", "exec", "/bin/two", "y"]).expect_code(0);
        let expected = "executes /bin/two\n[/bin/pie][arguments][/bin/one][/bin/two][y]\n";
        assert_eq!(said, expected, "{isa:?}");
    }
}

/// A program of the host runs with the libraries of a root, as with QEMU's `-L`.
#[test]
fn a_program_outside_of_the_root_has_its_libraries() {
    let (hps, root) = root(Isa::Riscv64);
    fs::rename(format!("{root}/bin/pie"), hps.path("outside")).unwrap();
    let options = ["--root", &root];
    let said = run(&hps, &[], &options, &["./outside", "arguments"]).expect_code(0);
    assert_eq!(said, "[./outside][arguments]\n");
    let without = run(&hps, &[], &[], &["./outside", "arguments"]);
    assert!(without.stderr.contains("PT_INTERP"), "{}", without.stderr);
    assert!(without.stderr.contains("--root DIR"), "{}", without.stderr);
    assert_ne!(without.code, 0);
}

/// Whatever a root has in place of programs and loaders is refused in one line, and nothing outside of it is read.
#[test]
fn hostile_roots_are_refused_in_one_line() {
    let (hps, root) = root(Isa::Riscv64);
    let loader = format!("{root}/lib/ld-linux-riscv64-lp64d.so.1");
    let saved = fs::read(&loader).unwrap();
    let secret = hps.path("secret");
    fs::write(&secret, "outside").unwrap();
    let options = ["--root", &root];
    let refused = |command: &[&str], words: &[&str]| {
        let run = run(&hps, &[], &options, command);
        assert_ne!(run.code, 0, "{command:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert_eq!(run.stdout, b"", "{command:?}");
        for word in words {
            assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
        }
    };
    script(&root, "loop", "#!/bin/loop\n");
    refused(&["/bin/loop"], &["/bin/loop", "circle"]);
    script(&root, "lost", "#!/bin/none\n");
    refused(&["/bin/lost"], &["/bin/lost", "no such file"]);
    script(&root, "outside", &format!("#!{secret}\n"));
    refused(&["/bin/outside"], &["/bin/outside", "no such file"]);
    script(&root, "text", "no program\n");
    refused(&["/bin/text"], &["/bin/text", "no program"]);
    fs::set_permissions(format!("{root}/bin/text"), Permissions::from_mode(0o644)).unwrap();
    refused(&["/bin/text"], &["/bin/text", "not executable"]);
    fs::create_dir(format!("{root}/bin/folder")).unwrap();
    refused(&["/bin/folder"], &["/bin/folder", "folder"]);
    let fifo = Command::new("mkfifo")
        .arg(format!("{root}/bin/fifo"))
        .status();
    assert!(fifo.unwrap().success());
    refused(&["/bin/fifo"], &["/bin/fifo", "FIFO"]);
    refused(&["/dev/null"], &["/dev/null", "not an ELF file"]);
    symlink(
        "../../../../../../../etc/passwd",
        format!("{root}/bin/climbs"),
    )
    .unwrap();
    refused(&["/bin/climbs"], &["/bin/climbs", "no such program"]);
    symlink("round", format!("{root}/bin/round")).unwrap();
    refused(&["/bin/round"], &["/bin/round", "circle"]);
    // In place of the loader.
    type Put<'a> = (&'a dyn Fn(), &'a str);
    let puts: [Put; 6] = [
        (&|| (), "no such file"),
        (&|| fs::write(&loader, "text").unwrap(), "not executable"),
        (&|| fs::create_dir(&loader).unwrap(), "folder"),
        (&|| symlink(&secret, &loader).unwrap(), "leads to no file"),
        (
            &|| symlink("/dev/zero", &loader).unwrap(),
            "leads to no file",
        ),
        (
            &|| {
                fs::write(&loader, &saved[..200]).unwrap();
                fs::set_permissions(&loader, Permissions::from_mode(0o755)).unwrap();
            },
            "headers",
        ),
    ];
    for (put, word) in puts {
        let _ = fs::remove_file(&loader);
        let _ = fs::remove_dir(&loader);
        put();
        refused(&["/bin/pie"], &["PT_INTERP", "--root DIR", word]);
    }
}

/// Devices, FIFOs, set-uid bits and links that climb give a program nothing of the host.
#[test]
fn special_files_of_a_root_are_harmless() {
    let (hps, root) = root(Isa::Riscv64);
    let program = super::build::build(Isa::Riscv64, "hostile_root.c", &["-O1"]);
    let at = |name: &str| format!("{root}/{name}");
    fs::copy(program, at("bin/look")).unwrap();
    fs::set_permissions(at("bin/look"), Permissions::from_mode(0o6755)).unwrap();
    fs::write(hps.path("secret"), "secret").unwrap();
    symlink("../../secret", at("climbs")).unwrap();
    symlink(hps.path("secret"), at("absolute")).unwrap();
    symlink("round", at("round")).unwrap();
    let made = Command::new("mkfifo").arg(at("fifo")).status().unwrap();
    assert!(made.success());
    // Only root may make a device.
    let device = Command::new("mknod")
        .args([&at("zero"), "c", "1", "5"])
        .status();
    let has_device = device.is_ok_and(|made| made.success());
    let mut expected = "user 1000 1000, secure 0\n\
         /climbs: opened ENOENT, read -1 , executed ENOENT\n\
         /absolute: opened ENOENT, read -1 , executed ENOENT\n\
         /round: opened ELOOP, read -1 , executed ELOOP\n\
         /fifo: opened yes, read 0 , executed EACCES\n"
        .to_string();
    let mut command = vec!["look", "/climbs", "/absolute", "/round", "/fifo"];
    if has_device {
        command.push("/zero");
        expected += "/zero: opened EACCES, read -1 , executed EACCES\n";
    }
    for options in [&["--root", &root][..], &["--root", &root, "--writable"]] {
        let said = run(&hps, &[], options, &command).expect_code(0);
        assert_eq!(said, expected, "{options:?}");
    }
    // In a copy of the root there is no device at all.
    let said = run(
        &hps,
        &[],
        &["--root", &root, "--writable=scratch"],
        &command,
    )
    .expect_code(0);
    let absent = "/zero: opened ENOENT, read -1 , executed ENOENT";
    let in_copy = expected.replace("/zero: opened EACCES, read -1 , executed EACCES", absent);
    assert_eq!(said, in_copy);

    // In place of the loader; a FIFO that nobody writes does not stop the command.
    let loader = at("lib/ld-linux-riscv64-lp64d.so.1");
    let specials: [(&str, &[&str], &str); 2] = [
        ("mkfifo", &[], "FIFO"),
        ("mknod", &["c", "1", "5"], "device"),
    ];
    for (tool, kind, word) in specials {
        fs::remove_file(&loader).unwrap();
        let made = Command::new(tool).arg(&loader).args(kind).status().unwrap();
        if !made.success() {
            fs::write(&loader, "").unwrap();
            continue;
        }
        let refused = run(&hps, &[], &["--root", &root], &["/bin/pie"]);
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
        assert_ne!(refused.code, 0);
    }
}

/// The C library finds the vDSO, which tells the time of the system calls; the program runs on the host's kernel, too.
#[test]
fn the_vdso_tells_the_time_of_the_system_calls() {
    let isa = Isa::Riscv64;
    let (hps, root) = root_of_libraries(isa);
    let program = build_dynamic(isa, "vdso.c", &["-O1", "-ldl"]);
    fs::copy(program, format!("{root}/bin/vdso")).unwrap();
    for mode in MODES {
        // A child learns of a new date; the instruction-driven core has no children.
        let has_children = !mode.contains(&"instruction");
        let options = ["--root", &root, "--uid", "0"];
        let with = [&["vdso", "date"][..], &["vdso"]][usize::from(!has_children)];
        let said = run(&hps, mode, &options, with).expect_code(0);
        let wrong: Vec<&str> = said.lines().filter(|l| !l.ends_with(" 1")).collect();
        assert_eq!(wrong, [""; 0], "{mode:?}");
        assert_eq!(said.lines().count(), if has_children { 27 } else { 23 });
    }
}

/// Other versions of the linker may lay out the file differently, but not its code.
#[test]
fn the_vdso_is_built_from_its_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hps = Hps::new();
    let built = hps.path("vdso.so");
    let script = folder.join("scripts/build-vdso.sh");
    let done = Command::new(script).arg(&built).status().unwrap();
    assert!(done.success());
    let committed = folder.join("system/vdso/vdso.so");
    let code = [Path::new(&built), &committed].map(|file| {
        let out = hps.path("code");
        let done = Command::new("riscv64-linux-gnu-objcopy")
            .args(["-O", "binary", "-j", ".text"])
            .args([file, Path::new(&out)])
            .status();
        assert!(done.expect("binutils for riscv64").success());
        fs::read(out).unwrap()
    });
    assert!(
        code[0].len() > 200 && code[0] == code[1],
        "scripts/build-vdso.sh builds it anew"
    );
}

/// Where areas lie, by their names, as the maps of a program tell it.
fn areas(text: &str) -> Vec<(String, String)> {
    let starts = text.lines().filter_map(|line| {
        let (start, rest) = line.split_once('-')?;
        let name = rest.rsplit_once(' ')?.1;
        (!name.is_empty()).then(|| (name.to_owned(), start.to_owned()))
    });
    let mut starts: Vec<(String, String)> = starts.collect();
    starts.dedup_by(|a, b| a.0 == b.0);
    starts
}

/// A seed moves all that Linux moves on an instruction set, and changes nothing that a program computes.
#[test]
fn addresses_are_drawn_by_a_seed() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let maps = build_dynamic(isa, "dynamic_maps.c", &["-O1", "-pie", "-fPIE"]);
        fs::copy(maps, format!("{root}/bin/maps")).unwrap();
        let with = |seed: &[&str], command: &[&str]| {
            let options = [&["--root", &root, "--json=s.json"], seed].concat();
            let said = run(&hps, &[], &options, command).expect_code(0);
            let statistics = fs::read(hps.path("s.json")).unwrap();
            let statistics: serde_json::Value = serde_json::from_slice(&statistics).unwrap();
            (said, statistics)
        };
        let seeds: [&[&str]; 3] = [&[], &["--address-seed", "1"], &["--address-seed", "2"]];
        let [fixed, one, two] = seeds.map(|seed| with(seed, &["maps"]));
        assert_eq!(with(seeds[1], &["maps"]).0, one.0);
        assert_eq!(one.1["address_seed"], 1);
        assert!(fixed.1["address_seed"].is_null());
        let count = areas(&fixed.0).len();
        assert!(count >= 5, "{}", fixed.0);
        let all = [&fixed, &one, &two].map(|(text, _)| areas(text));
        for (at, area) in all[0].iter().enumerate() {
            // Linux moves nothing but the stack on Alpha, and the return from signals has its page here.
            let stays = isa == Isa::Alpha && area.0 != "[stack]" || area.0 == "[sigpage]";
            let starts = all.each_ref().map(|all| &all[at]);
            assert!(starts.iter().all(|one| one.0 == area.0), "{starts:?}");
            let is_same = |a: usize, b: usize| starts[a].1 == starts[b].1;
            let same = [is_same(0, 1), is_same(0, 2), is_same(1, 2)];
            assert_eq!(same, [stays; 3], "{isa:?} {starts:?}");
        }
        let runs = seeds.map(|seed| with(seed, &["pie"]));
        for (said, statistics) in &runs {
            assert_eq!(said, &runs[0].0, "{isa:?}");
            assert_eq!(
                statistics["instructions"], runs[0].1["instructions"],
                "{isa:?}"
            );
        }
        // A program that another one executes has addresses of its own.
        let executed = with(seeds[1], &["pie", "exec", "/bin/maps", "x"]).0;
        let stack = |areas: &[(String, String)]| areas.iter().find(|a| a.0 == "[stack]").cloned();
        assert_ne!(stack(&areas(&executed)), stack(&all[1]));
    }
}

/// Profiles name code by its file and its function, wherever it lies.
#[test]
fn profiles_do_not_depend_on_the_seed_of_addresses() {
    let (hps, root) = root(Isa::Riscv64);
    let profile = |seed: &[&str]| -> Vec<String> {
        let options = ["--root", &root, "--core", "instruction", "--json=p.json"];
        let done = hps.run(&[&["profile"], &options[..], seed, &["pie"]].concat());
        assert_eq!(done.code, 0, "{}", done.stderr);
        let document = fs::read(hps.path("p.json")).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
        assert_eq!(document["address_seed"].is_null(), seed.is_empty());
        let objects = document["objects"].as_array().unwrap();
        assert!(objects.len() >= 3, "{objects:?}");
        let number = |text: &serde_json::Value| {
            let digits = text.as_str().and_then(|text| text.strip_prefix("0x"));
            u64::from_str_radix(digits.unwrap_or("0"), 16).unwrap()
        };
        // Of code without names the place in its file is compared.
        let name = |function: &serde_json::Value| {
            let entry = number(&function["entry"]);
            let named = function["name"].as_str().unwrap().to_owned();
            let object = objects.iter().find(|o| o["name"] == function["object"]);
            match (named.starts_with("sub_"), object) {
                (true, Some(object)) => format!("{:#x}", entry - number(&object["load_bias"])),
                _ => named,
            }
        };
        let functions = document["functions"].as_array().unwrap().iter();
        let mut counts: Vec<String> = functions
            .map(|f| {
                format!(
                    "{} {} {} {}",
                    f["object"],
                    name(f),
                    f["calls"],
                    f["instructions"]
                )
            })
            .collect();
        counts.sort();
        counts
    };
    let fixed = profile(&[]);
    assert!(fixed.len() > 20, "{fixed:?}");
    for seed in ["1", "2"] {
        assert_eq!(profile(&["--address-seed", seed]), fixed, "{seed}");
    }
}
