//! Arguments and standard input of programs, and what is said of wrong ones.

use super::*;

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

#[test]
fn problems_and_faults_are_sentences_with_values() {
    let run = |text: &str| Request::Run {
        setup: example(text, "hps-4wide"),
    };
    let problem = ask!(Session::new(), run("nop\nadd a0, a1"), Answer::Problem);
    let said = problem.said.expect("a sentence");
    assert_eq!(
        said.text,
        "`{name}` takes {count} operands ({names}), not {given}"
    );
    assert_eq!(said.values["names"], "rd, rs1, rs2");
    assert_eq!(
        problem.message,
        "`add` takes 3 operands (rd, rs1, rs2), not 2"
    );
    assert_eq!(problem.line, Some(2));
    let (_, summary) = started(example("li t0, 64\nld a0, 0(t0)", "hps-4wide"));
    let fault = summary.fault.expect("a fault");
    assert_eq!(fault.cause.text, "read of {address}, which is not readable");
    assert_eq!(fault.cause.values["address"], "0x40");
    let (pc, encoding) = (fault.pc, fault.encoding);
    assert_eq!(
        summary.said,
        format!(
            "the program faulted: read of 0x40, which is not readable at pc {pc} (encoding {encoding})"
        )
    );
}
