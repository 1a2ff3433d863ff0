//! `riscv_hwprobe`: what the processor has (Linux `arch/riscv/include/uapi/asm/hwprobe.h`).

use hps_isa::inst::CACHE_BLOCK_BYTES;
use hps_isa::memory::Memory;
use hps_isa::riscv::extensions;

use super::Linux;
use super::errno::Errno;
use super::record::{Record, read_words};

/// The bits of the value with the extensions, by their names.
const EXTENSION_BITS: [(u32, &str); 22] = [
    (1, "c"),
    (3, "zba"),
    (4, "zbb"),
    (5, "zbs"),
    (6, "zicboz"),
    (7, "zbc"),
    (8, "zbkb"),
    (27, "zfh"),
    (28, "zfhmin"),
    (29, "zihintntl"),
    (32, "zfa"),
    (34, "zacas"),
    (35, "zicond"),
    (36, "zihintpause"),
    (42, "zimop"),
    (43, "zca"),
    (44, "zcb"),
    (45, "zcd"),
    (47, "zcmop"),
    (48, "zawrs"),
    (50, "zicntr"),
    (58, "zabha"),
];
/// F and D together.
const FLOATING_POINT: u64 = 1;
/// Most pairs that one call answers.
const MOST_PAIRS: u64 = 1024;

/// The value of a key, if the key is known.
fn value(key: i64) -> Option<u64> {
    /// I, M and A.
    const BASE: u64 = 1;
    /// Unaligned accesses are as fast as others.
    const FAST: u64 = 3;
    Some(match key {
        // Vendor, architecture, implementation.
        0..=2 => 0,
        3 => BASE,
        4 => extension_bits(),
        5 | 9 => FAST,
        6 => CACHE_BLOCK_BYTES,
        7 => Memory::LIMIT - 1,
        8 => super::time::NANOS_PER_SECOND,
        _ => return None,
    })
}

fn extension_bits() -> u64 {
    let exists = |name: &str| extensions::NAMES.contains(&name) || name == "c";
    let bits = EXTENSION_BITS.iter().filter(|(_, name)| exists(name));
    bits.fold(FLOATING_POINT, |all, (bit, _)| all | 1 << bit)
}

impl Linux {
    /// Fills in the values of pairs of a key and a value; of a key that is not known, the key becomes -1.
    pub(super) fn riscv_hwprobe(mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [pairs, count, set_bytes, set, flags, _] = *a;
        // `RISCV_HWPROBE_WHICH_CPUS` is newer than the kernel that is shown.
        if flags as u32 != 0 || count > MOST_PAIRS || (set == 0) != (set_bytes == 0) {
            return Err(Errno::EINVAL);
        }
        for index in 0..count {
            let at = pairs.wrapping_add(index * 16);
            let [key, _] = read_words(mem, at)?;
            let record = match value(key as i64) {
                Some(value) => Record::new().u64(key).u64(value),
                None => Record::new().u64(u64::MAX).u64(0),
            };
            mem.write_bytes(at, &record.done())?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_extension_that_linux_has_a_bit_for_is_told() {
        // F and D, C, Zba, Zbb, Zbs, Zicboz, Zbc, Zbkb: bits 0, 1, 3 to 8.
        assert_eq!(extension_bits() & 0xfff, 0x1fb);
        for (bit, name) in EXTENSION_BITS {
            assert!(extension_bits() >> bit & 1 != 0, "{name}");
        }
        assert_eq!(value(99), None);
    }
}
