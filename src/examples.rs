//! Texts that `--help` shows below the options: examples of each command.

/// Examples of the whole.
pub const WHOLE: &str = "\
Examples:
  hps doctor                                   what this host has
  hps programs                                 the programs that come with the project
  hps run bwt small                            run one of them (--isa alpha: its Alpha image)
  hps run --machine hps-4wide --stats ray small
                                               time it, with its CPI stack
  hps profile bwt small                        where its time goes, exactly
  hps collect --kind call-pair --one-in 500 interp small
                                               what HPS collects, beside the truth
  hps leaderboard --out board                  all profilers by accuracy and cost
  hps sweep --size small --out results         the paper's grid, with a report
  hps reproduce hps-2005                       the paper's whole evaluation, claim by claim
";

/// Examples of `hps root`.
pub const ROOT: &str = "\
Packages are unpacked by mmdebstrap, without rights of root. DIR/hps-root.json, the lock file, names each package with its
version and digest. Its own SHA-256 stands in the results of runs under the root.

Examples:
  hps root make trixie --with python3,perl
      A Debian system for RISC-V with these packages: then `hps run --root trixie python3 -c 'print(1)'`.
  hps root make again --lock trixie/hps-root.json
      The same packages once more; the ones that the mirror no longer has in that version are named.
  hps root make image --from image.tar.gz
      A root from a tar of a file system; the folder of an OCI layout works too.
  hps root show trixie
      What it is made of.
  hps root check trixie
      What has changed since.
";

/// Examples of `hps cluster`.
pub const CLUSTER: &str = "\
sweep, reproduce and leaderboard can be done in parts: --plan writes what there is to do, --shard I/N does a part of it,
--merge joins what parts have done and reports, --status says how far it is, --retry tries failed pieces again. The
results are those of one run on one machine, byte for byte.

Examples:
  hps cluster slurm --out results sweep.ron
      Plan a sweep and write results/slurm: a job array, and a job that joins, reports, and submits again what is missing.
  hps cluster slurm --parts 40 --cpus 4 -- reproduce hps-2005 --suite --size large
      Any command that can be done in parts, in 40 parts of four processors.
  hps cluster merge all results-a results-b
      Join results that were made apart; what does not belong together is refused with the difference.
";

/// Examples of `hps run`.
pub const RUN: &str = "\
The program's output passes through untouched; what hps says goes to standard error. The exit code
is the program's, or 128 plus the number of the signal that would have killed it.

Examples:
  hps run bwt small
      Functionally: fast, no cycles.
  hps run --isa alpha bwt small
      The same program, compiled for Alpha.
  hps run --machine hps-4wide --stats --json=lz.json lz small
      Timed: cycles, IPC, the CPI stack, caches and predictors, as text and as JSON.
  hps run --machine hps-4wide --core instruction --stats bwt large
      Timed an instruction at a time: faster, with an IPC that differs a little (--core says how much). With productions, too.
  hps run --machine hps-4wide --sample --stats bwt large
      Only one unit in 200,000 instructions is timed: the IPC with its 95% confidence interval.
  hps run --machine hps-4wide --slices 8 --stats bwt small
      In slices that are timed side by side, with the error of joining them.
  hps run --machine hps-4wide --by-function --stats interp small
      Where the cycles go, by function.
  hps run --machine tiny-2wide --trace p.kanata --trace-cycles 10000..12000 chess small
      The pipeline in these cycles; open the file with Konata.
  hps run --productions hot_method --param burst=10 --param sparsity=990 --stats parse small
      With productions in the decode stage (the hot_* files bring the sampling framework along).
  hps run --asm --machine hps-4wide --stats loop.s
      Assembly text; hps analyze loop.s says what limits its loop.
  hps run ./my-program file.txt
      A file of the working folder, which the program sees as `/` and can only read.
  hps run --root trixie --writable=scratch python3 script.py
      A program of a root folder with its loader and libraries, looked up by the program's PATH; what it writes is kept
      aside and thrown away (--scratch DIR keeps it).
  hps run --machine hps-4wide --stats --skip 1000000 --until 500000 lz small
      Half a million instructions behind the first million, which run functionally (--from and --until take functions,
      too, and --between-markers what the program marks with workloads/include/hps_region.h; with
      --warm caches and predictors are not empty where it begins).
  hps run --root data --seed 7 ./my-program --input /file.txt
      A program of your own, whose files lie in `data` and stay as they are (see --writable).

--json alone prints statistics on standard output, behind what the program prints.
Statistics name among others instructions, cycles, ipc (both null without --machine; cycles also with
--sample, whose estimate is under sampling), host_seconds (the simulation alone), the machine with
every key, core_driven_by (cycle or instruction), cpi_stack (its slots sum to commit width times
cycles), core, memory and rates. instructions and ipc count the program's own instructions only.
";

/// Examples of `hps analyze`.
pub const ANALYZE: &str = "\
Bounds are the least cycles of an iteration that each resource alone would allow; the largest ones limit the loop, if
they come near what was measured, and otherwise what most cycles without a commit were lost to. Latencies run from
operands to results, those of stores to their address. The column `chain` says how many cycles of an iteration each
instruction adds to the chain that carries results from one iteration to the next; their sum is the chain's bound.

Examples:
  hps analyze loop.s
      Assembly text that runs the loop at least 16 times and ends.
  hps analyze --machine wide-8 --isa alpha loop.s
      On another machine, for another instruction set.
  hps analyze bwt small
      The hottest loop of the first instructions of a program.
";

/// Examples of `hps teach`.
pub const TEACH: &str = "\
The page runs the simulator itself in the browser, and needs no network and no server.

Examples:
  hps teach
      The page with its own example and ten lessons.
  hps teach --out lesson.html ./my-program --size 3
      With a program inside, which is given these arguments.
  hps teach loop.s
      With assembly text to be edited in the page.
  hps teach --serve 8000 ./large-program input.txt
      On http://127.0.0.1:8000/ until it is interrupted. The simulator runs in the command: programs of any size, which
      read files of this folder, and runs of 20,000,000 instructions instead of 2,000,000.
";

/// Examples of `hps profile`.
pub const PROFILE: &str = "\
The program runs on a machine under an exact oracle: each cycle belongs to the
instruction or instructions that the processor waited for. A cycle is computing (instructions commit),
stalled (the oldest one is not complete), flushed (behind a misprediction or the like) or drained (the
front-end delivers nothing). CPI is cycles by instruction committed. Nothing is sampled.

Examples:
  hps profile interp small
      Where the time goes: functions, lines, instructions, and what they wait for.
  hps profile --annotate string_quicksort --with tip,ibs,software bwt small
      The code of one function, and what three profilers would say of it.
  hps profile --with tip,nci --event l1d_miss --period 101 netsimplex small
      What they say if they sample one miss of the first-level cache in 101.
  hps profile --with interrupt --charged --period 20011 bwt small
      A software sampler at its cost: its handler runs, and the profile is of that run.
  hps profile --export flame.svg --export run.pb.gz --export callgrind.out.bwt bwt small
      A flame graph, and files for pprof and KCachegrind.
  hps profile --root trixie --export py.svg --frames interpreted python3 script.py
      Functions and lines of a Python script, and a flame graph of its functions alone.
  hps profile --timeline --machine wide-8 --isa alpha minicc small
      How the run goes over time, on another machine and instruction set.
";

/// Examples of `hps collect`.
pub const COLLECT: &str = "\
The DISE engine samples events of the program in bursts, and handlers in guest code count them; a functional run counts
all of them. With --machine both runs are timed.

Examples:
  hps collect --kind method interp small
      What HPS collects: hot methods, one event in 100 sampled, beside the exhaustive profile.
  hps collect --kind data-stream --burst 100 --one-in 1000 --machine hps-4wide netsimplex small
      Hot data streams and what their collection costs.
  hps collect --change 1000000:10:500 parse small
      From a million instructions on, bursts of 10, one event in 500.
";

/// Examples of `hps sweep`.
pub const SWEEP: &str = "\
Results are stored point by point; a sweep that was stopped goes on where it stopped when it is
started again with the same --out.

Examples:
  hps sweep
      The paper's grid over all programs, small inputs; overhead at the points of its Figure 8.
  hps sweep --program ray --program lz --all-timed --out two
      Two programs, the whole grid timed.
  hps sweep --isa riscv64 --isa alpha --out both
      The paper's grid on both instruction sets, with a table that puts them side by side.
  hps sweep --all-timed --core instruction --out faster
      The whole grid timed, machines simulated an instruction at a time.
  hps sweep --size large --all-timed --sample --out sampled
      The large inputs, the whole grid timed, by units of the runs: overheads with their interval.
  hps sweep --print-spec > mine.ron; hps sweep mine.ron
      A definition to change.
";

/// Examples of `hps results`.
pub const RESULTS: &str = "\
Tables have one row for each point, measurement, function, instruction or member, and columns with one unit each. The page
\"Tables of results\" of the documents has every column. Stores of earlier versions are read, too.

Examples:
  hps results convert hps-results --out points.parquet
      The points of a sweep for pandas, polars, DuckDB or R.
  hps results convert hps-results --rows machines
      Its machines, as CSV on standard output.
  hps results convert hps-leaderboard/units.jsonl --to json
      Every measurement of a leaderboard.
  hps profile --json=bwt.json bwt small; hps results convert bwt.json --rows instructions --out bwt.parquet
      Cycles of each instruction, with the name of its function.
";

/// Examples of `hps reproduce`.
pub const REPRODUCE: &str = "\
Writes DIR/report.html, which opens offline, with the paper's Figures 6 to 10, a table of its claims
(what it says, what is seen here, the verdict and its rule) and studies of what it left open; the same
numbers as CSV; each picture as SVG and PNG. The claims are printed, too.

Results are kept one by one: a run that was stopped, however, goes on where it stopped when it is
started again with the same --out, and so does one with more programs or fewer. What failed is named
in the report and runs again next time; the exit code is then 1.

Figure 7 is made of whole runs whose differences are the parts of its bars, so that they sum to the
measured whole to the cycle.

Examples:
  hps reproduce --list
      All evaluations, figure by figure, and what of each stands here.
  hps reproduce hps-2005
      All programs of the project, small inputs, RISC-V.
  hps reproduce hps-2005 --isa riscv64 --isa alpha --out both
      Both instruction sets, the claims held against each.
  hps reproduce hps-2005 --core instruction
      Timed an instruction at a time: in about half the time, and nearly the same cycles.
  hps reproduce shim-2015 --program lz,interp
      An observer beside two programs, each of its samples against the truth.
  hps reproduce callgraphs-2015 --program chess,objstore
      Who calls whom, as observers find it: accuracy against overhead.
  hps reproduce hps-2005 --only figure7 --program bwt,ray
      What collecting costs, and for what, with two programs.
  hps reproduce hps-2005 --program ./a.out --root data --out mine -- input.txt
      Every figure for a program of your own.
  hps reproduce hps-2005 --suite --size large --out suite
      The real programs that `hps programs build` built. Overnight.
  hps reproduce dcpi-1997 --isa alpha --isa riscv64
      DCPI's frequencies, edges and culprits on ev5 against exact counts and true causes.
  hps reproduce tip-2021
      What sampling policies get wrong, beside the published errors, and what explains the differences.
  hps reproduce tip-2021 --core instruction --size large --samples 1000000 --out tip-large
      With as many samples as the study took.
";

/// Examples of `hps leaderboard`.
pub const LEADERBOARD: &str = "\
Each profiler's error is 1 - overlap with the exact profile, at instruction, block, line and function
level. Profilers that watch only share one run and change no cycle of it; what they record, and
interrupts, cost nothing there. Those that cost cycles (HPS, plain DISE, software bursty tracing) have a
run of their own, and their error has two parts: the sampling error of the profile that they collect,
and the perturbation, by which that run's exact profile differs from the undisturbed run's.

Results are kept one by one: a run that was stopped goes on where it stopped when it is started again
with the same --out. Exit code 1: something failed.

Examples:
  hps leaderboard
      All profilers over the programs that come with the project, small inputs.
  hps leaderboard bwt ray --kind time --by-program
      Two programs; what watches only, by the number of samples, and the decisions that it gets right.
  hps leaderboard --budget 0.5%,1%
      All that cost cycles where they cost 0.45 to 0.5% and 0.9 to 1%, or why they cannot.
  hps leaderboard --kind time --compile --core instruction
      What each profile is worth to clang: cycles gained by programs that it compiles with it.
  hps leaderboard --list
      The profilers there are.
  hps leaderboard --with tip,nci,hps --machine wide-8 --json
      Three profilers on another machine, as JSON.
  hps leaderboard ./a.out --root data --out mine -- input.txt
      A program of your own.
";

/// Examples of `hps machine`.
pub const MACHINE: &str = "\
Examples:
  hps machine show
  hps machine show wide-8
  hps machine show hps-4wide --ron > mine.ron
      A whole machine to change; what a file leaves out comes from its `base`.
  hps machine check mine.ron
  hps machine keys
";

/// Examples of `hps dise`.
pub const DISE: &str = "\
Examples:
  hps dise list                                the files that come with the project
  hps dise list framework > mine.dise          one of them, to change
  hps dise check mine.dise
  hps dise check framework hot_method          files are loaded together, in this order
  hps dise explain hot_call_pair --program ray [--isa alpha]
";

/// Examples of `hps programs`.
pub const PROGRAMS: &str = "\
Examples:
  hps programs
  hps programs --measure                       the columns of the paper's Figure 6
  hps programs --extract ray=./ray             the executable, for QEMU or hardware
  hps programs --isa alpha --extract ray=./ray the one for Alpha
  hps programs build                           builds the suite of real programs (see its --help)
  hps programs --suite --measure --size large  Figure 6's columns for what is built
";

/// Examples of `hps programs build`.
pub const PROGRAMS_BUILD: &str = "\
Sources come from Debian (through apt-get, with lists of its own; the system is not changed) and from
the Cargo registry (through cargo), and each archive must have the SHA-256 that the manifest names.
Debian's cross compilers build them, statically against glibc. Then each program runs under QEMU and on
the functional machine, and both must print what the manifest says, on each instruction set.

What is there already is kept: a build that was stopped goes on where it stopped. What cannot be built
is listed with its reason, and the others go on. Exit code 1: something could not be built, or printed
something else.

Examples:
  hps programs build                           all, for both instruction sets
  hps programs build lua sqlite --isa alpha
  hps programs build --folder ./suite --jobs 1
  hps programs build --fetch                   only the sources
";

/// Examples of `hps dev`.
pub const DEV: &str = "\
Examples:
  hps dev bench --program bwt                  how fast each mode is, beside QEMU
  hps dev completions bash                     what a shell completes
  hps dev man ~/.local/share/man/man1          man pages of all commands
";

/// Examples of `hps dev bench`.
pub const BENCH: &str = "\
Every run's output is compared with the expected one. Nothing is subtracted: QEMU's time includes
its start, which counts for small inputs.

Examples:
  hps dev bench --size large --runs 1
  hps dev bench --program bwt --program ray --without grid --json=speed.json
  hps dev bench --isa riscv64 --isa alpha
      Both instruction sets, and their ratios to QEMU side by side.
  hps dev bench --counts --compare counts.json
      Host instructions for each instruction of the program, counted by valgrind: the same on a busy
      host. Fails where one is more than 5% above the record.
";

/// Examples of `hps validate`.
pub const VALIDATE: &str = "\
Builds a program of the project with the host's compiler (-finstrument-functions) and, where a cross
compiler is installed, for RISC-V or Alpha without inlining as well; runs the one under SHIM's observer
and the other in the simulator. Exit code 1: the two printed different things.

Examples:
  hps validate
      All programs: one table, and a line for each that says what agrees and what does not.
  hps validate bwt --runs 30 --top 40 --json=bwt.json
      One program, function by function.
  hps validate bwt --report bwt
      A page: time by function, call graphs, collectors of calls and distances of samples on both sides.
  hps validate --counters bwt lz --record records
      Instructions, branches and misses that this processor counts beside those of the simulated machine; and
      a record of them, which `hps validate --records records` shows beside those of other machines.
  hps validate bwt --isa alpha
      The same with the Alpha form in the simulator.
  hps validate --native ./bzip2 --riscv ./bzip2-riscv --root data -- -c -9 input
      A pair of your own; `data` is the folder in which the one starts, and the root of the other.
";
