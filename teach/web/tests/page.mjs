// Drives the page in headless Chromium: what it computes, lessons, steps, wrong input, sizes. See chromium.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { axes } from "./axe.mjs";
import { all, hps, lessons, link, open, ready, saying, shots } from "./chromium.mjs";
import { editing } from "./editing.mjs";
import { german } from "./german.mjs";
import { looks } from "./looks.mjs";
import { parts } from "./parts.mjs";
import { programs } from "./programs.mjs";

/** Gives a wrong and a right answer to each question of each lesson, and takes the answers along. */
async function driveLessons(language) {
  const say = saying(language);
  const page = await open(`?lang=${language}`);
  await ready(page);
  const lessons = await page.evaluate(() => window.hps.lessons.lessons.map(({ lesson }) => lesson.steps.length));
  assert.equal(lessons.length, 22);
  const idle = () => page.waitForFunction(() => !window.hps.app.busy && window.hps.app.summary && window.hps.app.cycleView);
  for (const [at, steps] of lessons.entries()) {
    await page.selectOption(".lesson-nav select", String(at));
    let asked = 0;
    for (let step = 0; step < steps; step++) {
      await page.getByText(say("step {n} of {all}", { n: step + 1, all: steps })).waitFor();
      await idle();
      const questions = await page.evaluate(([at, step]) => window.hps.lessons.lessons[at].lesson.steps[step].questions, [at, step]);
      for (const question of questions) {
        const { id, kind } = question;
        const box = page.locator(`[data-question="${id}"]`);
        const verdict = (word) => box.locator(".verdict", { hasText: word }).waitFor({ timeout: 30_000 });
        if (kind === "goal") {
          await box.getByRole("button", { name: say("Check") }).click();
          await verdict(say("Not yet."));
          await page.evaluate((question) => window.hps.lessons.solve(question), question);
          await idle();
          await box.getByRole("button", { name: say("Check") }).click();
          await verdict(say("Right.").slice(0, -1));
          await page.getByRole("button", { name: say("Set up again") }).click();
          await idle();
        } else {
          const right = await page.evaluate((question) => window.hps.lessons.rightAnswer(question), question);
          if (kind === "next") await box.getByRole("button", { name: say("Show the candidates") }).click();
          const choose = async (is) => {
            await box.locator("label").first().waitFor();
            const given = await box.locator("input").evaluateAll((all) => all.map((one) => one.value));
            await box.locator("label").nth(given.findIndex((text) => (text === right) === is)).click();
          };
          if (kind === "choice" || kind === "next") {
            await choose(false);
            await verdict(say("Not yet."));
            await choose(true);
          } else {
            await box.locator("input").fill(String(Number(right) * 3 + 7));
            await box.getByRole("button", { name: say("Check") }).click();
            await verdict(say("Not yet."));
            await box.locator("input").fill(right);
            await box.getByRole("button", { name: say("Check") }).click();
          }
          await verdict(say("Right.").slice(0, -1));
        }
        const { tries } = await page.evaluate((id) => window.hps.app.linked.answers[id], id);
        assert.equal(tries, 2, id);
        console.log(`    ${id}`);
        asked++;
      }
      if (step + 1 < steps) await page.getByRole("button", { name: say("On ▸") }).click();
    }
    console.log(`  lesson ${at + 1}: ${steps} steps, ${asked} questions`);
  }
  // The list says that each question of each lesson has its answer.
  await page.selectOption(".lesson-nav select", "-1");
  const counts = (await page.locator(".lesson-list button small").allInnerTexts()).map((text) => text.trim()).sort();
  const questions = await page.evaluate(() => window.hps.lessons.lessons.map(({ lesson }) => lesson.steps.flatMap((step) => step.questions).length));
  assert.deepEqual(counts, questions.map((n) => say("{n} of {all}", { n, all: n })).sort());
  await page.locator(".files summary").click();
  await page.getByLabel(say("Your name, for the file")).fill("Ada L.");
  await page.getByLabel(say("Your name, for the file")).blur();
  const saved = async (name) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    return await file.path();
  };
  const answers = await saved(say("Save my answers"));
  const text = readFileSync(answers, "utf8");
  assert.ok(text.includes("Ada L."));
  // A class of two: one file as it was saved, one that was changed behind the signature.
  const folder = mkdtempSync(join(tmpdir(), "hps-class-"));
  const [good, changed] = ["good.json", "changed.json"].map((name) => join(folder, name));
  writeFileSync(good, text);
  writeFileSync(changed, text.replace("Ada L.", "Bob M."));
  const [table] = await Promise.all([page.waitForEvent("download"), page.getByLabel(say("Collect files of answers")).setInputFiles([good, changed])]);
  const csv = readFileSync(await table.path(), "utf8");
  console.log(csv.split("\n").slice(0, 3).join("\n"));
  assert.ok(csv.includes("Ada L."), csv.slice(0, 400));
  assert.ok(/Bob M\./.test(csv) && /good\.json,Ada L\.,true/.test(csv) && /changed\.json,Bob M\.,false/.test(csv), csv.slice(0, 400));
  // The answers are part of the link.
  const again = await open(await link(page));
  await ready(again);
  const kept = await again.evaluate(() => Object.values(window.hps.app.linked.answers).every((a) => a.right));
  assert.ok(kept);
  await again.context().close();
  await page.context().close();
}

const tests = {
  "the first step comes within two seconds, and no network is used": async () => {
    // The page itself presses the button as soon as it can, and says when the step is seen: the driver takes its time.
    const before = `setInterval(() => {
      if (!document.body?.dataset.ready || window.firstStep) return;
      const cycle = window.hps.app.cycleView?.cycle;
      window.first ??= cycle;
      if (cycle === window.first + 1) window.firstStep = performance.now();
      else if (!window.pressed) window.pressed = document.querySelector('[aria-label^="One cycle on"]').click() ?? true;
    }, 4)`;
    const all = [];
    for (let at = 0; at < 5; at++) {
      const page = await open("", { offline: true, before });
      const step = await page.waitForFunction(() => window.firstStep, undefined, { timeout: 20_000 });
      all.push(Math.round(await step.jsonValue()));
      await page.context().close();
    }
    console.log(`  ${all.join(", ")} ms`);
    // The first one starts the browser's processes, too.
    all.sort((a, b) => a - b);
    assert.ok(all[2] < 2000, `${all} ms`);
  },

  "cycles, statistics and profiles are those of the command": async () => {
    const page = await open();
    await ready(page);
    const folder = mkdtempSync(join(tmpdir(), "hps-teach-"));
    const programs = await page.evaluate(() => window.hps.app.catalog.programs.map((p) => p.name));
    assert.equal(programs.length, 10);
    for (const name of programs) {
      const stats = join(folder, `${name}.json`);
      const profile = join(folder, `${name}-profile.json`);
      const run = ["--machine", "hps-4wide", "--no-files", name, "small"];
      execFileSync(hps, ["run", "--until", "300000", `--json=${stats}`, ...run], { stdio: ["ignore", "ignore", "ignore"] });
      const watch = ["--with", "lci,tip", "--period", "997", "--json", profile];
      execFileSync(hps, ["profile", "--until", "300000", ...watch, ...run], { stdio: ["ignore", "ignore", "ignore"] });
      const wanted = JSON.parse(readFileSync(stats, "utf8"));
      const exact = JSON.parse(readFileSync(profile, "utf8"));
      const [found, profiles, took] = await page.evaluate(async (name) => {
        const { app } = window.hps;
        const setup = { program: { kind: "built_in", name, isa: "riscv64", size: "small" }, machine: "hps-4wide", keys: {}, productions: [], params: {}, limit: 300_000 };
        const begin = performance.now();
        const summary = await app.api.ask("run", { ask: "run", setup });
        const took = performance.now() - begin;
        const profilers = ["lci", "tip"].map((name) => ({ name, period: 997, seed: 1, random_percent: 0 }));
        const profiles = await app.api.ask("profiles", { ask: "profiles", order: { level: "function", profilers, hps: null, top: 1000 } });
        return [summary, profiles, took];
      }, name);
      assert.equal(found.cycles, wanted.cycles, name);
      assert.equal(found.instructions, wanted.instructions, name);
      assert.deepEqual(found.core, wanted.core, name);
      assert.deepEqual(found.memory, wanted.memory, name);
      const slots = Object.fromEntries(wanted.cpi_stack.parts.map((part) => [part.cause, part.slots]));
      for (const { cause, slots: n } of found.cpi_stack) assert.equal(n, slots[cause] ?? 0, `${name} ${cause}`);
      const whole = exact.functions.reduce((sum, one) => sum + one.own.units, 0);
      for (const member of profiles.truth) {
        const one = exact.functions.find((f) => f.name === member.name);
        assert.ok(Math.abs(one.own.units / whole - member.share) < 1e-12, `${name} ${member.name}`);
      }
      for (const opinion of profiles.opinions) {
        const one = exact.profilers.find((p) => p.profiler === opinion.profiler);
        assert.equal(opinion.samples, one.samples, `${name} ${opinion.profiler}`);
        assert.ok(Math.abs(opinion.error - one.errors.function) < 1e-12, `${name} ${opinion.profiler}`);
      }
      console.log(`  ${name}: ${found.cycles} cycles, 300,000 instructions in ${took.toFixed(0)} ms`);
      assert.ok(took < 3000, `${name} takes ${took} ms for 300,000 instructions`);
    }
    await page.context().close();
  },

  "each lesson can be driven to its end": () => driveLessons("en"),

  "each lesson can be driven to its end in German": () => driveLessons("de"),

  "answers are right in each usual form": async () => {
    const page = await open();
    await ready(page);
    const file = join(mkdtempSync(join(tmpdir(), "hps-forms-")), "forms.md");
    const ask = (text, answer) => `\n\`\`\`number\n${text}\nanswer: ${answer}\n\`\`\`\n`;
    const count = ask("How many branches are mispredicted?", "core.branch_mispredicted_events");
    const program = "```program\n_start: li t0, 900\nloop: mul t1, t0, t0\nsrli t1, t1, 5\nandi t1, t1, 1\nbeqz t1, even\naddi s2, s2, 1\neven: addi t0, t0, -1\nbnez t0, loop\nli a7, 93\necall\n```\n";
    writeFileSync(file, `---\ntitle: Forms\n---\nHello.\n\n${program}${count}${ask("What share is lost? Answer in percent.", "stack.mispredict")}`);
    await page.locator('input[aria-label="Open a lesson"]').setInputFiles(file);
    await page.getByText("What share is lost?").waitFor();
    await page.waitForFunction(() => !window.hps.app.busy && window.hps.app.summary?.core.branch_mispredicted_events > 20);
    const verdict = async (at, text) => {
      const box = page.locator(".question").nth(at);
      await box.locator("input").fill("");
      await box.locator("input").fill(text);
      await box.locator(".verdict").evaluate((element) => (element.textContent = ""));
      await box.locator("button").click();
      await page.waitForFunction((at) => document.querySelectorAll(".question")[at].querySelector(".verdict").textContent, at);
      return (await box.locator(".verdict").textContent()).slice(0, 1);
    };
    const share = await page.evaluate(() => {
      const { summary } = window.hps.app;
      const all = summary.cpi_stack.reduce((sum, one) => sum + one.slots, 0);
      return summary.cpi_stack.find((one) => one.cause === "mispredict").slots / all;
    });
    const percent = (100 * share).toFixed(1);
    const forms = [percent, `${percent}%`, `${percent.replace(".", ",")}%`, `${percent.replace(".", ",")} Prozent`, `${percent} percent`, `${percent} %`, share.toFixed(3)];
    for (const form of forms) assert.equal(await verdict(1, form), "✓", form);
    for (const form of ["0", "300", "300%"]) assert.equal(await verdict(1, form), "✗", form);
    assert.equal(await verdict(1, "abc"), "`");
    const wrong = await page.evaluate(() => window.hps.app.summary.core.branch_mispredicted_events);
    for (const unit of ["branches", "Sprünge"]) assert.equal(await verdict(0, `${wrong} ${unit}`), "✓", unit);
    assert.equal(await verdict(0, `${wrong}%`), "✗");
    await page.context().close();
  },

  "the time line follows a cycle that is chosen elsewhere": async () => {
    const page = await open();
    await ready(page);
    await page.click("#tab-dise");
    const cycle = await page.evaluate(async () => {
      const { app } = window.hps;
      await app.go(Math.min(app.summary.cycles, 900));
      return app.linked.cycle;
    });
    await page.click("#tab-pipeline");
    await page.waitForTimeout(300);
    const [left, columns] = await page.evaluate(() => {
      const { timeline } = window.hps.pipeline;
      return [timeline.left, timeline.columns];
    });
    assert.ok(left <= cycle && cycle < left + columns, `${cycle} in ${left} and ${columns} more`);
    await page.context().close();
  },

  "tabs keep the keyboard, and numbers are whole": async () => {
    for (const width of [360, 1280, 1366, 1440, 1920]) {
      const page = await open("", { viewport: { width, height: 900 } });
      await ready(page);
      for (const name of ["Function", "Loop", "Counters"]) {
        const tab = page.getByRole("tab", { name, exact: true });
        await tab.focus();
        await page.keyboard.press("Enter");
        await page.waitForTimeout(400);
        assert.equal(await page.evaluate(() => document.activeElement.textContent), name);
        const beyond = await page.evaluate(() => {
          const panel = document.querySelector(".side .panel");
          return panel.scrollWidth - panel.clientWidth;
        });
        assert.ok(beyond <= 0, `${name} is ${beyond} pixels too wide at ${width}`);
      }
      await page.context().close();
    }
  },

  "a teacher's lesson opens, and a wrong one says its line": async () => {
    const page = await open();
    await ready(page);
    await lessons(page);
    const folder = mkdtempSync(join(tmpdir(), "hps-lesson-"));
    const write = (name, text) => (writeFileSync(join(folder, name), text), join(folder, name));
    const opener = page.locator('input[aria-label="Open a lesson"]');
    await opener.setInputFiles(write("mine.md", "---\ntitle: Mine\n---\nHello.\n\n```number\nTwo?\nanswer: 1 + 1\n```\n"));
    await page.getByText("Two?").waitFor();
    await opener.setInputFiles(write("wrong.md", "---\ntitle: Wrong\n---\nHello.\n\n```nmuber\nTwo?\n```\n"));
    await page.getByText("`nmuber` is no kind of block", { exact: false }).waitFor();
    await page.context().close();
  },

  "steps, breakpoints and keys work both ways": async () => {
    const page = await open();
    await ready(page);
    const cycle = () => page.evaluate(() => window.hps.app.linked.cycle);
    const settled = () => page.waitForFunction(() => window.hps.app.cycleView?.cycle === window.hps.app.linked.cycle);
    await page.evaluate(() => window.hps.app.go(0));
    await settled();
    await page.locator(".timeline-scroll canvas").focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft"]) {
      await page.keyboard.press(key);
      await settled();
    }
    assert.equal(await cycle(), 1);
    await page.keyboard.press("Shift+ArrowRight");
    await page.waitForFunction(() => window.hps.app.cycleView.commits_so_far > 0);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("b");
    assert.equal(await page.evaluate(() => window.hps.app.linked.breakpoints.length), 1);
    const before = await cycle();
    await page.keyboard.press("e");
    await page.waitForFunction((before) => window.hps.app.linked.cycle > before, before);
    await page.keyboard.press("p");
    await settled();
    // The link leads to the same cycle.
    const again = await open(await link(page));
    const at = await cycle();
    await ready(again);
    assert.equal(await again.evaluate(() => window.hps.app.linked.cycle), at);
    await again.context().close();
    await page.context().close();
  },

  "wrong input gives a message and no blank screen": async () => {
    const page = await open();
    await ready(page);
    const problem = page.locator(".problem");
    const folder = mkdtempSync(join(tmpdir(), "hps-bad-"));
    writeFileSync(join(folder, "damaged.elf"), Buffer.from("7f454c46020101", "hex"));
    await page.locator('input[aria-label="Open an ELF file"]').setInputFiles(join(folder, "damaged.elf"));
    await problem.getByText("damaged.elf").waitFor();
    // An endless loop ends at the limit of instructions.
    const run = (text) =>
      page.evaluate(async (text) => {
        const { app } = window.hps;
        app.linked.setup.program = { kind: "assembly", isa: "riscv64", text };
        await app.run();
      }, text);
    await run("loop: j loop");
    await page.getByText("stopped after 20000 instructions").waitFor();
    await run("nop\n  bogus a0, a1");
    await problem.getByText("assembly, line 2, column 3").waitFor();
    await run("ld a0, 0(zero)");
    await page.getByText("the program faulted").waitFor();
    await run("nop\nli a7, 93\necall");
    await page.click("#tab-dise");
    await page.locator(".dise .cm-content").fill("P: T.OPCLASS == lode => null");
    await page.locator(".dise .said").getByText("Line 1, column 17").waitFor();
    await page.evaluate(async () => {
      const { app } = window.hps;
      app.linked.setup.keys = { "window.rob_entries": "0" };
      await app.run();
    });
    await problem.getByText("rob_entries").waitFor();
    await page.context().close();
    for (const name of ["WebAssembly", "DecompressionStream"]) {
      const old = await open("", { before: `delete globalThis.${name}` });
      await old.getByText(`lacks ${name}`).waitFor();
      await old.context().close();
    }
    // One that knows WebAssembly, and not all of it, in the worker and without one.
    const refuse = "WebAssembly.compileStreaming = () => Promise.reject(new WebAssembly.CompileError('unknown opcode'));";
    const noWorker = "globalThis.Worker = class { constructor() { throw new Error('no'); } };";
    const inWorker = `const { Blob: Whole } = globalThis; globalThis.Blob = class extends Whole { constructor(parts, options) { super(options?.type === "text/javascript" ? ["${refuse}", ...parts] : parts, options); } };`;
    for (const before of [refuse + noWorker, refuse + inWorker]) {
      const half = await open("", { before });
      await half.getByText("The simulator cannot be started here: unknown opcode").waitFor();
      await half.context().close();
    }
    // Where no worker may be started, or its script cannot be read, the page does without.
    for (const before of ["globalThis.Worker = class { constructor() { throw new Error('no'); } }", "globalThis.Worker = class extends Worker { constructor() { super('data:text/javascript,throw 1'); } }"]) {
      const alone = await open("", { before, refused: true });
      await ready(alone);
      const cycle = await alone.evaluate(() => window.hps.app.linked.cycle);
      await alone.getByRole("button", { name: /^One cycle on/ }).click();
      await alone.waitForFunction((cycle) => window.hps.app.cycleView?.cycle === cycle + 1, cycle);
      await alone.context().close();
    }
    const damaged = await open("#damaged");
    await ready(damaged);
    await damaged.context().close();
  },

  "views fit from 360 pixels to projectors, light and dark": async () => {
    if (shots) mkdirSync(shots, { recursive: true });
    for (const [width, height, colorScheme] of [[1400, 1000, "light"], [1400, 1000, "dark"], [360, 780, "light"], [360, 780, "dark"], [1920, 1080, "light"]]) {
      const page = await open("", { viewport: { width, height }, colorScheme });
      await ready(page);
      for (const view of ["pipeline", "compare", "dise", "profilers", "lessons"]) {
        if (view === "lessons") await lessons(page, 0);
        else await page.click(`#tab-${view}`);
        if (view === "pipeline") await page.evaluate(() => window.hps.app.go(400));
        if (view === "dise") await page.click("text=Run with these");
        await page.waitForTimeout(900);
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(beyond <= 0, `${view} is ${beyond} pixels too wide at ${width}`);
        if (shots) await page.screenshot({ path: join(shots, `${view}-${width}-${colorScheme}.png`), fullPage: width === 360 });
      }
      await page.context().close();
    }
  },
  ...axes,
  ...german,
  ...parts,
  ...programs,
  ...editing,
  ...looks,
};

await all(tests);
