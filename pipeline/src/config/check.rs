//! Which configurations are refused, each by the name of its key and with what is allowed.

use super::branch::{BranchConfig, Predictor};
use super::chip::ChipConfig;
use super::counters::CountersConfig;
use super::error::Violation;
use super::memory::L1dWrite;
use super::sections::{AddressGeneration, MachineConfig, MemDep, Scheduling, Slotting, Stages};
use super::units::UnitsConfig;
use hps_isa::asm::edit_distance;
use hps_isa::inst::Op;
use hps_isa::isa::Isa;

mod memory;
mod step;

/// Collects violations.
struct Checks {
    found: Vec<Violation>,
}

impl Checks {
    fn refuse(&mut self, path: &str, message: String) {
        self.found.push(Violation {
            path: path.to_string(),
            message,
        });
    }

    /// `value` must lie in `low..=high`. Says whether it does.
    fn range(&mut self, path: &str, value: impl Into<u64>, low: u64, high: u64) -> bool {
        let value = value.into();
        let inside = (low..=high).contains(&value);
        if !inside {
            self.refuse(path, format!("is {value}; allowed: {low} to {high}"));
        }
        inside
    }

    /// `value` must be a power of two in `low..=high`. Says whether it is.
    fn power(&mut self, path: &str, value: u32, low: u32, high: u32) -> bool {
        let good = value.is_power_of_two() && (low..=high).contains(&value);
        if !good {
            let near = nearest_power(value).clamp(low, high);
            self.refuse(
                path,
                format!("is {value}; allowed: powers of two from {low} to {high}, e.g. {near}"),
            );
        }
        good
    }

    /// `entries` in sets of `ways`, a power of two of them.
    fn sets(&mut self, path: &str, entries: u32, ways: u32) {
        let (entries_path, ways_path) = (format!("{path}.entries"), format!("{path}.ways"));
        let fine = self.range(&entries_path, entries, 1, 1 << 20)
            & self.range(&ways_path, ways, 1, u64::from(entries.clamp(1, 256)));
        if fine && (!entries.is_multiple_of(ways) || !(entries / ways).is_power_of_two()) {
            let sets = nearest_power(entries.div_ceil(ways));
            self.refuse(
                &entries_path,
                format!(
                    "is {entries}, which does not make a power of two of sets of {ways} ways; \
                     allowed: {ways} times a power of two, e.g. {}",
                    sets * ways
                ),
            );
        }
    }
}

fn nearest_power(value: u32) -> u32 {
    let above = value.checked_next_power_of_two().unwrap_or(1 << 31);
    let below = (above / 2).max(1);
    if value - below.min(value) < above - value.min(above) {
        below
    } else {
        above
    }
}

impl MachineConfig {
    /// Everything that makes this machine impossible; empty for a good one.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let mut checks = Checks { found: Vec::new() };
        checks.range("clock_mhz", self.clock_mhz, 1, 100_000);
        check_front(self, &mut checks);
        check_window(self, &mut checks);
        check_speculation(self, &mut checks);
        check_units(self, &mut checks);
        check_operations(&self.units, &mut checks);
        check_branch(&self.branch, &mut checks);
        memory::check(&self.memory, &mut checks);
        memory::check_clock(self, &mut checks);
        check_dise(self, &mut checks);
        check_interrupts(self, &mut checks);
        check_chip(self, &mut checks);
        check_counters(self, &mut checks);
        let little = self.violations_of_little(&checks.found);
        checks.found.extend(little);
        checks.found
    }
}

fn check_counters(machine: &MachineConfig, c: &mut Checks) {
    let counters = &machine.counters;
    c.range("counters.read_cycles", counters.read_cycles, 0, 10_000);
    let selected = &counters.selected.0;
    c.range(
        "counters.selected",
        selected.len() as u64,
        0,
        CountersConfig::MOST as u64,
    );
}

fn check_chip(machine: &MachineConfig, c: &mut Checks) {
    let chip = &machine.chip;
    c.range(
        "chip.cores",
        chip.cores,
        1,
        u64::from(ChipConfig::MOST_CORES),
    );
    c.range(
        "chip.contexts",
        chip.contexts,
        1,
        u64::from(ChipConfig::MOST_CONTEXTS),
    );
    c.range("chip.transfer_cycles", chip.transfer_cycles, 0, 10_000);
    c.range(
        "chip.keep_cycles",
        chip.keep_cycles,
        0,
        u64::from(chip.transfer_cycles),
    );
    c.range("chip.invalidate_cycles", chip.invalidate_cycles, 0, 10_000);
    c.range("chip.quiet_read_cycles", chip.quiet_read_cycles, 0, 10_000);
    c.range("chip.snoop_bus_cycles", chip.snoop_bus_cycles, 1, 1000);
    check_little(machine, c);
    if !chip.has_peers() {
        return;
    }
    if machine.branch.predictor == Predictor::Perfect {
        c.refuse(
            "branch.predictor",
            format!(
                "is Perfect, but there are {} contexts (`chip.cores`, `chip.contexts`); allowed: a predictor that does \
                 not know the future, or one context",
                chip.processors()
            ),
        );
    }
    if chip.contexts > 1 && matches!(machine.issue.scheduling, Scheduling::InOrder(_)) {
        c.refuse(
            "issue.scheduling",
            format!(
                "is InOrder, but `chip.contexts` is {}; allowed: OutOfOrder, or one context",
                chip.contexts
            ),
        );
    }
    if chip.cores > 1 && machine.memory.l1d_write != L1dWrite::WriteBack {
        c.refuse(
            "memory.l1d_write",
            format!(
                "writes through, but `chip.cores` is {}; allowed: WriteBack, or one core",
                chip.cores
            ),
        );
    }
}

fn check_little(machine: &MachineConfig, c: &mut Checks) {
    let chip = &machine.chip;
    let path = "chip.little_cores";
    // The first core is none of them.
    let most = u64::from(chip.cores.clamp(1, ChipConfig::MOST_CORES)) - 1;
    if !c.range(path, chip.little_cores, 0, most) || chip.little_cores == 0 {
        return;
    }
    let count = chip.little_cores;
    if machine.little.is_none() {
        c.refuse(
            path,
            format!(
                "is {count}, but no section `little` describes them; allowed: 0, or such a section"
            ),
        );
    }
    if chip.contexts > 1 {
        c.refuse(
            path,
            format!(
                "is {count}, but `chip.contexts` is {}; allowed: 0, or one context",
                chip.contexts
            ),
        );
    }
}

fn check_front(machine: &MachineConfig, c: &mut Checks) {
    let fetch = &machine.fetch;
    c.range("fetch.fetch_width_insts", fetch.fetch_width_insts, 1, 64);
    c.range(
        "fetch.fetch_buffer_insts",
        fetch.fetch_buffer_insts,
        u64::from(fetch.fetch_width_insts.max(1)),
        1024,
    );
    if c.power("fetch.fetch_block_bytes", fetch.fetch_block_bytes, 4, 256)
        && fetch.fetch_block_bytes > machine.memory.l1i.line_bytes
    {
        c.refuse(
            "fetch.fetch_block_bytes",
            format!(
                "is {}, more than a line of the instruction cache; allowed: up to \
                 `memory.l1i.line_bytes`, which is {}",
                fetch.fetch_block_bytes, machine.memory.l1i.line_bytes
            ),
        );
    }
    c.range(
        "fetch.taken_branches_per_cycle",
        fetch.taken_branches_per_cycle,
        1,
        8,
    );
    let to_decode = "fetch.fetch_to_decode_cycles";
    let stages = machine.issue.stages();
    let one_cycle = *stages == Stages::OneCycle;
    if c.range(
        to_decode,
        fetch.fetch_to_decode_cycles,
        u64::from(!one_cycle),
        64,
    ) && !one_cycle
        && fetch.fetch_to_decode_cycles < machine.memory.l1i.hit_cycles
    {
        c.refuse(
            to_decode,
            format!(
                "is {}, less than a hit of the instruction cache takes; allowed: at least \
                 `memory.l1i.hit_cycles`, which is {}",
                fetch.fetch_to_decode_cycles, machine.memory.l1i.hit_cycles
            ),
        );
    }
    c.range("decode.decode_width", machine.decode.decode_width, 1, 64);
    c.range(
        "decode.decode_to_dispatch_cycles",
        machine.decode.decode_to_dispatch_cycles,
        u64::from(stages.are_free()),
        64,
    );
}

fn check_window(machine: &MachineConfig, c: &mut Checks) {
    let window = &machine.window;
    c.range("window.dispatch_width", window.dispatch_width, 1, 64);
    c.range("window.commit_width", window.commit_width, 1, 64);
    c.range("window.rob_entries", window.rob_entries, 2, 4096);
    let rob = u64::from(window.rob_entries.clamp(2, 4096));
    for (path, value) in [
        ("window.reservation_stations", window.reservation_stations),
        ("window.load_queue_entries", window.load_queue_entries),
        ("window.store_queue_entries", window.store_queue_entries),
    ] {
        if !(1..=rob).contains(&u64::from(value)) {
            c.refuse(
                path,
                format!(
                    "is {value}; allowed: 1 to {rob}, the reorder buffer (`window.rob_entries`)"
                ),
            );
        }
    }
    c.range("window.fp_queue_entries", window.fp_queue_entries, 0, rob);
    if window.memory_queue_entries == 1 {
        c.refuse(
            "window.memory_queue_entries",
            "is 1, but an atomic access takes two places; allowed: 0, 2 and more".to_string(),
        );
    }
    c.range(
        "window.complete_to_commit_cycles",
        window.complete_to_commit_cycles,
        0,
        64,
    );
    let issue = &machine.issue;
    c.range("issue.issue_width", issue.issue_width, 1, 64);
    c.range(
        "issue.dispatch_to_issue_cycles",
        issue.dispatch_to_issue_cycles,
        u64::from(issue.stages().are_free()),
        64,
    );
    c.range(
        "issue.issue_to_execute_cycles",
        issue.issue_to_execute_cycles,
        0,
        64,
    );
    check_in_order(machine, c);
    step::check(machine, c);
}

/// The pipes of the 21164.
const PIPES: u32 = 4;

fn check_in_order(machine: &MachineConfig, c: &mut Checks) {
    let Scheduling::InOrder(in_order) = &machine.issue.scheduling else {
        return;
    };
    if machine.window.fp_queue_entries != 0 {
        c.refuse(
            "window.fp_queue_entries",
            format!(
                "is {}, but `issue.scheduling` is InOrder, which has one queue; allowed: 0",
                machine.window.fp_queue_entries
            ),
        );
    }
    for (path, is_on) in [
        (
            "issue.address_generation",
            machine.issue.address_generation != AddressGeneration::WithAccess,
        ),
        (
            "window.memory_queue_entries",
            machine.window.memory_queue_entries != 0,
        ),
    ] {
        if is_on {
            c.refuse(
                path,
                "does not go with `issue.scheduling` InOrder; leave it out".to_string(),
            );
        }
    }
    if in_order.slotting == Slotting::Alpha21164 && machine.issue.issue_width > PIPES {
        c.refuse(
            "issue.issue_width",
            format!(
                "is {}, more than the pipes of the 21164 (`issue.scheduling.slotting`); allowed: \
                 1 to {PIPES}",
                machine.issue.issue_width
            ),
        );
    }
}

fn check_speculation(machine: &MachineConfig, c: &mut Checks) {
    let speculation = &machine.speculation;
    c.range(
        "speculation.store_forward_latency_cycles",
        speculation.store_forward_latency_cycles,
        1,
        64,
    );
    if let MemDep::StoreWait(table) = &speculation.memory_dependence {
        let path = "speculation.memory_dependence.StoreWait";
        c.power(&format!("{path}.entries"), table.entries, 16, 1 << 20);
        c.range(
            &format!("{path}.clear_interval_cycles"),
            table.clear_interval_cycles,
            1000,
            u64::MAX,
        );
    }
    if let MemDep::StoreSets(sets) = &speculation.memory_dependence {
        let path = "speculation.memory_dependence.StoreSets";
        c.power(
            &format!("{path}.ssit_entries"),
            sets.ssit_entries,
            16,
            1 << 20,
        );
        c.power(&format!("{path}.lfst_entries"), sets.lfst_entries, 1, 4096);
        c.range(
            &format!("{path}.clear_interval_cycles"),
            sets.clear_interval_cycles,
            1000,
            u64::MAX,
        );
    }
}

fn check_units(machine: &MachineConfig, c: &mut Checks) {
    let units = &machine.units;
    let has_address = machine.issue.address_generation == AddressGeneration::Separate;
    let names: Vec<&str> = units.pools.0.keys().map(String::as_str).collect();
    for (name, &count) in &units.pools.0 {
        c.range(&format!("units.pools.{name}"), count, 1, 64);
    }
    c.range("units.pools", names.len() as u64, 1, 64);
    for (class, unit) in units.classes() {
        if !units.pools.0.contains_key(&unit.pool) {
            c.refuse(
                &format!("units.{class}.pool"),
                format!(
                    "is \"{}\", which is no pool; allowed: {}",
                    unit.pool,
                    names.join(", ")
                ),
            );
        }
        let latency = format!("units.{class}.latency_cycles");
        // A load that has its address may need the time of the cache alone.
        let least = u64::from(!(has_address && class == "load"));
        c.range(&latency, unit.latency_cycles, least, 1000);
        let interval = format!("units.{class}.interval_cycles");
        c.range(
            &interval,
            unit.interval_cycles,
            1,
            u64::from(unit.latency_cycles.clamp(1, 1000)),
        );
    }
}

fn check_operations(units: &UnitsConfig, c: &mut Checks) {
    c.range(
        "units.fp_load_extra_cycles",
        units.fp_load_extra_cycles,
        0,
        1000,
    );
    for (mnemonic, &cycles) in &units.operations.0 {
        let path = format!("units.operations.{mnemonic}");
        let known = |isa: &Isa| Op::from_mnemonic(*isa, mnemonic).is_some();
        if !Isa::ALL.iter().any(known) {
            let nearest = Op::ALL
                .iter()
                .map(|op| op.mnemonic())
                .min_by_key(|known| edit_distance(known, mnemonic))
                .unwrap_or_default();
            c.refuse(
                &path,
                format!("is no operation; did you mean `{nearest}`? Allowed: mnemonics"),
            );
        }
        c.range(&path, cycles, 1, 1000);
    }
}

fn check_branch(branch: &BranchConfig, c: &mut Checks) {
    if branch.btb.entries != 0 {
        c.sets("branch.btb", branch.btb.entries, branch.btb.ways);
        c.range("branch.btb.tag_bits", branch.btb.tag_bits, 1, 31);
    }
    c.range("branch.ras_entries", branch.ras_entries, 0, 1024);
    let extra = branch.mispredict_extra_cycles;
    c.range("branch.mispredict_extra_cycles", extra, 0, 1000);
    let indirect = &branch.indirect;
    if indirect.entries != 0 {
        c.power("branch.indirect.entries", indirect.entries, 2, 1 << 16);
        c.range("branch.indirect.history_bits", indirect.history_bits, 0, 32);
        c.range("branch.indirect.tag_bits", indirect.tag_bits, 1, 16);
    }
    check_predictor(&branch.predictor, c);
}

fn check_predictor(predictor: &Predictor, c: &mut Checks) {
    let key = |name: &str| format!("branch.predictor.{name}");
    let most = 1 << 24;
    match predictor {
        Predictor::Perfect | Predictor::AlwaysTaken | Predictor::AlwaysNotTaken => {}
        Predictor::Bimodal(p) => {
            c.power(&key("Bimodal.entries"), p.entries, 2, most);
        }
        Predictor::Gshare(p) => {
            if c.power(&key("Gshare.entries"), p.entries, 2, most) {
                let bits = u64::from(p.entries.trailing_zeros());
                c.range(&key("Gshare.history_bits"), p.history_bits, 0, bits);
            }
        }
        Predictor::Tournament(p) => {
            let local = p.local_history_entries;
            c.power(&key("Tournament.local_history_entries"), local, 2, 1 << 16);
            let bits = p.local_history_bits;
            c.range(&key("Tournament.local_history_bits"), bits, 1, 16);
            let width = p.local_counter_bits;
            c.range(&key("Tournament.local_counter_bits"), width, 2, 7);
            c.power(&key("Tournament.global_entries"), p.global_entries, 2, most);
            let choosers = p.chooser_entries;
            c.power(&key("Tournament.chooser_entries"), choosers, 2, most);
        }
        Predictor::Perceptron(p) => {
            c.power(&key("Perceptron.entries"), p.entries, 2, 1 << 16);
            c.range(&key("Perceptron.history_bits"), p.history_bits, 1, 64);
        }
        Predictor::Tage(p) => {
            c.power(&key("Tage.base_entries"), p.base_entries, 2, most);
            c.range(&key("Tage.tables"), p.tables, 1, 8);
            c.power(&key("Tage.table_entries"), p.table_entries, 16, 1 << 16);
            c.range(&key("Tage.tag_bits"), p.tag_bits, 4, 15);
            if c.range(&key("Tage.min_history_bits"), p.min_history_bits, 1, 64) {
                let least = u64::from(p.min_history_bits + p.tables.min(8));
                c.range(
                    &key("Tage.max_history_bits"),
                    p.max_history_bits,
                    least,
                    1024,
                );
            }
            let interval = p.useful_reset_interval_branches;
            let path = key("Tage.useful_reset_interval_branches");
            c.range(&path, interval, 1024, u64::MAX);
        }
    }
}

fn check_dise(machine: &MachineConfig, c: &mut Checks) {
    let dise = &machine.dise;
    c.range("dise.pt_entries", dise.pt_entries, 1, 32);
    c.range("dise.rt_entries", dise.rt_entries, 1, 65_536);
    c.power("dise.rt_entry_bytes", dise.rt_entry_bytes, 4, 16);
    c.range("dise.ct_entries", dise.ct_entries, 0, 32);
    c.range("dise.stall_cycles", dise.stall_cycles, 0, 1);
    c.range("dise.rt_miss_cycles", dise.rt_miss_cycles, 0, 100_000);
    c.range(
        "dise.composed_miss_cycles",
        dise.composed_miss_cycles,
        0,
        100_000,
    );
}

fn check_interrupts(machine: &MachineConfig, c: &mut Checks) {
    let costs = &machine.interrupts;
    let most = 1_000_000;
    // An overflow in a cycle is seen in a later one.
    c.range(
        "interrupts.recognition_cycles",
        costs.recognition_cycles,
        1,
        most,
    );
    c.range("interrupts.entry_cycles", costs.entry_cycles, 0, most);
    c.range("interrupts.return_cycles", costs.return_cycles, 0, most);
    c.range("interrupts.assist_cycles", costs.assist_cycles, 0, most);
}
