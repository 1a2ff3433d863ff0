//! Values of arguments and results, by register.

use std::path::Path;

use crate::support::Bench;
use hps_shadow::values::ValueTable;
use hps_shadow_native::profiles::REGISTERS;
use hps_shadow_native::{Mode, Profiles, Request};
use hps_shim::symbols::Symbolizer;

/// The table of a register at the one call or return of `function` to or from `callee`.
fn table<'a>(
    profiles: &'a Profiles,
    symbols: &mut Symbolizer,
    register: &str,
    function: &str,
) -> &'a ValueTable {
    let place = REGISTERS.iter().position(|name| *name == register);
    let tables = profiles.values[place.expect("a register")].tables();
    let found: Vec<_> = tables
        .iter()
        .filter(|(site, _)| symbols.resolve(*site).to_string() == function)
        .collect();
    assert_eq!(found.len(), 1, "{register} {found:?}");
    &found[0].1
}

#[test]
fn each_argument_and_the_result_have_the_values_that_the_program_passes() {
    const TURNS: u64 = 40_000;
    let bench = Bench::new();
    let program = bench.compile("values.c", &[]);
    let command = [program.as_path(), Path::new("40000")];
    let request = Request {
        all_values: true,
        ..bench.request(Mode::Whole, &command)
    };
    let mut session = request.run(&bench.library).expect("it runs");
    let (whole, _) = session.whole.expect("a whole run");
    let symbols = &mut session.symbols;
    for (register, value) in [
        ("rdi", 0x11),
        ("rdx", 0x33),
        ("rcx", 0x44),
        ("r8", 0x55),
        ("r9", 0x66),
    ] {
        let values = table(&whole, symbols, register, "caller");
        assert_eq!(values.executions, TURNS, "{register}");
        assert_eq!(values.count(value), Some(TURNS), "{register} {values:?}");
    }
    // Odd and even turns in turn.
    for (register, function, value) in [
        ("rsi", "caller", 0),
        ("rsi", "caller", 1),
        ("rax", "callee", 0),
        ("rax", "callee", 7),
    ] {
        let values = table(&whole, symbols, register, function);
        assert_eq!(
            values.count(value),
            Some(TURNS / 2),
            "{register} {values:?}"
        );
    }
    // Values stay with their calls and returns where one shadow ends and the next begins.
    let request = Request {
        sample: 10_007,
        all_values: true,
        ..bench.request(Mode::EndToEnd, &command)
    };
    let session = request.run(&bench.library).expect("it runs");
    let (whole, _) = session.whole.expect("a whole run");
    assert!(session.shadows.len() > 20);
    assert!(session.profiles == whole);
    // Unless it is asked for, the first argument alone is noted.
    let request = bench.request(Mode::Whole, &command);
    let (whole, _) = request
        .run(&bench.library)
        .expect("it runs")
        .whole
        .expect("a whole run");
    let noted = whole.values.iter().map(|values| values.tables().is_empty());
    assert_eq!(
        noted.collect::<Vec<_>>(),
        [false, true, true, true, true, true, true]
    );
}
