//! The engine in the decode stage.

use std::fmt;
use std::sync::Arc;

use bitvec::BitArr;
use bitvec::array::BitArray;
use bitvec::field::BitField;
use hps_isa::editor::{Decision, DecodeEditor, Replacement};
use hps_isa::inst::{Inst, reg};
use hps_isa::layout;
use hps_system::symbols::Entries;

use crate::config::{DiseConfig, ExpansionCost, MAX_PATTERNS, MAX_SEQUENCE};
use crate::context_tables::ContextTables;
use crate::counters::Counters;
use crate::error::DiseError;
use crate::flags::FlagCondition;
use crate::pattern::StaticPattern;
use crate::residency::Residency;
use crate::stats::{DiseStats, ProductionStats};
use crate::tables::{Micro, Sequence, Tables, Template};

/// Reads guest memory for a [`Drain`]: `read(addr, buf)` is false if `addr` cannot be read.
pub type GuestRead<'a> = dyn FnMut(u64, &mut [u8]) -> bool + 'a;

/// The consumer of a profile buffer, called when a handler executes `d_drain`.
pub type Drain = Box<dyn FnMut(&mut dyn FnMut(u64, &mut [u8]) -> bool) + Send>;

/// The consumer of an engine, which a clone does not have.
struct Consumer(Option<Drain>);

impl Clone for Consumer {
    fn clone(&self) -> Self {
        Consumer(None)
    }
}

/// A set of entries of the pattern table.
type EntrySet = BitArr!(for MAX_PATTERNS, in u32);

/// A production in the form that the hot path wants.
#[derive(Clone, Debug)]
struct Rule {
    control: Vec<Micro>,
    /// The rule's list in the conditionals table.
    control_list: Option<usize>,
    sequence: Option<Sequence>,
    /// Counters that `T.COUNT_N` reads in the sequence.
    latches: Vec<u8>,
    inserted: u64,
}

/// Pattern table, replacement table, conditionals table, instantiation logic and counters.
///
/// A decision has these steps:
/// 1. the conditionals of all statically matching entries are evaluated on the flags as they are;
/// 2. among the productions that match and have a replacement, the one with the most specific
///    entry wins ([`crate::pattern::PatternEntry::specificity`], ties by order in the file);
/// 3. the microinstructions of every matching null production and of the winner run, in the
///    order of the file. Those of productions that lost do not.
///
/// Statistics, and what is resident in tables that are too small, follow decode and are not
/// undone by a squash.
///
/// The consumer of [`DiseEngine::set_drain`] stays with the original of a clone.
#[derive(Clone)]
pub struct DiseEngine {
    /// Static pattern, condition and production of each table entry, by priority.
    patterns: Vec<StaticPattern>,
    conditions: [FlagCondition; MAX_PATTERNS],
    owner: [u8; MAX_PATTERNS],
    /// Entries whose production has a replacement: a word, since each decision takes part of it.
    replacing: u32,
    rules: Vec<Rule>,
    initial: Vec<(u8, u8)>,
    counters: Counters,
    pattern_table: Residency,
    replacement_table: Residency,
    conditionals_table: Residency,
    config: DiseConfig,
    /// DISE registers that some `set_N` reads: a word, since decode asks for each instruction.
    registers_read: u32,
    stats: DiseStats,
    drain: Consumer,
    /// Where the program's functions are entered.
    entries: Arc<Entries>,
    /// Tables of handlers for several contexts.
    context_tables: Option<ContextTables>,
    /// Another program than the first one of the run is on the context.
    is_off: bool,
}

hps_isa::save_state! {
    DiseEngine {
        patterns: skip, conditions: skip, owner: skip, replacing: skip, rules: skip, initial: skip,
        counters, pattern_table, replacement_table, conditionals_table, config: same,
        registers_read: skip, stats, drain: skip, entries: skip, context_tables: skip, is_off,
    }
}

impl fmt::Debug for DiseEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiseEngine")
            .field("patterns", &self.patterns.len())
            .field("counters", &self.counters.values())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

impl DiseEngine {
    /// Loads tables into an engine of the given size. Counters start at zero: call
    /// [`DiseEngine::reset`] once the DISE registers have their initial values.
    ///
    /// # Errors
    /// If the configuration is impossible, or the tables do not fit it: more than 32 pattern
    /// entries, a counter that does not exist, a sequence that is empty, longer than 255
    /// instructions or larger than the replacement table, a branch to outside of its sequence.
    pub fn from_tables(tables: &Tables, config: &DiseConfig) -> Result<Self, DiseError> {
        config.validate()?;
        validate_tables(tables, config)?;
        let entries = tables.priority_entries();
        let mut conditions = [FlagCondition::default(); MAX_PATTERNS];
        let mut owner = [0; MAX_PATTERNS];
        let mut replacing = EntrySet::ZERO;
        for (bit, entry) in entries.iter().enumerate() {
            conditions[bit] = entry.pattern.condition;
            owner[bit] = entry.production;
            let production = &tables.productions[usize::from(entry.production)];
            replacing.set(bit, production.replacement.is_some());
        }
        let (lists, list_of) = tables.control_lists();
        let list_sizes = lists.iter().map(|list| list.len()).collect();
        let productions = tables.productions.iter().zip(list_of);
        let rules: Vec<Rule> = productions.map(|(p, list)| rule(p, list)).collect();
        let sizes = rules
            .iter()
            .map(|r| r.sequence.as_ref().map_or(0, |s| s.templates.len()))
            .collect();
        let writes =
            tables.microinstructions() + rules.iter().map(|r| r.latches.len()).sum::<usize>();
        Ok(DiseEngine {
            conditions,
            owner,
            replacing: replacing.load_le(),
            counters: Counters::new(config.counters, rules.len(), writes, config.repair_counters),
            pattern_table: Residency::new(vec![1; entries.len()], config.pt_entries),
            replacement_table: Residency::new(sizes, config.rt_entries),
            conditionals_table: Residency::new(list_sizes, config.ct_entries),
            patterns: entries
                .into_iter()
                .map(|entry| entry.pattern.pattern)
                .collect(),
            registers_read: registers_read(tables),
            stats: empty_stats(tables),
            rules,
            initial: tables.initial.clone(),
            config: config.clone(),
            drain: Consumer(None),
            entries: Arc::default(),
            context_tables: None,
            is_off: false,
        })
    }

    /// Loads the counters from their registers, empties tables that are too small for the set,
    /// and clears journal and statistics. The drain consumer stays.
    pub fn reset(&mut self, regs: &[u64; reg::COUNT]) {
        let values = self
            .initial
            .iter()
            .map(|&(counter, r)| (counter, regs[usize::from(r)] as u32));
        self.counters.reset(values);
        self.pattern_table.reset();
        self.replacement_table.reset();
        self.conditionals_table.reset();
        let mut stats = DiseStats::default();
        stats.productions = std::mem::take(&mut self.stats.productions);
        for production in &mut stats.productions {
            *production = ProductionStats {
                name: std::mem::take(&mut production.name),
                ..Default::default()
            };
        }
        self.stats = stats;
    }

    /// Tells the engine where the program's functions are entered, as a loader does. Without it no `T.Target == entry`
    /// matches. To be called before the run, since decoded instructions keep what has matched.
    pub fn set_entries(&mut self, entries: Arc<Entries>) {
        self.entries = entries;
    }

    /// Tells the engine where handlers of further contexts find their tables. Without it, productions with handlers are for
    /// one context.
    pub fn set_context_tables(&mut self, tables: ContextTables) {
        self.context_tables = Some(tables);
    }

    fn calls_handlers(&self) -> bool {
        let mut sequences = self.rules.iter().filter_map(|rule| rule.sequence.as_ref());
        sequences.any(|sequence| sequence.templates.iter().any(Template::calls_handler))
    }

    /// Which counter a reset loads from which register, in the machine's numbering.
    #[must_use]
    pub fn initial_assignments(&self) -> &[(u8, u8)] {
        &self.initial
    }

    /// The counters as they are now (on the predicted path).
    #[must_use]
    pub fn counters(&self) -> &[u32] {
        self.counters.values()
    }

    /// Adds `by` to a counter as if it had been so much further from the beginning, on every path
    /// that is in flight. False, and nothing is changed, if a flag of it is or would be set.
    #[must_use]
    pub fn advance_counter(&mut self, counter: u8, by: u32) -> bool {
        self.counters.advance(counter, by)
    }

    /// Statistics since the last reset.
    #[must_use]
    pub const fn stats(&self) -> &DiseStats {
        &self.stats
    }

    /// The configuration it was made with.
    #[must_use]
    pub const fn config(&self) -> &DiseConfig {
        &self.config
    }

    /// Attaches the consumer that `d_drain` calls. Without one a drain does nothing.
    pub fn set_drain(&mut self, drain: Drain) {
        self.drain.0 = Some(drain);
    }

    /// Decode stall for table misses on the way to a decision on `mask`, in cycles.
    fn pattern_misses(&mut self, mask: u32) -> u32 {
        if self.pattern_table.all_fit() {
            return 0;
        }
        let mut missed = false;
        for bit in bits(mask) {
            missed |= self.pattern_table.touch(bit);
        }
        if !missed {
            return 0;
        }
        self.stats.pt_miss_events += 1;
        self.config.rt_miss_cycles
    }

    /// Latches counters and accounts for an expansion by `production`; its decode stall.
    fn expand(&mut self, seq: u64, production: u8) -> u32 {
        let rule = &self.rules[usize::from(production)];
        for &counter in &rule.latches {
            self.counters.latch(seq, production, counter);
        }
        self.stats.expansion_events += 1;
        self.stats.inserted_instructions += rule.inserted;
        self.stats.productions[usize::from(production)].expansion_events += 1;
        let stall = u32::from(self.config.expansion_cost == ExpansionCost::Stall);
        self.stats.expansion_stall_cycles += u64::from(stall);
        let mut miss = 0;
        if self.replacement_table.touch(usize::from(production)) {
            self.stats.rt_miss_events += 1;
            let composed = rule.sequence.as_ref().is_some_and(|s| s.composed);
            miss = if composed {
                self.config.composed_miss_cycles
            } else {
                self.config.rt_miss_cycles
            };
            self.stats.miss_stall_cycles += u64::from(miss);
        }
        stall + miss
    }

    /// Decode stall for lists of microinstructions that are not in the conditionals table, in cycles.
    fn control_misses(&mut self, productions: u32) -> u32 {
        if self.conditionals_table.all_fit() {
            return 0;
        }
        let mut missed = false;
        for production in bits(productions) {
            if let Some(list) = self.rules[production].control_list {
                missed |= self.conditionals_table.touch(list);
            }
        }
        if !missed {
            return 0;
        }
        self.stats.ct_miss_events += 1;
        self.stats.miss_stall_cycles += u64::from(self.config.rt_miss_cycles);
        self.config.rt_miss_cycles
    }

    fn run_control(&mut self, seq: u64, productions: u32, regs: &[u64; reg::COUNT]) {
        for production in bits(productions) {
            let rule = &self.rules[production];
            for &micro in &rule.control {
                self.counters.run(seq, micro, regs);
            }
            self.stats.productions[production].control_events +=
                u64::from(!rule.control.is_empty());
        }
    }
}

impl DecodeEditor for DiseEngine {
    const ENABLED: bool = true;

    /// Tables are loaded once, for the first program of a run: the others pass unchanged.
    fn generation(&self) -> u32 {
        1 + u32::from(self.is_off)
    }

    fn turn_to(&mut self, program: u32) {
        self.is_off = program != 1;
    }

    /// Counters and tables of its own, as they were when the tables had been loaded. `None` with handlers that have tables in
    /// memory for one context only ([`DiseEngine::set_context_tables`]).
    fn beside(&self, number: usize, regs: &mut [u64; reg::COUNT]) -> Option<Self> {
        if self.drain.0.is_some() {
            return None;
        }
        if self.calls_handlers() {
            let tables = self.context_tables.as_ref()?;
            if number >= tables.contexts {
                return None;
            }
            for &register in &tables.registers {
                regs[usize::from(register)] += number as u64 * tables.stride_bytes;
            }
        }
        Some(self.clone())
    }

    fn static_mask(&self, pc: u64, inst: &Inst) -> u32 {
        if self.is_off || layout::is_for_observers(pc) {
            return 0;
        }
        let mut mask = 0;
        for (bit, pattern) in self.patterns.iter().enumerate() {
            mask |= u32::from(pattern.matches_in(&self.entries, pc, inst)) << bit;
        }
        mask
    }

    fn decide(
        &mut self,
        seq: u64,
        mask: u32,
        _pc: u64,
        _inst: &Inst,
        regs: &[u64; reg::COUNT],
    ) -> Decision {
        self.stats.decide_events += 1;
        let miss = self.pattern_misses(mask);
        self.stats.miss_stall_cycles += u64::from(miss);
        let flags = self.counters.flags();
        let mut matched = 0_u32;
        for bit in bits(mask) {
            matched |= u32::from(self.conditions[bit].holds(flags)) << bit;
        }
        let mut decision = Decision {
            production: None,
            stall_cycles: miss,
        };
        if matched == 0 {
            return decision;
        }
        let mut productions = 0_u32;
        let mut nulls = 0_u32;
        for bit in bits(matched) {
            let production = 1 << self.owner[bit];
            productions |= production;
            if self.replacing >> bit & 1 == 0 {
                nulls |= production;
            }
        }
        for production in bits(productions) {
            self.stats.productions[production].match_events += 1;
        }
        self.stats.null_match_events += u64::from(nulls.count_ones());
        let mut active = nulls;
        let candidates = matched & self.replacing;
        if candidates != 0 {
            let winner = self.owner[candidates.trailing_zeros() as usize];
            active |= 1 << winner;
            decision.production = Some(winner);
            decision.stall_cycles += self.expand(seq, winner);
        }
        decision.stall_cycles += self.control_misses(active);
        self.run_control(seq, active, regs);
        decision
    }

    fn replacement(
        &self,
        production: u8,
        index: u8,
        pc: u64,
        trigger: &Inst,
    ) -> Option<Replacement> {
        let sequence = self.rules.get(usize::from(production))?.sequence.as_ref()?;
        sequence.instantiate(index, pc, trigger, self.counters.latched(production))
    }

    fn extra_decode_stages(&self) -> u32 {
        u32::from(self.config.expansion_cost == ExpansionCost::ExtraStage)
    }

    fn reads_register(&self, r: u8) -> bool {
        r.checked_sub(reg::DISE)
            .is_some_and(|n| n < reg::DISE_COUNT && self.registers_read >> n & 1 != 0)
    }

    fn squash(&mut self, seq: u64) {
        self.counters.squash(seq);
    }

    fn commit(&mut self, seq: u64) {
        self.counters.commit(seq);
    }

    fn drain(&mut self, read: &mut dyn FnMut(u64, &mut [u8]) -> bool) {
        if let Some(consumer) = &mut self.drain.0 {
            consumer(read);
        }
    }
}

/// Positions of the bits that are set, lowest first. Runs for each decision, so it works on the word.
fn bits(mut word: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}

fn rule(production: &crate::tables::Production, control_list: Option<usize>) -> Rule {
    let mut latches: Vec<u8> = Vec::new();
    if let Some(sequence) = &production.replacement {
        latches = sequence
            .templates
            .iter()
            .filter_map(Template::count)
            .collect();
        latches.sort_unstable();
        latches.dedup();
    }
    Rule {
        control: production.control.clone(),
        control_list,
        inserted: production
            .replacement
            .as_ref()
            .map_or(0, |s| s.inserted() as u64),
        sequence: production.replacement.clone(),
        latches,
    }
}

fn registers_read(tables: &Tables) -> u32 {
    let mut read: BitArr!(for reg::DISE_COUNT as usize, in u32) = BitArray::ZERO;
    for micro in tables.productions.iter().flat_map(|p| &p.control) {
        if let Micro::Set { register, .. } = micro {
            read.set(usize::from(register - reg::DISE), true);
        }
    }
    read.load_le()
}

fn empty_stats(tables: &Tables) -> DiseStats {
    let productions = tables
        .productions
        .iter()
        .map(|p| ProductionStats {
            name: p.name.clone(),
            ..ProductionStats::default()
        })
        .collect();
    DiseStats {
        productions,
        ..DiseStats::default()
    }
}

fn validate_tables(tables: &Tables, config: &DiseConfig) -> Result<(), DiseError> {
    let entries: usize = tables.productions.iter().map(|p| p.entries.len()).sum();
    if entries > MAX_PATTERNS || tables.productions.len() > MAX_PATTERNS {
        let needed = entries.max(tables.productions.len());
        return Err(DiseError::TooManyPatterns {
            needed,
            most: MAX_PATTERNS,
        });
    }
    for production in &tables.productions {
        let name = || production.name.clone();
        let len = production.control.len();
        if len > config.ct_entries {
            return Err(DiseError::ControlLength {
                production: name(),
                len,
                entries: config.ct_entries,
            });
        }
        let mut counters: Vec<u8> = production.control.iter().map(|m| m.counter()).collect();
        for entry in &production.entries {
            counters.extend(entry.condition.tested_bits().map(|bit| (bit / 2) as u8));
        }
        if let Some(sequence) = &production.replacement {
            validate_sequence(&production.name, sequence, config)?;
            counters.extend(sequence.templates.iter().filter_map(Template::count));
        }
        if let Some(&counter) = counters
            .iter()
            .find(|c| usize::from(**c) >= config.counters)
        {
            return Err(DiseError::NoSuchCounter {
                production: name(),
                counter,
                counters: config.counters,
            });
        }
        for micro in &production.control {
            if let Micro::Set { register, .. } = micro {
                validate_register(&production.name, *register)?;
            }
        }
    }
    for &(counter, register) in &tables.initial {
        if usize::from(counter) >= config.counters {
            let production = format!("initial value of counter {counter}");
            return Err(DiseError::NoSuchCounter {
                production,
                counter,
                counters: config.counters,
            });
        }
        validate_register("initial counter values", register)?;
    }
    Ok(())
}

fn validate_register(place: &str, register: u8) -> Result<(), DiseError> {
    if (reg::DISE..reg::DISE + reg::DISE_COUNT).contains(&register) {
        return Ok(());
    }
    Err(DiseError::NotADiseRegister {
        place: place.to_owned(),
        register,
    })
}

fn validate_sequence(
    name: &str,
    sequence: &Sequence,
    config: &DiseConfig,
) -> Result<(), DiseError> {
    use hps_isa::inst::OpClass;
    let len = sequence.templates.len();
    let most = MAX_SEQUENCE.min(config.rt_entries);
    if len == 0 || len > most {
        return Err(DiseError::SequenceLength {
            production: name.to_owned(),
            len,
            most,
        });
    }
    for (index, template) in sequence.templates.iter().enumerate() {
        if let Template::Inst { inst, .. } = template
            && inst.class == OpClass::DiseBranch
            && !(0..len as i64).contains(&inst.imm)
        {
            return Err(DiseError::BranchTarget {
                production: name.to_owned(),
                index,
                target: inst.imm,
                len,
            });
        }
    }
    Ok(())
}
