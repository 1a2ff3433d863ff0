//! Parameters of production files, as options give them.

use std::collections::HashMap;

use anyhow::Context;
use hps_isa::isa::Isa;
use hps_lab::Productions;

/// Loads production files together for programs of an instruction set, with values for their
/// parameters (`NAME=VALUE`).
pub fn load(isa: Isa, names: &[String], params: &[String]) -> anyhow::Result<Productions> {
    let params = params
        .iter()
        .map(|pair| parameter(pair))
        .collect::<anyhow::Result<HashMap<_, _>>>()?;
    Ok(Productions::load(isa, names, params)?)
}

/// `NAME=VALUE` with an integer, also in hexadecimal or with underscores.
fn parameter(pair: &str) -> anyhow::Result<(String, i64)> {
    let (name, value) = pair
        .split_once('=')
        .with_context(|| format!("--param {pair}: write NAME=VALUE"))?;
    let digits = value.replace('_', "");
    let number = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    let number = number.with_context(|| format!("--param {pair}: `{value}` is no integer"))?;
    Ok((name.to_string(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_integers() {
        assert_eq!(
            parameter("burst=1_000").expect("decimal"),
            ("burst".to_string(), 1000)
        );
        assert_eq!(
            parameter("x=0x10").expect("hexadecimal"),
            ("x".to_string(), 16)
        );
        for wrong in ["burst", "burst=", "burst=ten"] {
            let message = parameter(wrong).expect_err(wrong).to_string();
            assert!(message.contains(wrong), "{message}");
        }
    }
}
