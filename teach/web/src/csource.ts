// The C text of a program beside its assembly, in step with the machine.

import { fill, h } from "./dom";
import { t } from "./language";

/** Lines of C by lines of assembly: what stands behind the last `#` of each. */
export function linesOfC(assembly: string): Map<number, number> {
  const all = assembly.split("\n").map((line, at): [number, number] => [at + 1, Number(/# (\d+)$/.exec(line)?.[1] ?? 0)]);
  return new Map(all.filter(([, line]) => line > 0));
}

/** A listing of C. A line that is chosen tells which lines of assembly it has become. */
export class CSource {
  readonly element = h("ol", { class: "c-source", tabIndex: 0, "aria-label": t("The program in C") });
  private text = "";
  private of = new Map<number, number>();
  private here: number | undefined;
  private chosen: number | undefined;

  constructor(private readonly choose: (lines: number[]) => void) {}

  /** Shows a program, or nothing. */
  show(text: string | undefined, assembly: string): void {
    this.element.hidden = text === undefined;
    if (text === undefined || text === this.text) return;
    this.text = text;
    this.of = linesOfC(assembly);
    this.chosen = undefined;
    this.render();
  }

  /** The line of assembly that executes next, or none. */
  point(line: number | undefined): void {
    const here = line === undefined ? undefined : this.of.get(line);
    // The code of a line that says none belongs to no line of C: the call of `main`, and what prints.
    if (here === this.here) return;
    this.here = here;
    this.render();
    const next = this.element.querySelector<HTMLElement>(".here");
    if (next) this.element.scrollTop = Math.max(0, next.offsetTop - this.element.clientHeight / 2);
  }

  private render(): void {
    const known = new Set(this.of.values());
    fill(
      this.element,
      this.text
        .trimEnd()
        .split("\n")
        .map((text, at) => {
          const line = at + 1;
          const classes = [line === this.here ? "here" : "", line === this.chosen ? "chosen" : ""].filter(Boolean).join(" ");
          const code = h("code", {}, text || " ");
          if (!known.has(line)) return h("li", { class: classes }, code);
          return h(
            "li",
            { class: classes },
            h(
              "button",
              {
                type: "button",
                title: t("Mark its instructions"),
                "aria-pressed": String(line === this.chosen),
                onclick: () => {
                  this.chosen = this.chosen === line ? undefined : line;
                  this.choose(this.chosen === undefined ? [] : [...this.of].filter(([, of]) => of === line).map(([own]) => own));
                  this.render();
                },
              },
              code,
            ),
          );
        }),
    );
  }
}
