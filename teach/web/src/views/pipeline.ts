// The pipeline: time line, block diagram, registers, memory and code at the chosen cycle.

import { ended, type App } from "../app";
import { Blocks } from "../blocks";
import { CoherencePanel } from "../coherence";
import { fill, grouped, h, percent } from "../dom";
import { cell, edit, editedAt, editList, walked } from "../edits";
import { nameOf, pieces, t, word } from "../language";
import type { Tab } from "../link";
import { MemoryPanel } from "../memory";
import { TablesPanel } from "../tables";
import { legend, Timeline } from "../timeline";
import type { Analysis, Listing, Row } from "../types";

/** What limits a loop; units have the name of their pool. */
const bound = (name: string): string => (name.startsWith("units ") ? t("units {pool}", { pool: word(name.slice(6)) }) : word(name));

export class PipelineView {
  readonly element = h("section", { class: "view pipeline", "aria-label": t("Pipeline") });
  readonly timeline: Timeline;
  private readonly blocks: Blocks;
  private readonly tables: TablesPanel;
  private readonly details = h("div", { class: "details", "aria-live": "polite" });
  private readonly side = h("div", { class: "side" });
  private readonly memory: MemoryPanel;
  private listing: Listing | undefined;
  private analysis: Analysis | undefined;

  private readonly legend = h("div", {});

  constructor(private readonly app: App) {
    this.memory = new MemoryPanel(app);
    this.timeline = new Timeline(app, (index) => this.select(index));
    this.blocks = new Blocks(app, (index) => this.select(index));
    this.tables = new TablesPanel(app);
    this.element.append(
      h("div", { class: "upper" }, this.timeline.element, this.details, h("details", { class: "legend-box" }, h("summary", {}, t("What the letters and colours mean")), this.legend)),
      h("div", { class: "lower" }, this.blocks.element, this.side),
      new CoherencePanel(app).element,
      this.tables.element,
    );
    app.listen((change) => {
      if (change === "run") {
        this.timeline.reset();
        fill(this.legend, legend(app.summary?.sizes.flow));
        this.shown = this.app.linked.selected;
        this.listing = undefined;
        this.analysis = undefined;
        this.memory.reset();
        this.memory.render();
        this.renderDetails();
        this.blocks.render();
        this.renderSide();
      }
      if (change === "marks") {
        this.timeline.draw();
        this.showSelected();
        if (app.linked.selected !== null && this.waits) this.renderDetails();
      }
      if (change === "cycle") {
        this.timeline.reveal();
        this.blocks.render();
        this.renderSide();
        this.renderDetails();
        if (app.linked.tab === "memory" && app.stateView) void this.memory.read(false);
      }
      if (change === "selected") {
        this.timeline.draw();
        this.showSelected();
        this.renderDetails();
        this.blocks.render();
      }
      if (change === "curtain") this.renderDetails();
      if (change === "inside") this.blocks.render();
      if (change === "view") {
        this.timeline.draw();
        this.blocks.draw();
      }
    });
  }

  /** The instruction that was scrolled into sight last. */
  private shown: number | null = null;

  /** Scrolls an instruction into sight when it becomes the selected one. */
  private showSelected(): void {
    const { selected } = this.app.linked;
    const row = selected === null ? undefined : this.app.row(selected);
    if (selected === this.shown || (selected !== null && !row)) return;
    this.shown = selected;
    if (row) this.timeline.showRow(row);
  }

  /** The selected instruction has not arrived. */
  private waits = false;

  private renderDetails(): void {
    const { selected } = this.app.linked;
    const row = selected === null ? undefined : this.app.row(selected);
    this.waits = selected !== null && row === undefined;
    fill(this.details, row ? this.describe(row) : selected === null ? h("p", { class: "faint" }, t("Select an instruction: click it, or press the down key.")) : "…");
  }

  /** Shows an instruction of the time line. */
  select(index: number): void {
    this.app.select(index);
  }

  /** Draws all canvases at once. */
  paint(): void {
    this.timeline.paint();
    this.blocks.draw();
    this.tables.draw();
  }

  /** The block diagram. */
  get diagram(): HTMLElement {
    return this.blocks.element;
  }

  /** Draws what is drawn anew, in other colours or another size. */
  draw(): void {
    this.timeline.draw();
    this.blocks.draw();
    this.tables.draw();
  }

  move(by: number): void {
    this.timeline.move(by);
  }

  toggle(): void {
    const { selected } = this.app.linked;
    const row = selected === null ? undefined : this.app.row(selected);
    if (row) this.app.toggleBreakpoint(row.pc);
    this.timeline.draw();
    this.renderDetails();
  }

  private describe(row: Row): HTMLElement {
    const { summary } = this.app;
    const line = summary?.lines[row.pc];
    const production = row.production === null ? undefined : summary?.productions[row.production];
    const stages: [string, number | null][] = [
      [t("fetched"), row.fetch],
      [t("decoded"), row.decode],
      [t("dispatched"), row.dispatch],
      [t("issued"), row.issue],
      [t("complete"), row.complete],
      [row.squashed ? t("squashed") : t("committed"), row.end],
    ];
    // A question that asks what comes must not be answered here.
    const last = this.timeline.lastShown;
    const facts = row.end > last ? [row.function ? t("in {function}", { function: row.function }) : "", t("what comes next is covered while a question asks for it")].filter(Boolean) : [
      this.waiting(row),
      summary && summary.contexts.length > 1 ? nameOf(summary.contexts[row.context]!) : "",
      row.function ? t("in {function}", { function: row.function }) : "",
      line ? t("line {line}", { line }) : "",
      production ? t("of production {production}, place {place}", { production, place: row.position }) : "",
      row.origin === "handler" ? t("part of a handler") : "",
      row.address ? t("address {address}", { address: row.address }) : "",
      row.gap ? t("delayed before the window by {cause}", { cause: word(row.gap) }) : "",
      t("waited longest for {cause}", { cause: word(row.cause) }),
      ...row.events.map(word),
    ].filter(Boolean);
    return h(
      "div",
      {},
      h("code", {}, `#${row.index}  ${row.pc}  ${row.text}`),
      " ",
      h("span", {}, stages.filter(([, at]) => at !== null && at <= last).map(([name, at]) => `${name} ${at}`).join(" · ")),
      " ",
      h(
        "button",
        { type: "button", class: "small", onclick: () => this.toggle() },
        this.app.linked.breakpoints.includes(row.pc) ? t("Remove the breakpoint") : t("Break here"),
      ),
      h("p", {}, facts.join("; "), ". ", this.reads(row)),
    );
  }

  /** What an instruction waits for in the cycle. */
  private waiting(row: Row): string {
    const { cycle } = this.app.linked;
    if (row.end < cycle || row.fetch > cycle || row.dispatch === null || cycle < row.dispatch) return "";
    if (row.issue !== null && cycle >= row.issue) return "";
    const left = row.sources.filter(({ ready }) => ready === null || ready > cycle);
    if (left.length === 0) return t("in cycle {cycle} its operands are there; it waits for its turn at {unit}", { cycle, unit: word(row.pool) });
    const results = left.map(({ register, row: from, text, ready }) => {
      const when = ready === null ? t("never computed") : t("{n} cycle left|{n} cycles left", { n: ready - cycle });
      return t("{register} of #{row} ({name}, {when})", { register: word(register), row: from, name: text.split(" ")[0]!, when });
    });
    return t("in cycle {cycle} it waits for {results}", { cycle, results: results.join(` ${t("and")} `) });
  }

  /** Buttons that lead to the instructions whose results a row reads. */
  private reads(row: Row): HTMLElement | null {
    if (row.sources.length === 0) return null;
    return h(
      "span",
      { class: "sources" },
      t("reads"),
      " ",
      row.sources.map(({ register, row: from, text }) =>
        h("button", { type: "button", class: "link", onclick: () => this.toRow(from) }, `${t("{register} of #{row}", { register: word(register), row: from })} ${text}`),
      ),
    );
  }

  /** Selects a row and scrolls it into sight. */
  private toRow(index: number): void {
    this.select(index);
    const row = this.app.row(index);
    if (row) this.timeline.showRow(row);
  }

  private renderSide(): void {
    const tabs: [Tab, string][] = [
      ["registers", t("Registers")],
      ["memory", t("Memory")],
      ["code", t("Code")],
      ["function", t("Function")],
      ["loop", t("Loop")],
      ["output", t("Output")],
      ["counters", t("Counters")],
    ];
    const focusable = () => Array.from(this.side.querySelectorAll<HTMLElement>("button, input, select, .cell"));
    // The keyboard stays where it was, also when what was asked for arrives.
    const focused = focusable().indexOf(document.activeElement as HTMLElement);
    fill(
      this.side,
      h(
        "div",
        { class: "tabs", role: "tablist", "aria-label": t("State") },
        tabs.map(([tab, name]) =>
          h(
            "button",
            {
              type: "button",
              role: "tab",
              "aria-selected": String(this.app.linked.tab === tab),
              onclick: () => {
                this.app.linked.tab = tab;
                this.app.tell("selected");
                this.renderSide();
              },
            },
            name,
          ),
        ),
      ),
      editList(this.app),
      h("div", { role: "tabpanel", class: "panel", tabIndex: 0, "aria-label": tabs.find(([tab]) => tab === this.app.linked.tab)?.[1] }, this.panel()),
    );
    if (focused >= 0) focusable()[focused]?.focus({ preventScroll: true });
  }

  private panel(): Node {
    const { stateView: state, summary } = this.app;
    if (!summary) return h("p", {}, t("Nothing has run."));
    if (this.app.linked.tab === "output") {
      return h(
        "div",
        {},
        h("p", {}, `${ended(summary)}.`),
        summary.warnings.map((warning) => h("p", { class: "note" }, warning)),
        h("pre", {}, summary.output || t("(nothing was printed)")),
      );
    }
    if (this.app.linked.tab === "counters") {
      const all = [...Object.entries(summary.core), ...Object.entries(summary.memory)].filter(([, n]) => n > 0);
      return h(
        "table",
        { class: "numbers" },
        h("caption", {}, t("Counters of the whole run")),
        all.map(([name, n]) => h("tr", { "data-counter": name }, h("th", { scope: "row" }, name), h("td", {}, grouped(n)))),
      );
    }
    if (!state) return h("p", {}, "…");
    if (state.missing && this.app.linked.tab !== "function") return h("p", {}, t(state.missing));
    if (this.app.linked.tab === "registers") {
      const registers = h(
        "div",
        { class: "registers" },
        state.registers
          .filter((register, at) => at < 32 || register.value !== "0x0")
          .map(({ name, value, changed }) => this.register(name, value, changed)),
      );
      return walked(registers);
    }
    if (this.app.linked.tab === "code") {
      const list = h(
        "ol",
        { class: "code" },
        state.next.map(({ pc, text, source }, at) =>
          h(
            "li",
            { class: at === 0 ? "next" : "" },
            this.breaker(pc),
            h("code", {}, `${pc.slice(2)}  ${text}`),
            source ? h("span", { class: "faint" }, ` ${source}`) : summary.lines[pc] ? ` ${t("line {line}", { line: summary.lines[pc]! })}` : null,
          ),
        ),
      );
      return h("div", {}, this.renderSource(state.next[0]?.source ?? null), list);
    }
    if (this.app.linked.tab === "function") return this.renderFunction();
    if (this.app.linked.tab === "loop") return this.renderLoop();
    return this.memory.element;
  }

  /** A register with its value, which can be edited unless it is always zero. */
  private register(name: string, value: string, changed: boolean): HTMLElement {
    const at = editedAt(this.app, name);
    const isZero = name === "zero" || name === "$31";
    return h(
      "div",
      { class: changed ? "changed" : "" },
      h("span", {}, name),
      at === undefined ? null : h("small", { title: t("edited in cycle {cycle}", { cycle: at }) }, `✎ ${at}`),
      isZero ? h("code", {}, value) : h("code", {}, cell(value, name, value, (text) => edit(this.app, name, text, 8))),
    );
  }

  /** The instructions of the function where execution is, with the cycles that each took. */
  private renderFunction(): Node {
    const pc = this.app.stateView?.pc;
    const here = this.listing?.lines.some((line) => line.pc === pc);
    if (pc && !here) {
      const said = h("p", { role: "status" }, "…");
      this.app.api
        .ask("listing", { ask: "listing", address: pc })
        .then((listing) => {
          const isHere = listing.lines.some((line) => line.pc === pc);
          this.listing = listing;
          if (this.app.linked.tab === "function" && isHere) this.renderSide();
        })
        .catch((error: unknown) => (said.textContent = error instanceof Error ? error.message : String(error)));
      return said;
    }
    if (!this.listing) return h("p", {}, "…");
    const most = Math.max(1, ...this.listing.lines.map((line) => line.cycles));
    return h(
      "table",
      {},
      h("caption", {}, t("{function}: cycles of the whole run, exactly", { function: this.listing.function })),
      this.listing.lines.map((line) =>
        h(
          "tr",
          { class: line.pc === pc ? "wins" : "", title: line.mostly ? t("mostly {cause}", { cause: word(line.mostly) }) : "" },
          h("th", { scope: "row" }, this.breaker(line.pc), h("code", {}, `${line.pc.slice(2)}  ${line.text}`), line.source ? h("small", {}, ` ${line.source}`) : null),
          h(
            "td",
            {},
            h(
              "div",
              { class: "bar-cell" },
              h("div", { class: "bar-fill truth", style: `width: ${(100 * line.cycles) / most}%` }),
              h("span", {}, line.commits > 0 ? grouped(Math.round(line.cycles)) : ""),
            ),
          ),
        ),
      ),
    );
  }

  /** The steady state of the hottest loop. */
  private renderLoop(): Node {
    if (!this.analysis) {
      const said = h("p", { role: "status" }, "…");
      this.app.api
        .ask("analysis", { ask: "analyze" })
        .then((analysis) => {
          this.analysis = analysis;
          if (this.app.linked.tab === "loop") this.renderSide();
        })
        .catch((error: unknown) => (said.textContent = error instanceof Error ? error.message : String(error)));
      return said;
    }
    const { cycles, instructions, limited_by, bounds, lines, head, share } = this.analysis;
    const limits = limited_by.map(bound).join(` ${t("and")} `);
    return h(
      "div",
      {},
      h("p", {}, pieces("Loop at {head}: {cycles} and {instructions} instructions an iteration, limited by {limits}. {share} of the taken branches backwards are this loop's.", {
        head,
        cycles: h("b", {}, t("{n} cycles", { n: cycles.toFixed(2) })),
        instructions: instructions.toFixed(2),
        limits,
        share: percent(share),
      })),
      h(
        "table",
        { class: "numbers" },
        h("caption", {}, t("The least cycles that each would allow")),
        bounds.map((one) => h("tr", {}, h("th", { scope: "row" }, bound(one.name)), h("td", {}, one.cycles.toFixed(2)))),
      ),
      h(
        "table",
        { class: "numbers" },
        h("caption", {}, t("Cycles from operands to result; marked: the chain from one iteration to the next, and what each adds to it")),
        lines.map((line) =>
          h(
            "tr",
            { class: line.on_chain ? "wins" : "" },
            h("th", { scope: "row" }, h("code", {}, line.text), h("small", {}, [word(line.pool), ...line.notes].join("; "))),
            h("td", {}, line.latency.toFixed(1)),
            h("td", {}, line.on_chain ? t("chain {n}", { n: line.chain.toFixed(2) }) : ""),
          ),
        ),
      ),
    );
  }

  /** Source files by name: those of the project's programs, and those that were opened. */
  private readonly sources = new Map<string, string[] | "asked" | "unknown">();

  /** The source around the line that comes next. */
  private renderSource(line: string | null): Node | null {
    const colon = line?.lastIndexOf(":") ?? -1;
    if (line === null || colon < 0) return null;
    const file = line.slice(0, colon);
    const number = Number(line.slice(colon + 1));
    const text = this.sources.get(file) ?? this.sources.get(file.slice(file.lastIndexOf("/") + 1));
    if (text === undefined) {
      this.sources.set(file, "asked");
      this.app.api
        .ask("source", { ask: "source", file })
        .then(({ text }) => {
          this.sources.set(file, text === null ? "unknown" : text.split("\n"));
          if (this.app.linked.tab === "code") this.renderSide();
        })
        .catch(() => this.sources.set(file, "unknown"));
    }
    if (!Array.isArray(text)) {
      const opener = h("input", {
        type: "file",
        multiple: true,
        class: "hidden-file",
        "aria-label": t("Open source files"),
        onchange: () => void this.openSources(opener.files ?? []),
      });
      return text === "unknown" ? h("p", {}, `${line} `, h("label", { class: "button" }, t("Open its source…"), opener)) : h("p", {}, line);
    }
    const first = Math.max(1, number - 6);
    return h(
      "div",
      {},
      h("p", { class: "faint" }, line),
      h(
        "pre",
        { class: "source-lines" },
        text.slice(first - 1, number + 6).map((one, at) =>
          h("span", { class: first + at === number ? "next" : "" }, `${String(first + at).padStart(4)}  ${one}\n`),
        ),
      ),
    );
  }

  private async openSources(files: ArrayLike<File>): Promise<void> {
    for (const file of Array.from(files)) this.sources.set(file.name, (await file.text()).split("\n"));
    for (const [name, text] of this.sources) if (text === "unknown") this.sources.delete(name);
    this.renderSide();
  }

  /** A button that sets or removes a breakpoint. */
  private breaker(pc: string): HTMLElement {
    const is = this.app.linked.breakpoints.includes(pc);
    return h(
      "button",
      {
        type: "button",
        class: `breaker${is ? " set" : ""}`,
        "aria-pressed": String(is),
        "aria-label": t("Breakpoint at {address}", { address: pc }),
        title: is ? t("Remove the breakpoint") : t("Break here"),
        onclick: () => {
          this.app.toggleBreakpoint(pc);
          this.timeline.draw();
        },
      },
      is ? "●" : "○",
    );
  }
}
