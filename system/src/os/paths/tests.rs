use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// `outside/secret` beside `root/{file, dir/inner, links...}`.
fn tree() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    std::fs::create_dir_all(root.join("dir")).unwrap();
    std::fs::create_dir(dir.path().join("outside")).unwrap();
    std::fs::write(dir.path().join("outside/secret"), "secret").unwrap();
    std::fs::write(root.join("file"), "file").unwrap();
    std::fs::write(root.join("dir/inner"), "inner").unwrap();
    symlink("../outside/secret", root.join("climbs")).unwrap();
    symlink("../../outside", root.join("dir/climbs")).unwrap();
    symlink(dir.path().join("outside/secret"), root.join("absolute")).unwrap();
    symlink("/dir/inner", root.join("from_root")).unwrap();
    symlink("dir/", root.join("to_dir")).unwrap();
    symlink("../file", root.join("dir/up")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let resolver = Root::new(&root).unwrap();
    (dir, resolver)
}

fn walk_from(root: &Root, start: &Folder, path: &str) -> Result<String, Errno> {
    let place = root.find(start, path.as_bytes(), true)?;
    let node = place.existing()?;
    let host = root.folder.as_fd();
    let host = String::from_utf8(host_path(host).unwrap()).unwrap();
    let real = String::from_utf8(host_path(node.fd.as_fd()).unwrap()).unwrap();
    assert!(real.starts_with(&host), "{path} escapes to {real}");
    Ok(String::from_utf8(root.path_at(&place.entrance)?.text()).unwrap())
}

fn walk(root: &Root, path: &str) -> Result<String, Errno> {
    walk_from(root, &root.folder(), path)
}

fn folder(root: &Root, path: &str) -> Folder {
    let place = root.find(&root.folder(), path.as_bytes(), true).unwrap();
    place.existing().unwrap().folder().unwrap()
}

#[test]
fn ordinary_paths() {
    let (_dir, root) = tree();
    assert_eq!(walk(&root, "/file"), Ok("/file".into()));
    assert_eq!(walk(&root, "dir//./inner"), Ok("/dir/inner".into()));
    assert_eq!(walk(&root, "/"), Ok("/".into()));
    assert_eq!(walk(&root, "to_dir/inner"), Ok("/dir/inner".into()));
    assert_eq!(walk(&root, "to_dir"), Ok("/dir".into()));
    assert_eq!(walk(&root, "dir/.."), Ok("/".into()));
    assert_eq!(walk(&root, "dir/up"), Ok("/file".into()));
    assert_eq!(walk(&root, "from_root"), Ok("/dir/inner".into()));
    assert_eq!(walk(&root, "missing"), Err(Errno::ENOENT));
    assert_eq!(walk(&root, "missing/file"), Err(Errno::ENOENT));
    assert_eq!(walk(&root, "file/"), Err(Errno::ENOTDIR));
    assert_eq!(walk(&root, "file/x"), Err(Errno::ENOTDIR));
    assert_eq!(walk(&root, "file/."), Err(Errno::ENOTDIR));
    assert_eq!(walk(&root, "loop"), Err(Errno::ELOOP));
    assert_eq!(walk(&root, "loop/x"), Err(Errno::ELOOP));
    assert_eq!(walk(&root, ""), Err(Errno::ENOENT));
    assert_eq!(walk(&root, &"x".repeat(300)), Err(Errno::ENAMETOOLONG));
    assert_eq!(walk(&root, &"x/".repeat(3000)), Err(Errno::ENAMETOOLONG));
}

/// Links that climb above the root stop there, as under `chroot`.
#[test]
fn nothing_leaves_the_root() {
    let (dir, root) = tree();
    let outside = dir.path().join("outside/secret");
    assert_eq!(walk(&root, "../outside/secret"), Err(Errno::ENOENT));
    assert_eq!(walk(&root, "/../../../../etc/passwd"), Err(Errno::ENOENT));
    assert_eq!(walk(&root, "dir/../../file"), Ok("/file".into()));
    assert_eq!(walk(&root, "climbs"), Err(Errno::ENOENT));
    assert_eq!(walk(&root, "dir/climbs/secret"), Err(Errno::ENOENT));
    assert_eq!(walk(&root, "to_dir/climbs/secret"), Err(Errno::ENOENT));
    assert_eq!(walk(&root, "absolute"), Err(Errno::ENOENT));
    assert_eq!(walk(&root, outside.to_str().unwrap()), Err(Errno::ENOENT));
}

#[test]
fn held_folders_are_no_roots_of_their_own() {
    let (_dir, root) = tree();
    let start = folder(&root, "dir");
    let walk = |path| walk_from(&root, &start, path);
    assert_eq!(walk("inner"), Ok("/dir/inner".into()));
    assert_eq!(walk("up"), Ok("/file".into()));
    assert_eq!(walk("../file"), Ok("/file".into()));
    assert_eq!(walk("../to_dir/../from_root"), Ok("/dir/inner".into()));
    assert_eq!(walk("../../../outside/secret"), Err(Errno::ENOENT));
    assert_eq!(walk("climbs/secret"), Err(Errno::ENOENT));
    assert_eq!(walk(".."), Ok("/".into()));
}

/// The walk by single names, for hosts without `openat2`, is what the kernel does in one call.
#[test]
fn both_ways_to_resolve_agree() {
    let (_dir, root) = tree();
    for start in ["/", "dir"] {
        let start = folder(&root, start);
        for way in [
            "dir",
            "to_dir",
            "to_dir/.",
            "dir/..",
            "..",
            "../dir",
            "../..",
            ".",
            "climbs",
            "dir/climbs",
            "absolute",
            "loop",
            "missing",
            "file",
            "dir/../dir/../to_dir",
        ] {
            let path = |folder: Result<Folder, Errno>| folder.and_then(|f| root.path_of(&f));
            let kernel = root.reach(&start, way.as_bytes(), &mut Links::default());
            let walked = root.walk(&start, way.as_bytes(), &mut Links::default());
            assert_eq!(path(kernel), path(walked), "{way}");
        }
    }
}

#[test]
fn last_links_can_be_kept() {
    let (_dir, root) = tree();
    let find = |path| root.find(&root.folder(), path, false).unwrap();
    assert!(find(b"climbs").existing().unwrap().is_link());
    assert!(find(b"to_dir/").existing().unwrap().is_dir());
    let link = find(b"to_dir").existing().unwrap().clone();
    assert!(matches!(link.folder(), Err(Errno::ENOTDIR)));
    assert_eq!(link.link_target(), Ok(b"dir/".to_vec()));
}

#[test]
fn a_folder_that_was_moved_out_of_the_root_leads_nowhere() {
    let (dir, root) = tree();
    let start = folder(&root, "dir");
    std::fs::rename(dir.path().join("root/dir"), dir.path().join("moved")).unwrap();
    for path in ["inner", ".", "..", "../outside/secret", "up"] {
        assert_eq!(walk_from(&root, &start, path), Err(Errno::ENOENT), "{path}");
    }
    assert_eq!(walk_from(&root, &start, "/file"), Ok("/file".into()));
    assert_eq!(root.current_path(&start), Err(Errno::ENOENT));
    std::fs::rename(dir.path().join("moved"), dir.path().join("root/back")).unwrap();
    assert_eq!(walk_from(&root, &start, "inner"), Ok("/back/inner".into()));
}

#[test]
fn folders_are_told_where_they_are_now() {
    let (dir, root) = tree();
    let start = folder(&root, "dir");
    std::fs::create_dir(dir.path().join("root/a (deleted)")).unwrap();
    let odd = folder(&root, "a (deleted)");
    assert_eq!(root.current_path(&odd).unwrap().text(), b"/a (deleted)");
    std::fs::rename(dir.path().join("root/dir"), dir.path().join("root/new")).unwrap();
    assert_eq!(root.current_path(&start).unwrap().text(), b"/new");
    std::fs::remove_dir(dir.path().join("root/a (deleted)")).unwrap();
    assert_eq!(root.current_path(&odd), Err(Errno::ENOENT));
    // The root itself may move.
    std::fs::rename(dir.path().join("root"), dir.path().join("other")).unwrap();
    assert_eq!(root.current_path(&start).unwrap().text(), b"/new");
    assert_eq!(walk(&root, "new/inner"), Ok("/new/inner".into()));
}

/// Deeper than any path that the kernel tells.
#[test]
fn deep_folders_are_inside_too() {
    let (_dir, root) = tree();
    let name = "d".repeat(200);
    let mut at = root.folder();
    for _ in 0..60 {
        fs::mkdirat(&at, &*name, Mode::RWXU).unwrap();
        let place = root.find(&at, name.as_bytes(), true).unwrap();
        at = place.existing().unwrap().folder().unwrap();
    }
    assert_eq!(root.current_path(&at), Err(Errno::ENAMETOOLONG));
    let up = folder_from(&root, &at, "..");
    assert_ne!(root.path_of(&at).unwrap(), root.path_of(&up).unwrap());
    assert_eq!(
        walk_from(&root, &at, &"../".repeat(61)),
        Ok("/".into()),
        "the root is above itself"
    );
    // Removed from the bottom up, as std's way to remove trees would take long paths.
    for _ in 0..60 {
        at = folder_from(&root, &at, "..");
        fs::unlinkat(&at, &*name, fs::AtFlags::REMOVEDIR).unwrap();
    }
}

fn folder_from(root: &Root, start: &Folder, path: &str) -> Folder {
    let place = root.find(start, path.as_bytes(), true).unwrap();
    place.existing().unwrap().folder().unwrap()
}

#[test]
fn the_host_s_proc_is_never_entered() {
    let root = Root::new(Path::new("/")).unwrap();
    for path in [
        "/proc",
        "/proc/self/environ",
        "/proc/self/root/etc",
        "/./proc/../proc/1",
    ] {
        let found = root.find(&root.folder(), path.as_bytes(), true);
        assert!(
            matches!(found, Err(Errno::EACCES | Errno::ELOOP)),
            "{path}: {found:?}"
        );
    }
    assert!(Root::new(Path::new("/proc/self")).is_err());
    // Mounts below have file systems of its own, such as the tmpfs of /sys/fs/cgroup.
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    for point in points.filter(|p| p.starts_with("/sys/") || p.starts_with("/proc/")) {
        for path in [point, &format!("{point}/."), &format!("{point}/x/y")] {
            let found = root.find(&root.folder(), path.as_bytes(), true);
            assert!(matches!(found, Err(Errno::EACCES)), "{path}: {found:?}");
        }
        if Path::new(point).is_dir() {
            assert!(Root::new(Path::new(point)).is_err(), "{point}");
        }
    }
}

/// A path over a mount that is an ordinary folder leads where the host's does.
#[test]
fn ordinary_mounts_are_crossed() {
    let root = Root::new(Path::new("/")).unwrap();
    let place = root.find(&root.folder(), b"/dev/shm/.", true).unwrap();
    let found = fs::fstat(&place.existing().unwrap().fd).unwrap();
    assert_eq!(identity(&found), identity(&fs::stat("/dev/shm").unwrap()));
}

/// Somebody exchanges a folder for a link to the outside, over and over.
#[test]
fn races_stay_inside() {
    let (dir, root) = tree();
    let at = |name: &str| dir.path().join("root").join(name);
    symlink(dir.path().join("outside"), at("out")).unwrap();
    std::fs::write(at("dir/secret"), "mine").unwrap();
    let done = AtomicBool::new(false);
    let held = folder(&root, "dir");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (from, to) in [
                    ("dir", "tmp"),
                    ("out", "dir"),
                    ("dir", "out"),
                    ("tmp", "dir"),
                ] {
                    std::fs::rename(at(from), at(to)).unwrap();
                }
            }
        });
        // The exchanges must end before anything is asserted.
        let escape = (0..3000).find_map(|_| {
            [
                (&root.folder, "dir/secret"),
                (&held, "../dir/secret"),
                (&held, "secret"),
            ]
            .into_iter()
            .find(|(start, path)| {
                let found = root.find(start, path.as_bytes(), true);
                let node = found.ok().and_then(|place| place.node);
                let file = node.and_then(|node| node.open(OFlags::RDONLY).ok());
                file.is_some_and(|file| std::io::read_to_string(file).unwrap_or_default() != "mine")
            })
        });
        done.store(true, Ordering::Relaxed);
        assert_eq!(escape.map(|(_, path)| path), None);
    });
}
