//! Against what `c++filt --format=dlang` of binutils 2.40 prints: names.txt holds a mangled name and its readable form
//! on each line. The second half of it are names of libphobos, and names in the older mangling.

use super::{MOST_DEPTH, demangle};
use crate::MAX_NAME_BYTES;

fn names() -> Vec<(&'static str, &'static str)> {
    let lines = include_str!("names.txt").lines();
    let names: Vec<_> = lines
        .map(|line| line.split_once(' ').expect("two forms"))
        .collect();
    assert!(names.len() > 140, "{}", names.len());
    names
}

/// The readable form of a name, or the name.
fn read(name: &str) -> String {
    let read = demangle(name).unwrap_or_else(|| name.to_owned());
    assert!(read.len() <= MAX_NAME_BYTES.max(name.len()), "{name}");
    read
}

#[test]
fn names_read_as_binutils_prints_them() {
    for (name, readable) in names() {
        assert_eq!(read(name), readable, "{name}");
        assert_eq!(crate::demangle(name), readable);
    }
}

#[test]
fn names_that_binutils_does_not_know_are_read() {
    for (name, readable) in [
        (
            "_D4test3fooFNkMKiNkMAxaZv",
            "test.foo(return scope ref int, return scope const(char)[])",
        ),
        (
            "_D3std11concurrency14FiberScheduler6createMFNbDFZvZ4wrapMQk",
            "std.concurrency.FiberScheduler.create(void() delegate).wrap()",
        ),
        (
            "_D4test3fooFDFNaiZvZ3barMxQn",
            "test.foo(void(int) pure delegate).bar(int) const",
        ),
        // There the title stands before all arguments.
        (
            "_D4test35__T3fooTkS22_D4test12__ModuleInfoZZ3fooFZv",
            "test.foo!(uint, ModuleInfo for test).foo()",
        ),
    ] {
        assert_eq!(read(name), readable, "{name}");
    }
}

#[test]
fn prefixes_of_names_come_back() {
    // But for those whose last type lacks its last names: it is not shown.
    let mut shorter = Vec::new();
    for (name, readable) in names() {
        for end in 0..name.len() {
            let prefix = &name[..end];
            let read = read(prefix);
            if read != prefix {
                assert_eq!(read, readable, "{prefix}");
                shorter.push(prefix);
            }
        }
    }
    assert_eq!(shorter.len(), 16, "{shorter:#?}");
}

#[test]
fn changed_names_come_back_or_show_the_change() {
    for (name, readable) in names() {
        for at in 0..name.len() {
            let changed = |to: char| format!("{}{to}{}", &name[..at], &name[at + 1..]);
            // A mark that stands in identifiers only: in those that are shown, and in those of a type that is not.
            let marked = changed('!');
            let read_marked = read(&marked);
            let shows = read_marked.contains('!') || read_marked == readable;
            assert!(read_marked == marked || shows, "{marked}: {read_marked}");
            for to in "09_AFGHMNPQSTVXZaeiqz\0é\u{10ffff}".chars() {
                read(&changed(to));
            }
        }
    }
}

#[test]
fn other_names_are_none() {
    for name in [
        "",
        "_",
        "_D",
        "_Dx",
        "_D1",
        "_D0",
        "_D0Z",
        "_D00Z",
        "D main",
        "main",
        "_Dmain2",
        "_DYNAMIC",
        "_D3foo",
        "_D4294967295fooZ",
        "_D99999999999999999999999fooZ",
        "_D3fooQaZ",
        "_D3fooQZ",
        "_D3fooQbZ",
        "_D6__initZ",
        "_D3fooFQaZv",
        "_D3fooFQbZv",
        "_D3fooFAQbZv",
        "_D3fooQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAaZ",
        "_D3foo__T3barVii1",
        "_D3foo__T3barVAyaa2_6+6-Zv",
        "_D3foo__T3barVai4294967296Zv",
        "_D3foo3bar4__S1Z",
        "_D1éZ",
        "_D3foo3barFzzZv",
        "_D3foo3barFNzZv",
        "_D3fooGZ",
        "_D3fooB9999999999999999Z",
        "_D3foo\0Z",
        "_D3foo__T3barVAiA99999999999Zv",
        "_D4core8builtins11__moduInfo_AxS2leRefZ",
    ] {
        assert_eq!(read(name), name);
    }
    assert_eq!(read("_D2éZ"), "é");
}

#[test]
fn names_inside_of_each_other_have_a_bound() {
    let depth = MOST_DEPTH as usize;
    // The mangled name, the qualified one, and `int`.
    let arrays = |count: usize| format!("_D3fooF{}iZv", "A".repeat(count));
    let fits = format!("foo(int{})", "[]".repeat(depth - 3));
    assert_eq!(read(&arrays(depth - 3)), fits);
    for name in [
        arrays(depth - 2),
        arrays(MAX_NAME_BYTES - 20),
        format!("_D3foo{}Z", "PF".repeat(2000)),
        format!("_D3foo{}Z", "xON".repeat(1000)),
        format!("_D{}3fooZ", "__T".repeat(1300)),
        format!("_D3foo__T3bar{}Z", "S_D3a".repeat(800)),
        format!("_D3foo__T3barVAi{}Z", "A1".repeat(2000)),
        format!("_D3foo__T3barVPFZv{}Z", "f_D3foo__T3barV".repeat(200)),
        format!("_D3foo{}Zv", "DFDM".repeat(1000)),
        format!("_D{}Z", "1aMF".repeat(1000)),
        format!("_D{}Z", "1aFC".repeat(1000)),
        format!("_D{}Z", "0".repeat(4000)),
        format!("_D3foo__T3barS{}Z", "0".repeat(4000)),
        format!("_D3foo__T3barS{}Z", "1".repeat(4000)),
    ] {
        assert_eq!(read(&name), name);
    }
}

#[test]
fn readable_forms_have_a_bound() {
    let repeated = |times: usize| {
        let references = (0..times).map(|at| reference(1004 + 4 * at));
        format!(
            "_D1000{}{}Z",
            "a".repeat(1000),
            references.collect::<String>()
        )
    };
    assert_eq!(read(&repeated(3)).len(), 4003);
    assert_eq!(read(&repeated(4)), repeated(4));
}

/// The text of a back reference to what lies so far before it.
fn reference(mut distance: usize) -> String {
    let mut digits = vec![char::from(b'a' + (distance % 26) as u8)];
    distance /= 26;
    while distance > 0 {
        digits.insert(0, char::from(b'A' + (distance % 26) as u8));
        distance /= 26;
    }
    format!("Q{}", digits.iter().collect::<String>())
}

/// A function whose parameters are types of two parts each, both of which are the type before.
fn doubled(first: &str, of: impl Fn(&str, &str) -> String, times: usize) -> String {
    let mut name = "_D3fooF".to_owned();
    let mut last = name.len();
    name.push_str(first);
    for _ in 0..times {
        let begin = name.len();
        // The references lie a little behind the beginning: the second one behind the first.
        let head = of("", "").find('|').expect("a mark");
        let one = reference(begin + head - last);
        let two = reference(begin + head + one.len() - last);
        let text = of(&one, &two).replace('|', "");
        name.push_str(&text);
        last = begin;
    }
    name + "Zv"
}

#[test]
fn names_that_double_have_a_bound() {
    let tuple = |one: &str, two: &str| format!("B2|{one}{two}");
    assert_eq!(
        read(&doubled("B1a", tuple, 2)),
        "foo(Tuple!(char), Tuple!(Tuple!(char), Tuple!(char)), \
         Tuple!(Tuple!(Tuple!(char), Tuple!(char)), Tuple!(Tuple!(char), Tuple!(char))))"
    );
    let table = |one: &str, two: &str| format!("H|{one}{two}");
    assert_eq!(
        read(&doubled("Aa", table, 1)),
        "foo(char[], char[][char[]])"
    );
    for times in [12, 20, 60, 100] {
        for name in [doubled("B1a", tuple, times), doubled("Aa", table, times)] {
            assert_eq!(read(&name), name);
        }
    }
    // A function's result type is read, but written nowhere.
    let returned = |times| {
        let type_ = doubled("B1a", tuple, times);
        format!("_D3fooFZ{}", &type_["_D3foo".len()..])
    };
    assert_eq!(read(&returned(8)), "foo()");
    assert_eq!(read(&returned(60)), returned(60));
}
