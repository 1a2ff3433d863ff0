//! How keys write addresses: in files, and for people.

use std::fmt;

/// The name of the function at `address`, or the address in hexadecimal.
pub(super) fn name_or_address(address: u64, symbol: &dyn Fn(u64) -> Option<String>) -> String {
    symbol(address).unwrap_or_else(|| format!("{address:#x}"))
}

/// `name@place`, or `place` alone where the function at `address` has no name.
pub(super) fn name_at(
    address: u64,
    place: &dyn fmt::Display,
    symbol: &dyn Fn(u64) -> Option<String>,
) -> String {
    match symbol(address) {
        Some(name) => format!("{name}@{place}"),
        None => place.to_string(),
    }
}

/// `name@0x1f04`, or `0x1f04` alone where the function has no name.
pub(super) fn name_at_address(address: u64, symbol: &dyn Fn(u64) -> Option<String>) -> String {
    name_at(address, &format_args!("{address:#x}"), symbol)
}

/// Reads `0x1f04`; `None` for anything else.
pub(super) fn parse(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    // `from_str_radix` alone would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// Error message for a text that [`parse`] refuses.
pub(super) fn bad_address(text: &str) -> String {
    format!(
        "`{text}` is not an address: write up to 16 hexadecimal digits after 0x, such as 0x1f04"
    )
}

/// An address in a file, for `#[serde(with = …)]`: `"0x1f04"`. JSON numbers lose bits above 2^53
/// in many readers.
pub(crate) mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{address:#x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse(&text).ok_or_else(|| de::Error::custom(super::bad_address(&text)))
    }
}

/// A list of addresses in a file, for `#[serde(with = …)]`: `["0x1f04", "0x1f08"]`.
pub(super) mod hex_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Address(#[serde(with = "super::hex")] u64);

    pub fn serialize<S: Serializer>(addresses: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(addresses.iter().map(|&address| Address(address)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<[u64]>, D::Error> {
        let addresses = Vec::<Address>::deserialize(deserializer)?;
        Ok(addresses.into_iter().map(|address| address.0).collect())
    }
}
