// The whole run in one strip, by what the context does: a click leads to the cycle, the wheel widens a part.

import type { App } from "./app";
import { colorsOf, debounced, grouped, h } from "./dom";
import { t, word } from "./language";
import { penOf } from "./svg";
import type { Share } from "./types";

const HEIGHT = 26;

export class Overview {
  readonly element = h("canvas", {
    class: "overview",
    tabIndex: 0,
    role: "slider",
    "aria-label": t("Overview of the run by cycle"),
    "aria-valuemin": "0",
  });
  private parts: Share[] = [];
  private first = 0;
  private end = 0;
  private asked = "";

  constructor(
    private readonly app: App,
    /** The cycles that the time line shows. */
    private readonly seen: () => [number, number],
  ) {
    const { element } = this;
    const cycleAt = (event: MouseEvent): number => {
      const box = element.getBoundingClientRect();
      return this.first + ((event.clientX - box.left) / Math.max(1, box.width)) * (this.end - this.first);
    };
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      void app.go(cycleAt(event));
    });
    element.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) void app.go(cycleAt(event));
      const part = this.parts[Math.floor(((cycleAt(event) - this.first) / (this.end - this.first)) * this.parts.length)];
      if (part) element.title = `${t("cycle {cycle}", { cycle: grouped(Math.round(cycleAt(event))) })}: ${Object.entries(part).filter(([, n]) => n > 0).map(([name, n]) => `${grouped(n)} ${word(name)}`).join(", ")}`;
    });
    element.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -0.01, ArrowRight: 0.01, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      void app.go(app.linked.cycle + Math.sign(by) * Math.max(1, Math.abs(by) * (this.end - this.first)));
    });
    element.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const at = cycleAt(event);
        const by = event.deltaY > 0 ? 1.5 : 1 / 1.5;
        const all = this.app.summary?.cycles ?? 0;
        const cycles = Math.min(all, Math.max(50, (this.end - this.first) * by));
        const share = (at - this.first) / Math.max(1, this.end - this.first);
        this.first = Math.round(Math.max(0, Math.min(all - cycles, at - share * cycles)));
        this.end = Math.round(this.first + cycles);
        this.askSoon();
        this.draw();
      },
      { passive: false },
    );
    app.listen((change) => {
      if (change === "run") {
        this.first = 0;
        this.end = app.summary?.cycles ?? 0;
        this.parts = [];
        this.asked = "";
        this.askSoon();
      }
    });
  }

  private readonly askSoon = debounced(40, () => void this.ask());

  private async ask(): Promise<void> {
    const { app, first, end } = this;
    const { context } = app.linked;
    const parts = Math.max(1, Math.min(this.element.clientWidth, end - first));
    const asked = `${first} ${end} ${parts} ${context}`;
    if (!app.summary || this.asked === asked || this.element.clientWidth === 0) return;
    this.asked = asked;
    try {
      const answer = await app.api.ask("overview", { ask: "overview", first, end, parts, context });
      if (this.asked !== asked) return;
      this.parts = answer.parts;
      app.tell("marks");
    } catch {
      this.asked = "";
    }
  }

  draw(): void {
    const canvas = this.element;
    const width = canvas.clientWidth;
    if (width === 0) return;
    const { cycle } = this.app.linked;
    if (this.end > this.first && (cycle < this.first || cycle > this.end)) {
      // The part that is shown goes along with the cycle.
      const cycles = this.end - this.first;
      const all = this.app.summary?.cycles ?? 0;
      this.first = Math.round(Math.max(0, Math.min(all - cycles, cycle - cycles / 2)));
      this.end = this.first + cycles;
    }
    this.askSoon();
    canvas.setAttribute("aria-valuemax", String(this.app.summary?.cycles ?? 0));
    canvas.setAttribute("aria-valuenow", String(cycle));
    canvas.setAttribute("aria-valuetext", t("cycle {cycle}", { cycle }));
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(HEIGHT * scale);
    const pen = penOf(canvas);
    const color = colorsOf(canvas);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = color("--panel");
    pen.fillRect(0, 0, width, HEIGHT);
    const wide = width / Math.max(1, this.parts.length);
    const colors = { computing: color("--state-computing"), stalled: color("--state-stalled"), flushed: color("--state-flushed"), drained: color("--state-drained") };
    this.parts.forEach((part, at) => {
      const all = part.computing + part.stalled + part.flushed + part.drained;
      let y = HEIGHT;
      for (const [name, fill] of Object.entries(colors)) {
        const tall = (HEIGHT * part[name as keyof Share]) / Math.max(1, all);
        pen.fillStyle = fill;
        pen.fillRect(at * wide, y - tall, wide + 0.5, tall);
        y -= tall;
      }
    });
    if (this.end <= this.first) return;
    const x = (at: number) => ((at - this.first) / (this.end - this.first)) * width;
    const [from, to] = this.seen().map(x) as [number, number];
    pen.strokeStyle = color("--ink");
    pen.lineWidth = 1.5;
    pen.strokeRect(Math.max(0.75, from), 0.75, Math.max(3, Math.min(width - 1.5, to) - from), HEIGHT - 1.5);
    pen.fillStyle = color("--accent");
    pen.fillRect(x(cycle) - 1, 0, 3, HEIGHT);
  }
}
