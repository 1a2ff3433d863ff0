// Whether each language has all words and all lessons of the page: node languages.mjs [WORDS OF THE SIMULATOR…]
//
// It prints what is missing or differs, a line for each, and ends with 1 if there is anything.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const lessons = join(web, "../lessons");
const named = process.argv.slice(2);
const read = (...path) => readFileSync(join(...path), "utf8");
const files = (folder) => readdirSync(folder).flatMap((name) => (statSync(join(folder, name)).isDirectory() ? files(join(folder, name)) : [join(folder, name)]));

/** English texts that calls of `t`, `pieces` and `word` have for their first arguments. What is compared with `===` is none. */
function* texts(source) {
  for (const { index, 0: call } of source.matchAll(/(?<!\w|\w\.)(?:t|pieces|word)\(/g)) {
    let depth = 0;
    for (const token of source.slice(index + call.length).matchAll(/(=== )?("(?:[^"\\]|\\.)*")|[()[\]{},]/g)) {
      if (token[2] && !token[1] && depth === 0) yield JSON.parse(token[2]);
      if ("([{".includes(token[0])) depth++;
      if (")]}".includes(token[0]) && --depth < 0) break;
      if (token[0] === "," && depth === 0) break;
    }
  }
}

/** Templates of `said!` in Rust, in the crates that speak to the page: outside of tests. */
function* templates(source) {
  for (const [, text] of source.split(/#\[cfg\(test\)\]\s*mod \w+ \{/)[0].matchAll(/said!\(\s*"((?:[^"\\]|\\[^])*)"/g)) {
    yield text.replaceAll(/\\\n\s*/g, "").replaceAll(/\\(["\\])/g, "$1");
  }
}

/** All English texts that a language has to give. */
function wanted() {
  const all = new Set(["English", /noScript = "(.*)"/.exec(read(web, "build.mjs"))[1]]);
  for (const file of files(join(web, "src"))) if (file.endsWith(".ts")) for (const text of texts(read(file))) all.add(text);
  for (const folder of ["teach/src", "isa/src"]) {
    for (const file of files(join(web, "../..", folder))) if (file.endsWith(".rs") && !file.endsWith("said.rs")) for (const text of templates(read(file))) all.add(text);
  }
  const programs = [...readdirSync(join(web, "examples")), ...readdirSync(join(web, "c")).filter((name) => name.endsWith(".c"))];
  for (const name of programs) all.add(name.replace(/^\d+-|(\.alpha)?\.[sc]$/g, "").replaceAll("-", " "));
  for (const name of named) all.add(name.replaceAll("_", " "));
  return all;
}

const places = (text) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort().join();
const ends = (text) => /^\s/.test(text) || /\s$/.test(text);

/** What is wrong with the words of a language. */
function* wordsLack(words) {
  const all = wanted();
  for (const text of all) if (!words[text]) yield `no translation of ${JSON.stringify(text)}`;
  for (const [text, translated] of Object.entries(words)) {
    if (named.length > 0 && !all.has(text)) yield `nothing of the page says ${JSON.stringify(text)}`;
    if (places(text) !== places(translated)) yield `${JSON.stringify(text)} has the places ${places(text)}, its translation ${places(translated)}`;
    if (text.split("|").length !== translated.split("|").length) yield `${JSON.stringify(text)} has other forms in its translation`;
    if (ends(text) || ends(translated)) yield `${JSON.stringify(text)} begins or ends with a blank`;
  }
}

const PROSE = /^(title:|about:|path:|hint:|why:|## |[*-] |\|)/;
const QUESTIONS = ["number", "choice", "predict", "next", "goal"];
const KEPT = /^(isa|machine|limit|answer|within|row|asks|goal|keep):/;

/** A line as every language has it: prose by its links, code, formulas and numbers, all else by its letters. */
function shape(line, fence, english) {
  if (line === "" || line.startsWith("```") || line === "---" || KEPT.test(line) || (fence && !QUESTIONS.includes(fence))) return line;
  const marks = [];
  const take = (pattern, mark) => (rest = rest.replace(pattern, (_, ...found) => (marks.push(mark(...found)), " ")));
  let rest = line.replace(/(\d)[,\u202f](?=\d{3}(?!\d))/g, "$1");
  take(/\]\(([^)]*)\)/g, (link) => `link ${link}`);
  take(/`([^`]*)`/g, (code) => `code ${(english[code] ?? code).replaceAll("_", " ")}`);
  take(/\$([^$]*)\$/g, (formula) => `formula ${formula.replaceAll(/\\mathrm\{[^}]*\}/g, "")}`);
  take(/(\d+(?:\.\d+)?)/g, (number) => `number ${number}`);
  return [PROSE.exec(line)?.[0] ?? "text", line.includes(" :: ") ? "with a reply" : "", ...marks.sort()].filter(Boolean).join(", ");
}

/** What differs between a lesson and its translation. */
function* lessonDiffers(original, translated, words) {
  const english = Object.fromEntries(Object.entries(words).map(([text, own]) => [own, text]));
  const [from, to] = [original.split("\n"), translated.split("\n")];
  let fence = "";
  for (const [at, line] of from.entries()) {
    const own = to[at] ?? "";
    if (line.startsWith("```")) fence = fence ? "" : line.slice(3).split(" ")[0];
    const [wanted, found] = [shape(line, fence, {}), shape(own, fence, english)];
    if (wanted !== found) yield `line ${at + 1} is \`${wanted}\`, and here \`${found}\``;
    if (wanted !== line && line.length > 30 && line === own) yield `line ${at + 1} is not translated`;
    // Emphasis names what stands on the page.
    for (const [, text] of line.matchAll(/(?<!\*)\*([^*]+)\*/g)) if (wanted !== line && words[text] && !own.includes(`*${words[text]}*`)) yield `line ${at + 1} names *${words[text]}* otherwise`;
  }
  if (from.length !== to.length) yield `${from.length} lines, and here ${to.length}`;
}

const said = [];
for (const file of readdirSync(join(web, "languages"))) {
  const code = file.replace(".json", "");
  const words = JSON.parse(read(web, "languages", file));
  for (const one of wordsLack(words)) said.push(`${file}: ${one}`);
  const [originals, own] = [lessons, join(lessons, code)].map((folder) => readdirSync(folder).filter((name) => name.endsWith(".md")));
  for (const name of own) if (!originals.includes(name)) said.push(`${code}/${name}: there is no such lesson`);
  for (const name of originals) {
    if (!own.includes(name)) said.push(`${code}/${name} is missing`);
    else for (const one of lessonDiffers(read(lessons, name), read(lessons, code, name), words)) said.push(`${code}/${name}: ${one}`);
  }
}
if (said.length > 0) console.log(said.join("\n"));
process.exit(said.length > 0 ? 1 : 0);
