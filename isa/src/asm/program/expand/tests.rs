use super::super::{AssembledProgram, ProgramError, assemble};
use super::arguments::{Argument, arguments};
use super::{MOST_DEPTH, MOST_LINES};
use crate::isa::Isa;

fn program(text: &str) -> AssembledProgram {
    assemble(Isa::Riscv64, text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn wrong(text: &str) -> ProgramError {
    assemble(Isa::Riscv64, text).expect_err("it is wrong")
}

/// Both texts give the same file, but for what says where lines are.
fn same(short: &str, long: &str) {
    assert_eq!(program(short).file, program(long).file, "{short}");
}

#[test]
fn lines_are_repeated() {
    same(
        "nop\n.rept 3\naddi a0, a0, 1\nxor a1, a1, a0\n.endr\nret",
        "nop\naddi a0, a0, 1\nxor a1, a1, a0\naddi a0, a0, 1\nxor a1, a1, a0\naddi a0, a0, 1\nxor a1, a1, a0\nret",
    );
    same(
        ".equ N, 2\n.rept N + 1 # thrice\n.rept 2\nnop\n.endr\nret\n.endr",
        "nop\nnop\nret\nnop\nnop\nret\nnop\nnop\nret",
    );
    same("nop\n.rept 0\nno instruction\n.endr", "nop");
    same(
        ".data\n.rept 2\n.byte 1, 2\n.endr\n.text\nnop",
        ".data\n.byte 1, 2, 1, 2\n.text\nnop",
    );
    same(
        "a: .rept 2\nnop\n.endr\nj a\n.rept 1\nnop\nb: .endr\nj b",
        "a: nop\nnop\nj a\nnop\nb: j b",
    );
}

#[test]
fn macros_take_arguments_and_defaults() {
    let add =
        ".macro add2 to, by=1, of=\n addi \\to, \\to, \\by\n addi \\to, \\to, \\by\n\\of\n.endm\n";
    for (used, long) in [
        ("add2 a0", "addi a0, a0, 1\naddi a0, a0, 1"),
        ("add2 a0, 7", "addi a0, a0, 7\naddi a0, a0, 7"),
        ("ADD2 a0 7", "addi a0, a0, 7\naddi a0, a0, 7"),
        ("add2 by=7, to=a0", "addi a0, a0, 7\naddi a0, a0, 7"),
        (
            "add2 a0, of=\"add a1, a2, a3\"",
            "addi a0, a0, 1\naddi a0, a0, 1\nadd a1, a2, a3",
        ),
        ("add2 a0,,nop", "addi a0, a0, 1\naddi a0, a0, 1\nnop"),
        ("x: add2 a0\nj x", "x: addi a0, a0, 1\naddi a0, a0, 1\nj x"),
    ] {
        same(&format!("{add}{used}"), long);
    }
    same(
        ".macro f a\nl\\a\\()_\\@: j l\\a\\()_\\@\n.endm\n f 3\n f 3",
        "l3_0: j l3_0\nl3_1: j l3_1",
    );
    // The number of the outer one stays while the inner one counts.
    same(
        ".macro in\nin\\@:\n.endm\n.macro out\nout\\@: in\nin\nj out\\@\n.endm\nout\nout\nj in5",
        "a: j a\nb: j b\nj b",
    );
    same(
        ".macro make n, m\n.macro put\\n x\nli a0, \\x + \\m\n.endm\n.endm\nmake 5, 2\nput5 1\nput5 3",
        "li a0, 3\nli a0, 5",
    );
    same(
        ".macro some n\n.rept \\n\nnop\n.endr\n.endm\n.rept 2\nsome 2\nret\n.endr",
        "nop\nnop\nret\nnop\nnop\nret",
    );
    // A name that is no parameter stays.
    same(
        ".macro say a\n.data\n.asciz \"\\a\\n\\\\\"\n.text\n.endm\nsay \"x, y\"\nnop",
        ".data\n.asciz \"x, y\\n\\\\\"\n.text\nnop",
    );
    // A macro hides an instruction of its name, and ends itself by a count of 0.
    same(".macro ret\nnop\n.endm\nret", "nop");
    same(
        ".macro down n\nli a0, \\n\n.rept \\n\ndown \\n - 1\n.endr\n.endm\ndown 2",
        "li a0, 2\nli a0, 1\nli a0, 0\nli a0, 1\nli a0, 0",
    );
}

#[test]
fn arguments_are_separated_as_gnu_does() {
    // The GNU assembler has put these between [ and ] with | between them.
    for (text, expected) in [
        ("", ""),
        ("1", "1"),
        ("1, 2, x", "1|2|x"),
        ("1 2 x", "1|2|x"),
        ("1 + 2, 3 - 1, x + y", "1+2|3-1|x+y"),
        ("1,,z", "1||z"),
        ("(1 + 2), 3, \"x, y\"", "(1+2)|3|x, y"),
        ("1 -1 z", "1-1|z"),
        ("a - 1", "a-1"),
        ("a(1), b", "a(1)|b"),
        ("a(1) b", "a(1)b"),
        ("8 (sp)", "8(sp)"),
        ("(1, 2), 3", "(1|2)|3"),
        ("[1 2], 3", "[1 2]|3"),
        ("1, 2, \"a\\\"b\"", "1|2|a\\\"b"),
        ("\"1\" \"2\"", "1|2"),
        ("1,2,", "1|2"),
        ("a ,b ,c", "a|b|c"),
        ("a . b", "a|.|b"),
        ("!a b", "!a|b"),
        ("~a ~b", "~a~b"),
        ("a0, -8(sp)", "a0|-8(sp)"),
        // There, a character is its code.
        ("' ', ',', 'x'", "' '|','|'x'"),
    ] {
        let all: Vec<String> = arguments(text).into_iter().map(|one| one.text).collect();
        assert_eq!(all.join("|"), expected, "{text}");
    }
    let named = |name: &str, text: &str| Argument {
        name: Some(name.to_owned()),
        text: text.to_owned(),
    };
    assert_eq!(
        arguments("a = 3, b==3 c=\"x, y\" d="),
        [
            named("a", "3"),
            named("b", "=3"),
            named("c", "x, y"),
            named("d", "")
        ]
    );
    for odd in [
        "\"", "'", "a\"b", "((((", "))))", ",,,,", "\\", "é ü", "\"\\",
    ] {
        arguments(odd);
    }
}

#[test]
fn lines_are_those_that_were_written() {
    let text = ".macro two a\n addi \\a, \\a, 1\n ret\n.endm\n.rept 2\n nop\n two a0\n.endr\n li a0, 0x12345";
    let lines: Vec<usize> = program(text).lines.iter().map(|&(_, line)| line).collect();
    assert_eq!(lines, [6, 2, 3, 6, 2, 3, 9, 9]);
}

#[test]
fn errors_name_the_line_and_the_use() {
    let define = ".macro m a, b=5\n nop\n addi a0, \\a, \\b\n.endm\n";
    let deep = ".macro outer\n m q7\n.endm\n";
    for (text, line, column, says) in [
        (
            ".rept 2\nnop\n addd a0\n.endr".to_owned(),
            3,
            2,
            &["addd"][..],
        ),
        (
            format!("{define}nop\n m q9"),
            3,
            11,
            &["q9", ", in macro m, used in line 6"],
        ),
        // Behind what was replaced, columns are those of the first that was.
        (format!("{define} m a0, q9"), 3, 11, &["q9"]),
        (
            ".macro o x\n.macro i y\n addi \\x, a0, \\y\n.endm\n.endm\no a0\ni q9".to_owned(),
            3,
            7,
            &["q9", ", in macro i, used in line 7"],
        ),
        (
            format!("{define}{deep}outer"),
            3,
            11,
            &["q7", ", in macro m, used in line 6"],
        ),
        (
            format!("{define} m 1, 2, 3"),
            5,
            2,
            &["too many", "`m`", "(a, b)"],
        ),
        (
            format!("{define} m 1, c=2"),
            5,
            2,
            &["no parameter `c`", "(a, b)"],
        ),
        (format!("{define} m b=1, 2"), 5, 2, &["without a name"]),
        (format!("{define} m 1, a=2"), 5, 2, &["`a`", "twice"]),
        (format!("{define}{define}"), 5, 1, &["`m` is defined twice"]),
        (
            ".macro l\nx: nop\n.endm\nl\nl".to_owned(),
            2,
            1,
            &["`x` is defined twice", "used in line 5"],
        ),
        (
            ".macro g\n.globl f\n.endm\nnop\ng".to_owned(),
            2,
            1,
            &["no label", "used in line 5"],
        ),
        (
            ".macro m\n.endm\nm 1".to_owned(),
            3,
            1,
            &["too many", "it has none"],
        ),
        (
            "nop\n .rept 2\nnop".to_owned(),
            2,
            2,
            &["`.rept` has no end", "`.endr`"],
        ),
        (
            ".rept 2\n.rept 2\nnop\n.endr".to_owned(),
            1,
            1,
            &["`.rept` has no end"],
        ),
        (
            "nop\n.macro a".to_owned(),
            2,
            1,
            &["`.macro` has no end", "`.endm`"],
        ),
        (
            ".rept 2\n.macro a\n.endr\n.endm".to_owned(),
            2,
            1,
            &["`.macro` has no end"],
        ),
        ("nop\n .endr".to_owned(), 2, 2, &["no `.rept`", "`.endr`"]),
        (
            ".rept 1\nnop\n.endr\n.endr".to_owned(),
            4,
            1,
            &["no `.rept`"],
        ),
        ("l: .endm".to_owned(), 1, 4, &["no `.macro`", "`.endm`"]),
        (".rept\n.endr".to_owned(), 1, 1, &["write `.rept COUNT`"]),
        (
            ".rept x\n.endr\nx: nop".to_owned(),
            1,
            7,
            &["`x` is neither"],
        ),
        (".rept -1\n.endr".to_owned(), 1, 1, &["less than 0"]),
        (".macro\n.endm".to_owned(), 1, 1, &["write `.macro NAME`"]),
        (
            ".macro .word a\n.endm".to_owned(),
            1,
            1,
            &["write `.macro NAME`"],
        ),
        (".macro m a, a\n.endm".to_owned(), 1, 1, &["`a` twice"]),
        (
            ".macro m a:req\n.endm".to_owned(),
            1,
            1,
            &["`a:req` is no parameter"],
        ),
        (
            ".macro m\n.endm\n.irp x, 1\n.endr".to_owned(),
            3,
            1,
            &["`.irp`"],
        ),
    ] {
        let error = wrong(&text);
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{text}\n{error}"
        );
        for says in says {
            assert!(error.message.contains(says), "{text}\n{error}");
        }
        assert_eq!(
            error.message.matches("in macro").count(),
            usize::from(error.message.contains("used in"))
        );
    }
}

#[test]
fn what_never_ends_is_refused() {
    let error = wrong(".macro m\n nop\n m\n.endm\nnop\nm");
    assert_eq!((error.line, error.column), (3, 2));
    assert!(
        error
            .message
            .starts_with("macro `m` uses itself, 64 deep by now: repeat lines by `.rept COUNT`")
    );
    assert!(
        error.message.ends_with(", in macro m, used in line 3"),
        "{error}"
    );
    let error = wrong(".macro a\nb\n.endm\n.macro b\na\n.endm\nb");
    assert!(error.message.contains("`b` uses itself") || error.message.contains("`a` uses itself"));

    let nested = |depth: usize| {
        format!(
            "{}nop\n{}",
            ".rept 1\n".repeat(depth),
            ".endr\n".repeat(depth)
        )
    };
    assert_eq!(
        program(&nested(MOST_DEPTH)).lines,
        [(super::super::CODE, MOST_DEPTH + 1)]
    );
    let error = wrong(&nested(MOST_DEPTH + 1));
    assert_eq!(error.line, MOST_DEPTH + 1);
    assert!(
        error.message.contains("lie inside of each other"),
        "{error}"
    );
}

#[test]
fn much_has_a_bound() {
    let bytes = |count: usize| format!(".data\n.rept {count}\n.byte 1\n.endr\n.text\nnop");
    program(&bytes(MOST_LINES));
    let error = wrong(&bytes(MOST_LINES + 1));
    assert_eq!((error.line, error.column), (3, 1));
    assert!(
        error.message.starts_with(&format!(
            "more than {MOST_LINES} lines come of `.rept` and macros"
        )),
        "{error}"
    );
    program("nop\n.rept 9000000000000000000\n.endr");
    for (text, line) in [
        ("nop\n.rept 9000000000000000000\n\n.endr".to_owned(), 3),
        (
            "nop\n.rept 9000000000\n.rept 9000000000\n.endr\n.endr".to_owned(),
            3,
        ),
        // Never repeated, but looked at again and again.
        (
            format!(
                "nop\n.rept 500000\n.rept 0\n{}.endr\n.endr",
                "nop\n".repeat(1000)
            ),
            3,
        ),
        (
            format!("nop\n.rept 500000\n# {}\n.endr", "x".repeat(1000)),
            3,
        ),
        // Each is twice as long.
        (".macro m a\n m \\a\\a\n.endm\nm xxxxxxxx".to_owned(), 2),
        (
            format!(".macro m a\n m {}\n.endm\nm x", "\\a".repeat(1000)),
            2,
        ),
    ] {
        let error = wrong(&text);
        assert!(error.line >= line, "{error}");
        assert!(
            error.message.contains("come of `.rept` and macros"),
            "{error}"
        );
    }
}
