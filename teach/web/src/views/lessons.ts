// Lessons, beside the machine: read, run, predict, answer, and take the answers along.

import { collect, sign, type Answered } from "../answers";
import type { App } from "../app";
import { choice, download, fill, h, labelled } from "../dom";
import { lessonText, t, translations } from "../language";
import { comparisons, evaluate, headOf, holds, html, isNear, LessonError, parse, questionsIn, readings, shuffled, type Head, type Lesson, type Question, type Step } from "../lesson";
import type { Tab, View } from "../link";
import { Measured } from "../measured";
import type { Row } from "../types";
import type { PipelineView } from "./pipeline";

/** A lesson, whose text is read when somebody opens it. */
class Loaded {
  readonly head: Head;
  private read: Lesson | undefined;

  constructor(
    readonly name: string,
    readonly text: string,
  ) {
    [this.head] = headOf(text);
  }

  get lesson(): Lesson {
    return (this.read ??= parse(this.text, this.name));
  }
}

/** A lesson that somebody has written, which is checked at once. */
function checked(name: string, text: string): Loaded {
  const one = new Loaded(name, text);
  void one.lesson;
  return one;
}

/** A verdict on an answer, and what is said to it. */
interface Verdict {
  right: boolean;
  said: string;
}

const prose = (text: string): HTMLElement => h("div", { class: "prose", innerHTML: html(text) });

/** The cycle of a row that a prediction asks for. */
const cycleOf = (row: Row, asks: string): number | null =>
  asks === "commit" ? row.end : asks === "issue" ? row.issue : asks === "execute" ? row.execute : row.complete;

export class LessonsView {
  readonly element = h("aside", { class: "lessons", "aria-label": t("Lesson"), tabIndex: -1 });
  private readonly lessons: Loaded[];
  /** Texts of the page's lessons in English, by the names of their files. */
  private readonly english: Map<string, string>;
  private readonly measured: Measured;
  private readonly said = h("p", { class: "said", role: "alert" });
  /** When each question was seen first, in milliseconds. */
  private readonly seen = new Map<string, number>();
  private learner = "";
  /** The program and the keys that the step has brought about, as text. */
  private given = { program: "", machine: "" };

  constructor(
    private readonly app: App,
    private readonly pipeline: PipelineView,
    /** The setup was changed by a lesson. */
    private readonly changed: () => void,
  ) {
    this.measured = new Measured(app);
    const built = JSON.parse(document.getElementById("lessons")!.textContent!) as { name: string; text: string }[];
    this.english = new Map(built.map(({ name, text }) => [name, text]));
    this.lessons = built.map(({ name, text }) => new Loaded(name, lessonText(name, text)));
    for (const { name, text } of app.linked.lessons) {
      try {
        this.lessons.push(checked(name, text));
      } catch {
        // A damaged link has a damaged lesson.
      }
    }
    this.element.addEventListener("click", (event) => {
      const link = (event.target as HTMLElement).closest<HTMLElement>("[data-to]");
      if (!link) return;
      event.preventDefault();
      void this.follow(link.dataset["to"]!);
    });
    if (this.current) this.recall(this.current.lesson, app.linked.step);
    app.listen((change) => {
      if (change === "view" && app.linked.lessonsOpen) this.render();
      if (change === "run") this.tellGoals();
    });
  }

  /** Adds a teacher's lesson. */
  async open(file: File): Promise<void> {
    try {
      const text = await file.text();
      this.lessons.push(checked(file.name, text));
      // A link to it carries it.
      this.app.linked.lessons.push({ name: file.name, text });
      this.said.textContent = "";
      await this.go(this.lessons.length - 1, 0);
    } catch (error) {
      this.said.textContent = `${file.name}: ${error instanceof LessonError ? error.message : t("cannot be read")}`;
    }
  }

  private get current(): Loaded | undefined {
    return this.lessons[this.app.linked.lesson];
  }

  private get step(): Step | undefined {
    const steps = this.current?.lesson.steps;
    return steps?.[Math.min(this.app.linked.step, steps.length - 1)];
  }

  /** Opens a step of a lesson and runs what it runs; without such a lesson the list of all. */
  async go(lesson: number, step: number): Promise<void> {
    const { linked } = this.app;
    linked.lesson = lesson < this.lessons.length ? lesson : -1;
    linked.step = Math.min(step, Math.max(0, (this.current?.lesson.steps.length ?? 1) - 1));
    linked.lessonsOpen = true;
    this.app.tell("view");
    this.element.scrollTop = 0;
    this.element.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
    const { current } = this;
    if (current) await this.prepare(current.lesson, linked.step);
    else this.pipeline.timeline.hideBehind(undefined);
  }

  /** Remembers what the steps up to one bring about. The learner's own program and machine, which a link has, stay. */
  private recall(lesson: Lesson, step: number): void {
    const { linked } = this.app;
    const { setup, order } = linked;
    [linked.setup, linked.order] = structuredClone([setup, order]);
    this.bring(lesson, step);
    Object.assign(linked, { setup, order });
  }

  /** The program, the machine and the profilers of the steps up to one, which goals compare with the learner's. */
  private bring(lesson: Lesson, step: number): void {
    const { setup } = this.app.linked;
    setup.machine = lesson.machine;
    setup.limit = lesson.limit;
    setup.keys = {};
    setup.arguments = [];
    setup.input = "";
    setup.productions = [];
    setup.params = {};
    setup.edits = [];
    for (const one of lesson.steps.slice(0, step + 1)) this.take(lesson, one);
    this.given = { program: JSON.stringify(setup.program), machine: JSON.stringify([setup.machine, setup.keys]) };
  }

  /** Brings about what the steps up to one say, and runs it. */
  private async prepare(lesson: Lesson, step: number): Promise<void> {
    const { linked } = this.app;
    const { setup } = linked;
    this.bring(lesson, step);
    linked.c = null;
    // The editor has the lesson's productions; without any it keeps what was written there.
    linked.productions = setup.productions[0]?.text ?? linked.productions;
    const show = lesson.steps[step]!.show;
    if (show) this.app.show(show as View);
    this.changed();
    this.app.tell("setup");
    await this.app.run(true);
    this.drawCurtain();
  }

  private take(lesson: Lesson, step: Step): void {
    const { setup } = this.app.linked;
    if (step.program) setup.program = { kind: "assembly", isa: lesson.isa, text: step.program, c: null };
    if (step.builtIn) setup.program = { kind: "built_in", name: step.builtIn, isa: lesson.isa, size: "small" };
    this.takeKeys(step.keys);
    if (step.productions !== undefined) {
      setup.productions = step.productions ? [{ name: "mine.dise", text: step.productions }] : [];
    }
    if (step.profilers !== undefined) this.takeProfilers(step.profilers);
  }

  private takeKeys(all: Record<string, string>): void {
    const { keys } = this.app.linked.setup;
    for (const [key, value] of Object.entries(all)) {
      if (value) keys[key] = value;
      else delete keys[key];
    }
  }

  private takeProfilers(text: string): void {
    const { order } = this.app.linked;
    order.profilers = [];
    order.hps = null;
    for (const line of text.split("\n")) {
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

  /** Reaches the goal of a question as its solution says, for teachers and for tests. */
  async solve(question: Question): Promise<void> {
    const { solution } = question;
    const { setup } = this.app.linked;
    if (solution?.program && setup.program.kind === "assembly") setup.program.text = solution.program;
    if (solution?.keys) this.takeKeys(solution.keys);
    if (solution?.profilers) this.takeProfilers(solution.profilers);
    this.changed();
    await this.app.run();
  }

  /** Goes where a link of a text leads. */
  private async follow(to: string): Promise<void> {
    const { app } = this;
    const [kind, value = ""] = to.split(/:(.*)/s) as [string, string?];
    const point = (selector: string): void => {
      const element = document.querySelector<HTMLElement>(selector);
      if (!element) return;
      element.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
      element.classList.add("pointed");
      setTimeout(() => element.classList.remove("pointed"), 2500);
    };
    if (kind === "view") return app.show(value as View);
    if (kind === "cycle") return app.go(value === "steady" ? (app.summary?.steady ?? 0) : Number(value));
    if (kind === "set") {
      const [, key = "", wanted = ""] = /^([\w.]+)=(.*)$/.exec(value) ?? [];
      this.takeKeys({ [key]: wanted });
      this.changed();
      app.tell("setup");
      await app.run();
      return;
    }
    app.show("pipeline");
    if (kind === "block" && value === "coherence") app.linked.line ||= "all";
    if (kind === "block") {
      app.tell("selected");
      point(`.block-${value}`);
    }
    if (kind === "table") {
      app.showTable(value);
      point(".tables-panel");
    }
    if (kind === "tab" || kind === "counter") {
      app.linked.tab = (kind === "tab" ? value : "counters") as Tab;
      app.tell("cycle");
      point(kind === "tab" ? ".side" : `.side [data-counter="${value}"]`);
    }
    if (kind === "row") {
      const here = [...(app.cycleView?.rob.map((slot) => slot.row) ?? []), ...(app.cycleView?.front ?? [])];
      const row = here.find((one) => !one.squashed && one.text.includes(value)) ?? (await app.seek({ is: "text", text: value }));
      if (!row) return;
      app.select(row.index);
      this.pipeline.timeline.showRow(row);
      point(".timeline-scroll");
    }
  }

  /** Instructions in flight that will commit, in program order. */
  private inFlight(): Row[] {
    const view = this.app.cycleView;
    return [...(view?.rob.map((slot) => slot.row) ?? []), ...(view?.front ?? [])].filter((row) => !row.squashed);
  }

  /** The run stands in the cycle in which a prediction is asked for. */
  private async standAtQuestion(): Promise<void> {
    const { app } = this;
    if (!app.summary && !(await app.run())) throw new Error(t("The program must run first."));
    const { steady } = app.summary!;
    if (app.linked.cycle !== steady || app.cycleView?.cycle !== steady) await app.go(steady);
  }

  /** The instruction of a prediction: the oldest in flight for which what is asked lies ahead. */
  private predicted({ row, asks }: Question): Row {
    const ahead = (one: Row) => (cycleOf(one, asks) ?? -1) > this.app.linked.cycle;
    const found = this.inFlight().find((one) => one.text.includes(row) && ahead(one));
    if (!found) throw new Error(t("No `{row}` is in flight that waits to {asks}: take the lesson's program and machine again.", { row, asks }));
    return found;
  }

  /** What comes next, and what might. */
  private following({ id, asks }: Question): { right: Set<string>; options: string[] } {
    const { cycle } = this.app.linked;
    const later = this.inFlight().filter((row) => (cycleOf(row, asks) ?? -1) > cycle);
    const when = (row: Row): number => cycleOf(row, asks)!;
    const name = (row: Row): string => `#${row.index}  ${row.text}`;
    const first = Math.min(...later.map(when));
    // In program order only one instruction is the next to commit; several may issue together.
    const next = later.filter((row) => when(row) === first);
    const right = new Set((asks === "commit" ? next.slice(0, 1) : next).map(name));
    const others = later.filter((row) => !right.has(name(row))).slice(0, 3).map(name);
    return { right, options: shuffled([[...right][0] ?? "", ...others].filter(Boolean), id + this.learner) };
  }

  /** A verdict on an answer. A number may be written in each usual way ({@link readings}). */
  async judge(question: Question, given: string): Promise<Verdict> {
    const { hint, why } = question;
    const verdict = (right: boolean, reply = ""): Verdict => ({ right, said: right ? [reply, why].filter(Boolean).join(" ") : reply || hint });
    switch (question.kind) {
      case "choice": {
        const option = question.options.find((one) => one.text === given);
        return verdict(option?.right ?? false, option?.reply);
      }
      case "next":
        await this.standAtQuestion();
        return verdict(this.following(question).right.has(given));
      case "goal": {
        const changed = this.changedAgainst(question.keep);
        if (changed) return verdict(false, changed);
        const all = await this.comparisons(question);
        return verdict(all.every((one) => one.holds), all.map((one) => one.said).join("; ") + (all.every((one) => one.holds) ? "." : `. ${hint}`));
      }
    }
    const wanted = Number(await this.rightAnswer(question));
    const numbers = readings(given, /percent|prozent|%/i.test(question.text));
    if (numbers.length === 0) throw new Error(t("`{given}` is no number.", { given: given.trim() }));
    return verdict(numbers.some((number) => isNear(number, wanted, question.within)));
  }

  private changedAgainst(keep: string): string {
    const { setup } = this.app.linked;
    if (setup.edits.length > 0) return t("A goal is reached without edits of registers and memory: take them back.");
    if (keep.includes("program") && JSON.stringify(setup.program) !== this.given.program) return t("The program must stay as the lesson has it.");
    if (keep.includes("machine") && JSON.stringify([setup.machine, setup.keys]) !== this.given.machine) return t("The machine must stay as the lesson has it.");
    return "";
  }

  /** The comparisons of a goal, measured. */
  private async comparisons({ goal }: Question): Promise<{ holds: boolean; said: string }[]> {
    const look = await this.measured.look(goal);
    const said = (value: number): string => (Number.isInteger(value) ? value.toLocaleString("en-US") : value.toFixed(3));
    const wrong = (message: string): never => {
      throw new Error(message);
    };
    return comparisons(goal, wrong).map(([left, sign, right]) => {
      const [a, b] = [evaluate(left, look), evaluate(right, look)];
      return { holds: holds(a, sign, b), said: t("now {a}, wanted {sign} {b}", { a: said(a), sign, b: said(b) }) };
    });
  }

  /** The right answer, of a goal nothing. */
  async rightAnswer(question: Question): Promise<string> {
    switch (question.kind) {
      case "choice":
        return question.options.find((option) => option.right)!.text;
      case "next":
        await this.standAtQuestion();
        return [...this.following(question).right][0] ?? "";
      case "predict":
        await this.standAtQuestion();
        return String(cycleOf(this.predicted(question), question.asks));
      case "number":
        return String(evaluate(question.answer, await this.measured.look(question.answer)));
      case "goal":
        return "";
    }
  }

  /** Covers what comes while a prediction of the step is open. */
  private drawCurtain(): void {
    const open = this.step?.questions.some((one) => (one.kind === "predict" || one.kind === "next") && !this.app.linked.answers[one.id]?.right);
    const { summary } = this.app;
    this.pipeline.timeline.hideBehind(open && summary && this.app.linked.lessonsOpen ? summary.steady : undefined);
  }

  /** Says how far goals are. */
  private tellGoals(): void {
    for (const question of this.step?.questions ?? []) {
      if (question.kind !== "goal") continue;
      const now = this.element.querySelector(`[data-question="${CSS.escape(question.id)}"] .now`);
      if (!now) continue;
      const { summary } = this.app;
      void this.comparisons(question)
        .then((all) => {
          if (summary === this.app.summary) now.textContent = `${all.map((one) => one.said).join("; ")}.`;
        })
        .catch(() => (now.textContent = ""));
    }
  }

  render(): void {
    const { linked } = this.app;
    const one = this.current;
    const names: [string, string][] = this.lessons.map(({ head }, at) => [String(at), `${at + 1}. ${head.title}`]);
    const to = choice([["-1", t("All lessons")], ...names], String(one ? linked.lesson : -1), (at) => void this.go(Number(at) < 0 ? Infinity : Number(at), 0));
    to.setAttribute("aria-label", t("Lesson"));
    fill(this.element, h("nav", { class: "lesson-nav", "aria-label": t("All lessons") }, to), one ? this.renderStep(one) : this.renderList(), this.renderFiles(), this.said);
    this.tellGoals();
    this.drawCurtain();
  }

  private renderList(): HTMLElement {
    const paths = [...new Set(this.lessons.map(({ head }) => head.path))];
    return h(
      "div",
      {},
      h("h2", { tabIndex: -1 }, t("A processor, cycle by cycle")),
      prose(
        t("The time line has a row for each instruction and a column for each cycle; it stands in the middle of a run. Press [▶ Play](cycle:steady) or the arrow keys, and click an instruction: arrows show [whose results](row:add) it waits for. Below is the machine in the same cycle: [stations](block:stations), [units](block:units), [caches](block:dcache)."),
      ),
      paths.map((path) => [
        h("h3", {}, path || t("Others")),
        h(
          "ol",
          { class: "lesson-list" },
          this.lessons.map((one, at) =>
            one.head.path === path
              ? h("li", { value: at + 1 }, h("button", { type: "button", onclick: () => void this.go(at, 0) }, one.head.title, h("small", {}, this.progress(one))), h("small", { class: "faint" }, one.head.about))
              : null,
          ),
        ),
      ]),
    );
  }

  private renderFiles(): HTMLElement {
    const one = this.current;
    const opener = (about: string, accept: string, take: (files: File[]) => void, multiple = false): HTMLElement => {
      const input = h("input", { type: "file", class: "hidden-file", accept, multiple, "aria-label": about, onchange: () => input.files && take([...input.files]) });
      return input;
    };
    const learner = h("input", { value: this.learner, autocomplete: "name", onchange: () => (this.learner = learner.value.trim()) });
    return h(
      "details",
      { class: "files" },
      h("summary", {}, t("Answers and files")),
      labelled(t("Your name, for the file"), learner),
      h("button", { type: "button", onclick: () => void this.saveAnswers() }, t("Save my answers")),
      h("label", { class: "button" }, t("Collect a class…"), opener(t("Collect files of answers"), ".json", (files) => void this.collect(files), true)),
      h("label", { class: "button" }, t("Open a lesson…"), opener(t("Open a lesson"), ".md,.txt", (files) => files[0] && void this.open(files[0]))),
      one ? h("button", { type: "button", title: t("To write one of your own, begin with this one"), onclick: () => download(one.name, one.text) }, t("Save this lesson's text")) : null,
    );
  }

  private progress({ name, text }: Loaded): string {
    // The name of a question begins with its lesson's.
    const done = Object.entries(this.app.linked.answers).filter(([id, { right }]) => right && id.startsWith(`${name}/`)).length;
    return ` ${t("{n} of {all}", { n: done, all: questionsIn(text) })}${this.app.linked.lessons.some((one) => one.name === name) ? ` ${t("(yours)")}` : ""}`;
  }

  private renderStep({ lesson }: Loaded): HTMLElement {
    const { linked } = this.app;
    const at = Math.min(linked.step, lesson.steps.length - 1);
    const step = lesson.steps[at]!;
    const to = (by: number) => void this.go(linked.lesson, at + by);
    return h(
      "article",
      { class: "lesson" },
      h("h2", { tabIndex: -1 }, lesson.title),
      at === 0 ? h("p", { class: "about" }, lesson.about) : null,
      step.title ? h("h3", {}, step.title) : null,
      step.parts.map((part) => {
        if ("question" in part) return this.renderQuestion(part.question);
        if ("picture" in part) return h("img", { class: "figure", alt: part.about, src: `data:image/svg+xml,${encodeURIComponent(part.picture)}` });
        return prose(part.text);
      }),
      h(
        "div",
        { class: "bar steps" },
        h("button", { type: "button", disabled: at === 0, onclick: () => to(-1) }, t("◂ Back")),
        h("span", {}, t("step {n} of {all}", { n: at + 1, all: lesson.steps.length })),
        h("button", { type: "button", class: "primary", disabled: at + 1 >= lesson.steps.length, onclick: () => to(1) }, t("On ▸")),
        h("button", { type: "button", title: t("The program, the machine and the cycle of this step"), onclick: () => to(0) }, t("Set up again")),
      ),
    );
  }

  private renderQuestion(question: Question): HTMLElement {
    const { answers } = this.app.linked;
    if (!this.seen.has(question.id)) this.seen.set(question.id, performance.now());
    const verdict = h("p", { class: "verdict", role: "status" });
    const say = ({ right, said }: Verdict): void => {
      const { tries = 1 } = answers[question.id] ?? {};
      verdict.className = `verdict ${right ? "right" : "wrong"}`;
      fill(verdict, right ? `✓ ${tries > 1 ? t("Right, at attempt {tries}.", { tries }) : t("Right.")} ` : `✗ ${t("Not yet.")} `, h("span", { innerHTML: html(said).replace(/^<p>|<\/p>\s*$/g, "") }));
    };
    const judge = async (given: string): Promise<void> => {
      if (given.trim() === "") return;
      try {
        const found = await this.judge(question, given);
        const before = answers[question.id];
        if (!before?.right) {
          const seconds = Math.round((performance.now() - this.seen.get(question.id)!) / 1000);
          answers[question.id] = { text: given, right: found.right, tries: (before?.tries ?? 0) + 1, seconds };
        }
        say(found);
        this.drawCurtain();
        // The address keeps the answer; nothing is drawn anew under the learner's hands.
        this.app.tell("setup");
      } catch (error) {
        verdict.className = "verdict wrong";
        verdict.textContent = error instanceof Error ? error.message : String(error);
      }
    };
    const kept = answers[question.id];
    if (kept) say({ right: kept.right, said: kept.right ? question.why : question.hint });
    return h(
      "fieldset",
      { class: `question ${question.kind}`, "data-question": question.id },
      h("legend", {}, h("span", { class: "kind" }, KINDS[question.kind]), prose(question.text)),
      this.renderInput(question, kept ? this.ownWords(question, kept.text) : "", judge),
      verdict,
    );
  }

  /** The option that was chosen, if that was in the words of another language. */
  private ownWords({ id, options }: Question, given: string): string {
    const { name } = this.current!;
    if (options.length === 0 || options.some(({ text }) => text === given)) return given;
    for (const text of [this.english.get(name) ?? "", ...translations(name)].filter(Boolean)) {
      const questions = parse(text, name).steps.flatMap((step) => step.questions);
      const at = questions.find((one) => one.id === id)?.options.findIndex((option) => option.text === given) ?? -1;
      if (at >= 0) return options[at]?.text ?? given;
    }
    return given;
  }

  private renderInput(question: Question, given: string, judge: (given: string) => Promise<void>): HTMLElement {
    const radios = (options: string[]): HTMLElement[] =>
      options.map((text) => {
        const input = h("input", { type: "radio", name: question.id, value: text, checked: text === given, onchange: () => void judge(text) });
        return h("label", { class: "check" }, input, question.kind === "next" ? h("code", {}, text) : prose(text));
      });
    if (question.kind === "choice") return h("div", {}, radios(shuffled(question.options, question.id + this.learner).map((one) => one.text)));
    if (question.kind === "goal") {
      return h("div", { class: "bar" }, h("button", { type: "button", onclick: () => void judge("checked") }, t("Check")), h("span", { class: "now faint" }));
    }
    if (question.kind === "next") {
      const box = h("div", {});
      const offer = async (): Promise<void> => {
        await this.standAtQuestion();
        fill(box, radios(this.following(question).options));
      };
      const waits = h("button", { type: "button", onclick: () => void offer() }, t("Show the candidates"));
      fill(box, waits);
      return box;
    }
    const input = h("input", {
      value: given,
      inputMode: "decimal",
      "aria-label": question.text,
      onkeydown: (event: KeyboardEvent) => event.key === "Enter" && void judge(input.value),
    });
    const show = h(
      "button",
      {
        type: "button",
        onclick: () =>
          void this.standAtQuestion()
            .then(() => {
              const row = this.predicted(question);
              this.app.show("pipeline");
              this.app.select(row.index);
              this.pipeline.timeline.showRow(row);
            })
            .catch((error: unknown) => this.app.fail(error)),
      },
      t("Show the instruction"),
    );
    return h("div", { class: "bar" }, input, h("button", { type: "button", onclick: () => void judge(input.value) }, t("Check")), question.kind === "predict" ? show : null);
  }

  /** All answers, in the order of the lessons. */
  private answered(): Answered[] {
    return this.lessons.flatMap(({ lesson }) =>
      lesson.steps
        .flatMap((step) => step.questions)
        .filter((question) => this.app.linked.answers[question.id])
        .map((question) => ({ lesson: lesson.title, question: question.id, words: question.text, ...this.app.linked.answers[question.id]! })),
    );
  }

  private async saveAnswers(): Promise<void> {
    try {
      download(`answers${this.learner ? `-${this.learner.replaceAll(/[^\p{L}\p{N}]+/gu, "-")}` : ""}.json`, await sign(this.learner, this.answered()));
      this.said.textContent = "";
    } catch (error) {
      this.said.textContent = t("This browser signs nothing here: {error}", { error: error instanceof Error ? error.message : String(error) });
    }
  }

  private async collect(files: File[]): Promise<void> {
    const texts = await Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() })));
    download("class.csv", await collect(texts));
  }
}

/** What a question asks for, in a word or two. */
const KINDS: Record<Question["kind"], string> = {
  number: t("Measure"),
  choice: t("Explain"),
  predict: t("Predict"),
  next: t("Predict"),
  goal: t("Reach the goal"),
};
