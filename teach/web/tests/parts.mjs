// Pictures, arguments and input, diagrams of machines, two runs beside each other. See chromium.mjs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { lessons, open, ready, run, settled } from "./chromium.mjs";

const app = (page, look) => page.evaluate(`(() => { const { app } = window.hps; return ${look}; })()`);

/** The picture that a button of the menu saves, as text. */
async function pictureOf(page, name) {
  await page.locator(".menu summary").click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator(".menu").getByRole("button", { name, exact: true }).click()]);
  return readFileSync(await file.path(), "utf8");
}

/** How many of a picture's dots differ from those of a canvas, as a share. */
const differing = (page, svg, selector) =>
  page.evaluate(
    async ([svg, selector]) => {
      const canvas = document.querySelector(selector);
      const image = new Image();
      image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
      await image.decode();
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const other = document.createElement("canvas");
      [other.width, other.height] = [canvas.width, canvas.height];
      const pen = other.getContext("2d");
      const whole = document.querySelector(".timeline").getBoundingClientRect();
      const box = canvas.getBoundingClientRect();
      // Inside the picture the canvas lies at a part of a dot.
      const part = [box.left - whole.left, box.top - whole.top];
      pen.drawImage(image, -Math.round(part[0]), -Math.round(part[1]));
      const drawn = pen.getImageData(0, 0, canvas.width, canvas.height).data;
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (Math.abs(data[at] - drawn[at]) + Math.abs(data[at + 1] - drawn[at + 1]) + Math.abs(data[at + 2] - drawn[at + 2]) > 60) count++;
      }
      return count / (data.length / 4);
    },
    [svg, selector],
  );

export const parts = {
  "each view and the lesson become a picture that shows what the page shows": async () => {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open("", { colorScheme });
      await ready(page);
      await settled(page);
      const line = await pictureOf(page, "time line");
      const rows = await app(page, "Array.from({ length: 8 }, (_, at) => app.row(app.cycleView.first_row + at).text)");
      for (const text of rows) assert.ok(line.includes(text), text);
      const share = await differing(page, line, ".timeline-scroll canvas");
      // The edges of letters are smoothed in another way.
      assert.ok(share < 0.05, `${share} of the dots differ, ${colorScheme}`);
      const bare = await differing(page, line.replaceAll(/<rect x[^>]*fill="(?:#|rgb)[^>]*>(?:<\/rect>)?/g, ""), ".timeline-scroll canvas");
      console.log(`  ${(100 * share).toFixed(1)}% of the dots differ, without boxes ${(100 * bare).toFixed(1)}%`);
      assert.ok(bare > 3 * share, "the comparison finds a picture without boxes");
      const diagram = await pictureOf(page, "block diagram");
      for (const text of ["Reorder buffer", "Stations", "Load queue", "polyline"]) assert.ok(diagram.includes(text), text);
      assert.ok(!diagram.includes("Registers"));
      await lessons(page, 0);
      await settled(page);
      const lesson = await pictureOf(page, "lesson");
      assert.ok(lesson.includes("Letters and colours"));
      for (const view of ["dise", "profilers"]) {
        await page.click(`#tab-${view}`);
        await page.waitForTimeout(700);
        const whole = await pictureOf(page, "view");
        const wrong = await page.evaluate((text) => new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")?.textContent, whole);
        assert.equal(wrong, undefined, view);
        assert.ok(whole.includes(view === "dise" ? "Pattern table" : "Where commit slots went"), view);
      }
      for (const one of [line, diagram, lesson]) {
        const wrong = await page.evaluate((text) => new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")?.textContent, one);
        assert.equal(wrong, undefined);
      }
      await page.context().close();
    }
  },

  "each machine has a block diagram of its own, and changed boxes are marked": async () => {
    const page = await open();
    await ready(page);
    await page.getByRole("button", { name: /^Change the machine/ }).click();
    const seen = new Set();
    const machines = await app(page, "app.catalog.machines.map(({ name }) => name)");
    for (const machine of machines) {
      await page.getByLabel("Machine", { exact: true }).selectOption(machine);
      await page.waitForFunction((name) => !window.hps.app.busy && window.hps.app.summary?.machine === name, machine);
      await settled(page);
      const sizes = await app(page, "app.summary.sizes");
      const text = async (box) => (await page.locator(`.machine-diagram [data-box=${box}] text`).allTextContents()).join("; ");
      const all = (await page.locator(".machine-diagram text").allTextContents()).join("; ");
      assert.equal(sizes.in_order, /^(ev5|five-stage.*|single-cycle)$/.test(machine), machine);
      assert.equal(all.includes("All stages in one cycle"), sizes.flow === "one cycle", machine);
      assert.equal(all.includes("WB: write back"), sizes.flow === "in step", machine);
      assert.equal(all.includes("forwarding"), /^five-stage(-dual)?$/.test(machine), machine);
      if (sizes.flow === "free") {
        assert.ok((await text("rob")).includes(`${sizes.rob} in flight`), machine);
        assert.equal(all.includes("Issue in order"), sizes.in_order, machine);
      }
      if (sizes.flow === "one cycle") {
        seen.add(all);
        continue;
      }
      assert.ok((await text("fetch")).includes(`${sizes.fetch_width} a cycle`), machine);
      assert.equal(all.includes("cores"), ["big-little", "cmp-4", "shim-haswell-like"].includes(machine), machine);
      for (const [name, count] of Object.entries(sizes.pools)) assert.ok((await text("units")).includes(`${name.replaceAll("_", " ")} ×${count}`), machine);
      assert.equal(await page.locator(".machine-diagram [data-box=l3]").count(), sizes.caches.some(({ name }) => name === "l3") ? 1 : 0);
      seen.add(all);
    }
    assert.equal(seen.size, machines.length, "no two are alike");
    await page.getByLabel("Machine", { exact: true }).selectOption("hps-4wide");
    await settled(page);
    assert.equal(await page.locator(".machine-diagram .changed").count(), 0);
    await page.getByRole("slider", { name: "Reorder buffer", exact: true }).focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(".machine-diagram .changed[data-box=rob]").waitFor();
    assert.equal(await page.locator(".machine-diagram .changed").count(), 1);
    assert.ok((await pictureOf(page, "machine")).includes("in flight"));
    await page.context().close();
  },

  "two runs stand beside each other, instruction by instruction": async () => {
    const page = await open();
    await ready(page);
    await page.click("#tab-compare");
    await page.getByText("Keep this run").click();
    const pairs = () => page.evaluate(() => window.hps.compare.pairs.map(({ kept, now }) => [kept?.text ?? null, now?.text ?? null, kept?.committed_before ?? null, now?.committed_before ?? null]));
    const cell = (name, column) => page.locator(".both tr", { hasText: name }).first().locator("td").nth(column).innerText();
    await page.waitForFunction(() => window.hps.compare.pairs.length === 16);
    assert.equal(await cell("cycles", 0), await cell("cycles", 1));
    await page.getByLabel("Machine", { exact: true }).selectOption("tiny-2wide");
    await page.waitForFunction(() => !window.hps.app.busy && window.hps.app.summary?.machine === "tiny-2wide");
    await page.locator(".both th", { hasText: "now: tiny-2wide" }).waitFor();
    const wanted = await page.evaluate(async () => {
      const { app } = window.hps;
      return [await app.api.ask("run", { ask: "run", setup: { ...app.linked.setup, machine: "hps-4wide" } }), await app.api.ask("run", { ask: "run", setup: app.linked.setup })].map(({ cycles }) => cycles.toLocaleString("en-US"));
    });
    assert.deepEqual([await cell("cycles", 0), await cell("cycles", 1)], wanted);
    for (const [kept, now, a, b] of await pairs()) assert.ok(kept === now && a === b, `${kept} beside ${now}`);
    await page.getByLabel("Later instructions").click();
    await page.waitForTimeout(300);
    assert.ok((await pairs()).every(([kept, now, a, b]) => kept === now && a === b));
    // An instruction more in the loop stands alone, and the others stay in pairs.
    await page.evaluate(async () => {
      const { app } = window.hps;
      app.linked.setup.machine = "hps-4wide";
      app.linked.setup.program.text = app.linked.setup.program.text.replace(/^(\s*add\s+a0, a0, t0.*)$/m, "$1\n xori t5, t5, 1");
      await app.run(true);
    });
    await page.waitForFunction(() => window.hps.compare.pairs.some(({ kept }) => !kept));
    const mixed = await pairs();
    assert.ok(mixed.filter(([kept, now]) => !kept && now.startsWith("xori")).length >= 2, JSON.stringify(mixed));
    assert.ok(mixed.filter(([kept, now]) => kept && kept === now).length >= 8, JSON.stringify(mixed));
    assert.ok(mixed.every(([kept, now]) => kept === now || !kept || !now));
    assert.ok((await pictureOf(page, "view")).includes("not in this run"));
    // A link keeps the kept run.
    await page.waitForFunction(() => window.hps.app.isSaved);
    await page.waitForTimeout(200);
    const again = await open(new URL(page.url()).hash);
    await ready(again);
    await again.waitForFunction(() => window.hps.compare.pairs.length > 0);
    for (const one of [page, again]) await one.context().close();
  },

  "links of lessons lead to what they name": async () => {
    const page = await open();
    await ready(page);
    const steps = await page.evaluate(() => window.hps.lessons.lessons.map(({ lesson }) => lesson.steps.length));
    let rows = 0;
    for (const [at, count] of steps.entries()) {
      for (let step = 0; step < count; step++) {
        await page.evaluate(([at, step]) => window.hps.lessons.go(at, step), [at, step]);
        const text = await page.locator("article.lesson").innerText();
        assert.ok(!text.includes("]("), `lesson ${at + 1}, step ${step + 1} shows a link's text: ${text.slice(text.indexOf("](") - 40, text.indexOf("](") + 40)}`);
        const links = page.locator("article.lesson a[data-to]");
        for (let one = 0; one < (await links.count()); one++) {
          const to = await links.nth(one).getAttribute("data-to");
          const [kind, words] = [to.slice(0, to.indexOf(":")), to.slice(to.indexOf(":") + 1)];
          if (kind === "row") {
            rows++;
            await links.nth(one).click();
            await page.waitForFunction((words) => {
              const { app } = window.hps;
              return app.linked.selected !== null && app.row(app.linked.selected)?.text.includes(words);
            }, words);
          } else if (kind === "block") assert.ok((await page.locator(`.block-${words}`).count()) === 1, to);
          else if (kind === "view") assert.ok((await page.locator(`#tab-${words}`).count()) === 1, to);
          else if (kind === "table") assert.ok((await app(page, "app.inside?.tables.map(({ name }) => name) ?? []")).includes(words) || words.startsWith("l"), to);
          else if (kind === "counter") assert.ok(await page.evaluate((name) => name in { ...window.hps.app.summary.core, ...window.hps.app.summary.memory }, words), to);
        }
      }
    }
    console.log(`  ${rows} rows`);
    await page.context().close();
  },

  "the teacher's guide has each answer": async () => {
    const page = await open();
    await ready(page);
    const answers = await page.evaluate(async () => {
      const { lessons } = window.hps;
      const all = [];
      for (const [at, { lesson }] of lessons.lessons.entries()) {
        for (const [step, { questions }] of lesson.steps.entries()) {
          await lessons.go(at, step);
          for (const one of questions) all.push({ title: `${at + 1}. ${lesson.title}`, step: step + 1, kind: one.kind, solution: one.solution, within: one.within, answer: await lessons.rightAnswer(one) });
        }
      }
      return all;
    });
    const guide = readFileSync(new URL("../../../docs/teach-guide.md", import.meta.url), "utf8");
    const given = guide.split("\n### ").slice(1).flatMap((part) => {
      const [title, ...lines] = part.split("\n");
      const rows = lines.filter((line) => /^\| \d/.test(line)).map((line) => line.slice(2, -2).split(/ (?<!\\)\| /));
      return rows.map(([step, kind, ...answer]) => ({ title, step: Number(step), kind, answer: answer.join(" | ").replaceAll("\\|", "|") }));
    });
    assert.deepEqual(given.map(({ title, step, kind }) => [title, step, kind]), answers.map(({ title, step, kind }) => [title, step, kind]));
    for (const [at, { title, step, kind, solution, within, answer }] of answers.entries()) {
      const said = given[at].answer;
      const place = `${title}, step ${step}: ${said}`;
      if (kind === "goal") {
        for (const [key, value] of Object.entries(solution.keys ?? {})) assert.ok(said.includes(`${key} = ${value}`), place);
        for (const line of (solution.profilers ?? "").trim().split("\n")) assert.ok(!line || line.startsWith("level") || said.includes(line), place);
      } else if (kind === "number" || kind === "predict") {
        const [number, wanted] = [Number(said.replaceAll(",", "")), Number(answer)];
        const most = within.endsWith("%") ? (Math.abs(wanted) * parseFloat(within)) / 100 : parseFloat(within);
        assert.ok(Math.abs(number - wanted) <= most / 4 + 0.0005, `${place}, and the page ${answer}`);
      } else assert.equal(said, answer, place);
    }
    await page.context().close();
  },

  "a program has arguments and standard input": async () => {
    const page = await open();
    await ready(page);
    // Prints what it reads, then eight bytes of its first argument.
    const text =
      "_start: li a0, 0\nla a1, buffer\nli a2, 16\nli a7, 63\necall\nmv a2, a0\nli a0, 1\nli a7, 64\necall\nld a1, 16(sp)\nli a0, 1\nli a2, 8\necall\nli a0, 0\nli a7, 93\necall\n.data\nbuffer: .zero 16\n";
    await run(page, { program: { kind: "assembly", isa: "riscv64", text }, arguments: ["unseen.."] });
    await page.evaluate(() => window.hps.setup.render());
    await page.getByRole("button", { name: "Edit the program" }).click();
    await page.getByLabel("Arguments").fill('"two wds" second');
    await page.getByLabel("Arguments").blur();
    await page.getByLabel("Standard input").fill("read\nme\n");
    await page.getByLabel("Standard input").blur();
    await page.getByRole("tab", { name: "Output" }).click();
    await page.locator(".panel pre", { hasText: "two wds" }).waitFor();
    assert.equal(await app(page, "app.summary.output"), "read\nme\ntwo wds\0");
    assert.deepEqual(await app(page, "structuredClone(app.linked.setup.arguments)"), ["two wds", "second"]);
    assert.equal(await page.getByLabel("Arguments").inputValue(), '"two wds" second');
    await page.context().close();
  },
};
