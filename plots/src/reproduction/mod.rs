//! The HPS paper's evaluation as one report: its figures, its claims, and what it left open.

mod figure6;
mod figure7;
mod page;
pub(crate) mod parts;
mod sweep;

use std::fs;
use std::path::{Path, PathBuf};

use hps_experiments::claims::{Claim, Section, claims};
use hps_experiments::{Outcome, Row, UnitRecord, answer_lines, answers, frames};

use crate::PlotError;
use crate::chapter::{Chapter, ChapterTable};
use crate::dataset::group;
use crate::figure::Figure;
use crate::figures::study_chapters;
use crate::html::ReportInfo;
use crate::page::class_of;
use crate::report::{ReportFiles, write_csv, write_pictures, write_whole};
use crate::table::one_line;

pub(crate) use page::Words;
use page::page;

/// Programs, machine and fingerprint of what was measured, for the page.
pub(crate) struct Conditions {
    programs: ChapterTable,
    machines: ChapterTable,
}

/// Draws everything that was measured and writes `report.html`, the CSV files `results.csv` (the
/// sweep), `measurements.csv` (all other numbers), `figure7.csv` and `claims.csv`, and
/// `figures/*.svg` and `figures/*.png` into `dir`. The page comes last.
///
/// # Errors
/// [`PlotError::NoRows`] if nothing was measured, [`PlotError::Write`] naming the file or folder
/// that could not be written, and the errors of drawing.
pub fn write_reproduction(
    dir: &Path,
    outcome: &Outcome,
    info: &ReportInfo,
) -> Result<ReportFiles, PlotError> {
    if outcome.rows.is_empty() && outcome.records.is_empty() {
        return Err(PlotError::NoRows);
    }
    fs::create_dir_all(dir).map_err(|e| PlotError::write(dir, e))?;
    let claims = claims(&outcome.rows, &outcome.records);
    let measurements = dir.join("measurements.csv");
    write_csv(&measurements, &frames::measurements(&outcome.records))?;
    let bars = hps_experiments::figure7::bars(&outcome.records);
    write_csv(&dir.join("figure7.csv"), &frames::bars(&bars))?;
    write_csv(&dir.join("claims.csv"), &frames::claims(&claims))?;
    write_csv(&dir.join("results.csv"), &frames::points(&outcome.rows))?;
    let report = ChapterReport {
        answered: &Answered {
            chapters: chapters(outcome, &claims)?,
            answers: answer_lines(&answers(&outcome.rows)),
            picture: "figure8-all",
        },
        claims: &claims,
        conditions: &conditions(&outcome.rows, &outcome.records),
        failures: &outcome.failures(),
        info,
        words: &page::HPS_2005,
    };
    report.write(dir, measurements)
}

/// The chapters of a report, and what it answers.
pub(crate) struct Answered {
    pub chapters: Vec<Chapter>,
    /// Of what, and the answer.
    pub answers: Vec<(String, String)>,
    /// How the name of the picture begins that shows them.
    pub picture: &'static str,
}

impl Answered {
    /// Chapters with answers that their first picture shows.
    pub fn new(chapters: Vec<Chapter>, answers: Vec<(String, String)>) -> Self {
        Answered {
            chapters,
            answers,
            picture: "",
        }
    }

    fn figures(&self) -> impl Iterator<Item = (&str, &Figure)> {
        let all = self.chapters.iter().flat_map(|chapter| &chapter.figures);
        all.map(|(name, figure)| (name.as_str(), figure))
    }

    /// The picture that shows the answers: the first one if none has the name.
    fn picture(&self) -> Option<(&str, &Figure)> {
        let mut named = self
            .figures()
            .filter(|(name, _)| name.starts_with(self.picture));
        named.next().or_else(|| self.figures().next())
    }
}

/// Writes the report of measurements: `measurements.csv`, `claims.csv` if they are held against claims, then the
/// pictures and the page of the `chapters`.
pub(crate) fn write_measured(
    dir: &Path,
    records: &[UnitRecord],
    claims: Option<&[Claim]>,
    (info, words): (&ReportInfo, &Words),
    chapters: impl FnOnce() -> Result<Answered, PlotError>,
) -> Result<ReportFiles, PlotError> {
    if records.is_empty() {
        return Err(PlotError::NoRows);
    }
    fs::create_dir_all(dir).map_err(|e| PlotError::write(dir, e))?;
    let csv = dir.join("measurements.csv");
    write_csv(&csv, &frames::measurements(records))?;
    if let Some(claims) = claims {
        write_csv(&dir.join("claims.csv"), &frames::claims(claims))?;
    }
    let failures = records.iter().filter_map(UnitRecord::failed_unit);
    let report = ChapterReport {
        answered: &chapters()?,
        claims: claims.unwrap_or_default(),
        conditions: &conditions(&[], records),
        failures: &failures.collect::<Vec<_>>(),
        info,
        words,
    };
    report.write(dir, csv)
}

/// A report of chapters.
pub(crate) struct ChapterReport<'a> {
    pub answered: &'a Answered,
    /// Claims that are tallied at the top.
    pub claims: &'a [Claim],
    pub conditions: &'a Conditions,
    pub failures: &'a [(String, &'a str)],
    pub info: &'a ReportInfo,
    pub words: &'a Words,
}

impl ChapterReport<'_> {
    /// Writes `figures/*.svg` and `figures/*.png` into `dir`, and `report.html` behind them. `csv` is the file that
    /// holds the numbers.
    pub fn write(&self, dir: &Path, csv: PathBuf) -> Result<ReportFiles, PlotError> {
        let folder = dir.join("figures");
        fs::create_dir_all(&folder).map_err(|e| PlotError::write(&folder, e))?;
        let drawn = self.answered.figures().collect::<Vec<_>>();
        let figures = write_pictures(&folder, &drawn)?;
        let page = page(self);
        let html = dir.join("report.html");
        write_whole(&html, page.as_bytes())?;
        Ok(ReportFiles { html, csv, figures })
    }
}

/// Claims as text for a terminal: a line or two each.
#[must_use]
pub fn text_of(all: &[Claim]) -> String {
    let mut text = String::new();
    let mut isa = "";
    for claim in all {
        if claim.isa != isa {
            isa = &claim.isa;
            text += &format!(
                "{}claims on {isa}\n",
                if text.is_empty() { "" } else { "\n" }
            );
        }
        text += &format!(
            "  [{}] {}\n      paper: {}; here: {}\n",
            claim.verdict,
            claim.claim,
            claim.paper,
            if claim.here.is_empty() {
                "–"
            } else {
                &claim.here
            }
        );
    }
    text
}

fn chapters(outcome: &Outcome, claims: &[Claim]) -> Result<Vec<Chapter>, PlotError> {
    let mut chapters = vec![claims_chapter(claims)];
    chapters.extend(figure6::chapter(&outcome.records));
    chapters.extend(figure7::chapter(&outcome.records, claims)?);
    let sets = group(&outcome.rows);
    chapters.extend(sweep::chapters(&sets, &outcome.rows)?);
    chapters.extend(study_chapters(&outcome.records)?);
    Ok(chapters)
}

fn claims_chapter(claims: &[Claim]) -> Chapter {
    Chapter {
        id: "claims".to_string(),
        title: "What the paper claims, and what is seen here".to_string(),
        text: vec![
            "Each verdict is computed from the numbers of this report by the rule beside it. A number agrees with a published \
             one within a quarter of it, unless the paper gives a range; what lies within its own interval of an end of that \
             band is a draw. Intervals are of the mean over phases of the schedule, the same phases for every program and \
             point: they speak of where bursts fall and not of other programs. The paper ran SPECint2000 on Alpha; \
             programs and machine here are others, so that a number that differs says little where the direction is the \
             same. What must hold of the lab itself stands apart, as checks."
                .to_string(),
        ],
        figures: Vec::new(),
        tables: tables_by_section(
            claims,
            &[
                (Section::Cost, "Cost"),
                (Section::Accuracy, "Accuracy and its price"),
                (Section::Check, "Checks of the lab"),
            ],
        ),
    }
}

/// The tables of claims of each of these sections, whose words stand in front of their titles.
pub(crate) fn tables_by_section(
    claims: &[Claim],
    sections: &[(Section, &str)],
) -> Vec<ChapterTable> {
    let of_section = |(section, what): &(Section, &str)| {
        let of = claims.iter().filter(|c| c.section == *section).cloned();
        let mut tables = claims_tables(&of.collect::<Vec<_>>());
        for table in &mut tables {
            table.title = format!("{what}: {}", table.title);
        }
        tables
    };
    sections.iter().flat_map(of_section).collect()
}

/// A table of claims for each instruction set.
pub(crate) fn claims_tables(claims: &[Claim]) -> Vec<ChapterTable> {
    let head = [
        "Claim",
        "Paper",
        "Here",
        "Verdict",
        "Rule of the verdict",
        "Refuted by",
    ];
    let mut isas: Vec<&str> = claims.iter().map(|c| c.isa.as_str()).collect();
    isas.dedup();
    let table = |isa: &&str| {
        let mut table = ChapterTable::new(&format!("On {isa}"), head.len(), &head);
        let of_isa = claims.iter().filter(|c| c.isa == **isa);
        table.rows = of_isa
            .map(|c| {
                let verdict = c.verdict.to_string();
                let here = if c.here.is_empty() { "–" } else { &c.here };
                [&c.claim, &c.paper, here, &verdict, &c.rule, &c.refuted_by]
                    .map(ToString::to_string)
                    .to_vec()
            })
            .collect();
        let of_isa = claims.iter().filter(|c| c.isa == **isa);
        table.classes = of_isa.map(|c| class_of(&c.verdict)).collect();
        table
    };
    isas.iter().map(table).collect()
}

/// The instruction sets of records, RISC-V first.
fn isas<'a>(isas: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = isas.collect();
    all.sort_by_key(|isa| (*isa != "riscv64", *isa));
    all.dedup();
    all
}

/// Conditions of the measurements: programs, and machines with their configurations and versions.
pub(crate) fn conditions(rows: &[Row], records: &[UnitRecord]) -> Conditions {
    let programs = |rows: &[Row], records: &[UnitRecord]| {
        let of_rows = rows
            .iter()
            .map(|r| [&r.program, &r.input, &r.isa, &r.program_hash].map(|s| one_line(s)));
        let of_records = records
            .iter()
            .map(|r| [&r.program, &r.input, &r.isa, &r.program_hash].map(|s| one_line(s)));
        let mut all: Vec<[String; 4]> = of_rows.chain(of_records).collect();
        all.sort();
        all.dedup();
        all
    };
    let mut table = ChapterTable::new("", 4, &["Program", "Input", "ISA", "SHA-256 of its image"]);
    let all = programs(rows, records);
    table.rows = all.into_iter().map(Vec::from).collect();
    let mut machines: Vec<[String; 3]> = (rows.iter())
        .map(|r| [&r.machine, &r.machine_fingerprint, &r.version].map(|s| one_line(s)))
        .chain(
            (records.iter())
                .map(|r| [&r.machine, &r.machine_fingerprint, &r.version].map(|s| one_line(s))),
        )
        .collect();
    machines.sort();
    machines.dedup();
    let head = ["Machine", "Fingerprint of its configuration", "Version"];
    let mut of_machines =
        ChapterTable::new("Machine, its configuration in full, and version", 3, &head);
    of_machines.folded = true;
    of_machines.rows = machines.into_iter().map(Vec::from).collect();
    Conditions {
        programs: table,
        machines: of_machines,
    }
}
