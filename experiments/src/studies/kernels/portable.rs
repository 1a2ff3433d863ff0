//! One text for both instruction sets: the little of assembly that kernels need.
//!
//! Lines are those of RISC-V's assembler. For Alpha each becomes the one instruction that does the same.

use hps_system::image::Isa;

/// The text for an instruction set.
///
/// # Errors
/// A line that has no Alpha instruction here.
pub(super) fn text_for(isa: Isa, text: &str) -> Result<String, String> {
    let line = |line: &str| match isa {
        Isa::Riscv64 => Ok(line.replace("exit", "li a0, 0\nli a7, 93\necall")),
        Isa::Alpha => alpha(line).ok_or_else(|| format!("{line}: no instruction for Alpha")),
    };
    let lines: Result<Vec<String>, String> = text.lines().map(line).collect();
    Ok(lines?.join("\n"))
}

/// A line for Alpha.
fn alpha(line: &str) -> Option<String> {
    let (label, body) = match line.split_once(':') {
        Some((label, body)) => (format!("{label}: "), body.trim()),
        None => (String::new(), line.trim()),
    };
    let (word, rest) = body.split_once(' ').unwrap_or((body, ""));
    let operands: Vec<&str> = rest.split(',').map(str::trim).collect();
    let said = match (word, &operands[..]) {
        ("addi", [d, a, n]) => format!("lda {d}, {n}({a})"),
        ("add" | "sub" | "mul", [d, a, b]) => format!("{word}q {a}, {b}, {d}"),
        ("xor" | "and", [d, a, b]) => format!("{word} {a}, {b}, {d}"),
        ("andi", [d, a, n]) => format!("and {a}, {n}, {d}"),
        ("slli", [d, a, n]) => format!("sll {a}, {n}, {d}"),
        ("srli", [d, a, n]) => format!("srl {a}, {n}, {d}"),
        ("ld", [d, at]) => format!("ldq {d}, {at}"),
        ("sd", [d, at]) => format!("stq {d}, {at}"),
        ("mv", [d, a]) => format!("bis {a}, {a}, {d}"),
        ("bnez", [a, to]) => format!("bne {a}, {to}"),
        ("beqz", [a, to]) => format!("beq {a}, {to}"),
        ("j", [to]) => format!("br zero, {to}"),
        ("call", [to]) => format!("bsr ra, {to}"),
        ("jalr", [a]) => format!("jsr ra, ({a})"),
        ("ret", _) => "ret zero, (ra), 1".to_string(),
        ("exit", _) => "li a0, 0\nli v0, 1\ncallsys".to_string(),
        _ if word.is_empty() || word.starts_with('.') || word == "li" || word == "la" => {
            body.to_string()
        }
        _ => return None,
    };
    Some(label + &said)
}
