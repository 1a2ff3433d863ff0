//! The chapter of shadows on other contexts of the chip that runs their parent.

use hps_experiments::shadow::chip::{Part, SCHEME, SLOWDOWNS, setting};
use hps_experiments::shadow::{Data, ShadowStudy};

use super::short;
use crate::PlotError;
use crate::chapter::{Chapter, ChapterTable};
use crate::figures::stacked_bars;
use crate::measured::{Row, by_program, means, number};

/// Chapter of the causes of a parent's slowdown, on each machine; `None` if no shadows ran on a chip.
pub(super) fn chapter(isa: &str, data: &Data<'_>) -> Result<Option<Chapter>, PlotError> {
    let machines = data.chips();
    if machines.is_empty() {
        return Ok(None);
    }
    let mut chapter = Chapter {
        id: format!("chip-{isa}"),
        title: format!("Shadows on the chip of their parent: {isa}"),
        text: vec![
            format!(
                "Shadows run on other contexts of the chip that times the program, at load 1.0, with samples of {} \
                 instructions. The slowdown is measured against a run of the chip without shadows. The operating system is not \
                 executed: signals, forks and faults take the program's context for as long as keys say, but pages are copied \
                 by loads and stores. Nothing is translated. At slowdown 1 shadows compete most.",
                short(ShadowStudy::main_sample(&data.samples))
            ),
            "The parts of a bar sum to the slowdown. Signals, forks and faults that come while another one is served follow \
             it. The pictures scale them to the cycles in which the context was idle; the coincidence in the tables is what \
             it was idle besides, until its pipeline was full again."
                .to_string(),
        ],
        ..Chapter::default()
    };
    for machine in &machines {
        for slowdown in SLOWDOWNS {
            let of = (machine.as_str(), slowdown);
            if let Some(bars) = bars(data, of) {
                let figure = stacked_bars(
                    &format!(
                        "What slows the program down on {machine}, shadows at slowdown {slowdown:.0}"
                    ),
                    isa,
                    "Slowdown, % of the cycles of a run alone",
                    &bars,
                )?;
                let name = format!("{isa}-chip-{machine}-slowdown-{slowdown:.0}");
                chapter.figures.push((name, figure));
            }
            chapter.tables.push(table(data, of));
        }
    }
    Ok(Some(chapter))
}

/// A bar and its parts.
type Bar = (String, Vec<(String, f64)>);

/// A bar for each program: the operating system's cycles by what they were for, and what the program lost while it ran.
fn bars(data: &Data<'_>, (machine, slowdown): (&str, f64)) -> Option<Vec<Bar>> {
    let setting = setting(machine, slowdown);
    let of = |part: Part, program: &str| {
        let all = data.of_scheme(SCHEME, &setting, part.measure());
        all.get(program).copied()
    };
    let mut bars = Vec::new();
    for program in data.programs() {
        let served = [Part::Signals, Part::Forks, Part::Faults];
        let [signals, forks, faults] = served.map(|part| of(part, program));
        let (Some(signals), Some(forks), Some(faults)) = (signals, forks, faults) else {
            continue;
        };
        let sum = signals + forks + faults;
        let idle = sum + of(Part::Coincidence, program).unwrap_or(0.0);
        let scale = if sum > 0.0 {
            (idle / sum).max(0.0)
        } else {
            0.0
        };
        let shared = of(Part::Shared, program).unwrap_or(0.0).max(0.0);
        let parts = [
            (Part::Signals, signals * scale),
            (Part::Forks, forks * scale),
            (Part::Faults, faults * scale),
            (Part::Shared, shared),
        ];
        let percent = |(part, share): (Part, f64)| (part.title().to_string(), 100.0 * share);
        bars.push((program.to_string(), parts.map(percent).into()));
    }
    (!bars.is_empty()).then_some(bars)
}

const COLUMNS: [(&str, &str, f64); 17] = [
    ("Measured, %", "overhead_ratio", 100.0),
    ("By keys, %", "charged_ratio", 100.0),
    ("Signals", "signals_ratio", 100.0),
    ("Forks", "forks_ratio", 100.0),
    ("Faults", "faults_ratio", 100.0),
    ("Coincidence", "coincidence_ratio", 100.0),
    ("Shared", "shared_ratio", 100.0),
    ("Of these, other context", "sibling_ratio", 100.0),
    ("Shadows", "shadows", 1.0),
    ("By keys", "charged_shadows", 1.0),
    ("Pages copied", "copied_pages", 1.0),
    ("Found unshared", "reused_pages", 1.0),
    ("Cycles of a fault", "fault_cycles", 1.0),
    ("L1I misses, times", "l1i_misses_ratio", 1.0),
    ("L1D misses, times", "l1d_misses_ratio", 1.0),
    ("L2 misses, times", "l2_misses_ratio", 1.0),
    ("Unlike twins", "apart", 1.0),
];

fn table(data: &Data<'_>, (machine, slowdown): (&str, f64)) -> ChapterTable {
    let title = format!(
        "{machine}, shadows at slowdown {slowdown:.0}: slowdown of the program in %, by cause"
    );
    let setting = setting(machine, slowdown);
    let columns = COLUMNS.map(|(head, measure, factor)| {
        let column = number(head, measure, 1).times(factor);
        column.of(SCHEME).at(&*setting)
    });
    let mut shown = by_program(data.table(), &title, &data.programs(), &columns);
    let mean = means(
        data.table(),
        "",
        &["Program"],
        [Row::new(["mean"])],
        &columns,
    );
    shown.rows.extend(mean.rows);
    shown
}
