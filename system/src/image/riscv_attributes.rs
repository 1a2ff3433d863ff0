//! Extensions that a RISC-V program says it was built for: `.riscv.attributes` (RISC-V ELF psABI specification, chapter
//! "Attributes").

use goblin::elf::program_header::ProgramHeader;

use hps_isa::riscv::extensions;

/// `PT_RISCV_ATTRIBUTES`
const PT_RISCV_ATTRIBUTES: u32 = 0x7000_0003;
/// The attribute with the name of the instruction set.
const TAG_ARCH: u64 = 5;
/// Attributes of the whole file.
const TAG_FILE: u8 = 1;

/// The name of the instruction set that a program was built for, if it says so.
pub(super) fn arch(bytes: &[u8], headers: &[ProgramHeader]) -> Option<String> {
    let header = headers.iter().find(|h| h.p_type == PT_RISCV_ATTRIBUTES)?;
    let start = usize::try_from(header.p_offset).ok()?;
    let end = start.checked_add(usize::try_from(header.p_filesz).ok()?)?;
    arch_of(bytes.get(start..end)?)
}

fn arch_of(section: &[u8]) -> Option<String> {
    let (b'A', mut rest) = section.split_first().map(|(first, rest)| (*first, rest))? else {
        return None;
    };
    while let Some(length) = rest.first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let vendor = rest.get(4..length)?;
        rest = &rest[length..];
        let end = vendor.iter().position(|&byte| byte == 0)?;
        if &vendor[..end] == b"riscv" {
            return arch_in(&vendor[end + 1..]);
        }
    }
    None
}

/// Looks through the attributes of a vendor.
fn arch_in(mut rest: &[u8]) -> Option<String> {
    while let Some((&tag, behind)) = rest.split_first() {
        let length = u32::from_le_bytes(*behind.first_chunk()?) as usize;
        let mut attributes = rest.get(5..length)?;
        rest = &rest[length..];
        while tag == TAG_FILE && !attributes.is_empty() {
            let tag = uleb(&mut attributes)?;
            // Odd ones are texts, even ones numbers.
            if tag % 2 == 0 {
                uleb(&mut attributes)?;
                continue;
            }
            let end = attributes.iter().position(|&byte| byte == 0)?;
            let text = std::str::from_utf8(&attributes[..end]).ok()?;
            if tag == TAG_ARCH {
                return Some(text.to_owned());
            }
            attributes = &attributes[end + 1..];
        }
    }
    None
}

fn uleb(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Extensions that a program is built for, at least in part, and that do not exist here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The extensions, by their names.
    pub extensions: Vec<String>,
    /// The instruction set without them, for `-march`.
    pub march: String,
}

/// Which extensions of `arch` have instructions that do not exist here.
pub(super) fn lacking(arch: &str) -> Option<Lacking> {
    let (mut lacking, mut kept) = (Vec::new(), Vec::new());
    for part in arch.split('_') {
        let name = without_version(part);
        let name = name.strip_prefix("rv64").unwrap_or(name);
        if exists(name) {
            kept.push(name);
        } else {
            lacking.push(name.to_owned());
        }
    }
    // `v` brings parts of itself, which nobody has to be told.
    if lacking.iter().any(|name| name == "v") {
        lacking.retain(|name| !name.starts_with("zve") && !name.starts_with("zvl"));
    }
    (!lacking.is_empty()).then(|| Lacking {
        extensions: lacking,
        march: march_of(&kept),
    })
}

/// `-march` of extensions that exist, without those that others bring.
fn march_of(kept: &[&str]) -> String {
    const BROUGHT: [&str; 12] = [
        "zicsr", "zifencei", "zmmul", "zaamo", "zalrsc", "zca", "zcd", "zfhmin", "zicntr", "zihpm",
        "zcf", "ziccif",
    ];
    let (letters, names): (Vec<&str>, Vec<&str>) = kept.iter().partition(|name| name.len() == 1);
    let letters = letters.concat();
    let letters = if letters == "imafdc" { "gc" } else { &letters };
    let named = names.iter().filter(|name| !BROUGHT.contains(name));
    named.fold(format!("rv64{letters}"), |march, name| {
        format!("{march}_{name}")
    })
}

/// `zba1p0` is `zba` of version 1.0; names may end in digits that are no version.
fn without_version(part: &str) -> &str {
    let digits = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let minor = digits(part);
    let Some(major) = part[..minor]
        .strip_suffix('p')
        .filter(|_| minor < part.len())
    else {
        return part;
    };
    match digits(major) {
        // `zip`, and nothing of a version.
        end if end == major.len() => part,
        end => &part[..end],
    }
}

/// Whether the instructions of an extension exist here, or it has none for programs.
fn exists(name: &str) -> bool {
    /// Extensions that only promise something of memory and timing, or that are hints or parts of others.
    const WITHOUT_INSTRUCTIONS: [&str; 16] = [
        "b", "zmmul", "zaamo", "zalrsc", "za64rs", "za128rs", "zic64b", "ziccamoa", "ziccif",
        "zicclsm", "ziccrse", "zihpm", "zicbop", "zkt", "ztso", "zama16b",
    ];
    let is_letter = name.len() == 1 && extensions::LETTERS.contains(name);
    is_letter
        || extensions::NAMES.contains(&name)
        || WITHOUT_INSTRUCTIONS.contains(&name)
        // What only the operating system sees, and hints of control-flow integrity.
        || name.starts_with('s')
        || name.starts_with("zicfi")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_instruction_set_is_found() {
        let name = b"rv64i2p1_zba1p0\0";
        // Stack alignment (4) 16, then the name (5), and unaligned accesses (6) 1.
        let attributes = [&[4, 16, 5][..], name, &[6, 1]].concat();
        let file = [
            &[1][..],
            &(5 + attributes.len() as u32).to_le_bytes(),
            &attributes,
        ]
        .concat();
        let length = 4 + 6 + file.len() as u32;
        let section = [b"A", &length.to_le_bytes()[..], b"riscv\0", &file].concat();
        assert_eq!(arch_of(&section).as_deref(), Some("rv64i2p1_zba1p0"));
        for end in 0..section.len() {
            assert_eq!(arch_of(&section[..end]), None);
        }
    }

    #[test]
    fn what_is_lacking_is_named_with_what_would_do() {
        let gc = "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zifencei2p0_zmmul1p0";
        assert_eq!(lacking(gc), None);
        assert_eq!(
            lacking(&format!("{gc}_zba1p0_zicond1p0_zic64b1p0_sstc1p0")),
            None
        );
        let vector = format!("{gc}_v1p0_zba1p0_zve32f1p0_zvl128b1p0_zvbb1p0");
        let Lacking { extensions, march } = lacking(&vector).unwrap();
        assert_eq!(extensions, ["v", "zvbb"]);
        assert_eq!(march, "rv64gc_zba");
        assert_eq!(lacking("rv64i2p1_xtheadba1p0").unwrap().march, "rv64i");
    }
}
