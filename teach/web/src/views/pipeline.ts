// The pipeline: time line, block diagram, registers, memory and code at the chosen cycle.

import type { App } from "../app";
import { fill, grouped, h, percent } from "../dom";
import { legend, Timeline } from "../timeline";
import type { Analysis, Listing, Row, Slot } from "../types";

type Tab = "registers" | "memory" | "code" | "function" | "loop" | "output" | "counters";

export class PipelineView {
  readonly element = h("section", { class: "view pipeline", "aria-label": "Pipeline" });
  readonly timeline: Timeline;
  private readonly blocks = h("div", { class: "blocks" });
  private readonly details = h("div", { class: "details", "aria-live": "polite" });
  private readonly side = h("div", { class: "side" });
  private tab: Tab = "registers";
  private address = "0x1000000";
  private bytes: string[] = [];
  private listing: Listing | undefined;
  private analysis: Analysis | undefined;

  constructor(private readonly app: App) {
    this.timeline = new Timeline(app, (index) => this.select(index));
    this.element.append(
      h("div", { class: "upper" }, legend(), this.timeline.element, this.details),
      h("div", { class: "lower" }, this.blocks, this.side),
    );
    app.listen((change) => {
      if (change === "run") {
        this.timeline.reset();
        this.listing = undefined;
        this.analysis = undefined;
        fill(this.details);
        this.renderBlocks();
        this.renderSide();
      }
      if (change === "marks") this.timeline.draw();
      if (change === "cycle") {
        if (app.linked.view === "pipeline") this.timeline.reveal();
        this.renderBlocks();
        this.renderSide();
      }
      if (change === "view") this.timeline.draw();
    });
  }

  /** Shows an instruction of the time line. */
  select(index: number): void {
    this.app.selected = index;
    this.timeline.draw();
    const row = this.app.row(index);
    fill(this.details, row ? this.describe(row) : "…");
  }

  move(by: number): void {
    this.timeline.move(by);
  }

  toggle(): void {
    const row = this.app.selected === undefined ? undefined : this.app.row(this.app.selected);
    if (row) this.app.toggleBreakpoint(row.pc);
    this.timeline.draw();
  }

  private describe(row: Row): HTMLElement {
    const { summary } = this.app;
    const line = summary?.lines[row.pc];
    const production = row.production === null ? undefined : summary?.productions[row.production];
    const stages: [string, number | null][] = [
      ["fetched", row.fetch],
      ["decoded", row.decode],
      ["dispatched", row.dispatch],
      ["issued", row.issue],
      ["complete", row.complete],
      [row.squashed ? "squashed" : "committed", row.end],
    ];
    const facts = [
      row.function ? `in ${row.function}` : "",
      line ? `line ${line}` : "",
      production ? `of production ${production}, place ${row.position}` : "",
      row.origin === "handler" ? "part of a handler" : "",
      row.address ? `address ${row.address}` : "",
      row.gap ? `delayed before the window by ${row.gap.replaceAll("_", " ")}` : "",
      `waited longest for ${row.cause.replaceAll("_", " ")}`,
      ...row.events.map((event) => event.replaceAll("_", " ")),
    ].filter(Boolean);
    return h(
      "div",
      {},
      h("code", {}, `${row.pc}  ${row.text}`),
      " ",
      h("span", {}, stages.filter(([, at]) => at !== null).map(([name, at]) => `${name} ${at}`).join(" · ")),
      h("p", {}, facts.join("; "), "."),
      h(
        "button",
        { type: "button", onclick: () => this.toggle() },
        this.app.linked.breakpoints.includes(row.pc) ? "Remove the breakpoint" : "Break here",
      ),
    );
  }

  private slot(row: Row, kind: string): HTMLElement {
    const production = row.production === null ? "" : ` production-${row.production % 8}`;
    return h(
      "button",
      {
        type: "button",
        class: `slot ${kind}${row.squashed ? " wrong" : ""}${production}`,
        title: `${row.pc} ${row.text}${row.squashed ? " (wrong path)" : ""}`,
        "aria-label": `${row.text}, ${kind}${row.squashed ? ", wrong path" : ""}`,
        onclick: () => {
          this.select(row.index);
          this.timeline.draw();
        },
      },
      row.text.split(" ")[0] ?? "",
    );
  }

  private block(name: string, held: number | string, size: number | undefined, ...inside: Node[]): HTMLElement {
    const share = size && typeof held === "number" ? Math.min(1, held / size) : 0;
    return h(
      "section",
      { class: "block", "aria-label": name },
      h("h3", {}, name, h("span", { class: "held" }, size === undefined ? String(held) : `${held} of ${size}`)),
      size === undefined ? null : h("div", { class: "meter" }, h("div", { style: `width: ${100 * share}%` })),
      h("div", { class: "slots" }, inside),
    );
  }

  private renderBlocks(): void {
    const { summary, cycleView: view } = this.app;
    if (!summary || !view) {
      fill(this.blocks);
      return;
    }
    const { sizes } = summary;
    const so = view.so_far;
    const of = (slots: Slot[], kind?: string) => slots.map((slot) => this.slot(slot.row, kind ?? slot.stage));
    const stations = view.rob.filter((slot) => slot.stage === "waiting");
    const working = view.rob.filter((slot) => slot.stage === "executing");
    const fact = (text: string, value: string | number) =>
      h("div", { class: "fact" }, text, h("b", {}, typeof value === "number" ? grouped(value) : value));
    const rate = (n: number, of: number) => (of === 0 ? "0" : `${grouped(n)} (${percent(n / of)})`);
    fill(
      this.blocks,
      this.block("Fetch and decode", view.front.length, undefined, ...view.front.map((row) => this.slot(row, "front"))),
      this.block("Reorder buffer", view.rob.length, sizes.rob, ...of(view.rob)),
      this.block("Stations", view.waiting, sizes.stations, ...of(stations)),
      this.block(
        "Units",
        working.length,
        undefined,
        ...Object.entries(sizes.pools).map(([pool, count]) =>
          h(
            "div",
            { class: "pool" },
            h("span", {}, `${pool.replaceAll("_", " ")} ×${count}`),
            of(working.filter((slot) => slot.pool === pool)),
          ),
        ),
      ),
      this.block("Load queue", view.loads, sizes.load_queue, ...of(view.rob.filter((s) => s.queue === "load"))),
      this.block("Store queue", view.stores, sizes.store_queue, ...of(view.rob.filter((s) => s.queue === "store"))),
      this.block(
        "Caches",
        "",
        undefined,
        fact("loads so far", view.loads_so_far),
        fact("missed level 1", rate(so["l1d_miss"] ?? 0, view.loads_so_far)),
        fact("missed level 2", rate(so["l2_miss"] ?? 0, view.loads_so_far)),
        fact("missed the TLB", so["dtlb_miss"] ?? 0),
        fact("from stores in flight", so["forwarded"] ?? 0),
        ...of(view.rob.filter((slot) => slot.stage === "memory")),
        ...Object.entries(view.misses).map(([level, count]) => fact(`on their way from ${level}`, count)),
      ),
      this.block(
        "Predictors",
        sizes.predictor,
        undefined,
        fact("branches so far", view.branches_so_far),
        fact("mispredicted", rate(so["mispredicted"] ?? 0, view.branches_so_far)),
        fact("unknown to the BTB", so["btb_miss"] ?? 0),
        fact("loads run again", so["replayed"] ?? 0),
      ),
      this.block("Commit", view.committed.length, sizes.commit_width, ...view.committed.map((r) => this.slot(r, "done"))),
    );
  }

  private renderSide(): void {
    const tabs: [Tab, string][] = [
      ["registers", "Registers"],
      ["memory", "Memory"],
      ["code", "Code"],
      ["function", "Function"],
      ["loop", "Loop"],
      ["output", "Output"],
      ["counters", "Counters"],
    ];
    fill(
      this.side,
      h(
        "div",
        { class: "tabs", role: "tablist", "aria-label": "State" },
        tabs.map(([tab, name]) =>
          h(
            "button",
            {
              type: "button",
              role: "tab",
              "aria-selected": String(this.tab === tab),
              onclick: () => {
                this.tab = tab;
                this.renderSide();
                this.side.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
              },
            },
            name,
          ),
        ),
      ),
      h("div", { role: "tabpanel", class: "panel" }, this.panel()),
    );
  }

  private panel(): Node {
    const { stateView: state, summary } = this.app;
    if (!summary) return h("p", {}, "Nothing has run.");
    if (this.tab === "output") {
      return h("div", {}, h("p", {}, `${summary.said}.`), h("pre", {}, summary.output || "(nothing was printed)"));
    }
    if (this.tab === "counters") {
      const all = [...Object.entries(summary.core), ...Object.entries(summary.memory)].filter(([, n]) => n > 0);
      return h(
        "table",
        {},
        h("caption", {}, "Counters of the whole run"),
        all.map(([name, n]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, grouped(n)))),
      );
    }
    if (!state) return h("p", {}, "…");
    if (this.tab === "registers") {
      return h(
        "div",
        { class: "registers" },
        state.registers
          .filter((register, at) => at < 32 || register.value !== "0x0")
          .map(({ name, value, changed }) =>
            h("div", { class: changed ? "changed" : "" }, h("span", {}, name), h("code", {}, value)),
          ),
      );
    }
    if (this.tab === "code") {
      return h(
        "ol",
        { class: "code" },
        state.next.map(({ pc, text, source }, at) =>
          h(
            "li",
            { class: at === 0 ? "next" : "" },
            h("code", {}, `${pc.slice(2)}  ${text}`),
            source ? h("span", { class: "faint" }, ` ${source}`) : summary.lines[pc] ? ` line ${summary.lines[pc]}` : null,
          ),
        ),
      );
    }
    if (this.tab === "function") return this.renderFunction();
    if (this.tab === "loop") return this.renderLoop();
    const address = h("input", {
      value: this.address,
      "aria-label": "Address or symbol",
      onchange: () => {
        this.address = address.value;
        void this.readMemory();
      },
    });
    const lines = [];
    for (let at = 0; at < this.bytes.length; at += 16) {
      const bytes = this.bytes.slice(at, at + 16);
      const text = bytes.map((b) => {
        const code = parseInt(b, 16);
        return code >= 32 && code < 127 ? String.fromCharCode(code) : "·";
      });
      lines.push(`${at.toString(16).padStart(3, "0")}  ${bytes.join(" ")}  ${text.join("")}`);
    }
    return h(
      "div",
      {},
      address,
      h("button", { type: "button", onclick: () => void this.readMemory() }, "Read"),
      h("pre", {}, lines.join("\n")),
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
          if (this.tab === "function" && isHere) this.renderSide();
        })
        .catch((error: unknown) => (said.textContent = error instanceof Error ? error.message : String(error)));
      return said;
    }
    if (!this.listing) return h("p", {}, "…");
    const most = Math.max(1, ...this.listing.lines.map((line) => line.cycles));
    return h(
      "table",
      {},
      h("caption", {}, `${this.listing.function}: cycles of the whole run, exactly`),
      this.listing.lines.map((line) =>
        h(
          "tr",
          { class: line.pc === pc ? "wins" : "", title: line.mostly ? `mostly ${line.mostly}` : "" },
          h("th", { scope: "row" }, h("code", {}, `${line.pc.slice(2)}  ${line.text}`)),
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
          if (this.tab === "loop") this.renderSide();
        })
        .catch((error: unknown) => (said.textContent = error instanceof Error ? error.message : String(error)));
      return said;
    }
    const { cycles, instructions, limited_by, bounds, lines, head } = this.analysis;
    return h(
      "div",
      {},
      h("p", {}, `Loop at ${head}: `, h("b", {}, `${cycles.toFixed(2)} cycles`), ` and ${instructions.toFixed(2)} instructions an iteration, limited by ${limited_by.replaceAll("_", " ")}.`),
      h(
        "table",
        {},
        h("caption", {}, "The least cycles that each would allow"),
        bounds.map((bound) => h("tr", {}, h("th", { scope: "row" }, bound.name.replaceAll("_", " ")), h("td", {}, bound.cycles.toFixed(2)))),
      ),
      h(
        "table",
        {},
        h("caption", {}, "Instructions; marked: the chain from one iteration to the next"),
        lines.map((line) =>
          h(
            "tr",
            { class: line.on_chain ? "wins" : "" },
            h("th", { scope: "row" }, h("code", {}, line.text), line.on_chain ? " (chain)" : ""),
            h("td", {}, line.pool.replaceAll("_", " ")),
            h("td", {}, `${line.latency.toFixed(1)} cycles`),
          ),
        ),
      ),
    );
  }

  private async readMemory(): Promise<void> {
    try {
      const asked = { ask: "memory" as const, cycle: this.app.linked.cycle, address: this.address, bytes: 256 };
      this.bytes = (await this.app.api.ask("memory", asked)).bytes;
      this.renderSide();
    } catch (error) {
      this.app.fail(error);
    }
  }
}
