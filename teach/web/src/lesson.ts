// Lessons: Markdown files, what is checked of them, and whether answers are right.
//
// `docs/formats/lessons.md` describes the format: keys between two lines of `---`, text, and fenced blocks whose first
// word says what they are. `## Title` begins a step.

import { Lexer, Marked, type Tokens } from "marked";
import temml from "temml";
import { t } from "./language";

export type QuestionKind = "number" | "choice" | "predict" | "next" | "goal";

export interface Option {
  text: string;
  right: boolean;
  /** What is said to who chooses it. */
  reply: string;
}

export interface Question {
  id: string;
  kind: QuestionKind;
  text: string;
  hint: string;
  /** What is said behind a right answer. */
  why: string;
  /** An expression, of a number. */
  answer: string;
  within: string;
  options: Option[];
  /** Words of the instruction that is asked for, and what is asked of it. */
  row: string;
  asks: string;
  /** Comparisons that a goal has, joined by `and`. */
  goal: string;
  /** What a goal leaves as it is: `program`, `machine`. */
  keep: string;
  /** Keys of the machine or a program that reach the goal. */
  solution: { program?: string; keys?: Record<string, string>; profilers?: string } | undefined;
}

export type Part = { text: string } | { picture: string; about: string } | { question: Question };

export interface Step {
  title: string;
  parts: Part[];
  questions: Question[];
  program: string | undefined;
  builtIn: string | undefined;
  keys: Record<string, string>;
  productions: string | undefined;
  profilers: string | undefined;
  show: string | undefined;
}

/** The keys of a lesson. */
export interface Head {
  title: string;
  about: string;
  path: string;
  isa: string;
  machine: string;
  limit: number;
}

export interface Lesson extends Head {
  steps: Step[];
}

/** What is wrong with a lesson's text. */
export class LessonError extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(t("line {line}: {message}", { line, message }));
  }
}

const HEAD = ["title", "about", "path", "isa", "machine", "limit"];
const QUESTIONS = ["number", "choice", "predict", "next", "goal"];
const FENCES = ["program", "builtin", "set", "productions", "profilers", "show", "picture", "solution", ...QUESTIONS];
const GROUPS = ["summary", "core", "memory", "stack", "analysis", "error", "truth", "states", "hps"];
const ASKS: Record<string, string[]> = { predict: ["issue", "execute", "complete", "commit"], next: ["issue", "commit"] };
/** Fields of questions; each kind has some of them. */
const FIELDS: Record<string, string[]> = {
  number: ["answer", "within", "hint", "why"],
  choice: ["hint", "why"],
  predict: ["row", "asks", "within", "hint", "why"],
  next: ["asks", "hint", "why"],
  goal: ["goal", "keep", "hint", "why"],
};
/** Links of a text: what stands in front of the colon. */
const LINKS = ["row", "block", "tab", "counter", "view", "table", "cycle", "set"];
export const BLOCKS = ["coherence", "predictors", "fetch", "rob", "commit", "icache", "stations", "units", "stores", "level2", "dcache", "loads", "decode", "memory", "one"];

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Markdown without HTML of its own. Links point into the page, pictures are data. */
const marked = new Marked({
  extensions: [
    {
      name: "formula",
      level: "inline",
      start: (text: string) => text.indexOf("$"),
      tokenizer(text: string) {
        const match = /^\$([^$\n]+)\$/.exec(text);
        return match ? { type: "formula", raw: match[0], text: match[1] } : undefined;
      },
      renderer: (token) => temml.renderToString(token["text"] as string, { throwOnError: false }),
    },
  ],
  renderer: {
    html: ({ text }) => escaped(text),
    link({ href, tokens }) {
      return `<a href="#" role="button" data-to="${escaped(decodeURI(href))}">${this.parser.parseInline(tokens)}</a>`;
    },
    image: ({ href, text }) => (href.startsWith("data:image/") ? `<img src="${escaped(href)}" alt="${escaped(text)}">` : escaped(text)),
  },
});

/** The HTML of a text. Words of a link may have blanks between them, which Markdown wants in angle brackets. */
export const html = (text: string): string => marked.parse(text.replaceAll(/\]\((\w+:[^<>()]* [^<>()]*)\)/g, "](<$1>)"), { async: false });

const emptyStep = (title: string): Step => ({
  title,
  parts: [],
  questions: [],
  program: undefined,
  builtIn: undefined,
  keys: {},
  productions: undefined,
  profilers: undefined,
  show: undefined,
});

/** Reads the keys of a lesson; gives them and the text behind them. */
export function headOf(text: string): [head: Head, body: string, lines: number] {
  const source = text.replaceAll("\r\n", "\n");
  const front = /^---\n([\s\S]*?)\n---\n/.exec(source);
  if (!front) throw new LessonError(1, t("a lesson begins with `---`, keys, and `---`"));
  const head: Record<string, string> = {};
  front[1]!.split("\n").forEach((line, at) => {
    if (line.trim() === "") return;
    const colon = line.indexOf(":");
    const key = line.slice(0, colon).trim();
    if (colon < 0 || !HEAD.includes(key)) throw new LessonError(at + 2, t("write `key: value` with a key of {keys}", { keys: HEAD.join(", ") }));
    head[key] = line.slice(colon + 1).trim();
  });
  if (!head["title"]) throw new LessonError(2, t("a lesson has a `title:`"));
  const limit = Number(head["limit"] ?? 20_000);
  if (!(limit > 0)) throw new LessonError(2, t("`limit:` is a number of instructions"));
  const keys: Head = {
    title: head["title"],
    about: head["about"] ?? "",
    path: head["path"] ?? "",
    isa: head["isa"] ?? "riscv64",
    machine: head["machine"] ?? "hps-4wide",
    limit,
  };
  return [keys, source.slice(front[0].length), front[0].split("\n").length];
}

/** The number of questions in a lesson's text. */
export const questionsIn = (text: string): number => text.match(new RegExp(`^\`\`\`(${QUESTIONS.join("|")})\\b`, "gm"))?.length ?? 0;

/** Reads a lesson. */
export function parse(text: string, name: string): Lesson {
  const [head, body, first] = headOf(text);
  const steps: Step[] = [emptyStep("")];
  let line = first;
  for (const token of new Lexer().lex(body)) {
    take(steps, token as Tokens.Generic, line, name);
    line += token.raw.split("\n").length - 1;
  }
  const filled = steps.filter((step) => step.parts.length > 0);
  if (filled.length === 0) throw new LessonError(line, t("a lesson has a step with a text"));
  return { ...head, steps: filled };
}

function take(steps: Step[], token: Tokens.Generic, line: number, name: string): void {
  const step = steps[steps.length - 1]!;
  if (token.type === "heading" && token["depth"] === 2) {
    steps.push(emptyStep(String(token["text"])));
  } else if (token.type === "code" && token["lang"]) {
    fence(steps, step, String(token["lang"]), String(token["text"]), line, name);
  } else if (token.type !== "space") {
    checkLinks(token.raw, line);
    const last = step.parts[step.parts.length - 1];
    if (last && "text" in last) last.text += `\n${token.raw}\n`;
    else step.parts.push({ text: `${token.raw}\n` });
  }
}

function checkLinks(text: string, line: number): void {
  for (const [, href] of text.replaceAll(/`[^`]*`/g, "").matchAll(/(?<!!)\[[^\]]*\]\(<?([^)>]*)>?\)/g)) {
    const [kind, value] = href!.split(/:(.*)/s);
    if (!LINKS.includes(kind!) || !value) throw new LessonError(line, t("`{link}` leads nowhere: write {kinds}:", { link: href!, kinds: LINKS.join(":, ") }));
    if (kind === "block" && !BLOCKS.includes(value)) throw new LessonError(line, t("there is no block `{name}` ({blocks})", { name: value, blocks: BLOCKS.join(", ") }));
  }
}

/** `key = value` in lines. */
function settings(body: string, line: number): Record<string, string> {
  const keys: Record<string, string> = {};
  body.split("\n").forEach((one, at) => {
    if (one.trim() === "") return;
    const match = /^\s*([\w.]+)\s*=\s*(.*)$/.exec(one);
    if (!match) throw new LessonError(line + 1 + at, t("write `section.key = value`"));
    keys[match[1]!] = match[2]!.trim();
  });
  return keys;
}

function fence(steps: Step[], step: Step, lang: string, body: string, line: number, name: string): void {
  const [kind = "", ...words] = lang.split(/\s+/);
  const rest = words.join(" ");
  if (QUESTIONS.includes(kind)) {
    const asked = question(kind as QuestionKind, body.split("\n"), line, `${name}/${steps.length}/${step.questions.length}`);
    step.questions.push(asked);
    step.parts.push({ question: asked });
    return;
  }
  switch (kind) {
    case "program":
      step.program = `${body.trimEnd()}\n`;
      break;
    case "builtin":
      step.builtIn = rest;
      break;
    case "set":
      Object.assign(step.keys, settings(body, line));
      break;
    case "productions":
      step.productions = body.trim();
      break;
    case "profilers":
      step.profilers = body.trim();
      break;
    case "show":
      if (!["pipeline", "compare", "dise", "profilers"].includes(rest)) throw new LessonError(line, t("there are the views pipeline, compare, dise and profilers"));
      step.show = rest;
      break;
    case "picture":
      if (!rest) throw new LessonError(line, t("a picture has words that say what it shows: ```picture WORDS"));
      step.parts.push({ picture: body, about: rest });
      break;
    case "solution": {
      const goal = step.questions[step.questions.length - 1];
      if (goal?.kind !== "goal") throw new LessonError(line, t("a solution stands behind its goal"));
      if (rest === "profilers") goal.solution = { profilers: body };
      else goal.solution = rest === "program" ? { program: `${body.trimEnd()}\n` } : { keys: settings(body, line) };
      break;
    }
    default:
      throw new LessonError(line, t("`{name}` is no kind of block ({kinds})", { name: kind, kinds: FENCES.join(", ") }));
  }
}

function question(kind: QuestionKind, body: string[], line: number, id: string): Question {
  const asked: Question = {
    id,
    kind,
    text: "",
    hint: "",
    why: "",
    answer: "",
    within: kind === "predict" ? "0" : "1%",
    options: [],
    row: "",
    asks: kind === "next" ? "commit" : "complete",
    goal: "",
    keep: "",
    solution: undefined,
  };
  const text: string[] = [];
  body.forEach((one, at) => {
    const named = /^([a-z]+):\s+(.*)$/.exec(one);
    const option = /^([*-])\s+(.*)$/.exec(one);
    if (named && FIELDS[kind]!.includes(named[1]!)) {
      (asked as unknown as Record<string, string>)[named[1]!] = named[2]!.trim();
    } else if (kind === "choice" && option) {
      const [words = "", reply = ""] = option[2]!.split(" :: ");
      asked.options.push({ text: words.trim(), right: option[1] === "*", reply: reply.trim() });
      if (option[1] === "-" && !reply) throw new LessonError(line + 1 + at, t("a wrong answer has its reply: `- WORDS :: REPLY`"));
    } else text.push(one);
  });
  asked.text = text.join("\n").trim();
  const wrong = (message: string): never => {
    throw new LessonError(line, message);
  };
  if (!asked.text) wrong(t("a question has a text"));
  if (kind === "number") asked.answer ? check(asked.answer, wrong) : wrong(t("a number has an `answer:`"));
  if (kind === "choice" && asked.options.filter((option) => option.right).length !== 1) wrong(t("a choice has exactly one right answer, marked by `*`"));
  if (kind === "predict" && !asked.row) wrong(t("a prediction has a `row:`, words of the instruction"));
  if (ASKS[kind] && !ASKS[kind]!.includes(asked.asks)) wrong(t("`asks:` is one of {words}", { words: ASKS[kind]!.join(", ") }));
  if (kind === "goal") {
    if (!asked.goal) wrong(t("a goal has a `goal:`, a comparison"));
    comparisons(asked.goal, wrong).forEach(([left, , right]) => [left, right].forEach((one) => check(one, wrong)));
  }
  return asked;
}

/** An expression that has only known names. */
function check(expression: string, wrong: (message: string) => never): void {
  const known = (name: string) => (GROUPS.includes(name.split(".")[0]!) && name.includes(".") ? 1 : undefined);
  try {
    evaluate(expression, known);
  } catch (error) {
    wrong(error instanceof Error ? error.message : String(error));
  }
}

/** The comparisons of a goal: left, sign, right. */
export function comparisons(goal: string, wrong: (message: string) => never): [string, string, string][] {
  return goal.split(/\s+and\s+/).map((one) => {
    const match = /^(.+?)\s*(<=|>=|<|>|=)\s*(.+)$/.exec(one);
    return match ? [match[1]!, match[2]!, match[3]!] : wrong(t("`{words}` is no comparison: write A < B", { words: one }));
  });
}

export function holds(left: number, sign: string, right: number): boolean {
  switch (sign) {
    case "<":
      return left < right;
    case ">":
      return left > right;
    case "<=":
      return left <= right;
    case ">=":
      return left >= right;
    default:
      return left === right;
  }
}

/** The options in an order that depends on the question and on who learns, and not on the order in the file. */
export function shuffled<T>(options: T[], seed: string): T[] {
  let state = 2166136261;
  for (const letter of seed) state = Math.imul(state ^ letter.charCodeAt(0), 16777619);
  const random = (): number => {
    state = Math.imul(state ^ (state >>> 15), 2246822519) + 1;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const all = [...options];
  for (let at = all.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [all[at], all[other]] = [all[other]!, all[at]!];
  }
  return all;
}

/** The value of an expression; `look` gives the values of names. */
export function evaluate(text: string, look: (name: string) => number | undefined): number {
  const tokens = text.match(/[A-Za-z_][\w.:-]*|\d+(?:\.\d+)?|[-+*/()]/g) ?? [];
  let at = 0;
  const factor = (): number => {
    const token = tokens[at++];
    if (token === undefined) throw new Error(t("`{text}` ends early", { text }));
    if (token === "-") return -factor();
    if (token === "(") {
      const value = sum();
      if (tokens[at++] !== ")") throw new Error(t("`{text}` lacks a parenthesis", { text }));
      return value;
    }
    if (/^\d/.test(token)) return Number(token);
    const value = look(token);
    if (value === undefined || Number.isNaN(value)) throw new Error(t("`{name}` is nothing that was measured", { name: token }));
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
  if (at < tokens.length) throw new Error(t("`{token}` is one too many in `{text}`", { token: tokens[at]!, text }));
  return value;
}

/**
 * What a text means as a number: `44,631`, `44 631`, `40.8 %`, `40,8 Prozent`, `9 cycles`. A comma may be a decimal point
 * or part groups of three digits, so that some texts have two readings. A share that is asked for in percent may lack
 * the sign, or be written as a fraction.
 */
export function readings(text: string, percent: boolean): number[] {
  const match = /^[~≈=\s]*([-+]?)(\d[\d.,'’_\s]*(?:e[-+]?\d+)?)\s*(%|per\s*cent\b|prozent\b)?[\p{L}\s/]*\.?$/iu.exec(text.trim());
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
