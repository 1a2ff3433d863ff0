// Bundles the page: `node build.mjs WORK TEACH` reads WORK/web, WORK/lessons and the compiled simulator, and writes
// TEACH/page.html. The page records the SHA-256 of its inputs, which tests compare.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";

const [work, teach] = process.argv.slice(2);
const { buildSync } = createRequire(join(work, "package.json"))("esbuild");

const bundle = (entry) =>
  buildSync({
    entryPoints: [join(work, "web/src", entry)],
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    format: "iife",
    target: ["es2022"],
    legalComments: "none",
  }).outputFiles[0].text;

// A closing tag inside a script would end it, and a comment's beginning would change how the rest is read. Other `</` stay:
// a comparison with a regular expression has one.
const inScript = (text) => text.replace(/<\/(?=script)/gi, "<\\/").replaceAll("<!--", "<\\!--");

const files = (folder) =>
  readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? files(path) : [path]));

/** The digest that the tests of hps-teach compute as well: names and contents of all inputs but the simulator. */
export function digest(root) {
  const inputs = ["src", "lessons", "web"]
    .map((name) => join(root, name))
    .flatMap(files)
    .map((path) => relative(root, path).replaceAll("\\", "/"))
    .filter((path) => !path.startsWith("web/tests/") && !path.startsWith("src/tests"))
    .sort();
  const hash = createHash("sha256");
  for (const path of inputs) {
    hash.update(path + "\n");
    hash.update(createHash("sha256").update(readFileSync(join(root, path))).digest("hex") + "\n");
  }
  return hash.digest("hex");
}

const markdown = (folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));

const lessons = markdown(join(work, "lessons"));

// Each language but English: its words by the English text, and its lessons by the names of their files.
const languages = Object.fromEntries(
  readdirSync(join(work, "web/languages")).map((file) => {
    const code = file.replace(".json", "");
    const translated = markdown(join(work, "lessons", code)).map(({ name, text }) => [name, text]);
    return [code, { words: JSON.parse(readFileSync(join(work, "web/languages", file), "utf8")), lessons: Object.fromEntries(translated) }];
  }),
);

const examples = readdirSync(join(work, "web/examples"))
  .sort()
  .map((name) => ({ name, text: readFileSync(join(work, "web/examples", name), "utf8") }));

// Programs in C with the assembly that they have become, and what they call.
const runtime = readFileSync(join(work, "web/c/runtime.s"), "utf8");
const programs = readdirSync(join(work, "web/c"))
  .filter((name) => name.endsWith(".c"))
  .sort()
  .map((name) => {
    const [c, text] = [name, name.replace(/c$/, "s")].map((file) => readFileSync(join(work, "web/c", file), "utf8"));
    return { name: name.replace(/c$/, "s"), text: text + runtime, c };
  });

// What there is to choose from, so that the page can be drawn while its simulator is compiled.
const simulator = readFileSync(join(work, "hps_teach.wasm"));
const { instance } = await WebAssembly.instantiate(simulator, {});
const { memory, hps_room, hps_ask, hps_answer } = instance.exports;
const question = new TextEncoder().encode('{"ask":"catalog"}');
const room = hps_room(question.length);
new Uint8Array(memory.buffer, room, question.length).set(question);
const bytes = hps_ask(room, question.length);
const catalog = new TextDecoder().decode(new Uint8Array(memory.buffer, hps_answer(), bytes));

// Parts of the compressed simulator, each of which the worker gets as soon as the browser has read it. Four characters of
// base 64 are three bytes, so that each part is read alone.
const PART = 1 << 19;
const packed = gzipSync(simulator, { level: 9 }).toString("base64");
const simulatorParts = Array.from({ length: Math.ceil(packed.length / PART) }, (_, at) => {
  const isLast = (at + 1) * PART >= packed.length;
  return `<script type="text/plain" class="simulator">${packed.slice(at * PART, (at + 1) * PART)}</script><script>hpsBoot.part(${isLast})</script>`;
});

const noScript = "This page runs a processor simulator in JavaScript, which is switched off here.";
const inEach = [["en", noScript], ...Object.entries(languages).map(([code, { words }]) => [code, words[noScript]])];

const parts = {
  NOSCRIPT: inEach.map(([code, text]) => `<p class="fallback" lang="${code}">${text}</p>`).join(""),
  DIGEST: digest(teach),
  STYLE: readFileSync(join(work, "web/src/style.css"), "utf8"),
  LESSONS: JSON.stringify(lessons).replaceAll("<", "\\u003c"),
  LANGUAGES: JSON.stringify(languages).replaceAll("<", "\\u003c"),
  EXAMPLES: JSON.stringify([...examples, ...programs]).replaceAll("<", "\\u003c"),
  WORKER: inScript(bundle("worker.ts")),
  CATALOG: catalog.replaceAll("<", "\\u003c"),
  BOOT: inScript(bundle("boot.ts")),
  SIMULATOR: simulatorParts.join("\n"),
  MAIN: inScript(bundle("main.ts")),
};
const page = readFileSync(join(work, "web/src/index.html"), "utf8").replace(
  /@@(\w+)@@/g,
  (_, name) => parts[name],
);
writeFileSync(join(teach, "page.html"), page);
console.log(`teach/page.html: ${(page.length / 1e6).toFixed(2)} MB, inputs ${parts.DIGEST.slice(0, 12)}`);
