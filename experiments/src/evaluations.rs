//! The evaluations that the lab repeats: what each of them shows, figure by figure, and what of it stands here.

use crate::evaluations::Here::{Judged, NotCovered, Shown};

/// State of one part of an evaluation in this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// A claim holds a number against it, with a verdict.
    Judged,
    /// The report shows it without a verdict.
    Shown,
    /// Nothing: why.
    NotCovered(&'static str),
}

/// A figure, a table, or a result of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which: `Figure 7(a)`.
    pub of: &'static str,
    /// Title of what it shows.
    pub shows: &'static str,
    /// State of it in this project.
    pub here: Here,
}

/// The evaluation of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The name that `hps reproduce` takes; none if no study repeats it.
    pub name: Option<&'static str>,
    /// Authors, title, where and when.
    pub paper: &'static str,
    /// Figures and tables that belong to it.
    pub parts: &'static [Part],
}

const fn part(of: &'static str, shows: &'static str, here: Here) -> Part {
    Part { of, shows, here }
}

const PICTURE: Here = NotCovered("a drawing of the system, without data");
const NO_STUDY: Here = NotCovered("no study measures it against the paper");

/// All of them.
pub const EVALUATIONS: &[Evaluation] = &[
    Evaluation {
        name: Some("hps-2005"),
        paper: "Mousa and Krintz, HPS: Hybrid Profiling Support, UCSB technical report 2005-08",
        parts: &[
            part("Figures 1 to 3", "the system and its stages", PICTURE),
            part(
                "Figures 4 and 5",
                "productions, as printed and corrected",
                NotCovered("tests run both, and show what goes wrong as printed"),
            ),
            part("Figure 6", "statistics of the benchmarks", Shown),
            part("Figure 7", "what collecting costs, by part", Judged),
            part(
                "Figure 8",
                "accuracy against overhead, means over programs",
                Judged,
            ),
            part("Figure 9", "the same of each program", Shown),
            part(
                "Figure 10",
                "accuracy by burst length and frequency",
                Judged,
            ),
        ],
    },
    Evaluation {
        name: None,
        paper: "Corliss, Lewis and Roth, DISE: A Programmable Macro Engine for Customizing Applications, ISCA 2003",
        parts: &[
            part(
                "fault isolation",
                "cost of checks before loads, stores and jumps, by engine and by rewriting",
                NotCovered(
                    "the engine runs such productions (hps run --productions); no study measures them",
                ),
            ),
            part(
                "decompression",
                "size and speed of programs whose common sequences are productions",
                NotCovered("no compressor makes such programs here"),
            ),
            part(
                "composition",
                "both at once, and what larger replacement tables gain",
                NotCovered(
                    "the study `tables` of hps-2005 varies table sizes, for HPS's productions",
                ),
            ),
        ],
    },
    Evaluation {
        name: Some("tip-2021"),
        paper: "Gottschall, Eeckhout and Jahre, TIP, MICRO 2021, with the errors of TEA, ISCA 2023",
        parts: &[
            part(
                "TIP, abstract",
                "mean errors of Software, Dispatch, LCI, NCI and TIP",
                Judged,
            ),
            part("TIP, abstract", "greatest errors of NCI and TIP", Judged),
            part("TEA, abstract", "mean errors of IBS, SPE and TEA", Judged),
            part(
                "TIP and TEA, evaluation",
                "errors by program, block and function",
                Shown,
            ),
            part(
                "TIP and TEA, hardware",
                "overhead and bits of hardware",
                NotCovered(
                    "the costs of records are this lab's (hps leaderboard); area and power are not modelled",
                ),
            ),
            part(
                "case studies",
                "what a right profile found in a program",
                NotCovered("Imagick runs on no machine of the lab"),
            ),
        ],
    },
    Evaluation {
        name: Some("dcpi-1997"),
        paper: "Anderson and others, Continuous Profiling: Where Have All the Cycles Gone?, SOSP 1997",
        parts: &[
            part("Figure 1", "procedures by samples (dcpiprof)", Judged),
            part(
                "Figure 2",
                "the copy loop, its stalls and their culprits (dcpicalc)",
                Judged,
            ),
            part("Figure 3", "variation between runs (dcpistats)", Judged),
            part(
                "Figure 4",
                "stalls by cause, static stalls, execution",
                Judged,
            ),
            part(
                "Figure 5",
                "the data that the system collects and keeps",
                PICTURE,
            ),
            part(
                "Figure 6",
                "run times in four configurations, several runs of each",
                NotCovered(
                    "runs of the lab repeat to the cycle; table 3 has the slowdown of three configurations",
                ),
            ),
            part(
                "Figure 7",
                "samples and the estimate for the copy loop",
                Judged,
            ),
            part("Figure 8", "frequencies beside the truth", Judged),
            part("Figure 9", "edges beside the truth", Judged),
            part(
                "Figure 10",
                "stalls of the instruction cache beside its misses",
                Judged,
            ),
            part("Table 1", "other systems", NotCovered("no measurement")),
            part(
                "Table 2",
                "the workloads and their times",
                NotCovered("SPEC95, AltaVista and the others are not run"),
            ),
            part("Table 3", "slowdown, by what is counted", Judged),
            part(
                "Table 4",
                "costs of the handler and of the hash table",
                Judged,
            ),
            part(
                "Table 5",
                "memory and disk of the daemon",
                NotCovered(
                    "the daemon has no memory of the simulated machine, and its disk grows with hours of use",
                ),
            ),
            part("section 5.4", "other shapes of the hash table", Judged),
            part("section 6.2", "one run and eighty", Judged),
            part("section 6.3", "stalls without a cause", Judged),
            part(
                "section 7",
                "edge samples by reading the sampled instruction or by a second interrupt",
                Judged,
            ),
        ],
    },
    Evaluation {
        name: Some("shadow-2007"),
        paper: "Moseley and others, Shadow Profiling: Hiding Instrumentation Costs with Parallelism, CGO 2007",
        parts: &[
            part("Figure 1", "the system", PICTURE),
            part(
                "Figure 2",
                "a chronology, and system calls over time",
                Shown,
            ),
            part(
                "Figure 3",
                "accuracy of paths, by load and sample size",
                Judged,
            ),
            part("Figure 4", "difference in invariance of values", Judged),
            part("Figure 5", "slowdown, by load and sample size", Judged),
            part("Figure 6", "added page faults", Judged),
            part(
                "Figure 7",
                "share of instructions that are instrumented",
                Judged,
            ),
            part(
                "section 6",
                "samples at phases, and ones that become rarer",
                Judged,
            ),
        ],
    },
    Evaluation {
        name: Some("shim-2015"),
        paper: "Yang, Blackburn and McKinley, Computer Performance Microscopy with SHIM, ISCA 2015",
        parts: &[
            part(
                "Figure 1(a)",
                "shares of the hottest methods at three periods",
                Judged,
            ),
            part(
                "Figure 1(b)",
                "instructions a cycle at three periods",
                Judged,
            ),
            part("Figure 1(c)", "instructions a cycle of methods", Judged),
            part("Figures 2 and 3", "the loop and its stamps", PICTURE),
            part(
                "Figures 4(a) and 4(b)",
                "samples before and after double-time error correction",
                Judged,
            ),
            part("Figure 4(c)", "how many it keeps", Judged),
            part("Figure 5", "periods, and gaps between good samples", Shown),
            part(
                "Figure 6",
                "the observer's own instructions a cycle",
                Judged,
            ),
            part(
                "Figure 7",
                "what one tag costs, from another core and on the same",
                Judged,
            ),
            part("Figure 8", "a writer and a reader of one word", Shown),
            part("Figure 9", "what they cost each other on two cores", Judged),
            part("Figure 10", "the same on one core", Shown),
            part("Figure 11", "what instructions a cycle cost", Judged),
            part(
                "Figure 12",
                "methods with instructions a cycle and misses",
                NO_STUDY,
            ),
            part("Figure 13", "counters that another core can read", Judged),
            part(
                "Figures 14 to 19",
                "clocks and prefetchers by phase",
                Judged,
            ),
            part("section 6.1", "hardware that the authors propose", Judged),
        ],
    },
    Evaluation {
        name: Some("callgraphs-2015"),
        paper: "Olsauskas-Warren, High Frequency Dynamic Profiling of Managed Runtimes with SHIM, ANU thesis 2015",
        parts: &[
            part(
                "Figures 3.1 and 3.4",
                "instructions a cycle by compiler",
                NotCovered("programs here have one compiler"),
            ),
            part("Figure 3.2", "what one tag costs", Judged),
            part(
                "Figure 3.3",
                "instructions a cycle by depth of the stack",
                Shown,
            ),
            part(
                "Table 3.1, Figures 3.5 to 3.7",
                "what calling contexts cost",
                Judged,
            ),
            part(
                "Table 4.1, Figures 4.1 to 4.4",
                "call graphs of a tag stack",
                Judged,
            ),
            part(
                "Table 4.2, Figures 4.5 and 4.6",
                "single calls and bursts of eight at a timer",
                Judged,
            ),
            part(
                "Figures 4.7 to 4.10",
                "direct observation of frames",
                NO_STUDY,
            ),
            part(
                "Figure 4.11",
                "accuracy by the share of calls that are seen",
                Judged,
            ),
            part(
                "Tables 4.3 and 4.4, Figures 4.12 to 4.19",
                "rings of calls and returns",
                Judged,
            ),
            part(
                "Figure 4.20",
                "calls whose caller a ring does not tell",
                Judged,
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::claims::{self, Claim};
    use crate::table::Table;
    use crate::{callgraphs, dcpi, shadow, shim, tip};

    #[test]
    fn each_evaluation_and_each_part_says_what_it_is() {
        let names: BTreeSet<_> = EVALUATIONS.iter().map(|e| (e.name, e.paper)).collect();
        assert_eq!(names.len(), 7);
        for evaluation in EVALUATIONS {
            for part in evaluation.parts {
                let why = match part.here {
                    NotCovered(why) => why,
                    Judged | Shown => "it is there",
                };
                assert!(part.of.len() > 5 && why.len() > 5, "{part:?}");
                // A part that no study repeats has neither claims nor a report.
                let is_there = !matches!(part.here, NotCovered(_));
                assert!(!is_there || evaluation.name.is_some(), "{part:?}");
            }
        }
    }

    /// The claims of a paper, of which nothing was measured.
    fn claims_of(name: &str) -> Vec<Claim> {
        let table = Table::of(&[], "riscv64");
        match name {
            "hps-2005" => claims::unmeasured("riscv64"),
            "tip-2021" => tip::claims(&tip::Data::of(&[], "riscv64", "hps-4wide", 1000), "riscv64"),
            "dcpi-1997" => dcpi::claims(&table, "riscv64"),
            "shadow-2007" => shadow::claims(&shadow::Data::of(&[], "riscv64", &[1, 2]), "riscv64"),
            "shim-2015" => shim::all_claims(&table, "riscv64"),
            "callgraphs-2015" => callgraphs::claims(&table, "riscv64"),
            other => panic!("{other} has no claims"),
        }
    }

    /// Citations in a text: words and numbers that name a figure, a table or a section, in lower case, as `figure
    /// 4(c)`.
    fn cited(text: &str) -> BTreeSet<String> {
        let text = text
            .to_lowercase()
            .replace("figures", "figure")
            .replace("tables", "table");
        let text = text.replace("sections", "section").replace([',', ';'], " ");
        let (mut kind, mut all) = ("", BTreeSet::new());
        for word in text.split_whitespace() {
            let word = word.trim_matches(['(', '.', '"']);
            match word {
                "figure" => kind = "figure",
                "table" => kind = "table",
                "section" => kind = "section",
                "abstract" | "abstract)" => drop(all.insert("abstract".to_string())),
                number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                    // A parenthesis that the number does not open closes the citation.
                    let open = number.matches('(').count();
                    let number = match number.matches(')').count() > open {
                        true => &number[..number.len() - 1],
                        false => number,
                    };
                    all.insert(format!("{kind} {number}"));
                }
                _ => {}
            }
        }
        all
    }

    #[test]
    fn what_is_said_to_be_judged_is_cited_by_a_claim_with_a_rule() {
        let all = EVALUATIONS.iter().filter_map(|e| Some((e.name?, e.parts)));
        for (name, parts) in all {
            let claims = claims_of(name);
            let judged = claims
                .iter()
                .filter(|claim| !claim.rule.starts_with("not covered"));
            let mut judged: BTreeSet<String> =
                judged.flat_map(|claim| cited(&claim.paper)).collect();
            // A claim about a part of a figure is one about the figure.
            let whole = |of: &String| Some(of.split_once('(')?.0.to_string());
            judged.extend(judged.iter().filter_map(whole).collect::<Vec<_>>());
            for part in parts.iter().filter(|part| part.here == Judged) {
                let wanted = cited(part.of);
                assert!(
                    !wanted.is_disjoint(&judged),
                    "{name}: {part:?} in {judged:?}"
                );
            }
        }
    }
}
