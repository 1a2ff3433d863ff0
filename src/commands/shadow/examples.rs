//! Texts that `hps shadow --help` shows below the options.

/// Examples of `hps shadow`.
pub const SHADOW: &str = "\
A monitor forks shadows of the program: copies that run instrumented for a sample of instructions, on
processors of their own. `run` and `attach` fork real ones of a native program (x86-64 Linux); in the lab,
forks, page faults and signals are charged to the program with measured values.

Examples:
  hps shadow run --perfect gzip -c data
      Hot functions, calls and paths that shadows of a native program see, and how accurate they are.
  hps shadow attach --seconds 10 $(pidof server)
      The same of a process that runs already.
  hps shadow run --runs 10 --load 0.5 --length 1000000 gzip -c data
      What shadows cost, with 95% intervals.
  hps shadow simulate --load 1.0 --length 1000000 bwt large
      Paths, values, edges and calls that shadows see, beside the perfect ones, and what they cost.
  hps shadow simulate --end-to-end --length 100000 interp small
      Shadows one behind the other: they see the whole run.
  hps shadow simulate --shadows-on chip --core cycle --machine cmp-4 --length 100000 parse small
      Shadows on other cores of the chip: what the program pays for shared caches and buses, and copied pages.
  hps shadow policy paper > mine.ron
  hps shadow simulate --policy mine.ron --root data --load 2.0 --length 300000 ./program
      System calls of shadows treated as a file says.
  hps reproduce shadow-2007 --size large
      Loads and sample sizes over all programs of the project.
";
