//! Batch scripts for Slurm: a job array of parts, and a job that joins them, reports, and submits again what failed or
//! is missing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hps_lab::host::{path_word, shell_word, shell_words};

use super::plan_file::PlanFile;
use super::{ClusterError, PLAN_FILE};

/// Folder of the scripts, in the folder of the run.
pub const FOLDER: &str = "slurm";

/// How a run is to be done on a cluster.
#[derive(Clone, Debug)]
pub struct Slurm {
    /// The `hps` command.
    pub hps: PathBuf,
    /// The working folder.
    pub here: PathBuf,
    /// The command's words behind `hps`, without the folder for results and without what is to be done.
    pub run: Vec<String>,
    /// Folder for results.
    pub folder: PathBuf,
    /// The words behind `hps` that write the scripts again.
    pub again: Vec<String>,
    /// How often what failed or is missing is submitted again.
    pub rounds: u32,
    /// Parts; `None`: as many as keep each within `hours`.
    pub parts: Option<usize>,
    /// Hours that a part should take, about.
    pub hours: f64,
    /// Tasks of an array, at most.
    pub chunk: usize,
    /// Tasks of an array that run at a time, at most.
    pub at_once: Option<u32>,
    /// Processors of a part.
    pub cpus: u32,
    /// The time limit, as a multiple of what the plan expects.
    pub slack: f64,
    /// A folder of each node in which parts work instead of the folder for results.
    pub scratch: Option<PathBuf>,
    /// Other options of `sbatch` for parts.
    pub options: Vec<String>,
}

/// Resources that the parts of a plan need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Number of parts.
    pub parts: usize,
    /// Time limit of each, in minutes.
    pub minutes: u64,
    /// Memory of each, in MiB.
    pub memory_mib: u64,
}

/// Memory of the lab beside the programs, in MiB.
const BASE_MIB: u64 = 512;
/// Memory for each processor beside the program's own: machine, samplers, grammars of data streams, in MiB.
const EACH_MIB: u64 = 768;
/// Minutes of a part that no plan knows: the queue's start, loading, the disk.
const BASE_MINUTES: f64 = 10.0;

impl Slurm {
    /// Resources that the parts of a plan need.
    #[must_use]
    pub fn needs(&self, plan: &PlanFile) -> Needs {
        let cpus = f64::from(self.cpus);
        let enough = (plan.head.seconds / cpus / 3600.0 / self.hours).ceil() as usize;
        let wanted = self.parts.unwrap_or(enough).clamp(1, plan.ids.len().max(1));
        let (dearest, parts) = plan.dearest(wanted);
        // A piece of work runs on one processor.
        let pieces = plan.loads.iter().map(|load| load.seconds);
        let seconds = (dearest / cpus).max(pieces.fold(0.0, f64::max));
        // A core may have a copy of the program's memory for each point of its family that it runs.
        let program_mib = plan.head.memory_bytes().div_ceil(1 << 20);
        Needs {
            parts: parts.max(1),
            minutes: (seconds * self.slack / 60.0 + BASE_MINUTES).ceil() as u64,
            memory_mib: program_mib
                .saturating_mul(4)
                .saturating_add(EACH_MIB)
                .saturating_mul(u64::from(self.cpus))
                .saturating_add(BASE_MIB),
        }
    }

    /// Writes the scripts for the plan that lies in the folder. Gives what parts need, and the script to be run.
    ///
    /// # Errors
    /// The plan cannot be read, or a script cannot be written.
    pub fn write(&self) -> Result<(Needs, PathBuf), ClusterError> {
        let plan = PlanFile::read(&self.folder.join(PLAN_FILE))?;
        let needs = self.needs(&plan);
        let folder = self.folder.join(FOLDER);
        let io = ClusterError::io(&folder);
        std::fs::create_dir_all(&folder).map_err(&io)?;
        let submit = folder.join("submit.sh");
        for (path, text) in [
            (folder.join("part.sh"), self.part(needs, &plan.head.plan)),
            (folder.join("collect.sh"), self.collect(plan.ids.len())),
            (submit.clone(), self.submit(needs, &folder)),
        ] {
            std::fs::write(&path, text).map_err(ClusterError::io(&path))?;
        }
        Ok((needs, submit))
    }

    /// The command with what is to be done, and results in `out`, both as words of the shell.
    fn command(&self, order: &str, out: &str) -> String {
        let mut words = self.run.iter();
        let name = words.next().map_or("sweep", String::as_str);
        let mut text = format!(
            "{} {} {order} --out {out}",
            path_word(&self.hps),
            shell_word(name)
        );
        words.for_each(|rest| text += &format!(" {}", shell_word(rest)));
        text
    }

    fn submit(&self, needs: Needs, folder: &Path) -> String {
        let mut text = format!(
            "#!/bin/sh\n\
             # Submits all parts, and the job that joins them. The argument counts how often that was done before.\n\
             set -eu\n\
             cd {}\n\
             jobs=\n",
            path_word(folder)
        );
        let at_once = self.at_once.map(|n| format!("%{n}")).unwrap_or_default();
        let mut first = 0;
        while first < needs.parts {
            let tasks = self.chunk.min(needs.parts - first);
            let _ = writeln!(
                text,
                "job=$(sbatch --parsable --array=1-{tasks}{at_once} part.sh {first}); jobs=$jobs:${{job%%;*}}"
            );
            first += tasks;
        }
        text += "sbatch --dependency=afterany$jobs collect.sh \"${1:-0}\"\n";
        text
    }

    /// The options of a job; `number` is what its log is named by.
    fn head(&self, what: &str, number: &str, minutes: u64, memory_mib: u64) -> String {
        format!(
            "#!/bin/bash\n\
             #SBATCH --job-name=hps-{what}\n\
             #SBATCH --chdir={}\n\
             #SBATCH --output={}/%x-{number}.log\n\
             #SBATCH --open-mode=append\n\
             #SBATCH --requeue\n\
             #SBATCH --time={minutes}\n\
             #SBATCH --mem={memory_mib}M\n",
            path_word(&self.here),
            path_word(&self.folder.join(FOLDER)),
        )
    }

    fn part(&self, needs: Needs, plan: &str) -> String {
        let mut text = self.head("part", "%A_%a", needs.minutes, needs.memory_mib);
        let _ = writeln!(text, "#SBATCH --cpus-per-task={}", self.cpus);
        for option in &self.options {
            let _ = writeln!(text, "#SBATCH {option}");
        }
        let of = needs.parts;
        let out = path_word(&self.folder);
        let _ = write!(
            text,
            "# The argument is the number of parts in the arrays before this one.\n\
             part=$(($1 + SLURM_ARRAY_TASK_ID))\n\
             export RAYON_NUM_THREADS={}\n",
            self.cpus
        );
        let order = format!("--shard \"$part/{of}\"");
        let Some(scratch) = &self.scratch else {
            // Finished pieces are on the disk: a signal may end it at any time.
            let _ = writeln!(text, "exec {}", self.command(&order, &out));
            return text;
        };
        let _ = write!(
            text,
            "out={out}\n\
             mine=parts/{plan}-$part-of-{of}\n\
             work=$(mktemp -d {}/hps.XXXXXX) || exit 2\n\
             for file in {PLAN_FILE} results.jsonl units.jsonl; do\n\
             \x20   [ ! -e \"$out/$file\" ] || cp \"$out/$file\" \"$work\"\n\
             done\n\
             mkdir -p \"$work/$mine\" \"$out/$mine\"\n\
             for file in \"$out/$mine\"/*.jsonl; do\n\
             \x20   [ ! -e \"$file\" ] || cp \"$file\" \"$work/$mine\"\n\
             done\n\
             # Whoever reads the results finds whole files.\n\
             save() {{\n\
             \x20   for file in \"$work/$mine\"/*.jsonl; do\n\
             \x20       [ -e \"$file\" ] || continue\n\
             \x20       cp \"$file\" \"$out/$mine/${{file##*/}}.new\" && mv \"$out/$mine/${{file##*/}}.new\" \"$out/$mine/${{file##*/}}\"\n\
             \x20   done\n\
             }}\n\
             trap 'kill \"$run\"' TERM\n\
             {} & run=$!\n\
             (while sleep 60; do save; done) & saver=$!\n\
             wait \"$run\"; code=$?\n\
             kill \"$saver\"; save; rm -rf \"$work\"\n\
             exit \"$code\"\n",
            path_word(scratch),
            self.command(&order, "\"$work\"")
        );
        text
    }

    fn collect(&self, pieces: usize) -> String {
        // Reports hold all results in memory.
        let memory_mib = 1024 + pieces as u64 / 64;
        let mut text = self.head("collect", "%j", 240, memory_mib);
        let _ = write!(
            text,
            "# The argument counts how often parts were submitted again.\n\
             {}\n\
             code=$?\n\
             # 1: something failed or is missing.\n\
             if [ \"$code\" != 1 ] || [ \"$1\" -ge {} ]; then exit \"$code\"; fi\n\
             {} {} && exec sh {} $(($1 + 1))\n",
            self.command("--merge", &path_word(&self.folder)),
            self.rounds,
            path_word(&self.hps),
            shell_words(&self.again),
            path_word(&self.folder.join(FOLDER).join("submit.sh")),
        );
        text
    }
}
