// The machine as a block diagram, with what each block holds at the chosen cycle.

import type { App } from "./app";
import { fill, grouped, h, percent } from "./dom";
import { t, word } from "./language";
import { TableDrawing, titleOf } from "./tables";
import type { CycleView, MemoryOpView, Row, Slot, TableView } from "./types";

/** Ways between blocks: from, to, and which sides they leave and reach (right, left, top, bottom). */
const WAYS: [string, string, string][] = [
  ["predictors", "fetch", "rl"],
  ["icache", "fetch", "rl"],
  ["level2", "icache", "tb"],
  ["level2", "dcache", "rl"],
  ["dcache", "level2", "lr"],
  ["fetch", "rob", "rl"],
  ["fetch", "stations", "bt"],
  ["stations", "units", "rl"],
  ["units", "rob", "tb"],
  ["units", "stores", "rl"],
  ["units", "loads", "bt"],
  ["loads", "dcache", "lr"],
  ["dcache", "loads", "rl"],
  ["rob", "commit", "rl"],
  ["commit", "stores", "bt"],
];

/** The same where instructions go through the stages in step. */
const STEP_WAYS: [string, string, string][] = [
  ["fetch", "decode", "rl"],
  ["decode", "units", "rl"],
  ["units", "memory", "rl"],
  ["memory", "commit", "rl"],
  ["icache", "fetch", "tb"],
  ["memory", "dcache", "bt"],
  ["dcache", "memory", "tb"],
  ["commit", "stores", "bt"],
];

/** Where they take one cycle. */
const ONE_CYCLE_WAYS: [string, string, string][] = [
  ["icache", "one", "rl"],
  ["one", "dcache", "rl"],
  ["dcache", "one", "lr"],
];

/** Names of tables inside a block that says where they are. */
const SHORT: Record<string, string> = {
  l1i: t("Lines of level 1"),
  l1d: t("Lines of level 1"),
  l2: t("Lines of level 2"),
  l3: t("Lines of level 3"),
  itlb: t("Pages of the TLB"),
  dtlb: t("Pages of the TLB"),
  l1i_misses: t("Misses on their way"),
  l1d_misses: t("Misses on their way"),
  l2_misses: t("Misses of level 2 on their way"),
  write_buffer: t("Blocks of the write buffer"),
};

const SVG = "http://www.w3.org/2000/svg";

export class Blocks {
  readonly element = h("div", { class: "diagram" });
  private readonly blocks = h("div", { class: "blocks" });
  private readonly lines = document.createElementNS(SVG, "svg");
  private readonly drawings = new Map<string, TableDrawing>();

  constructor(
    private readonly app: App,
    private readonly select: (index: number) => void,
  ) {
    this.lines.setAttribute("class", "ways");
    this.lines.setAttribute("aria-hidden", "true");
    this.element.append(this.lines, this.blocks);
    for (const name of ["l1i", "l1d", "l2"]) {
      const drawing = new TableDrawing(64, (column) => app.showTable(name, column));
      drawing.element.setAttribute("aria-hidden", "true");
      this.drawings.set(name, drawing);
    }
    new ResizeObserver(() => this.drawWays()).observe(this.blocks);
  }

  private slot(row: Row, kind: string): HTMLElement {
    const production = row.production === null ? "" : ` production-${row.production % 8}`;
    const chosen = this.app.linked.selected === row.index;
    return h(
      "button",
      {
        type: "button",
        class: `slot ${kind}${row.squashed ? " wrong" : ""}${production}${chosen ? " chosen" : ""}`,
        title: `${row.pc} ${row.text}${row.squashed ? ` (${t("wrong path")})` : ""}: ${word(kind)}`,
        "aria-label": `${row.text}, ${word(kind)}${row.squashed ? `, ${t("wrong path")}` : ""}`,
        "aria-pressed": String(chosen),
        "data-row": String(row.index),
        onclick: () => this.select(row.index),
      },
      row.text.split(" ")[0] ?? "",
    );
  }

  private block(id: string, name: string, held: number | string, size: number | undefined, ...inside: (Node | null)[]): HTMLElement {
    const share = size && typeof held === "number" ? Math.min(1, held / size) : 0;
    return h(
      "section",
      { class: `block block-${id}`, "aria-label": name },
      h("h2", {}, name, h("span", { class: "held" }, size === undefined ? String(held) : t("{n} of {all}", { n: held, all: size }))),
      size === undefined ? null : h("div", { class: "meter" }, h("div", { style: `width: ${100 * share}%` })),
      h("div", { class: "slots" }, inside),
    );
  }

  private fact(text: string, value: string | number): HTMLElement {
    return h("div", { class: "fact" }, text, h("b", {}, typeof value === "number" ? grouped(value) : value));
  }

  /** A table in a line or as a drawing; a button leads to its sets and entries. */
  private table(name: string): HTMLElement | null {
    const table = this.app.inside?.tables.find((one) => one.name === name);
    if (!table) return null;
    const drawing = this.drawings.get(name);
    const counters = table.taken === table.sets * table.ways && table.ways === 1;
    const short = SHORT[name] ?? titleOf(name);
    const text = counters ? `${short}: ${grouped(table.taken)}` : `${short}: ${t("{n} of {all}", { n: grouped(table.taken), all: grouped(table.sets * table.ways) })}`;
    return h(
      "div",
      { class: "table-line" },
      h(
        "button",
        {
          type: "button",
          class: "link",
          "aria-pressed": String(this.app.linked.table === name),
          title: t("Show its sets and entries below"),
          onclick: () => {
            this.app.showTable(name, table.set ?? 0);
            document.querySelector(".tables-panel")?.scrollIntoView({ block: "nearest" });
          },
        },
        text,
      ),
      drawing ? h("div", { class: "picture" }, drawing.element) : null,
    );
  }

  private memoryOp(op: MemoryOpView): HTMLElement {
    const what = op.is_store ? "store" : "load";
    const value = op.value === null ? "" : ` ← ${op.value}`;
    const where = op.address ?? t("address not known yet");
    const state = op.committed ? t("committed, waits for the cache") : op.waits ? t("waits for an older store") : "";
    const name = op.text.split(" ")[0] || what;
    return h(
      "button",
      {
        type: "button",
        class: `memory-op${op.committed ? " done" : ""}${op.waits ? " waiting" : ""}${op.row !== null && op.row === this.app.linked.selected ? " chosen" : ""}`,
        title: [op.text, t("{n} bytes", { n: op.size }), state].filter(Boolean).join("; "),
        disabled: op.row === null,
        onclick: () => op.row !== null && this.select(op.row),
      },
      h("b", {}, name),
      ` ${where}${value}`,
      state ? h("small", {}, ` ${state}`) : null,
    );
  }

  /** The cycle that is drawn. */
  private drawn = -1;

  /** Places of instructions outside the reorder buffer, which they only enter and leave. */
  private places(): Map<string, DOMRect> {
    const slots = this.blocks.querySelectorAll<HTMLElement>(".block:not(.block-rob) [data-row]");
    return new Map([...slots].map((slot) => [slot.dataset["row"]!, slot.getBoundingClientRect()]));
  }

  private pending = false;

  /** Draws the blocks in the next frame, whatever happens up to there. */
  render(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.renderNow();
    });
  }

  /** Draws the blocks, and lets instructions glide from where they were one cycle before. */
  private renderNow(): void {
    const cycle = this.app.cycleView?.cycle ?? -1;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const glides = Math.abs(cycle - this.drawn) === 1 && !still && this.element.checkVisibility();
    const before = glides ? this.places() : undefined;
    this.drawn = cycle;
    this.renderBlocks();
    if (!before) return;
    for (const slot of this.blocks.querySelectorAll<HTMLElement>(".block:not(.block-rob) [data-row]")) {
      const [from, to] = [before.get(slot.dataset["row"]!), slot.getBoundingClientRect()];
      if (!from || (Math.abs(from.x - to.x) < 40 && Math.abs(from.y - to.y) < 40)) continue;
      const motion = [{ transform: `translate(${from.x - to.x}px, ${from.y - to.y}px)`, zIndex: 2 }, { transform: "none", zIndex: 2 }];
      slot.animate(motion, { duration: 220, easing: "ease-out" });
    }
  }

  private renderBlocks(): void {
    const { summary, cycleView: view, inside } = this.app;
    if (!summary || !view) {
      fill(this.blocks);
      this.lines.replaceChildren();
      return;
    }
    const { sizes } = summary;
    const so = view.so_far;
    const of = (slots: Slot[]) => slots.map((slot) => this.slot(slot.row, slot.stage));
    const working = view.rob.filter((slot) => slot.stage === "executing");
    const rate = (n: number, of: number) => (of === 0 ? "0" : `${grouped(n)} (${percent(n / of)})`);
    const now = inside?.cycle === view.cycle ? inside : undefined;
    // Until the queues have arrived, the record says what is in them.
    const queue = (is: (op: MemoryOpView) => boolean, name: string) =>
      now ? now.memory.filter(is).map((op) => this.memoryOp(op)) : of(view.rob.filter((slot) => slot.queue === name));
    const stores = queue((op) => op.is_store, "store");
    const names = inside?.tables.map((table) => table.name) ?? [];
    const predictors = names.filter((name) => !/^(l[123]|itlb|dtlb|write)/.test(name));
    const predictorsBlock = this.block(
      "predictors",
      t("Predictors"),
      sizes.predictor.replace(/([a-z])([A-Z])/g, "$1 $2"),
      undefined,
      this.fact(t("branches so far"), view.branches_so_far),
      this.fact(t("mispredicted"), rate(so["mispredicted"] ?? 0, view.branches_so_far)),
      this.fact(t("unknown to the BTB"), so["btb_miss"] ?? 0),
      now ? h("div", { class: "history", title: t("Directions of the last branches on the predicted path, the newest on the right: 1 is taken") }, t("history"), " ", h("code", {}, now.history.slice(-16))) : null,
      ...predictors.map((name) => this.table(name)),
    );
    const fetchBlock = this.block(
      "fetch",
      t("Fetch and decode"),
      view.front.length,
      undefined,
      ...view.front.map((row) => this.slot(row, "front")),
      now ? this.fact(t("goes on at"), now.fetch_pc) : null,
      now?.fetch_from ? this.fact(t("waits until cycle"), now.fetch_from) : null,
    );
    const robBlock = this.block("rob", t("Reorder buffer"), view.rob.length, sizes.rob, ...of(view.rob));
    const commitBlock = this.block("commit", t("Commit"), view.committed.length, sizes.commit_width, ...view.committed.map((row) => this.slot(row, "done")));
    const icacheBlock = this.block(
      "icache",
      t("Instruction cache"),
      "",
      undefined,
      this.table("l1i"),
      this.table("itlb"),
      this.table("l1i_misses"),
      this.fact(t("waits for it so far"), so["l1i_miss"] ?? 0),
    );
    const stationsBlock = this.block("stations", t("Stations"), view.waiting, sizes.stations, ...of(view.rob.filter((slot) => slot.stage === "waiting")));
    const unitsBlock = this.block(
      "units",
      t("Units"),
      working.length,
      undefined,
      ...Object.entries(sizes.pools).map(([pool, count]) =>
        h(
          "div",
          { class: "pool" },
          h("span", {}, `${word(pool)} ×${count}`),
          of(working.filter((slot) => slot.pool === pool)),
        ),
      ),
    );
    const storeBlock = this.block("stores", t("Store queue"), now ? stores.length : view.stores, sizes.store_queue, ...stores);
    const level2Block = this.block(
      "level2",
      t("Level 2 and memory"),
      "",
      undefined,
      ...["l2", "l3", "l2_misses", "l2_tlb"].map((name) => this.table(name)),
      ...Object.entries(view.misses).map(([level, count]) => this.fact(t("loads that wait for {level}", { level: word(level) }), count)),
    );
    const dcacheBlock = this.block(
      "dcache",
      t("Data cache"),
      "",
      undefined,
      ...["l1d", "dtlb", "l1d_misses", "write_buffer"].map((name) => this.table(name)),
      this.fact(t("loads so far"), view.loads_so_far),
      this.fact(t("missed level 1"), rate(so["l1d_miss"] ?? 0, view.loads_so_far)),
      this.fact(t("missed level 2"), rate(so["l2_miss"] ?? 0, view.loads_so_far)),
      this.fact(t("missed the TLB"), so["dtlb_miss"] ?? 0),
    );
    const loadBlock = this.block(
      "loads",
      t("Load queue"),
      view.loads,
      sizes.load_queue,
      ...queue((op) => !op.is_store, "load"),
      this.fact(t("got a store's value so far"), so["forwarded"] ?? 0),
      this.fact(t("run again so far"), so["replayed"] ?? 0),
    );
    const { flow } = sizes;
    this.blocks.className = `blocks ${flow.replace(" ", "-")}`;
    if (flow === "free") {
      fill(this.blocks, predictorsBlock, fetchBlock, robBlock, commitBlock, icacheBlock, stationsBlock, unitsBlock, storeBlock, level2Block, dcacheBlock, loadBlock);
    } else {
      const caches = [icacheBlock, dcacheBlock, storeBlock, level2Block];
      fill(this.blocks, ...(flow === "in step" ? this.inStep(view, predictorsBlock) : [this.atOnce(view)]), ...caches);
    }
    if (inside !== this.drawnInside) this.drawTables();
    this.drawWays();
  }

  /** The five stages, each with the instructions that it holds. */
  private inStep(view: CycleView, predictors: HTMLElement): HTMLElement[] {
    const { sizes } = this.app.summary!;
    const places = sizes.issue_width;
    const of = (slots: Slot[]) => slots.map((slot) => this.slot(slot.row, slot.stage));
    const at = (stage: string) => view.rob.filter((slot) => slot.stage === stage);
    const isDecoded = (row: Row) => row.decode !== null && row.decode <= view.cycle;
    const [fetched, decoded] = [view.front.filter((row) => !isDecoded(row)), view.front.filter(isDecoded)];
    const waiting = at("waiting");
    const inDecode = [...decoded.map((row) => this.slot(row, "front")), ...of([...waiting, ...at("reading")])];
    const hazards = waiting.flatMap(({ row }) =>
      row.sources
        .filter(({ ready }) => ready !== null && ready > view.cycle + 1)
        .map(({ register, text }) => this.fact(t("waits for {register} of", { register }), text.split(" ")[0]!)),
    );
    const [executing, memory] = [at("executing"), at("memory")];
    return [
      this.block("fetch", t("IF: fetch"), fetched.length, sizes.fetch_buffer, ...fetched.map((row) => this.slot(row, "front"))),
      this.block("decode", t("ID: decode"), inDecode.length, places, ...inDecode, ...hazards),
      this.block("units", t("EX: execute"), executing.length, places, ...of(executing)),
      this.block("memory", t("MEM: memory"), memory.length, places, ...of(memory)),
      this.block("commit", t("WB: write back"), view.committed.length, places, ...view.committed.map((row) => this.slot(row, "done"))),
      predictors,
    ];
  }

  /** The one instruction of a cycle. */
  private atOnce(view: CycleView): HTMLElement {
    const rows = [...view.committed, ...view.rob.map((slot) => slot.row), ...view.front];
    return this.block("one", t("All stages in one cycle"), rows.length, 1, ...rows.map((row) => this.slot(row, "executing")));
  }

  /** Draws what needs the sizes of the elements. */
  draw(): void {
    this.drawTables();
    this.drawWays();
  }

  /** What the drawings of tables show. */
  private drawnInside: App["inside"];

  private drawTables(): void {
    this.drawnInside = this.app.inside;
    for (const [name, drawing] of this.drawings) {
      const table: TableView | undefined = this.app.inside?.tables.find((one) => one.name === name);
      if (table && drawing.element.isConnected) drawing.draw(table, table.set, this.app.digestsBefore.get(name));
    }
  }

  private drawWays(): void {
    this.lines.replaceChildren();
    const whole = this.blocks.getBoundingClientRect();
    // In one or two columns there is no room for them.
    if (whole.width === 0 || !this.blocks.firstChild || getComputedStyle(this.blocks).gridTemplateColumns.split(" ").length < 4) return;
    const ways = { "in step": STEP_WAYS, "one cycle": ONE_CYCLE_WAYS }[this.app.summary!.sizes.flow] ?? WAYS;
    this.lines.setAttribute("width", String(whole.width));
    this.lines.setAttribute("height", String(whole.height));
    const box = (id: string) => {
      const { left, top, width, height } = this.blocks.querySelector(`.block-${id}`)!.getBoundingClientRect();
      return { left: left - whole.left, top: top - whole.top, right: left - whole.left + width, bottom: top - whole.top + height };
    };
    for (const [from, to, sides] of ways) {
      const [a, b] = [box(from), box(to)];
      // Ways that run both ways between two blocks lie beside each other.
      const shift = ways.some(([other, back]) => other === to && back === from) ? (from < to ? -7 : 7) : 0;
      let points: [number, number][];
      if (sides === "rl" || sides === "lr") {
        const [x, end] = sides === "rl" ? [a.right, b.left] : [a.left, b.right];
        const low = Math.max(a.top, b.top);
        const high = Math.min(a.bottom, b.bottom);
        if (high > low) {
          const y = (low + high) / 2 + shift;
          points = [[x, y], [end, y]];
        } else {
          const y = (a.top + a.bottom) / 2;
          const middle = (x + end) / 2;
          points = [[x, y], [middle, y], [middle, b.bottom - 14], [end, b.bottom - 14]];
        }
      } else {
        const [y, end] = sides === "bt" ? [a.bottom, b.top] : [a.top, b.bottom];
        const x = (Math.max(a.left, b.left) + Math.min(a.right, b.right)) / 2 + shift;
        points = [[x, y], [x, end]];
      }
      const line = document.createElementNS(SVG, "polyline");
      line.setAttribute("points", points.map((point) => point.join(",")).join(" "));
      const tip = points[points.length - 1]!;
      const before = points[points.length - 2]!;
      const head = document.createElementNS(SVG, "path");
      const [dx, dy] = [Math.sign(tip[0] - before[0]), Math.sign(tip[1] - before[1])];
      const corner = (side: number) => `${tip[0] - 6 * dx + side * 4 * dy},${tip[1] - 6 * dy + side * 4 * dx}`;
      head.setAttribute("d", `M${tip.join(",")} L${corner(1)} L${corner(-1)} Z`);
      this.lines.append(line, head);
    }
    if (this.app.summary!.sizes.forwarding) this.drawForwards(box);
  }

  /** Results that go back to execute, above the stages. */
  private drawForwards(box: (id: string) => { left: number; right: number; top: number }): void {
    const to = box("units");
    ["memory", "commit"].forEach((id, at) => {
      const from = box(id);
      const [x, end, top] = [from.left + 24, to.right - 24 - 18 * at, Math.min(from.top, to.top) - 10 - 8 * at];
      const line = document.createElementNS(SVG, "polyline");
      line.setAttribute("points", `${x},${from.top} ${x},${top} ${end},${top} ${end},${to.top}`);
      const head = document.createElementNS(SVG, "path");
      head.setAttribute("d", `M${end},${to.top} L${end - 4},${to.top - 6} L${end + 4},${to.top - 6} Z`);
      this.lines.append(line, head);
    });
  }
}
