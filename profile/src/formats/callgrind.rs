//! Callgrind's profile format, for KCachegrind and `callgrind_annotate`.
//!
//! All columns are events, the costs stand by instruction address and line, and calls carry
//! inclusive costs where there are stacks. An inlined function is a function that is called. The
//! number of calls is the count of executions of the callee's first instruction on that stack if a
//! column is called `instructions`, and at least 1: the format has no other way to say that it is
//! not known. An instruction of DISE is added to its trigger, since the format has no place for it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rustc_hash::{FxHashMap, FxHashSet};

use super::stack::{Active, Identity, UNKNOWN, active, one_line, origin};
use crate::symbolized::SymbolizedProfile;

/// Writes the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    let costs = Costs::new(profile);
    head(profile, output)?;
    let mut names = Names::default();
    for (identity, function) in &costs.functions {
        let (file, name) = names.of(profile, *identity);
        writeln!(output)?;
        if let Some(Identity::Function(_)) = identity {
            let module = identity.map_or("", |identity| identity.module(profile));
            writeln!(output, "ob={}", names.objects.name(&one_line(module)))?;
        }
        writeln!(output, "fl={file}\nfn={name}")?;
        for (&(address, line), values) in &function.own {
            position(output, address, line, values)?;
        }
        for (&(address, line, callee), call) in &function.calls {
            let (file, name) = names.of(profile, Some(callee));
            let (entry, first) = callee.start(profile);
            writeln!(output, "cfi={file}\ncfn={name}")?;
            writeln!(output, "calls={} {entry:#x} {first}", call.count.max(1))?;
            position(output, address, line, &call.values)?;
        }
    }
    write!(output, "\ntotals:")?;
    let rounded = profile.rounded();
    for column in 0..profile.columns().len() {
        write!(output, " {}", rounded.total(column))?;
    }
    writeln!(output)
}

fn head(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    let header = profile.header();
    let command = if header.command.is_empty() {
        &header.program
    } else {
        &header.command
    };
    writeln!(output, "# callgrind format\nversion: 1")?;
    writeln!(output, "creator: hps {}", one_line(&header.version))?;
    writeln!(output, "cmd: {}", one_line(command))?;
    for line in origin(profile) {
        writeln!(output, "desc: {line}")?;
    }
    writeln!(output, "positions: instr line")?;
    let names = event_names(profile);
    for (name, column) in names.iter().zip(profile.columns()) {
        let (long, unit) = (one_line(&column.name), one_line(&column.unit));
        writeln!(output, "event: {name} : {long} ({unit})")?;
    }
    writeln!(output, "events: {}", names.join(" "))
}

/// Names of one word that begin with a letter and are distinct.
fn event_names(profile: &SymbolizedProfile) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in profile.columns() {
        let letters = column.name.chars();
        let mut name: String = letters
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '_'
                }
            })
            .collect();
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            name.insert_str(0, "e_");
        }
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

fn position(output: &mut dyn Write, address: u64, line: u32, values: &[u128]) -> io::Result<()> {
    write!(output, "{address:#x} {line}")?;
    for value in values {
        write!(output, " {value}")?;
    }
    writeln!(output)
}

/// Costs by function; `None` is the function of empty stacks.
struct Costs {
    functions: BTreeMap<Option<Identity>, FunctionCosts>,
}

#[derive(Default)]
struct FunctionCosts {
    /// By address and line.
    own: BTreeMap<(u64, u32), Vec<u128>>,
    /// By address and line of the call, and by callee.
    calls: BTreeMap<(u64, u32, Identity), Call>,
}

#[derive(Default)]
struct Call {
    count: u128,
    values: Vec<u128>,
}

impl Costs {
    fn new(profile: &SymbolizedProfile) -> Self {
        let rounded = profile.rounded();
        let executions = profile.column("instructions");
        let mut functions: BTreeMap<Option<Identity>, FunctionCosts> = BTreeMap::new();
        let mut counted = FxHashSet::default();
        for (place, sample) in profile.samples().iter().enumerate() {
            let values: Vec<u64> = rounded.sample(place).collect();
            let stack: Vec<Active> = active(profile, sample).collect();
            let innermost = stack.first();
            let (address, line) = innermost.map_or((0, 0), |frame| point(profile, frame));
            let own = functions
                .entry(innermost.map(Active::identity))
                .or_default();
            sum(own.own.entry((address, line)).or_default(), &values);
            // Once for each call of the stack, however often recursion repeats it.
            counted.clear();
            for (depth, pair) in stack.windows(2).enumerate() {
                let (callee, caller) = (pair[0].identity(), &pair[1]);
                let (address, line) = point(profile, caller);
                if !counted.insert((caller.identity(), address, line, callee)) {
                    continue;
                }
                let function = functions.entry(Some(caller.identity())).or_default();
                let call = function.calls.entry((address, line, callee)).or_default();
                sum(&mut call.values, &values);
                let entered = depth == 0 && point(profile, &pair[0]).0 == callee.start(profile).0;
                if let Some(column) = executions.filter(|_| entered) {
                    call.count += u128::from(values[column]);
                }
            }
        }
        Self { functions }
    }
}

fn point(profile: &SymbolizedProfile, frame: &Active) -> (u64, u32) {
    let line = frame.frame.map_or(0, |frame| frame.line);
    (profile.location(frame.location).address, line)
}

fn sum(sums: &mut Vec<u128>, values: &[u64]) {
    sums.resize(values.len(), 0);
    for (sum, &value) in sums.iter_mut().zip(values) {
        *sum += u128::from(value);
    }
}

/// Names with numbers: `(3) name` the first time, `(3)` from then on.
#[derive(Default)]
struct Compressed(FxHashMap<String, usize>);

impl Compressed {
    fn name(&mut self, name: &str) -> String {
        let next = self.0.len() + 1;
        match self.0.get(name) {
            Some(number) => format!("({number})"),
            None => {
                self.0.insert(name.to_owned(), next);
                format!("({next}) {name}")
            }
        }
    }
}

#[derive(Default)]
struct Names {
    objects: Compressed,
    files: Compressed,
    functions: Compressed,
}

impl Names {
    /// File and name of a function. Functions that share a name and a file are one to readers.
    fn of(&mut self, profile: &SymbolizedProfile, identity: Option<Identity>) -> (String, String) {
        let (file, name) = match identity {
            Some(identity) => (identity.file(profile), identity.name(profile)),
            None => ("", UNKNOWN.to_owned()),
        };
        // Callgrind's own name for unknown files.
        let file = if file.is_empty() { "???" } else { file };
        let file = self.files.name(&one_line(file));
        (file, self.functions.name(&one_line(&name)))
    }
}
