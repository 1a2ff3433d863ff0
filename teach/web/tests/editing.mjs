// C that is written in a served page, edits of registers and memory, coherence by messages. See chromium.mjs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { violations } from "./axe.mjs";
import { hps, link, open, ready, run, settled, shots } from "./chromium.mjs";

const app = (page, look) => page.evaluate(`(() => { const { app } = window.hps; return ${look}; })()`);
const idle = async (page) => {
  await page.waitForFunction(() => !window.hps.app.busy && window.hps.app.summary);
  await settled(page);
};

/** The run whose output begins so. */
const printed = async (page, begin) => {
  await page.waitForFunction((begin) => window.hps.app.summary?.output.startsWith(begin), begin);
  await idle(page);
};

/** A served page: the command, and its address. */
async function serving(test, ...command) {
  const server = spawn(hps, ["teach", "--serve", "0", ...command], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await test((await createInterface(server.stdout)[Symbol.asyncIterator]().next()).value.trim());
  } finally {
    server.kill();
  }
}

/** Writes into the editor of C, in place of what stands there. */
async function write(page, text) {
  const editor = page.locator(".c-editor .cm-content");
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

/** The page fits, and axe finds nothing wrong, at two widths, light and dark. `shown` waits for what is looked at. */
async function looksGood(page, name, shown, address) {
  if (shots) mkdirSync(shots, { recursive: true });
  const hash = await link(page);
  for (const [width, height] of [[1280, 900], [360, 780]]) {
    for (const colorScheme of ["light", "dark"]) {
      const one = await open(hash, { viewport: { width, height }, colorScheme, ...(address && { address }) });
      await ready(one);
      await one.locator(shown).first().waitFor();
      await settled(one);
      await one.waitForTimeout(400);
      const beyond = await one.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(beyond <= 0, `${name} is ${beyond} pixels too wide at ${width}`);
      if (shots) await one.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      assert.deepEqual(await violations(one), [], `${name}, ${width}, ${colorScheme}`);
      await one.context().close();
    }
  }
}

const TABLE = "_start: la s0, table\nli s1, 40\nli a0, 0\nloop: ld t0, 0(s0)\nadd a0, a0, t0\naddi s0, s0, 8\naddi s1, s1, -1\nbnez s1, loop\nli a7, 93\nandi a0, a0, 255\necall\n.data\n.balign 8\ntable: .rept 40\n.dword 3\n.endr\n";

export const editing = {
  "C is written and compiled in a served page": () =>
    serving(async (address) => {
      const page = await open("", { address });
      await ready(page);
      await page.getByRole("button", { name: "Edit the program" }).click();
      const chooser = page.getByLabel("Program", { exact: true });
      await chooser.selectOption({ label: "C, written here" });
      await printed(page, "338350\n");
      assert.equal(await chooser.inputValue(), "c");
      // An error stands at its line, and the run of before stays.
      await write(page, "void print(long);\nint main(void) {\n  print(missing);\n  return 0;\n}\n");
      await page.getByText("changed: Compile, or Ctrl+Enter").waitFor();
      await page.keyboard.press("Control+Enter");
      await page.locator(".problem", { hasText: "c, line 3, column 9" }).waitFor();
      assert.equal(await page.locator(".c-editor .cm-lintRange-error").innerText(), "missing");
      // A draft is part of the link.
      const draft = await open(await link(page), { address: address });
      await ready(draft);
      assert.match(await draft.locator(".c-editor .cm-content").innerText(), /missing/);
      await draft.context().close();
      await write(page, "void print(long);\nlong twice(long n) {\n  return 2 * n;\n}\nint main(void) {\n  for (long i = 1; i < 30; i++)\n    print(twice(i));\n  return 0;\n}\n");
      await page.getByRole("button", { name: "Compile" }).click();
      await printed(page, "2\n4\n6\n");
      await page.getByText("compiled", { exact: true }).waitFor();
      // Lines go in step: the cursor marks instructions, the number of a line sets a breakpoint, the next line is marked.
      await page.locator(".c-editor .cm-line", { hasText: "print(twice" }).click();
      await page.locator(".cm-chosen").first().waitFor();
      await page.locator(".c-editor .cm-lineNumbers .cm-gutterElement", { hasText: /^7$/ }).click();
      await page.locator(".c-editor .cm-break").first().waitFor();
      assert.equal(await app(page, "app.linked.breakpoints.length"), 1);
      await page.locator(".stepper").click({ position: { x: 2, y: 2 } });
      await page.keyboard.press("g");
      await idle(page);
      const next = await app(page, 'app.linked.setup.program.text.split("\\n")[app.summary.lines[app.stateView.pc] - 1]');
      const lines = await page.locator(".c-editor .cm-line").allInnerTexts();
      assert.equal(await page.locator(".c-editor .cm-here").innerText(), lines[Number(/# (\d+)$/.exec(next)[1]) - 1]);
      await looksGood(page, "c", ".c-editor .cm-line", address);
      // From a page on disk the link shows the text and its assembly, and says what compiles.
      const offline = await open(await link(page));
      await ready(offline);
      assert.match(await app(offline, "app.summary.output"), /^2\n4\n6\n/);
      assert.match(await offline.locator(".c-source").innerText(), /return 2 \* n/);
      await offline.getByText("hps teach --serve 8000").first().waitFor();
      await offline.context().close();
      // The programs of the page are edited, too.
      await chooser.selectOption({ label: "C: fibonacci" });
      await idle(page);
      const before = await app(page, "app.summary.output");
      await page.locator(".c-editor .cm-content").click();
      await page.keyboard.press("Control+Enter");
      await idle(page);
      assert.equal(await app(page, "app.summary.output"), before);
      await page.context().close();
    }),

  "a program in C is put into a page from disk": async () => {
    const folder = mkdtempSync(join(tmpdir(), "hps-c-"));
    const [file, out] = [join(folder, "sum.c"), join(folder, "page.html")];
    writeFileSync(file, "void print(long);\nint main(void) {\n  print(41 + 1);\n  return 0;\n}\n");
    const made = spawn(hps, ["teach", "--no-open", "--out", out, file], { stdio: ["ignore", "ignore", "inherit"] });
    assert.equal(await new Promise((resolve) => made.on("exit", resolve)), 0);
    assert.ok(readFileSync(out, "utf8").includes("print(41 + 1)"));
    const page = await open("", { address: `file://${out}` });
    await ready(page);
    assert.equal((await app(page, "app.summary.output")).trim(), "42");
    assert.match(await page.locator(".c-source").innerText(), /print\(41 \+ 1\)/);
    await page.context().close();
  },

  "registers and memory are edited, and each edit is taken back": async () => {
    const page = await open();
    await ready(page);
    await run(page, { program: { kind: "assembly", isa: "riscv64", text: TABLE, c: null }, machine: "hps-4wide", keys: {}, limit: 20_000, edits: [] });
    assert.match(await app(page, "app.summary.said"), /120/);
    await page.evaluate(() => window.hps.app.go(Math.floor(window.hps.app.summary.cycles / 2)));
    await idle(page);
    await page.getByRole("tab", { name: "Registers" }).click();
    // By keys: to the second cell and back, in, out by Escape, in and set by Enter.
    const first = page.locator(".registers .cell").first();
    await first.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label").split(":")[0]), "ra");
    const left = Number(await app(page, 'app.stateView.registers.find((one) => one.name === "s1").value'));
    const counter = page.locator(".registers .cell[aria-label^='s1:']");
    await counter.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.type("77");
    await page.keyboard.press("Escape");
    assert.equal(await app(page, "app.linked.setup.edits.length"), 0);
    await counter.dblclick();
    await page.keyboard.type("much");
    await page.keyboard.press("Enter");
    assert.equal(await app(page, "app.linked.setup.edits.length"), 0);
    await page.locator("input.edit").fill(String(left - 1));
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => window.hps.app.linked.setup.edits.length === 1);
    await idle(page);
    assert.match(await app(page, "app.summary.said"), /117/);
    assert.equal(Number(await app(page, 'app.stateView.registers.find((one) => one.name === "s1").value')), left - 1);
    const [cycle] = await app(page, "app.summary.edited");
    await page.locator(".registers small", { hasText: `✎ ${cycle}` }).waitFor();
    await page.locator(".edits", { hasText: `s1 = 0x${(left - 1).toString(16)} in cycle ${cycle}` }).waitFor();
    // Memory: the last number of the table.
    await page.getByRole("tab", { name: "Memory" }).click();
    await page.getByLabel("Address or symbol").fill("table");
    await page.getByLabel("Address or symbol").press("Enter");
    await page.getByLabel("as", { exact: true }).selectOption("doublewords");
    const word = page.locator(".memory .cell[aria-label^='0x10000f8:']");
    await word.dblclick();
    await page.keyboard.type("-3");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => window.hps.app.linked.setup.edits.length === 2);
    await idle(page);
    assert.match(await app(page, "app.summary.said"), /111/);
    await page.locator(".memory .cell[aria-label^='0x10000f8: -3']").waitFor();
    await page.getByRole("tab", { name: "Registers" }).click();
    await looksGood(page, "edits", ".registers small");
    await page.getByRole("tab", { name: "Memory" }).click();
    await looksGood(page, "edited-memory", ".edits");
    // A link has the edits.
    const again = await open(await link(page));
    await ready(again);
    assert.match(await app(again, "app.summary.said"), /111/);
    await again.context().close();
    for (const [said, count] of [[/114/, 1], [/120/, 0]]) {
      await page.getByRole("button", { name: /^Take back/ }).first().click();
      await page.waitForFunction((count) => window.hps.app.linked.setup.edits.length === count, count);
      await idle(page);
      assert.match(await app(page, "app.summary.said"), said);
    }
    // A context that the machine does not have refuses, and the edit can be taken back there.
    await page.evaluate(() => {
      window.hps.app.linked.setup.edits = [{ instructions: 4, context: 1, place: "a0", bytes: "0100000000000000" }];
      return window.hps.app.run();
    });
    await page.locator(".problem", { hasText: "the machine has no context 1" }).waitFor();
    await page.getByRole("button", { name: /^Take back/ }).click();
    await idle(page);
    assert.equal(await page.locator(".problem p").count(), 0);
    await page.context().close();
  },

  "threads have registers of their own, which are edited": async () => {
    const page = await open();
    await ready(page);
    await page.getByLabel("Program", { exact: true }).selectOption({ label: "example: two threads" });
    for (const [machine, name] of [["smt-2", "context 1"], ["cmp-4", "core 1"]]) {
      await page.getByLabel("Machine", { exact: true }).selectOption(machine);
      await page.waitForFunction((machine) => window.hps.app.summary?.machine === machine, machine);
      await idle(page);
      await page.evaluate(() => window.hps.app.go(Math.floor(window.hps.app.summary.cycles / 2)));
      await page.getByRole("tab", { name: "Registers" }).click();
      const values = () => app(page, "Object.fromEntries(app.stateView.registers.map((one) => [one.name, Number(one.value)]))");
      const first = await values();
      await page.getByLabel("Hardware context of the blocks").selectOption({ label: name });
      await idle(page);
      const second = await values();
      // Each counts in a line of its own.
      assert.equal(second.a1 - first.a1, 128);
      await page.locator(".registers .cell[aria-label^='t0:']").dblclick();
      await page.locator("input.edit").fill("9");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => window.hps.app.linked.setup.edits.length === 1);
      await idle(page);
      assert.equal((await values()).t0, 9);
      await page.locator(".edits", { hasText: `t0 = 0x9 (${name}) in cycle` }).waitFor();
      await looksGood(page, `edits-${machine}`, ".registers small");
      await page.getByRole("tab", { name: "Memory" }).click();
      await page.getByLabel("Address or symbol").fill("second_count");
      await page.getByLabel("Address or symbol").press("Enter");
      await page.getByLabel("as", { exact: true }).selectOption("doublewords");
      await page.evaluate(() => window.hps.app.go(window.hps.app.summary.cycles));
      await page.getByLabel("Hardware context of the blocks").selectOption("0");
      await idle(page);
      const left = second.t0;
      await page.locator(`.memory .cell[aria-label$=': ${400 - left + 9}. Edit']`).first().waitFor();
      await page.getByRole("button", { name: /^Take back/ }).click();
      await page.waitForFunction(() => window.hps.app.linked.setup.edits.length === 0);
      await idle(page);
    }
    await page.context().close();
  },

  "coherence is stepped message by message": async () => {
    const page = await open();
    await ready(page);
    await page.getByLabel("Program", { exact: true }).selectOption({ label: "example: two threads" });
    await page.getByLabel("Machine", { exact: true }).selectOption("cmp-4");
    await page.waitForFunction(() => window.hps.app.summary?.machine === "cmp-4");
    await idle(page);
    await page.locator(".coherence summary").click();
    await page.locator(".coherence table").waitFor();
    await page.getByLabel("Line", { exact: true }).selectOption({ label: (await page.locator(".coherence option", { hasText: "done" }).first().innerText()).trim() });
    await page.evaluate(() => window.hps.app.go(0));
    await idle(page);
    const seen = new Set();
    const next = page.getByRole("button", { name: "To the next message" });
    for (let at = 0; at < 200 && (await next.isEnabled()); at++) {
      await next.focus();
      await page.keyboard.press("Enter");
      await idle(page);
      const row = page.locator(".coherence tr.wins");
      const cells = await row.locator("td, th").allInnerTexts();
      seen.add(cells[1]);
      // The list, the picture and the cycle say the same.
      assert.equal(cells[0].replaceAll(",", ""), String(await app(page, "app.linked.cycle")));
      const label = await page.locator(".messages-picture").getAttribute("aria-label");
      assert.ok(label.startsWith(`${cells[2]} to ${cells[3]}: ${cells[1]}`), `${label} and ${cells}`);
      const after = cells.slice(5).map((state) => state.at(-1)).join("");
      assert.ok(label.endsWith(`behind: ${after}`), `${label} and ${after}`);
      assert.ok([...after].filter((state) => "ME".includes(state)).length <= 1, after);
    }
    for (const kind of ["request", "forward", "data arrive"]) assert.ok(seen.has(kind), `${kind} among ${[...seen]}`);
    const before = await app(page, "app.linked.cycle");
    await page.getByRole("button", { name: "To the message before" }).click();
    await idle(page);
    assert.ok((await app(page, "app.linked.cycle")) <= before);
    await looksGood(page, "coherence", ".messages-picture");
    await page.getByLabel("Machine", { exact: true }).selectOption("smt-2");
    await page.waitForFunction(() => window.hps.app.summary?.machine === "smt-2");
    await page.locator(".coherence").waitFor({ state: "hidden" });
    await page.context().close();
  },
};
