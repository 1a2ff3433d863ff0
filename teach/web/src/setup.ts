// The panel that says what is run on what.

import type { App } from "./app";
import { choice, debounced, fill, grouped, h, labelled } from "./dom";
import { CSource, linesOfC } from "./csource";
import { Editor } from "./editor";
import { t } from "./language";
import { machineDiagram } from "./machine";
import type { MachineInfo, ProgramChoice } from "./types";

/** A key of a machine that has a slider: its path, name and steps. */
interface Key {
  path: string;
  name: string;
  steps(machine: MachineInfo): number[];
}

/** Sizes of a cache: those of one set times powers of two. */
const sizes = (set: number, from: number, to: number): number[] =>
  Array.from({ length: 24 }, (_, power) => set * 2 ** power).filter((size) => size >= from && size <= to);

const ROB = "window.rob_entries";

/** Queues whose entries are entries of the reorder buffer, too. */
const QUEUES: Record<string, (machine: MachineInfo) => number> = {
  "window.reservation_stations": (machine) => machine.stations,
  "window.load_queue_entries": (machine) => machine.load_queue,
  "window.store_queue_entries": (machine) => machine.store_queue,
  "window.fp_queue_entries": (machine) => machine.fp_queue,
};

export const KEYS: Key[] = [
  { path: ROB, name: t("Reorder buffer"), steps: () => [8, 16, 32, 64, 96, 128, 192, 256, 512] },
  { path: "window.reservation_stations", name: t("Stations"), steps: () => [4, 8, 16, 32, 48, 64, 80, 128, 256] },
  { path: "window.load_queue_entries", name: t("Load queue"), steps: () => [2, 4, 8, 16, 32, 48, 64, 128] },
  { path: "window.store_queue_entries", name: t("Store queue"), steps: () => [2, 4, 8, 16, 32, 48, 64] },
  { path: "memory.l1d.size_bytes", name: t("Data cache, bytes"), steps: (machine) => sizes(machine.l1d_set_bytes, 1 << 10, 1 << 17) },
  { path: "memory.l1d.mshrs", name: t("Misses at once"), steps: () => [1, 2, 4, 8, 16] },
  { path: "memory.l2.size_bytes", name: t("Level 2, bytes"), steps: (machine) => sizes(machine.l2_set_bytes, 1 << 16, 1 << 22) },
  { path: "memory.latency_cycles", name: t("Memory, cycles"), steps: () => [20, 50, 100, 200, 400] },
];

/** Widths of all stages that have one, which a machine changes together. */
const WIDTHS = [
  "fetch.fetch_width_insts",
  "decode.decode_width",
  "window.dispatch_width",
  "issue.issue_width",
  "window.commit_width",
];

/** The buffer behind fetch holds what is fetched in a cycle. */
const FETCH_BUFFER = "fetch.fetch_buffer_insts";

/** Sets a key of a machine, or takes it back, and what has to go with it. */
export function setKey(keys: Record<string, string>, machine: MachineInfo, path: string, value: number | undefined): void {
  const put = (key: string, number: number | undefined) => {
    if (number === undefined) delete keys[key];
    else keys[key] = String(number);
  };
  const rob = () => Number(keys[ROB] ?? machine.rob);
  if (path === WIDTHS[0]) {
    for (const width of WIDTHS) put(width, value);
    put(FETCH_BUFFER, value !== undefined && value > machine.fetch_buffer ? value : undefined);
  } else if (path in QUEUES) {
    put(path, value === undefined && QUEUES[path]!(machine) <= rob() ? undefined : Math.min(value ?? QUEUES[path]!(machine), rob()));
  } else {
    const before = rob();
    put(path, value);
    if (path !== ROB) return;
    for (const [queue, preset] of Object.entries(QUEUES)) {
      const now = Number(keys[queue] ?? preset(machine));
      // A queue that the smaller buffer has cut grows with the larger one.
      const wanted = now === before && before < preset(machine) ? preset(machine) : now;
      const entries = Math.min(wanted, rob());
      put(queue, entries === preset(machine) ? undefined : entries);
    }
  }
}

const PREDICTORS: [string, string][] = [
  ["", t("as in the preset")],
  ["Perfect", t("perfect")],
  ["AlwaysNotTaken", t("never taken")],
  ["AlwaysTaken", t("always taken")],
  ["Bimodal(entries: 2048)", t("bimodal")],
  ["Gshare(entries: 4096, history_bits: 12)", "gshare"],
  ["Tage()", "TAGE"],
];

const DEPENDENCES: [string, string][] = [
  ["", t("as in the preset")],
  ["Conservative", t("wait for all stores")],
  ["Aggressive", t("never wait")],
];

/** Programs to begin with. */
export const EXAMPLES = (JSON.parse(document.getElementById("examples")!.textContent!) as { name: string; text: string; c?: string }[]).map(
  ({ name, text, c }) => ({
    c,
    name: name.replace(/^\d+-|(\.alpha)?\.s$/g, "").replaceAll("-", " "),
    isa: name.endsWith(".alpha.s") ? "alpha" : "riscv64",
    text,
  }),
);

/** A program in C to begin with. */
const OWN_C = `// Ctrl and Enter compile this. print writes a number, write is the system call.
void print(long number);

int main(void) {
  long sum = 0;
  for (long i = 1; i <= 100; i++)
    sum += i * i;
  print(sum);
  return 0;
}
`;

/** Machines to grow with, which come first. */
const LADDER = ["single-cycle", "five-stage-stalls", "five-stage", "five-stage-dual", "tiny-2wide"];

/** The words of a line; quotes hold blanks. */
export const words = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? "");

/** A word as it stands in such a line. */
const quoted = (word: string): string => (word === "" || /[\s"']/.test(word) ? (word.includes('"') ? `'${word}'` : `"${word}"`) : word);

export class SetupPanel {
  readonly element = h("section", { class: "setup", "aria-label": t("Program and machine") });
  readonly editor: Editor;
  private readonly source = h("div", { class: "source" });
  /** The text in C: a listing, or where there is a compiler an editor. */
  private readonly c = new CSource((lines) => this.editor.choose(lines));
  private readonly cEditor: Editor;
  private readonly cState = h("span", { class: "faint", role: "status" });
  private readonly cBox: HTMLElement;
  /** Lines of C by lines of assembly, of the program in the editor of C. */
  private ofC = new Map<number, number>();
  private readonly machine = h("div", { class: "keys" });
  readonly diagram = h("div", { class: "machine-picture", tabIndex: 0, role: "region", "aria-label": t("Block diagram of the machine") });
  private readonly run = debounced(160, () => void this.app.run());
  private file: ProgramChoice | undefined;

  constructor(private readonly app: App) {
    const program = app.linked.setup.program;
    this.editor = new Editor(program.kind === "assembly" ? program.text : EXAMPLES[0]!.text, t("Assembly program"), (text) => {
      const now = this.app.linked.setup.program;
      if (now.kind === "assembly" && now.text !== text) {
        // The program in C is another one now.
        this.app.linked.c ??= now.c ?? null;
        now.c = null;
        now.text = text;
        this.app.tell("setup");
      }
    });
    this.editor.breaks((line) => this.toggleLine(line));
    this.cEditor = new Editor("", t("Program in C"), (text) => this.draftC(text), () => void this.compile());
    this.cEditor.breaks((line) => this.linesOf(line).slice(0, 1).forEach((own) => this.toggleLine(own)));
    this.cEditor.enters((line) => this.editor.choose(this.linesOf(line)));
    const compile = h("button", { type: "button", class: "primary", title: t("Ctrl+Enter"), onclick: () => void this.compile() }, t("Compile"));
    this.cBox = h("div", { class: "c-editor" }, h("div", { class: "bar" }, compile, this.cState), this.cEditor.element);
    app.listen((change) => {
      if (change === "run") fill(this.diagram, app.summary ? machineDiagram(app.summary, app.linked.setup.keys) : null);
      if (change === "problem") {
        this.editor.mark(app.problem?.place === "assembly" ? app.problem : undefined);
        this.cEditor.mark(app.problem?.place === "c" ? app.problem : undefined);
      }
      if (change === "cycle" || change === "run") {
        const pc = app.stateView?.pc;
        const line = pc ? app.summary?.lines[pc] : undefined;
        this.editor.point(line);
        this.c.point(line);
        this.cEditor.point(line === undefined ? undefined : this.ofC.get(line));
        const lines = app.linked.breakpoints.map((at) => app.summary?.lines[at]).filter((line) => line !== undefined);
        this.editor.showBreaks(lines);
        this.cEditor.showBreaks(lines.map((line) => this.ofC.get(line)).filter((line) => line !== undefined));
      }
    });
    this.render();
    this.takeDrops();
  }

  /** A breakpoint at the first instruction of a line comes or goes. */
  private toggleLine(line: number): void {
    const all = Object.entries(this.app.summary?.lines ?? {});
    const first = all.find(([, of]) => of === line);
    if (first) this.app.toggleBreakpoint(first[0]);
  }

  /** The lines of assembly that a line of C has become. */
  private linesOf(line: number): number[] {
    return [...this.ofC].filter(([, of]) => of === line).map(([own]) => own);
  }

  /** The text in C was changed, and waits for the compiler. */
  private draftC(text: string): void {
    const { linked } = this.app;
    const now = linked.setup.program;
    const compiled = now.kind === "assembly" ? now.c : null;
    linked.c = text === compiled ? null : text;
    this.ofC = new Map(linked.c === null && now.kind === "assembly" ? linesOfC(now.text) : []);
    this.tellC();
    this.app.tell("setup");
  }

  private tellC(): void {
    this.cState.textContent = this.app.linked.c === null ? t("compiled") : t("changed: Compile, or Ctrl+Enter");
  }

  /** Compiles what stands in the editor of C, and runs it. */
  private async compile(c = this.cEditor.text): Promise<void> {
    const { linked } = this.app;
    try {
      const { text } = await this.app.api.ask("compiled", { ask: "compile", c });
      linked.setup.program = { kind: "assembly", isa: "riscv64", text, c };
      linked.setup.edits = [];
      linked.c = null;
      this.changed();
    } catch (error) {
      this.app.fail(error);
    }
    this.render();
  }

  /** The setup was changed from outside. */
  render(): void {
    const { setup } = this.app.linked;
    const program = setup.program;
    const { served, limits } = this.app.catalog;
    const { compiles } = this.app.catalog;
    const isOwnC = program.kind === "assembly" && typeof program.c === "string";
    const programs: [string, string][] = [
      ["assembly", t("assembly, written here")],
      ...(compiles || isOwnC ? [["c", compiles ? t("C, written here") : t("C, compiled before")] as [string, string]] : []),
      ...EXAMPLES.map(({ name, c }, at): [string, string] => [`example ${at}`, `${c === undefined ? t("example") : "C"}: ${t(name)}`]),
      ...(served ? [["served", served[0]] as [string, string]] : []),
      ...this.app.catalog.programs.map(({ name, about }): [string, string] => [name, `${name}: ${t(about)}`]),
      ...(this.file ? [["file", this.file.kind === "file" ? this.file.name : ""] as [string, string]] : []),
    ];
    const isa = program.kind === "file" ? "riscv64" : program.isa;
    const example = EXAMPLES.findIndex((one) => program.kind === "assembly" && isa === one.isa && one.text === program.text);
    const which = program.kind === "built_in" ? program.name : example >= 0 ? `example ${example}` : isOwnC ? "c" : program.kind;
    const file = h("input", {
      type: "file",
      class: "hidden-file",
      "aria-label": t("Open an ELF file"),
      onchange: () => file.files?.[0] && void this.open(file.files[0]),
    });
    const limit = h("input", {
      type: "number",
      min: "100",
      max: String(limits.instructions),
      step: "100",
      value: String(setup.limit),
      onchange: () => {
        setup.limit = Math.max(1, Math.min(limits.instructions, Number(limit.value) || 20_000));
        limit.value = String(setup.limit);
        this.changed();
      },
    });
    const given = h("input", {
      value: setup.arguments.map(quoted).join(" "),
      spellcheck: false,
      onchange: () => {
        setup.arguments = words(given.value);
        this.changed();
      },
    });
    const input = h("textarea", {
      value: setup.input,
      rows: 2,
      spellcheck: false,
      onchange: () => {
        setup.input = input.value;
        this.changed();
      },
    });
    const choose = (name: string, set: string): void => {
      if (name === "c") return void this.compile(this.app.linked.c ?? (program.kind === "assembly" ? program.c : null) ?? OWN_C);
      setup.edits = [];
      if (name !== "assembly") this.app.linked.c = null;
      else if (program.kind === "assembly") this.app.linked.c ??= program.c;
      if (name === "assembly") {
        const kept = this.editor.text;
        setup.program = { kind: "assembly", isa: set, text: kept, c: null };
      } else if (name.startsWith("example ")) {
        const { isa, text, c } = EXAMPLES[Number(name.slice(8))]!;
        setup.program = { kind: "assembly", isa, text, c: c ?? null };
      } else if (name === "file" && this.file) {
        setup.program = this.file;
      } else if (name === "served" && served) {
        setup.program = { kind: "served", name: served[0], isa: served[1] };
      } else {
        setup.program = { kind: "built_in", name, isa: set, size: "small" };
      }
      this.changed();
      this.render();
    };
    const isas: [string, string][] = [
      ["riscv64", "RISC-V"],
      ["alpha", "Alpha"],
    ];
    const stop = h("button", { type: "button", class: "stop", onclick: () => void this.app.stop() }, t("Stop"));
    const { keys } = setup;
    const changes = Object.keys(keys).length;
    const step = (name: string): number => (LADDER.indexOf(name) + LADDER.length + 1) % (LADDER.length + 1);
    const machines = [...this.app.catalog.machines].sort((a, b) => step(a.name) - step(b.name));
    const drawer = (name: "program" | "machine", text: string): HTMLElement =>
      h(
        "button",
        {
          type: "button",
          class: "drawer",
          "aria-expanded": String(this.app.linked.drawer === name),
          onclick: () => {
            this.app.linked.drawer = this.app.linked.drawer === name ? "" : name;
            this.app.tell("selected");
            this.render();
          },
        },
        text,
      );
    fill(
      this.element,
      h(
        "div",
        { class: "bar" },
        labelled(t("Program"), choice(programs, which, (name) => choose(name, isa))),
        drawer("program", t("Edit the program")),
        labelled(
          t("Machine"),
          choice(
            machines.map(({ name, about }): [string, string] => [name, `${name}: ${t(about)}`]),
            setup.machine,
            (name) => {
              setup.machine = name;
              setup.keys = {};
              this.changed();
              this.render();
            },
          ),
        ),
        drawer("machine", changes > 0 ? t("Change the machine ({n} changed)", { n: changes }) : t("Change the machine")),
        h("span", { class: "run-stop" }, h("button", { type: "button", class: "primary", onclick: () => void this.app.run(true) }, t("Run")), stop),
      ),
      h(
        "div",
        { class: "program-drawer", hidden: this.app.linked.drawer !== "program" },
        h(
          "div",
          { class: "bar" },
          labelled(t("Instruction set"), this.isaChoice(isas, isa, (set) => choose(which.startsWith("example ") ? "assembly" : which, set))),
          labelled(t("Instructions at most"), limit),
          h("label", { class: "button" }, t("Open ELF…"), file),
        ),
        program.kind === "built_in"
          ? null
          : h("div", { class: "bar" }, labelled(t("Arguments"), given, t("Words; quotes hold blanks")), labelled(t("Standard input"), input, t("The text that the program reads"))),
        this.source,
      ),
      h("div", { class: "machine-drawer", hidden: this.app.linked.drawer !== "machine" }, this.diagram, this.machine),
    );
    if (program.kind === "assembly") {
      const c = program.c ?? EXAMPLES[example]?.c;
      this.editor.text = program.text;
      this.c.show(compiles ? undefined : c, program.text);
      const beside = c === undefined ? null : compiles ? this.cBox : h("div", {}, this.c.element, h("p", { class: "faint" }, t("A page in a browser alone has no compiler: hps teach --serve 8000 serves one in which C is written.")));
      fill(this.source, h("div", { class: beside ? "beside-c" : "" }, beside, this.editor.element));
      if (c !== undefined && compiles) {
        const draft = this.app.linked.c;
        this.cEditor.text = draft ?? c;
        // Setting the text above has told of a draft that is none.
        this.app.linked.c = draft;
        this.ofC = draft === null ? linesOfC(program.text) : new Map();
        this.tellC();
      }
    } else {
      const isFile = program.kind === "file";
      fill(this.source, isFile ? h("p", { class: "faint" }, t("{name} is not part of links to this page.", { name: program.name })) : null);
    }
    this.renderKeys();
  }

  /** A file has the instruction set that it has. */
  private isaChoice(isas: [string, string][], isa: string, set: (isa: string) => void): HTMLSelectElement {
    const select = choice(isas, this.app.summary?.isa ?? isa, set);
    const { kind } = this.app.linked.setup.program;
    select.disabled = kind === "file" || kind === "served";
    if (!select.disabled) select.value = isa;
    return select;
  }

  private renderKeys(): void {
    const { setup } = this.app.linked;
    const machine = this.app.catalog.machines.find(({ name }) => name === setup.machine)!;
    const set = (path: string, value: string): void => {
      if (value === "") delete setup.keys[path];
      else setup.keys[path] = value;
      this.app.tell("setup");
      this.run();
    };
    const shown: (() => void)[] = [];
    const slider = (name: string, all: number[], path: string) => {
      const said = h("output", {});
      const input = h("input", { type: "range", min: "0" });
      const box = h("div", { class: "slider" }, labelled(name, input), said);
      const preset = machine.values[path]!;
      let steps: number[] = [];
      const show = () => {
        const now = setup.keys[path];
        // The preset's value is a step, and one that another slider or a lesson has brought about.
        steps = [...new Set([...all, preset, ...(now === undefined ? [] : [Number(now)])])].sort((a, b) => a - b);
        input.max = String(steps.length - 1);
        input.value = String(steps.indexOf(Number(now ?? preset)));
        const text = now === undefined ? grouped(preset) : t("{now}, was {preset}", { now: grouped(Number(now)), preset: grouped(preset) });
        said.textContent = text;
        box.classList.toggle("changed", now !== undefined);
        input.setAttribute("aria-valuetext", text);
      };
      input.addEventListener("input", () => {
        const value = steps[Number(input.value)];
        setKey(setup.keys, machine, path, value === preset ? undefined : value);
        shown.forEach((show) => show());
        this.app.tell("setup");
        this.run();
      });
      show();
      shown.push(show);
      return box;
    };
    const predictors = PREDICTORS.filter(([value]) => value !== "Perfect" || machine.contexts === 1);
    const widths = [1, 2, 3, 4, 6, 8].filter((width) => width <= machine.most_width);
    fill(
      this.machine,
      KEYS.map((key) => slider(key.name, key.steps(machine), key.path)),
      slider(t("Width of all stages"), widths, WIDTHS[0]!),
      labelled(
        t("Branch prediction"),
        choice(predictors, setup.keys["branch.predictor"] ?? "", (value) => set("branch.predictor", value)),
      ),
      labelled(
        t("Loads before older stores"),
        choice(DEPENDENCES, setup.keys["speculation.memory_dependence"] ?? "", (value) =>
          set("speculation.memory_dependence", value),
        ),
      ),
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            setup.keys = {};
            this.changed();
            this.render();
          },
        },
        t("As in the preset"),
      ),
    );
  }

  private changed(): void {
    this.app.tell("setup");
    void this.app.run(true);
  }

  /** Runs a file. */
  async open(file: File): Promise<void> {
    const most = this.app.catalog.limits.file_bytes;
    if (file.size > most) {
      const more = this.app.catalog.served === null ? `; ${t("`hps teach --serve 8000 FILE` takes files of any size")}` : "";
      this.app.fail(new Error(`${t("{name} has more than {n} MiB, the most that this page takes", { name: file.name, n: most >> 20 })}${more}`));
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
    const hex = Array.from(bytes, (byte) => digits[byte]).join("");
    this.file = { kind: "file", name: file.name, hex };
    this.app.linked.setup.program = this.file;
    this.changed();
    this.render();
  }

  private takeDrops(): void {
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.open(file);
    });
  }
}
