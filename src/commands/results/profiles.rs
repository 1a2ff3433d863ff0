//! Tables of profiles: functions and instructions of an exact profile, members of a profile file.
//!
//! Profiles count equal parts of a cycle. The tables have cycles, and shares of all cycles.

use anyhow::{Context, bail};
use hps_frames::{Column, Frame, Schema, Table, Unit, count, flag, made, real, text};
use hps_profile::AnyProfileDocument;
use serde_json::{Value, json};

/// A function or an instruction of an exact profile.
struct Place<'a> {
    profile: &'a Value,
    place: &'a Value,
    units_per_cycle: f64,
    cycles: f64,
}

impl<'a> Place<'a> {
    /// The elements of a list of an exact profile, or of the profiles of all programs of a run.
    fn all(profile: &'a Value, list: &str) -> Vec<Place<'a>> {
        match profile["programs"].as_array() {
            None => Place::of_program(profile, list),
            Some(programs) => {
                let each = programs.iter();
                each.flat_map(|one| Place::of_program(&one["profile"], list))
                    .collect()
            }
        }
    }

    /// The elements of a list of the exact profile of one program.
    fn of_program(profile: &'a Value, list: &str) -> Vec<Place<'a>> {
        let number = |key: &str| profile[key].as_f64().unwrap_or(1.0);
        let (units_per_cycle, cycles) = (number("units_per_cycle"), number("cycles"));
        let places = profile[list].as_array().map_or(&[][..], Vec::as_slice);
        let place = |place| Place {
            profile,
            place,
            units_per_cycle,
            cycles,
        };
        places.iter().map(place).collect()
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.place.get(key)?.as_str()
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.place.get(key)?.as_u64()
    }

    fn program(&self) -> Option<&str> {
        self.profile.get("program")?.as_str()
    }

    /// The address that the object's file says.
    fn offset(&self) -> Option<String> {
        let name = self.text("object")?;
        let objects = self.profile["objects"].as_array()?;
        let object = objects.iter().find(|object| object["name"] == name)?;
        let bias = number_of(object["load_bias"].as_str()?)?;
        let address = number_of(self.text("pc")?)?;
        Some(format!("{:#x}", address.wrapping_sub(bias)))
    }

    /// Units as cycles.
    fn in_cycles(&self, units: &Value) -> Option<f64> {
        Some(units.as_u64()? as f64 / self.units_per_cycle)
    }

    fn own(&self) -> Option<f64> {
        self.in_cycles(&self.place["own"]["units"])
    }

    fn inclusive(&self) -> Option<f64> {
        self.in_cycles(&self.place["inclusive_units"])
    }

    fn share(&self, cycles: Option<f64>) -> Option<f64> {
        Some(cycles? / self.cycles)
    }

    /// Own cycles in a state, of all its causes.
    fn in_state(&self, state: &str) -> Option<f64> {
        let spent = self.place["own"]["spent"].as_object()?;
        let is_of_state = |label: &str| label.split(':').next() == Some(state);
        let of_state = spent.iter().filter(|(label, _)| is_of_state(label));
        let units: u64 = of_state.filter_map(|(_, units)| units.as_u64()).sum();
        Some(units as f64 / self.units_per_cycle)
    }
}

/// Columns about own time.
fn own_time<'a>() -> [Column<Place<'a>>; 6] {
    [
        real(
            "own_cycles",
            Unit::Cycles,
            "its own cycles; instructions that commit together share a cycle",
            Place::own,
        ),
        real(
            "own_share",
            Unit::Share,
            "`own_cycles` of all cycles with an owner",
            |p| p.share(p.own()),
        ),
        real(
            "computing_cycles",
            Unit::Cycles,
            "own cycles in the [state](exact.md#states) `computing`",
            |p| p.in_state("computing"),
        ),
        real(
            "stalled_cycles",
            Unit::Cycles,
            "own cycles in the state `stalled`",
            |p| p.in_state("stalled"),
        ),
        real(
            "flushed_cycles",
            Unit::Cycles,
            "own cycles in the state `flushed`",
            |p| p.in_state("flushed"),
        ),
        real(
            "drained_cycles",
            Unit::Cycles,
            "own cycles in the state `drained`",
            |p| p.in_state("drained"),
        ),
    ]
}

/// The column of the program's number.
fn process<'a>() -> Column<Place<'a>> {
    count(
        "process",
        Unit::Number,
        "number of the program in the run, as in `hps profile --process`",
        |p| p.profile.get("process")?.as_u64(),
    )
}

/// Functions of an exact profile, in its order.
pub fn functions(profile: &Value) -> Frame {
    let mut columns: Vec<Column<Place<'_>>> = vec![
        text("program", Unit::Text, "the program", Place::program),
        text("name", Unit::Text, "name of the function", |p| {
            p.text("name")
        }),
        text(
            "object",
            Unit::Text,
            "path of the file that holds it, as the program sees it",
            |p| p.text("object"),
        ),
        text("file", Unit::Text, "its source file", |p| p.text("file")),
        text("entry", Unit::Address, "where it begins", |p| {
            p.text("entry")
        }),
        count(
            "calls",
            Unit::Calls,
            "how often it was called; missing in a run in slices",
            |p| p.count("calls"),
        ),
        count(
            "instructions",
            Unit::Instructions,
            "instructions that committed in it",
            |p| p.count("instructions"),
        ),
        real(
            "inclusive_cycles",
            Unit::Cycles,
            "cycles while it was on the call stack, each once; missing in a run in slices",
            Place::inclusive,
        ),
        real(
            "inclusive_share",
            Unit::Share,
            "`inclusive_cycles` of all cycles with an owner",
            |p| p.share(p.inclusive()),
        ),
    ];
    columns.extend(own_time());
    columns.push(process());
    let table = Table::new("hps-functions", 2, "a function that ran", columns);
    table.frame(&Place::all(profile, "functions"))
}

/// Instructions of an exact profile, in its order.
pub fn instructions(profile: &Value) -> Frame {
    let mut columns: Vec<Column<Place<'_>>> = vec![
        text("program", Unit::Text, "the program", Place::program),
        text(
            "pc",
            Unit::Address,
            "address of the instruction; of an inserted one its trigger's",
            |p| p.text("pc"),
        ),
        count(
            "disepc",
            Unit::Number,
            "0 for an instruction of the program; otherwise production and place in the sequence",
            |p| p.count("disepc"),
        ),
        text(
            "function",
            Unit::Text,
            "name of the function that holds it; missing in profiles of earlier versions",
            |p| p.text("function"),
        ),
        text("line", Unit::Text, "source line", |p| p.text("line")),
        flag(
            "begins_block",
            Unit::Word,
            "whether it begins a basic block",
            |p| p.place.get("begins_block")?.as_bool(),
        ),
        count(
            "commits",
            Unit::Instructions,
            "how often it committed",
            |p| p.count("commits"),
        ),
    ];
    columns.extend(own_time());
    columns.extend([
        process(),
        text(
            "object",
            Unit::Text,
            "path of the file that holds it, as the program sees it; missing in profiles of earlier versions",
            |p| p.text("object"),
        ),
        made(
            "offset",
            Unit::Address,
            "the address that this object's file says",
            Place::offset,
        ),
    ]);
    let table = Table::new("hps-instructions", 2, "an instruction that ran", columns);
    table.frame(&Place::all(profile, "static_instructions"))
}

/// A member of a profile file.
struct Member<'a> {
    header: &'a Value,
    member: &'a Value,
    weight: u64,
}

impl Member<'_> {
    fn header(&self, key: &str) -> Option<&str> {
        self.header.get(key)?.as_str()
    }

    fn number(&self, key: &str) -> f64 {
        self.header[key].as_f64().unwrap_or(1.0)
    }

    /// The first address of the member.
    fn address(&self) -> Option<&str> {
        const FIRST: [&str; 5] = ["instruction", "site", "from", "function", "target"];
        let of_fields = || {
            FIRST
                .into_iter()
                .find_map(|key| self.member.get(key)?.as_str())
        };
        let whole = self.member.as_str().or_else(of_fields)?;
        whole.split('+').next()
    }

    /// The object of the run that holds the member's address, and the address that the object's file says.
    fn in_object(&self) -> Option<(&str, u64)> {
        let address = number_of(self.address()?)?;
        let holds = |object: &&Value| {
            let ranges = object["code"].as_array();
            ranges.into_iter().flatten().any(|range| {
                let end = |key: &str| number_of(range[key].as_str().unwrap_or_default());
                end("start").is_some_and(|start| start <= address)
                    && end("end").is_some_and(|end| address < end)
            })
        };
        let object = self.header["objects"].as_array()?.iter().find(holds)?;
        let bias = number_of(object["load_bias"].as_str()?)?;
        Some((object["name"].as_str()?, address.wrapping_sub(bias)))
    }
}

/// The number that a hexadecimal text stands for.
fn number_of(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Members of a profile file, the heaviest first.
fn members<'a>(document: &'a Value) -> Frame {
    let columns: [Column<Member<'_>>; 9] = [
        text("program", Unit::Text, "the program", |m| {
            m.header("program")
        }),
        text(
            "kind",
            Unit::Word,
            "what the profile counts by, its [kind](profiles.md#kinds)",
            |m| m.header("kind"),
        ),
        made(
            "member",
            Unit::Text,
            "the member: a text as it is, any other as JSON",
            |m| match m.member {
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            },
        ),
        text(
            "address",
            Unit::Address,
            "the first address of the member",
            Member::address,
        ),
        text(
            "object",
            Unit::Text,
            "path of the object that holds the address, if the file lists objects",
            |m| Some(m.in_object()?.0),
        ),
        made(
            "offset",
            Unit::Address,
            "the address that this object's file says",
            |m| Some(format!("{:#x}", m.in_object()?.1)),
        ),
        text("unit", Unit::Word, "`events` or `cycles`", |m| {
            m.header("unit").or(Some("events"))
        }),
        real(
            "weight",
            Unit::OfProfile,
            "its weight: parts of a cycle are fractions",
            |m| Some(m.weight as f64 / m.number("parts")),
        ),
        real(
            "share",
            Unit::Share,
            "its weight of the sum of all weights",
            |m| Some(m.weight as f64 / m.number("total")),
        ),
    ];
    let header = &document["header"];
    let list = document["members"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let member = |element: &'a Value| {
        Some(Member {
            header,
            member: &element["member"],
            weight: element["weight"].as_u64()?,
        })
    };
    let members: Vec<Member<'_>> = list.iter().filter_map(member).collect();
    Table::new("hps-members", 1, "a member of a profile", columns).frame(&members)
}

/// All tables that can be made of a profile, the usual one first.
///
/// # Errors
/// If the file is no profile, or one of a version that this lab does not know.
pub fn frames(bytes: &[u8]) -> anyhow::Result<Vec<Frame>> {
    let document: Value = serde_json::from_slice(bytes).context("is no JSON document")?;
    match (document["format"].as_str(), &document["format_version"]) {
        (Some("hps-exact-profile" | "hps-exact-profiles"), version) if *version == json!(1) => {
            Ok(vec![functions(&document), instructions(&document)])
        }
        (Some("hps-profile"), _) => {
            // Damage is refused with its place.
            AnyProfileDocument::read(bytes)?;
            Ok(vec![members(&document)])
        }
        (Some(format), version) => bail!(
            "is `{format}` version {version}, of which no table can be made; name results.jsonl, units.jsonl, an exact \
             profile (`hps profile --json=FILE`) or a profile file (`hps profile --out DIR`)"
        ),
        (None, _) => bail!(
            "is no file of results; name results.jsonl, units.jsonl, an exact profile (`hps profile --json=FILE`) or a \
             profile file (`hps profile --out DIR`)"
        ),
    }
}

/// Declarations of the tables of profiles.
pub fn schemas() -> Vec<Schema> {
    let nothing = Value::Null;
    let empty = [
        functions(&nothing),
        instructions(&nothing),
        members(&nothing),
    ];
    empty.map(|frame| frame.schema().clone()).into()
}
