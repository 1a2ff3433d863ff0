//! The timed cores: code that changes, limits, attribution.

use super::build::prints;

#[test]
fn ten_equal_functions_run_to_their_end() {
    prints("prof_alias.c", &["-O2"], &[], "done\n");
}
