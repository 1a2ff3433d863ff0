// Lessons: their text, and whether answers are right.
//
// A lesson is a text file. Lines before the first `---` are `key: value` (title, about, isa, machine, limit). Then come
// parts, each begun by `--- KIND`:
//
//   --- text            paragraphs; `code`, *emphasis* and lists
//   --- program         assembly for this step and those behind it
//   --- builtin NAME    a program of the project instead
//   --- set             keys of the machine, `key = value`; an empty value takes one back
//   --- productions     a production file for this step and those behind it; without text, none
//   --- profilers       `level`, names with periods (`pebs 97`), `hps KIND BURST SPARSITY`
//   --- show VIEW       what the learner had better look at
//   --- number          a question: its text, then `answer: EXPRESSION`, `within: 5%`, `hint: ...`
//   --- choice          a question: its text, `* right`, `- wrong`, `hint: ...`
//   --- step            begins the next step
//
// Expressions name what the simulator measures, so that answers hold on any machine: `summary.cycles`,
// `core.branch_mispredicted_events`, `memory.NAME`, `stack.CAUSE` (share of slots), `analysis.cycles`, `error.PROFILER`,
// `truth.NAME`, `hps.accuracy`, `hps.overhead`, with `+ - * /` and parentheses.

export interface Question {
  id: string;
  kind: "number" | "choice";
  text: string;
  hint: string;
  /** An expression, of a number. */
  answer: string;
  within: string;
  options: { text: string; right: boolean }[];
}

export interface Step {
  texts: string[];
  program: string | undefined;
  builtIn: string | undefined;
  keys: Record<string, string>;
  productions: string | undefined;
  profilers: string | undefined;
  show: string | undefined;
  questions: Question[];
}

export interface Lesson {
  title: string;
  about: string;
  isa: string;
  machine: string;
  limit: number;
  steps: Step[];
}

/** What is wrong with a lesson's text. */
export class LessonError extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(`line ${line}: ${message}`);
  }
}

const KINDS = ["text", "program", "builtin", "set", "productions", "profilers", "show", "number", "choice", "step"];

const emptyStep = (): Step => ({
  texts: [],
  program: undefined,
  builtIn: undefined,
  keys: {},
  productions: undefined,
  profilers: undefined,
  show: undefined,
  questions: [],
});

/** Reads a lesson. */
export function parse(text: string, name: string): Lesson {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const head: Record<string, string> = {};
  let at = 0;
  for (; at < lines.length && !lines[at]!.startsWith("---"); at++) {
    const line = lines[at]!.trim();
    if (line === "" || line.startsWith("#")) continue;
    const colon = line.indexOf(":");
    if (colon < 0) throw new LessonError(at + 1, "write `key: value` before the first part");
    head[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  if (!head["title"]) throw new LessonError(1, "a lesson has a `title:`");
  const steps: Step[] = [emptyStep()];
  while (at < lines.length) {
    const begin = at;
    const [kind = "", ...rest] = lines[at]!.slice(3).trim().split(/\s+/);
    if (!KINDS.includes(kind)) throw new LessonError(begin + 1, `\`${kind}\` is no kind of part (${KINDS.join(", ")})`);
    const body: string[] = [];
    for (at++; at < lines.length && !lines[at]!.startsWith("---"); at++) body.push(lines[at]!);
    take(steps, kind, rest.join(" "), body, begin + 1, name);
  }
  return {
    title: head["title"],
    about: head["about"] ?? "",
    isa: head["isa"] ?? "riscv64",
    machine: head["machine"] ?? "hps-4wide",
    limit: Number(head["limit"] ?? 20_000),
    steps: steps.filter((step) => step.texts.length + step.questions.length > 0),
  };
}

function take(steps: Step[], kind: string, rest: string, body: string[], line: number, name: string): void {
  let step = steps[steps.length - 1]!;
  const text = body.join("\n").trim();
  switch (kind) {
    case "step":
      steps.push((step = emptyStep()));
      if (text) step.texts.push(text);
      break;
    case "text":
      step.texts.push(text);
      break;
    case "program":
      step.program = body.join("\n").replace(/\s+$/, "\n");
      break;
    case "builtin":
      step.builtIn = rest;
      break;
    case "productions":
      step.productions = text;
      break;
    case "profilers":
      step.profilers = text;
      break;
    case "show":
      step.show = rest;
      break;
    case "set":
      body.forEach((one, at) => {
        if (one.trim() === "") return;
        const match = /^\s*([\w.]+)\s*=\s*(.*)$/.exec(one);
        if (!match) throw new LessonError(line + at + 1, "write `section.key = value`");
        step.keys[match[1]!] = match[2]!.trim();
      });
      break;
    default:
      step.questions.push(question(kind as Question["kind"], body, line, `${name}/${steps.length}/${step.questions.length}`));
  }
}

function question(kind: Question["kind"], body: string[], line: number, id: string): Question {
  const asked: Question = { id, kind, text: "", hint: "", answer: "", within: "1%", options: [] };
  const text: string[] = [];
  for (const one of body) {
    const named = /^(answer|within|hint):\s*(.*)$/.exec(one);
    const option = /^([*-])\s+(.*)$/.exec(one);
    if (named) asked[named[1] as "answer" | "within" | "hint"] = named[2]!.trim();
    else if (kind === "choice" && option) asked.options.push({ text: option[2]!, right: option[1] === "*" });
    else text.push(one);
  }
  asked.text = text.join("\n").trim();
  if (kind === "number" && !asked.answer) throw new LessonError(line, "a number has an `answer:`");
  if (kind === "choice" && asked.options.filter((option) => option.right).length !== 1) {
    throw new LessonError(line, "a choice has exactly one right answer, marked by `*`");
  }
  return asked;
}

/** The value of an expression; `look` gives the values of names. */
export function evaluate(text: string, look: (name: string) => number | undefined): number {
  const tokens = text.match(/[A-Za-z_][\w.:-]*|\d+(?:\.\d+)?|[-+*/()]/g) ?? [];
  let at = 0;
  const factor = (): number => {
    const token = tokens[at++];
    if (token === undefined) throw new Error(`\`${text}\` ends early`);
    if (token === "-") return -factor();
    if (token === "(") {
      const value = sum();
      if (tokens[at++] !== ")") throw new Error(`\`${text}\` lacks a parenthesis`);
      return value;
    }
    if (/^\d/.test(token)) return Number(token);
    const value = look(token);
    if (value === undefined || Number.isNaN(value)) throw new Error(`\`${token}\` is nothing that was measured`);
    return value;
  };
  const product = (): number => {
    let value = factor();
    while (tokens[at] === "*" || tokens[at] === "/") {
      value = tokens[at++] === "*" ? value * factor() : value / factor();
    }
    return value;
  };
  const sum = (): number => {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-") {
      value = tokens[at++] === "+" ? value + product() : value - product();
    }
    return value;
  };
  const value = sum();
  if (at < tokens.length) throw new Error(`\`${tokens[at]}\` is one too many in \`${text}\``);
  return value;
}

/**
 * What a text means as a number: `44,631`, `44 631`, `40.8 %`, `40,8 percent`, `9 cycles`. A comma may be a decimal point
 * or part groups of three digits, so that some texts have two readings. A share that is asked for in percent may lack
 * the sign, or be written as a fraction.
 */
export function readings(text: string, percent: boolean): number[] {
  const match = /^[~≈=\s]*([-+]?)(\d[\d.,'’_\s]*(?:e[-+]?\d+)?)\s*(%|per\s*cent\b)?[a-z\s/]*\.?$/i.exec(text.trim());
  if (!match) return [];
  const [, sign, written, unit] = match;
  const digits = written!.replace(/['’_\s]/g, "").replace(/[.,]$/, "");
  const last = Math.max(digits.lastIndexOf("."), digits.lastIndexOf(","));
  const grouped = digits.replace(/[.,]/g, "");
  const pointed = last < 0 ? digits : `${digits.slice(0, last).replace(/[.,]/g, "")}.${digits.slice(last + 1)}`;
  const texts = new Set(/^\d{1,3}(,\d{3})+$|^\d{1,3}(\.\d{3}){2,}$/.test(digits) ? [grouped, pointed] : [pointed]);
  const numbers = [...texts].map((one) => Number(sign + one)).filter((one) => !Number.isNaN(one));
  if (unit) return numbers.map((one) => one / 100);
  return percent ? numbers.flatMap((one) => [one / 100, one]) : numbers;
}

/** Whether a number is near enough to the answer. */
export function isNear(given: number, wanted: number, within: string): boolean {
  const tolerance = within.endsWith("%") ? (Math.abs(wanted) * parseFloat(within)) / 100 : parseFloat(within);
  return Math.abs(given - wanted) <= tolerance + 1e-9;
}
