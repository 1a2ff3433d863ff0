// The page's words in the language that is chosen. English stands in the sources; a file of `languages/` gives each
// English text in its own, and a folder of `../lessons/` has the lessons.

import type { Sentence } from "./types";

interface Language {
  words: Record<string, string>;
  /** Texts of lessons by the names of their files. */
  lessons: Record<string, string>;
}

const others = JSON.parse(document.getElementById("languages")!.textContent!) as Record<string, Language>;

/** Codes of all languages, with the names that they give themselves. */
export const LANGUAGES: [string, string][] = [["en", "English"], ...Object.entries(others).map(([code, { words }]): [string, string] => [code, words["English"] ?? code])];

/** The language that `?lang=de` in the address names, else the first one of the browser's that the page has. */
export const language: string =
  [new URLSearchParams(location.search).get("lang") ?? "", ...navigator.languages]
    .map((code) => code.slice(0, 2).toLowerCase())
    .find((code) => LANGUAGES.some(([known]) => known === code)) ?? "en";

const words = others[language]?.words ?? {};

/** The text of a lesson in the language, or as it was written. */
export const lessonText = (name: string, english: string): string => others[language]?.lessons[name] ?? english;

type Value = string | number;

/** The texts of a lesson in all languages but English. */
export const translations = (name: string): string[] => Object.values(others).flatMap(({ lessons }) => lessons[name] ?? []);

/** A text in its parts, so that elements may stand at its `{places}`. */
export function pieces(english: string, values: Record<string, Value | Node>): (string | Node)[] {
  // `{n} cycle|{n} cycles`: the first form is for one, the last one for every other number.
  const forms = (words[english] ?? english).split("|");
  const form = forms[String(values["n"]) === "1" ? 0 : forms.length - 1]!;
  return form.split(/\{(\w+)\}/).map((piece, at) => {
    const value = at % 2 === 0 ? piece : (values[piece] ?? "");
    return value instanceof Node ? value : String(value);
  });
}

/** A text in the language, with values at its `{places}`. */
export const t = (english: string, values: Record<string, Value> = {}): string => pieces(english, values).join("");

/** A name that the simulator gives to an event, a unit, or a state and its cause (`stalled:load_memory`). */
export const word = (name: string): string => name.replaceAll("_", " ").split(/: ?/).map((one) => t(one)).join(": ");

/** A sentence of the simulator. Names of cores, and of what they share, are put into the language, too. */
export const sentence = ({ text, values }: Sentence): string =>
  t(text, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, /^core \d+$/.test(value) ? nameOf(value) : value])));

/** The name of a hardware context (`core 1, context 0`), or of who sends and receives messages (`core 1`, `level 2`). */
export function nameOf(part: string): string {
  const names = part.split(", ").map((one) => {
    const [what = "", n = ""] = one.split(" ");
    return what === "core" ? t("core {n}", { n }) : what === "context" ? t("context {n}", { n }) : word(one);
  });
  return names.join(", ");
}
