//! What `hps dcpi --help` shows below the options.

/// Examples of `hps dcpi`.
pub const DCPI: &str = "\
A probe samples the head of the issue queue at random intervals; with --charged interrupts do, and the
program pays. The database keeps one file for each image and event, in epochs; collections add up, also
at once.

Examples:
  hps dcpi collect --isa alpha --period 480..512 --events all minicc small
      Sample minicc on ev5 every 500 cycles or so, with all events, into dcpi-db.
  hps dcpi collect --isa alpha --charged --db paid minicc large
      The program pays: interrupts, and the handler with its hash table and buffers in guest code.
  hps dcpi prof
      Samples by procedure, as in the paper's figure 1 (--by-image: by image).
  hps dcpi calc execute.constprop.0
      A procedure by instruction: frequency, cycles, and what may have stalled it (figure 2).
  hps dcpi calc --summary
      Where the cycles of the whole program go (figure 4).
  hps dcpi collect --new-epoch --isa alpha --period-seed 2 --period 480..512 minicc small
  hps dcpi stats dcpi-db
      How the samples of procedures vary over epochs (figure 3).
  hps dcpi cfg execute.constprop.0 -o execute.dot
      The procedure's graph; `dot -Tsvg execute.dot` draws it.
  hps dcpi export pprof:minicc.pb.gz
      For other tools.
";
