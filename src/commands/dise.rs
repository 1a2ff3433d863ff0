//! `hps dise`: production files, checked and explained.

use anyhow::bail;
use hps_dise::ProductionSet;
use hps_lab::{DEFAULT_ISA, Program};
use hps_productions::{ProductionFile, files};
use hps_sim_core::image::{Isa, ProgramImage};
use hps_sim_core::inst::{Inst, OpClass};
use hps_sim_core::memory::Perm;
use hps_sim_core::symbols::Entries;

use crate::cli::DiseCommand;
use crate::productions;
use crate::text::{Align, Table, print};

/// Runs the command; the result is the exit code.
pub fn dise(command: &DiseCommand) -> anyhow::Result<u8> {
    match command {
        DiseCommand::Check { files } => {
            print(&check(files)?)?;
        }
        DiseCommand::Explain {
            files,
            program,
            isa,
        } => {
            let explanation = match program {
                Some(program) => {
                    let image = Program::find(program, *isa)?.image;
                    let set = productions::load(image.isa, files, &[])?.set;
                    {
                        let functions = Entries::of(&image.symbols, image.isa);
                        hps_dise::explain(&set, instructions(&image), &functions)
                    }
                }
                None => {
                    let isa = isa.unwrap_or(DEFAULT_ISA);
                    hps_dise::explain_classes(&productions::load(isa, files, &[])?.set)
                }
            };
            print(&explanation.to_string())?;
        }
        DiseCommand::List { name: None } => print(&list())?,
        DiseCommand::List { name: Some(name) } => print(text_of(name)?)?,
    }
    Ok(0)
}

/// The report for each instruction set; one report if all are equal.
fn check(files: &[String]) -> anyhow::Result<String> {
    let mut said = Vec::new();
    for isa in Isa::ALL {
        said.push((isa, check_one(&productions::load(isa, files, &[])?.set)));
    }
    if said.iter().all(|(_, text)| *text == said[0].1) {
        return Ok(said.remove(0).1);
    }
    let titled = |(isa, text): &(Isa, String)| format!("for {isa}:\n{text}");
    Ok(said.iter().map(titled).collect::<Vec<_>>().join("\n"))
}

fn check_one(set: &ProductionSet) -> String {
    let report = hps_dise::check(set);
    let verdict = if report.is_clean() {
        "ok: nothing in the way of anything\n"
    } else {
        "ok, with what stands above\n"
    };
    format!("{report}{verdict}")
}

fn list() -> String {
    let mut table = Table::new(&[("productions", Align::Left), ("description", Align::Left)]);
    for file in files::ALL {
        table.row([file.name.to_string(), file.description.to_string()]);
    }
    table.render()
        + "\n`hps dise list NAME` prints one. The hot_* files bring the framework with them.\n"
}

fn text_of(name: &str) -> anyhow::Result<&'static str> {
    match ProductionFile::find(name) {
        Some(file) => Ok(file.text),
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
            explained(isa, &all);
        }
    }

    fn explained(isa: Isa, all: &[(u64, Inst)]) {
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
        assert!(check_one(&set).contains("PT entries"));
    }
}
