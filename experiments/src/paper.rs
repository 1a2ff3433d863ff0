//! Numbers printed in the HPS report, to stand beside those measured here.

/// A row of the paper's Figure 6.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperProgram {
    /// The name as the report prints it.
    pub name: &'static str,
    /// Methods.
    pub methods: u64,
    /// Static call operations.
    pub call_sites: u64,
    /// Pairs of call site and target.
    pub call_pairs: u64,
    /// Calls, in millions.
    pub calls_millions: f64,
    /// Branches, in millions.
    pub branches_millions: f64,
    /// Memory references, in millions.
    pub references_millions: f64,
    /// Instructions, in millions.
    pub instructions_millions: f64,
    /// Distinct addresses, in thousands.
    pub addresses_thousands: f64,
}

/// Counts of methods, call sites, call pairs.
type Static = (u64, u64, u64);
/// Millions of calls, branches, references, instructions, and thousands of addresses.
type Dynamic = (f64, f64, f64, f64, f64);

const fn row(name: &'static str, statics: Static, dynamics: Dynamic) -> PaperProgram {
    PaperProgram {
        name,
        methods: statics.0,
        call_sites: statics.1,
        call_pairs: statics.2,
        calls_millions: dynamics.0,
        branches_millions: dynamics.1,
        references_millions: dynamics.2,
        instructions_millions: dynamics.3,
        addresses_thousands: dynamics.4,
    }
}

/// The paper's Figure 6 as printed. (`vpr_place` has more branches than instructions there.)
pub const FIGURE_6: [PaperProgram; 14] = [
    row(
        "bzip2",
        (106, 245, 245),
        (44.6, 1006.0, 2119.0, 4546.0, 3209.0),
    ),
    row(
        "crafty",
        (165, 792, 792),
        (43.4, 496.0, 620.0, 2542.0, 404.0),
    ),
    row("eon.cook", (599, 2029, 2065), (1.9, 1.0, 36.0, 51.0, 31.0)),
    row(
        "eon.kajiya",
        (602, 2035, 2072),
        (9.2, 50.0, 187.0, 251.0, 31.0),
    ),
    row(
        "eon.rushmeier",
        (602, 2046, 2083),
        (2.7, 2.0, 54.0, 72.0, 31.0),
    ),
    row(
        "gap",
        (487, 1779, 2672),
        (18.8, 167.0, 223.0, 723.0, 17389.0),
    ),
    row(
        "gcc",
        (1234, 7565, 7671),
        (22.1, 317.0, 590.0, 1199.0, 815.0),
    ),
    row("gzip", (113, 218, 218), (25.5, 351.0, 775.0, 1531.0, 690.0)),
    row("mcf", (113, 215, 215), (5.3, 44.0, 85.0, 203.0, 69.0)),
    row(
        "parser",
        (338, 1149, 1151),
        (82.0, 690.0, 922.0, 2798.0, 1387.0),
    ),
    row(
        "perlbnk",
        (719, 3138, 3338),
        (5.1, 48.0, 79.0, 178.0, 2728.0),
    ),
    row("twolf", (234, 1047, 1047), (2.7, 29.0, 61.0, 165.0, 25.0)),
    row(
        "vpr_place",
        (180, 627, 627),
        (13.9, 1647.0, 437.0, 897.0, 35.0),
    ),
    row(
        "vpr_route",
        (264, 1054, 1054),
        (6.0, 77.0, 196.0, 469.0, 435.0),
    ),
];

/// The rows of Figure 6 for which a program stands: `stands_for` names SPEC programs, as
/// `253.perlbmk, 254.gap`.
#[must_use]
pub fn rows_for(stands_for: &str) -> Vec<&'static PaperProgram> {
    let names = stands_for.split(',').map(|name| {
        let name = name.trim();
        name.split_once('.').map_or(name, |(_, base)| base)
    });
    let wanted: Vec<&str> = names
        // The paper prints it so.
        .map(|name| if name == "perlbmk" { "perlbnk" } else { name })
        .collect();
    let is_wanted = |row: &&PaperProgram| {
        let base = row.name.split(['.', '_']).next().unwrap_or(row.name);
        wanted.contains(&base)
    };
    FIGURE_6.iter().filter(is_wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_find_the_rows_that_they_stand_for() {
        let names =
            |stands_for| -> Vec<&str> { rows_for(stands_for).iter().map(|r| r.name).collect() };
        assert_eq!(names("256.bzip2"), ["bzip2"]);
        assert_eq!(names("253.perlbmk, 254.gap"), ["gap", "perlbnk"]);
        assert_eq!(
            names("175.vpr, 300.twolf"),
            ["twolf", "vpr_place", "vpr_route"]
        );
        assert_eq!(names("252.eon").len(), 3);
        assert!(names("").is_empty() && names("255.vortex").is_empty());
        // Of the project's own programs only the one for vortex has no row: the paper prints none.
        let without: Vec<&str> = hps_workloads::all()
            .iter()
            .filter(|w| rows_for(w.stands_for).is_empty())
            .map(|w| w.name)
            .collect();
        assert_eq!(without, ["objstore"]);
    }
}
