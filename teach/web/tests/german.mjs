// The page in another language than English: what chooses it, what it says, and whether its longer words fit. See chromium.mjs.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { lessons, open, pageFile, ready, saying, settled } from "./chromium.mjs";

const app = (page, look) => page.evaluate(`(() => { const { app } = window.hps; return ${look}; })()`);
const lang = (page) => page.evaluate(() => document.documentElement.lang);
const say = saying("de");

/** All views with what opens in them; calls `look` in each. */
async function throughViews(page, say, look) {
  const seen = async (name) => {
    await settled(page);
    await page.waitForTimeout(300);
    await look(name);
  };
  await seen("pipeline");
  await page.locator(".more summary").click();
  await page.locator(".legend-box summary").click();
  for (const tab of ["Registers", "Memory", "Code", "Function", "Loop", "Output", "Counters"]) {
    await page.getByRole("tab", { name: say(tab), exact: true }).click();
    await seen(tab);
  }
  await page.evaluate(() => {
    const { app } = window.hps;
    app.linked.setup.edits = [{ instructions: 20, place: "t0", bytes: "0100000000000000" }, { instructions: 99_999, place: "0x1000000", bytes: "07" }];
    app.linked.tab = "registers";
    return app.run();
  });
  await seen("edits");
  await page.evaluate(() => (window.hps.app.linked.setup.edits = []));
  await page.getByRole("button", { name: say("Edit the program") }).click();
  await seen("program");
  const chooser = page.getByLabel(say("Program"), { exact: true });
  await chooser.selectOption({ label: `C: ${say("fibonacci")}` });
  await seen("program in C");
  await chooser.selectOption({ label: `${say("example")}: ${say("two threads")}` });
  await page.evaluate(async () => {
    const { app } = window.hps;
    Object.assign(app.linked.setup, { machine: "cmp-4", keys: {} });
    app.linked.line = "all";
    await app.run();
    await app.go(0);
  });
  await page.locator(".coherence table").waitFor();
  await page.getByRole("button", { name: say("To the next message") }).click();
  await seen("coherence");
  await page.evaluate(() => {
    const { app } = window.hps;
    app.linked.setup.machine = "hps-4wide";
    app.linked.line = "";
    return app.run();
  });
  await chooser.selectOption({ label: `${say("example")}: ${say("sum")}` });
  await settled(page);
  await page.getByRole("button", { name: say("Change the machine") }).click();
  await seen("machine");
  await page.click("#tab-compare");
  await page.getByText(say("Keep this run"), { exact: true }).click();
  await page.waitForFunction(() => window.hps.compare.pairs.length > 0);
  await seen("compare");
  await page.click("#tab-dise");
  await page.getByText(say("Run with these"), { exact: true }).click();
  await page.waitForFunction(() => !window.hps.app.busy && window.hps.app.summary?.inserted > 0);
  await seen("dise");
  await page.click("#tab-profilers");
  await page.locator("#hps-accuracy").waitFor();
  await seen("profilers");
  await page.locator(".game button").click();
  await seen("game");
  await page.click("#tab-pipeline");
  await lessons(page);
  await seen("lessons");
  await lessons(page, 0);
  await page.locator(".files summary").click();
  await seen("lesson");
  await page.locator(".menu summary").click();
  await seen("pictures");
}

export const german = {
  "the address, the browser and the page itself choose the language": async () => {
    for (const [locale, query, wanted] of [["en-US", "", "en"], ["de-AT", "", "de"], ["fr-FR", "", "en"], ["de-DE", "?lang=en", "en"], ["en-US", "?lang=de", "de"], ["en-US", "?lang=xx", "en"]]) {
      const page = await open(query, { locale });
      await ready(page);
      assert.equal(await lang(page), wanted, `${locale} ${query}`);
      assert.equal(await page.locator("#tab-lessons").innerText(), wanted === "de" ? "Lektionen" : "Lessons");
      await page.context().close();
    }
    // In the middle of a step whose goal was reached, with a draft and an answer.
    const page = await open("?embed");
    await ready(page);
    await lessons(page, 1);
    await page.evaluate(() => window.hps.lessons.go(1, 1));
    const [goal] = await app(page, "window.hps.lessons.lessons[1].lesson.steps[1].questions");
    await page.evaluate((goal) => window.hps.lessons.solve(goal), goal);
    const box = page.locator(`[data-question="${goal.id}"]`);
    await page.waitForFunction(() => !window.hps.app.busy);
    await page.getByLabel("Language").selectOption("de");
    await page.waitForURL(/lang=de/);
    await ready(page);
    assert.equal(await lang(page), "de");
    assert.ok(page.url().includes("embed") && page.url().includes("#"));
    assert.equal(await page.locator(".lesson h2").innerText(), "Abhängigkeit und Parallelität auf Befehlsebene");
    assert.ok((await app(page, "app.linked.setup.program.text")).includes("add t3, t2, t2"));
    await box.getByRole("button", { name: "Prüfen" }).click();
    await box.getByText("✓ Richtig.").waitFor();
    // The machine of the lesson is still known: a changed one does not count.
    await page.evaluate(() => (window.hps.app.linked.setup.machine = "wide-8"));
    await box.getByRole("button", { name: "Prüfen" }).click();
    await box.getByText(say("The machine must stay as the lesson has it.")).waitFor();
    await page.getByLabel("Sprache").selectOption("en");
    await page.waitForURL(/lang=en/);
    await ready(page);
    await page.getByText("✓ Right.").waitFor();
    await page.context().close();
  },

  "no words of the page are outside the file of a language": async () => {
    // A language whose letters are wide: what has others comes from elsewhere.
    const marked = (text) => text.replaceAll(/\{\w+\}|\(\w+:[^)]*\)|[A-Za-z]/g, (one) => (one.length > 1 ? one : String.fromCharCode(one.charCodeAt(0) + 0xfee0)));
    const text = readFileSync(pageFile, "utf8").replace(/(<script type="application\/json" id="languages">)(.*?)(<\/script>)/s, (_, begin, json, end) => {
      const { de } = JSON.parse(json);
      de.words = Object.fromEntries(Object.keys(de.words).map((english) => [english, marked(english)]));
      return begin + JSON.stringify({ de }).replaceAll("<", "\\u003c") + end;
    });
    const file = join(mkdtempSync(join(tmpdir(), "hps-words-")), "page.html");
    writeFileSync(file, text);
    const page = await open("?lang=de", { address: pathToFileURL(file).href });
    await ready(page);
    const found = new Set();
    await throughViews(page, marked, async (view) => {
      const bare = await page.evaluate(() => {
        const { catalog } = window.hps.app;
        const names = [...catalog.programs, ...catalog.machines, ...catalog.profilers, ...catalog.productions].map(({ name }) => name);
        const { program } = window.hps.app.linked.setup;
        const labels = [...(program.text ?? "").matchAll(/^(\w+):/gm)].map(([, label]) => label);
        const known = [...names, ...labels, "DISE", "HPS", "Lab", "KiB", "MiB", "MAX", "RISC-V", "Alpha", "English", "Tournament", "gshare", "TAGE", "_start", "0x[0-9a-f]+", "[MESI]{4}"];
        // What the simulator says: instructions, symbols, counters, entries of tables, and texts of lessons.
        const quiet = "code, pre, script, style, .cm-editor, .slot, .memory-op, .tables-panel td, [data-counter], .panel small, .status, .registers, .sources, .dise .tables td, .profile th, .details, article.lesson .prose, .lesson h2, .lesson h3, .lesson .about, .lesson-list, .lessons h3, .lesson-nav option, .c-source, [lang=en], .coherence[hidden]";
        const all = [];
        const take = (text, where) => {
          const rest = text.replaceAll(new RegExp(`(?<![\\w-])(${known.join("|")})(?![\\w-])`, "g"), " ");
          if (/[A-Za-z]{2,}/.test(rest)) all.push(`${where}: ${text.trim().slice(0, 90)}`);
        };
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node = walk.nextNode(); node; node = walk.nextNode()) {
          const of = node.parentElement;
          if (!of.closest(quiet) && (of.checkVisibility() || of.tagName === "OPTION")) take(node.data, `${of.tagName}.${of.className}`);
        }
        for (const element of document.querySelectorAll("[aria-label], [title], [placeholder]")) {
          if (element.closest(".slot, .memory-op, .cm-editor, .cell, .profile td, .coherence tbody tr, .coherence[hidden], article.lesson .question")) continue;
          for (const name of ["aria-label", "title", "placeholder"]) take(element.getAttribute(name) ?? "", `${element.tagName}.${element.className}[${name}]`);
        }
        return all;
      });
      for (const one of bare) found.add(`${view}, ${one}`);
    });
    assert.deepEqual([...found], []);
    await page.context().close();
  },

  "German words fit into their buttons, blocks and boxes": async () => {
    for (const width of [360, 1280]) {
      const page = await open("?lang=de", { viewport: { width, height: 900 } });
      await ready(page);
      const cut = new Set();
      await throughViews(page, say, async (view) => {
        const found = await page.evaluate(() => {
          const all = [];
          for (const element of document.querySelectorAll("button, label, summary, h2, h3, legend, th, .slider, .fact, .tabs, header, .bar, .legend li")) {
            if (!element.checkVisibility() || element.closest(".hidden-file, .cm-editor, .c-source, .code, .profile, .source-lines")) continue;
            if (element.scrollWidth - element.clientWidth > 1 && element.clientWidth > 0) all.push(`${element.tagName}.${element.className}: ${element.textContent.slice(0, 60)}`);
          }
          const page = document.documentElement;
          if (page.scrollWidth > page.clientWidth) all.push(`the page is ${page.scrollWidth - page.clientWidth} pixels too wide`);
          return all;
        });
        for (const one of found) cut.add(`${width}, ${view}, ${one}`);
      });
      assert.deepEqual([...cut], []);
      await page.context().close();
    }
    // Words of the block diagram of each machine stay in their boxes.
    const page = await open("?lang=de");
    await ready(page);
    await page.getByRole("button", { name: say("Change the machine") }).click();
    for (const machine of await app(page, "app.catalog.machines.map(({ name }) => name)")) {
      await page.getByLabel("Maschine", { exact: true }).selectOption(machine);
      await page.waitForFunction((name) => !window.hps.app.busy && window.hps.app.summary?.machine === name, machine);
      const beyond = await page.evaluate(() =>
        [...document.querySelectorAll(".machine-diagram .box text")].filter((text) => {
          const [inner, outer] = [text.getBBox(), text.parentElement.querySelector("rect").getBBox()];
          return inner.x + inner.width > outer.x + outer.width - 2;
        }).map((text) => text.textContent),
      );
      assert.deepEqual(beyond, [], machine);
    }
    await page.context().close();
  },

  "errors, faults and messages of coherence are German sentences with their values": async () => {
    const page = await open("?lang=de");
    await ready(page);
    const wrong = async (text) => {
      await page.evaluate((text) => {
        const { app } = window.hps;
        Object.assign(app.linked.setup, { program: { kind: "assembly", isa: "riscv64", text, c: null }, machine: "hps-4wide", keys: {}, edits: [] });
        return app.run();
      }, text);
      return await page.locator(".problem").innerText();
    };
    for (const [text, english, values] of [
      ["nop\n addd a0, a0, a1", "unknown instruction `{name}`; did you mean `{near}`?", { name: "addd", near: "addi" }],
      ["add a0, a1", "`{name}` takes {count} operands ({names}), not {given}", { name: "add", count: 3, names: "rd, rs1, rs2", given: 2 }],
      ["j nowhere", "`{name}` is neither a number nor a known name", { name: "nowhere" }],
      ["a: nop\na: nop", "`{name}` is defined twice", { name: "a" }],
    ]) {
      const found = await wrong(text);
      assert.ok(found.includes(say(english, values)), `${text}: ${found}`);
      assert.notEqual(say(english, values), english);
    }
    // A fault of the program.
    await wrong("li t0, 64\n ld a0, 0(t0)\n ecall");
    const cause = say("read of {address}, which is not readable", { address: "0x40" });
    await page.getByRole("tab", { name: say("Output"), exact: true }).click();
    await page.locator(".panel", { hasText: cause }).waitFor();
    const told = await page.locator(".panel").innerText();
    assert.match(told, /^Fehler im Programm: Lesen von 0x40, .* bei pc 0x[0-9a-f]+ \(Kodierung 0x[0-9a-f]{8}\)\./);
    // Each sentence about messages has German words and its values.
    await page.evaluate(async () => {
      const { app, lessons } = window.hps;
      await lessons.go(21, 1);
      app.linked.line = "all";
      app.tell("selected");
      await app.go(8800);
    });
    await page.locator(".coherence table").waitFor();
    const messages = await page.evaluate(async () => (await window.hps.app.api.ask("coherence", { ask: "coherence", line: null })).messages);
    const sentences = messages.flatMap(({ said }) => said);
    assert.ok(sentences.length > 50);
    for (const { text } of sentences) assert.notEqual(say(text), text);
    const next = page.getByRole("button", { name: say("To the next message") });
    for (let at = 0; at < 12; at++) {
      await next.click();
      await settled(page);
      const found = await page.locator(".message-said").innerText();
      assert.match(found, /Kern \d|Zeile|Bus/, found);
      assert.doesNotMatch(found, /\b(core|line|wants|the|cycles)\b|[{}]/, found);
    }
    await page.context().close();
  },

  "an answered choice is ticked in each language": async () => {
    const page = await open("?lang=en");
    await ready(page);
    const [at, step, id] = await page.evaluate(() => {
      const all = window.hps.lessons.lessons.flatMap(({ lesson }, at) => lesson.steps.flatMap((one, step) => one.questions.filter(({ kind }) => kind === "choice").map(({ id }) => [at, step, id])));
      return all[0];
    });
    await page.evaluate(([at, step]) => window.hps.lessons.go(at, step), [at, step]);
    const box = () => page.locator(`[data-question="${id}"]`);
    await box().locator("label").first().click();
    await box().locator(".verdict:not(:empty)").waitFor();
    const chosen = await box().locator("input").evaluateAll((all) => all.findIndex((one) => one.checked));
    assert.equal(chosen, 0);
    const place = (text) => page.evaluate(([at, step, id, text]) => window.hps.lessons.lessons[at].lesson.steps[step].questions.find((one) => one.id === id).options.findIndex((option) => option.text === text), [at, step, id, text]);
    const ticked = async () => place(await box().locator("input:checked").inputValue());
    const before = await ticked();
    for (const language of ["de", "en"]) {
      await Promise.all([page.waitForURL((url) => url.searchParams.get("lang") === language), page.locator("header select").selectOption(language)]);
      await ready(page);
      await box().locator("input").first().waitFor();
      assert.equal(await ticked(), before, language);
    }
    await page.context().close();
  },
};
