use proptest::prelude::*;

use super::*;
use crate::key::{Block, CallPair, Context, DataStream, Edge, Function, Instruction, Line, Method};

fn header() -> ProfileHeader {
    ProfileHeader {
        program: "sort".into(),
        program_hash: "00ff".into(),
        version: "0.1.0".into(),
        configuration: serde_json::json!({ "burst_length": 100, "sparsity": 9900 }),
        kind: Method::KIND,
        unit: Events::NAME.into(),
        parts: 1,
        total: 0,
        summary: Value::Null,
        objects: Vec::new(),
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
        round_trip(each.clone().map(|m| (DataStream([m.0, m.1, m.0].into()), m.2)).collect());
        round_trip(
            each.clone()
                .map(|m| (Instruction { pc: m.0, disepc: m.1 as u32 }, m.2))
                .collect(),
        );
        round_trip(each.clone().map(|m| (Block(m.0), m.2)).collect());
        round_trip(each.clone().map(|m| (Function(m.0), m.2)).collect());
        round_trip(each.clone().map(|m| (Edge { from: m.0, to: m.1 }, m.2)).collect());
        round_trip(
            each.clone()
                .map(|m| (Line { file: format!("{:x}.c", m.0).into(), line: m.1 as u32 }, m.2))
                .collect(),
        );
        round_trip(each.map(|m| (Context([m.0, m.1].into()), m.2)).collect());
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
