//! The members of profiles: methods, call pairs and data streams.

use std::fmt;
use std::hash::Hash;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What a profile counts. Named in files as in the paper's section 4.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileKind {
    /// Hot method: weight by method, counted at calls and backward branches.
    Method,
    /// Hot call pair: weight by call site and target.
    CallPair,
    /// Hot data stream: heat by sequence of data addresses.
    DataStream,
}

impl ProfileKind {
    /// All kinds, in the order of the paper's Figures 8 and 10.
    pub const ALL: [ProfileKind; 3] = [Self::DataStream, Self::CallPair, Self::Method];

    /// The name used in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::CallPair => "call_pair",
            Self::DataStream => "data_stream",
        }
    }

    /// The name used in titles.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Method => "hot method",
            Self::CallPair => "hot call pair",
            Self::DataStream => "hot data stream",
        }
    }
}

impl fmt::Display for ProfileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type that can be a member of a profile file.
pub trait ProfileKey: Ord + Hash + Clone + Serialize + de::DeserializeOwned {
    /// The kind of profile whose members are of this type.
    const KIND: ProfileKind;

    /// The member as the frames of a stack, outermost first. `symbol` names the function that
    /// holds an address; without a name the address is written in hexadecimal.
    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String>;

    /// The member in one line for people, with the addresses that [`Self::frames`] leaves out.
    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String;
}

/// A method, by the address of its first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Method(pub u64);

/// A call site and the method that it called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallPair {
    /// Address of the call instruction.
    pub site: u64,
    /// Address of the first instruction of the called method.
    pub target: u64,
}

/// A sequence of data addresses that are referenced one after the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataStream(pub Box<[u64]>);

fn name_or_address(address: u64, symbol: &dyn Fn(u64) -> Option<String>) -> String {
    symbol(address).unwrap_or_else(|| format!("{address:#x}"))
}

fn name_at_address(address: u64, symbol: &dyn Fn(u64) -> Option<String>) -> String {
    match symbol(address) {
        Some(name) => format!("{name}@{address:#x}"),
        None => format!("{address:#x}"),
    }
}

impl ProfileKey for Method {
    const KIND: ProfileKind = ProfileKind::Method;

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![name_or_address(self.0, symbol)]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        name_or_address(self.0, symbol)
    }
}

impl ProfileKey for CallPair {
    const KIND: ProfileKind = ProfileKind::CallPair;

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![
            name_or_address(self.site, symbol),
            name_or_address(self.target, symbol),
        ]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        format!(
            "{} -> {}",
            name_at_address(self.site, symbol),
            name_or_address(self.target, symbol)
        )
    }
}

impl ProfileKey for DataStream {
    const KIND: ProfileKind = ProfileKind::DataStream;

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        self.0
            .iter()
            .map(|&address| name_at_address(address, symbol))
            .collect()
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        self.frames(symbol).join(" ")
    }
}

/// An address in a file: `"0x1f04"`. JSON numbers lose bits above 2^53 in many readers.
struct HexAddress(u64);

impl Serialize for HexAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'de> Deserialize<'de> for HexAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").unwrap_or("");
        // `from_str_radix` alone would take a sign.
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(de::Error::custom(bad_address(&text)));
        }
        u64::from_str_radix(digits, 16)
            .map(HexAddress)
            .map_err(|_| de::Error::custom(bad_address(&text)))
    }
}

fn bad_address(text: &str) -> String {
    format!(
        "`{text}` is not an address: write up to 16 hexadecimal digits after 0x, such as 0x1f04"
    )
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        HexAddress(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        HexAddress::deserialize(deserializer).map(|address| Self(address.0))
    }
}

/// The file form of [`CallPair`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HexCallPair {
    site: HexAddress,
    target: HexAddress,
}

impl Serialize for CallPair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        HexCallPair {
            site: HexAddress(self.site),
            target: HexAddress(self.target),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CallPair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pair = HexCallPair::deserialize(deserializer)?;
        Ok(Self {
            site: pair.site.0,
            target: pair.target.0,
        })
    }
}

impl Serialize for DataStream {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|&address| HexAddress(address)))
    }
}

impl<'de> Deserialize<'de> for DataStream {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let addresses = Vec::<HexAddress>::deserialize(deserializer)?;
        Ok(Self(
            addresses.into_iter().map(|address| address.0).collect(),
        ))
    }
}
