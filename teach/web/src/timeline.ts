// The time line: a row for each instruction, a column for each cycle, drawn on a canvas.

import type { App } from "./app";
import { colorsOf, fill, grouped, h } from "./dom";
import { nameOf, t, word } from "./language";
import { Overview } from "./overview";
import { penOf, type Pen } from "./svg";
import type { Row } from "./types";

const ROW = 20;
/** Rows above those of instructions: cycles, and what the context does in them. */
const HEAD = 2;
const LABEL = 250;
/** The tallest element that browsers scroll reliably. */
const TALLEST = 8e6;
const WIDTHS = [1, 2, 4, 6, 9, 13, 18, 24];
/** Stripes by hardware context. */
const CONTEXT_WIDTH = 16;

interface Stage {
  letter: string;
  name: string;
  color: string;
}

type Flow = "free" | "in step" | "one cycle";

/** Letter and name of a stage, and another style variable than its own. */
type Words = [letter: string, name: string, color?: string];

/**
 * The stages by their style variables, which the theme defines. A machine whose instructions go through them in step, or
 * take one cycle, has other words for some.
 */
const STAGES: Record<string, { color: string } & Record<"free" | "in step", Words> & Partial<Record<"one cycle", Words>>> = {
  fetch: { color: "--stage-fetch", free: ["F", t("fetch")], "in step": ["F", t("fetch (IF)")] },
  decode: { color: "--stage-decode", free: ["D", t("decode and rename")], "in step": ["D", t("decode (ID)")] },
  wait: { color: "--stage-wait", free: ["Q", t("waits in a station")], "in step": ["D", t("waits in decode (ID)")] },
  read: { color: "--stage-read", free: ["R", t("issued, reads registers")], "in step": ["D", t("decodes and reads registers (ID)"), "--stage-decode"] },
  execute: { color: "--stage-execute", free: ["X", t("executes")], "in step": ["X", t("executes (EX)")], "one cycle": ["1", t("all stages in one cycle")] },
  memory: { color: "--stage-memory", free: ["M", t("waits for its data")], "in step": ["M", t("memory (MEM)")], "one cycle": ["M", t("waits for memory")] },
  retire: { color: "--stage-retire", free: ["C", t("complete, waits to commit")], "in step": ["W", t("writes back (WB)")] },
};

const stagesIn = (flow: Flow): Record<string, Stage> =>
  Object.fromEntries(
    Object.entries(STAGES).map(([key, stage]) => {
      const [letter, name, color = stage.color] = stage[flow] ?? stage.free;
      return [key, { letter, name, color }];
    }),
  );

const FLOWS: Record<string, Record<string, Stage>> = { free: stagesIn("free"), "in step": stagesIn("in step"), "one cycle": stagesIn("one cycle") };

/** The stages of a machine. */
const stagesOf = (flow = "free"): Record<string, Stage> => FLOWS[flow]!;

/** Stages that the legend shows. */
const shown = (flow: string | undefined): Stage[] => {
  const { fetch, decode, read, wait, execute, memory, retire } = stagesOf(flow);
  if (flow === "one cycle") return [execute!, memory!];
  return flow === "in step" ? [fetch!, read!, wait!, execute!, memory!, retire!] : [fetch!, decode!, wait!, read!, execute!, memory!, retire!];
};

export const legend = (flow?: string): HTMLElement =>
  h(
    "ul",
    { class: "legend", "aria-label": t("Stages") },
    shown(flow).map((stage) =>
      h("li", {}, h("span", { class: "swatch", style: `background: var(${stage.color})` }, stage.letter), stage.name),
    ),
    h("li", {}, h("span", { class: "swatch squashed" }, "F"), t("squashed")),
    h("li", {}, h("span", { class: "swatch inserted" }), t("inserted by DISE")),
    h("li", {}, h("span", { class: "swatch mark" }, "▼"), t("a sample")),
    Object.entries(STATES).map(([state, [color]]) =>
      h("li", {}, h("span", { class: "swatch state", style: `background: var(${color})` }), word(state)),
    ),
  );

/** What a context does in a cycle in which nothing commits: style variable, and what it means. */
const STATES: Record<string, [string, string]> = {
  stalled: ["--state-stalled", t("the oldest instruction is not complete")],
  flushed: ["--state-flushed", t("the window was emptied")],
  drained: ["--state-drained", t("fetch delivers nothing")],
};

/** Why an instruction was in a stage for so long; nothing if that needs no reason. */
function reason(stage: Stage, row: Row): string {
  switch (stage.color) {
    case STAGES["fetch"]!.color:
    case STAGES["decode"]!.color:
      return row.gap ? word(row.gap) : "";
    case STAGES["wait"]!.color:
      return row.events.includes("store_wait") ? t("an older store") : t("operands or a unit");
    case STAGES["memory"]!.color:
      if (row.events.includes("forwarded")) return t("a store in flight");
      return row.cause.startsWith("load_") || row.cause === "dtlb" ? word(row.cause.replace(/^load_/, "")) : t("its value");
    case STAGES["retire"]!.color:
      return t("older instructions");
    default:
      return "";
  }
}

/** The parts of a row: stage, first cycle, first cycle behind. */
export function parts(row: Row, flow?: string): [Stage, number, number][] {
  const end = row.end + 1;
  const stages = stagesOf(flow);

  const stops: [Stage, number | null][] = [
    [stages.fetch!, row.fetch],
    [stages.decode!, row.decode],
    [stages.wait!, row.dispatch],
    [stages.read!, row.issue],
    [stages.execute!, row.execute],
    [stages.memory!, row.data],
    [stages.retire!, row.complete],
  ];
  const reached = stops.filter((stop): stop is [Stage, number] => stop[1] !== null && stop[1] < end);
  const all = reached.map(([stage, from], at): [Stage, number, number] => [stage, from, reached[at + 1]?.[1] ?? end]);
  return all.filter(([, from, to]) => from < to);
}

export class Timeline {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", {
    tabIndex: 0,
    role: "application",
    "aria-label": t("Time line. Arrow keys left and right change the cycle, up and down the instruction."),
  });
  private readonly scroller = h("div", { class: "timeline-scroll", tabIndex: -1 });
  private readonly spacer = h("div", { class: "timeline-spacer" });
  /** The canvas's pen, or one that writes a picture. */
  private get pen(): Pen {
    return penOf(this.canvas);
  }
  private readonly overview: Overview;
  private top = 0;
  private left = 0;
  private follows = true;
  private pending = false;
  private ownScroll = false;
  /** The cycle has changed while nothing was seen, so that there was no size to scroll by. */
  private missed = false;
  /** The time of the last drawings, in milliseconds, for measurements. */
  readonly frames: number[] = [];

  constructor(
    private readonly app: App,
    private readonly selected: (index: number) => void,
  ) {
    this.scroller.append(this.spacer, this.canvas);
    this.overview = new Overview(app, () => [this.left, this.left + this.columns]);
    this.element = h("div", { class: "timeline" }, this.tools(), this.overview.element, this.scroller);
    this.scroller.addEventListener("scroll", () => this.scrolled());
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("click", (event) => this.clicked(event));
    this.canvas.addEventListener("mousemove", (event) => this.hovered(event));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  /** Search, marks and what is shown: one row above the time line. */
  private tools(): HTMLElement {
    const { app } = this;
    const said = h("span", { role: "status", class: "faint" });
    const seek = async (backwards: boolean): Promise<void> => {
      if (words.value.trim() === "") return;
      const row = await app.seek({ is: "text", text: words.value }, backwards);
      said.textContent = row ? "" : t("not found");
      if (row) this.showRow(row);
    };
    const words = h("input", {
      type: "search",
      placeholder: t("find: ld, a5, #120"),
      "aria-label": t("Find an instruction by its text, address or number"),
      onkeydown: (event: KeyboardEvent) => event.key === "Enter" && void seek(event.shiftKey),
    });
    let rank = 0;
    app.listen((change) => {
      if (change === "run") rank = 0;
    });
    const longest = async (): Promise<void> => {
      const row = (await app.seek({ is: "longest_wait", rank })) ?? undefined;
      said.textContent = row ? t("wait {n}", { n: rank + 1 }) : t("no more waits");
      rank = row ? rank + 1 : 0;
      if (row) this.showRow(row);
    };
    const toggle = (text: string, about: string, key: "hideWrong" | "arrows"): HTMLElement => {
      const button = h("button", {
        type: "button",
        title: about,
        "aria-pressed": String(app.linked[key]),
        onclick: () => {
          app.linked[key] = !app.linked[key];
          button.setAttribute("aria-pressed", String(app.linked[key]));
          if (key === "hideWrong") {
            this.reset();
            this.toCycle();
          }
          app.tell("selected");
        },
      }, text);
      return button;
    };
    const marks = h("span", { class: "joined" });
    const showMarks = (): void =>
      fill(
        marks,
        app.linked.bookmarks.map(({ cycle, row }, at) =>
          h("button", {
            type: "button",
            title: t("Go there; with Delete it goes away"),
            onclick: () => {
              app.linked.selected = row;
              void app.go(cycle).then(() => app.tell("selected"));
            },
            onkeydown: (event: KeyboardEvent) => {
              if (event.key !== "Delete") return;
              app.linked.bookmarks.splice(at, 1);
              app.tell("selected");
              showMarks();
            },
          }, `★ ${grouped(cycle)}`),
        ),
      );
    showMarks();
    return h(
      "div",
      { class: "timeline-tools", role: "toolbar", "aria-label": t("Time line") },
      h("button", { type: "button", onclick: () => this.zoomBy(-1), "aria-label": t("Narrower cycles") }, "−"),
      h("button", { type: "button", onclick: () => this.zoomBy(1), "aria-label": t("Wider cycles") }, "+"),
      h("button", { type: "button", onclick: () => this.toCycle() }, t("To the cycle")),
      toggle(t("Arrows"), t("Results that the selected instruction waits for, and those that wait for it"), "arrows"),
      toggle(t("Hide wrong paths"), t("Only instructions that commit"), "hideWrong"),
      h("button", { type: "button", title: t("The longest time without a commit; again: the next one"), onclick: () => void longest() }, t("Longest wait")),
      words,
      h("button", { type: "button", "aria-label": t("Find the one before (Shift+Enter)"), onclick: () => void seek(true) }, "▴"),
      h("button", { type: "button", "aria-label": t("Find the next (Enter)"), onclick: () => void seek(false) }, "▾"),
      h("button", {
        type: "button",
        "aria-label": t("Bookmark this cycle"),
        title: t("Bookmark this cycle"),
        onclick: () => {
          const { cycle, selected: row, bookmarks } = app.linked;
          if (!bookmarks.some((one) => one.cycle === cycle)) bookmarks.push({ cycle, row });
          app.tell("selected");
          showMarks();
        },
      }, "☆"),
      marks,
      said,
    );
  }

  /** How instructions go through the stages. */
  private get flow(): string | undefined {
    return this.app.summary?.sizes.flow;
  }

  /** Scrolls a row into sight. */
  showRow(row: Row): void {
    const line = this.app.lineOf(row);
    if (line < this.top || line >= this.top + this.visible) this.setTop(line - this.visible / 3);
    if (row.end < this.left || row.fetch > this.left + this.columns) {
      this.follows = false;
      this.left = Math.max(0, Math.min(row.fetch, row.end - this.columns / 2) - 2);
    }
    this.draw();
  }

  private get zoom(): number {
    return Math.max(0, Math.min(WIDTHS.length - 1, this.app.linked.zoom));
  }

  private get labelWidth(): number {
    return this.scroller.clientWidth < 600 ? 150 : LABEL;
  }

  private get rows(): number {
    return this.app.lines;
  }

  private get visible(): number {
    return Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - HEAD);
  }

  private get lastTop(): number {
    return Math.max(0, this.rows - this.visible);
  }

  /** The rows are those of another run. */
  reset(): void {
    this.top = 0;
    this.follows = true;
    this.resize();
    this.draw();
  }

  private resize(): void {
    this.spacer.style.height = `${Math.min(TALLEST, (this.rows + 2) * ROW)}px`;
  }

  zoomBy(step: number): void {
    this.app.linked.zoom = Math.max(0, Math.min(WIDTHS.length - 1, this.zoom + step));
    this.app.tell("selected");
    this.follows = true;
    this.draw();
  }

  /** Scrolls so that the first instruction in flight in the cycle is at the top. */
  toCycle(): void {
    const first = this.firstLine();
    if (first === undefined) return;
    this.follows = true;
    this.setTop(first - 2);
    this.revealColumn();
  }

  /** The line of the first instruction that is in flight in the cycle. */
  private firstLine(): number | undefined {
    const view = this.app.cycleView;
    if (!view) return undefined;
    if (!this.app.linked.hideWrong) return view.first_row;
    const rows = [...view.committed, ...view.rob.map((slot) => slot.row), ...view.front];
    return rows.length > 0 ? Math.min(...rows.map((row) => row.committed_before)) : 0;
  }

  private get columns(): number {
    return Math.max(1, Math.floor((this.scroller.clientWidth - this.labelWidth) / WIDTHS[this.zoom]!));
  }

  /** Scrolls sideways if the column of the cycle is not seen: instructions can be in flight for thousands of cycles. */
  private revealColumn(): void {
    const view = this.app.cycleView;
    if (!view) return;
    const { cycle } = this.app.linked;
    // The uppermost row decides where rows begin; in flight there may be none behind an edit.
    const first = this.app.line(Math.floor(this.top)) ?? view.rob[0]?.row ?? view.front[0];
    const left = this.follows && first ? Math.max(0, first.fetch - 1) : this.left;
    if (cycle >= left && cycle < left + this.columns - 1) return;
    this.follows = false;
    this.left = Math.max(0, cycle - Math.floor(this.columns * 0.6));
  }

  /** Scrolls only if nothing of the cycle is seen. */
  reveal(): void {
    const view = this.app.cycleView;
    if (!view) return;
    if (this.scroller.clientWidth === 0) {
      this.missed = true;
      return;
    }
    this.missed = false;
    const first = this.firstLine() ?? 0;
    const last = Math.max(first, ...view.rob.map((slot) => this.app.lineOf(slot.row)));
    if (first < this.top - 1 || first > this.top + this.visible || last < this.top) this.toCycle();
    else this.revealColumn();
    this.draw();
  }

  private setTop(top: number): void {
    this.top = Math.max(0, Math.min(this.lastTop, top));
    const range = this.scroller.scrollHeight - this.scroller.clientHeight;
    this.ownScroll = true;
    this.scroller.scrollTop = this.lastTop === 0 ? 0 : (this.top / this.lastTop) * range;
    this.draw();
  }

  private scrolled(): void {
    if (this.ownScroll) {
      this.ownScroll = false;
      return;
    }
    const range = Math.max(1, this.scroller.scrollHeight - this.scroller.clientHeight);
    this.top = (this.scroller.scrollTop / range) * this.lastTop;
    this.follows = true;
    this.draw();
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 1 : 1 / ROW;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.follows = false;
      this.left = Math.max(0, this.left + ((event.deltaX || event.deltaY) * lines * ROW) / WIDTHS[this.zoom]!);
      this.draw();
      return;
    }
    this.follows = true;
    this.setTop(this.top + event.deltaY * lines);
  }

  /** Moves the selection by rows. */
  move(by: number): void {
    const { selected } = this.app.linked;
    const row = selected === null ? undefined : this.app.row(selected);
    const from = row ? this.app.lineOf(row) : Math.floor(this.top) - Math.sign(by);
    const line = Math.max(0, Math.min(this.rows - 1, from + by));
    if (line < this.top || line >= this.top + this.visible) this.setTop(line - this.visible / 2);
    const next = this.app.line(line);
    if (next) this.selected(next.index);
  }

  private clicked(event: MouseEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const line = Math.floor(this.top) + Math.floor((event.clientY - box.top) / ROW) - HEAD;
    const row = line >= Math.floor(this.top) ? this.app.line(line) : undefined;
    if (row) this.selected(row.index);
    if (x > this.labelWidth) {
      void this.app.go(Math.floor(this.left) + Math.floor((x - this.labelWidth) / WIDTHS[this.zoom]!));
    }
  }

  /** Says what lies under the pointer. */
  private hovered(event: MouseEvent): void {
    if (this.curtain !== undefined) {
      this.canvas.title = "";
      return;
    }
    const box = this.canvas.getBoundingClientRect();
    const line = Math.floor((event.clientY - box.top) / ROW) - HEAD;
    const x = event.clientX - box.left - this.labelWidth;
    const cycle = Math.floor(this.left) + Math.floor(x / WIDTHS[this.zoom]!);
    let text = "";
    if (line < 0 && x >= 0) {
      const span = this.app.states(cycle, cycle + 1).find(({ first, end }) => first <= cycle && cycle < end);
      text = span
        ? `${t("cycle {cycle}", { cycle })}: ${word(span.state)}, ${STATES[span.state]?.[1]}: ${word(span.cause)}`
        : `${t("cycle {cycle}", { cycle })}: ${t("instructions commit")}`;
    } else if (line >= 0) {
      const row = this.app.line(Math.floor(this.top) + line);
      const part = row && x >= 0 ? parts(row, this.flow).find(([, from, to]) => from <= cycle && cycle < to) : undefined;
      const why = row && part ? reason(part[0], row) : "";
      if (row) text = `${row.pc} ${row.text}${part ? `; ${t("cycle {cycle}", { cycle })}: ${part[0].name}${why ? ` (${why})` : ""}` : ""}`;
    }
    if (this.canvas.title !== text) this.canvas.title = text;
  }

  /** Draws with the next frame. */
  draw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      const begin = performance.now();
      this.paint();
      this.frames.push(performance.now() - begin);
      if (this.frames.length > 1000) this.frames.shift();
    });
  }

  /** Draws at once. */
  paint(): void {
    const { pen, canvas, scroller } = this;
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    if (width === 0 || height === 0) return;
    if (this.missed) this.reveal();
    this.overview.draw();
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const color = colorsOf(this.element);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = color("--paper");
    pen.fillRect(0, 0, width, height);
    if (!this.app.summary) return;
    const cell = WIDTHS[this.zoom]!;
    const first = Math.floor(this.top);
    const label = this.labelWidth;
    const rows: (Row | undefined)[] = [];
    for (let at = 0; at <= this.visible + 1 && first + at < this.rows; at++) rows.push(this.app.line(first + at));
    if (this.follows) {
      const top = rows.find((row) => row !== undefined);
      if (top) this.left = Math.max(0, top.fetch - 1);
    }
    const left = Math.floor(this.left);
    const columns = Math.ceil((width - label) / cell);
    const x = (cycle: number) => label + (cycle - left) * cell;

    pen.font = "12px ui-monospace, Menlo, Consolas, monospace";
    pen.textBaseline = "middle";
    const every = [1, 2, 5, 10, 20, 50, 100].find((n) => n * cell >= 56) ?? 100;
    for (let cycle = Math.ceil(left / every) * every; cycle < left + columns; cycle += every) {
      pen.fillStyle = color("--grid");
      pen.fillRect(x(cycle), ROW, 1, height);
      pen.fillStyle = color("--faint");
      pen.fillText(String(cycle), x(cycle) + 2, ROW / 2);
    }
    const now = this.app.linked.cycle;
    if (now >= left && now < left + columns) {
      pen.fillStyle = color("--now");
      pen.fillRect(x(now), 0, Math.max(2, cell), height);
    }
    this.paintStates(left, left + columns, x, color);
    const samples = new Map<string, number[]>();
    for (const mark of this.app.marks) {
      if (mark.cycle < left || mark.cycle >= left + columns) continue;
      pen.fillStyle = color("--mark");
      pen.fillText("▼", x(mark.cycle) - 2, ROW - 5);
      samples.set(mark.pc, [...(samples.get(mark.pc) ?? []), mark.cycle]);
    }
    const places = new Map<number, number>();
    rows.forEach((row, at) => {
      if (row) places.set(row.index, (at + HEAD) * ROW);
      const y = (at + HEAD) * ROW;
      if (row && this.app.linked.selected === row.index) {
        pen.fillStyle = color("--selected");
        pen.fillRect(0, y, width, ROW);
      }
      if (row) this.paintRow(row, y, x, cell, label, color, samples);
    });
    if (this.app.linked.arrows) this.paintArrows(rows, places, x, label, color);
    this.paintEdits(x, label, width, height, color);
    this.paintCurtain(x, label, width, height, color);
    pen.fillStyle = color("--grid");
    pen.fillRect(label - 1, 0, 1, height);
    pen.fillStyle = color("--faint");
    pen.fillText(t(label < LABEL ? "{n} insts" : "{n} instructions", { n: grouped(this.rows) }), 4, ROW / 2);
    const { contexts } = this.app.summary;
    const of = contexts.length > 1 ? `, ${nameOf(contexts[this.app.linked.context]!)}` : "";
    pen.fillText(`${t(label < LABEL ? "lost" : "no commits")}${of}`, 4, ROW * 1.5);
  }

  /** A line behind each cycle with edits, and what they change. */
  private paintEdits(x: (cycle: number) => number, label: number, width: number, height: number, color: (name: string) => string): void {
    const { pen } = this;
    const places = new Map<number, string[]>();
    this.app.linked.setup.edits.forEach(({ place }, at) => {
      const cycle = this.app.summary?.edited[at];
      if (typeof cycle === "number") places.set(cycle, [...(places.get(cycle) ?? []), place]);
    });
    for (const [cycle, all] of places) {
      const begin = x(cycle + 1);
      if (begin < label || begin > width) continue;
      const text = `✎ ${all.length > 3 ? t("{n} edits", { n: all.length }) : all.join(", ")}`;
      pen.fillStyle = color("--accent");
      pen.fillRect(begin - 2, ROW, 2, height);
      pen.fillRect(begin, height - ROW, text.length * 7.25 + 8, ROW);
      pen.fillStyle = color("--on-accent");
      pen.fillText(text, begin + 4, height - ROW / 2);
    }
  }

  /** Arrows from where a result is there to where it is used: to and from the selected instruction. */
  private paintArrows(rows: (Row | undefined)[], places: Map<number, number>, x: (cycle: number) => number, label: number, color: (name: string) => string): void {
    const { pen } = this;
    const { selected } = this.app.linked;
    pen.lineWidth = 1.75;
    for (const row of rows) {
      if (!row || selected === null) continue;
      for (const source of row.sources) {
        if (row.index !== selected && source.row !== selected) continue;
        const [from, to] = [places.get(source.row), places.get(row.index)];
        if (from === undefined || to === undefined || source.ready === null) continue;
        const use = row.execute ?? row.issue ?? row.end;
        const [begin, end] = [Math.max(label, x(source.ready)), Math.max(label + 2, x(Math.max(use, source.ready)))];
        pen.strokeStyle = pen.fillStyle = color(row.index === selected ? "--depend" : "--feed");
        pen.beginPath();
        pen.moveTo(begin, from + ROW / 2);
        pen.bezierCurveTo(begin, (from + to) / 2 + ROW / 2, end, (from + to) / 2, end, to + 3);
        pen.stroke();
        pen.beginPath();
        pen.moveTo(end, to + 8);
        pen.lineTo(end - 4, to + 1);
        pen.lineTo(end + 4, to + 1);
        pen.fill();
        pen.fillText(word(source.register), begin + 3, from + ROW - 2);
      }
    }
  }

  /** A cycle behind which nothing is shown, while a question asks what comes. */
  private curtain: number | undefined;

  /** The last cycle that is shown. */
  get lastShown(): number {
    return this.curtain ?? Infinity;
  }

  /** Hides what comes behind a cycle, or shows all. */
  hideBehind(cycle: number | undefined): void {
    if (this.curtain === cycle) return;
    this.curtain = cycle;
    this.draw();
    this.app.tell("curtain");
  }

  private paintCurtain(x: (cycle: number) => number, label: number, width: number, height: number, color: (name: string) => string): void {
    if (this.curtain === undefined) return;
    const from = Math.max(label, x(this.curtain + 1));
    if (from >= width) return;
    const { pen } = this;
    pen.fillStyle = color("--panel");
    pen.fillRect(from, 0, width - from, height);
    pen.fillStyle = color("--faint");
    pen.fillRect(from, 0, 2, height);
    pen.fillText(t("What comes next? Answer the question."), from + 10, ROW * 1.5);
  }

  /** What the context does in the cycles, in a lane below their numbers. */
  private paintStates(left: number, end: number, x: (cycle: number) => number, color: (name: string) => string): void {
    const { pen } = this;
    for (const span of this.app.states(left, Math.min(end, this.app.summary!.cycles + 1))) {
      const [from, to] = [Math.max(left, span.first), Math.min(end, span.end)];
      if (to <= from) continue;
      const begin = x(from);
      const width = x(to) - begin;
      pen.fillStyle = color(STATES[span.state]?.[0] ?? "--grid");
      pen.fillRect(begin, ROW + 3, Math.max(1, width - 1), ROW - 6);
      const text = word(span.cause);
      if (width >= text.length * 7.25 + 6) {
        pen.fillStyle = color("--on-stage");
        pen.fillText(text, begin + 3, ROW * 1.5);
      }
    }
  }

  private paintRow(
    row: Row,
    y: number,
    x: (cycle: number) => number,
    cell: number,
    label: number,
    color: (name: string) => string,
    samples: Map<string, number[]>,
  ): void {
    const { pen } = this;
    const middle = y + ROW / 2;
    pen.globalAlpha = row.squashed ? 0.4 : 1;
    const several = this.app.summary!.contexts.length > 1;
    if (several) {
      pen.fillStyle = color(`--context-${row.context % 4}`);
      pen.fillRect(label - CONTEXT_WIDTH, y + 2, CONTEXT_WIDTH - 3, ROW - 4);
      pen.fillStyle = color("--on-stage");
      pen.fillText(String(row.context), label - CONTEXT_WIDTH + 3, middle);
    }
    if (row.origin !== "program") {
      pen.fillStyle = color(`--production-${(row.production ?? 7) % 8}`);
      pen.fillRect(0, y + 1, 4, ROW - 2);
    }
    if (this.app.linked.breakpoints.includes(row.pc)) {
      pen.fillStyle = color("--bad");
      pen.beginPath();
      pen.arc(10, middle, 4, 0, 7);
      pen.fill();
    }
    pen.fillStyle = color("--ink");
    const fits = Math.floor((label - (several ? CONTEXT_WIDTH : 0) - 22) / 7.25);
    pen.fillText(`${row.pc.slice(2)} ${row.text}`.slice(0, fits), 18, middle);
    for (const [stage, from, to] of parts(row, this.flow)) {
      const [begin, end] = [Math.max(x(from), label), x(to)];
      if (end <= label) continue;
      pen.fillStyle = color(stage.color);
      pen.fillRect(begin, y + 2, Math.max(1, end - begin - 1), ROW - 4);
      if (cell >= 9 && x(from) >= label) {
        pen.fillStyle = color("--on-stage");
        pen.fillText(stage.letter, x(from) + cell / 2 - 3.5, middle);
      }
      // A long stay says its reason.
      const why = reason(stage, row);
      const place = Math.max(x(from) + Math.max(cell, 12) + 4, label + 4);
      if (why && x(to) - place > why.length * 7.25 + 4) {
        pen.fillStyle = color("--on-stage");
        pen.fillText(why, place, middle);
      }
    }
    pen.globalAlpha = 1;
    const end = x(row.end + 1);
    if (row.squashed && end > label) {
      pen.fillStyle = color("--bad");
      pen.fillRect(Math.max(label, x(row.fetch)), middle, Math.max(0, end - Math.max(label, x(row.fetch))), 1.5);
    }
    const notes = [
      row.mispredicted ? t("mispredicted") : "",
      row.cause.startsWith("load_") && row.cause !== "load_l1" ? t("from {level}", { level: word(row.cause.replace("load_", "")) }) : "",
      row.events.includes("forwarded") ? word("forwarded") : "",
      row.events.includes("replayed") ? word("replayed") : "",
      samples.get(row.pc)?.some((cycle) => cycle >= row.fetch && cycle <= row.end + 200) && !row.squashed
        ? t("◀ blamed")
        : "",
    ].filter(Boolean);
    if (notes.length > 0 && end > label) {
      pen.fillStyle = color(row.mispredicted ? "--bad" : "--faint");
      pen.fillText(notes.join(", "), end + 4, middle);
    }
  }
}
