// Compiles the C programs of `c/` into assembly that says the line of C beside each instruction (`# 12`):
// `node c.mjs FOLDER COMPILER`. Run it by scripts/build-teach-c.sh.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder, compiler] = process.argv.slice(2);
const options = ["-O1", "-g1", "-S", "-o", "-", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-fno-pic", "-ffreestanding", "-fno-common",
  "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-fno-section-anchors", "-fno-tree-loop-distribute-patterns", "-fno-inline", "-fno-reorder-functions", "-msmall-data-limit=0"];
const DATA = /^\.(zero|byte|half|word|dword|string|ascii|asciz|2byte|4byte|8byte)$/;

/** An instruction without the forms that name a symbol as memory: its address comes first. */
function plain(name, operands) {
  if (name === "lla") return [["la", operands]];
  const [, register, symbol, by] = operands.match(/^(\w+),([A-Za-z_.][\w.]*(?:\+\d+)?)(?:,(\w+))?$/) ?? [];
  if (!/^f?[ls][bhwd]u?$/.test(name) || symbol === undefined) return [[name, operands]];
  const address = by ?? register;
  return [["la", `${address},${symbol}`], [name, `${register},0(${address})`]];
}

/** Text with numbers behind backslashes as bytes, which this project's assembler reads otherwise. */
function data(name, operand) {
  if (!/^\.(string|ascii|asciz)$/.test(name) || !/\\[0-7]/.test(operand)) return `${name} ${operand}`;
  const bytes = [...operand.slice(1, -1).matchAll(/\\([0-7]{1,3})|\\(.)|(.)/g)].map(([, octal, escaped, plain]) =>
    octal ? parseInt(octal, 8) : ({ n: 10, t: 9 }[escaped] ?? (escaped ?? plain).charCodeAt(0)));
  return `.byte ${[...bytes, ...(name === ".ascii" ? [] : [0])].join(", ")}`;
}

/** The text without what only an assembler of objects needs. */
function clean(text) {
  const name = (label) => label.replace(/^\.L/, "L").replaceAll(".", "_");
  const out = [];
  let [line, keeps] = [0, true];
  for (const raw of text.split("\n")) {
    const words = raw.trim().split(/\s+/);
    const [first, rest] = [words[0], raw.trim().slice(words[0].length).trim()];
    if (first === ".loc") line = Number(words[2]);
    else if (first === ".section" || first === ".text" || first === ".data" || first === ".bss") {
      keeps = !/debug|note/.test(rest);
      if (keeps) out.push({ text: `        ${/text/.test(first + rest) ? ".text" : ".data"}` });
    } else if (!keeps) continue;
    else if (/^[\w.$]+:$/.test(first)) out.push({ label: first.slice(0, -1) });
    else if (DATA.test(first) || first === ".align" || first === ".globl") out.push({ text: `        ${data(first, rest)}` });
    else if (first !== "" && !/^[.#]/.test(first)) for (const [first, rest] of plain(words[0], raw.trim().slice(words[0].length).trim())) out.push({ text: `        ${first.padEnd(6)} ${rest.replaceAll(",", ", ")}`.trimEnd(), line });
  }
  const used = new Set(out.flatMap(({ text }) => text?.match(/\.L\w+/g) ?? []));
  const kept = out.filter(({ label }) => label === undefined || !label.startsWith(".L") || used.has(label));
  const named = (text) => text.replace(/\.L\w+|\b[a-zA-Z_]\w*\.\d+/g, name);
  return kept.map(({ label, text, line }) => (label ? `${name(label)}:` : line ? `${named(text).padEnd(40)} # ${line}` : named(text))).join("\n");
}

const start = "# Compiled from C: the number behind # is the line of C.\n_start: call   main\n        li     a7, 93\n        ecall\n";
const runtime = readFileSync(join(folder, "runtime.s"), "utf8");
for (const file of readdirSync(folder).filter((name) => name.endsWith(".c"))) {
  const text = execFileSync(compiler, [...options, join(folder, file)], { encoding: "utf8" });
  writeFileSync(join(folder, file.replace(/c$/, "s")), `${start}${clean(text)}\n        .text${runtime}`);
}
