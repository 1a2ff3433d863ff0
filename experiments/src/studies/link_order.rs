//! How much one order of linking can mislead: the objects of a program linked in several orders, which move its functions
//! and data and change nothing else.
//!
//! The second set-up of Mytkowicz, Diwan, Hauswirth and Sweeney (ASPLOS 2009), beside the environment's size
//! ([`set_ups`](super::set_ups)). It wants sources and a cross compiler, so that it is made for the programs of the project,
//! and without being asked for by name only where a compiler is found.

use std::sync::Arc;

use hps_isa::random::Random;
use hps_productions::{CollectorOptions, SamplePoint};
use hps_system::image::ProgramImage;
use hps_workloads::linked::CrossCompiler;

use super::StudyOptions;
use super::common::{
    Label, collect, extent, overhead, same_instructions, timed_alone, timed_profiled, unit_of_each,
};
use super::set_ups::{BURST, KIND, ONE_IN};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use hps_lab::{Program, TimedMachine, dise_config};

/// The study's name in results.
pub const NAME: &str = "link_order";

/// One unit for each of the first programs. Where its objects cannot be linked, it says why.
pub fn units<'a>(
    programs: &'a [Program],
    machine: &'a TimedMachine,
    options: &StudyOptions,
) -> Vec<Unit<'a>> {
    let (limit, count) = (options.set_up_instructions, options.set_ups);
    let isa = programs.first().map_or("", |first| first.image.isa.name());
    let compiler = CrossCompiler::find(isa).map_err(|e| e.to_string());
    let version = compiler.as_ref().map_or("", CrossCompiler::version);
    let key = serde_json::json!({
        "instructions": limit, "orders": count, "burst": BURST, "one_in": ONE_IN, "kind": KIND, "compiler": version,
    });
    unit_of_each(
        &programs[..programs.len().min(options.timed_programs)],
        NAME,
        "other orders of linking",
        &key,
        Effort::default().and_first(limit, f64::from(2 * count), machine.core),
        move |program| measure(program, machine, compiler.as_ref()?, limit, count),
    )
}

/// Whether the objects of these programs, which are for one instruction set, can be linked here.
#[must_use]
pub fn can_link(programs: &[Program]) -> bool {
    let all_have_sources = programs.iter().all(is_own);
    let isa = programs.first().map(|first| first.image.isa.name());
    all_have_sources && isa.is_some_and(|isa| CrossCompiler::find(isa).is_ok())
}

/// Whether a program is one that comes with the project.
fn is_own(program: &Program) -> bool {
    hps_workloads::find(&program.name).is_some_and(|workload| {
        workload.image(program.image.isa.name()) == Some(program.image.bytes())
    })
}

/// Cycles without a profile and overhead in each order; `x` is its number. Number 0 is the order of the committed image,
/// the others are drawn by their number, the same in every run.
fn measure(
    program: &Program,
    machine: &TimedMachine,
    compiler: &CrossCompiler,
    limit: u64,
    count: u32,
) -> Result<Vec<Measurement>, String> {
    if !is_own(program) {
        return Err(format!(
            "{}: the lab has no sources of it, so that its objects cannot be linked in another order",
            program.name
        ));
    }
    let point = SamplePoint::from_frequency(BURST, ONE_IN).map_err(|e| e.to_string())?;
    let options = CollectorOptions {
        dise: dise_config(machine),
        streams: None,
        ..CollectorOptions::default()
    };
    let collector = collect(&[KIND], point, &options)?;
    let objects = compiler.compile(&program.name).map_err(|e| e.to_string())?;
    let mut measured = Vec::new();
    for number in 0..count {
        let order = order(objects.count(), number);
        let bytes = compiler.link(&program.name, &objects, &order);
        let bytes = bytes.map_err(|e| e.to_string())?;
        let image = ProgramImage::parse(&bytes, &program.name).map_err(|e| e.to_string())?;
        let linked = Program {
            image: Arc::new(image),
            ..program.clone()
        };
        let alone = timed_alone(&linked, machine, limit)?;
        let with = timed_profiled(&linked, machine, &collector, limit)?;
        same_instructions(&with.stats, alone.commit_program_instructions)?;
        if number == 0 {
            measured.extend(extent(&Label::new(program, "baseline"), &alone));
        }
        let label = Label::new(program, "hps").kind(KIND).at(BURST, ONE_IN);
        let label = label.x(f64::from(number));
        measured.push(label.is("cycles_alone", alone.cycles as f64));
        measured.push(label.is("overhead_ratio", overhead(&with.stats, &alone)));
    }
    Ok(measured)
}

/// An order of so many objects: number 0 as they are, others shuffled (Fisher and Yates).
fn order(objects: usize, number: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..objects).collect();
    if number > 0 {
        let mut draws = Random::new(u64::from(number));
        for last in (1..objects).rev() {
            order.swap(last, draws.below(last as u64 + 1) as usize);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use hps_system::image::Isa;

    use super::super::testing::program_of;
    use super::*;

    #[test]
    fn orders_are_drawn_and_hold_every_object_once() {
        assert_eq!(order(5, 0), [0, 1, 2, 3, 4]);
        let all: std::collections::BTreeSet<_> = (0..16).map(|number| order(8, number)).collect();
        assert_eq!(all.len(), 16);
        for mut order in all {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }

    #[test]
    fn the_first_order_runs_as_the_committed_program_and_others_differ() {
        let machine = TimedMachine::default();
        for isa in Isa::ALL {
            let compiler = CrossCompiler::find(isa.name()).expect("test.sh installs it");
            let program = program_of("lz", isa);
            let measured = measure(&program, &machine, &compiler, 50_000, 3).expect("measured");
            let cycles: Vec<f64> = (measured.iter())
                .filter(|m| m.measure == "cycles_alone")
                .map(|m| m.value)
                .collect();
            assert_eq!(cycles.len(), 3);
            let alone = timed_alone(&program, &machine, 50_000).expect("timed");
            assert_eq!(
                cycles[0],
                alone.cycles as f64,
                "{isa}: {}",
                compiler.version()
            );
            assert!(cycles[1..].iter().any(|c| *c != cycles[0]), "{cycles:?}");
        }
    }

    #[test]
    fn what_cannot_be_linked_says_why() {
        let machine = TimedMachine::default();
        let compiler = CrossCompiler::find("riscv64").expect("test.sh installs it");
        let mut program = program_of("lz", Isa::Riscv64);
        program.name = "other".to_string();
        let why = measure(&program, &machine, &compiler, 1000, 2).expect_err("no sources");
        assert!(
            why.starts_with("other: the lab has no sources of it"),
            "{why}"
        );
    }
}
