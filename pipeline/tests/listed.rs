//! A file of tests that neither `main.rs` nor `Cargo.toml` lists would never run.

#[test]
fn every_file_of_tests_is_listed() {
    let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(package.join("Cargo.toml")).expect("the manifest");
    let here = package.join("tests");
    let listed = std::fs::read_to_string(here.join("main.rs")).expect("the list");
    for entry in std::fs::read_dir(here).expect("this folder") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        let module = name.strip_suffix(".rs").unwrap_or(&name);
        let is_module = listed.contains(&format!("\nmod {module};\n"));
        // A folder may hold modules of the program of its name.
        let is_program = manifest.contains(&format!("path = \"tests/{module}.rs\"\n"));
        assert!(
            is_module || is_program,
            "{name} is neither a module of main.rs nor a test of Cargo.toml"
        );
    }
}
