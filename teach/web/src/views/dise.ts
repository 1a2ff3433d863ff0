// DISE: productions as text and as tables, counters and registers in motion, and what matches next.

import { Refusal } from "../api";
import type { App } from "../app";
import { choice, debounced, fill, grouped, h, labelled } from "../dom";
import { Editor } from "../editor";
import { pieces, t, word } from "../language";
import type { ProductionTables, TextFile } from "../types";

const OWN = "mine.dise";

const EXAMPLE = `# Counts the loads of the program in a DISE register, one in ten of them twice.
register loads = dr2;
register tenth = dr3;
register period = dr4;
init period = MAX - 9;
counter 1 = period;

Every: T.OPCLASS == load && !overflow_1 => { addi loads, loads, 1 ; T.INSN }, inc_1
Tenth: T.OPCLASS == load && overflow_1 => {
        addi loads, loads, 1
        addi tenth, tenth, 1
        T.INSN
}, set_1(period)
`;

export class DiseView {
  readonly element = h("section", { class: "view dise", "aria-label": "DISE" });
  private readonly editor: Editor;
  private readonly tables = h("div", { class: "tables", tabIndex: 0, role: "region", "aria-label": t("Tables of DISE") });
  private readonly motion = h("div", { class: "motion", "aria-live": "polite" });
  private readonly said = h("p", { class: "said", role: "status" });
  private readonly params = h("div", { class: "bar" });
  private readonly check = debounced(300, () => void this.checkText());

  constructor(private readonly app: App) {
    const given = app.linked.setup.productions[0];
    const text = app.linked.productions ?? (given?.text || this.builtIn(given?.name) || EXAMPLE);
    this.editor = new Editor(text, t("Production file"), (text) => {
      app.linked.productions = text;
      app.tell("selected");
      this.check();
    });
    const files: [string, string][] = [
      ["", t("load a file of the project…")],
      ...app.catalog.productions.map(({ name }): [string, string] => [name, name]),
    ];
    const load = choice(files, "", (name) => {
      const text = this.builtIn(name);
      if (text) {
        this.editor.text = text;
        this.renderParams();
      }
      load.value = "";
    });
    this.element.append(
      h(
        "div",
        { class: "column" },
        h("h2", {}, t("Productions")),
        h(
          "div",
          { class: "bar" },
          labelled(t("From"), load),
          h("button", { type: "button", class: "primary", onclick: () => void this.run() }, t("Run with these")),
          h("button", { type: "button", onclick: () => void this.runWithout() }, t("Run without")),
        ),
        this.params,
        this.editor.element,
        this.said,
      ),
      h("div", { class: "column" }, h("h2", {}, t("At this cycle")), this.motion, h("h2", {}, t("Tables")), this.tables),
    );
    app.listen((change) => {
      if (change === "problem") {
        const { problem } = app;
        this.editor.mark(problem?.place?.endsWith(".dise") ? problem : undefined);
      }
      if (change === "cycle" || change === "run") this.renderMotion();
      if (change === "view" && app.linked.view === "dise") void this.checkText();
      if (change === "setup") this.renderParams();
    });
    this.renderParams();
    this.renderMotion();
  }

  private builtIn(name: string | undefined): string | undefined {
    return this.app.catalog.productions.find((file) => file.name === name)?.text;
  }

  /** The setup was changed from outside. */
  render(): void {
    const given = this.app.linked.setup.productions.find((file) => file.name === OWN);
    if (given) this.editor.text = given.text;
    this.renderParams();
  }

  /** The editor's text, with the built-in files that it needs. */
  private files(): TextFile[] {
    const text = this.editor.text;
    const known = this.app.catalog.productions.find((file) => file.text === text);
    if (known) return [{ name: known.name, text: "" }];
    return [{ name: OWN, text }];
  }

  private get isa(): string {
    const { program } = this.app.linked.setup;
    return this.app.summary?.isa ?? (program.kind === "file" ? "riscv64" : program.isa);
  }

  private declared(): [string, string][] {
    const found = this.editor.text.matchAll(/^\s*param\s+(\w+)\s*=\s*([^;]+);/gm);
    const own = [...found].map((match): [string, string] => [match[1]!, match[2]!.trim()]);
    const first = this.files()[0];
    return first?.text === "" && /hot_|framework/.test(first.name)
      ? [["sparsity", "99"], ["burst", "1"], ...own.filter(([name]) => !["sparsity", "burst"].includes(name))]
      : own;
  }

  private renderParams(): void {
    const { params } = this.app.linked.setup;
    fill(
      this.params,
      this.declared().map(([name, value]) => {
        const input = h("input", {
          type: "number",
          min: "0",
          value: String(params[name] ?? value),
          onchange: () => {
            if (input.value === "") delete params[name];
            else params[name] = Number(input.value);
            void this.checkText();
          },
        });
        return labelled(name, input);
      }),
    );
  }

  private given(): Record<string, number> {
    const declared = this.declared().map(([name]) => name);
    const all = Object.entries(this.app.linked.setup.params);
    return Object.fromEntries(all.filter(([name]) => declared.includes(name)));
  }

  /** Says what the text means, or what is wrong with it. */
  async checkText(): Promise<boolean> {
    this.renderParams();
    try {
      const asked = { ask: "productions" as const, isa: this.isa, files: this.files(), params: this.given() };
      const tables = await this.app.api.ask("productions", asked);
      this.editor.mark(tables.warnings[0]);
      this.said.textContent = tables.warnings.map((warning) => t("Warning: {message}", { message: warning.message })).join(" ");
      this.renderTables(tables);
      return true;
    } catch (error) {
      const problem = error instanceof Refusal ? error.problem : undefined;
      this.editor.mark(problem);
      const place = problem?.line ? `${t("Line {line}, column {column}", { line: problem.line, column: problem.column ?? 1 })}: ` : "";
      this.said.textContent = `${place}${error instanceof Error ? error.message : String(error)}`;
      fill(this.tables);
      return false;
    }
  }

  private async run(): Promise<void> {
    if (!(await this.checkText())) return;
    const { setup } = this.app.linked;
    setup.productions = this.files();
    setup.params = this.given();
    this.app.tell("setup");
    await this.app.run();
  }

  private async runWithout(): Promise<void> {
    this.app.linked.setup.productions = [];
    this.app.linked.setup.params = {};
    this.app.tell("setup");
    await this.app.run();
  }

  private renderTables(tables: ProductionTables): void {
    const head = (...names: string[]) => h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)));
    const room = (at: number) => t("{n} of {all} entries", { n: tables.taken[at]!, all: tables.capacity[at]! });
    const names = [...new Set(tables.patterns.map((row) => row.production))];
    const production = (name: string) => h("td", { class: `production-${names.indexOf(name) % 8} named` }, name);
    fill(
      this.tables,
      h(
        "table",
        {},
        h("caption", {}, `${t("Pattern table, the most specific first")}: ${room(0)}`),
        head(t("production"), t("pattern"), t("replacement"), t("control")),
        tables.patterns.map((row) =>
          h("tr", {}, production(row.production), h("td", {}, h("code", {}, row.pattern)), h("td", {}, row.replacement), h("td", {}, row.control)),
        ),
      ),
      h(
        "table",
        {},
        h("caption", {}, `${t("Replacement table")}: ${room(1)}`),
        head(t("production"), t("sequence")),
        tables.sequences.map((row) =>
          h("tr", {}, production(row.production), h("td", {}, h("pre", {}, row.lines.map((line, at) => `${at}  ${line}`).join("\n")))),
        ),
      ),
      h(
        "table",
        {},
        h("caption", {}, `${t("Conditionals table")}: ${room(2)}`),
        head(t("productions"), t("microinstructions")),
        tables.conditionals.map((row) => h("tr", {}, h("td", {}, row.productions.join(", ")), h("td", {}, row.control.join("; ")))),
      ),
    );
  }

  private renderMotion(): void {
    const { stateView: state, summary } = this.app;
    if (!summary || !state || summary.productions.length === 0) {
      fill(
        this.motion,
        h("p", {}, summary ? t("The run has no productions. Run with these to see them work.") : t("Nothing has run.")),
      );
      return;
    }
    const max = 2 ** 32 - 1;
    const counter = (value: number, at: number) =>
      h(
        "div",
        { class: value === max || value === 0 ? "flagged" : "" },
        h("span", {}, t("counter {n}", { n: at })),
        h("code", {}, value > max - 100_000 ? `MAX − ${grouped(max - value)}` : grouped(value)),
        value === max ? ` ${t("overflow")}` : value === 0 ? ` ${t("zero")}` : "",
      );
    const next = state.next[0];
    fill(
      this.motion,
      h("p", {}, t("{inserted} instructions inserted, {handlers} in handlers.", { inserted: grouped(summary.inserted), handlers: grouped(summary.handler) })),
      h(
        "div",
        { class: "bar" },
        h("button", { type: "button", onclick: () => void this.app.find({ is: "inserted" }, true) }, t("◂ inserted")),
        h("button", { type: "button", onclick: () => void this.app.find({ is: "inserted" }) }, t("inserted ▸ (i)")),
      ),
      h("div", { class: "registers" }, state.counters.map(counter)),
      h(
        "div",
        { class: "registers" },
        state.dise_registers
          .filter(({ name, value }) => name.includes(" ") || value !== "0x0")
          .map(({ name, value, changed }) =>
            h("div", { class: changed ? "changed" : "" }, h("span", {}, name), h("code", {}, value)),
          ),
      ),
      h("p", {}, pieces("Next: {instruction}", { instruction: h("code", {}, next ? `${next.pc} ${next.text}` : t("nothing")) })),
      state.matches.length === 0
        ? h("p", {}, t("No pattern matches it."))
        : h(
            "table",
            {},
            h("caption", {}, t("Patterns that match it, the most specific first")),
            state.matches.map(({ production, pattern, flags, result }) =>
              h(
                "tr",
                { class: result === "wins" ? "wins" : "" },
                h("th", { scope: "row" }, production),
                h("td", {}, h("code", {}, pattern)),
                h("td", {}, flags.map(({ name, value }) => t(value ? "{flag} is set" : "{flag} is clear", { flag: name })).join(", ")),
                h("td", {}, word(result)),
              ),
            ),
          ),
    );
  }
}
