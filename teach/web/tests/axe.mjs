// Each view under axe, light and dark, from 360 pixels to projectors. See chromium.mjs.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { lessons, modules, open, ready, saying, settled, shots } from "./chromium.mjs";

const source = readFileSync(createRequire(join(modules, "package.json")).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong, a line for each rule with the first element. */
export async function violations(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(source);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.length} times, ${nodes[0].html.slice(0, 140)} (${nodes[0].any[0]?.message ?? nodes[0].all[0]?.message ?? nodes[0].none[0]?.message ?? ""})`);
}

/** What can be seen: a name, and how to get there. `say` gives the words of the page's language. */
const VIEWS = {
  pipeline: (page) => page.click("#tab-pipeline"),
  program: (page, say) => page.getByRole("button", { name: say("Edit the program") }).click(),
  machine: (page, say) => page.getByRole("button", { name: say("Change the machine") }).click(),
  memory: (page, say) => page.getByRole("tab", { name: say("Memory") }).click(),
  code: (page, say) => page.getByRole("tab", { name: say("Code") }).click(),
  function: (page, say) => page.getByRole("tab", { name: say("Function") }).click(),
  loop: (page, say) => page.getByRole("tab", { name: say("Loop") }).click(),
  counters: (page, say) => page.getByRole("tab", { name: say("Counters") }).click(),
  compare: async (page, say) => {
    await page.click("#tab-compare");
    await page.getByText(say("Keep this run")).click();
    await page.waitForFunction(() => window.hps.compare.pairs.length > 0);
  },
  dise: async (page, say) => {
    await page.click("#tab-dise");
    await page.getByText(say("Run with these"), { exact: true }).click();
  },
  profilers: (page) => page.click("#tab-profilers"),
  lessons: (page) => lessons(page),
  lesson: (page) => lessons(page, 0),
  answered: async (page) => {
    await page.evaluate(async () => {
      const [{ lesson }] = window.hps.lessons.lessons;
      for (const question of lesson.steps.flatMap((step) => step.questions)) window.hps.app.linked.answers[question.id] = { text: "1", right: question.kind === "next", tries: 2, seconds: 3 };
      await window.hps.lessons.go(0, 0);
    });
  },
  edits: async (page) => {
    await page.evaluate(async () => {
      const { app } = window.hps;
      app.linked.setup.edits = [{ instructions: 20, place: "t0", bytes: "0100000000000000" }, { instructions: 99_999, place: "0x1000000", bytes: "07" }];
      app.linked.tab = "registers";
      app.show("pipeline");
      await app.run();
    });
  },
  coherence: async (page, say) => {
    await page.evaluate(async () => {
      const { app } = window.hps;
      Object.assign(app.linked.setup, { machine: "cmp-4", keys: {}, edits: [] });
      app.linked.line = "all";
    });
    await page.getByLabel(say("Program"), { exact: true }).selectOption({ label: `${say("example")}: ${say("two threads")}` });
    await page.locator(".coherence table").waitFor();
  },
  keys: (page) => page.keyboard.press("?"),
};

/** All views in a language at sizes and in colours. */
async function violationsAt(language, sizes, schemes) {
  if (shots) mkdirSync(shots, { recursive: true });
  const found = [];
  for (const [width, height] of sizes) {
    for (const colorScheme of schemes) {
      const page = await open(`?lang=${language}`, { viewport: { width, height }, colorScheme });
      await ready(page);
      for (const [name, show] of Object.entries(VIEWS)) {
        await show(page, saying(language));
        await settled(page);
        await page.waitForTimeout(400);
        if (shots) await page.screenshot({ path: join(shots, `axe-${name}-${language}-${width}-${colorScheme}.png`), fullPage: true });
        found.push(...(await violations(page)).map((one) => `${name}, ${width}, ${colorScheme}: ${one}`));
      }
      await page.context().close();
    }
  }
  return found;
}

const SIZES = [[360, 780], [1280, 900], [1920, 1080]];

export const axes = {
  "axe finds no violation in any view, light and dark, at 360, 1280 and 1920 pixels": async () => {
    assert.deepEqual(await violationsAt("en", SIZES, ["light", "dark"]), []);
  },

  "axe finds no violation in German, light and dark, at 360, 1280 and 1920 pixels": async () => {
    assert.deepEqual(await violationsAt("de", SIZES, ["light", "dark"]), []);
  },
};
