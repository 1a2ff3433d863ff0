//! Every registered key: its file form, its texts, and a key from outside the crate.

use serde::Deserialize;

use super::*;
use crate::document::{AnyProfileDocument, ProfileDocument, ProfileHeader};
use crate::unit::{Events, Unit};

fn symbol(address: u64) -> Option<String> {
    (0x1000..0x2000).contains(&address).then(|| "main".into())
}

/// JSON, frames and label of a key, after a check that the JSON gives the key back.
fn forms<K: ProfileKey>(key: &K) -> (String, Vec<String>, String) {
    let json = serde_json::to_string(key).unwrap();
    assert_eq!(&serde_json::from_str::<K>(&json).unwrap(), key);
    (json, key.frames(&symbol), key.label(&symbol))
}

fn expected(json: &str, frames: &[&str], label: &str) -> (String, Vec<String>, String) {
    let frames = frames.iter().map(|frame| (*frame).to_owned()).collect();
    (json.to_owned(), frames, label.to_owned())
}

#[test]
fn each_key_has_its_file_form_frames_and_label() {
    let dise = Instruction {
        pc: 0x10a4,
        disepc: 2,
    };
    assert_eq!(
        forms(&dise),
        expected(r#""0x10a4+2""#, &["main", "0x10a4+2"], "main@0x10a4+2")
    );
    assert_eq!(
        forms(&Instruction::at(0x20a4)),
        expected(r#""0x20a4""#, &["0x20a4"], "0x20a4")
    );
    assert_eq!(
        forms(&Function(0x1000)),
        expected(r#""0x1000""#, &["main"], "main")
    );
    assert_eq!(
        forms(&Block(0x1010)),
        expected(r#""0x1010""#, &["main", "0x1010"], "main@0x1010")
    );
    assert_eq!(
        forms(&Edge {
            from: 0x1010,
            to: 0x3000
        }),
        expected(
            r#"{"from":"0x1010","to":"0x3000"}"#,
            &["main@0x1010", "0x3000"],
            "main@0x1010 -> 0x3000"
        )
    );
    let line = Line {
        file: "a b.c".into(),
        line: 7,
    };
    assert_eq!(
        forms(&line),
        expected(r#"{"file":"a b.c","line":7}"#, &["a b.c:7"], "a b.c:7")
    );
    assert_eq!(
        forms(&Context([0x1010, 0x3000].into())),
        expected(
            r#"["0x1010","0x3000"]"#,
            &["main", "0x3000"],
            "main@0x1010 > 0x3000"
        )
    );
}

#[test]
fn keys_of_paths_values_events_and_time_have_their_forms() {
    let path = Path {
        from: 0x1000,
        before: 0,
        number: 17,
    };
    assert_eq!(
        forms(&path),
        expected(
            r#"{"from":"0x1000","before":"0x0","number":"0x11"}"#,
            &["main@0x1000", "path 0x11"],
            "main@0x1000 path 0x11"
        )
    );
    let value = Value {
        instruction: Instruction::at(0x1004),
        value: u64::MAX,
    };
    assert_eq!(
        forms(&value),
        expected(
            r#"{"instruction":"0x1004","value":"0xffffffffffffffff"}"#,
            &["main", "0x1004", "0xffffffffffffffff"],
            "main@0x1004 = 0xffffffffffffffff"
        )
    );
    let stack = EventStack {
        instruction: Instruction::at(0x1004),
        events: ["l1d_miss", "dtlb_miss"].map(str::to_owned).into(),
    };
    assert_eq!(
        forms(&stack),
        expected(
            r#"{"instruction":"0x1004","events":["l1d_miss","dtlb_miss"]}"#,
            &["main", "0x1004", "l1d_miss+dtlb_miss"],
            "main@0x1004 l1d_miss+dtlb_miss"
        )
    );
    let slice = TimeSlice {
        first_cycle: 1025,
        function: Some(Function(0x1000)),
    };
    assert_eq!(
        forms(&slice),
        expected(
            r#"{"first_cycle":1025,"function":"0x1000"}"#,
            &["from cycle 1025", "main"],
            "from cycle 1025 main"
        )
    );
}

#[test]
fn an_instruction_has_one_spelling() {
    for (text, said) in [
        ("10a4", "`10a4` is not an address"),
        ("0x10a4+", "`0x10a4+` is not an instruction"),
        ("0x10a4+0", "not an instruction"),
        ("0x10a4+02", "not an instruction"),
        ("0x10a4++2", "not an instruction"),
        ("0x10a4+4294967296", "not an instruction"),
        ("0x10000000000000000", "not an address"),
    ] {
        let error = text.parse::<Instruction>().unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    let last = Instruction {
        pc: u64::MAX,
        disepc: u32::MAX,
    };
    assert_eq!(last.to_string().parse(), Ok(last));
}

#[test]
fn kinds_are_distinct_and_hps_kinds_are_among_them() {
    let registry = KeyRegistry::builtin();
    let mut names: Vec<&str> = registry.kinds().map(|(kind, _)| kind.name()).collect();
    for kind in ProfileKind::ALL {
        let entry = registry.kinds().find(|(of, _)| **of == kind.into());
        assert_eq!(entry.map(|(_, title)| title), Some(kind.title()));
    }
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    // `with` would have replaced an equal kind: a file, a kind.
    assert_eq!((all, names.len()), (13, 13));
}

/// A key that this crate does not know: a size class.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct SizeClass(u8);

impl ProfileKey for SizeClass {
    const KIND: KeyKind = KeyKind::new("size_class");
    const TITLE: &'static str = "size class";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![self.label(symbol)]
    }

    fn label(&self, _: &dyn Fn(u64) -> Option<String>) -> String {
        format!("{} bytes", 1u64 << self.0)
    }
}

#[test]
fn a_key_of_another_crate_is_a_type_and_a_line() {
    let header = ProfileHeader {
        program: "sort".into(),
        program_hash: "00ff".into(),
        version: "0.1.0".into(),
        configuration: serde_json::Value::Null,
        kind: SizeClass::KIND,
        unit: Events::NAME.into(),
        parts: 1,
        total: 0,
        summary: serde_json::Value::Null,
        objects: Vec::new(),
    };
    let profile = [(SizeClass(4), 3), (SizeClass(6), 1)].into_iter().collect();
    let document = ProfileDocument::<_, Events>::new(header, profile);
    let mut bytes = Vec::new();
    document.write(&mut bytes).unwrap();

    let unknown = AnyProfileDocument::read(&bytes[..]).unwrap_err();
    assert!(unknown.to_string().contains("`size_class`"), "{unknown}");

    let registry = KeyRegistry::builtin().with::<SizeClass>();
    let any = registry.read(&bytes[..]).unwrap();
    assert_eq!(any, document.clone().into());
    assert_eq!(any, any.clone());
    assert_eq!((any.len(), any.header().total), (2, 4));
    assert_eq!(any.downcast_ref(), Some(&document));
    assert!(any.downcast_ref::<ProfileDocument<Method>>().is_none());
    assert_eq!(any.overlap_without_cut(&any), Some(1.0));
    let (mut again, mut flat, mut folded) = (Vec::new(), Vec::new(), Vec::new());
    any.write(&mut again).unwrap();
    assert_eq!(again, bytes);
    any.write_flat(&mut flat, &symbol).unwrap();
    any.write_folded(&mut folded, &symbol).unwrap();
    assert_eq!(flat, b"16 bytes 3\n64 bytes 1\n");
    assert_eq!(folded, flat);
}
