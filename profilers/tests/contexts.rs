//! Calling contexts, on programs that call, recurse, jump into other functions, and unwind.

use std::collections::BTreeMap;

use hps_profilers::contexts::Entered;
use hps_profilers::views::{Function, FunctionMap, Level, Levels, functions, instructions};
use hps_profilers::{Detail, ExactProfile, Follow};

use crate::common::{Program, preset};
use crate::{cores, rows_of_contexts, watch_process};

/// Cycles by path of entries, outermost first, as labels.
fn paths(program: &Program, functions: &[&str]) -> Vec<BTreeMap<Vec<String>, u64>> {
    let entries: BTreeMap<u64, &str> = functions.iter().map(|f| (program.address(f), *f)).collect();
    let config = preset("hps-4wide");
    cores(&config)
        .map(|kind| {
            let follow = Some(rows_of_contexts(entries.keys().copied()));
            let watched = watch_process(kind, &config, program.process(), u64::MAX, follow, |_| {});
            let exact = watched.exact;
            let mut commits = BTreeMap::new();
            for row in &exact.rows {
                let mut path: Vec<String> = exact
                    .contexts
                    .path(row.of.node)
                    .map(|node| match node.entered {
                        Entered::Begin => "begin".to_string(),
                        _ => entries
                            .get(&node.entry)
                            .map_or("?", |name| name)
                            .to_string(),
                    })
                    .collect();
                path.reverse();
                *commits.entry(path).or_insert(0) += row.commits;
            }
            commits
        })
        .collect()
}

fn path(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

const PROLOGUE: &str = "addi sp, sp, -16\nsd ra, 0(sp)\n";
const EPILOGUE: &str = "ld ra, 0(sp)\naddi sp, sp, 16\nret\n";

#[test]
fn calls_returns_and_tail_calls_are_followed() {
    let text = format!(
        "la sp, data\nli t0, 4096\nadd sp, sp, t0\njal ra, outer\njal ra, leaf\nli a7, 93\nli a0, 0\necall\n\
         outer:\n{PROLOGUE}jal ra, leaf\njal ra, jumper\n{EPILOGUE}\
         leaf:\naddi t1, t1, 1\nret\n\
         jumper:\naddi t2, t2, 1\nj leaf\n"
    );
    let program = Program::new(&text, 8192);
    for commits in paths(&program, &["outer", "leaf", "jumper"]) {
        assert_eq!(commits[&path(&["begin", "leaf"])], 2);
        // Once called, once reached by a jump from another function that was called there: two sites.
        assert_eq!(commits[&path(&["begin", "outer", "leaf"])], 4);
        assert_eq!(commits[&path(&["begin", "outer", "jumper"])], 2);
        assert_eq!(commits[&path(&["begin", "outer"])], 7);
    }
}

#[test]
fn a_jump_out_of_nested_calls_unwinds_them() {
    // Jump like setjmp and longjmp: the inner function loads the stack pointer and the address and goes there.
    let text = format!(
        "la sp, data\nli t0, 4096\nadd sp, sp, t0\njal ra, outer\nli a7, 93\nli a0, 0\necall\n\
         outer:\n{PROLOGUE}mv s2, sp\njal ra, save\nbnez a0, back\njal ra, middle\nback:\naddi t1, t1, 1\n{EPILOGUE}\
         save:\nmv s3, ra\nli a0, 0\nret\n\
         middle:\n{PROLOGUE}jal ra, inner\n{EPILOGUE}\
         inner:\naddi t2, t2, 1\nmv sp, s2\nmv ra, s3\nli a0, 1\nret\n"
    );
    let program = Program::new(&text, 8192);
    for commits in paths(&program, &["outer", "save", "middle", "inner"]) {
        assert_eq!(commits[&path(&["begin", "outer", "middle", "inner"])], 5);
        assert_eq!(commits[&path(&["begin", "outer", "middle"])], 3);
        // Two of the prologue, mv, jal, bnez, jal, and behind the jump bnez, addi and three of the epilogue.
        assert_eq!(commits[&path(&["begin", "outer"])], 11);
        // Instructions behind the calls are the caller's again: li, li, ecall and the four in front.
        let begin = commits[&path(&["begin"])];
        assert!((8..=10).contains(&begin), "{begin}");
    }
}

#[test]
fn recursion_makes_a_context_for_each_level() {
    let text = format!(
        "la sp, data\nli t0, 4096\nadd sp, sp, t0\nli a0, 3\njal ra, down\nli a7, 93\nli a0, 0\necall\n\
         down:\n{PROLOGUE}beqz a0, done\naddi a0, a0, -1\njal ra, down\ndone:\n{EPILOGUE}"
    );
    let program = Program::new(&text, 8192);
    for commits in paths(&program, &["down"]) {
        assert_eq!(commits[&path(&["begin", "down"])], 8);
        assert_eq!(
            commits[&path(&["begin", "down", "down", "down", "down"])],
            6
        );
    }
}

#[test]
fn functions_own_their_instructions_and_include_what_they_call() {
    let text = format!(
        "begin:\nla sp, data\nli t0, 4096\nadd sp, sp, t0\nli a0, 3\njal ra, down\njal ra, leaf\nli a7, 93\nli a0, 0\necall\n\
         down:\n{PROLOGUE}beqz a0, done\naddi a0, a0, -1\njal ra, down\ndone:\njal ra, leaf\n{EPILOGUE}\
         leaf:\naddi t1, t1, 1\nret\n"
    );
    let program = Program::new(&text, 8192);
    let config = preset("hps-4wide");
    for kind in cores(&config) {
        let entries = ["down", "leaf"].map(|label| program.address(label));
        let watched = watch_process(
            kind,
            &config,
            program.process(),
            u64::MAX,
            Some(rows_of_contexts(entries)),
            |_| {},
        );
        let exact = &watched.exact;
        let symbols = &watched.finished.process.image.symbols;
        // The image names no functions: what was called stands for them.
        let map = FunctionMap::new(symbols, exact);
        assert!(map.is_incomplete());
        let times = functions(exact, &instructions(exact), &map);
        let total = exact.cycles * exact.units_per_cycle;
        let own: u64 = times.iter().map(|t| t.own.units()).sum();
        assert_eq!(own, total, "every unit is some function's own");
        let at = |entry: u64| {
            let found = times
                .iter()
                .find(|t| map.functions()[t.function].entry == entry);
            found.unwrap_or_else(|| panic!("{entry:#x} took cycles: {:?}", map.functions()))
        };
        let [down, leaf] = entries.map(at);
        assert_eq!((down.calls, leaf.calls), (4, 5));
        assert_eq!(leaf.inclusive_units, leaf.own.units());
        // Recursion counts once: its own cycles, and those of the leaf that it calls, but not of the one behind it.
        let by_path: u64 = exact
            .rows
            .iter()
            .filter(|row| {
                exact
                    .contexts
                    .path(row.of.node)
                    .any(|n| n.entry == entries[0])
            })
            .map(|row| row.units())
            .sum();
        assert_eq!(down.inclusive_units, by_path);
        assert!(down.inclusive_units > down.own.units());
        let begin = at(program.address("begin"));
        assert_eq!(begin.inclusive_units, total);
        let levels = Levels::new(exact, symbols, &map);
        for level in Level::ALL {
            assert_eq!(levels.exact(level).total(), total, "{level:?}");
        }
    }
}

/// Units by context and function.
type Units = BTreeMap<(usize, u64), u64>;

/// The units of contexts as they were counted, and as the rows of all contexts add up. `function`: where the function of
/// an address begins.
fn units_of(exact: &ExactProfile, function: impl Fn(u64) -> u64) -> [Units; 2] {
    let (mut counted, mut of_rows) = (Units::new(), Units::new());
    for node in exact.contexts.ids() {
        for (code, units) in exact.context_units.of(node) {
            let entry = function(exact.context_units.addresses()[code]);
            *counted.entry((node.index(), entry)).or_insert(0) += units;
        }
    }
    for row in exact.rows.iter().filter(|row| row.units() > 0) {
        let of = (row.of.node.index(), function(row.of.key.pc));
        *of_rows.entry(of).or_insert(0) += row.units();
    }
    [counted, of_rows]
}

#[test]
fn units_of_contexts_are_those_of_the_rows_in_them() {
    // `down` branches into the middle of `leaf`, which returns for it: that is no call.
    let text = format!(
        "begin:\nla sp, data\nli t0, 4096\nadd sp, sp, t0\nli a0, 5\njal ra, down\njal ra, leaf\nli a7, 93\nli a0, 0\necall\n\
         down:\n{PROLOGUE}beqz a0, done\naddi a0, a0, -1\njal ra, down\njal ra, leaf\ndone:\nld ra, 0(sp)\naddi sp, sp, 16\n\
         beqz zero, middle\ndown_end:\n\
         leaf:\naddi t1, t1, 1\nmiddle:\naddi t2, t2, 1\nret\nleaf_end:\nnop\n"
    );
    let program = Program::new(&text, 8192);
    let bounds = [("down", "down_end"), ("leaf", "leaf_end")];
    let bounds = bounds.map(|(first, end)| (program.address(first), program.address(end)));
    let functions: FunctionMap = bounds
        .iter()
        .map(|&(entry, end)| Function {
            name: format!("{entry:x}"),
            entry,
            end,
        })
        .collect();
    // All other code is what the program begins with.
    let function = |pc| {
        let found = bounds
            .iter()
            .find(|(entry, end)| (*entry..*end).contains(&pc));
        found.map_or(0, |(entry, _)| *entry)
    };
    let config = preset("hps-4wide");
    for kind in cores(&config) {
        let [rows, units] = [Detail::Rows, Detail::Units].map(|detail| {
            let follow = Follow {
                functions: functions.clone(),
                detail,
                ..rows_of_contexts(bounds.map(|(entry, _)| entry))
            };
            let process = program.process();
            let watched = watch_process(kind, &config, process, u64::MAX, Some(follow), |_| {});
            watched.exact
        });
        let [counted, of_rows] = units_of(&rows, function);
        assert_eq!(counted, of_rows);
        // Two functions took units in each of the six calls of `down`.
        let of_leaf = counted.keys().filter(|(_, entry)| *entry == bounds[1].0);
        assert_eq!(of_leaf.count(), 6 + 5 + 1);
        let [of_units, by_instruction] = units_of(&units, function);
        assert_eq!(counted, of_units);
        assert_eq!(rows.contexts.nodes(), units.contexts.nodes());
        // Rows are of the instructions of all contexts.
        assert!(by_instruction.keys().all(|(node, _)| *node == 0));
        assert!(units.rows.len() < rows.rows.len());
        let times = [&rows, &units].map(|exact| {
            let times = functions_of(exact, &functions);
            assert_eq!(times.len(), 2, "{times:?}");
            times
        });
        assert_eq!(times[0], times[1]);
    }
}

/// Calls, instructions, own and inclusive units of each function.
fn functions_of(exact: &ExactProfile, map: &FunctionMap) -> Vec<[u64; 4]> {
    let times = functions(exact, &instructions(exact), map);
    let numbers = times
        .iter()
        .map(|t| [t.calls, t.commits, t.own.units(), t.inclusive_units]);
    numbers.collect()
}
