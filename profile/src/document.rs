//! The JSON profile file.
//!
//! ```json
//! {
//!   "format": "hps-profile",
//!   "format_version": 1,
//!   "header": {
//!     "program": "bzip2", "program_hash": "9c1f…", "version": "0.1.0",
//!     "configuration": { "burst_length": 100 },
//!     "kind": "call_pair", "total": 12, "summary": null
//!   },
//!   "members": [ { "member": { "site": "0x10a4", "target": "0x2000" }, "weight": 12 } ]
//! }
//! ```
//!
//! Members are in listing order and addresses are hexadecimal text, so that the same profile is
//! the same file, byte for byte, and no reader rounds an address. Weights are JSON integers.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::{CallPair, DataStream, Method, ProfileKey, ProfileKind};
use crate::profile::Profile;

/// The `format` of every profile file.
pub const FORMAT: &str = "hps-profile";
/// The only `format_version` so far.
pub const FORMAT_VERSION: u32 = 1;

/// Where a profile comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What the profile counts; set from the members when a document is made.
    pub kind: ProfileKind,
    /// The sum of all weights; set from the members when a document is made.
    pub total: u64,
    /// More about the run, such as [`crate::StreamSummary`]; `null` when there is nothing.
    #[serde(default)]
    pub summary: Value,
}

/// A profile with its header.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileDocument<K: ProfileKey> {
    /// Where the profile comes from.
    pub header: ProfileHeader,
    /// The profile.
    pub profile: Profile<K>,
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
        found: ProfileKind,
        /// The kind of the members that are to be read.
        wanted: ProfileKind,
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
        /// What the header says.
        total: u64,
        /// The sum of the weights.
        sum: u128,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<H, M> {
    format: String,
    format_version: u32,
    header: H,
    members: Vec<M>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Member<K> {
    member: K,
    weight: u64,
}

/// The part of a file that says how to read the rest.
#[derive(Deserialize)]
struct Probe {
    format: String,
    format_version: u32,
}

impl<K: ProfileKey> ProfileDocument<K> {
    /// A document of `profile`; `kind` and `total` of the header are set from the profile.
    pub fn new(mut header: ProfileHeader, profile: Profile<K>) -> Self {
        header.kind = K::KIND;
        header.total = profile.total();
        Self { header, profile }
    }

    /// Writes the document, indented, with a newline at its end.
    ///
    /// # Errors
    /// When the output fails.
    pub fn write(&self, mut output: impl Write) -> Result<(), DocumentError> {
        let members = self.profile.listing();
        let file = File {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            header: &self.header,
            members: members
                .into_iter()
                .map(|(member, weight)| Member { member, weight })
                .collect(),
        };
        serde_json::to_writer_pretty(&mut output, &file)?;
        output.write_all(b"\n").map_err(serde_json::Error::io)?;
        Ok(())
    }

    /// Reads a document and checks that it is whole.
    ///
    /// # Errors
    /// When the input fails, is not a profile file of this kind, or contradicts itself.
    pub fn read(input: impl Read) -> Result<Self, DocumentError> {
        Self::from_value(read_value(input)?)
    }

    fn from_value(value: Value) -> Result<Self, DocumentError> {
        // The header first: members of another kind would fail with a less helpful message.
        let found = header_of(&value)?.kind;
        if found != K::KIND {
            return Err(DocumentError::Kind {
                found,
                wanted: K::KIND,
            });
        }
        let file: File<ProfileHeader, Member<K>> = serde_json::from_value(value)?;
        let sum = file
            .members
            .iter()
            .map(|member| u128::from(member.weight))
            .sum();
        if sum != u128::from(file.header.total) {
            return Err(DocumentError::Total {
                total: file.header.total,
                sum,
            });
        }
        let mut profile = Profile::new();
        for (index, Member { member, weight }) in file.members.into_iter().enumerate() {
            if weight == 0 {
                return Err(DocumentError::ZeroWeight { index });
            }
            if profile.weight(&member) > 0 {
                return Err(DocumentError::Duplicate { index });
            }
            profile.add(member, weight);
        }
        Ok(Self {
            header: file.header,
            profile,
        })
    }
}

/// A document of any kind, for commands that learn the kind from the file.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyProfileDocument {
    /// A hot method profile.
    Method(ProfileDocument<Method>),
    /// A hot call pair profile.
    CallPair(ProfileDocument<CallPair>),
    /// A hot data stream profile.
    DataStream(ProfileDocument<DataStream>),
}

impl AnyProfileDocument {
    /// Reads a document of whatever kind its header names.
    ///
    /// # Errors
    /// As [`ProfileDocument::read`].
    pub fn read(input: impl Read) -> Result<Self, DocumentError> {
        let value = read_value(input)?;
        Ok(match header_of(&value)?.kind {
            ProfileKind::Method => Self::Method(ProfileDocument::from_value(value)?),
            ProfileKind::CallPair => Self::CallPair(ProfileDocument::from_value(value)?),
            ProfileKind::DataStream => Self::DataStream(ProfileDocument::from_value(value)?),
        })
    }

    /// Where the profile comes from.
    pub fn header(&self) -> &ProfileHeader {
        match self {
            Self::Method(document) => &document.header,
            Self::CallPair(document) => &document.header,
            Self::DataStream(document) => &document.header,
        }
    }
}

fn read_value(input: impl Read) -> Result<Value, DocumentError> {
    Ok(serde_json::from_reader(std::io::BufReader::new(input))?)
}

fn header_of(value: &Value) -> Result<ProfileHeader, DocumentError> {
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> ProfileHeader {
        ProfileHeader {
            program: "sort".into(),
            program_hash: "00ff".into(),
            version: "0.1.0".into(),
            configuration: serde_json::json!({ "burst_length": 100, "sparsity": 9900 }),
            kind: ProfileKind::Method,
            total: 0,
            summary: Value::Null,
        }
    }

    fn bytes<K: ProfileKey>(document: &ProfileDocument<K>) -> Vec<u8> {
        let mut bytes = Vec::new();
        document.write(&mut bytes).unwrap();
        bytes
    }

    fn round_trip<K: ProfileKey + std::fmt::Debug>(members: Vec<(K, u64)>) {
        let document = ProfileDocument::new(header(), members.iter().cloned().collect());
        let first = bytes(&document);
        let read = ProfileDocument::<K>::read(&first[..]).unwrap();
        assert_eq!(read, document);
        assert_eq!(read.header.kind, K::KIND);
        let reversed = members.into_iter().rev().collect();
        assert_eq!(bytes(&ProfileDocument::new(header(), reversed)), first);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_kind_survives_a_round_trip(
            members in prop::collection::vec((any::<u64>(), any::<u64>(), 1u64..1 << 50), 0..20)
        ) {
            let each = members.iter();
            round_trip(each.clone().map(|m| (Method(m.0), m.2)).collect());
            round_trip(
                each.clone().map(|m| (CallPair { site: m.0, target: m.1 }, m.2)).collect(),
            );
            round_trip(each.map(|m| (DataStream([m.0, m.1, m.0].into()), m.2)).collect());
        }

        #[test]
        fn damaged_files_are_refused_without_panic(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = bytes(&ProfileDocument::new(
                header(),
                [(Method(0x10), 3), (Method(u64::MAX), 4)].into_iter().collect(),
            ));
            let at = at.index(bytes.len());
            let _ = AnyProfileDocument::read(&bytes[..at]);
            bytes[at] ^= 1 << bit;
            let _ = AnyProfileDocument::read(&bytes[..]);
        }
    }

    fn message(text: &str) -> String {
        AnyProfileDocument::read(text.as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn contradictions_are_named() {
        let document = ProfileDocument::new(
            header(),
            [(Method(0x10), 3), (Method(0x20), 3)].into_iter().collect(),
        );
        let good = String::from_utf8(bytes(&document)).unwrap();
        let any = AnyProfileDocument::read(good.as_bytes()).unwrap();
        assert_eq!(any.header().total, 6);
        for (from, to, expected) in [
            (
                "\"total\": 6",
                "\"total\": 7",
                "header.total is 7, but the weights add up to 6",
            ),
            ("0x20", "0x10", "members[1] has been listed before"),
            (
                "\"format_version\": 1",
                "\"format_version\": 2",
                "`hps-profile` version 2",
            ),
            ("\"0x10\"", "\"10\"", "`10` is not an address"),
            ("\"0x10\"", "\"0x+1\"", "`0x+1` is not an address"),
            ("\"0x10\"", "\"0x\"", "`0x` is not an address"),
            ("\"method\"", "\"colour\"", "unknown variant `colour`"),
        ] {
            assert!(good.contains(from), "{from}");
            let found = message(&good.replacen(from, to, 1));
            assert!(found.contains(expected), "{found}");
        }
        let zero = good.replacen("\"weight\": 3", "\"weight\": 0", 1);
        let found = message(&zero.replace("\"total\": 6", "\"total\": 3"));
        assert!(found.contains("members[0] has the weight 0"), "{found}");
        let other = ProfileDocument::<CallPair>::read(good.as_bytes())
            .unwrap_err()
            .to_string();
        assert_eq!(
            other,
            "this is a method profile where a call_pair profile is wanted"
        );
    }
}
