//! `hps analyze` on loops whose steady state is known on paper, on `hps-4wide`: `loops/*.s`.

use serde_json::Value;

use crate::support::Hps;

/// A loop, and what limits it.
struct Case {
    file: &'static str,
    /// Cycles of an iteration; none: they depend on chance.
    cycles: Option<f64>,
    limited_by: &'static [&'static str],
    /// Latency of each instruction, and what it adds to the chain, in the order of addresses.
    lines: &'static [(f64, f64)],
}

const CHAIN: &str = "chain of results";
const FORWARDED: &str = "chain of results with store forwarding";
/// Five instructions in one block of code, four wide.
const GROUPS: &str = "fetch groups";

const CASES: [Case; 11] = [
    // A multiplication of three cycles and an addition of one, each waiting for the other.
    Case {
        file: "1-chain",
        cycles: Some(4.0),
        limited_by: &[CHAIN],
        lines: &[(3.0, 3.0), (1.0, 1.0), (1.0, 0.0), (1.0, 0.0)],
    },
    // Three multiplications on one multiplier.
    Case {
        file: "2-port",
        cycles: Some(3.0),
        limited_by: &["units int_mul_div"],
        lines: &[(3.0, 0.0), (3.0, 0.0), (3.0, 0.0), (1.0, 1.0), (1.0, 0.0)],
    },
    // Six loads on two units and two ports; an address takes one cycle and a hit two. The loop lies across two blocks of
    // code: five instructions and three, in groups of at most four.
    Case {
        file: "3-load",
        cycles: Some(3.0),
        limited_by: &[GROUPS, "level 1 data ports", "units load"],
        lines: &[
            (3.0, 0.0),
            (3.0, 0.0),
            (3.0, 0.0),
            (3.0, 0.0),
            (3.0, 0.0),
            (3.0, 0.0),
            (1.0, 1.0),
            (1.0, 0.0),
        ],
    },
    // Six operations from one random number to the next, and a misprediction in half of the iterations.
    Case {
        file: "4-mispredict",
        cycles: None,
        limited_by: &["mispredictions"],
        lines: &[],
    },
    // One cycle from the store's data to the load's value, and one of addition; a loop of two groups of fetch.
    Case {
        file: "5-forward",
        cycles: Some(2.0),
        limited_by: &[FORWARDED, GROUPS],
        lines: &[(2.0, 1.0), (1.0, 1.0), (1.0, 0.0), (1.0, 0.0), (1.0, 0.0)],
    },
    Case {
        file: "5b-forward-rotated",
        cycles: Some(2.0),
        limited_by: &[FORWARDED, GROUPS],
        lines: &[(1.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 0.0), (1.0, 0.0)],
    },
    Case {
        file: "5c-forward-nops",
        cycles: Some(2.0),
        limited_by: &[FORWARDED, GROUPS],
        lines: &[(1.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 0.0), (1.0, 0.0)],
    },
    // An address of one cycle and a hit of two, from load to load.
    Case {
        file: "6-pointer",
        cycles: Some(3.0),
        limited_by: &[CHAIN],
        lines: &[(3.0, 3.0), (1.0, 0.0), (1.0, 0.0)],
    },
    // Two divisions, each of which takes the divider for 19 cycles.
    Case {
        file: "7-div",
        cycles: Some(38.0),
        limited_by: &["units int_mul_div"],
        lines: &[(20.0, 0.0), (20.0, 0.0), (1.0, 1.0), (1.0, 0.0)],
    },
    // A line of 64 bytes for each iteration: four beats of 16 bytes and four cycles.
    Case {
        file: "8-miss",
        cycles: None,
        limited_by: &["memory bus"],
        lines: &[],
    },
    // The inner loop, whose exit is mispredicted once in 50 iterations.
    Case {
        file: "9-nested",
        cycles: None,
        limited_by: &["mispredictions"],
        lines: &[],
    },
];

#[test]
fn loops_take_what_they_take_on_paper() {
    let hps = Hps::new();
    for case in CASES {
        let text = std::fs::read_to_string(format!(
            "{}/tests/cases/loops/{}.s",
            env!("CARGO_MANIFEST_DIR"),
            case.file
        ));
        let file = hps.path("loop.s");
        std::fs::write(&file, text.expect("it comes with the tests")).expect("a file");
        let json = hps.run(&["analyze", "--json", &file]).expect_code(0);
        let found: Value = serde_json::from_str(&json).expect("JSON");
        let number = |value: &Value| value.as_f64().expect("a number");
        let limits = found["limited_by"].as_array().expect("names").iter();
        let limits: Vec<&str> = limits.filter_map(Value::as_str).collect();
        assert_eq!(limits, case.limited_by, "{json}");
        let cycles = number(&found["cycles"]);
        if let Some(wanted) = case.cycles {
            assert!((cycles - wanted).abs() < 0.005, "{}: {cycles}", case.file);
        }
        let lines = found["lines"].as_array().expect("a list");
        let of = |line: &Value| (number(&line["latency"]), number(&line["chain"]));
        if !case.lines.is_empty() {
            let lines: Vec<_> = lines.iter().map(of).collect();
            assert_eq!(lines, case.lines, "{}", case.file);
        }
        // The marked chain is the bound, and no bound is above what was measured.
        let chain: f64 = lines.iter().map(|line| number(&line["chain"])).sum();
        let bounds = found["bounds"].as_array().expect("a list").iter();
        let bounds: Vec<(&str, f64)> = bounds
            .map(|bound| {
                (
                    bound["name"].as_str().expect("text"),
                    number(&bound["cycles"]),
                )
            })
            .collect();
        let is_chain = |&&(name, _): &&(&str, f64)| name.starts_with(CHAIN);
        let bound = bounds.iter().find(is_chain).map_or(0.0, |bound| bound.1);
        assert!(
            (chain - bound).abs() < 1e-9,
            "{}: {chain}, {bound}",
            case.file
        );
        for (name, bound) in bounds {
            assert!(
                bound < 1.01 * cycles + 0.01,
                "{}: {name}, {bound}",
                case.file
            );
        }
        let text = hps.run(&["analyze", &file]).expect_code(0);
        let limits = case.limited_by.join(" and ").replace('_', " ");
        for said in [
            format!("limited by {limits}\n"),
            format!("{cycles:.2} cycles an iteration"),
        ] {
            assert!(text.contains(&said), "{}: {text}", case.file);
        }
        for (at, (latency, chain)) in case.lines.iter().enumerate() {
            let line = text
                .lines()
                .rev()
                .nth(case.lines.len() - 1 - at)
                .expect("a line");
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(words.contains(&format!("{latency:.1}").as_str()), "{line}");
            let adds = format!("{chain:.2}");
            assert!(*chain == 0.0 || words.contains(&adds.as_str()), "{line}");
        }
        match case.file {
            "5-forward" => assert!(text.contains("forwarded from 0x10014"), "{text}"),
            "8-miss" => assert!(text.contains("from memory 100%"), "{text}"),
            // 4,900 of the 4,999 branches backwards are the inner loop's.
            "9-nested" => assert!(
                text.contains("98% of the taken branches backwards"),
                "{text}"
            ),
            _ => {}
        }
    }
}
