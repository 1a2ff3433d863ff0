//! Tests of reading, writing, refusing and documenting machine descriptions.

use super::locate::{keys_of, plain_path};
use super::*;
use std::collections::BTreeSet;

fn refused(text: &str) -> String {
    match MachineConfig::from_ron(text, "my.ron") {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_paper_machine_is_the_default_and_has_twelve_stages() {
    let machine = MachineConfig::preset("hps-4wide").unwrap();
    assert_eq!(machine, MachineConfig::default());
    assert_eq!(machine.pipeline_stages(), 12);
    assert_eq!(machine.stage_names().len(), 12);
    assert_eq!(
        machine.stage_names().join(" "),
        "fetch1 fetch2 fetch3 decode rename1 rename2 dispatch issue regread execute writeback commit"
    );
    assert_eq!(machine.min_mispredict_penalty_cycles(), 9);
    // Every key of the preset is written out, none is left to the defaults.
    let text = MachineConfig::preset_text("hps-4wide").unwrap();
    let given: BTreeSet<String> = keys_of(text).into_iter().map(|key| key.path).collect();
    for key in default_keys() {
        assert!(
            given.contains(&key) || key == "base",
            "{key} is not in the preset"
        );
    }
}

/// Paths of the keys of the default machine as serde writes them, sections and pools left out.
fn default_keys() -> BTreeSet<String> {
    leaf_paths(&MachineConfig::default())
}

fn leaf_paths(machine: &MachineConfig) -> BTreeSet<String> {
    let text = ron::ser::to_string_pretty(machine, ron::ser::PrettyConfig::new()).unwrap();
    let keys: Vec<String> = keys_of(&text).into_iter().map(|key| key.path).collect();
    let section = |path: &String| {
        path != "branch.predictor"
            && path != "speculation.memory_dependence"
            && path != "issue.scheduling"
            && path != "issue.scheduling.stages"
            && path != "memory.l1d_write"
            && path != "memory.l1d_prefetch"
            && path != "units.pools"
            && path != "little"
            && keys.iter().any(|key| key.starts_with(&format!("{path}.")))
    };
    keys.iter()
        .filter(|path| !section(path))
        .filter(|path| !path.starts_with("units.pools.") && !path.starts_with("little."))
        .cloned()
        .collect()
}

#[test]
fn the_key_table_is_what_the_machines_have() {
    let mut machine = MachineConfig::default();
    let mut written = BTreeSet::new();
    for predictor in [
        Predictor::Perfect,
        Predictor::Bimodal(BimodalConfig::default()),
        Predictor::Gshare(GshareConfig::default()),
        Predictor::Tournament(TournamentConfig::default()),
        Predictor::Perceptron(PerceptronConfig::default()),
        Predictor::Tage(TageConfig::default()),
    ] {
        machine.branch.predictor = predictor;
        written.extend(leaf_paths(&machine));
    }
    machine.speculation.memory_dependence = MemDep::StoreSets(StoreSetsConfig::default());
    written.extend(leaf_paths(&machine));
    machine.speculation.memory_dependence = MemDep::StoreWait(StoreWaitConfig::default());
    machine.issue.scheduling = Scheduling::InOrder(InOrderConfig::default());
    machine.memory.l1d_write = L1dWrite::WriteThrough(WriteBufferConfig::default());
    // Written where it is another clock than that of the cores.
    machine.memory.clock_mhz = 1;
    for prefetch in [
        L1dPrefetch::NextLine(NextLineConfig::default()),
        L1dPrefetch::Stride(StrideConfig::default()),
        L1dPrefetch::Stream(StreamConfig::default()),
    ] {
        machine.memory.l1d_prefetch = prefetch;
        written.extend(leaf_paths(&machine));
    }
    for replacement in [
        Replacement::Random,
        Replacement::Srrip(SrripConfig::default()),
        Replacement::Drrip(DrripConfig::default()),
        Replacement::Ship(ShipConfig::default()),
    ] {
        let memory = &mut machine.memory;
        for cache in [&mut memory.l1i, &mut memory.l1d, &mut memory.l2] {
            cache.replacement = replacement.clone();
        }
        memory.l3.replacement = replacement;
        written.extend(leaf_paths(&machine));
    }
    // Written only if it is not the default.
    machine.interrupts.entry_cycles += 1;
    machine.memory.part_bytes = 16;
    machine.memory.queues_at_l2 = true;
    machine.chip.cores += 1;
    machine.chip.little_cores += 1;
    machine.little = LittleConfig(Some(Box::default()));
    machine.counters.read_cycles += 1;
    machine.branch.history_update = HistoryUpdate::AtCommit;
    machine.branch.mispredict_extra_cycles += 1;
    machine.issue.address_generation = AddressGeneration::Separate;
    machine.issue.scheduling = Scheduling::InOrder(InOrderConfig {
        stages: Stages::InStep(InStepConfig::default()),
        ..InOrderConfig::default()
    });
    machine.window.memory_queue_entries += 2;
    machine.memory.miss_adds_hit_cycles = false;
    machine.memory.prefetch_instructions = PrefetchInstructions::Performed;
    written.extend(leaf_paths(&machine));

    let keys = MachineConfig::keys();
    let documented: BTreeSet<String> = keys.iter().map(|key| plain_path(&key.path)).collect();
    assert_eq!(documented, written);
    let paths: BTreeSet<&String> = keys.iter().map(|key| &key.path).collect();
    assert_eq!(paths.len(), keys.len(), "a key is documented twice");
    for key in &keys {
        assert!(key.description.len() > 4, "{} has no description", key.path);
        assert!(!key.unit.is_empty(), "{} has no unit", key.path);
    }
}

#[test]
fn documented_defaults_are_the_defaults() {
    let rob = MachineConfig::keys()
        .into_iter()
        .find(|key| key.path == "window.rob_entries")
        .unwrap();
    assert_eq!((rob.default.as_str(), rob.unit), ("128", "entries"));
    assert_eq!(rob.source, Source::Paper);
    // A file made of the key table is the default machine again.
    for key in MachineConfig::keys() {
        if key.path.contains(char::is_uppercase) || key.path == "little" {
            continue;
        }
        let (sections, name): (Vec<&str>, &str) = {
            let mut parts: Vec<&str> = key.path.split('.').collect();
            let name = parts.pop().unwrap();
            (parts, name)
        };
        let mut text = format!("{name}: {}", key.default);
        for section in sections.iter().rev() {
            text = format!("{section}: ({text})");
        }
        let machine = MachineConfig::from_ron(&format!("({text})"), "hps-4wide.ron")
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(machine, MachineConfig::default(), "{text}");
    }
}

#[test]
fn every_preset_is_good_and_survives_writing() {
    let mut fingerprints = BTreeSet::new();
    for name in MachineConfig::presets() {
        let machine = MachineConfig::preset(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.name, name);
        machine.check().unwrap();
        let text = machine.to_ron();
        let again = MachineConfig::from_ron(&text, "again.ron")
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again, machine, "{text}");
        assert_eq!(again.fingerprint(), machine.fingerprint());
        assert_eq!(
            machine.stage_names().len() as u32,
            machine.pipeline_stages()
        );
        fingerprints.insert(machine.fingerprint());
    }
    assert_eq!(fingerprints.len(), MachineConfig::presets().len());
    assert!(
        MachineConfig::preset("nope")
            .unwrap_err()
            .to_string()
            .contains("hps-4wide")
    );
}

#[test]
fn a_file_gives_only_the_differences() {
    let text = "(base: \"tiny-2wide\", memory: (l1d: (ways: 4)), units: (pools: {\"load\": 2}))";
    let machine = MachineConfig::from_ron(text, "folder/mine.ron").unwrap();
    let tiny = MachineConfig::preset("tiny-2wide").unwrap();
    assert_eq!(machine.name, "mine");
    assert_eq!(machine.memory.l1d.ways, 4);
    assert_eq!(machine.memory.l1d.size_bytes, tiny.memory.l1d.size_bytes);
    assert_eq!(machine.units.pools.0["load"], 2);
    assert_eq!(machine.units.pools.0["int_alu"], 2);
    assert_eq!(machine.window, tiny.window);
    assert_ne!(machine.fingerprint(), tiny.fingerprint());
    // The name alone does not change the machine.
    let renamed = MachineConfig::from_ron("(base: \"tiny-2wide\", name: \"x\")", "y").unwrap();
    assert_eq!(renamed.name, "x");
    assert_eq!(renamed.fingerprint(), tiny.fingerprint());
}

#[test]
fn variants_take_their_defaults_for_what_is_not_said() {
    let text = "(branch: (predictor: Tage(tables: 4)))";
    let machine = MachineConfig::from_ron(text, "t.ron").unwrap();
    let expected = TageConfig {
        tables: 4,
        ..TageConfig::default()
    };
    assert_eq!(machine.branch.predictor, Predictor::Tage(expected));
}

#[test]
fn unknown_keys_are_named_with_place_and_nearest_key() {
    let message = refused("(\n    window: (\n        rob_entrys: 5,\n    ),\n)");
    assert!(message.starts_with("my.ron:3:9:"), "{message}");
    assert!(message.contains("did you mean `rob_entries`?"), "{message}");

    let message = refused("(\n    rob_entries: 5)");
    assert!(message.starts_with("my.ron:2:5:"), "{message}");
    assert!(
        message.contains("there is `window.rob_entries`"),
        "{message}"
    );

    let message = refused("(\n  branch: (predictor: Tagee(tables: 4)))");
    assert!(message.starts_with("my.ron:2:23:"), "{message}");
    assert!(message.contains("did you mean `Tage`?"), "{message}");

    let message = refused("(branch: (predictor: Tage(\n tabels: 4)))");
    assert!(message.starts_with("my.ron:2:2:"), "{message}");
    assert!(message.contains("did you mean `tables`?"), "{message}");
    let message = refused("(memory: (l2: (replacement: Drrip)))");
    assert!(
        message.contains("1:29: `Drrip` has keys of its own: write `Drrip()`"),
        "{message}"
    );
    let message = refused("(branch: (predictor: Tage, ras_entries: 8))");
    assert!(
        message.contains("1:22: `Tage` has keys of its own"),
        "{message}"
    );
}

#[test]
fn wrong_types_and_syntax_are_named_with_place() {
    for (text, line) in [
        ("(\n  clock_mhz: -5)", 2),
        ("(\n\n  clock_mhz: \"fast\")", 3),
        ("(clock_mhz: 1\n  name: \"x\")", 2),
        ("(clock_mhz: 99999999999)", 1),
        ("", 1),
        ("(clock_mhz: 1, clock_mhz: 2)", 1),
    ] {
        let message = refused(text);
        assert!(
            message.starts_with(&format!("my.ron:{line}:")),
            "{text:?}: {message}"
        );
    }
}

#[test]
fn impossible_values_are_refused_with_place_and_what_is_allowed() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "(window: (rob_entries: 0))",
            "1:11: `window.rob_entries` is 0",
            "allowed: 2 to 4096",
        ),
        (
            "(window: (\n  reservation_stations: 129))",
            "2:3: `window.reservation_stations` is 129",
            "1 to 128",
        ),
        (
            "(memory: (l1d: (size_bytes: 30000)))",
            "1:17: `memory.l1d.size_bytes` is 30000",
            "e.g. 32768",
        ),
        (
            "(memory: (l1d: (ways: 3)))",
            "1:11: `memory.l1d.size_bytes` is 32768",
            "192 times a power of two",
        ),
        (
            "(memory: (l2: (line_bytes: 48)))",
            "1:16: `memory.l2.line_bytes` is 48",
            "powers of two",
        ),
        (
            "(memory: (l2: (line_bytes: 32)))",
            "1:2: `memory.l1i.line_bytes` is 64",
            "`memory.l2.line_bytes`, which is 32",
        ),
        (
            "(units: (int_alu: (pool: \"alu\")))",
            "1:20: `units.int_alu.pool` is \"alu\"",
            "int_mul_div",
        ),
        (
            "(units: (pools: {\"load\": 0}))",
            "1:18: `units.pools.load` is 0",
            "1 to 64",
        ),
        (
            "(branch: (predictor: Gshare(entries: 4096, history_bits: 13)))",
            "1:44: `branch.predictor.Gshare.history_bits` is 13",
            "0 to 12",
        ),
        (
            "(branch: (btb: (entries: 100)))",
            "1:17: `branch.btb.entries` is 100",
            "e.g. 128",
        ),
        (
            "(branch: (btb: (entries: 0)), units: (operations: {\"fdivs\": 3}))",
            "1:52: `units.operations.fdivs` is no operation",
            "did you mean `fdiv.s`?",
        ),
        (
            "(base: \"ev5\", issue: (issue_width: 5))",
            "1:23: `issue.issue_width` is 5",
            "allowed: 1 to 4",
        ),
        (
            "(base: \"ev5\", window: (fp_queue_entries: 8))",
            "1:24: `window.fp_queue_entries` is 8",
            "allowed: 0",
        ),
        (
            "(memory: (l1d_write: WriteThrough(entries: 4, send_at_entries: 5)))",
            "1:47: `memory.l1d_write.WriteThrough.send_at_entries` is 5",
            "1 to 4",
        ),
        (
            "(memory: (l3: (size_bytes: 3000000)))",
            "1:16: `memory.l3.size_bytes` is 3000000",
            "allowed: 0, or 64 times a power of two",
        ),
        (
            "(speculation: (memory_dependence: StoreWait(entries: 1000)))",
            "1:45: `speculation.memory_dependence.StoreWait.entries` is 1000",
            "e.g. 1024",
        ),
        (
            "(dise: (pt_entries: 33))",
            "1:9: `dise.pt_entries` is 33",
            "1 to 32",
        ),
        (
            "(base: \"hps-4wid\")",
            "1:2: `base` is `hps-4wid`",
            "did you mean `hps-4wide`?",
        ),
        (
            "(chip: (cores: 2, little_cores: 2), little: ())",
            "1:19: `chip.little_cores` is 2",
            "allowed: 0 to 1",
        ),
        (
            "(chip: (cores: 2, little_cores: 1))",
            "1:19: `chip.little_cores` is 1",
            "no section `little`",
        ),
        (
            "(base: \"big-little\", chip: (contexts: 2))",
            "1:22: `chip.little_cores` is 1",
            "allowed: 0, or one context",
        ),
        (
            "(chip: (cores: 2, little_cores: 1), little: (window: (rob_entries: 64)))",
            "1:46: `little.window.reservation_stations` is 80",
            "1 to 64",
        ),
        (
            "(chip: (cores: 2, little_cores: 1),\n little: (memory: (l1d: (line_bytes: 128))))",
            "2:26: `little.memory.l1d.line_bytes` is 128",
            "`memory.l2.line_bytes`, which is 64",
        ),
        (
            "(chip: (cores: 2, little_cores: 1), little: (memory: (l2: (ways: 4))))",
            "1:55: there is no key `l2` here",
            "l2_tlb",
        ),
        (
            "(memory: (l1i: (hit_cycles: 4)))",
            "1:1: `fetch.fetch_to_decode_cycles` is 3",
            "comes from the base",
        ),
    ];
    for (text, start, part) in cases {
        let message = refused(text);
        assert!(
            message.starts_with(&format!("my.ron:{start}")),
            "{text}: {message}"
        );
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn little_cores_are_the_last_and_differ_in_what_their_section_gives() {
    let text = "(base: \"wide-8\", chip: (cores: 3, little_cores: 2), window: (rob_entries: 256),\n\
                little: (issue: (issue_width: 2), memory: (l1d: (ways: 6)), units: (pools: {\"load\": 1})))";
    let machine = MachineConfig::from_ron(text, "mine.ron").unwrap();
    assert_eq!(*machine.of_core(0), machine);
    let little = machine.of_core(1);
    assert_eq!(little, machine.of_core(2));
    let mut expected = machine.clone();
    expected.chip.little_cores = 0;
    expected.little = LittleConfig::default();
    expected.issue.issue_width = 2;
    expected.memory.l1d.ways = 6;
    expected.units.pools.0.insert("load".to_owned(), 1);
    assert_eq!(*little, expected);

    // A file on top of a machine with little cores changes what it names.
    let text =
        "(base: \"big-little\", window: (rob_entries: 300), little: (window: (rob_entries: 40)))";
    let machine = MachineConfig::from_ron(text, "mine.ron").unwrap();
    let base = MachineConfig::preset("big-little").unwrap();
    assert_eq!(machine.window.rob_entries, 300);
    assert_eq!(machine.of_core(1).window.rob_entries, 40);
    assert_eq!(machine.of_core(1).branch, base.of_core(1).branch);
    assert_ne!(machine.of_core(1).branch, machine.branch);
    assert_eq!(machine.most_commit_width(), 8);
    // Without little cores the section says nothing.
    let mut alike = base.clone();
    alike.chip.little_cores = 0;
    alike.check().unwrap();
    assert_eq!(*alike.of_core(1), alike);
}

#[test]
fn all_violations_are_said_at_once() {
    let message = refused("(clock_mhz: 0,\n window: (commit_width: 0))");
    assert_eq!(message.lines().count(), 2, "{message}");
}

#[test]
fn a_machine_made_in_code_is_checked_too() {
    let mut machine = MachineConfig::default();
    machine.memory.l2.mshrs = 0;
    let message = machine.check().unwrap_err().to_string();
    assert!(message.contains("`memory.l2.mshrs` is 0"), "{message}");
}

#[test]
fn the_unit_table_resolves_pools() {
    use hps_isa::inst::OpClass;
    let machine = MachineConfig::preset("simplescalar-4wide").unwrap();
    let table = UnitTable::new(&machine.units);
    let load = table.timing(OpClass::Load);
    assert_eq!(load.pool, table.timing(OpClass::Atomic).pool);
    assert_eq!(table.pool_names()[load.pool as usize], "memory");
    assert_eq!(table.pool_units()[load.pool as usize], 2);
    assert_eq!(table.timing(OpClass::IntDiv).latency_cycles, 20);
    assert_eq!(table.timing(OpClass::Return), table.timing(OpClass::Branch));
}
