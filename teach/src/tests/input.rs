//! Arguments and standard input of programs.

use super::assembly;
use crate::Session;
use crate::protocol::{Answer, Request};

#[test]
fn a_program_has_its_arguments_and_reads_its_input() {
    // Prints what it reads, then three letters of its first argument.
    let text = "_start: li a0, 0\nla a1, buffer\nli a2, 16\nli a7, 63\necall\nmv a2, a0\nli a0, 1\nli a7, 64\necall\n\
        ld a1, 16(sp)\nli a0, 1\nli a2, 3\necall\nli a0, 0\nli a7, 93\necall\n.data\nbuffer: .zero 16\n";
    let mut setup = assembly(text);
    setup.input = "five\n".into();
    setup.arguments = vec!["abc".into()];
    let Answer::Run(summary) = Session::new().answer(Request::Run { setup }) else {
        panic!("it runs");
    };
    assert_eq!(summary.output, "five\nabc");
}
