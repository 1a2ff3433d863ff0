// Programs in C, memory in all forms, machines of textbooks. See chromium.mjs.
import assert from "node:assert/strict";
import { open, ready, run, settled } from "./chromium.mjs";

const app = (page, look) => page.evaluate(`(() => { const { app } = window.hps; return ${look}; })()`);

/** A run on a machine. */
const on = async (page, machine, text) => {
  await run(page, { program: { kind: "assembly", isa: "riscv64", text }, machine, keys: {}, limit: 20_000 });
  await page.evaluate(() => window.hps.setup.render());
};

export const programs = {
  "each program in C prints what it says, and its line is marked in step": async () => {
    const page = await open();
    await ready(page);
    await page.getByRole("button", { name: "Edit the program" }).click();
    const chooser = page.getByLabel("Program", { exact: true });
    const all = (await chooser.locator("option").allTextContents()).filter((name) => name.startsWith("C: "));
    assert.equal(all.length, 20);
    for (const name of all) {
      await chooser.selectOption({ label: name });
      await page.waitForFunction(() => !window.hps.app.busy && document.querySelector(".c-source:not([hidden])"));
      await settled(page);
      const c = await page.locator(".c-source li").allInnerTexts();
      const said = c[1].replace("// Prints: ", "");
      assert.deepEqual((await app(page, "app.summary.output")).trim().split(/\s+/), said.trim().split(/\s+/), name);
      assert.match(await app(page, "app.summary.said"), /exit/i, `${name} ends within what a page runs at first`);
      // The line of C is that behind the `#` of the assembly that executes next.
      let seen = 0;
      for (const cycle of [0.3, 0.5, 0.7]) {
        await page.evaluate((share) => window.hps.app.go(Math.floor(share * window.hps.app.summary.cycles)), cycle);
        await settled(page);
        const line = await app(page, "app.summary.lines[app.stateView.pc]");
        const text = await app(page, `app.linked.setup.program.text.split("\\n")[${line} - 1]`);
        const wanted = /# (\d+)$/.exec(text)?.[1];
        const marked = await page.locator(".c-source .here").count();
        assert.equal(marked, wanted ? 1 : 0, `${name}: ${text}`);
        if (!wanted) continue;
        seen++;
        assert.equal((await page.locator(".c-source .here").innerText()).trim(), c[Number(wanted) - 1].trim() || "", name);
      }
      assert.ok(seen > 0 || said.length < 3, name);
    }
    await chooser.selectOption({ label: "C: bubble sort" });
    await settled(page);
    await page.locator(".c-source button", { hasText: "if (numbers[i]" }).click();
    assert.ok((await page.locator(".cm-chosen").count()) >= 3);
    await page.context().close();
  },

  "memory is shown as bytes, words, text and a picture": async () => {
    const page = await open();
    await ready(page);
    const text =
      "_start: la t0, screen\nli t1, 0xe0\nsb t1, 65(t0)\nli a0, 0\nli a7, 93\necall\n.data\n.align 3\nwords: .word 1, -2\n.dword -3\nname: .asciz \"a text\"\nscreen: .zero 4096\n";
    await on(page, "hps-4wide", text);
    await page.evaluate(() => window.hps.app.go(window.hps.app.summary.cycles));
    await settled(page);
    await page.getByRole("tab", { name: "Memory" }).click();
    const address = page.getByLabel("Address or symbol");
    const form = page.getByLabel("as", { exact: true });
    const shown = () => page.locator(".memory pre").innerText();
    await address.fill("words");
    await address.press("Enter");
    await page.waitForFunction(() => document.querySelector(".memory pre")?.innerText.includes("01 00 00 00 fe ff ff ff"));
    await form.selectOption("words");
    await page.waitForFunction(() => /^000 +1 +-2 +-3 +-1/.test(document.querySelector(".memory pre")?.innerText ?? ""));
    await form.selectOption("doublewords");
    await page.waitForFunction(() => /-3\s/.test(document.querySelector(".memory pre")?.innerText ?? ""));
    await form.selectOption("text");
    await page.waitForFunction(() => document.querySelector(".memory pre")?.innerText.includes("a text"));
    assert.match(await shown(), /a text·/);
    await form.selectOption("picture");
    await page.locator("canvas.screen").waitFor();
    assert.match(await page.locator("canvas.screen").getAttribute("aria-label"), /screen: 1 of 4,096 pixels/);
    const dot = await page.evaluate(() => [...document.querySelector("canvas.screen").getContext("2d").getImageData(1, 1, 1, 1).data]);
    assert.deepEqual(dot, [255, 0, 0, 255]);
    await page.context().close();
  },

  "the stages of textbooks: bubbles, and what the blocks hold": async () => {
    const page = await open();
    await ready(page);
    const text = "_start: li s2, 60\nla s0, cell\nloop: ld t0, 0(s0)\nadd t1, t0, t0\nadd t2, t2, t1\naddi s2, s2, -1\nbnez s2, loop\nli a7, 93\nli a0, 0\necall\n.data\ncell: .dword 3\n";
    for (const [machine, cycles] of [["five-stage-stalls", 13], ["five-stage", 8], ["single-cycle", 5]]) {
      await on(page, machine, text);
      assert.equal(await page.evaluate(async () => Math.round((await window.hps.app.api.ask("analysis", { ask: "analyze" })).cycles * 100) / 100), cycles, machine);
      const middle = Math.floor((await app(page, "app.summary.cycles")) * 0.8);
      const places = await app(page, "app.summary.sizes.issue_width");
      for (let cycle = middle; cycle < middle + cycles; cycle++) {
        await page.evaluate((cycle) => window.hps.app.go(cycle), cycle);
        await settled(page);
        const held = (block) => page.locator(`.block-${block} [data-row]`).count();
        const stages = machine === "single-cycle" ? ["one"] : ["fetch", "decode", "units", "memory", "commit"];
        const all = await Promise.all(stages.map(held));
        assert.ok(all.every((n) => n <= places), `${machine}, cycle ${cycle}: ${all}`);
        if (machine === "single-cycle") assert.deepEqual(all, [1]);
      }
    }
    await page.context().close();
  },

  "the hottest instruction is guessed from profiles while the truth is covered": async () => {
    const page = await open();
    await ready(page);
    await page.click("#tab-profilers");
    await page.waitForFunction(() => window.hps.profilers.profiles);
    const truth = () => page.locator(".profile .bar-fill.truth").count();
    assert.ok((await truth()) > 0);
    const hottest = await page.evaluate(() => [...window.hps.profilers.profiles.truth].sort((a, b) => b.share - a.share).map(({ name }) => name));
    const choose = async (name) => {
      await page.locator(".game button").click();
      assert.equal(await truth(), 0);
      assert.equal(await page.getByText(/^error/).count(), 0);
      await page.getByRole("button", { name: `this one: ${name}`, exact: true }).first().click();
      return page.locator(".game").innerText();
    };
    assert.match(await choose(hottest.at(-1)), /No\..*0 of 1 right/s);
    assert.match(await choose(hottest[0]), /Right\..*1 of 2 right/s);
    assert.ok((await truth()) > 0);
    await page.context().close();
  },
};
