//! Texts that `hps shim … --help` shows below the options.

/// Examples of `hps shim`.
pub const SHIM: &str = "\
An observer thread on a CPU of its own reads a program's tags (what it is in) and counters, as often
as every few dozen cycles, without a stop of the program. Tags come from hps_shim.h (C, C++), from the
crate hps-shim-tags (Rust), or from -finstrument-functions with --preload. Needs two CPUs; works in
virtual machines without hardware counters.

Examples:
  hps doctor                                   what is there, what is missing and how to get it
  hps shim run --preload ./instrumented-program
  hps shim overhead --out overhead             what it costs here, with pictures
";

/// Examples of `hps shim run`.
pub const RUN: &str = "\
The program finds its tag region by the variable HPS_SHIM_REGION. Its output passes through; the
summary goes to standard error. The exit code is the program's; 2 if it could not be observed.

Examples:
  cc -g -finstrument-functions -o prog prog.c && hps shim run --preload ./prog
      Functions, sampled every 1,200 cycles or so.
  hps shim run --stacks --preload --export prog.speedscope.json ./prog
      Whole stacks: who called whom, total and own shares, a flame graph.
  hps shim run --preload --annotate work ./prog
      The instructions of a function beside its source lines.
  hps shim run --tally --period fast ./prog
      As fast as it can: tags alone.
  hps shim run --event instructions,cycles --placement smt --out report ./prog
      IPC from the other hardware thread of the same core, where its PMU counts whole cores (hps doctor).
  hps shim run --event task-clock,page-faults --allow-interrupts --period 50us ./prog
      Events that the kernel tells by interrupting the program, once for each sample.
  hps shim run --ring --keep prog.samples ./prog && hps shim analyze prog.samples
";

/// Examples of `hps shim simulate`.
pub const SIMULATE: &str = "\
The observer is a loop of instructions on a second context of the simulated machine. Productions let the
program, which knows nothing of it, write a tag at each call and return. A program that is compiled with
hps_shim.h can write its own (--own-tags); scripts/managed-runtimes.sh builds Lua and a JavaScript engine that
do. The lab knows what the program did between any two samples.

Examples:
  hps shim simulate --ipc lz small
      As fast as it can, on the program's core: what that costs, and what the samples are worth.
  hps shim simulate --placement cmp --sleep 5000 ./program
      From another core, a sample in 5,000 cycles or so.
  hps shim simulate --own-tags --ipc target/real-programs/mujs-tags workloads/managed/tasks.js
      Shares and IPC of the functions of a script, and how right they are.
  hps shim simulate --calls pairs-8k --sleep 10000 ./program
      Who calls whom, out of a ring that the program fills and the observer empties.
  hps reproduce shim-2015
      Periods and placements over all programs of the project.
";

/// Examples of `hps shim attach`.
pub const ATTACH: &str = "\
A program that was started with HPS_SHIM_REGION=self has a region that is found among its open files.

Examples:
  HPS_SHIM_REGION=self ./server &  hps shim attach --seconds 5 $!
";

/// Examples of `hps shim overhead`.
pub const OVERHEAD: &str = "\
Runs alone and observed alternate, and the order of periods changes from round to round; overheads are
of the program's time on its CPU, with 95% confidence intervals. The noise in the first line says how
much runs alone differ from each other: an overhead below it means nothing.

Examples:
  hps shim overhead --out overhead             the built-in program, tags alone
  hps shim overhead --period fast,1200,50us -- ./prog arg
  hps shim overhead --kept --out kept          with time stamps: the fraction that is kept
";

/// Examples of `hps shim microbench`.
pub const MICROBENCH: &str = "\
The producer writes one word, the consumer reads it; one of them waits, the other does not.

Examples:
  hps shim microbench --out micro
  hps shim microbench --waits 0,4,16,64 --rounds 5
";
