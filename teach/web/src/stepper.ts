// Steps through a run: by cycle, commit, instruction, breakpoint and event, both ways.

import type { App } from "./app";
import { choice, grouped, h } from "./dom";
import type { Wanted } from "./types";

export class Stepper {
  readonly element: HTMLElement;
  private readonly where = h("output", { "aria-live": "polite", class: "where" });
  private readonly cycle = h("input", {
    type: "number",
    min: "0",
    "aria-label": "Cycle",
    onchange: () => void this.app.go(Number(this.cycle.value)),
  });
  private event = "mispredicted";

  constructor(private readonly app: App) {
    const button = (text: string, about: string, call: () => unknown) =>
      h("button", { type: "button", title: about, "aria-label": about, onclick: call }, text);
    const events = app.catalog.events.map((name): [string, string] => [name, name.replaceAll("_", " ")]);
    this.element = h(
      "div",
      { class: "stepper", role: "toolbar", "aria-label": "Steps" },
      button("|◂", "To the first cycle", () => app.go(0)),
      button("◂ commit", "Back to the commit before (Shift+Left)", () => app.find({ is: "commit" }, true)),
      button("◂ cycle", "One cycle back (Left)", () => this.step(-1)),
      this.cycle,
      button("cycle ▸", "One cycle on (Right)", () => this.step(1)),
      button("instruction ▸", "To the next commit of the program (n)", () => app.find({ is: "instruction" })),
      button("commit ▸", "To the next commit (Shift+Right)", () => app.find({ is: "commit" })),
      button("breakpoint ▸", "To the next breakpoint (g)", () => this.toBreakpoint()),
      h(
        "span",
        { class: "joined" },
        choice(events, this.event, (name) => (this.event = name)),
        button("◂", "Back to the event before", () => app.find({ is: "event", name: this.event }, true)),
        button("▸", "To the next event (e)", () => app.find({ is: "event", name: this.event })),
      ),
      this.where,
    );
    this.element.querySelector("select")?.setAttribute("aria-label", "Event");
    app.listen((change) => {
      if (change === "cycle" || change === "run") this.tell();
    });
  }

  step(by: number): void {
    void this.app.go(this.app.linked.cycle + by);
  }

  toBreakpoint(backwards = false): void {
    const any_of = this.app.linked.breakpoints;
    if (any_of.length === 0) {
      this.where.textContent = "Set a breakpoint first: select an instruction and press b.";
      return;
    }
    void this.app.find({ is: "address", any_of }, backwards).then((found) => {
      if (!found) this.where.textContent = "No breakpoint is reached any more.";
    });
  }

  private tell(): void {
    const { summary, cycleView, linked } = this.app;
    this.cycle.value = String(linked.cycle);
    this.where.textContent =
      summary && cycleView
        ? `of ${grouped(summary.cycles)}; ${cycleView.state}; ${grouped(cycleView.instructions_so_far)} instructions committed`
        : "";
  }

  /** Keys that work everywhere but in texts. */
  key(event: KeyboardEvent, move: (by: number) => void, toggle: () => void): void {
    const target = event.target as HTMLElement;
    if (target.closest("input, select, textarea, .cm-editor") || event.ctrlKey || event.metaKey || event.altKey) return;
    const find = (what: Wanted, backwards = false) => void this.app.find(what, backwards);
    const keys: Record<string, () => void> = {
      ArrowRight: () => (event.shiftKey ? find({ is: "commit" }) : this.step(1)),
      ArrowLeft: () => (event.shiftKey ? find({ is: "commit" }, true) : this.step(-1)),
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      PageDown: () => move(20),
      PageUp: () => move(-20),
      n: () => find({ is: "instruction" }),
      p: () => find({ is: "instruction" }, true),
      e: () => find({ is: "event", name: this.event }),
      i: () => find({ is: "inserted" }),
      b: toggle,
      g: () => this.toBreakpoint(),
    };
    const call = keys[event.key];
    if (!call) return;
    event.preventDefault();
    call();
  }
}
