//! Tables of the measurements, for a person.

use super::{Bench, Means, OfIsa};
use crate::text::{Align, Table, grouped};

impl Means {
    pub(super) fn cells(&self) -> [String; 13] {
        let speed = |mips: Option<f64>| mips.map_or("-".to_string(), |mips| format!("{mips:.1}"));
        [
            speed(self.qemu_mips),
            speed(self.functional_mips),
            share(self.qemu_per_functional),
            speed(self.samplers_mips),
            share(self.qemu_per_samplers),
            speed(self.grid_mips),
            share(self.qemu_per_grid),
            speed(self.grid_threads_mips),
            share(self.qemu_per_grid_threads),
            speed(self.timed_mips),
            share(self.qemu_per_timed),
            speed(self.instruction_mips),
            share(self.qemu_per_instruction),
        ]
    }
}

impl Bench {
    pub(super) fn render(&self, qemu_left_out: bool) -> String {
        let mut out = String::new();
        for of_isa in &self.isas {
            out += &self.table(of_isa);
        }
        out += &format!(
            "\nMillion instructions a second on one thread, the fastest of {} runs; input size {}. `samplers`\n\
             is the functional machine with the paper's 20 sampling points of all profile types and the exhaustive\n\
             counts, `grid` the same with the hot data streams of the exhaustive trace, `grid, {}` that on {}\n\
             threads. `{}` is that machine simulated a cycle at a time, `by instruction` the same machine an\n\
             instruction at a time.\n",
            self.runs, self.size, self.threads, self.threads, self.machine
        );
        if let Some(reason) = &self.not_by_instruction {
            out += &format!(
                "{} cannot be timed by instruction: {reason}.\n",
                self.machine
            );
        }
        for of_isa in &self.isas {
            match &of_isa.qemu {
                Some(version) if self.size == "small" => {
                    out += &format!(
                        "{version}. Its time includes its start, which counts at this size (--size large).\n"
                    );
                }
                Some(version) => {
                    out += &format!(
                        "{version}. Its time includes its start, which is small beside the run.\n"
                    )
                }
                None if qemu_left_out => {}
                None => {
                    out += &format!(
                        "qemu-{} was not found, so there are no ratios (Debian package: qemu-user).\n",
                        of_isa.isa
                    );
                }
            }
        }
        for of_isa in &self.isas {
            out += &by_instruction(of_isa);
            out += &self.sampled(of_isa);
        }
        out + &self.side_by_side()
    }

    /// Sampled timing beside exact, if there was any.
    fn sampled(&self, of_isa: &OfIsa) -> String {
        if of_isa.programs.iter().all(|row| row.sampled_cpi.is_none()) {
            return String::new();
        }
        let mut table = Table::new(&[("program", Align::Left)]);
        for name in [
            "sampled",
            "times exact",
            "IPC",
            "sampled",
            "error, %",
            "interval, %",
        ] {
            table.column(name, Align::Right);
        }
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
        let speeds = |means: &Means| {
            [
                or_dash(means.sampled_mips.map(|mips| format!("{mips:.1}"))),
                or_dash(means.sampled_per_timed.map(|times| format!("{times:.1}"))),
            ]
        };
        for row in &of_isa.programs {
            let exact = row
                .cycles
                .map(|cycles| row.instructions as f64 / cycles as f64);
            let sampled = row.sampled_cpi.map(|cpi| 1.0 / cpi.mean);
            let error = sampled.zip(exact).map(|(s, e)| 100.0 * (s / e - 1.0));
            let half_width = row.sampled_cpi.map(|cpi| 100.0 * cpi.half_width / cpi.mean);
            let cells = [
                or_dash(exact.map(|ipc| format!("{ipc:.4}"))),
                or_dash(sampled.map(|ipc| format!("{ipc:.4}"))),
                or_dash(error.map(|error| format!("{error:+.2}"))),
                or_dash(half_width.map(|half| format!("± {half:.2}"))),
            ];
            let start = [row.program.to_string()].into_iter();
            table.row(start.chain(speeds(&row.means)).chain(cells));
        }
        let start = ["geometric mean".to_string()].into_iter();
        let rest = std::iter::repeat_n(String::new(), 4);
        table.row(start.chain(speeds(&of_isa.geometric_mean)).chain(rest));
        format!(
            "\n{}: sampled timing beside exact, million instructions a second and IPC; the interval is that of 95%\n{}",
            of_isa.isa,
            table.render()
        )
    }

    /// The name of the grid on several threads.
    fn grid_threads(&self) -> String {
        format!("grid, {}", self.threads)
    }

    fn table(&self, of_isa: &OfIsa) -> String {
        let mut table = Table::new(&[("program", Align::Left), ("instructions", Align::Right)]);
        let grid_threads = self.grid_threads();
        for name in [
            "QEMU",
            "functional",
            "of QEMU",
            "samplers",
            "of QEMU",
            "grid",
            "of QEMU",
            &grid_threads,
            "of QEMU",
            self.machine.as_str(),
            "of QEMU",
            "by instruction",
            "of QEMU",
        ] {
            table.column(name, Align::Right);
        }
        for row in &of_isa.programs {
            let start = [row.program.to_string(), grouped(row.instructions)];
            table.row(start.into_iter().chain(row.means.cells()));
        }
        let start = ["geometric mean".to_string(), String::new()];
        table.row(start.into_iter().chain(of_isa.geometric_mean.cells()));
        match self.isas.len() {
            1 => table.render(),
            _ => format!("{}\n{}\n", of_isa.isa, table.render()),
        }
    }

    /// The ratios to QEMU of all instruction sets, and each divided by that of the first one.
    fn side_by_side(&self) -> String {
        let [first, others @ ..] = self.isas.as_slice() else {
            return String::new();
        };
        if others.is_empty() {
            return String::new();
        }
        let mut table = Table::new(&[("program", Align::Left)]);
        let grid_threads = self.grid_threads();
        for mode in [
            "functional",
            "samplers",
            "grid",
            &grid_threads,
            self.machine.as_str(),
            "by instruction",
        ] {
            for of_isa in &self.isas {
                table.column(&format!("{mode}, {}", of_isa.isa), Align::Right);
            }
            for other in others {
                table.column(&format!("{}/{}", other.isa, first.isa), Align::Right);
            }
        }
        for (at, row) in first.programs.iter().enumerate() {
            let means = self.isas.iter().map(|of_isa| &of_isa.programs[at].means);
            let start = [row.program.to_string()];
            table.row(
                start
                    .into_iter()
                    .chain(compared(&means.collect::<Vec<_>>())),
            );
        }
        let means = self.isas.iter().map(|of_isa| &of_isa.geometric_mean);
        let start = ["geometric mean".to_string()];
        table.row(
            start
                .into_iter()
                .chain(compared(&means.collect::<Vec<_>>())),
        );
        format!(
            "\n{}\nOf QEMU's speed on the same binary, and how one instruction set's share compares with the other's.\n",
            table.render()
        )
    }
}

/// The instruction-driven core beside the cycle-driven one, if both ran.
fn by_instruction(of_isa: &OfIsa) -> String {
    if of_isa.geometric_mean.instruction_per_timed.is_none() {
        return String::new();
    }
    let mut table = Table::new(&[("program", Align::Left)]);
    for name in [
        "by instruction",
        "times by cycle",
        "IPC",
        "by instruction",
        "error, %",
    ] {
        table.column(name, Align::Right);
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
    let speeds = |means: &Means| {
        [
            or_dash(means.instruction_mips.map(|mips| format!("{mips:.1}"))),
            or_dash(
                means
                    .instruction_per_timed
                    .map(|times| format!("{times:.1}")),
            ),
        ]
    };
    for row in &of_isa.programs {
        let ipc =
            |cycles: Option<u64>| cycles.map(|cycles| row.instructions as f64 / cycles as f64);
        let (exact, driven) = (ipc(row.cycles), ipc(row.instruction_cycles));
        let error = driven.zip(exact).map(|(d, e)| 100.0 * (d / e - 1.0));
        let cells = [
            or_dash(exact.map(|ipc| format!("{ipc:.4}"))),
            or_dash(driven.map(|ipc| format!("{ipc:.4}"))),
            or_dash(error.map(|error| format!("{error:+.3}"))),
        ];
        let start = [row.program.to_string()].into_iter();
        table.row(start.chain(speeds(&row.means)).chain(cells));
    }
    let start = ["geometric mean".to_string()].into_iter();
    let rest = std::iter::repeat_n(String::new(), 3);
    table.row(start.chain(speeds(&of_isa.geometric_mean)).chain(rest));
    format!(
        "\n{}: timed by instruction beside by cycle, million instructions a second and IPC\n{}",
        of_isa.isa,
        table.render()
    )
}

/// The shares of QEMU's speed by mode and instruction set, and each but the first as a multiple of
/// the first.
fn compared(means: &[&Means]) -> Vec<String> {
    let modes: [fn(&Means) -> Option<f64>; 6] = [
        |m| m.qemu_per_functional,
        |m| m.qemu_per_samplers,
        |m| m.qemu_per_grid,
        |m| m.qemu_per_grid_threads,
        |m| m.qemu_per_timed,
        |m| m.qemu_per_instruction,
    ];
    let mut cells = Vec::new();
    for ratio in modes {
        let ratios: Vec<Option<f64>> = means.iter().map(|m| ratio(m)).collect();
        cells.extend(ratios.iter().map(|r| share(*r)));
        // The speed of a mode divided by that of the first mode: the speed of QEMU cancels.
        let multiple = |r: &Option<f64>| Some(ratios[0]? / (*r)?);
        let multiples = ratios[1..].iter().map(multiple);
        cells.extend(multiples.map(|m| m.map_or("-".to_string(), |m| format!("{m:.2}"))));
    }
    cells
}

/// A ratio of QEMU's speed to ours, as ours of QEMU's.
fn share(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_string(), |ratio| format!("1/{ratio:.1}"))
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    #[test]
    fn instruction_sets_are_compared_by_their_share_of_qemu() {
        let means = [Some(4.0), Some(5.0)].map(|timed| Means {
            qemu_per_timed: timed,
            qemu_per_grid: Some(10.0),
            qemu_per_instruction: Some(2.0),
            ..Means::default()
        });
        let cells = compared(&[&means[0], &means[1]]);
        let expected = [
            "-", "-", "-", "-", "-", "-", "1/10.0", "1/10.0", "1.00", "-", "-", "-", "1/4.0",
            "1/5.0", "0.80", "1/2.0", "1/2.0", "1.00",
        ];
        assert_eq!(cells, expected);
    }

    #[test]
    fn the_error_of_the_ipc_by_instruction_is_shown() {
        let row = |instruction_cycles: Option<u64>| {
            let seconds = [None, None, None, None, None, Some(2.0), Some(0.5), None];
            OfIsa {
                isa: "alpha",
                qemu: None,
                geometric_mean: Means::of(1_000_000, &seconds),
                programs: vec![Row {
                    program: "bwt",
                    instructions: 1_000_000,
                    cycles: Some(1_000_000),
                    instruction_cycles,
                    sampled_cpi: None,
                    seconds,
                    means: Means::of(1_000_000, &seconds),
                }],
            }
        };
        // More cycles are fewer instructions a cycle.
        let text = by_instruction(&row(Some(1_002_000)));
        assert!(text.contains("1.0000") && text.contains("0.9980"), "{text}");
        assert!(text.contains("-0.200") && text.contains("4.0"), "{text}");
        let mut alone = row(Some(1_002_000));
        alone.geometric_mean.instruction_per_timed = None;
        assert_eq!(by_instruction(&alone), "");
    }
}
