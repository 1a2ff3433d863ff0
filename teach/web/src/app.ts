// What all views share: the setup, the run, the cycle that is looked at.

import { Api, Refusal } from "./api";
import { debounced } from "./dom";
import { sentence, t } from "./language";
import { write, type Linked, type View } from "./link";
import type { Catalog, CycleView, InsideView, Mark, Problem, Row, Sought, StateSpan, StateView, Summary, Wanted } from "./types";

/** How a run ended. What stops a program at a limit is told in the simulator's words. */
export function ended({ end, said, fault, instructions }: Summary): string {
  if (end === "exit") return t("exit code {code}", { code: said.replace("exit code ", "") });
  if (end === "limit") return t("stopped after {n} instructions", { n: instructions });
  return fault ? t("the program faulted: {cause} at pc {pc} (encoding {encoding})", { ...fault, cause: sentence(fault.cause) }) : said;
}

/** What has changed. */
export type Change = "setup" | "run" | "cycle" | "inside" | "selected" | "view" | "marks" | "problem" | "busy" | "curtain";

const BLOCK = 256;
/** Cycles of a block of states. */
const STATES = 2048;
/** Tables whose drawings are always in sight. */
export const ALWAYS = ["l1i", "l1d", "l2"];

export class App {
  readonly api = new Api();
  catalog!: Catalog;
  linked: Linked;
  summary: Summary | undefined;
  cycleView: CycleView | undefined;
  stateView: StateView | undefined;
  inside: InsideView | undefined;
  /** Numbers of the sets' contents in the cycle that was looked at before, by table. */
  digestsBefore = new Map<string, number[]>();
  problem: Problem | undefined;
  busy = false;
  /** Samples on the time line, and the profiler that took them. */
  marks: Mark[] = [];
  /** Blocks of rows by number; those of the rows that committed have numbers below zero. */
  private readonly blocks = new Map<number, Row[] | "asked">();
  private readonly spans = new Map<number, StateSpan[] | "asked">();
  private readonly listeners: ((change: Change) => void)[] = [];
  private runs = 0;

  constructor(linked: Linked) {
    this.linked = linked;
  }

  listen(listener: (change: Change) => void): void {
    this.listeners.push(listener);
  }

  tell(change: Change): void {
    this.listeners.forEach((listener) => listener(change));
    if (["inside", "marks", "problem", "busy", "curtain"].includes(change)) return;
    this.isSaved = false;
    this.saveLink();
  }

  /** The address of the page has the state. */
  isSaved = false;

  private readonly saveLink = debounced(250, async () => {
    this.isSaved = true;
    const link = await write(this.linked);
    if (this.isSaved) history.replaceState(null, "", link);
  });

  show(view: View): void {
    this.linked.view = view;
    this.tell("view");
  }

  fail(error: unknown): void {
    this.problem =
      error instanceof Refusal
        ? error.problem
        : { message: error instanceof Error ? error.message : String(error), said: null, place: null, line: null, column: null };
    this.tell("problem");
  }

  private setBusy(busy: boolean): void {
    this.busy = busy;
    this.tell("busy");
  }

  /** Runs the program anew. A run that is `fresh` is looked at in a steady iteration, another one in the cycle as before. */
  async run(fresh = false): Promise<boolean> {
    const number = ++this.runs;
    this.problem = undefined;
    this.tell("problem");
    this.setBusy(true);
    try {
      const summary = await this.api.ask("run", { ask: "run", setup: this.linked.setup });
      if (number !== this.runs) return false;
      this.summary = summary;
      this.forget();
      const { linked } = this;
      linked.cycle = this.within(fresh ? summary.steady : linked.cycle);
      if (fresh) linked.selected = null;
      linked.context = Math.min(linked.context, summary.contexts.length - 1);
      if (linked.selected !== null && linked.selected >= summary.rows) linked.selected = null;
      this.setBusy(false);
      // The simulator answers while the run is drawn.
      const looked = this.look();
      this.tell("run");
      await looked;
      if (fresh && number === this.runs) this.selectWaiting();
      return true;
    } catch (error) {
      if (number === this.runs) {
        this.summary = undefined;
        this.forget();
        this.setBusy(false);
        this.fail(error);
        this.tell("run");
      }
      return false;
    }
  }

  /** Selects the oldest instruction that waits for a result, so that a dependence is seen at once. */
  private selectWaiting(): void {
    const { cycle } = this.linked;
    const waits = ({ row }: { row: Row }) =>
      !row.squashed && row.sources.some(({ ready }) => ready !== null && ready > cycle) && (row.issue ?? Infinity) > cycle;
    const slot = this.cycleView?.rob.find(waits) ?? this.cycleView?.rob[0];
    if (slot) this.select(slot.row.index);
  }

  private forget(): void {
    this.cycleView = undefined;
    this.stateView = undefined;
    this.inside = undefined;
    this.digestsBefore.clear();
    this.blocks.clear();
    this.spans.clear();
    this.marks = [];
  }

  private within(cycle: number): number {
    return Math.max(0, Math.min(Math.round(cycle), this.summary?.cycles ?? 0));
  }

  /** Ends the run that is under way. */
  async stop(): Promise<void> {
    this.runs++;
    await this.api.stop();
    this.summary = undefined;
    this.setBusy(false);
    this.fail(new Error(t("The run was stopped.")));
    this.tell("run");
  }

  /** Goes to a cycle. */
  async go(cycle: number): Promise<void> {
    if (!this.summary) return;
    this.linked.cycle = this.within(cycle);
    await this.look();
  }

  /** Looks at another hardware context. */
  async turnTo(context: number): Promise<void> {
    this.linked.context = context;
    this.spans.clear();
    this.digestsBefore.clear();
    await this.look();
  }

  /** Selects an instruction of the time line. */
  select(index: number | null): void {
    this.linked.selected = index;
    this.tell("selected");
    this.lookInsideSoon();
  }

  /** Shows another table of the machine. */
  showTable(name: string, set = 0): void {
    this.linked.table = name;
    this.linked.set = set;
    this.tell("selected");
    void this.lookInside();
  }

  private looks = 0;

  /** Asks what the machine holds in the cycle. */
  private async look(): Promise<void> {
    const number = ++this.looks;
    const { cycle, context } = this.linked;
    try {
      const view = await this.api.ask("cycle", { ask: "cycle", cycle, context });
      if (number !== this.looks) return;
      this.cycleView = view;
      const asked = this.api.ask("state", { ask: "state", cycle, context });
      this.tell("cycle");
      const state = await asked;
      if (number !== this.looks) return;
      this.stateView = state;
      this.tell("cycle");
      this.lookInsideSoon();
    } catch (error) {
      if (number === this.looks) this.fail(error);
    }
  }

  private insides = 0;

  /** Steps that follow each other quickly do not wait for what tables hold in between. */
  private readonly lookInsideSoon = debounced(50, () => void this.lookInside());

  /** Asks what tables and queues hold. The machine runs once more up to the cycle, so that this comes last. */
  private async lookInside(): Promise<void> {
    if (!this.summary) return;
    const number = ++this.insides;
    const { cycle, context, selected: row, table } = this.linked;
    const tables = [...new Set([...ALWAYS, table])];
    try {
      const inside = await this.api.ask("inside", { ask: "inside", cycle, context, tables, row });
      if (number !== this.insides) return;
      if (this.inside && this.inside.cycle !== cycle) {
        for (const { name, digests } of this.inside.tables) if (digests) this.digestsBefore.set(name, digests);
      }
      this.inside = inside;
      this.tell("inside");
    } catch (error) {
      if (number === this.insides) this.fail(error);
    }
  }

  /** Goes to the next cycle in which something happens, or the one before; whether there is one. */
  async find(what: Wanted, backwards = false): Promise<boolean> {
    if (!this.summary) return false;
    try {
      const { cycle } = await this.api.ask("found", {
        ask: "find",
        cycle: this.linked.cycle,
        backwards,
        what,
      });
      if (cycle === null) return false;
      await this.go(cycle);
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** A row of the time line, if it has arrived; otherwise it is asked for. */
  row(index: number): Row | undefined {
    return this.rowAt(index, false);
  }

  /** A line of the time line as it is shown, with wrong paths or without. */
  line(line: number): Row | undefined {
    return this.rowAt(line, this.linked.hideWrong);
  }

  /** The line in which a row is shown. */
  lineOf(row: Row): number {
    return this.linked.hideWrong ? row.committed_before : row.index;
  }

  /** Lines of the time line as it is shown. */
  get lines(): number {
    const { summary } = this;
    if (!summary) return 0;
    return this.linked.hideWrong ? summary.committed_rows : summary.rows;
  }

  private rowAt(place: number, only_committed: boolean): Row | undefined {
    const at = Math.floor(place / BLOCK);
    const key = only_committed ? -1 - at : at;
    const block = this.blocks.get(key);
    if (block === undefined && this.summary && place >= 0) {
      this.blocks.set(key, "asked");
      const number = this.runs;
      this.api
        .ask("rows", { ask: "rows", first: at * BLOCK, count: BLOCK, only_committed })
        .then(({ rows }) => {
          if (number !== this.runs) return;
          if (this.blocks.size > 400) this.blocks.clear();
          this.blocks.set(key, rows);
          this.tell("marks");
        })
        .catch(() => this.blocks.delete(key));
    }
    return Array.isArray(block) ? block[place - at * BLOCK] : undefined;
  }

  /** Selects the instruction that is looked for, and goes to the cycle in which it waits or commits. */
  async seek(what: Sought, backwards = false): Promise<Row | undefined> {
    if (!this.summary) return undefined;
    const { linked } = this;
    const from = linked.selected ?? this.cycleView?.first_row ?? 0;
    try {
      const { row } = await this.api.ask("sought", { ask: "seek", from, backwards, only_committed: linked.hideWrong, what });
      if (!row) return undefined;
      linked.selected = row.index;
      await this.go(what.is === "longest_wait" ? Math.max(row.fetch, row.end - 1) : (row.dispatch ?? row.fetch));
      this.tell("selected");
      return row;
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  /** What the context does in a block of cycles, if it has arrived; otherwise it is asked for. */
  private spansAt(block: number): StateSpan[] {
    const known = this.spans.get(block);
    if (known === undefined && this.summary) {
      this.spans.set(block, "asked");
      const number = this.runs;
      const { context } = this.linked;
      this.api
        .ask("states", { ask: "states", first: block * STATES, count: STATES, context })
        .then(({ states }) => {
          if (number !== this.runs || context !== this.linked.context) return;
          if (this.spans.size > 400) this.spans.clear();
          this.spans.set(block, states);
          this.tell("marks");
        })
        .catch(() => this.spans.delete(block));
    }
    return Array.isArray(known) ? known : [];
  }

  /** What the context does in cycles of a range in which nothing commits. */
  states(first: number, end: number): StateSpan[] {
    const found: StateSpan[] = [];
    for (let block = Math.floor(first / STATES); block * STATES < end; block++) found.push(...this.spansAt(block));
    return found;
  }

  toggleBreakpoint(pc: string): void {
    const all = this.linked.breakpoints;
    const at = all.indexOf(pc);
    if (at < 0) all.push(pc);
    else all.splice(at, 1);
    this.tell("cycle");
  }
}
