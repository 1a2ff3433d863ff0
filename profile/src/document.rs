//! The JSON profile file.
//!
//! ```json
//! {
//!   "format": "hps-profile",
//!   "format_version": 1,
//!   "header": {
//!     "program": "bzip2", "program_hash": "9c1f…", "version": "0.1.0",
//!     "configuration": { "burst_length": 100 },
//!     "kind": "call_pair", "unit": "events", "parts": 1, "total": 12, "summary": null
//!   },
//!   "members": [ { "member": { "site": "0x10a4", "target": "0x2000" }, "weight": 12 } ]
//! }
//! ```
//!
//! Members are in listing order and addresses are hexadecimal text, so that the same profile is
//! the same file, byte for byte, and no reader rounds an address. Weights are JSON integers.

use std::io::{Read, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::{KeyKind, ProfileKey};
use crate::objects::{ProfileObject, relocated};
use crate::profile::Profile;
use crate::unit::{Events, Unit};

mod any;

pub use any::AnyProfileDocument;

/// The `format` of every profile file.
pub const FORMAT: &str = "hps-profile";
/// The only `format_version` so far.
pub const FORMAT_VERSION: u32 = 1;

/// Where a profile comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileHeader {
    /// Name of the profiled program.
    pub program: String,
    /// Hash of the program's image, in the form that the collector uses.
    pub program_hash: String,
    /// Version of the software that collected the profile.
    pub version: String,
    /// The resolved configuration of the run.
    pub configuration: Value,
    /// Kind of the keys; set from the members when a document is made.
    pub kind: KeyKind,
    /// Unit of the weights; set from the profile's type when a document is made.
    #[serde(default = "events")]
    pub unit: String,
    /// Weights are whole numbers of so many equal parts of the unit.
    #[serde(default = "one")]
    pub parts: u64,
    /// The sum of all weights; set from the members when a document is made.
    pub total: u64,
    /// More about the run, such as [`crate::StreamSummary`]; `null` when there is nothing.
    #[serde(default)]
    pub summary: Value,
    /// The files whose code the run had, if there were several: which one, and where in it, an address of a member is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ProfileObject>,
}

fn events() -> String {
    Events::NAME.to_owned()
}

fn one() -> u64 {
    1
}

/// A profile with its header.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileDocument<K: ProfileKey, U: Unit = Events> {
    /// Where the profile comes from.
    pub header: ProfileHeader,
    /// The profile.
    pub profile: Profile<K, U>,
}

/// A profile file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON, not this structure, or no input or output.
    #[error("the profile cannot be read or written: {0}")]
    Json(#[from] serde_json::Error),
    /// Another format or a newer version of it.
    #[error(
        "this is `{format}` version {version}, not `{FORMAT}` version {FORMAT_VERSION}: \
         read it with the version of the software that wrote it"
    )]
    Format {
        /// The `format` of the file.
        format: String,
        /// The `format_version` of the file.
        version: u32,
    },
    /// Another kind of profile than the caller wants.
    #[error("this is a {found} profile where a {wanted} profile is wanted")]
    Kind {
        /// The kind that the file names.
        found: KeyKind,
        /// The kind of the members that are to be read.
        wanted: KeyKind,
    },
    /// Weights that count something else than the caller wants.
    #[error("the weights of this profile count {found}, where {wanted} are wanted")]
    Unit {
        /// The unit that the file names.
        found: String,
        /// The unit that is to be read.
        wanted: &'static str,
    },
    /// A kind of profile that is not registered.
    #[error(
        "header.kind is an unknown variant `{found}`, expected one of {}",
        known.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ")
    )]
    UnknownKind {
        /// The kind that the file names.
        found: KeyKind,
        /// The kinds that can be read.
        known: Vec<KeyKind>,
    },
    /// A member without weight.
    #[error("members[{index}] has the weight 0: leave such members out")]
    ZeroWeight {
        /// The place in `members`.
        index: usize,
    },
    /// A member that is there twice.
    #[error("members[{index}] has been listed before: add the weights of equal members")]
    Duplicate {
        /// The place of the second one in `members`.
        index: usize,
    },
    /// Weights that do not add up to the header's total.
    #[error("header.total is {total}, but the weights add up to {sum}: the file is damaged")]
    Total {
        /// The header's total.
        total: u64,
        /// The sum of the weights.
        sum: u128,
    },
}

/// A profile file.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File<H, M> {
    /// Name of the format, `hps-profile`.
    format: String,
    /// Version of the format.
    format_version: u32,
    /// Where the profile comes from.
    header: H,
    /// Members, the heaviest first.
    members: Vec<M>,
}

/// A member of a profile.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Member<K> {
    /// The member, as its kind writes it: an address as hexadecimal text, or an object.
    member: K,
    /// Weight, in the parts that the header says.
    weight: u64,
}

/// The structure of a profile file of any kind.
pub type ProfileFile = File<ProfileHeader, Member<Value>>;

/// The part of a file that says how to read the rest.
#[derive(Deserialize)]
struct Probe {
    format: String,
    format_version: u32,
}

impl<K: ProfileKey, U: Unit> ProfileDocument<K, U> {
    /// A document of `profile`; `kind`, `unit` and `total` of the header are set from the profile.
    pub fn new(mut header: ProfileHeader, profile: Profile<K, U>) -> Self {
        header.kind = K::KIND;
        header.unit = U::NAME.to_owned();
        header.total = profile.total();
        Self { header, profile }
    }

    /// The profile with the members at the addresses that their objects had in another run
    /// ([`ProfileHeader::objects`]).
    #[must_use]
    pub fn relocated_to(&self, other: &ProfileHeader) -> Profile<K, U> {
        let (from, to) = (&self.header.objects, &other.objects);
        if from.is_empty() || from == to {
            return self.profile.clone();
        }
        let place = |address| relocated(address, from, to);
        let mut profile = Profile::default();
        for (member, weight) in self.profile.iter() {
            profile.add(member.relocated(&place), weight);
        }
        profile
    }

    /// Writes the document, indented, with a newline at its end.
    ///
    /// # Errors
    /// When the output fails.
    pub fn write(&self, mut output: impl Write) -> Result<(), DocumentError> {
        write_members(&mut output, &self.header, self.profile.listing())
    }

    /// Reads a document and checks that it is whole.
    ///
    /// # Errors
    /// When the input fails, is not a profile file of this kind, or contradicts itself.
    pub fn read(input: impl Read) -> Result<Self, DocumentError> {
        Self::from_value(read_value(input)?)
    }

    pub(crate) fn from_value(value: Value) -> Result<Self, DocumentError> {
        let (header, members) = members_of(value, K::KIND, U::NAME)?;
        let members = members
            .into_iter()
            .map(|Member { member, weight }| Ok((K::deserialize(member)?, weight)))
            .collect::<Result<Vec<_>, serde_json::Error>>()?;
        check_total(&header, members.iter().map(|(_, weight)| *weight))?;
        let mut profile = Profile::default();
        for (index, (member, weight)) in members.into_iter().enumerate() {
            if weight == 0 {
                return Err(DocumentError::ZeroWeight { index });
            }
            if profile.weight(&member) > 0 {
                return Err(DocumentError::Duplicate { index });
            }
            profile.add(member, weight);
        }
        Ok(Self { header, profile })
    }
}

/// Writes a document of any unit: what is generic in less is compiled less often.
fn write_members<K: Serialize>(
    output: &mut dyn Write,
    header: &ProfileHeader,
    members: Vec<(&K, u64)>,
) -> Result<(), DocumentError> {
    let file = File {
        format: FORMAT.to_owned(),
        format_version: FORMAT_VERSION,
        header,
        members: members
            .into_iter()
            .map(|(member, weight)| Member { member, weight })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *output, &file)?;
    output.write_all(b"\n").map_err(serde_json::Error::io)?;
    Ok(())
}

/// The header and the members of a document, if it is of a kind and a unit.
fn members_of(
    value: Value,
    kind: KeyKind,
    unit: &'static str,
) -> Result<(ProfileHeader, Vec<Member<Value>>), DocumentError> {
    // The header first: members of another kind would fail with a less helpful message.
    let header = header_of(&value)?;
    if header.kind != kind {
        return Err(DocumentError::Kind {
            found: header.kind,
            wanted: kind,
        });
    }
    if header.unit != unit {
        return Err(DocumentError::Unit {
            found: header.unit,
            wanted: unit,
        });
    }
    let file: File<ProfileHeader, Member<Value>> = serde_json::from_value(value)?;
    Ok((file.header, file.members))
}

fn check_total(
    header: &ProfileHeader,
    weights: impl Iterator<Item = u64>,
) -> Result<(), DocumentError> {
    let sum = weights.map(u128::from).sum();
    if sum != u128::from(header.total) {
        let total = header.total;
        return Err(DocumentError::Total { total, sum });
    }
    Ok(())
}

pub(crate) fn read_value(input: impl Read) -> Result<Value, DocumentError> {
    Ok(serde_json::from_reader(std::io::BufReader::new(input))?)
}

pub(crate) fn header_of(value: &Value) -> Result<ProfileHeader, DocumentError> {
    let Probe {
        format,
        format_version: version,
    } = Probe::deserialize(value)?;
    if format != FORMAT || version != FORMAT_VERSION {
        return Err(DocumentError::Format { format, version });
    }
    Ok(ProfileHeader::deserialize(
        value.get("header").unwrap_or(&Value::Null),
    )?)
}

#[cfg(test)]
mod tests;
