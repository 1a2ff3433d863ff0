// The panel that says what is run on what.

import type { App } from "./app";
import { choice, debounced, fill, h, labelled } from "./dom";
import { Editor } from "./editor";
import type { ProgramChoice } from "./types";

/** A key of a machine that has a slider: its path, name, steps and unit. */
interface Key {
  path: string;
  name: string;
  steps: number[];
}

const KEYS: Key[] = [
  { path: "window.rob_entries", name: "Reorder buffer", steps: [8, 16, 32, 64, 96, 128, 192, 256, 512] },
  { path: "window.reservation_stations", name: "Stations", steps: [4, 8, 16, 32, 48, 64, 80, 128, 256] },
  { path: "window.load_queue_entries", name: "Load queue", steps: [2, 4, 8, 16, 32, 48, 64, 128] },
  { path: "window.store_queue_entries", name: "Store queue", steps: [2, 4, 8, 16, 32, 48, 64] },
  { path: "memory.l1d.size_bytes", name: "Data cache, bytes", steps: [1024, 2048, 4096, 8192, 16384, 32768, 65536] },
  { path: "memory.l1d.mshrs", name: "Misses at once", steps: [1, 2, 4, 8, 16] },
  { path: "memory.l2.size_bytes", name: "Level 2, bytes", steps: [65536, 131072, 262144, 524288, 1048576, 2097152] },
  { path: "memory.latency_cycles", name: "Memory, cycles", steps: [20, 50, 100, 200, 400] },
];

/** Widths of all stages that have one, which a machine changes together. */
const WIDTHS = [
  "fetch.fetch_width_insts",
  "decode.decode_width",
  "window.dispatch_width",
  "issue.issue_width",
  "window.commit_width",
];

const PREDICTORS: [string, string][] = [
  ["", "as in the preset"],
  ["Perfect", "perfect"],
  ["AlwaysNotTaken", "never taken"],
  ["AlwaysTaken", "always taken"],
  ["Bimodal(entries: 2048)", "bimodal"],
  ["Gshare(entries: 4096, history_bits: 12)", "gshare"],
  ["Tage()", "TAGE"],
];

const DEPENDENCES: [string, string][] = [
  ["", "as in the preset"],
  ["Conservative", "wait for all stores"],
  ["Aggressive", "never wait"],
];

export const EXAMPLE = `# Sums an array of 64 numbers, 100 times.
        .equ TIMES, 100
_start: li   s0, TIMES
again:  la   a1, numbers
        li   a2, 64
        li   a0, 0
loop:   ld   t0, 0(a1)
        add  a0, a0, t0
        addi a1, a1, 8
        addi a2, a2, -1
        bnez a2, loop
        addi s0, s0, -1
        bnez s0, again
        li   a7, 93
        ecall

        .data
numbers: .zero 512
`;

export class SetupPanel {
  readonly element = h("section", { class: "setup", "aria-label": "Program and machine" });
  readonly editor: Editor;
  private readonly source = h("div", { class: "source" });
  private readonly machine = h("div", { class: "keys" });
  private readonly run = debounced(160, () => void this.app.run());
  private file: ProgramChoice | undefined;

  constructor(private readonly app: App) {
    const program = app.linked.setup.program;
    this.editor = new Editor(program.kind === "assembly" ? program.text : EXAMPLE, "Assembly program", (text) => {
      const now = this.app.linked.setup.program;
      if (now.kind === "assembly" && now.text !== text) {
        now.text = text;
        this.app.tell("setup");
      }
    });
    app.listen((change) => {
      if (change === "problem") {
        this.editor.mark(app.problem?.place === "assembly" ? app.problem : undefined);
      }
      if (change === "cycle" || change === "run") {
        const pc = app.stateView?.pc;
        this.editor.point(pc ? app.summary?.lines[pc] : undefined);
      }
    });
    this.render();
    this.takeDrops();
  }

  /** The setup was changed from outside. */
  render(): void {
    const { setup } = this.app.linked;
    const program = setup.program;
    const programs: [string, string][] = [
      ["assembly", "assembly, written here"],
      ...this.app.catalog.programs.map(({ name, about }): [string, string] => [name, `${name}: ${about}`]),
      ...(this.file ? [["file", this.file.kind === "file" ? this.file.name : ""] as [string, string]] : []),
    ];
    const isa = program.kind === "file" ? "riscv64" : program.isa;
    const which = program.kind === "built_in" ? program.name : program.kind;
    const file = h("input", {
      type: "file",
      class: "hidden-file",
      "aria-label": "Open an ELF file",
      onchange: () => file.files?.[0] && void this.open(file.files[0]),
    });
    const limit = h("input", {
      type: "number",
      min: "100",
      max: "2000000",
      step: "100",
      value: String(setup.limit),
      onchange: () => {
        setup.limit = Math.max(1, Math.min(2_000_000, Number(limit.value) || 20_000));
        limit.value = String(setup.limit);
        this.changed();
      },
    });
    const choose = (name: string, set: string): void => {
      if (name === "assembly") {
        const kept = this.editor.text;
        setup.program = { kind: "assembly", isa: set, text: kept };
      } else if (name === "file" && this.file) {
        setup.program = this.file;
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
    const stop = h("button", { type: "button", class: "stop", onclick: () => void this.app.stop() }, "Stop");
    fill(
      this.element,
      h(
        "div",
        { class: "bar" },
        labelled("Program", choice(programs, which, (name) => choose(name, isa))),
        labelled("Instruction set", choice(isas, isa, (set) => choose(which, set))),
        labelled(
          "Machine",
          choice(
            this.app.catalog.machines.map(({ name, about }): [string, string] => [name, `${name}: ${about}`]),
            setup.machine,
            (name) => {
              setup.machine = name;
              setup.keys = {};
              this.changed();
              this.render();
            },
          ),
        ),
        labelled("Instructions at most", limit),
        h("button", { type: "button", class: "primary", onclick: () => void this.app.run() }, "Run"),
        h("label", { class: "button" }, "Open ELF…", file),
        stop,
      ),
      this.source,
      h(
        "details",
        { class: "machine", open: Object.keys(setup.keys).length > 0 },
        h("summary", {}, `Change the machine${Object.keys(setup.keys).length ? " (changed)" : ""}`),
        this.machine,
      ),
    );
    if (program.kind === "assembly") {
      this.editor.text = program.text;
      fill(this.source, this.editor.element);
    } else {
      fill(this.source);
    }
    this.renderKeys();
  }

  private renderKeys(): void {
    const { setup } = this.app.linked;
    const set = (path: string, value: string | undefined): void => {
      if (value === undefined || value === "") delete setup.keys[path];
      else setup.keys[path] = value;
      this.app.tell("setup");
      this.run();
    };
    const slider = (name: string, steps: number[], path: string, write: (value: number | undefined) => void) => {
      const now = setup.keys[path];
      const at = now === undefined ? -1 : steps.indexOf(Number(now));
      const said = h("output", {}, now ?? "preset");
      const input = h("input", {
        type: "range",
        min: "-1",
        max: String(steps.length - 1),
        value: String(at),
        "aria-valuetext": now ?? "as in the preset",
        oninput: () => {
          const value = steps[Number(input.value)];
          said.textContent = value === undefined ? "preset" : String(value);
          input.setAttribute("aria-valuetext", said.textContent);
          write(value);
        },
      });
      return h("div", { class: "slider" }, labelled(name, input), said);
    };
    const text = (value: number | undefined) => (value === undefined ? undefined : String(value));
    fill(
      this.machine,
      KEYS.map((key) => slider(key.name, key.steps, key.path, (value) => set(key.path, text(value)))),
      slider("Width of all stages", [1, 2, 3, 4, 6, 8], WIDTHS[0]!, (value) =>
        WIDTHS.forEach((path) => set(path, text(value))),
      ),
      labelled(
        "Branch prediction",
        choice(PREDICTORS, setup.keys["branch.predictor"] ?? "", (value) => set("branch.predictor", value)),
      ),
      labelled(
        "Loads before older stores",
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
        "As in the preset",
      ),
    );
  }

  private changed(): void {
    this.app.tell("setup");
    void this.app.run();
  }

  /** Runs a file. */
  async open(file: File): Promise<void> {
    if (file.size > 16 << 20) {
      this.app.fail(new Error(`${file.name} has more than 16 MiB, the most that this page takes`));
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
    this.file = { kind: "file", name: file.name, hex, arguments: [] };
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
