//! Productions as the tables hold them.

use hps_dise::check::micro_text;
use hps_dise::tables::{ImmediateSource, RegisterSource, Template};
use hps_dise::{DiseConfig, ProductionSet};
use hps_isa::isa::Isa;

use crate::protocol::{
    ControlRow, PatternRow, Problem, ProductionTables, Register, SequenceRow, hex,
};

/// The tables of a set, in the order in which the engine looks at them.
pub(crate) fn tables(set: &ProductionSet) -> Result<ProductionTables, Problem> {
    let config = DiseConfig::default();
    // A set that does not fit is refused here rather than in a run.
    set.engine(&config)?;
    let tables = set.tables();
    let entries = tables.priority_entries();
    let control = |all: &[hps_dise::tables::Micro]| -> Vec<String> {
        all.iter().map(|micro| micro_text(set, *micro)).collect()
    };
    let patterns = entries
        .iter()
        .map(|entry| {
            let production = &tables.productions[usize::from(entry.production)];
            PatternRow {
                production: production.name.clone(),
                pattern: entry.pattern.to_string(),
                replacement: match &production.replacement {
                    None => "null".to_owned(),
                    Some(sequence) => format!("{} instructions", sequence.templates.len()),
                },
                control: control(&production.control).join("; "),
            }
        })
        .collect();
    let sequences = tables
        .productions
        .iter()
        .filter_map(|production| {
            let sequence = production.replacement.as_ref()?;
            let lines = sequence.templates.iter().map(|t| text(set.isa(), t));
            Some(SequenceRow {
                production: production.name.clone(),
                lines: lines.collect(),
            })
        })
        .collect();
    let (lists, of_productions) = tables.control_lists();
    let conditionals = lists
        .iter()
        .enumerate()
        .map(|(at, list)| ControlRow {
            productions: tables
                .productions
                .iter()
                .zip(&of_productions)
                .filter(|(_, of)| **of == Some(at))
                .map(|(production, _)| production.name.clone())
                .collect(),
            control: control(list),
        })
        .collect();
    let value = |number: u8| {
        let all = set.dise_register_init();
        all.iter()
            .find(|(register, _)| *register == number)
            .map_or(0, |(_, value)| *value)
    };
    Ok(ProductionTables {
        patterns,
        sequences,
        conditionals,
        registers: set
            .registers()
            .iter()
            .map(|(name, &number)| Register {
                name: name.clone(),
                value: hex(value(number)),
                changed: false,
            })
            .collect(),
        warnings: set.warnings().iter().map(Problem::from).collect(),
        taken: [
            entries.len() as u64,
            tables.replacement_entries() as u64,
            tables.conditionals_entries() as u64,
        ],
        capacity: [
            config.pt_entries as u64,
            config.rt_entries as u64,
            config.ct_entries as u64,
        ],
    })
}

/// An entry of a replacement sequence, with what is taken of the trigger.
fn text(isa: Isa, template: &Template) -> String {
    let Template::Inst {
        inst,
        rd,
        rs1,
        rs2,
        imm,
    } = template
    else {
        return "T.INSN".to_owned();
    };
    let mut taken = Vec::new();
    for (field, source) in [("rd", rd), ("rs1", rs1), ("rs2", rs2)] {
        match source {
            RegisterSource::Literal => {}
            RegisterSource::Rs => taken.push(format!("{field} = T.RS")),
            RegisterSource::Rt => taken.push(format!("{field} = T.RT")),
            RegisterSource::Rd => taken.push(format!("{field} = T.RD")),
        }
    }
    match imm {
        ImmediateSource::Literal | ImmediateSource::PcRelative => {}
        ImmediateSource::Imm => taken.push("imm = T.IMM".to_owned()),
        ImmediateSource::Pc => taken.push("imm = T.PC".to_owned()),
        ImmediateSource::Target => taken.push("imm = T.Target".to_owned()),
        ImmediateSource::Count(n) => taken.push(format!("imm = T.COUNT_{n}")),
    }
    let text = isa.disassemble(inst, 0);
    match taken.is_empty() {
        true => text,
        false => format!("{text}    with {}", taken.join(", ")),
    }
}
