//! The plan as a file: what there is to do, what each piece costs, and what all of it belongs to.
//!
//! `plan.jsonl` begins with a line about the whole ([`Head`]); each line behind it is a piece. All lines carry
//! checksums, like those of stores.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use hps_lab::{Program, VERSION};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::ClusterError;
use super::agenda::{Agenda, Piece};
use super::belongs::Belongs;
use super::cost::{self, Size};
use super::cut::{self, Load};
use crate::plan::hexadecimal;
use crate::store::{Lines, Origin, line};

/// The plan's name in the folder of a run.
pub const FILE: &str = "plan.jsonl";

/// The head of a plan: what holds for all its pieces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Made from the ids of all pieces (SHA-256, the first 12 digits): parts of different plans lie in different folders.
    pub plan: String,
    /// Version of the lab that made it.
    pub version: String,
    /// Pieces of work.
    pub pieces: usize,
    /// Seconds of one processor of the host that made the plan, shared work once.
    pub seconds: f64,
    /// How many times slower that host is than the one whose speeds are known.
    pub slower: f64,
    /// The programs.
    pub programs: Vec<PlannedProgram>,
    /// Names of machines with their descriptions in RON, which leave the name out.
    pub machines: Vec<(String, String)>,
    /// Seconds of what several pieces need.
    pub shared: Vec<f64>,
}

/// A program of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedProgram {
    /// Name.
    pub name: String,
    /// Instruction set.
    pub isa: String,
    /// Input of the program.
    pub input: String,
    /// SHA-256 of its image.
    pub hash: String,
    /// How long it is.
    pub size: Size,
}

/// A piece of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Id of its record.
    pub id: Box<str>,
    /// Seconds of one processor.
    pub seconds: f64,
    /// Indices into [`Head::shared`].
    pub needs: [Option<u32>; 2],
    /// Name of the piece, for people.
    pub name: Box<str>,
}

/// A plan that was read: its head, and the ids of its pieces with their costs.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// Head: the plan as a whole.
    pub head: Head,
    /// Ids of the pieces.
    pub ids: Vec<Box<str>>,
    /// Cost of each piece.
    pub loads: Vec<Load>,
}

/// A part of a plan: one of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl std::str::FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Part, String> {
        let numbers = text.split_once('/');
        let parsed = numbers.and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((_, of)) if of > Part::MOST => Err(format!("there can be {} parts", Part::MOST)),
            Some((number, of)) if (1..=of).contains(&number) => Ok(Part { number, of }),
            _ => Err("write I/N, the part and how many there are, such as 3/8".to_string()),
        }
    }
}

impl Part {
    /// Most parts that a plan can be cut into.
    pub const MOST: usize = 1_000_000;

    /// Name of its folder.
    pub(super) fn folder(self, plan: &str) -> String {
        format!("{plan}-{}-of-{}", self.number, self.of)
    }

    /// Plan and part named by a part's folder.
    pub(super) fn of_folder(name: &str) -> Option<(&str, Part)> {
        let (plan, part) = name.split_once('-')?;
        let (number, of) = part.split_once("-of-")?;
        let part = format!("{number}/{of}").parse().ok()?;
        Some((plan, part))
    }
}

/// Writes the plan of what an agenda has open. Counts the instructions of the programs.
pub(super) fn write(agenda: &Agenda, path: &Path) -> Result<Head, ClusterError> {
    write_sized(agenda, path, cost::sizes)
}

/// Writes the plan; `sizes` says how long programs are, and how much slower this host is.
pub(super) fn write_sized(
    agenda: &Agenda,
    path: &Path,
    sizes: impl Fn(&[&Program]) -> (Vec<Size>, f64),
) -> Result<Head, ClusterError> {
    let mut needed = vec![false; agenda.programs.len()];
    let mut digest = Sha256::new();
    for piece in agenda.open() {
        needed[piece.program as usize] = true;
        digest.update(piece.id.as_bytes());
    }
    let wanted: Vec<usize> = (0..needed.len()).filter(|at| needed[*at]).collect();
    let programs: Vec<_> = wanted.iter().map(|at| &agenda.programs[*at]).collect();
    let (counted, slower) = sizes(&programs);
    let mut by_program = vec![None; needed.len()];
    for (at, size) in wanted.iter().zip(counted) {
        by_program[*at] = Some(size);
    }
    let seconds = |program: u32, nanoseconds: f64, first: Option<(u64, f64)>| {
        let size: Option<Size> = by_program[program as usize];
        let instructions = size.map_or(0, |size| size.instructions);
        let of_first = first.map_or(0.0, |(n, each)| instructions.min(n) as f64 * each);
        // Microseconds are enough, and take few digits.
        let sum = (instructions as f64 * nanoseconds + of_first) * slower;
        (sum / 1e3).round() / 1e6
    };
    let of_shared = |s: &super::agenda::Shared| seconds(s.program, s.nanoseconds, None);
    let shared: Vec<f64> = agenda.shared.iter().map(of_shared).collect();
    let of_piece = |p: &Piece| seconds(p.program, p.nanoseconds, p.first);
    let mut used = vec![false; shared.len()];
    let mut sum = 0.0;
    for piece in agenda.open() {
        sum += of_piece(piece);
        for need in piece.needs.iter().flatten() {
            if !std::mem::replace(&mut used[*need as usize], true) {
                sum += shared[*need as usize];
            }
        }
    }
    let planned = |(at, size): (&usize, Size)| {
        let program = &agenda.programs[*at];
        PlannedProgram {
            name: program.name.clone(),
            isa: program.image.isa.name().to_string(),
            input: program.input.clone(),
            hash: program.image.hash.clone(),
            size,
        }
    };
    let of_wanted = wanted.iter().filter_map(|at| Some((at, by_program[*at]?)));
    let head = Head {
        plan: hexadecimal(&digest.finalize()[..6]),
        version: VERSION.to_string(),
        pieces: agenda.open().count(),
        seconds: sum,
        slower,
        programs: of_wanted.map(planned).collect(),
        machines: agenda.machines.clone(),
        shared,
    };
    let io = ClusterError::io(path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(&io)?;
    }
    // Parts that read the plan find a whole one.
    let beside = path.with_extension("new");
    let mut out = BufWriter::new(File::create(&beside).map_err(&io)?);
    let mut put = |line: Result<String, serde_json::Error>| {
        let line = line.map_err(std::io::Error::other)?;
        out.write_all(line.as_bytes())
    };
    put(line::encode(&head)).map_err(&io)?;
    for piece in agenda.open() {
        let planned = Planned {
            id: piece.id.clone(),
            seconds: of_piece(piece),
            needs: piece.needs,
            name: piece.name.clone(),
        };
        put(line::encode(&planned)).map_err(&io)?;
    }
    out.flush().map_err(&io)?;
    std::fs::rename(&beside, path).map_err(&io)?;
    Ok(head)
}

impl PlanFile {
    /// Reads a plan.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn read(path: &Path) -> Result<PlanFile, ClusterError> {
        if !path.exists() {
            return Err(ClusterError::NoPlan {
                path: path.to_path_buf(),
            });
        }
        let mut lines = Lines::open(path)?;
        let cut_off = || ClusterError::CutOff {
            path: path.to_path_buf(),
        };
        lines.next()?.ok_or_else(cut_off)?;
        let wrong = |line, problem: String| ClusterError::Forged {
            path: path.to_path_buf(),
            line,
            problem,
        };
        let head: Head = lines.decode()?;
        head.check().map_err(|problem| wrong(1, problem))?;
        let mut ids = Vec::new();
        let mut loads = Vec::new();
        while lines.next()?.is_some() {
            let piece: Planned = lines.decode()?;
            let problem = piece.check(head.shared.len());
            problem.map_err(|problem| wrong(lines.number(), problem))?;
            ids.push(piece.id);
            loads.push(Load {
                seconds: piece.seconds,
                needs: piece.needs,
            });
        }
        if ids.len() != head.pieces {
            return Err(cut_off());
        }
        Ok(PlanFile { head, ids, loads })
    }

    /// Refuses a plan that is not one of this run, with the difference.
    pub(super) fn check(&self, agenda: &Agenda, path: &Path) -> Result<(), ClusterError> {
        let mut belongs = Belongs::default();
        for origin in self.head.origins() {
            belongs.check(origin, path, 1)?;
        }
        for program in &agenda.programs {
            for (machine, text) in &agenda.machines {
                let origin = Origin {
                    version: VERSION,
                    program: &program.name,
                    isa: program.image.isa.name(),
                    input: &program.input,
                    program_hash: &program.image.hash,
                    machine,
                    machine_text: text,
                };
                belongs.check(origin, Path::new("this command"), 0)?;
            }
        }
        let known: HashSet<&str> = agenda.pieces.iter().map(|p| &*p.id).collect();
        let other = self.ids.iter().filter(|id| !known.contains(&***id)).count();
        match other {
            0 => Ok(()),
            pieces => Err(ClusterError::OtherPlan {
                path: path.to_path_buf(),
                pieces,
                of: self.ids.len(),
            }),
        }
    }

    /// The pieces of a part.
    #[must_use]
    pub fn part(&self, part: Part) -> std::ops::Range<usize> {
        let ranges = cut::cut(&self.loads, &self.head.shared, part.of);
        ranges.into_iter().nth(part.number - 1).unwrap_or(0..0)
    }

    /// Pieces of each of so many parts.
    pub(super) fn sizes(&self, parts: usize) -> Vec<usize> {
        let ranges = cut::cut(&self.loads, &self.head.shared, parts);
        ranges.iter().map(ExactSizeIterator::len).collect()
    }

    /// Seconds of the dearest of so many parts, and the number of parts that have something to do.
    #[must_use]
    pub fn dearest(&self, parts: usize) -> (f64, usize) {
        let ranges = cut::cut(&self.loads, &self.head.shared, parts);
        let seconds = ranges
            .iter()
            .map(|r| cut::seconds(&self.loads[r.clone()], &self.head.shared));
        let used = ranges.iter().filter(|r| !r.is_empty()).count();
        (seconds.fold(0.0, f64::max), used)
    }
}

/// Most seconds that a plan may say of a piece of work: 30,000 years. Sums of more pieces than a disk holds stay finite.
const MOST_SECONDS: f64 = 1e12;

fn check_seconds(seconds: f64) -> Result<(), String> {
    match (0.0..=MOST_SECONDS).contains(&seconds) {
        true => Ok(()),
        false => Err(format!("{seconds} is no number of seconds")),
    }
}

impl Planned {
    /// Says what no plan that the lab writes has; `shared` is the number of works that pieces share.
    fn check(&self, shared: usize) -> Result<(), String> {
        check_seconds(self.seconds)?;
        match self
            .needs
            .iter()
            .flatten()
            .find(|need| **need as usize >= shared)
        {
            None => Ok(()),
            Some(need) => Err(format!("it needs shared work {need} of {shared}")),
        }
    }
}

impl Head {
    /// Says what no plan that the lab writes has. The plan's name becomes part of paths and of scripts.
    fn check(&self) -> Result<(), String> {
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if self.plan.len() != 12 || !self.plan.chars().all(is_digit) {
            return Err(format!(
                "the plan's id {:?} is not 12 hexadecimal digits",
                self.plan
            ));
        }
        let all = [self.seconds, self.slower];
        let mut all = all.iter().chain(&self.shared);
        all.try_for_each(|seconds| check_seconds(*seconds))
    }

    fn origins(&self) -> impl Iterator<Item = Origin<'_>> {
        let programs = self.programs.iter();
        programs.flat_map(move |program| {
            self.machines.iter().map(move |(machine, text)| Origin {
                version: &self.version,
                program: &program.name,
                isa: &program.isa,
                input: &program.input,
                program_hash: &program.hash,
                machine,
                machine_text: text,
            })
        })
    }

    /// Most guest memory that one of the programs writes, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let sizes = self.programs.iter().map(|p| p.size.memory_bytes);
        sizes.max().unwrap_or(0)
    }
}
