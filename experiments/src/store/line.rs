//! A record as a line of JSON that carries its own checksum.
//!
//! The last field, `crc32`, is the CRC-32 (IEEE 802.3) of all bytes of the line before its comma, as eight
//! hexadecimal digits. A line stays an ordinary JSON object, which other tools read as such.

use serde::Serialize;
use serde::de::DeserializeOwned;

const KEY: &str = ",\"crc32\":\"";
const DIGITS: usize = 8;
const END: &str = "\"}";

/// A line that is not a record as it was written.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The field `crc32` is missing at the end.
    #[error("it has no checksum: another version wrote it, or it was written by hand")]
    NoChecksum,
    /// The bytes are not those of which the checksum was made.
    #[error("its checksum is {found}, not {stored}: the line was changed after it was written")]
    Changed {
        /// Checksum of the bytes that are there.
        found: String,
        /// Checksum that the line carries.
        stored: String,
    },
    /// The JSON is not that of a record.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Writes a record as one line with its checksum, newline included.
///
/// # Errors
/// If the record cannot be written as a JSON object with at least one field.
pub fn encode(record: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_string(record)?;
    if !line.starts_with('{') || line.len() <= "{}".len() {
        let problem = "a record is an object with fields";
        return Err(serde::ser::Error::custom(problem));
    }
    line.pop();
    let sum = checksum(line.as_bytes());
    line.push_str(KEY);
    line.push_str(&sum);
    line.push_str(END);
    line.push('\n');
    Ok(line)
}

/// Reads a line that [`encode`] made, with or without its newline, and verifies its checksum.
///
/// # Errors
/// [`LineError`] says what is wrong with the line.
pub fn decode<R: DeserializeOwned>(line: &[u8]) -> Result<R, LineError> {
    let line = line.trim_ascii_end();
    let (body, stored) = split(line).ok_or_else(|| {
        // A line that is no JSON at all is better named as such.
        match serde_json::from_slice::<serde::de::IgnoredAny>(line) {
            Ok(_) => LineError::NoChecksum,
            Err(cause) => LineError::Json(cause),
        }
    })?;
    let found = checksum(body);
    if found.as_bytes() != stored {
        return Err(LineError::Changed {
            found,
            stored: String::from_utf8_lossy(stored).into_owned(),
        });
    }
    Ok(serde_json::from_slice(line)?)
}

/// The bytes under the checksum, and the checksum's digits.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(END.as_bytes())?;
    let (line, digits) = line.split_at_checked(line.len().checked_sub(DIGITS)?)?;
    Some((line.strip_suffix(KEY.as_bytes())?, digits))
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Map = BTreeMap<String, String>;

    fn record() -> Map {
        Map::from([("a".into(), "1".into()), ("b".into(), "\"}\n".into())])
    }

    #[test]
    fn a_line_is_json_with_the_checksum_as_its_last_field() {
        // CRC-32 of "123456789" is the check value of the algorithm's catalogue entry.
        assert_eq!(checksum(b"123456789"), "cbf43926");
        let line = encode(&record()).expect("a line");
        let read: Map = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["crc32"].len(), 8);
        let mut read: Map = decode(line.as_bytes()).expect("whole");
        read.remove("crc32");
        assert_eq!(read, record());
    }

    #[test]
    fn no_byte_of_a_line_can_change_unnoticed() {
        let line = encode(&record()).expect("a line").into_bytes();
        for at in 0..line.len() - 1 {
            for flip in [1, 0x20] {
                let mut changed = line.clone();
                changed[at] ^= flip;
                assert!(
                    decode::<Map>(&changed).is_err(),
                    "byte {at}: {}",
                    String::from_utf8_lossy(&changed)
                );
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        let said = |line: &str| {
            decode::<Map>(line.as_bytes())
                .expect_err("wrong")
                .to_string()
        };
        assert!(said("{\"a\":\"1\"}").contains("no checksum"));
        assert!(said("{\"a\":\"1\",\"crc32\":\"00000000\"}").contains("not 00000000"));
        assert!(said("{\"a\":").contains("EOF"));
    }
}
