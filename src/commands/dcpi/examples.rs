//! Texts that `hps dcpi --help` shows below the options.

/// Examples of `hps dcpi`.
pub const DCPI: &str = "\
A probe samples the head of the issue queue at random intervals; with --charged interrupts do, and the
program pays. The database keeps one file for each object (program or library) and event, in epochs;
collections and processes add up, also at once.

Examples:
  hps dcpi collect --isa alpha --period 480..512 --event all minicc small
      Sample minicc on ev5 every 500 cycles or so, with all events, into dcpi-db.
  hps dcpi collect --isa alpha --charged --db paid minicc large
      The program pays: interrupts, and the handler with its hash table and buffers in guest code.
  hps dcpi report
      Samples by procedure; its --help shows all else that samples tell.
";

/// Examples of `hps dcpi report`.
pub const REPORT: &str = "\
Views have the names of DCPI's tools. `calc`, `summary`, `cfg` and `page` analyze: how often each instruction ran, how
many cycles it took, and what may have stalled it.

Examples:
  hps dcpi report
      Samples by procedure, as in the paper's figure 1 (--by-image: by image).
  hps dcpi report --as calc execute.constprop.0
      A procedure by instruction: frequency, cycles, and what may have stalled it (figure 2).
  hps dcpi report --as summary
      Where the cycles of the whole program go (figure 4).
  hps dcpi collect --new-epoch --isa alpha --period-seed 2 --period 480..512 minicc small
  hps dcpi report --as stats
      How the samples of procedures vary over epochs (figure 3).
  hps dcpi report --as diff --db before --db after
      The difference of two databases.
  hps dcpi report --as cfg execute.constprop.0 -o execute.dot
      The procedure's graph; `dot -Tsvg execute.dot` draws it.
  hps dcpi report --as page -o minicc.html
      All of it on a page.
  hps dcpi report --export pprof:minicc.pb.gz
      For other tools.
";
