//! Our drivers, and inputs that are generated: the same bytes on every machine.

/// Counted up when a generator makes something else than before.
pub(super) const GENERATORS: u32 = 1;

/// The names and contents of files that travel in the library.
macro_rules! drivers {
    ($($name:literal)*) => {
        pub(super) const DRIVERS: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../suite/drivers/", $name)))),*
        ];
    };
}

drivers! {
    "box2d.cpp"
    "btree.cpp"
    "clock.c"
    "graph-walk.cpp"
    "hash-join.c"
    "lemon.cpp"
    "report.awk"
    "sparse-solve.c"
    "sqlite.c"
    "tasks.lua"
    "tasks.scm"
    "tcc-libc.h"
    "tcc-stdout.c"
    "tree-sitter.c"
}

/// The file of that name.
pub(super) fn driver(name: &str) -> Option<&'static str> {
    let found = DRIVERS.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// An index below `end` that is small more often than large, as the ranks of words are.
    fn ranked(&mut self, end: usize) -> usize {
        let (a, b, c) = (self.below(end), self.below(end), self.below(end));
        a.min(b).min(c)
    }
}

/// Words of 1 to 4 syllables; the first are short, as frequent words are.
fn vocabulary(random: &mut Random, words: usize) -> Vec<String> {
    const STARTS: [&str; 16] = [
        "", "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "st", "tr",
    ];
    const CORES: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "io"];
    const ENDS: [&str; 12] = ["", "", "n", "r", "s", "t", "l", "nd", "st", "ng", "d", "m"];
    (0..words)
        .map(|rank| {
            let syllables = 1 + random.below(1 + (rank * 8 / words).min(3));
            let mut word = String::new();
            for _ in 0..syllables {
                word += STARTS[random.below(STARTS.len())];
                word += CORES[random.below(CORES.len())];
                word += ENDS[random.below(ENDS.len())];
            }
            word
        })
        .collect()
}

/// Text of `bytes` bytes: sentences in lines of up to 72 characters, with phrases that come again.
pub(super) fn text(bytes: usize) -> Vec<u8> {
    let mut random = Random(2005);
    let words = vocabulary(&mut random, 4000);
    let phrases: Vec<Vec<usize>> = (0..400)
        .map(|_| {
            (0..2 + random.below(5))
                .map(|_| random.ranked(words.len()))
                .collect()
        })
        .collect();
    let mut text = String::with_capacity(bytes + 256);
    let mut column = 0;
    while text.len() < bytes {
        let mut sentence: Vec<usize> = Vec::new();
        for _ in 0..2 + random.below(4) {
            if random.below(3) == 0 {
                sentence.extend(&phrases[random.ranked(phrases.len())]);
            } else {
                sentence.extend((0..3).map(|_| random.ranked(words.len())));
            }
        }
        for (at, &index) in sentence.iter().enumerate() {
            let mut word = words[index].clone();
            if at == 0 {
                word[..1].make_ascii_uppercase();
            } else if random.below(40) == 0 {
                word = random.below(10_000).to_string();
            }
            if at + 1 == sentence.len() {
                word += ".";
            } else if random.below(9) == 0 {
                word += ",";
            }
            if column + word.len() > 72 {
                text.push('\n');
                column = 0;
            } else if column > 0 {
                text.push(' ');
                column += 1;
            }
            text += &word;
            column += word.len();
        }
        if random.below(12) == 0 {
            text += "\n\n";
            column = 0;
        }
    }
    text.truncate(bytes);
    text.into_bytes()
}

/// A circuit in BLIF: each cell is a table of four inputs with a flip-flop behind it, fed by the
/// circuit's inputs and mostly by cells nearby, as logic is; one cell in eight leads outside.
pub(super) fn netlist(model: &str, cells: usize) -> Vec<u8> {
    const INPUTS: usize = 6;
    const OUTPUTS: usize = 12;
    let mut random = Random(384);
    let ports = |name: &str, count: usize| -> String {
        (0..count).map(|n| format!(" {name}{n}")).collect()
    };
    let mut text = format!(
        ".model {model}\n.inputs clk{}\n.outputs{}\n",
        ports("in", INPUTS),
        ports("out", OUTPUTS)
    );
    for cell in 0..cells {
        text += ".gate SB_LUT4";
        for pin in 0..4 {
            let net = match random.below(8) {
                0 => format!("in{}", random.below(INPUTS)),
                1 => format!("q{}", random.below(cells)),
                _ => format!(
                    "q{}",
                    (cell + cells - 1 - random.below(12.min(cells))) % cells
                ),
            };
            text += &format!(" I{pin}={net}");
        }
        let table = random.next() as u16;
        text += &format!(" O=d{cell}\n.param LUT_INIT {table:016b}\n");
        text += &format!(".gate SB_DFF C=clk D=d{cell} Q=q{cell}\n");
    }
    for output in 0..OUTPUTS {
        let (a, b) = (random.below(cells), random.below(cells));
        text += &format!(
            ".gate SB_LUT4 I0=q{a} I1=q{b} I2=in0 I3=in1 O=out{output}\n.param LUT_INIT {:016b}\n",
            random.next() as u16
        );
    }
    (text + ".end\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_inputs_are_the_same_everywhere() {
        let text = text(20_000);
        assert_eq!(text.len(), 20_000);
        let words: std::collections::HashSet<&[u8]> = text.split(|b| *b == b' ').collect();
        assert!(words.len() > 500, "{} words", words.len());
        assert!(super::text(100_000).starts_with(&text));
        let netlist = String::from_utf8(netlist("m", 50)).expect("text");
        assert_eq!(netlist.matches("SB_DFF").count(), 50);
        assert!(netlist.ends_with(".end\n"));
    }

    #[test]
    fn every_driver_of_the_folder_travels_in_the_library() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/suite/drivers");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder of drivers")
            .map(|entry| {
                entry
                    .expect("a file")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        there.sort();
        let known: Vec<&str> = DRIVERS.iter().map(|(name, _)| *name).collect();
        assert_eq!(there, known);
    }
}
