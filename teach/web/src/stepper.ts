// Steps through a run: by cycle, commit, instruction, breakpoint and event, both ways.

import type { App } from "./app";
import { choice, fill, grouped, h } from "./dom";
import { nameOf, t, word } from "./language";
import type { Wanted } from "./types";

const KEYS: [string, string][] = [
  [t("Space"), t("play cycle by cycle, pause")],
  ["→ ←", t("one cycle on, one back")],
  ["n p", t("to the next commit of the program, to the one before")],
  [t("Shift+→ Shift+←"), t("to the next commit, to the one before")],
  ["e", t("to the next event")],
  ["i", t("to the next inserted instruction")],
  [t("↓ ↑ Page down Page up"), t("select the next instruction of the time line, the one before")],
  ["b", t("set or remove a breakpoint at the selected instruction")],
  [t("g Shift+g"), t("to the next breakpoint, to the one before")],
  ["c", t("to the next hardware context")],
  ["+ −", t("wider and narrower cycles on the time line")],
  ["?", t("these keys")],
];

export class Stepper {
  readonly element: HTMLElement;
  private readonly where = h("output", { "aria-live": "polite", class: "where" });
  private readonly cycle = h("input", {
    type: "number",
    min: "0",
    "aria-label": t("Cycle"),
    onchange: () => void this.app.go(Number(this.cycle.value)),
  });
  private readonly contexts = h("span", { class: "joined" });
  private readonly playButton = h("button", { type: "button", class: "primary play", onclick: () => this.play(!this.playing) });
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Cycles a second while it plays. */
  private rate = 3;

  constructor(private readonly app: App) {
    const button = (text: string, about: string, call: () => unknown) =>
      h("button", { type: "button", title: about, "aria-label": about, onclick: call }, text);
    const events = app.catalog.events.map((name): [string, string] => [name, word(name)]);
    const speeds: [string, string][] = [["1", t("1 a second")], ["3", t("3 a second")], ["10", t("10 a second")], ["60", t("60 a second")]];
    const speed = choice(speeds, String(this.rate), (rate) => {
      this.rate = Number(rate);
      if (this.playing) this.play(true);
    });
    speed.setAttribute("aria-label", t("Cycles while playing"));
    const event = choice(events, app.linked.event, (name) => {
      app.linked.event = name;
      app.tell("selected");
    });
    event.setAttribute("aria-label", t("Event"));
    this.element = h(
      "div",
      { class: "stepper", role: "toolbar", "aria-label": t("Steps") },
      button("◂", t("One cycle back (Left)"), () => this.step(-1)),
      this.playButton,
      button("▸", t("One cycle on (Right)"), () => this.step(1)),
      h("span", { class: "joined cycle" }, h("span", { class: "faint", "aria-hidden": "true" }, t("cycle")), this.cycle),
      h(
        "span",
        { class: "joined" },
        button(t("◂ instruction"), t("Back to the instruction of the program that committed before (p)"), () => app.find({ is: "instruction" }, true)),
        button(t("instruction ▸"), t("To the next instruction of the program that commits (n)"), () => app.find({ is: "instruction" })),
      ),
      h(
        "span",
        { class: "joined" },
        event,
        button("◂", t("Back to the event before"), () => app.find({ is: "event", name: this.app.linked.event }, true)),
        button("▸", t("To the next event (e)"), () => app.find({ is: "event", name: this.app.linked.event })),
      ),
      this.contexts,
      h(
        "details",
        { class: "more" },
        h("summary", {}, t("More steps")),
        h(
          "div",
          { class: "bar" },
          button("|◂", t("To the first cycle"), () => app.go(0)),
          button(t("steady iteration"), t("To a steady iteration of the hottest loop in the middle of the run"), () => app.go(app.summary?.steady ?? 0)),
          button(t("◂ commit"), t("Back to the commit before (Shift+Left)"), () => app.find({ is: "commit" }, true)),
          button(t("commit ▸"), t("To the next commit (Shift+Right)"), () => app.find({ is: "commit" })),
          button(t("◂ breakpoint"), t("Back to the breakpoint before (Shift+g)"), () => this.toBreakpoint(true)),
          button(t("breakpoint ▸"), t("To the next breakpoint (g)"), () => this.toBreakpoint()),
          speed,
          button(t("Keys"), t("Keys (?)"), () => this.help()),
        ),
      ),
      this.where,
    );
    app.listen((change) => {
      if (change === "cycle" || change === "run") this.tell();
      if (change === "run") this.renderContexts();
      if (change === "run" || change === "view") this.play(false);
    });
    this.play(false);
  }

  /** The hardware contexts, if there are several. */
  private renderContexts(): void {
    const all = this.app.summary?.contexts ?? [];
    const options = all.map((name, at): [string, string] => [String(at), nameOf(name)]);
    const select = choice(options, String(this.app.linked.context), (at) => void this.app.turnTo(Number(at)));
    select.setAttribute("aria-label", t("Hardware context of the blocks"));
    fill(this.contexts, all.length > 1 ? select : null);
  }

  /** Says which keys there are. */
  help(): void {
    const dialog = h(
      "dialog",
      { class: "help", "aria-label": t("Keys") },
      h("h2", {}, t("Keys")),
      h(
        "table",
        {},
        KEYS.map(([keys, does]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, keys)), h("td", {}, does))),
      ),
      h("form", { method: "dialog" }, h("button", { class: "primary" }, t("Close"))),
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  private nextContext(): void {
    const all = this.app.summary?.contexts.length ?? 1;
    if (all === 1) return;
    void this.app.turnTo((this.app.linked.context + 1) % all).then(() => this.renderContexts());
  }

  get playing(): boolean {
    return this.timer !== undefined;
  }

  /** Goes on cycle by cycle, or stops. */
  play(on: boolean): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const next = async (): Promise<void> => {
      const { app } = this;
      if (!app.summary || app.linked.cycle >= app.summary.cycles || document.hidden) return this.play(false);
      await app.go(app.linked.cycle + 1);
      if (this.playing) this.timer = setTimeout(() => void next(), 1000 / this.rate);
    };
    if (on) this.timer = setTimeout(() => void next(), 0);
    this.playButton.textContent = on ? t("❚❚ Pause") : t("▶ Play");
    this.playButton.setAttribute("aria-label", on ? t("Pause (Space)") : t("Play cycle by cycle (Space)"));
  }

  step(by: number): void {
    void this.app.go(this.app.linked.cycle + by);
  }

  toBreakpoint(backwards = false): void {
    const any_of = this.app.linked.breakpoints;
    if (any_of.length === 0) {
      this.where.textContent = t("Set a breakpoint first: select an instruction and press b.");
      return;
    }
    void this.app.find({ is: "address", any_of: [...any_of] }, backwards).then((found) => {
      if (!found) this.where.textContent = backwards ? t("No breakpoint is reached before.") : t("No breakpoint is reached any more.");
    });
  }

  private tell(): void {
    const { summary, cycleView, linked } = this.app;
    this.cycle.value = String(linked.cycle);
    this.where.textContent =
      summary && cycleView
        ? [
            t("of {cycles}", { cycles: grouped(summary.cycles) }),
            word(cycleView.state),
            t(summary.contexts.length > 1 ? "{n} instructions committed by all contexts" : "{n} instructions committed", { n: grouped(cycleView.instructions_so_far) }),
          ].join("; ")
        : "";
  }

  /** Keys that work everywhere but in texts. */
  key(event: KeyboardEvent, move: (by: number) => void, toggle: () => void, zoom: (by: number) => void): void {
    const target = event.target as HTMLElement;
    if (event.defaultPrevented || target.closest("input, select, textarea, dialog, .cm-editor") || (event.key === " " && target.closest("button, summary, [role=slider]")) || event.ctrlKey || event.metaKey || event.altKey) return;
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
      e: () => find({ is: "event", name: this.app.linked.event }),
      i: () => find({ is: "inserted" }),
      b: toggle,
      "+": () => zoom(1),
      "-": () => zoom(-1),
      g: () => this.toBreakpoint(),
      G: () => this.toBreakpoint(true),
      c: () => this.nextContext(),
      "?": () => this.help(),
      " ": () => this.play(!this.playing),
    };
    const call = keys[event.key];
    if (!call) return;
    event.preventDefault();
    call();
  }
}
