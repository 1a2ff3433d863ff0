//! The host code of an observed function with its samples.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, bail};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use capstone::prelude::*;
use hps_shim::results::ShimResult;
use hps_shim::session::Session;
use hps_shim::symbols::Code;

use crate::listing::Listing;
use crate::text::{Align, grouped};

/// The instructions of a function. Samples stand where tags lie: a tag of the tag library is a function's entry, so that
/// all samples of the function stand there; a program that writes addresses of its own as tags has them where these
/// lie.
pub fn annotate(session: &mut Session, result: &ShimResult, name: &str) -> anyhow::Result<String> {
    let code = find(session, result, name)?;
    let inside = code.entry..code.entry + code.bytes.len() as u64;
    let samples: BTreeMap<u64, u64> = (result.tags.iter())
        .filter(|row| inside.contains(&row.tag))
        .map(|row| (row.tag, row.samples))
        .collect();
    let all: u64 = result.tags.iter().map(|row| row.samples).sum();
    let own: u64 = samples.values().sum();
    let share = |samples: u64| 100.0 * samples as f64 / all.max(1) as f64;
    let mut text = format!(
        "{} at {:#x}: {:.2}% of {} samples",
        code.name,
        code.entry,
        share(own),
        grouped(all)
    );
    if let Some(total) = total(result, &code) {
        let _ = write!(text, ", {:.2}% with all that it calls", 100.0 * total);
    }
    text.push('\n');
    if !samples.is_empty() && samples.keys().all(|&at| at == code.entry) {
        text += "tags tell functions apart and not instructions: the samples of the function stand at its entry\n";
    }
    text.push('\n');
    let mut listing = Listing::new(vec![("samples", Align::Right), ("of all", Align::Right)]);
    for (address, instruction) in disassembled(&code)? {
        let cells = match samples.get(&address) {
            Some(&count) => vec![grouped(count), format!("{:.2}%", share(count))],
            None => vec![String::new(), String::new()],
        };
        let line = session.symbols.resolve(address).line;
        let line = line.map(|(file, line)| format!("{file}:{line}"));
        listing.row(cells, line, address, instruction);
    }
    Ok(text + &listing.render())
}

/// The share of samples in a function or in what it called, if stacks were read.
fn total(result: &ShimResult, code: &Code) -> Option<f64> {
    let stacks = result.stacks.as_ref()?;
    let found = stacks
        .functions
        .iter()
        .find(|row| stacks.frames[row.frame].tag == code.entry)?;
    Some(found.total_share)
}

/// The code of the function of a name, or at an address. Only functions that were seen are known by their names.
fn find(session: &mut Session, result: &ShimResult, name: &str) -> anyhow::Result<Code> {
    let digits = name.strip_prefix("0x").unwrap_or("");
    if let Ok(address) = u64::from_str_radix(digits, 16) {
        return session
            .symbols
            .code(address)
            .with_context(|| format!("--annotate {name}: no file has a function there"));
    }
    let frames = result.stacks.iter().flat_map(|stacks| &stacks.frames);
    let tags = result.tags.iter().map(|row| row.tag);
    let mut similar: Vec<String> = Vec::new();
    for tag in tags.chain(frames.map(|frame| frame.tag)) {
        let Some(code) = session.symbols.code(tag) else {
            continue;
        };
        if code.name == name || code.linkage_name == name {
            return Ok(code);
        }
        if !similar.contains(&code.name) {
            similar.push(code.name);
        }
    }
    if similar.is_empty() {
        bail!("--annotate {name}: no tag of this run is the address of a function");
    }
    similar.truncate(8);
    bail!(
        "--annotate {name}: no sample is of such a function; there are {}",
        similar.join(", ")
    )
}

/// A disassembler of this host's instructions.
#[cfg(target_arch = "x86_64")]
fn disassembler() -> CsResult<Capstone> {
    let mode = arch::x86::ArchMode::Mode64;
    Capstone::new().x86().mode(mode).build()
}

/// A disassembler of this host's instructions.
#[cfg(target_arch = "aarch64")]
fn disassembler() -> CsResult<Capstone> {
    let mode = arch::arm64::ArchMode::Arm;
    Capstone::new().arm64().mode(mode).build()
}

/// Addresses and texts of the instructions of this host's processor. Bytes without an instruction are shown as data.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn disassembled(code: &Code) -> anyhow::Result<Vec<(u64, String)>> {
    let capstone = disassembler();
    let mut capstone = capstone.map_err(|e| anyhow::anyhow!("--annotate: {e}"))?;
    let skips = capstone.set_skipdata(true);
    skips.map_err(|e| anyhow::anyhow!("--annotate: {e}"))?;
    let all = capstone.disasm_all(&code.bytes, code.entry);
    let all = all.map_err(|e| anyhow::anyhow!("--annotate: {e}"))?;
    let text = |one: &capstone::Insn<'_>| {
        let words = [one.mnemonic(), one.op_str()];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        (one.address(), words.join(" ").trim_end().to_string())
    };
    Ok(all.iter().map(text).collect())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn disassembled(_: &Code) -> anyhow::Result<Vec<(u64, String)>> {
    bail!("--annotate: code of this processor cannot be disassembled")
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn host_code_is_disassembled_and_other_bytes_are_data() {
        let code = Code {
            name: "f".to_string(),
            linkage_name: "f".to_string(),
            entry: 0x1000,
            // nop; ret; and a byte that begins no instruction of 64-bit code.
            bytes: vec![0x90, 0xc3, 0x06],
        };
        let all = disassembled(&code).expect("it is disassembled");
        assert_eq!(all[0], (0x1000, "nop".to_string()));
        assert_eq!(all[1], (0x1001, "ret".to_string()));
        assert!(all[2].1.starts_with(".byte"), "{all:?}");
    }
}
