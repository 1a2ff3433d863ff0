// What can be seen and done in the page: tables of the machine, contexts, source, links, keys, names, colours, frames.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { hps, lessons, link, open, ready, run, settled } from "./chromium.mjs";

const app = (page, look) => page.evaluate(`(() => { const { app } = window.hps; return ${look}; })()`);
const choose = async (page, label, value) => {
  await page.getByLabel(label, { exact: true }).selectOption(value);
  await settled(page);
};

/** How many dots of a canvas have a colour of the style. */
const dots = (page, selector, variable) =>
  page.evaluate(
    ([selector, variable]) => {
      const canvas = document.querySelector(selector);
      const pen = document.createElement("canvas").getContext("2d");
      pen.fillStyle = getComputedStyle(canvas).getPropertyValue(variable);
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b] = pen.getImageData(0, 0, 1, 1).data;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) if (data[at] === r && data[at + 1] === g && data[at + 2] === b) count++;
      return count;
    },
    [selector, variable],
  );

export const looks = {
  "tables show what the machine holds, and an instruction leads to its set": async () => {
    const page = await open();
    await ready(page);
    await choose(page, "Program", { label: "example: walk" });
    const cycles = await app(page, "app.summary.cycles");
    await page.evaluate((cycle) => window.hps.app.go(cycle), Math.round(cycles * 0.7));
    await settled(page);
    const drawing = ".tables-panel canvas";
    // Squares as the simulator counts them: changed lines, and lines on their way.
    const letters = await app(page, 'app.inside.tables.find((one) => one.name === "l1d").letters');
    const dirty = letters.split("d").length - 1;
    assert.ok(dirty > 20, `${dirty} lines are changed`);
    const square = (await dots(page, drawing, "--cell-dirty")) / dirty;
    assert.ok(square > 8 && square < 200, `${square} dots a line`);
    // A line that is on its way.
    const taken = (name) => app(page, `app.inside.tables.find((one) => one.name === "${name}").taken`);
    for (let at = 0; at < 200 && (await taken("l1d_misses")) === 0; at++) {
      await page.evaluate(() => window.hps.app.go(window.hps.app.linked.cycle + 1));
      await settled(page);
    }
    await page.getByLabel("Table", { exact: true }).selectOption("l1d_misses");
    await page.waitForFunction(() => document.querySelector(".tables-panel table td code")?.textContent.startsWith("0x"));
    assert.match(await page.locator(".tables-panel tbody").innerText(), /since cycle \d+, until cycle \d+/);
    // A load or store of the time line leads to its set, and the set has its line.
    const [index, address] = await page.evaluate(async () => {
      const { app } = window.hps;
      const { rows } = await app.api.ask("rows", { ask: "rows", first: app.cycleView.first_row - 400, count: 300, only_committed: false });
      const row = rows.find((one) => one.address && one.text.startsWith("sd"));
      return [row.index, BigInt(row.address)];
    });
    await page.evaluate((index) => window.hps.app.select(index), index);
    await page.getByLabel("Table", { exact: true }).selectOption("l1d");
    const set = Number((address / 64n) % BigInt(await app(page, 'app.inside.tables.find((one) => one.name === "l1d").sets')));
    await page.getByRole("button", { name: `Set ${set}, of the selected instruction` }).click();
    const line = `0x${((address / 64n) * 64n).toString(16)}`;
    await page.locator(".tables-panel tbody").getByText(line).waitFor();
    assert.match(await page.locator(".tables-panel caption").innerText(), new RegExp(`set ${set}$`));
    // Arrow keys choose the next set, and blocks lead to other tables.
    await page.locator(drawing).focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((set) => window.hps.app.linked.set === set + 1, set);
    await page.locator(".block-predictors").getByRole("button", { name: /Local histories/ }).click();
    await page.locator(".tables-panel").getByText("its own", { exact: false }).first().waitFor();
    // A step marks the sets that it has changed.
    await page.locator(".block-dcache").getByRole("button", { name: /Lines of level 1/ }).click();
    await page.getByRole("button", { name: "Back to the instruction of the program that committed before (p)" }).click();
    await settled(page);
    assert.ok(await app(page, "app.digestsBefore.size > 0"));
    await page.context().close();
  },

  "queues hold addresses and values": async () => {
    const page = await open();
    await ready(page);
    const text = "_start: la a1, cell\nli s0, 300\nloop: li t0, 77\nsd t0, 8(a1)\nld t1, 8(a1)\naddi s0, s0, -1\nbnez s0, loop\nli a7, 93\necall\n.data\ncell: .zero 64\n";
    await run(page, { program: { kind: "assembly", isa: "riscv64", text } });
    await page.evaluate(() => window.hps.app.go(Math.round(window.hps.app.summary.cycles * 0.6)));
    await settled(page);
    const cell = (await app(page, "app.inside.memory")).find((op) => op.value !== null);
    assert.equal(cell.value, "0x4d");
    await page.locator(".block-stores").getByText(`${cell.address} ← 0x4d`).first().waitFor();
    await page.locator(".block-loads").getByText(cell.address).first().waitFor();
    await page.context().close();
  },

  "contexts of a machine with several have lanes and blocks of their own": async () => {
    const page = await open();
    await ready(page);
    await choose(page, "Program", { label: "example: two threads" });
    for (const [machine, contexts] of [["smt-2", 2], ["cmp-4", 4]]) {
      await page.getByLabel("Machine", { exact: true }).selectOption(machine);
      await page.waitForFunction((machine) => window.hps.app.summary?.machine === machine, machine);
      await settled(page);
      assert.equal(await page.getByLabel("Hardware context of the blocks").locator("option").count(), contexts);
      await page.evaluate(() => window.hps.app.go(Math.round(window.hps.app.summary.cycles * 0.5)));
      await settled(page);
      const seen = [];
      for (const context of [0, 1]) {
        await page.getByLabel("Hardware context of the blocks").selectOption(String(context));
        await page.waitForFunction((context) => window.hps.app.cycleView?.rob.some((slot) => slot.row.context === context), context);
        await settled(page);
        seen.push(await page.locator(".block-rob .slot").count());
        // The thread's next instruction in this cycle is the oldest in its reorder buffer.
        assert.equal(await app(page, "app.stateView.pc"), await app(page, "app.cycleView.rob[0].row.pc"));
        assert.ok(seen[context] > 0, `${machine}, context ${context}`);
        await page.waitForTimeout(100);
        assert.ok((await dots(page, ".timeline-scroll canvas", `--context-${context}`)) > 50, `${machine}: lane of context ${context}`);
      }
      await page.click("#tab-profilers");
      await page.getByText("watch machines with one context").waitFor();
      await page.click("#tab-pipeline");
    }
    await page.getByLabel("Hardware context of the blocks").selectOption("3");
    await page.getByText("No thread is on this context in this cycle.").waitFor();
    await page.context().close();
  },

  "source and disassembly go in step": async () => {
    const page = await open();
    await ready(page);
    // Assembly: the line that comes next is marked in the editor.
    await page.evaluate(() => window.hps.app.go(500));
    await settled(page);
    await page.getByRole("button", { name: "Edit the program" }).click();
    const next = await app(page, "app.summary.lines[app.stateView.pc]");
    const marked = await page.locator(".setup .cm-here").innerText();
    assert.ok(marked.length > 3 && (await app(page, `app.linked.setup.program.text.split("\\n")[${next - 1}]`)) === marked, marked);
    await page.getByText("More steps").click();
    // A line number sets a breakpoint at the line's instruction, and steps go there both ways.
    await page.locator(".setup .cm-lineNumbers .cm-gutterElement", { hasText: /^7$/ }).click();
    assert.equal(await app(page, "app.summary.lines[app.linked.breakpoints[0]]"), 7);
    await page.locator(".setup .cm-lineNumbers .cm-break").waitFor();
    const at = () => app(page, "app.linked.cycle");
    const before = await at();
    await page.getByRole("button", { name: "To the next breakpoint (g)" }).click();
    await page.waitForFunction((before) => window.hps.app.linked.cycle > before, before);
    await settled(page);
    const there = await at();
    await page.getByRole("button", { name: "Back to the breakpoint before (Shift+g)" }).click();
    await page.waitForFunction((there) => window.hps.app.linked.cycle < there, there);
    // C: the text of the line, and the instructions beside it.
    await choose(page, "Program", "lz");
    await page.evaluate(() => window.hps.app.go(4000));
    await settled(page);
    await page.getByRole("tab", { name: "Code" }).click();
    await page.locator(".source-lines .next").waitFor();
    const source = await app(page, "app.stateView.next[0].source");
    const number = source.slice(source.lastIndexOf(":") + 1);
    assert.ok((await page.locator(".source-lines .next").innerText()).trim().startsWith(number), source);
    assert.equal(await page.locator(".code .next code").count(), 1);
    await page.context().close();
  },

  "memory follows the cycles, and says what has changed": async () => {
    const page = await open();
    await ready(page);
    const text = "_start: la a1, cell\nli t0, 1\nloop: sb t0, 0(a1)\naddi a1, a1, 1\naddi t0, t0, 1\nli t1, 100\nbltu t0, t1, loop\nli a7, 93\necall\n.data\ncell: .zero 128\n";
    await run(page, { program: { kind: "assembly", isa: "riscv64", text } });
    await page.evaluate(() => window.hps.app.go(0));
    await settled(page);
    await page.getByRole("tab", { name: "Memory" }).click();
    await page.getByLabel("Address or symbol").fill("cell");
    await page.getByLabel("Address or symbol").press("Enter");
    await page.locator(".panel pre", { hasText: "00 00 00" }).waitFor();
    await page.locator("canvas").first().focus();
    await page.evaluate(() => window.hps.app.go(window.hps.app.summary.cycles));
    await page.locator(".panel pre", { hasText: "01 02 03 04" }).waitFor();
    assert.ok((await page.locator(".panel mark").count()) > 90);
    await page.evaluate(() => window.hps.app.go(0));
    await page.locator(".panel pre", { hasText: "00 00 00" }).waitFor();
    await page.context().close();
  },

  "a link carries the whole state": async () => {
    const page = await open();
    await ready(page);
    await choose(page, "Program", { label: "example: branches" });
    await page.evaluate(() => {
      const { app } = window.hps;
      app.linked.setup.keys = { "memory.latency_cycles": "50" };
      return app.run();
    });
    await page.evaluate(() => window.hps.app.go(700));
    await settled(page);
    await page.locator("canvas").first().focus();
    for (const key of ["ArrowDown", "ArrowDown", "b", "+"]) await page.keyboard.press(key);
    await page.getByRole("tab", { name: "Memory" }).click();
    await page.getByLabel("Address or symbol").fill("0x10000");
    await page.getByLabel("Address or symbol").press("Enter");
    await page.getByLabel("Table", { exact: true }).selectOption("global");
    await page.getByLabel("Set, 0 to 4095").fill("17");
    await page.getByLabel("Set, 0 to 4095").press("Enter");
    await page.getByLabel("Event", { exact: true }).selectOption("l1d_miss");
    await page.click("#tab-dise");
    await page.locator(".dise .cm-content").fill("Draft: T.OPCLASS == load => null");
    await page.click("#tab-profilers");
    await page.getByLabel("Samples on the time line, of").selectOption("tip");
    await lessons(page);
    await page.locator(".files summary").click();
    const lesson = join(mkdtempSync(join(tmpdir(), "hps-link-")), "mine.md");
    writeFileSync(lesson, "---\ntitle: Mine\n---\nHello.\n\n## Second\n\n```number\nTwo?\nanswer: 1 + 1\n```\n");
    await page.locator('input[aria-label="Open a lesson"]').setInputFiles(lesson);
    await page.getByRole("button", { name: "On ▸" }).click();
    await page.locator(".lesson input").fill("2");
    await page.locator(".lesson input").press("Enter");
    await page.getByText("✓ Right.").waitFor();
    const again = await open(await link(page));
    const state = await app(page, "structuredClone(app.linked)");
    await ready(again);
    await again.waitForTimeout(500);
    assert.deepEqual(await app(again, "structuredClone(app.linked)"), state);
    await again.getByText("Two?").waitFor();
    await again.getByText("✓ Right.").waitFor();
    await again.click("#tab-dise");
    await again.locator(".dise .cm-content").getByText("Draft").waitFor();
    await again.click("#tab-pipeline");
    await again.waitForFunction(() => window.hps.app.marks.length > 0);
    for (const one of [page, again]) await one.context().close();
  },

  "productions that are edited run, and say which pattern wins": async () => {
    const page = await open();
    await ready(page);
    await page.click("#tab-dise");
    const editor = page.locator(".dise .cm-content");
    await editor.fill("register seen = dr2;\nLoads: T.OPCLASS == load => { addi seen, seen, 1 ; T.INSN }\nAll: T.OPCLASS == lode => null");
    await page.getByText("Line 3, column 19").waitFor();
    await page.locator(".dise .cm-lint-marker-error").waitFor();
    await editor.fill("register seen = dr2;\nLoads: T.OPCLASS == load => { addi seen, seen, 1 ; T.INSN }");
    await page.getByRole("button", { name: "Run with these" }).click();
    await page.waitForFunction(() => window.hps.app.summary?.inserted > 1000);
    for (const table of ["Pattern table", "Replacement table", "Conditionals table"]) await page.getByText(table).waitFor();
    // Behind an inserted instruction the register has counted it.
    await page.getByRole("button", { name: "inserted ▸ (i)" }).click();
    await settled(page);
    const seen = () => page.locator(".motion .registers div", { hasText: "dr2 seen" }).locator("code").innerText();
    const first = Number(await seen());
    for (let at = 0; at < 40; at++) await page.evaluate(() => window.hps.app.find({ is: "inserted" }));
    await settled(page);
    assert.ok(Number(await seen()) > first);
    // In front of a load its pattern wins.
    const load = await page.evaluate(async () => {
      const { app } = window.hps;
      for (let at = 0; at < 60; at++) {
        await app.find({ is: "instruction" });
        if (app.stateView?.next[0]?.text.startsWith("ld")) return true;
      }
      return false;
    });
    assert.ok(load);
    await settled(page);
    assert.match(await page.locator(".motion tr.wins").innerText(), /Loads[\s\S]*wins/);
    await page.click("#tab-pipeline");
    await page.evaluate(() => window.hps.app.go(2000));
    await settled(page);
    await page.waitForTimeout(150);
    assert.ok((await dots(page, ".timeline-scroll canvas", "--production-0")) > 50);
    await page.context().close();
  },

  "sliders compute profiles anew, and samples fall on the time line": async () => {
    const page = await open();
    await ready(page);
    await choose(page, "Program", "bwt");
    await page.click("#tab-profilers");
    await page.locator("#hps-accuracy").waitFor();
    const answers = async () => ({
      overlap: await page.locator("#hps-accuracy").innerText(),
      overhead: await page.locator("#hps-overhead").innerText(),
      errors: await page.locator(".profile thead").first().innerText(),
      stack: await page.locator(".stack figcaption").innerText(),
    });
    const changes = async (what, change) => {
      const before = await answers();
      await change();
      await page.waitForFunction(([what, before]) => {
        const now = { overlap: "#hps-accuracy", overhead: "#hps-overhead", errors: ".profile thead", stack: ".stack figcaption" };
        const element = document.querySelector(now[what]);
        return element && element.innerText !== before;
      }, [what, before[what]]);
    };
    const drag = async (name, keys) => {
      await page.getByRole("slider", { name, exact: true }).focus();
      for (const key of keys) await page.keyboard.press(key);
    };
    const right = Array(8).fill("ArrowRight");
    await changes("errors", () => drag("Period", right));
    await changes("overhead", () => drag("Burst, events", right));
    await changes("overlap", () => drag("Sparsity, events", right));
    await page.getByText("Change the machine").click();
    await changes("stack", () => drag("Reorder buffer", right.map(() => "ArrowLeft")));
    await changes("stack", () => drag("Width of all stages", ["ArrowLeft", "ArrowLeft"]));
    await changes("stack", () => drag("Data cache, bytes", right.map(() => "ArrowLeft")));
    await changes("stack", () => page.getByLabel("Branch prediction").selectOption({ label: "never taken" }));
    await page.getByRole("button", { name: "Look at the time line" }).click();
    const mark = await app(page, "app.marks[Math.floor(app.marks.length / 2)]");
    await page.evaluate((cycle) => window.hps.app.go(cycle), mark.cycle);
    await settled(page);
    await page.getByRole("button", { name: "To the cycle" }).click();
    await page.waitForTimeout(200);
    assert.ok((await dots(page, ".timeline-scroll canvas", "--mark")) > 5);
    await page.context().close();
  },

  "each step of each slider makes a machine that runs": async () => {
    const page = await open();
    await ready(page);
    await page.getByText("Change the machine").click();
    const machines = await app(page, "app.catalog.machines.map(({ name }) => name)");
    assert.ok(machines.length >= 8);
    let steps = 0;
    for (const machine of machines) {
      await page.evaluate((machine) => {
        const { app } = window.hps;
        app.linked.setup.program = { kind: "assembly", isa: "riscv64", text: "_start: li t0, 40\nloop: addi t0, t0, -1\nbnez t0, loop\nli a7, 93\necall\n" };
        app.linked.setup.machine = machine;
        app.linked.setup.keys = {};
        window.hps.setup.render();
      }, machine);
      // Each alone, and beside a small and a large reorder buffer.
      const tried = await page.evaluate(async () => {
        const { app } = window.hps;
        const { setup } = app.linked;
        const sliders = () => [...document.querySelectorAll(".keys input[type=range]")];
        const move = (slider, value) => {
          slider.value = value;
          slider.dispatchEvent(new Event("input"));
        };
        const reset = () => {
          setup.keys = {};
          window.hps.setup.render();
        };
        // Down and back to the preset leaves no key behind.
        for (const slider of sliders()) {
          const { value } = slider;
          move(slider, "0");
          move(slider, value);
        }
        const left = { ...setup.keys };
        const failed = [];
        let steps = 0;
        for (const rob of [sliders()[0].value, "0", sliders()[0].max]) {
          for (const at of sliders().keys()) {
            for (let step = 0; step <= Number(sliders()[at].max); step++) {
              reset();
              const slider = sliders()[at];
              move(sliders()[0], rob);
              move(slider, String(step));
              steps++;
              try {
                await app.api.ask("run", { ask: "run", setup });
              } catch (error) {
                failed.push(`${setup.machine}, ${slider.labels[0].textContent} ${step} with ${rob}: ${error.message}`);
              }
            }
            reset();
          }
        }
        return { failed, steps, left };
      });
      assert.deepEqual(tried.failed, []);
      assert.deepEqual(tried.left, {}, `${machine}: all sliders are back at the preset`);
      steps += tried.steps;
    }
    console.log(`  ${steps} steps`);
    await page.context().close();
  },

  "an ELF file that is dropped runs as under the command": async () => {
    const page = await open();
    await ready(page);
    const file = new URL("../../../workloads/images/riscv64/lz", import.meta.url).pathname;
    const bytes = readFileSync(file).toString("base64");
    await page.evaluate((bytes) => {
      const data = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([data], "dropped"));
      document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }, bytes);
    await page.waitForFunction(() => window.hps.app.summary?.program === "dropped");
    // Under the same name, which lies on the program's stack.
    const folder = mkdtempSync(join(tmpdir(), "hps-drop-"));
    writeFileSync(join(folder, "dropped"), readFileSync(file));
    const options = ["--until", "20000", "--json=stats.json", "--machine", "hps-4wide", "--no-files"];
    execFileSync(hps, ["run", ...options, "dropped"], { cwd: folder, stdio: ["ignore", "ignore", "ignore"] });
    assert.equal(await app(page, "app.summary.cycles"), JSON.parse(readFileSync(join(folder, "stats.json"), "utf8")).cycles);
    await page.context().close();
  },

  "an endless loop can be stopped, and the next run works": async () => {
    const page = await open();
    await ready(page);
    await page.evaluate(() => {
      const { app } = window.hps;
      app.linked.setup.program = { kind: "assembly", isa: "riscv64", text: "loop: j loop" };
      app.linked.setup.limit = 2_000_000;
      void app.run();
    });
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("The run was stopped.").waitFor();
    // Each example runs, and Alpha's is Alpha's.
    const examples = await page.getByLabel("Program", { exact: true }).locator("option").allInnerTexts();
    for (const label of examples.filter((text) => text.startsWith("example: "))) {
      await choose(page, "Program", { label });
      assert.equal(await app(page, "app.summary?.end"), "exit", label);
    }
    assert.equal(await app(page, "app.summary.isa"), "alpha");
    await run(page, { program: { kind: "assembly", isa: "alpha", text: "_start: lda $1, 50($31)\nloop: subq $1, 1, $1\n bne $1, loop\n lda $0, 1($31)\n lda $16, 3($31)\n call_pal 0x83\n" }, limit: 20_000 });
    assert.equal(await app(page, "app.summary.said"), "exit code 3");
    await page.context().close();
  },

  "a served page takes larger programs and longer runs, and nobody else asks": async () => {
    const file = new URL("../../../workloads/images/riscv64/bwt", import.meta.url).pathname;
    const server = spawn(hps, ["teach", "--serve", "0", file], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const address = (await createInterface(server.stdout)[Symbol.asyncIterator]().next()).value.trim();
      const page = await open("", { address });
      await ready(page);
      assert.equal(await app(page, "app.catalog.limits.instructions"), 20_000_000);
      assert.equal(await app(page, "app.summary.program"), file);
      await page.getByRole("button", { name: "Edit the program" }).click();
      await page.getByLabel("Instructions at most").fill("5000000");
      await page.getByLabel("Instructions at most").press("Enter");
      await page.waitForFunction(() => !window.hps.app.busy && window.hps.app.linked.setup.limit === 5_000_000, undefined, { timeout: 60_000 });
      await settled(page);
      const found = await app(page, "[app.summary.instructions, app.summary.cycles]");
      const stats = join(mkdtempSync(join(tmpdir(), "hps-serve-")), "stats.json");
      execFileSync(hps, ["run", "--until", "5000000", `--json=${stats}`, "--machine", "hps-4wide", file], { stdio: ["ignore", "ignore", "ignore"] });
      const wanted = JSON.parse(readFileSync(stats, "utf8"));
      assert.deepEqual(found, [wanted.instructions, wanted.cycles]);
      // Forward, and back, at the end of the run.
      await page.evaluate(() => window.hps.app.go(window.hps.app.summary.cycles - 100));
      await settled(page);
      await page.keyboard.press("ArrowLeft");
      await settled(page);
      await page.context().close();
      const status = (headers) =>
        new Promise((resolve) => {
          const asking = request(new URL("/ask", address), { method: "POST", headers }, (answer) => resolve(answer.resume().statusCode));
          asking.end('{"ask":"catalog"}');
        });
      assert.equal(await status({}), 403);
      assert.equal(await status({ "x-hps-token": "guess" }), 403);
      assert.equal(await status({ host: "elsewhere.example" }), 403);
      // A page from elsewhere cannot ask, nor read the served one.
      const other = await open("", { address: "data:text/html,<title>other</title>", refused: true });
      const refused = await other.evaluate((address) => fetch(address, { mode: "cors" }).then(() => "read", () => "refused"), address);
      assert.equal(refused, "refused");
      await other.context().close();
    } finally {
      server.kill();
    }
  },

  "everything has a name and can be reached by keys": async () => {
    const page = await open();
    await ready(page);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    for (const view of ["pipeline", "compare", "dise", "profilers", "lessons"]) {
      if (view === "lessons") await lessons(page, 0);
      else await page.click(`#tab-${view}`);
      await settled(page);
      await page.waitForTimeout(700);
      const nameless = await page.evaluate(() => {
        const name = (element) =>
          element.getAttribute("aria-label") ||
          (element.getAttribute("aria-labelledby") && document.getElementById(element.getAttribute("aria-labelledby"))?.textContent) ||
          (element.labels && [...element.labels].map((label) => label.textContent).join("")) ||
          (element.matches("input, select") ? "" : element.textContent.trim()) ||
          element.title;
        const seen = (element) => element.checkVisibility({ visibilityProperty: true });
        const all = document.querySelectorAll("button, input, select, textarea, summary, [role], [tabindex='0'], [contenteditable='true']");
        const quiet = ["status", "alert", "tabpanel", "presentation", "none"];
        return [...all]
          .filter((one) => seen(one) && !quiet.includes(one.getAttribute("role")) && !name(one))
          .map((one) => one.outerHTML.slice(0, 120));
      });
      assert.deepEqual(nameless, [], view);
      // The tab key comes to each control that is seen, and goes on.
      const wanted = await page.evaluate(() => document.querySelectorAll("button, select").length);
      const reached = new Set();
      // From the top of the page.
      await page.evaluate(() => {
        document.body.tabIndex = -1;
        document.body.focus();
        document.body.removeAttribute("tabindex");
      });
      for (let at = 0; at < wanted + 80; at++) {
        await page.keyboard.press("Tab");
        const one = await page.evaluate(() => {
          const element = document.activeElement;
          if (!element || element === document.body) return "";
          element.dataset.reached = "";
          return element.tagName;
        });
        if (one === "") break;
        reached.add(one);
      }
      const missed = await page.evaluate(() => {
        const all = [...document.querySelectorAll("button, select, summary")];
        const can = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex >= 0;
        return all.filter((one) => can(one) && one.dataset.reached === undefined).map((one) => one.outerHTML.slice(0, 100));
      });
      assert.deepEqual(missed, [], view);
    }
    await page.context().close();
  },

  "text stands out from what is behind it, light and dark": async () => {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open("", { colorScheme });
      await ready(page);
      const low = await page.evaluate(() => {
        const style = getComputedStyle(document.documentElement);
        const pen = document.createElement("canvas").getContext("2d");
        const luminance = (name) => {
          pen.fillStyle = style.getPropertyValue(name);
          pen.fillRect(0, 0, 1, 1);
          const parts = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => {
            const share = part / 255;
            return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        };
        const contrast = (a, b) => {
          const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
          return (light + 0.05) / (dark + 0.05);
        };
        const pairs = [];
        for (const text of ["--ink", "--faint", "--bad", "--good", "--accent", "--mark"]) for (const behind of ["--paper", "--panel"]) pairs.push([text, behind]);
        pairs.push(["--on-accent", "--accent"]);
        for (const stage of ["fetch", "decode", "wait", "execute", "memory", "retire"]) pairs.push(["--on-stage", `--stage-${stage}`]);
        for (const state of ["stalled", "flushed", "drained"]) pairs.push(["--on-stage", `--state-${state}`]);
        for (const context of [0, 1, 2, 3]) pairs.push(["--on-stage", `--context-${context}`]);
        for (const cell of ["clean", "dirty", "moving", "unused"]) pairs.push(["--on-stage", `--cell-${cell}`]);
        // 4.5 is what WCAG 2.2 asks for (1.4.3).
        return pairs.map(([text, behind]) => [text, behind, contrast(text, behind)]).filter(([, , ratio]) => ratio < 4.5);
      });
      assert.deepEqual(low, [], colorScheme);
      await page.context().close();
    }
  },

  "a million cycles scroll smoothly": async () => {
    const page = await open();
    await ready(page);
    await run(page, { program: { kind: "built_in", name: "netsimplex", isa: "riscv64", size: "small" }, limit: 1_500_000 });
    const cycles = await app(page, "app.summary.cycles");
    assert.ok(cycles > 900_000, `${cycles} cycles`);
    // An empty page says what the browser gives: it may be busy, or draw with another rate.
    const empty = await open("", { address: "about:blank" });
    const rate = (one, step) =>
      one.evaluate(
        ([seconds, step]) =>
          new Promise((resolve) => {
            const times = [];
            const scroller = document.querySelector(".timeline-scroll");
            let at = 0;
            const frame = (time) => {
              times.push(time);
              if (time - times[0] >= 1000 * seconds) {
                const gaps = times.slice(1).map((one, index) => one - times[index]).sort((a, b) => a - b);
                resolve({
                  frames: gaps.length / ((times.at(-1) - times[0]) / 1000),
                  dropped: gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / (1000 / 60)) - 1), 0),
                  worst: gaps.at(-1),
                  seen: gaps.length,
                });
                return;
              }
              // Slowly, so that rows can be read, then fast, so that each frame has rows that have to be asked for.
              if (step) scroller.scrollTop += at++ % 240 < 120 ? 37 : 4001;
              requestAnimationFrame(frame);
            };
            requestAnimationFrame(frame);
          }),
        [6, step],
      );
    const idle = await rate(empty, false);
    await empty.context().close();
    await page.bringToFront();
    await page.evaluate(() => (window.hps.pipeline.timeline.frames.length = 0));
    const scrolling = await rate(page, true);
    const paint = await page.evaluate(() => {
      const all = [...window.hps.pipeline.timeline.frames].sort((a, b) => a - b);
      return { count: all.length, most: all[Math.floor(all.length * 0.95)] };
    });
    const say = (name, { frames, dropped, worst, seen }) =>
      console.log(`  ${name}: ${frames.toFixed(1)} frames a second; ${dropped} of ${seen + dropped} dropped; the longest took ${worst.toFixed(0)} ms`);
    console.log(`  ${cycles} cycles; ${paint.count} drawings, 95% of them in less than ${paint.most.toFixed(1)} ms`);
    say("an empty page", idle);
    say("scrolling", scrolling);
    assert.ok(paint.most < 16.7, `${paint.most} ms`);
    assert.ok(paint.count >= scrolling.seen * 0.95, "each frame is drawn");
    // What tables hold comes from a second run.
    const looks = await page.evaluate(async (cycles) => {
      const look = async (cycle) => {
        const begin = performance.now();
        await window.hps.app.api.ask("inside", { ask: "inside", cycle, context: 0, tables: ["l1i", "l1d", "l2"], row: null });
        return Math.round(performance.now() - begin);
      };
      const last = cycles - 10;
      const first = await look(last);
      const steps = [];
      for (const by of [1, 2, 3, 2, 1, 0, -1, -2, -300]) steps.push(await look(last + by));
      const jumps = [];
      for (const share of [0.5, 0.1, 0.9, 0.3]) jumps.push(await look(Math.round(cycles * share)));
      return { first, steps, jumps };
    }, cycles);
    console.log(`  tables at the end after ${looks.first} ms; steps from there ${looks.steps.join(", ")} ms; to other cycles ${looks.jumps.join(", ")} ms`);
    // Beside a page that does nothing.
    assert.ok(scrolling.frames > 0.95 * idle.frames, `${scrolling.frames} of ${idle.frames} frames a second`);
    await page.context().close();
  },
};
