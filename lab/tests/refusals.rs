//! Runs that are refused, each with an error that names the cause.

use hps_isa::editor::NoEditor;
use hps_lab::{CoreKind, Isa, Lab, LabError, Productions, SamplingPlan, TimedMachine};

#[test]
fn a_program_that_is_not_there() {
    let error = Lab::program("bwx", None)
        .map(drop)
        .expect_err("no such name");
    let text = error.to_string();
    assert!(
        text.starts_with("bwx: neither a file nor a program that comes with the project (")
            && text.contains("bwt"),
        "{text}"
    );
    let error = Lab::program("./no/such", None)
        .map(drop)
        .expect_err("no file");
    assert!(error.to_string().contains("./no/such"), "{error}");
}

#[test]
fn a_program_for_another_instruction_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lz");
    let lz = hps_workloads::find("lz").expect("a program");
    let image = lz.image("alpha").expect("an image");
    std::fs::write(&file, image).expect("a file");
    let name = file.to_str().expect("a name in UTF-8");
    assert!(Lab::program(name, Isa::Alpha).is_ok() && Lab::program(name, None).is_ok());
    let error = Lab::program(name, Isa::Riscv64).map(drop);
    assert_eq!(
        error.expect_err("for Alpha").to_string(),
        format!("{name}: a program for alpha, not for riscv64")
    );
}

#[test]
fn a_machine_that_is_not_there() {
    let lab = Lab::program("lz", None).expect("a program");
    let error = lab.on("hps-5wide").map(drop).expect_err("no such machine");
    assert!(matches!(error, LabError::Machine(_)), "{error}");
}

#[test]
fn a_machine_without_an_instruction_driven_core() {
    let lab = Lab::program("lz", Isa::Alpha).expect("a program");
    let lab = lab.on("ev5").expect("a preset").core(CoreKind::Instruction);
    let texts = [
        lab.clone().open().map(drop).expect_err("in order"),
        lab.run().map(drop).expect_err("in order"),
        TimedMachine::load("ev5", CoreKind::Instruction).expect_err("in order"),
    ]
    .map(|error| error.to_string());
    for text in texts {
        assert!(
            text.starts_with("machine ev5 has no instruction-driven core: "),
            "{text}"
        );
    }
}

#[test]
fn sampled_timing_by_instruction() {
    let lab = Lab::program("lz", None).expect("a program");
    let lab = lab.on("hps-4wide").expect("a preset");
    let lab = lab.core(CoreKind::Instruction);
    let error = lab.sampled(SamplingPlan::default()).map(drop);
    assert!(matches!(error, Err(LabError::SampledCore)));
}

#[test]
fn a_plan_whose_units_overlap() {
    let plan = SamplingPlan {
        period: 10,
        warm_up: 6,
        unit: 5,
        doublings: 0,
        head: 0,
    };
    let lab = Lab::program("lz", None).expect("a program");
    let lab = lab.on("hps-4wide").expect("a preset");
    let error = lab.sampled(plan).expect("by cycle").run().map(drop);
    assert!(matches!(error, Err(LabError::Sampling(_))));
}

#[test]
fn productions_that_are_not_there_and_editors_that_refuse() {
    let names = ["hot_methods".to_string()];
    let error = Productions::load(Isa::Alpha, &names, [].into()).expect_err("no such file");
    let text = error.to_string();
    assert!(
        text.starts_with("hot_methods: neither a file nor productions")
            && text.contains("hot_method,"),
        "{text}"
    );
    let lab = Lab::program("lz", None).expect("a program");
    let refusing = lab.edited(|_| Err::<NoEditor, _>("not this one"));
    let error = refusing.run().map(drop).expect_err("refused");
    assert_eq!(error.to_string(), "not this one");
}
