//! Trap and rounding qualifiers of floating-point operations (Architecture Reference Manual, 4.7.6
//! and appendix C.7): bits 15..11 of the instruction, traps in the upper three.

use crate::format::Format;

/// Number of values of five bits. The valid ones depend on the operation.
const VALUES: i64 = 32;
/// Rounding by the instruction: chopped, towards minus infinity, to nearest, by FPCR.
const ROUNDINGS: [&str; 4] = ["c", "m", "", "d"];

/// Suffix of the mnemonic behind the `/`; empty for no qualifier. `None` if the operation does not have this
/// combination, or has no qualifiers at all.
pub(crate) fn suffix(format: Format, value: i64) -> Option<(&'static str, &'static str)> {
    if !(0..VALUES).contains(&value) {
        return None;
    }
    let traps = match (format, value >> 2, value & 3) {
        (Format::AlphaFpCompare, 0, 2) => "",
        (Format::AlphaFpCompare, 5, 2) => "su",
        (Format::AlphaFpWiden, 2, 2) => "",
        (Format::AlphaFpWiden, 6, 2) => "s",
        (Format::AlphaQuadToLong, 0, 0) => "",
        (Format::AlphaQuadToLong, 1, 0) => "v",
        (Format::AlphaQuadToLong, 5, 0) => "sv",
        (
            Format::AlphaFpRounded
            | Format::AlphaFpUnary
            | Format::AlphaFpToQuad
            | Format::AlphaQuadToFp,
            0,
            _,
        ) => "",
        (Format::AlphaFpRounded | Format::AlphaFpUnary, 1, _) => "u",
        (Format::AlphaFpRounded | Format::AlphaFpUnary, 5, _) => "su",
        (Format::AlphaFpRounded | Format::AlphaFpUnary | Format::AlphaQuadToFp, 7, _) => "sui",
        (Format::AlphaFpToQuad, 1, _) => "v",
        (Format::AlphaFpToQuad, 5, _) => "sv",
        (Format::AlphaFpToQuad, 7, _) => "svi",
        _ => return None,
    };
    let rounded = matches!(
        format,
        Format::AlphaFpRounded
            | Format::AlphaFpUnary
            | Format::AlphaFpToQuad
            | Format::AlphaQuadToFp
    );
    Some((
        traps,
        if rounded {
            ROUNDINGS[value as usize & 3]
        } else {
            ""
        },
    ))
}

/// The operation has these qualifiers.
pub(crate) fn are_valid(format: Format, value: i64) -> bool {
    suffix(format, value).is_some()
}

/// The qualifiers of what stands behind the `/`; of no suffix, which is empty here, too.
pub(crate) fn parse(format: Format, text: &str) -> Option<i64> {
    (0..VALUES).find(|&value| {
        suffix(format, value)
            .is_some_and(|(traps, rounding)| text.strip_prefix(traps) == Some(rounding))
    })
}

/// Every suffix that an operation can have, for messages.
pub(crate) fn all(format: Format) -> impl Iterator<Item = String> {
    (0..VALUES)
        .filter_map(move |value| suffix(format, value))
        .map(|(traps, rounding)| format!("{traps}{rounding}"))
        .filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_those_of_the_manual() {
        let count = |format| (0..VALUES).filter(|&v| are_valid(format, v)).count();
        assert_eq!(count(Format::AlphaFpRounded), 16);
        assert_eq!(count(Format::AlphaFpToQuad), 16);
        assert_eq!(count(Format::AlphaQuadToFp), 8);
        assert_eq!(count(Format::AlphaFpCompare), 2);
        assert_eq!(count(Format::AlphaFpPlain), 0);
        assert_eq!(parse(Format::AlphaFpRounded, ""), Some(2));
        assert_eq!(parse(Format::AlphaFpRounded, "suic"), Some(0x1c));
        assert_eq!(parse(Format::AlphaFpToQuad, "svd"), Some(0x17));
        assert_eq!(parse(Format::AlphaFpToQuad, "su"), None);
        assert_eq!(parse(Format::AlphaFpWiden, "s"), Some(0x1a));
        assert_eq!(parse(Format::AlphaQuadToLong, "v"), Some(4));
        for format in [Format::AlphaFpRounded, Format::AlphaQuadToLong] {
            for value in (0..VALUES).filter(|&v| are_valid(format, v)) {
                let (traps, rounding) = suffix(format, value).unwrap_or_default();
                assert_eq!(parse(format, &format!("{traps}{rounding}")), Some(value));
            }
        }
        assert_eq!(suffix(Format::AlphaFpRounded, -1), None);
    }
}
