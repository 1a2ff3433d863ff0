// Drives the page in headless Firefox over WebDriver BiDi: node firefox.mjs PAGE HPS MODULES [SHOTS]
//
// As chromium.mjs, with puppeteer-core; Firefox is /usr/bin/firefox-esr, or $FIREFOX.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { saying } from "./words.mjs";

const [pageFile, hps, modules, shots] = process.argv.slice(2).map((path) => resolve(path));
const puppeteer = createRequire(join(modules, "package.json"))("puppeteer-core");
const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
  headless: true,
});
const address = pathToFileURL(pageFile).href;
const errors = [];

async function open(hash = "", [width, height] = [1400, 1000]) {
  const page = await browser.newPage();
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.setViewport({ width, height });
  await page.goto(address + hash);
  await page.waitForSelector("body[data-ready]", { timeout: 60_000 });
  return page;
}
const app = (page, look) => page.evaluate(`(() => { const { app } = window.hps; return ${look}; })()`);
const until = (page, condition) => page.waitForFunction(condition, { timeout: 20_000 });
const settled = (page) =>
  until(page, "!hps.app.busy && hps.app.cycleView?.cycle === hps.app.linked.cycle && hps.app.inside?.cycle === hps.app.linked.cycle");

/** Gives a wrong and a right answer to each question of each lesson. */
async function driveLessons(language) {
  const say = saying(language);
  const page = await open(`?lang=${language}`);
  const idle = (step) => until(page, `!hps.app.busy && hps.app.summary && hps.app.cycleView && hps.app.linked.step === ${step}`);
  const lessons = await page.evaluate("hps.lessons.lessons.map(({ lesson }) => lesson.steps.map((step) => step.questions))");
  for (const [at, steps] of lessons.entries()) {
    await page.select(".lesson-nav select", String(at));
    for (const [step, questions] of steps.entries()) {
      await until(page, `hps.app.linked.lesson === ${at}`);
      await idle(step);
      for (const question of questions) {
        const { id, kind } = question;
        const box = `[data-question="${id}"]`;
        const verdict = (word) => until(page, `document.querySelector('${box} .verdict').textContent.includes("${word}")`);
        if (kind === "goal") {
          await page.locator(`${box} button`).click();
          await verdict(say("Not yet."));
          await page.evaluate((question) => window.hps.lessons.solve(question), question);
          await idle(step);
          await page.locator(`${box} button`).click();
          await verdict(say("Right.").slice(0, -1));
          await page.locator(`aria/${say("Set up again")}`).click();
          await idle(step);
        } else {
          const right = await page.evaluate((question) => window.hps.lessons.rightAnswer(question), question);
          const choose = async (is) => {
            await until(page, `document.querySelector('${box} label')`);
            const given = await page.$$eval(`${box} input`, (all) => all.map((one) => one.value));
            await (await page.$$(`${box} input`))[given.findIndex((text) => (text === right) === is)].click();
          };
          const write = async (text) => {
            await page.locator(`${box} input`).fill(text);
            await page.focus(`${box} input`);
            await page.keyboard.press("Enter");
          };
          if (kind === "next") await page.locator(`${box} button`).click();
          const give = kind === "choice" || kind === "next" ? choose : (is) => write(is ? right : String(Number(right) * 3 + 7));
          await give(false);
          await verdict(say("Not yet."));
          await give(true);
          await verdict(say("Right.").slice(0, -1));
        }
        const { tries, right } = await app(page, `app.linked.answers["${id}"]`);
        assert.deepEqual([tries, right], [2, true], id);
      }
      if (step + 1 < steps.length) await page.locator(".steps button.primary").click();
    }
    console.log(`  lesson ${at + 1}: ${steps.length} steps, ${steps.flat().length} questions`);
  }
  await page.close();
}

const tests = {
  "the page opens from disk and steps": async () => {
    const begin = Date.now();
    const page = await open();
    const from = await page.evaluate("hps.app.linked.cycle");
    await page.locator("aria/One cycle on (Right)").click();
    await until(page, `hps.app.cycleView?.cycle === ${from + 1}`);
    console.log(`  ${Date.now() - begin} ms to the first step`);
    await page.focus(".timeline-scroll canvas");
    for (const [key, cycle] of [["ArrowRight", from + 2], ["ArrowRight", from + 3], ["ArrowLeft", from + 2]]) {
      await page.keyboard.press(key);
      await until(page, `hps.app.cycleView?.cycle === ${cycle}`);
    }
    await page.keyboard.press("n");
    await until(page, "hps.app.cycleView?.commits_so_far > 0");
    await page.evaluate(() => window.hps.app.go(1000));
    await settled(page);
    // The drawings are there: more than two colours on each.
    const colors = await page.evaluate(() =>
      [...document.querySelectorAll("canvas")].filter((canvas) => canvas.checkVisibility()).map((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
      }),
    );
    assert.ok(colors.length >= 5 && colors.every((count) => count > 2), String(colors));
    if (shots) {
      mkdirSync(shots, { recursive: true });
      await page.screenshot({ path: join(shots, "firefox.png") });
    }
    await page.close();
  },

  "cycles and counters are those of the command": async () => {
    const page = await open();
    const folder = mkdtempSync(join(tmpdir(), "hps-firefox-"));
    for (const name of ["bwt", "netsimplex", "ray"]) {
      const stats = join(folder, `${name}.json`);
      execFileSync(hps, ["run", "--until", "300000", `--json=${stats}`, "--machine", "hps-4wide", "--no-files", name, "small"], { stdio: ["ignore", "ignore", "ignore"] });
      const wanted = JSON.parse(readFileSync(stats, "utf8"));
      const [found, took] = await page.evaluate(async (name) => {
        const setup = { program: { kind: "built_in", name, isa: "riscv64", size: "small" }, machine: "hps-4wide", keys: {}, productions: [], params: {}, limit: 300_000 };
        const begin = performance.now();
        const summary = await window.hps.app.api.ask("run", { ask: "run", setup });
        return [summary, performance.now() - begin];
      }, name);
      assert.equal(found.cycles, wanted.cycles, name);
      assert.deepEqual(found.core, wanted.core, name);
      assert.deepEqual(found.memory, wanted.memory, name);
      console.log(`  ${name}: ${found.cycles} cycles, 300,000 instructions in ${took.toFixed(0)} ms`);
    }
    await page.close();
  },

  "each lesson can be driven to its end, by wrong and right answers": () => driveLessons("en"),

  "each lesson can be driven to its end in German": () => driveLessons("de"),

  "productions, profilers and the text of a program work": async () => {
    const page = await open();
    await page.click("#tab-dise");
    await page.click(".dise .primary");
    await until(page, "hps.app.summary?.inserted > 0 && !hps.app.busy");
    await page.click("#tab-profilers");
    await page.waitForSelector("#hps-accuracy");
    await page.click("#tab-pipeline");
    await page.locator(".setup .drawer").click();
    await page.click(".setup .cm-content");
    await page.keyboard.down("Control");
    await page.keyboard.press("a");
    await page.keyboard.up("Control");
    await page.keyboard.type("nop\nbogus a0\n");
    await page.locator(".setup .primary").click();
    await until(page, 'document.querySelector(".problem").textContent.includes("assembly, line 2")');
    await page.close();
  },

  "views fit from 360 pixels to projectors": async () => {
    for (const size of [[360, 780], [1400, 1000], [1920, 1080]]) {
      const page = await open("", size);
      for (const view of ["pipeline", "compare", "dise", "profilers", "lessons"]) {
        if (view === "lessons") await page.evaluate("void hps.lessons.go(0, 0)");
        else await page.click(`#tab-${view}`);
        await new Promise((resolve) => setTimeout(resolve, 700));
        const beyond = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert.ok(beyond <= 0, `${view} is ${beyond} pixels too wide at ${size[0]}`);
      }
      await page.close();
    }
  },
};

const only = process.env.ONLY;
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (only && !name.includes(only)) continue;
  try {
    await test();
    console.log(`ok: Firefox: ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED: Firefox: ${name}\n${error.stack}`);
  }
}
await browser.close();
if (errors.length > 0) console.log(`errors in the page:\n${[...new Set(errors)].join("\n")}`);
process.exit(failed > 0 || errors.length > 0 ? 1 : 0);
