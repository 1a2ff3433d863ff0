// Two runs beside each other: their numbers, and their instructions in pairs.

import { Api } from "../api";
import type { App } from "../app";
import { choice, colorsOf, fill, grouped, h, labelled, percent } from "../dom";
import { t, word } from "../language";
import { penOf } from "../svg";
import { parts } from "../timeline";
import type { Row, Setup, Summary } from "../types";

/** Instructions that are shown at once. */
const SHOWN = 16;
const BAR = 13;
const ROW = 2 * BAR + 6;
const HEAD = 22;
/** Width of a letter of the drawing, in pixels. */
const LETTER = 7.25;

/** An instruction in both runs, or in one of them. */
export interface Pair {
  kept: Row | undefined;
  now: Row | undefined;
}

/** Pairs of the longest common sequence of texts; others stand alone. */
export function align(kept: Row[], now: Row[]): Pair[] {
  const best = Array.from({ length: kept.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let a = kept.length - 1; a >= 0; a--) {
    for (let b = now.length - 1; b >= 0; b--) {
      best[a]![b] = kept[a]!.text === now[b]!.text ? best[a + 1]![b + 1]! + 1 : Math.max(best[a + 1]![b]!, best[a]![b + 1]!);
    }
  }
  const pairs: Pair[] = [];
  let [a, b] = [0, 0];
  while (a < kept.length || b < now.length) {
    if (a < kept.length && b < now.length && kept[a]!.text === now[b]!.text) pairs.push({ kept: kept[a++], now: now[b++] });
    else if (b >= now.length || (a < kept.length && best[a + 1]![b]! >= best[a]![b + 1]!)) pairs.push({ kept: kept[a++], now: undefined });
    else pairs.push({ kept: undefined, now: now[b++] });
  }
  return pairs;
}

const sameProgram = (a: Setup, b: Setup): boolean =>
  JSON.stringify([a.program, a.arguments, a.input, a.productions, a.params, a.edits]) === JSON.stringify([b.program, b.arguments, b.input, b.productions, b.params, b.edits]);

export class CompareView {
  readonly element = h("section", { class: "view compare", "aria-label": t("Compare") });
  private readonly controls = h("div", { class: "bar" });
  private readonly numbers = h("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": t("Numbers of both runs") });
  private readonly canvas = h("canvas", { role: "img" });
  private readonly scroller = h("div", { class: "pairs" }, this.canvas);
  private readonly said = h("p", { role: "status", class: "faint" });
  private readonly from = h("input", { type: "number", min: "0", onchange: () => void this.move(Number(this.from.value) - this.first) });
  private readonly walk: HTMLElement;
  /** The kept run, in a simulator of its own. */
  private other: Promise<Api> | undefined;
  private kept: { text: string; summary: Summary; line: number } | undefined;
  private first = 0;
  private asked = 0;
  private stale = true;
  pairs: Pair[] = [];

  constructor(private readonly app: App) {
    const step = (text: string, by: number, about: string) => h("button", { type: "button", "aria-label": about, onclick: () => void this.move(by) }, text);
    this.walk = h("div", { class: "bar" }, step("◂◂", -SHOWN, t("Earlier instructions")), labelled(t("From instruction"), this.from), step("▸▸", SHOWN, t("Later instructions")), this.said);
    this.element.append(this.controls, this.numbers, this.walk, this.scroller);
    app.listen((change) => {
      if (change === "run") this.stale = true;
      if ((change === "run" || change === "view") && app.linked.view === "compare") void this.show();
    });
    new ResizeObserver(() => this.paint()).observe(this.scroller);
  }

  private keep(setup: Setup): void {
    this.app.linked.pinned = structuredClone(setup);
    this.stale = true;
    this.app.tell("setup");
    void this.show();
  }

  private renderControls(): void {
    const { setup, pinned } = this.app.linked;
    const machines = this.app.catalog.machines.map(({ name }): [string, string] => [name, name]);
    const select = choice([["", pinned ? "" : t("none yet")], ...machines], pinned && Object.keys(pinned.keys).length === 0 ? pinned.machine : "", (machine) => {
      if (machine) this.keep({ ...(pinned ?? setup), machine, keys: {} });
    });
    fill(
      this.controls,
      h("button", { type: "button", class: pinned ? "" : "primary", onclick: () => this.keep(setup) }, pinned ? t("Keep the present run instead") : t("Keep this run")),
      labelled(pinned ? t("Machine of the kept run") : t("or keep one of this program on"), select),
      h("p", { class: "faint" }, pinned ? t("Change the machine or the program above: the present run stands below the kept one.") : t("A kept run stays while you change the program or the machine.")),
    );
  }

  /** Runs the kept setup if it has not run, and shows both. */
  private async show(): Promise<void> {
    this.renderControls();
    const { app } = this;
    const { pinned } = app.linked;
    const ready = pinned !== null && app.summary !== undefined;
    this.numbers.hidden = this.walk.hidden = this.scroller.hidden = !ready;
    if (!ready || !pinned || !app.summary || !this.stale) return this.paint();
    const number = ++this.asked;
    const { summary } = app;
    try {
      const other = await this.simulator();
      const text = JSON.stringify(pinned);
      if (this.kept?.text !== text) {
        const ran = await other.ask("run", { ask: "run", setup: pinned });
        this.kept = { text, summary: ran, line: await this.lineOf(other, ran) };
      }
      const line = await this.lineOf(app.api, summary);
      if (number !== this.asked) return;
      this.stale = false;
      this.now = { summary, line };
      this.first = line;
      this.renderNumbers(this.kept.summary, summary);
      await this.move(0);
    } catch (error) {
      if (number === this.asked) app.fail(error);
    }
  }

  /** The simulator of the kept run, started once. */
  private simulator(): Promise<Api> {
    this.other ??= (async () => {
      const api = new Api();
      await api.start();
      return api;
    })();
    return this.other;
  }

  private now: { summary: Summary; line: number } | undefined;

  /** The first instruction in flight in the steady iteration, as a number among those that commit. */
  private async lineOf(api: Api, { steady }: Summary): Promise<number> {
    const view = await api.ask("cycle", { ask: "cycle", cycle: steady, context: 0 });
    const rows = [...view.committed, ...view.rob.map((slot) => slot.row)];
    return rows.length > 0 ? Math.min(...rows.map((row) => row.committed_before)) : 0;
  }

  /** Goes on by instructions. */
  private async move(by: number): Promise<void> {
    const { kept, now, app } = this;
    const { pinned, setup } = app.linked;
    if (!kept || !now || !pinned) return;
    const other = await this.simulator();
    const most = Math.max(0, Math.min(kept.summary.committed_rows, now.summary.committed_rows) - SHOWN);
    this.first = Math.max(0, Math.min(most, this.first + by));
    this.from.value = String(this.first);
    const same = sameProgram(pinned, setup);
    // Programs that differ meet in their steady iterations.
    const there = same ? this.first : Math.max(0, this.first + kept.line - now.line);
    const rows = (api: Api, first: number) => api.ask("rows", { ask: "rows", first, count: same ? SHOWN : SHOWN * 2, only_committed: true });
    const [a, b] = await Promise.all([rows(other, there), rows(app.api, this.first)]);
    this.pairs = (same ? a.rows.map((row, at): Pair => ({ kept: row, now: b.rows[at] })) : align(a.rows, b.rows)).slice(0, SHOWN);
    this.said.textContent = same ? t("Both runs are of one program: each instruction has two bars, the kept run's first.") : t("The programs differ: instructions with one text are in pairs.");
    this.paint();
  }

  private renderNumbers(kept: Summary, now: Summary): void {
    const counter = (summary: Summary, name: string) => summary.core[name] ?? summary.memory[name] ?? 0;
    const both = (name: string): [number, number] => [counter(kept, name), counter(now, name)];
    const rate = (summary: Summary) => summary.instructions / Math.max(1, summary.cycles);
    const whole: [string, number, number][] = [
      [t("cycles"), kept.cycles, now.cycles],
      [t("instructions"), kept.instructions, now.instructions],
      [t("branch mispredicted events"), ...both("branch_mispredicted_events")],
      [t("l1d fill events"), ...both("l1d.fill_events")],
      [t("l2 fill events"), ...both("l2.fill_events")],
    ];
    const share = (summary: Summary, cause: string): number => {
      const all = summary.cpi_stack.reduce((sum, one) => sum + one.slots, 0);
      return (summary.cpi_stack.find((one) => one.cause === cause)?.slots ?? 0) / Math.max(1, all);
    };
    const causes = [...new Set([...kept.cpi_stack, ...now.cpi_stack].map(({ cause }) => cause))].filter((cause) => Math.max(share(kept, cause), share(now, cause)) >= 0.005);
    const row = (name: string, a: string, b: string, change: string) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, a), h("td", {}, b), h("td", {}, change));
    const times = (a: number, b: number): string => (a === b ? "" : a === 0 ? "" : `× ${(b / a).toFixed(2)}`);
    fill(
      this.numbers,
      h(
        "table",
        { class: "numbers both" },
        h("caption", {}, t("Both runs as a whole; shares are of the commit slots")),
        h("thead", {}, h("tr", {}, [t("number"), t("kept: {machine}", { machine: kept.machine }), t("now: {machine}", { machine: now.machine }), t("change")].map((name) => h("th", { scope: "col" }, name)))),
        h(
          "tbody",
          {},
          whole.map(([name, a, b]) => row(name, grouped(a), grouped(b), times(a, b))),
          row(t("instructions a cycle"), rate(kept).toFixed(2), rate(now).toFixed(2), times(rate(kept), rate(now))),
          causes.map((cause) => row(word(cause), percent(share(kept, cause)), percent(share(now, cause)), "")),
        ),
      ),
    );
  }

  /** Draws the pairs. Each run begins in its own cycle, in which its first instruction is fetched. */
  paint(): void {
    const { canvas, pairs } = this;
    const width = this.scroller.clientWidth;
    if (width === 0 || pairs.length === 0) return;
    const height = HEAD + pairs.length * ROW + 2;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = penOf(canvas);
    const later = t("later by");
    const label = width < 520 ? 110 : 210;
    const side = Math.max(width < 520 ? 0 : 90, LETTER * later.length + 14);
    const color = colorsOf(canvas);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = color("--paper");
    pen.fillRect(0, 0, width, height);
    pen.font = "12px ui-monospace, Menlo, Consolas, monospace";
    pen.textBaseline = "middle";
    const begin = (of: "kept" | "now"): number => Math.min(...pairs.map((pair) => pair[of]?.fetch ?? Infinity));
    const end = (of: "kept" | "now"): number => Math.max(...pairs.map((pair) => pair[of]?.end ?? 0));
    const starts = { kept: begin("kept"), now: begin("now") };
    const cycles = Math.max(end("kept") - starts.kept, end("now") - starts.now, 1) + 1;
    const cell = Math.max(0.5, Math.min(18, (width - label - side) / cycles));
    const x = (cycle: number) => label + cycle * cell;
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((n) => n * cell >= 48) ?? 1000;
    for (let cycle = 0; cycle <= cycles; cycle += every) {
      pen.fillStyle = color("--grid");
      pen.fillRect(x(cycle), HEAD - 4, 1, height);
      pen.fillStyle = color("--faint");
      if (x(cycle) + 2 + LETTER * String(cycle).length < width - side) pen.fillText(String(cycle), x(cycle) + 2, HEAD / 2);
    }
    pen.fillStyle = color("--faint");
    pen.fillText(later, width - side + 8, HEAD / 2);
    pairs.forEach(({ kept, now }, at) => {
      const top = HEAD + at * ROW;
      pen.fillStyle = color("--grid");
      pen.fillRect(0, top - 2, width, 1);
      pen.fillStyle = color("--ink");
      const row = now ?? kept!;
      pen.fillText((label < 200 ? row.text : `${row.pc.slice(2)} ${row.text}`).slice(0, Math.floor((label - 8) / LETTER)), 4, top + BAR);
      for (const [one, start, y] of [[kept, starts.kept, top + 1], [now, starts.now, top + 1 + BAR]] as const) {
        if (!one) {
          pen.fillStyle = color("--faint");
          pen.fillText(t("not in this run"), label + 4, y + BAR / 2);
          continue;
        }
        for (const [stage, from, to] of parts(one, (one === kept ? this.kept?.summary : this.app.summary)?.sizes.flow)) {
          pen.fillStyle = color(stage.color);
          pen.fillRect(x(from - start), y, Math.max(1, x(to - start) - x(from - start) - (cell > 3 ? 1 : 0)), BAR - 1);
          if (cell >= 9) {
            pen.fillStyle = color("--on-stage");
            pen.fillText(stage.letter, x(from - start) + cell / 2 - 3.5, y + BAR / 2);
          }
        }
      }
      if (kept && now) {
        const late = now.end - starts.now - (kept.end - starts.kept);
        pen.fillStyle = color(late > 0 ? "--bad" : late < 0 ? "--good" : "--faint");
        pen.fillText(late === 0 ? "0" : `${late > 0 ? "+" : "−"}${Math.abs(late)}`, width - side + 8, top + BAR);
      }
    });
    const both = pairs.filter((pair) => pair.kept && pair.now);
    canvas.setAttribute("aria-label", t("{n} instructions, {both} of them in both runs: {kept} cycles in the kept run, {now} now", { n: pairs.length, both: both.length, kept: end("kept") - starts.kept, now: end("now") - starts.now }));
  }
}
