// Each view under axe, light and dark, from 360 pixels to projectors. See chromium.mjs.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { lessons, modules, open, ready, settled, shots } from "./chromium.mjs";

const source = readFileSync(createRequire(join(modules, "package.json")).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong, a line for each rule with the first element. */
async function violations(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(source);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.length} times, ${nodes[0].html.slice(0, 140)} (${nodes[0].any[0]?.message ?? nodes[0].all[0]?.message ?? nodes[0].none[0]?.message ?? ""})`);
}

/** What can be seen: a name, and how to get there. */
const VIEWS = {
  pipeline: (page) => page.click("#tab-pipeline"),
  program: (page) => page.getByRole("button", { name: "Edit the program" }).click(),
  machine: (page) => page.getByRole("button", { name: /^Change the machine/ }).click(),
  memory: (page) => page.getByRole("tab", { name: "Memory" }).click(),
  code: (page) => page.getByRole("tab", { name: "Code" }).click(),
  function: (page) => page.getByRole("tab", { name: "Function" }).click(),
  loop: (page) => page.getByRole("tab", { name: "Loop" }).click(),
  counters: (page) => page.getByRole("tab", { name: "Counters" }).click(),
  compare: async (page) => {
    await page.click("#tab-compare");
    await page.getByText("Keep this run").click();
    await page.waitForFunction(() => window.hps.compare.pairs.length > 0);
  },
  dise: async (page) => {
    await page.click("#tab-dise");
    await page.click("text=Run with these");
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
  keys: (page) => page.keyboard.press("?"),
};

export const axes = {
  "axe finds no violation in any view, light and dark, at 360, 1280 and 1920 pixels": async () => {
    if (shots) mkdirSync(shots, { recursive: true });
    const found = [];
    for (const [width, height] of [[360, 780], [1280, 900], [1920, 1080]]) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await open("", { viewport: { width, height }, colorScheme });
        await ready(page);
        for (const [name, show] of Object.entries(VIEWS)) {
          await show(page);
          await settled(page);
          await page.waitForTimeout(400);
          if (shots) await page.screenshot({ path: join(shots, `axe-${name}-${width}-${colorScheme}.png`), fullPage: true });
          found.push(...(await violations(page)).map((one) => `${name}, ${width}, ${colorScheme}: ${one}`));
        }
        await page.context().close();
      }
    }
    assert.deepEqual(found, []);
  },
};
