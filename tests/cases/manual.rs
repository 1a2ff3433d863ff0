//! Completions for shells, and man pages.

use super::support::Hps;

#[test]
fn completions_and_man_pages_name_commands_and_options() {
    let hps = Hps::new();
    let bash = hps.run(&["dev", "completions", "bash"]).expect_code(0);
    assert!(
        bash.contains("leaderboard") && bash.contains("--shard"),
        "{bash}"
    );
    hps.run(&["dev", "man", "pages"]).expect_code(0);
    let page = std::fs::read_to_string(hps.path("pages/hps-sweep.1")).expect("a page");
    assert!(page.contains("shard"), "{page}");
    assert!(std::fs::metadata(hps.path("pages/hps-cluster-slurm.1")).is_ok());
}
