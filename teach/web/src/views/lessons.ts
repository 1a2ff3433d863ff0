// Lessons: read, run, answer, and take the answers along.

import type { App } from "../app";
import { download, fill, h } from "../dom";
import { evaluate, isNear, LessonError, parse, readings, type Lesson, type Question, type Step } from "../lesson";
import type { Analysis, Profiles } from "../types";

interface Loaded {
  name: string;
  text: string;
  lesson: Lesson;
}

/** Text with paragraphs, lists, `code` and *emphasis*. */
export function prose(text: string): HTMLElement[] {
  const inline = (line: string): (Node | string)[] =>
    line.split(/(`[^`]+`|\*[^*]+\*)/).map((part) => {
      if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
      if (part.startsWith("*") && part.length > 1) return h("em", {}, part.slice(1, -1));
      return part;
    });
  return text.split(/\n\s*\n/).map((paragraph) => {
    const lines = paragraph.split("\n");
    if (lines.every((line) => line.startsWith("- "))) {
      return h("ul", {}, lines.map((line) => h("li", {}, inline(line.slice(2)))));
    }
    return h("p", {}, inline(lines.join(" ")));
  });
}

export class LessonsView {
  readonly element = h("section", { class: "view lessons", "aria-label": "Lessons" });
  private readonly lessons: Loaded[] = [];
  private analysis: Analysis | undefined;
  private profiles: Profiles | undefined;
  private readonly said = h("p", { class: "said", role: "alert" });

  constructor(
    private readonly app: App,
    /** The setup was changed by a lesson. */
    private readonly changed: () => void,
  ) {
    const built = JSON.parse(document.getElementById("lessons")!.textContent!) as { name: string; text: string }[];
    for (const { name, text } of [...built, ...app.linked.lessons]) {
      try {
        this.lessons.push({ name, text, lesson: parse(text, name) });
      } catch {
        // A damaged link has a damaged lesson.
      }
    }
    app.listen((change) => {
      if (change === "run" || change === "setup") {
        this.analysis = undefined;
        this.profiles = undefined;
      }
      if (change === "view" && app.linked.view === "lessons") this.render();
    });
  }

  /** Adds a teacher's lesson. */
  async open(file: File): Promise<void> {
    try {
      const text = await file.text();
      this.lessons.push({ name: file.name, text, lesson: parse(text, file.name) });
      // A link to it carries it.
      this.app.linked.lessons.push({ name: file.name, text });
      this.said.textContent = "";
      this.go(this.lessons.length - 1, 0);
    } catch (error) {
      this.said.textContent = `${file.name}: ${error instanceof LessonError ? error.message : "cannot be read"}`;
    }
  }

  private get current(): Loaded | undefined {
    return this.lessons[this.app.linked.lesson];
  }

  /** Opens a step of a lesson and runs what it runs. */
  go(lesson: number, step: number): void {
    const { linked } = this.app;
    linked.lesson = lesson;
    linked.step = step;
    const one = this.current;
    if (one) void this.prepare(one.lesson, step);
    this.render();
    this.app.tell("setup");
    this.element.querySelector<HTMLElement>("h2")?.focus();
  }

  /** Brings about what the steps up to one say. */
  private async prepare(lesson: Lesson, step: number): Promise<void> {
    const { linked } = this.app;
    const { setup } = linked;
    setup.machine = lesson.machine;
    setup.limit = lesson.limit;
    setup.keys = {};
    setup.productions = [];
    setup.params = {};
    for (const one of lesson.steps.slice(0, step + 1)) this.take(lesson, one);
    // The editor has the lesson's productions; without any it keeps what was written there.
    linked.productions = setup.productions[0]?.text ?? linked.productions;
    linked.cycle = 0;
    linked.selected = null;
    this.changed();
    await this.app.run();
  }

  private take(lesson: Lesson, step: Step): void {
    const { setup, order } = this.app.linked;
    if (step.program) setup.program = { kind: "assembly", isa: lesson.isa, text: step.program };
    if (step.builtIn) setup.program = { kind: "built_in", name: step.builtIn, isa: lesson.isa, size: "small" };
    for (const [key, value] of Object.entries(step.keys)) {
      if (value) setup.keys[key] = value;
      else delete setup.keys[key];
    }
    if (step.productions !== undefined) {
      setup.productions = step.productions ? [{ name: "mine.dise", text: step.productions }] : [];
    }
    if (step.profilers === undefined) return;
    order.profilers = [];
    order.hps = null;
    for (const line of step.profilers.split("\n")) {
      const [word = "", ...rest] = line.trim().split(/\s+/);
      if (word === "level") order.level = rest[0] ?? "function";
      else if (word === "hps") {
        const [kind = "method", burst = "10", sparsity = "90"] = rest;
        order.hps = { kind, burst: Number(burst), sparsity: Number(sparsity), random_period: rest[3] === "random" };
      } else if (word) {
        const random_percent = Number(rest[1] ?? 0);
        order.profilers.push({ name: word, period: Number(rest[0] ?? 97), seed: 1, random_percent });
      }
    }
  }

  /** The value of a name in the expression of an answer. */
  private async measured(expression: string): Promise<(name: string) => number | undefined> {
    if (!this.app.summary && !(await this.app.run())) throw new Error("The program must run first.");
    const summary = this.app.summary!;
    if (/\banalysis\./.test(expression)) {
      this.analysis ??= await this.app.api.ask("analysis", { ask: "analyze" });
    }
    if (/\b(error|truth|hps|states)\./.test(expression)) {
      const order = { ...this.app.linked.order, top: 1000 };
      this.profiles ??= await this.app.api.ask("profiles", { ask: "profiles", order });
    }
    const { analysis, profiles } = this;
    const slots = summary.cpi_stack.reduce((sum, one) => sum + one.slots, 0);
    return (name) => {
      const [group, ...rest] = name.split(".");
      const key = rest.join(".");
      switch (group) {
        case "summary":
          return (summary as unknown as Record<string, number>)[key];
        case "core":
          return summary.core[key];
        case "memory":
          return summary.memory[key];
        case "stack":
          return (summary.cpi_stack.find((one) => one.cause === key)?.slots ?? 0) / slots;
        case "analysis":
          return (analysis as unknown as Record<string, number>)[key];
        case "error":
          return profiles?.opinions.find((one) => one.profiler === key)?.error;
        case "truth":
          return profiles?.truth.find((one) => one.name.split(/\s+/).includes(key))?.share ?? 0;
        case "states":
          return profiles?.states[key];
        case "hps":
          return (profiles?.hps as unknown as Record<string, number> | null | undefined)?.[key];
        default:
          return undefined;
      }
    };
  }

  /** Whether an answer is right. A number may be written in each usual way ({@link readings}). */
  async isRight(question: Question, given: string): Promise<boolean> {
    if (question.kind === "choice") return question.options.find((option) => option.right)?.text === given;
    const wanted = evaluate(question.answer, await this.measured(question.answer));
    const numbers = readings(given, /percent|%/.test(question.text));
    if (numbers.length === 0) throw new Error(`\`${given.trim()}\` is no number.`);
    return numbers.some((number) => isNear(number, wanted, question.within));
  }

  /** Right answers, for tests that drive lessons. */
  async rightAnswer(question: Question): Promise<string> {
    if (question.kind === "choice") return question.options.find((option) => option.right)!.text;
    return String(evaluate(question.answer, await this.measured(question.answer)));
  }

  render(): void {
    const { linked } = this.app;
    const one = this.current;
    const opener = h("input", {
      type: "file",
      class: "hidden-file",
      accept: ".lesson,.txt",
      "aria-label": "Open a lesson",
      onchange: () => opener.files?.[0] && void this.open(opener.files[0]),
    });
    const list = h(
      "nav",
      { class: "column", "aria-label": "All lessons" },
      h("h2", {}, "Lessons"),
      h(
        "ol",
        { class: "lesson-list" },
        this.lessons.map(({ lesson, name }, at) =>
          h(
            "li",
            {},
            h(
              "button",
              {
                type: "button",
                "aria-current": at === linked.lesson ? "true" : "false",
                onclick: () => this.go(at, 0),
              },
              lesson.title,
              h("small", {}, this.progress(name, lesson)),
            ),
          ),
        ),
      ),
      h("label", { class: "button" }, "Open a lesson…", opener),
      h("button", { type: "button", onclick: () => this.exportAnswers() }, "Save my answers"),
      one ? h("button", { type: "button", title: "To write one of your own, begin with this one", onclick: () => download(one.name, one.text) }, "Save this lesson's text") : null,
      this.said,
    );
    fill(
      this.element,
      list,
      one ? this.renderStep(one) : h("div", { class: "column" }, h("p", {}, "Choose a lesson.")),
    );
  }

  private progress(name: string, lesson: Lesson): string {
    const all = lesson.steps.flatMap((step) => step.questions);
    const done = all.filter((question) => this.app.linked.answers[question.id]?.startsWith("✓")).length;
    return ` ${done} of ${all.length}${name.endsWith(".lesson") ? "" : " (yours)"}`;
  }

  private renderStep({ lesson }: Loaded): HTMLElement {
    const { linked } = this.app;
    const at = Math.min(linked.step, lesson.steps.length - 1);
    const step = lesson.steps[at]!;
    const to = (by: number) => this.go(linked.lesson, at + by);
    return h(
      "article",
      { class: "column lesson" },
      h("h2", { tabIndex: -1 }, lesson.title),
      at === 0 ? h("p", { class: "about" }, lesson.about) : null,
      step.texts.flatMap(prose),
      h(
        "div",
        { class: "bar" },
        ["pipeline", "dise", "profilers"].map((view) =>
          h(
            "button",
            {
              type: "button",
              class: step.show === view ? "primary" : "",
              onclick: () => this.app.show(view as "pipeline" | "dise" | "profilers"),
            },
            `Look at ${view === "dise" ? "DISE" : view}`,
          ),
        ),
      ),
      step.questions.map((question) => this.renderQuestion(question)),
      h(
        "div",
        { class: "bar steps" },
        h("button", { type: "button", disabled: at === 0, onclick: () => to(-1) }, "◂ Back"),
        h("span", {}, `step ${at + 1} of ${lesson.steps.length}`),
        h("button", { type: "button", disabled: at + 1 >= lesson.steps.length, onclick: () => to(1) }, "On ▸"),
      ),
    );
  }

  private renderQuestion(question: Question): HTMLElement {
    const kept = this.app.linked.answers[question.id] ?? "";
    const verdict = h("p", { class: "verdict", role: "status" });
    const say = (answer: string) => {
      const right = answer.startsWith("✓");
      verdict.className = `verdict ${answer === "" ? "" : right ? "right" : "wrong"}`;
      verdict.textContent = answer === "" ? "" : right ? "✓ Right." : `✗ Not yet. ${question.hint}`;
    };
    say(kept);
    const judge = async (given: string): Promise<void> => {
      if (given.trim() === "") return;
      try {
        const right = await this.isRight(question, given);
        const answer = `${right ? "✓" : "✗"} ${given}`;
        this.app.linked.answers[question.id] = answer;
        this.app.tell("view");
        say(answer);
      } catch (error) {
        verdict.className = "verdict wrong";
        verdict.textContent = error instanceof Error ? error.message : String(error);
      }
    };
    const given = kept.slice(2);
    if (question.kind === "choice") {
      return h(
        "fieldset",
        { class: "question", "data-question": question.id },
        h("legend", {}, prose(question.text)),
        question.options.map((option) => {
          const input = h("input", {
            type: "radio",
            name: question.id,
            checked: option.text === given,
            onchange: () => void judge(option.text),
          });
          return h("label", { class: "check" }, input, prose(option.text)[0]!);
        }),
        verdict,
      );
    }
    const input = h("input", {
      value: given,
      inputMode: "decimal",
      "aria-label": question.text,
      onkeydown: (event: KeyboardEvent) => event.key === "Enter" && void judge(input.value),
    });
    return h(
      "div",
      { class: "question", "data-question": question.id },
      prose(question.text),
      h("div", { class: "bar" }, input, h("button", { type: "button", onclick: () => void judge(input.value) }, "Check")),
      verdict,
    );
  }

  private exportAnswers(): void {
    const lines = this.lessons.flatMap(({ lesson }) => {
      const all = lesson.steps.flatMap((step) => step.questions);
      const answered = all.filter((question) => this.app.linked.answers[question.id]);
      if (answered.length === 0) return [];
      return [
        `# ${lesson.title}`,
        "",
        ...answered.flatMap((question) => [question.text, "", `    ${this.app.linked.answers[question.id]}`, ""]),
      ];
    });
    download("answers.md", lines.length > 0 ? lines.join("\n") : "Nothing was answered.\n");
  }
}
