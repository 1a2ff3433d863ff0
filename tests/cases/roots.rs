//! Roots from packages and from images, their lock files, and what has changed in them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::build::{Isa, build};
use super::support::Hps;

/// Runs a program of the host in a folder.
fn tool(folder: &str, words: &[&str]) -> Vec<u8> {
    let output = Command::new(words[0])
        .args(&words[1..])
        .current_dir(folder)
        .output()
        .expect(words[0]);
    assert!(output.status.success(), "{words:?}: {output:?}");
    output.stdout
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write(path: &str, text: &str, mode: u32) {
    let path = Path::new(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A mirror with packages that hold a program each: `NAME VERSION DEPENDS`. `shell` is essential.
fn mirror(hps: &Hps, folder: &str, packages: &[(&str, &str, &str)]) -> String {
    let mirror = hps.path(folder);
    fs::create_dir_all(&mirror).unwrap();
    let program = build(Isa::Riscv64, "dynamic_maps.c", &["-O1", "-static"]);
    let mut index = String::new();
    for &(name, version, depends) in packages {
        let tree = hps.path("tree");
        let _ = fs::remove_dir_all(&tree);
        fs::create_dir_all(format!("{tree}/usr/bin")).unwrap();
        let file = format!("{tree}/usr/bin/{name}");
        fs::copy(&program, &file).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
        write(&format!("{tree}/usr/share/{name}/version"), version, 0o644);
        let essential = match name {
            "shell" => "Essential: yes\n",
            _ => "",
        };
        let depends = match depends {
            "" => String::new(),
            depends => format!("Depends: {depends}\n"),
        };
        let control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: riscv64\nMaintainer: Nobody <nobody@example.org>\n\
             {essential}{depends}Description: a package of a test\n"
        );
        write(&format!("{tree}/DEBIAN/control"), &control, 0o644);
        let deb = format!("{name}_{}.deb", version.replace(':', "%3a"));
        tool(
            &mirror,
            &["dpkg-deb", "--root-owner-group", "--build", &tree, &deb],
        );
        let bytes = fs::read(format!("{mirror}/{deb}")).unwrap();
        index += &format!(
            "{control}Filename: ./{deb}\nSize: {}\nSHA256: {}\n\n",
            bytes.len(),
            sha256(&bytes)
        );
    }
    fs::write(format!("{mirror}/Packages"), index).unwrap();
    format!("deb [trusted=yes] copy://{mirror} ./")
}

#[test]
fn packages_become_a_root_that_its_lock_file_repeats() {
    let hps = Hps::new();
    let packages = [
        ("shell", "1", ""),
        ("tool", "2:1.5-1+b1", "library"),
        ("library", "3~rc1", ""),
        ("other", "1", ""),
    ];
    let line = mirror(&hps, "mirror", &packages);
    let make = |folder: &str, words: &[&str]| {
        hps.run(&[&["root", "make", folder], words, &["--mirror", &line]].concat())
    };
    let said = make("first", &["--with", "tool"]).expect_code(0);
    assert!(said.contains("3 packages"), "{said}");
    // The root runs: `dynamic_maps` prints its mappings.
    let maps = hps.run(&["run", "--root", "first", "tool"]).expect_code(0);
    assert!(maps.contains("/usr/bin/tool"), "{maps}");
    let mode = fs::metadata(hps.path("first/usr/bin/tool")).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o755, "no set-uid bit");

    let text = hps.run(&["root", "show", "first"]).expect_code(0);
    for word in ["tool", "2:1.5-1+b1", "library", "3~rc1", "shell", "riscv64"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("other"), "{text}");
    let shown = hps.run(&["root", "show", "first", "--json"]).expect_code(0);
    let lock = fs::read_to_string(hps.path("first/hps-root.json")).unwrap();
    let [shown, lock_value]: [Value; 2] = [&shown, &lock].map(|t| serde_json::from_str(t).unwrap());
    assert_eq!(shown, lock_value);
    let deb = fs::read(hps.path("mirror/library_3~rc1.deb")).unwrap();
    assert_eq!(lock_value["packages"][0]["sha256"], sha256(&deb));
    assert_eq!(lock_value["requested"], json!(["tool"]));

    // Results name the lock file.
    let stats = ["run", "--json=s.json", "--root", "first", "tool"];
    hps.run(&stats).expect_code(0);
    let stats: Value = serde_json::from_slice(&fs::read(hps.path("s.json")).unwrap()).unwrap();
    assert_eq!(stats["root_hash"], sha256(lock.as_bytes()));

    // The lock file makes an equal root, also where newer versions are.
    let newer = [("tool", "2:1.6", "library"), ("library", "4", "")];
    let newer = mirror(&hps, "newer", &newer);
    let again = ["--lock", "first/hps-root.json", "--mirror", &newer];
    let run = make("again", &again);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    run.expect_code(0);
    assert_eq!(
        fs::read_to_string(hps.path("again/hps-root.json")).unwrap(),
        lock
    );
    hps.run(&["root", "check", "again"]).expect_code(0);

    // Without them each is refused by its name.
    let alone = ["root", "make", "lost", "--lock", "first/hps-root.json"];
    let lost = hps.run(&[&alone[..], &["--mirror", &newer]].concat());
    assert_eq!(lost.code, 2);
    for word in ["tool 2:1.5-1+b1", "library 3~rc1", "shell 1", "--mirror"] {
        assert!(lost.stderr.contains(word), "{word}: {}", lost.stderr);
    }
    assert!(!Path::new(&hps.path("lost")).exists());
    assert!(!Path::new(&hps.path("lost.hps-part")).exists());
    // Equal versions of another content are refused too.
    let forged = lock.replace(&sha256(&deb), &sha256(b"another"));
    fs::write(hps.path("forged.json"), forged).unwrap();
    let refused = make("lost", &["--lock", "forged.json"]);
    assert_eq!(refused.code, 2);
    let word = "library 3~rc1 with this content";
    assert!(refused.stderr.contains(word), "{}", refused.stderr);
}

#[test]
fn what_cannot_be_made_is_refused_in_one_line() {
    let hps = Hps::new();
    let line = mirror(&hps, "mirror", &[("shell", "1", "")]);
    fs::create_dir_all(hps.path("taken/file")).unwrap();
    fs::write(hps.path("text.json"), "{}").unwrap();
    let mirrored = |words: &[&str]| -> Vec<String> {
        let all = [&["root", "make"], words, &["--mirror", &line]].concat();
        all.into_iter().map(str::to_string).collect()
    };
    let cases: [(Vec<String>, &str); 6] = [
        (mirrored(&["taken"]), "there is something already"),
        (mirrored(&["new", "--with", "none"]), "none"),
        (mirrored(&["new", "--with=-x"]), "-x: no package"),
        (mirrored(&["new", "--arch", "a b"]), "a b: no architecture"),
        (mirrored(&["new", "--lock", "text.json"]), "no lock file"),
        (
            ["root", "show", "taken"].map(str::to_string).to_vec(),
            "hps root make",
        ),
    ];
    for (words, expected) in cases {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = hps.run(&words);
        assert_eq!(run.code, 2, "{words:?}: {}", run.stderr);
        let last = run.stderr.lines().last().unwrap();
        assert!(last.starts_with("hps: error: "), "{words:?}: {last}");
        assert!(last.contains(expected), "{words:?}: {last}");
        assert!(!Path::new(&hps.path("new")).exists(), "{words:?}");
    }
    let without_tools = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args(["root", "make", "new"])
        .current_dir(hps.path("."))
        .env("PATH", "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&without_tools.stderr);
    let expected =
        "mmdebstrap is missing, which unpacks packages; install the Debian package mmdebstrap";
    assert!(said.contains(expected), "{said}");
}

/// A folder with a static program and files of all kinds, as a tar.
fn image(hps: &Hps) {
    let tree = hps.path("tree");
    write(&format!("{tree}/usr/lib/data"), "data\n", 0o640);
    fs::create_dir_all(format!("{tree}/usr/bin")).unwrap();
    let program = build(Isa::Riscv64, "dynamic_maps.c", &["-O1", "-static"]);
    let file = format!("{tree}/usr/bin/maps");
    fs::copy(program, &file).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o6755)).unwrap();
    fs::hard_link(&file, format!("{tree}/usr/bin/same")).unwrap();
    symlink("usr/bin", format!("{tree}/bin")).unwrap();
    symlink("/usr/lib", format!("{tree}/lib")).unwrap();
    tool(&tree, &["mkfifo", "usr/fifo"]);
    let status = "Package: one\nStatus: install ok installed\nVersion: 1.0-2\nArchitecture: riscv64\n\n\
                  Package: gone\nStatus: deinstall ok config-files\nVersion: 3\nArchitecture: all\n";
    write(&format!("{tree}/var/lib/dpkg/status"), status, 0o644);
}

#[test]
fn a_tar_becomes_a_root_and_changes_in_it_are_named() {
    let hps = Hps::new();
    image(&hps);
    let here = hps.path(".");
    let mut digests = Vec::new();
    for (file, option) in [("i.tar", "-cf"), ("i.tar.gz", "-czf"), ("i.tar.xz", "-cJf")] {
        tool(&here, &["tar", option, file, "-C", "tree", "."]);
        let _ = fs::remove_dir_all(hps.path("root"));
        hps.run(&["root", "make", "root", "--from", file])
            .expect_code(0);
        let maps = hps.run(&["run", "--root", "root", "/bin/maps"]);
        assert!(maps.expect_code(0).contains("/usr/bin/maps"), "{file}");
        let lock: Value =
            serde_json::from_slice(&fs::read(hps.path("root/hps-root.json")).unwrap()).unwrap();
        assert_eq!(lock["source"], "tar");
        let image = fs::read(hps.path(file)).unwrap();
        assert_eq!(lock["image_sha256"], sha256(&image), "{file}");
        let packages =
            json!([{"name": "one", "version": "1.0-2", "architecture": "riscv64", "sha256": null}]);
        assert_eq!(lock["packages"], packages, "{file}");
        digests.push(lock["files_sha256"].to_string());
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "the files are those of the image");
    let mode = |name: &str| {
        fs::symlink_metadata(hps.path(&format!("root/{name}")))
            .unwrap()
            .mode()
    };
    assert_eq!(mode("usr/bin/maps") & 0o7777, 0o755, "no set-uid bit");
    assert_eq!(mode("usr/lib/data") & 0o7777, 0o640);
    assert!(!Path::new(&hps.path("root/usr/fifo")).exists());

    let check = || hps.run(&["root", "check", "root"]);
    assert!(check().expect_code(0).contains("as it was made"));
    fs::write(hps.path("root/usr/lib/data"), "others\n").unwrap();
    fs::write(hps.path("root/usr/new"), "").unwrap();
    fs::remove_file(hps.path("root/bin")).unwrap();
    let same = Permissions::from_mode(0o700);
    fs::set_permissions(hps.path("root/usr/bin/same"), same).unwrap();
    let said = check().expect_code(1);
    // The two names of one file share its mode.
    let expected = "missing: bin\nchanged: usr/bin/maps\nchanged: usr/bin/same\nchanged: usr/lib/data\nnew: usr/new\n\
                    root: 5 files differ from what was made\n";
    assert_eq!(said, expected);
    fs::write(hps.path("root/hps-root.files"), "").unwrap();
    assert!(check().expect_code(1).contains("hps-root.files"));
}

/// Adds a blob to an OCI layout; the result describes it.
fn blob(layout: &str, bytes: &[u8]) -> Value {
    let digest = sha256(bytes);
    fs::create_dir_all(format!("{layout}/blobs/sha256")).unwrap();
    fs::write(format!("{layout}/blobs/sha256/{digest}"), bytes).unwrap();
    json!({"digest": format!("sha256:{digest}"), "size": bytes.len()})
}

#[test]
fn layers_of_an_oci_image_lie_over_each_other() {
    let hps = Hps::new();
    image(&hps);
    let (here, layout) = (hps.path("."), hps.path("layout"));
    let lower = tool(&here, &["tar", "-czf", "-", "-C", "tree", "."]);
    let upper = hps.path("upper");
    // `usr` is a folder in both; `bin` is a link in the lower layer and a folder in the upper one.
    write(&format!("{upper}/bin/added"), "added\n", 0o755);
    write(&format!("{upper}/usr/bin/.wh.same"), "", 0o644);
    write(&format!("{upper}/var/lib/.wh..wh..opq"), "", 0o644);
    write(&format!("{upper}/var/lib/only"), "only\n", 0o644);
    let upper = tool(&here, &["tar", "-cf", "-", "-C", "upper", "."]);
    let layers = [blob(&layout, &lower), blob(&layout, &upper)];
    let manifest = blob(&layout, json!({"layers": layers}).to_string().as_bytes());
    let mut described = manifest.clone();
    described["platform"] = json!({"architecture": "riscv64"});
    let mut foreign = blob(&layout, b"{}");
    foreign["platform"] = json!({"architecture": "amd64"});
    let index = json!({"manifests": [foreign, described]});
    fs::write(format!("{layout}/index.json"), index.to_string()).unwrap();
    fs::write(format!("{layout}/oci-layout"), "{}").unwrap();
    let make = |words: &[&str]| {
        let _ = fs::remove_dir_all(hps.path("root"));
        hps.run(&[&["root", "make", "root", "--from"], words].concat())
    };
    make(&["layout"]).expect_code(0);
    let exists = |name: &str| fs::symlink_metadata(hps.path(&format!("root/{name}"))).is_ok();
    assert!(exists("usr/bin/added") && exists("usr/bin/maps") && exists("var/lib/only"));
    assert!(!exists("usr/bin/same") && !exists("var/lib/dpkg"));
    assert!(
        fs::symlink_metadata(hps.path("root/bin"))
            .unwrap()
            .is_symlink()
    );
    let lock = fs::read_to_string(hps.path("root/hps-root.json")).unwrap();
    let digest = manifest["digest"].as_str().unwrap();
    assert!(lock.contains(digest.strip_prefix("sha256:").unwrap()));

    let other = make(&["layout", "--arch", "arm64"]);
    assert_eq!(other.code, 2);
    assert!(other.stderr.contains("riscv64"), "{}", other.stderr);
    tool(&here, &["tar", "-cf", "layout.tar", "-C", "layout", "."]);
    let archive = make(&["layout.tar"]);
    assert!(archive.stderr.contains("OCI"), "{}", archive.stderr);
    // A blob of another content.
    let digest = layers[1]["digest"].as_str().unwrap().replace(':', "/");
    fs::write(format!("{layout}/blobs/{digest}"), lower).unwrap();
    let damaged = make(&["layout"]);
    assert_eq!(damaged.code, 2);
    assert!(damaged.stderr.contains("SHA-256"), "{}", damaged.stderr);
}

/// Names and links of an image lead nowhere outside of its root.
#[test]
fn nothing_of_an_image_lands_outside_of_its_root() {
    let hps = Hps::new();
    let here = hps.path(".");
    write(&hps.path("outside/secret"), "secret\n", 0o644);
    let tar = |words: &[&str]| {
        tool(&here, &[&["tar", "-P", "-cf", "bad.tar"], words].concat());
    };
    let make = || {
        let _ = fs::remove_dir_all(hps.path("root"));
        hps.run(&["root", "make", "root", "--from", "bad.tar"])
    };
    let safe = || {
        let text = fs::read_to_string(hps.path("outside/secret")).unwrap();
        let files = fs::read_dir(hps.path("outside")).unwrap().count();
        assert_eq!((text.as_str(), files), ("secret\n", 1));
    };
    // A name that climbs.
    write(&hps.path("evil"), "evil\n", 0o644);
    tar(&["--transform=s,evil,../outside/evil,", "evil"]);
    let run = make();
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("leaves the root"), "{}", run.stderr);
    safe();
    // A link out of the root, and files behind it: they land below the root.
    let tree = hps.path("links");
    let outside = hps.path("outside");
    fs::create_dir(&tree).unwrap();
    symlink(&outside, format!("{tree}/absolute")).unwrap();
    symlink("../outside", format!("{tree}/climbs")).unwrap();
    symlink(hps.path("outside/secret"), format!("{tree}/hps-root.json")).unwrap();
    symlink(hps.path("outside/secret"), format!("{tree}/hps-root.files")).unwrap();
    symlink("/", format!("{tree}/var")).unwrap();
    tar(&[
        "-C",
        "links",
        "absolute",
        "climbs",
        "hps-root.json",
        "hps-root.files",
        "var",
    ]);
    for link in ["absolute", "climbs"] {
        let named = format!("--transform=s,evil,{link}/secret,");
        tool(&here, &["tar", "-P", "-rf", "bad.tar", &named, "evil"]);
    }
    make().expect_code(0);
    safe();
    let landed = format!("root{outside}/secret");
    assert_eq!(fs::read_to_string(hps.path(&landed)).unwrap(), "evil\n");
    let landed = fs::read_to_string(hps.path("root/outside/secret")).unwrap();
    assert_eq!(landed, "evil\n");
    let lock = fs::symlink_metadata(hps.path("root/hps-root.json")).unwrap();
    assert!(lock.is_file());
    // A hard link to a file outside.
    write(&hps.path("links/one"), "one\n", 0o644);
    fs::hard_link(hps.path("links/one"), hps.path("links/two")).unwrap();
    let named = format!("--transform=flags=h;s,one,{outside}/secret,");
    tar(&[
        "-C",
        "links",
        "--transform=s,^links/,,",
        &named,
        "one",
        "two",
    ]);
    make();
    safe();
    // No tar at all.
    fs::write(hps.path("bad.tar"), "no tar").unwrap();
    let run = make();
    assert_eq!(run.code, 2);
    assert_eq!(run.stderr.lines().count(), 2, "{}", run.stderr);
    fs::write(hps.path("bad.tar"), b"\x1f\x8b no gzip").unwrap();
    assert_eq!(make().code, 2);
}

/// A lock file that programs of the root have replaced is not followed.
#[test]
fn the_lock_file_of_a_root_is_no_link() {
    let hps = Hps::new();
    let program = build(Isa::Riscv64, "dynamic_maps.c", &["-O1", "-static"]);
    fs::create_dir(hps.path("root")).unwrap();
    fs::copy(program, hps.path("root/maps")).unwrap();
    write(&hps.path("outside"), "{}", 0o644);
    symlink(hps.path("outside"), hps.path("root/hps-root.json")).unwrap();
    let order = ["run", "--json=s.json", "--force", "--root", "root", "/maps"];
    hps.run(&order).expect_code(0);
    let stats: Value = serde_json::from_slice(&fs::read(hps.path("s.json")).unwrap()).unwrap();
    assert!(stats["root_hash"].is_null());
    fs::remove_file(hps.path("root/hps-root.json")).unwrap();
    tool(&hps.path("root"), &["mkfifo", "hps-root.json"]);
    hps.run(&order).expect_code(0);
    assert_eq!(hps.run(&["root", "show", "root"]).code, 2);
}

/// A sweep finds a program by its name under a root; its results are found again when the root lies elsewhere.
#[test]
fn results_of_a_root_outlive_its_place() {
    let hps = Hps::new();
    image(&hps);
    tool(&hps.path("."), &["tar", "-cf", "i.tar", "-C", "tree", "."]);
    hps.run(&["root", "make", "here", "--from", "i.tar"])
        .expect_code(0);
    let sweep = |root: &str| {
        let text = format!(
            "(own_programs: [(path: \"maps\", root: Some(\"{root}\"))], profiles: [method], bursts: [1], one_in: [100], \
             timing: Off, phases: 0)"
        );
        fs::write(hps.path("sweep.ron"), text).unwrap();
        hps.run(&["sweep", "--out", "out", "sweep.ron"])
            .expect_code(0);
        fs::read(hps.path("out/results.jsonl")).unwrap()
    };
    let first = sweep("here");
    fs::rename(hps.path("here"), hps.path("there")).unwrap();
    assert_eq!(sweep("there"), first);
    // Another root has results of its own.
    fs::write(hps.path("tree/more"), "").unwrap();
    tool(&hps.path("."), &["tar", "-cf", "i.tar", "-C", "tree", "."]);
    hps.run(&["root", "make", "other", "--from", "i.tar"])
        .expect_code(0);
    assert!(sweep("other").len() > first.len());
}
