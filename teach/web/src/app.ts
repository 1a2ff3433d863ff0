// What all views share: the setup, the run, the cycle that is looked at.

import { Api, Refusal } from "./api";
import { debounced } from "./dom";
import { write, type Linked, type View } from "./link";
import type { Catalog, Mark, Problem, Row, StateView, Summary, CycleView, Wanted } from "./types";

/** What has changed. */
export type Change = "setup" | "run" | "cycle" | "view" | "marks" | "problem" | "busy";

const BLOCK = 256;

export class App {
  readonly api = new Api();
  catalog!: Catalog;
  linked: Linked;
  summary: Summary | undefined;
  cycleView: CycleView | undefined;
  stateView: StateView | undefined;
  problem: Problem | undefined;
  busy = false;
  selected: number | undefined;
  /** Samples on the time line, and the profiler that took them. */
  marks: Mark[] = [];
  marksOf = "";
  private readonly blocks = new Map<number, Row[] | "asked">();
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
    if (change === "cycle" || change === "view" || change === "setup" || change === "run") this.saveLink();
  }

  private readonly saveLink = debounced(250, async () => {
    history.replaceState(null, "", await write(this.linked));
  });

  show(view: View): void {
    this.linked.view = view;
    this.tell("view");
  }

  fail(error: unknown): void {
    this.problem =
      error instanceof Refusal
        ? error.problem
        : { message: error instanceof Error ? error.message : String(error), place: null, line: null, column: null };
    this.tell("problem");
  }

  private setBusy(busy: boolean): void {
    this.busy = busy;
    this.tell("busy");
  }

  /** Runs the program anew. */
  async run(): Promise<boolean> {
    const number = ++this.runs;
    this.problem = undefined;
    this.tell("problem");
    this.setBusy(true);
    try {
      const summary = await this.api.ask("run", { ask: "run", setup: this.linked.setup });
      if (number !== this.runs) return false;
      this.summary = summary;
      this.blocks.clear();
      this.marks = [];
      this.selected = undefined;
      this.linked.cycle = Math.max(0, Math.min(this.linked.cycle, summary.cycles - 1));
      this.setBusy(false);
      this.tell("run");
      await this.look();
      return true;
    } catch (error) {
      if (number === this.runs) {
        this.summary = undefined;
        this.cycleView = undefined;
        this.stateView = undefined;
        this.blocks.clear();
        this.setBusy(false);
        this.fail(error);
        this.tell("run");
      }
      return false;
    }
  }

  /** Ends the run that is under way. */
  async stop(): Promise<void> {
    this.runs++;
    await this.api.stop();
    this.summary = undefined;
    this.setBusy(false);
    this.fail(new Error("The run was stopped."));
    this.tell("run");
  }

  /** Goes to a cycle. */
  async go(cycle: number): Promise<void> {
    if (!this.summary) return;
    this.linked.cycle = Math.max(0, Math.min(Math.round(cycle), this.summary.cycles - 1));
    await this.look();
  }

  private looks = 0;

  /** Asks what the machine holds in the cycle. */
  private async look(): Promise<void> {
    const number = ++this.looks;
    const cycle = this.linked.cycle;
    try {
      const view = await this.api.ask("cycle", { ask: "cycle", cycle });
      if (number !== this.looks) return;
      this.cycleView = view;
      this.tell("cycle");
      const state = await this.api.ask("state", { ask: "state", cycle });
      if (number !== this.looks) return;
      this.stateView = state;
      this.tell("cycle");
    } catch (error) {
      if (number === this.looks) this.fail(error);
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
    const at = Math.floor(index / BLOCK);
    const block = this.blocks.get(at);
    if (block === undefined && this.summary) {
      this.blocks.set(at, "asked");
      const number = this.runs;
      this.api
        .ask("rows", { ask: "rows", first: at * BLOCK, count: BLOCK })
        .then(({ rows }) => {
          if (number !== this.runs) return;
          if (this.blocks.size > 400) this.blocks.clear();
          this.blocks.set(at, rows);
          this.tell("marks");
        })
        .catch(() => this.blocks.delete(at));
    }
    return Array.isArray(block) ? block[index - at * BLOCK] : undefined;
  }

  toggleBreakpoint(pc: string): void {
    const all = this.linked.breakpoints;
    const at = all.indexOf(pc);
    if (at < 0) all.push(pc);
    else all.splice(at, 1);
    this.tell("cycle");
  }
}
