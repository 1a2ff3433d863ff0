//! The counters that clang's instrumentation leaves in the memory of a run, in LLVM's raw format.
//!
//! LLVM's runtime library would write them when the program ends; Debian has none for RISC-V. It would write a header
//! and then three sections as they lie in memory, which is what is done here (`InstrProfData.inc`,
//! `INSTR_PROF_RAW_HEADER`, version 8 of LLVM 14). No function of the program is added.

use hps_system::image::ProgramImage;
use hps_system::process::Process;
use object::{Object, ObjectSection};

/// `0xff l p r o f r 0x81`: the format's name for 64-bit machines.
const MAGIC: u64 = u64::from_be_bytes([0xff, b'l', b'p', b'r', b'o', b'f', b'r', 0x81]);
const VERSION: u64 = 8;
/// Bytes of what describes a function: three 64-bit numbers, two pointers, a 32-bit number and two 16-bit ones, padded.
const DATA_BYTES: u64 = 48;
/// Where it holds the address of the function's counters ([`Profiled::Instrumented`]).
///
/// [`Profiled::Instrumented`]: hps_workloads::clang::Profiled::Instrumented
const COUNTERS_AT: usize = 16;
/// The greatest number of a kind of value that is profiled: indirect calls and sizes of memory operations.
const LAST_VALUE_KIND: u64 = 1;

/// A section's address and what it holds at the end of the run.
struct Section {
    address: u64,
    bytes: Vec<u8>,
}

/// The raw profile of a run that is over.
///
/// # Errors
/// A section is missing: the program is not instrumented.
pub(super) fn raw_profile(image: &ProgramImage, process: &Process) -> Result<Vec<u8>, String> {
    let file = object::File::parse(image.bytes()).map_err(|e| e.to_string())?;
    let section = |name: &str| {
        let found = file
            .section_by_name(name)
            .ok_or_else(|| format!("the instrumented program has no section {name}"))?;
        let mut bytes = vec![0; found.size() as usize];
        let read = process.mem.read_bytes_forced(found.address(), &mut bytes);
        read.map_err(|_| format!("section {name} is not in memory"))?;
        Ok::<_, String>(Section {
            address: found.address(),
            bytes,
        })
    };
    Ok(format(
        &section("__llvm_prf_data")?,
        &section("__llvm_prf_cnts")?,
        &section("__llvm_prf_names")?,
    ))
}

fn format(data: &Section, counters: &Section, names: &Section) -> Vec<u8> {
    let header = [
        MAGIC,
        VERSION,
        // Bytes of build ids.
        0,
        data.bytes.len() as u64 / DATA_BYTES,
        // Padding before the counters.
        0,
        counters.bytes.len() as u64 / 8,
        // Padding behind the counters.
        0,
        names.bytes.len() as u64,
        counters.address.wrapping_sub(data.address),
        names.address,
        LAST_VALUE_KIND,
    ];
    let mut raw: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    let functions = data.bytes.chunks_exact(DATA_BYTES as usize);
    for (address, function) in (data.address..).step_by(DATA_BYTES as usize).zip(functions) {
        let (before, rest) = function.split_at(COUNTERS_AT);
        let (counters, behind) = rest.split_at(8);
        let counters = counters.iter().rev();
        let counters = counters.fold(0, |word, &byte| word << 8 | u64::from(byte));
        raw.extend(before);
        // LLVM wants the distance.
        raw.extend(counters.wrapping_sub(address).to_le_bytes());
        raw.extend(behind);
    }
    raw.extend(&counters.bytes);
    raw.extend(&names.bytes);
    // Sections end at multiples of eight bytes.
    raw.resize(raw.len().next_multiple_of(8), 0);
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_distances_behind_a_header_of_eleven_words() {
        let mut function = vec![0; 48];
        function[16..24].copy_from_slice(&0x3000_u64.to_le_bytes());
        let section = |address, bytes| Section { address, bytes };
        let data = section(0x1000, [function.clone(), function].concat());
        let counters = section(0x3000, vec![7; 16]);
        let raw = format(&data, &counters, &section(0x5000, vec![1, 2, 3]));
        let word = |at: usize| {
            let bytes = raw[8 * at..8 * at + 8].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes"))
        };
        // Two functions, two counters, three bytes of names, 0x3000 - 0x1000.
        assert_eq!([word(3), word(5), word(7), word(8)], [2, 2, 3, 0x2000]);
        // The second function lies 48 bytes behind the first one.
        assert_eq!([word(11 + 2), word(11 + 6 + 2)], [0x2000, 0x2000 - 48]);
        assert_eq!(raw.len(), 8 * 11 + 96 + 16 + 8);
    }
}
