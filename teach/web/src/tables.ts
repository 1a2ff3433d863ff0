// What caches, TLBs and predictors hold: a drawing of all sets, and the entries of one.

import type { App } from "./app";
import { choice, colorsOf, fill, grouped, h, labelled } from "./dom";
import { t } from "./language";
import { penOf } from "./svg";
import type { EntryView, TableView } from "./types";

/** Names of tables for people, and what a set and an entry of them are. */
const TABLES: Record<string, [string, string]> = {
  l1i: [t("Level 1 instruction cache"), t("An entry is a line of instructions.")],
  l1d: [t("Level 1 data cache"), t("An entry is a line of data.")],
  l2: [t("Level 2 cache"), t("An entry is a line, of instructions or data.")],
  l3: [t("Level 3 cache"), t("An entry is a line, of instructions or data.")],
  itlb: [t("Instruction TLB"), t("An entry is a page whose translation is known.")],
  dtlb: [t("Data TLB"), t("An entry is a page whose translation is known.")],
  l2_tlb: [t("Second-level TLB"), t("An entry is a page whose translation is known.")],
  l1i_misses: [t("Misses of the instruction cache"), t("An entry is a line on its way to level 1.")],
  l1d_misses: [t("Misses of the data cache"), t("An entry is a line on its way to level 1. If all are taken, the next miss waits.")],
  l2_misses: [t("Misses of level 2"), t("An entry is a line on its way to level 2.")],
  write_buffer: [t("Write buffer"), t("An entry is a block of stores on its way to level 2.")],
  btb: [t("Branch target buffer"), t("An entry says where a branch went last.")],
  indirect_targets: [t("Targets of indirect jumps"), t("An entry says where a jump went after the branches before it.")],
  returns: [t("Return address stack"), t("Calls put their return addresses on top; returns take them.")],
  bimodal: [t("Bimodal counters"), t("The address of a branch selects a counter.")],
  gshare: [t("Counters of gshare"), t("The address of a branch and the branches before it select a counter.")],
  local_histories: [t("Local histories"), t("The address of a branch selects the last directions of its own.")],
  local: [t("Local counters"), t("A local history selects a counter.")],
  global: [t("Global counters"), t("The branches before select a counter.")],
  chooser: [t("Chooser"), t("The branches before select a counter, which says whom to believe: from the middle on the global counters.")],
  tage_base: [t("TAGE, table without tags"), t("The address of a branch selects a counter.")],
};

const LETTERS: Record<string, [string, string]> = {
  c: ["--cell-clean", t("unchanged")],
  d: ["--cell-dirty", t("changed")],
  m: ["--cell-moving", t("on its way")],
  p: ["--cell-unused", t("prefetched, not used")],
  t: ["--cell-clean", t("known")],
  T: ["--cell-dirty", t("on top")],
  h: ["--cell-clean", t("not all zero")],
  "0": ["--count-0", t("surely not taken")],
  "1": ["--count-1", t("not taken")],
  "2": ["--count-2", t("taken")],
  "3": ["--count-3", t("surely taken")],
};

export function titleOf(name: string): string {
  const tagged = /^tage_(\d)$/.exec(name);
  return tagged ? t("TAGE, tagged table {n}", { n: tagged[1]! }) : (TABLES[name]?.[0] ?? name);
}

const CELLS = [14, 11, 9, 7, 5, 4, 3, 2, 1];

/** A drawing of a table: a column for each set, a square for each way; long tables go on in the next band. */
export class TableDrawing {
  readonly element = h("canvas", { class: "table-drawing" });
  private columns = 1;
  private perBand = 1;
  private cell = 1;
  private bandHeight = 1;

  constructor(
    private readonly tallest: number,
    /** Called with the number of a column that was clicked. */
    chosen: (column: number) => void,
  ) {
    this.element.addEventListener("click", (event) => {
      const box = this.element.getBoundingClientRect();
      const band = Math.floor((event.clientY - box.top) / this.bandHeight);
      const column = band * this.perBand + Math.floor((event.clientX - box.left) / this.cell);
      if (column < this.columns) chosen(column);
    });
  }

  /** Draws it; `marked` is a set, `before` what the sets were before. */
  draw(table: TableView, marked: number | null, before: number[] | undefined): void {
    const canvas = this.element;
    const width = canvas.parentElement?.clientWidth ?? 0;
    const letters = table.letters;
    if (width === 0 || letters === null) return;
    const isRow = table.sets === 1;
    this.columns = isRow ? table.ways : table.sets;
    const rows = isRow ? 1 : table.ways;
    const bandsOf = (cell: number) => Math.ceil(this.columns / Math.max(1, Math.floor(width / cell)));
    const heightOf = (cell: number) => bandsOf(cell) * (rows * cell + 4);
    this.cell = CELLS.find((cell) => heightOf(cell) <= this.tallest) ?? 1;
    this.perBand = Math.min(this.columns, Math.max(1, Math.floor(width / this.cell)));
    this.bandHeight = rows * this.cell + 4;
    const height = bandsOf(this.cell) * this.bandHeight;
    const used = this.perBand * this.cell;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(used * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${used}px`;
    canvas.style.height = `${height}px`;
    const pen = penOf(canvas);
    const color = colorsOf(canvas);
    const colors = Object.fromEntries(Object.entries(LETTERS).map(([letter, [name]]) => [letter, color(name)]));
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, used, height);
    pen.font = "9px ui-monospace, Menlo, Consolas, monospace";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const { cell } = this;
    const inner = cell >= 4 ? cell - 1 : cell;
    let drawn = "";
    for (let column = 0; column < this.columns; column++) {
      const x = (column % this.perBand) * cell;
      const top = Math.floor(column / this.perBand) * this.bandHeight;
      for (let row = 0; row < rows; row++) {
        const letter = letters[column * rows + row]!;
        // Setting a colour takes longer than filling a cell.
        if (letter !== drawn) pen.fillStyle = colors[letter] ?? color("--cell-empty");
        drawn = letter;
        pen.fillRect(x, top + row * cell, inner, inner);
        if (cell >= 11 && letter !== ".") {
          drawn = "";
          pen.fillStyle = color("--on-stage");
          pen.fillText(letter, x + inner / 2, top + row * cell + inner / 2 + 0.5);
        }
      }
      const digest = table.digests?.[isRow ? 0 : column];
      if (!isRow && before && digest !== before[column]) {
        drawn = "";
        pen.fillStyle = color("--bad");
        pen.fillRect(x, top + rows * cell, Math.max(1, inner), 3);
      }
      if (!isRow && marked === column) {
        pen.strokeStyle = color("--ink");
        pen.lineWidth = 1.5;
        pen.strokeRect(x - 0.5, top - 0.5, Math.max(inner, 3) + 1, rows * cell + 1);
      }
    }
  }
}

/** The panel below the blocks: one table at a time, all its sets, and the entries of one of them. */
export class TablesPanel {
  readonly element = h("section", { class: "tables-panel", "aria-label": t("Caches, TLBs and predictors") });
  private readonly drawing = new TableDrawing(340, (column) => this.choose(this.table?.sets === 1 ? 0 : column));
  private readonly picture = h("div", { class: "picture" }, this.drawing.element);
  private readonly head = h("div", { class: "bar" });
  private readonly facts = h("p", { class: "faint" });
  private readonly keys = h("ul", { class: "legend", "aria-label": t("Entries") });
  private readonly entries = h("div", { class: "wide", "aria-live": "polite" });
  private asked = 0;

  constructor(private readonly app: App) {
    this.drawing.element.tabIndex = 0;
    this.drawing.element.setAttribute("role", "application");
    this.drawing.element.addEventListener("keydown", (event) => this.key(event));
    this.element.append(h("h2", {}, t("Caches, TLBs and predictors at this cycle")), this.head, this.facts, this.picture, this.keys, this.entries);
    app.listen((change) => {
      if (change === "inside" || change === "run" || (change === "selected" && app.inside)) this.render();
      if (change === "view") this.draw();
    });
  }

  private get table(): TableView | undefined {
    const { inside, linked } = this.app;
    return inside?.tables.find((one) => one.name === linked.table) ?? inside?.tables[0];
  }

  private choose(set: number): void {
    const most = (this.table?.sets ?? 1) - 1;
    this.app.linked.set = Math.max(0, Math.min(most, set));
    this.app.tell("selected");
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(this.app.linked.set + by);
  }

  draw(): void {
    const { table } = this;
    if (table) this.drawing.draw(table, this.app.linked.set, this.app.digestsBefore.get(table.name));
  }

  private render(): void {
    const { inside, linked } = this.app;
    const { table } = this;
    this.element.hidden = !inside;
    if (!inside || !table) return;
    const options = inside.tables.map(({ name, taken, sets, ways }): [string, string] => [
      name,
      `${titleOf(name)}: ${t("{n} of {all}", { n: grouped(taken), all: grouped(sets * ways) })}`,
    ]);
    const set = Math.min(linked.set, table.sets - 1);
    const number = h("input", {
      type: "number",
      min: "0",
      max: String(table.sets - 1),
      value: String(set),
      onchange: () => this.choose(Number(number.value) || 0),
    });
    const focused = this.head.contains(document.activeElement) ? (document.activeElement as HTMLElement).tagName : "";
    fill(
      this.head,
      labelled(t("Table"), choice(options, table.name, (name) => this.app.showTable(name))),
      table.sets > 1 ? labelled(t("Set, 0 to {last}", { last: table.sets - 1 }), number) : null,
      table.set !== null && table.sets > 1
        ? h("button", { type: "button", onclick: () => this.choose(table.set!) }, t("Set {set}, of the selected instruction", { set: table.set }))
        : null,
    );
    if (focused) this.head.querySelector<HTMLElement>(focused.toLowerCase())?.focus();
    const about = TABLES[table.name]?.[1] ?? t("An entry is for a branch after certain others.");
    const shape =
      table.sets === 1
        ? t("{n} entries", { n: grouped(table.ways) })
        : `${t("{sets} sets of {ways}", { sets: grouped(table.sets), ways: table.ways })}${table.bytes ? `, ${t("{n} bytes each", { n: grouped(table.bytes) })}` : ""}`;
    const changes = this.app.digestsBefore.has(table.name) && table.sets > 1;
    this.facts.textContent = `${about} ${shape}${table.by_use && table.ways > 1 ? `; ${t("the entry that was used last comes first")}` : ""}. ${
      table.sets > 1 ? t(changes ? "A column is a set; underlined sets have changed since the cycle that was looked at before." : "A column is a set.") : ""
    }`;
    const label = `${titleOf(table.name)}: ${t("{n} of {all} entries taken; set {set} is chosen. Arrow keys choose another set.", { n: table.taken, all: table.sets * table.ways, set })}`;
    this.drawing.element.setAttribute("aria-label", label);
    this.draw();
    const used = Object.keys(LETTERS).filter((letter) => table.letters?.includes(letter));
    fill(
      this.keys,
      used.map((letter) =>
        h("li", {}, h("span", { class: "swatch", style: `background: var(${LETTERS[letter]![0]})` }, letter), LETTERS[letter]![1]),
      ),
    );
    void this.ask(table, set);
  }

  private async ask(table: TableView, set: number): Promise<void> {
    const number = ++this.asked;
    const { cycle, context } = this.app.linked;
    try {
      const asked = { ask: "entries" as const, cycle, context, table: table.name, set };
      const { entries } = await this.app.api.ask("entries", asked);
      if (number === this.asked) this.renderEntries(table, set, entries);
    } catch {
      // The next cycle that is looked at asks again.
    }
  }

  private renderEntries(table: TableView, set: number, entries: EntryView[]): void {
    const shown = entries.map((entry, way) => ({ ...entry, way })).filter((entry) => table.ways <= 16 || entry.letter !== ".");
    if (shown.length === 0) {
      fill(this.entries, h("p", {}, t("Nothing is there.")));
      return;
    }
    const first = table.by_use && table.ways > 1 ? t("order of use") : t("entry");
    fill(
      this.entries,
      h(
        "table",
        {},
        h("caption", {}, table.sets === 1 ? titleOf(table.name) : `${titleOf(table.name)}, ${t("set {set}", { set })}`),
        h("thead", {}, h("tr", {}, [first, t("for"), t("in"), t("says")].map((name) => h("th", { scope: "col" }, name)))),
        h(
          "tbody",
          {},
          shown.map(({ way, key, place, text, letter }) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, table.by_use && table.ways > 1 && way === 0 ? t("newest") : String(way)),
              h("td", {}, h("code", {}, letter === "." ? t("empty") : key)),
              h("td", {}, place),
              h("td", {}, text),
            ),
          ),
        ),
      ),
    );
  }
}
