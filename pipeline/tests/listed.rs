//! A file of tests that nobody lists in `main.rs` would never run.

#[test]
fn every_file_of_tests_is_listed() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = std::fs::read_to_string(here.join("main.rs")).expect("the list");
    for entry in std::fs::read_dir(here).expect("this folder") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        let module = name.strip_suffix(".rs").unwrap_or(&name);
        let is_listed = listed.contains(&format!("\nmod {module};\n"));
        assert!(
            module == "main" || is_listed,
            "{name} is not a module of main.rs"
        );
    }
}
