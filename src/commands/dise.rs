//! `hps dise`: production files, checked and explained.

use std::collections::BTreeMap;

use anyhow::bail;
use hps_dise::{Explanation, Report};
use hps_isa::inst::{Inst, OpClass};
use hps_isa::memory::Perm;
use hps_lab::{DEFAULT_ISA, Program};
use hps_productions::{ProductionFile, files};
use hps_system::image::{Isa, ProgramImage};
use hps_system::symbols::Entries;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::DiseCommand;
use crate::document::{Described, Format};
use crate::productions;
use crate::text::{Align, Table};

/// Format of an explanation.
const EXPLAINED: Format = Format::new("hps-dise-explanation", 1);

/// Formats of the documents.
pub fn all_described() -> Vec<Described> {
    vec![
        Format::new("hps-dise-checks", 1).described::<Vec<Checked>>(&["dise check"]),
        EXPLAINED.described::<Explained>(&["dise explain"]),
        Format::new("hps-productions", 1).described::<Vec<Listed>>(&["dise list"]),
    ]
}

/// What a check of production files found out for an instruction set.
#[derive(Serialize, JsonSchema)]
struct Checked {
    /// The instruction set.
    isa: &'static str,
    /// Whether there is nothing to look at: no conflict, no warning, no note.
    is_clean: bool,
    /// Productions.
    productions: usize,
    /// Entries of the pattern table that they take.
    pt_entries: usize,
    /// Entries of the replacement table that they take.
    rt_entries: usize,
    /// Entries of the conditionals table that they take.
    ct_entries: usize,
    /// Functions that productions call.
    handlers: Vec<Handler>,
    /// Bytes of all handlers.
    handler_bytes: u64,
    /// Bytes of all areas of data.
    data_bytes: u64,
    /// Productions in the way of each other, a sentence for each pair.
    conflicts: Vec<String>,
    /// Input that is accepted and looks like a mistake, with its place in the file.
    warnings: Vec<String>,
    /// Warnings about the files as a whole.
    notes: Vec<String>,
}

/// A function that productions call.
#[derive(Serialize, JsonSchema)]
struct Handler {
    /// Name of the handler.
    name: String,
    /// Address of its first byte, as a hexadecimal text.
    address: String,
    /// Bytes of its code.
    code_bytes: u64,
}

/// Which production wins for which instruction.
#[derive(Serialize, JsonSchema)]
struct Explained {
    /// Instruction set of the productions.
    isa: &'static str,
    /// The program whose instructions are explained; `null` for one instruction of each class.
    program: Option<String>,
    /// Entries of the pattern table, the most specific first.
    entries: Vec<Entry>,
    /// Groups of instructions that the same entries match, the largest first.
    groups: Vec<Group>,
    /// Instructions that no pattern matches, and that pass in every state.
    unmatched_instructions: usize,
}

/// An entry of the pattern table.
#[derive(Serialize, JsonSchema)]
struct Entry {
    /// Name of its production.
    production: String,
    /// The pattern.
    pattern: String,
    /// Instructions that match it.
    instructions: usize,
}

/// Instructions that the same entries match.
#[derive(Serialize, JsonSchema)]
struct Group {
    /// Instructions of the group.
    instructions: usize,
    /// Instructions of each class, by the name of the class.
    classes: BTreeMap<String, usize>,
    /// Address of the first instruction, as a hexadecimal text.
    example_address: String,
    /// The first instruction.
    example: String,
    /// What happens in each state of the flags that the entries look at.
    cases: Vec<Case>,
}

/// What happens under one state of the flags.
#[derive(Serialize, JsonSchema)]
struct Case {
    /// The flags that matter, with their values.
    flags: BTreeMap<String, bool>,
    /// The production that replaces the instruction; `null` if none does.
    winner: Option<String>,
    /// Productions that match, have a replacement and lose.
    losers: Vec<String>,
    /// Microinstructions that run, in their order.
    microinstructions: Vec<Micro>,
}

/// A microinstruction.
#[derive(Serialize, JsonSchema)]
struct Micro {
    /// The production whose it is.
    production: String,
    /// The microinstruction.
    text: String,
}

/// A production file that comes with the project.
#[derive(Serialize, JsonSchema)]
struct Listed {
    /// Name of the file.
    name: &'static str,
    /// Description in one line.
    description: &'static str,
    /// The file itself.
    text: &'static str,
}

/// Runs the command; the result is the exit code.
pub fn dise(command: &DiseCommand) -> anyhow::Result<u8> {
    match command {
        DiseCommand::Check { files, json } => {
            let reports = check(files)?;
            json.print_text(&checks_text(&reports))?;
            json.write(&reports.iter().map(checked).collect::<Vec<_>>())?;
        }
        DiseCommand::Explain {
            files,
            program,
            isa,
            json,
        } => {
            let (isa, explanation) = match program {
                Some(program) => {
                    let image = Program::find(program, *isa)?.image;
                    let set = productions::load(image.isa, files, &[])?.set;
                    let functions = Entries::of(&image.symbols, image.isa);
                    let explained = hps_dise::explain(&set, instructions(&image), &functions);
                    (image.isa, explained)
                }
                None => {
                    let isa = isa.unwrap_or(DEFAULT_ISA);
                    let set = productions::load(isa, files, &[])?.set;
                    (isa, hps_dise::explain_classes(&set))
                }
            };
            json.print_text(&explanation.to_string())?;
            json.write(&EXPLAINED.of(&explained(isa, program.clone(), explanation)))?;
        }
        DiseCommand::List { name, json } => {
            let found = match name {
                Some(name) => vec![named(name)?],
                None => files::ALL.to_vec(),
            };
            json.print_text(&match name {
                Some(_) => found[0].text.to_owned(),
                None => list(&found),
            })?;
            let listed = found.iter().map(|file| Listed {
                name: file.name,
                description: file.description,
                text: file.text,
            });
            json.write(&listed.collect::<Vec<_>>())?;
        }
    }
    Ok(0)
}

/// The report for each instruction set.
fn check(files: &[String]) -> anyhow::Result<Vec<(Isa, Report)>> {
    let report = |isa| {
        Ok((
            isa,
            hps_dise::check(&productions::load(isa, files, &[])?.set),
        ))
    };
    Isa::ALL.into_iter().map(report).collect()
}

/// The text of reports; that of one report if all are equal.
fn checks_text(reports: &[(Isa, Report)]) -> String {
    if reports.iter().all(|(_, report)| *report == reports[0].1) {
        return check_text(&reports[0].1);
    }
    let titled = |(isa, report): &(Isa, Report)| format!("for {isa}:\n{}", check_text(report));
    reports.iter().map(titled).collect::<Vec<_>>().join("\n")
}

fn check_text(report: &Report) -> String {
    let verdict = if report.is_clean() {
        "ok: nothing in the way of anything\n"
    } else {
        "ok, with what stands above\n"
    };
    format!("{report}{verdict}")
}

fn checked((isa, report): &(Isa, Report)) -> Checked {
    let handlers = report.handlers.iter();
    Checked {
        isa: isa.name(),
        is_clean: report.is_clean(),
        productions: report.productions,
        pt_entries: report.pt_entries,
        rt_entries: report.rt_entries,
        ct_entries: report.ct_entries,
        handlers: handlers
            .map(|(name, address, bytes)| Handler {
                name: name.clone(),
                address: format!("{address:#x}"),
                code_bytes: *bytes,
            })
            .collect(),
        handler_bytes: report.handler_bytes,
        data_bytes: report.data_bytes,
        conflicts: report.conflicts.iter().map(ToString::to_string).collect(),
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
        notes: report.notes.clone(),
    }
}

fn explained(isa: Isa, program: Option<String>, explanation: Explanation) -> Explained {
    let entry = |(production, pattern, instructions)| Entry {
        production,
        pattern,
        instructions,
    };
    let micro = |(production, text)| Micro { production, text };
    let case = |case: hps_dise::Case| Case {
        flags: case.flags.into_iter().collect(),
        winner: case.winner,
        losers: case.losers,
        microinstructions: case.control.into_iter().map(micro).collect(),
    };
    let group = |group: hps_dise::Group| Group {
        instructions: group.instructions,
        classes: group.classes.into_iter().collect(),
        example_address: format!("{:#x}", group.example.0),
        example: group.example.1,
        cases: group.cases.into_iter().map(case).collect(),
    };
    Explained {
        isa: isa.name(),
        program,
        entries: explanation.entries.into_iter().map(entry).collect(),
        groups: explanation.groups.into_iter().map(group).collect(),
        unmatched_instructions: explanation.unmatched,
    }
}

fn list(files: &[ProductionFile]) -> String {
    let mut table = Table::new(&[("productions", Align::Left), ("description", Align::Left)]);
    for file in files {
        table.row([file.name.to_string(), file.description.to_string()]);
    }
    table.render()
        + "\n`hps dise list NAME` prints one. The hot_* files bring the framework with them.\n"
}

fn named(name: &str) -> anyhow::Result<ProductionFile> {
    match ProductionFile::find(name) {
        Some(file) => Ok(file),
        None => {
            let known: Vec<&str> = files::ALL.iter().map(|file| file.name).collect();
            bail!(
                "there are no productions `{name}`; there are: {}",
                known.join(", ")
            )
        }
    }
}

/// The instructions of a program in the order of their addresses: those of its functions, or,
/// if it has no symbols, of its executable segments.
fn instructions(image: &ProgramImage) -> Vec<(u64, Inst)> {
    let functions = image.symbols.functions();
    let mut found = Vec::new();
    for segment in image.segments.iter().filter(|s| s.perm.contains(Perm::X)) {
        let bytes = image.segment_bytes(segment);
        let end = segment.addr + bytes.len() as u64;
        if functions.is_empty() {
            sweep(
                image.isa,
                bytes,
                segment.addr,
                segment.addr..end,
                &mut found,
            );
        }
        for f in functions
            .iter()
            .filter(|f| segment.addr <= f.addr && f.addr < end)
        {
            sweep(
                image.isa,
                bytes,
                segment.addr,
                f.addr..(f.addr.saturating_add(f.size)).min(end),
                &mut found,
            );
        }
    }
    found
}

/// Decodes one instruction after the other; `bytes` lie at `base`. Data between them counts only
/// where it looks like an instruction.
fn sweep(
    isa: Isa,
    bytes: &[u8],
    base: u64,
    range: std::ops::Range<u64>,
    found: &mut Vec<(u64, Inst)>,
) {
    let half = |at: u64| {
        let at = usize::try_from(at - base).ok()?;
        Some(u32::from(u16::from_le_bytes([
            *bytes.get(at)?,
            *bytes.get(at + 1)?,
        ])))
    };
    let mut pc = range.start;
    while pc < range.end {
        let Some(low) = half(pc) else { return };
        let is_short = isa == Isa::Riscv64 && low & 3 != 3;
        let word = if is_short {
            low
        } else {
            low | half(pc + 2).unwrap_or(0) << 16
        };
        let inst = isa.decode(word);
        if inst.class != OpClass::Illegal {
            found.push((pc, inst));
        }
        pc += if is_short { 2 } else { 4 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_decodes_both_lengths() {
        // c.nop; addi a0, a0, 1; an illegal halfword; c.nop
        let bytes = [0x01, 0x00, 0x13, 0x05, 0x15, 0x00, 0x00, 0x00, 0x01, 0x00];
        let mut found = Vec::new();
        sweep(Isa::Riscv64, &bytes, 0x1000, 0x1000..0x100a, &mut found);
        let places: Vec<(u64, u8)> = found.iter().map(|(pc, inst)| (*pc, inst.len)).collect();
        assert_eq!(places, [(0x1000, 2), (0x1002, 4), (0x1008, 2)]);
    }

    #[test]
    fn programs_have_instructions_and_productions_explain_them() {
        for isa in Isa::ALL {
            let image = Program::find("bwt", isa)
                .expect("comes with the project")
                .image;
            let all = instructions(&image);
            assert!(all.len() > 1000 && all.iter().any(|(_, inst)| inst.class.is_call()));
            are_explained(isa, &all);
        }
    }

    fn are_explained(isa: Isa, all: &[(u64, Inst)]) {
        let set = productions::load(isa, &["hot_call_pair".to_string()], &[])
            .expect("built in")
            .set;
        let explanation = hps_dise::explain(&set, all.iter().copied(), &Entries::default());
        assert!(
            explanation
                .groups
                .iter()
                .any(|g| g.classes.iter().any(|(name, _)| name.contains("call")))
        );
        assert!(check_text(&hps_dise::check(&set)).contains("PT entries"));
    }
}
