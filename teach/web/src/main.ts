// The page: views around one run.

import { missing } from "./api";
import { App, ended } from "./app";
import { choice, download, fill, grouped, h } from "./dom";
import { language, LANGUAGES, t } from "./language";
import { read, write, type Linked, type View } from "./link";
import { EXAMPLES, SetupPanel } from "./setup";
import { Stepper } from "./stepper";
import { picture } from "./svg";
import type { Setup, Summary } from "./types";
import { CompareView } from "./views/compare";
import { DiseView } from "./views/dise";
import { LessonsView } from "./views/lessons";
import { PipelineView } from "./views/pipeline";
import { ProfilersView } from "./views/profilers";

const VIEWS: [View, string][] = [
  ["pipeline", t("Pipeline")],
  ["compare", t("Compare")],
  ["dise", "DISE"],
  ["profilers", t("Profilers")],
];

const BEGIN: Linked = {
  view: "pipeline",
  setup: {
    program: { kind: "assembly", isa: "riscv64", text: EXAMPLES[0]!.text, c: null },
    arguments: [],
    input: "",
    machine: "hps-4wide",
    keys: {},
    productions: [],
    params: {},
    limit: 20_000,
    edits: [],
  },
  pinned: null,
  cycle: 0,
  context: 0,
  selected: null,
  breakpoints: [],
  event: "mispredicted",
  zoom: 5,
  tab: "registers",
  address: "0x1000000",
  form: "bytes",
  table: "l1d",
  set: 0,
  line: "",
  productions: null,
  c: null,
  order: {
    level: "instruction",
    profilers: ["interrupt", "lci", "pebs", "tip"].map((name) => ({ name, period: 97, seed: 1, random_percent: 0 })),
    hps: { kind: "method", burst: 10, sparsity: 90, random_period: false },
    top: 25,
  },
  marks: "",
  lesson: -1,
  step: 0,
  answers: {},
  lessonsOpen: false,
  hideWrong: false,
  arrows: true,
  bookmarks: [],
  drawer: "",
  lessons: [],
};

/** Width from which a lesson stands beside the machine, in pixels. */
const BESIDE = 1280;

/**
 * `?lesson=3` opens a lesson by its number, `&step=2` a step of it, `?cycle=400` shows a cycle of the program, and `&embed`
 * leaves out what leads elsewhere. `language.ts` reads `?lang=de`.
 */
function asked(): { lesson: number | undefined; step: number; cycle: number | undefined; embed: boolean } {
  const query = new URLSearchParams(location.search);
  const number = (name: string): number | undefined => {
    const value = Number(query.get(name));
    return query.has(name) && Number.isInteger(value) && value > 0 ? value - 1 : undefined;
  };
  const cycle = number("cycle");
  return {
    lesson: number("lesson"),
    step: number("step") ?? 0,
    cycle: cycle === undefined ? undefined : cycle + 1,
    embed: query.has("embed"),
  };
}

const fallback = (root: HTMLElement, text: string): void =>
  fill(root, h("main", { class: "fallback", role: "alert" }, h("h1", {}, "HPS Lab"), h("p", {}, text)));

/** What else is to be known of a run. */
const notes = ({ rows_left_out, warnings }: Summary): string =>
  [
    rows_left_out > 0 ? `; ${t("the time line ends before {n} instructions", { n: grouped(rows_left_out) })}` : "",
    warnings.length > 0 ? `; ${t("warnings are under Output")}` : "",
  ].join("");

function themes(): HTMLElement {
  const root = document.documentElement;
  const names = ["light", "dark"];
  const now = () =>
    root.dataset["theme"] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const button = h("button", {
    type: "button",
    class: "theme",
    onclick: () => {
      root.dataset["theme"] = names[1 - names.indexOf(now())]!;
      tell();
      window.dispatchEvent(new Event("resize"));
    },
  });
  const tell = () => {
    button.textContent = now() === "dark" ? "☀" : "☾";
    button.setAttribute("aria-label", now() === "dark" ? t("Light colours") : t("Dark colours"));
  };
  tell();
  return button;
}

/** The languages of the page. Another one loads the page anew in its present state. */
function languages(app: App): HTMLElement {
  const select = choice(LANGUAGES, language, async (code) => {
    const address = new URL(location.href);
    address.searchParams.set("lang", code);
    address.hash = await write(app.linked);
    location.assign(address);
  });
  select.setAttribute("aria-label", t("Language"));
  for (const option of select.options) option.lang = option.value;
  return select;
}

async function start(root: HTMLElement): Promise<void> {
  document.documentElement.lang = language;
  document.title = t("HPS Lab: a lesson");
  const lacks = missing();
  if (lacks) {
    fallback(root, t("This page runs a processor simulator, for which this browser lacks {name}. A current Firefox, Chrome, Edge or Safari has it.", { name: lacks }));
    return;
  }
  fill(root, h("p", { class: "loading", role: "status" }, t("Starting the simulator…")));
  const given = JSON.parse(document.getElementById("start")!.textContent!) as Partial<Setup> | null;
  // A browser holds messages to a new worker back while the page is busy, and the simulator is in them.
  await window.hpsBoot.launched?.began;
  const linked = await read(location.hash);
  const query = asked();
  document.body.classList.toggle("embed", query.embed);
  const app = new App({
    ...structuredClone(BEGIN),
    lessonsOpen: given === null && innerWidth >= BESIDE,
    ...(query.cycle === undefined ? {} : { cycle: query.cycle }),
    ...linked,
    setup: { ...structuredClone(BEGIN.setup), ...(linked?.setup ?? given) },
    order: { ...structuredClone(BEGIN.order), ...linked?.order },
  });
  const failed = (error: unknown) =>
    fallback(root, t("The simulator cannot be started here: {error}", { error: error instanceof Error ? error.message : String(error) }));
  // The page is drawn while the simulator is compiled.
  const started = app.api.start().then(
    () => true,
    (error: unknown) => (failed(error), false),
  );
  app.catalog = JSON.parse(document.getElementById("catalog")!.textContent!) as App["catalog"];
  if (app.api.isServed) {
    if (!(await started)) return;
    try {
      app.catalog = await app.api.ask("catalog", { ask: "catalog" });
    } catch (error) {
      failed(error);
      return;
    }
  }
  const opensLesson = query.lesson !== undefined && linked === undefined;
  // The program runs while the page is drawn.
  const ran = opensLesson ? undefined : app.run((linked?.cycle ?? query.cycle) === undefined);
  const setup = new SetupPanel(app);
  const pipeline = new PipelineView(app);
  const compare = new CompareView(app);
  const dise = new DiseView(app);
  const profilers = new ProfilersView(app);
  const lessons = new LessonsView(app, pipeline, () => {
    setup.render();
    dise.render();
    profilers.renderControls();
  });
  const stepper = new Stepper(app);
  const views: Record<View, HTMLElement> = {
    pipeline: pipeline.element,
    compare: compare.element,
    dise: dise.element,
    profilers: profilers.element,
  };
  const problem = h("div", { class: "problem", role: "alert" });
  const status = h("span", { class: "status", role: "status" });
  const tabs = VIEWS.map(([view, name], at) => {
    const tab = h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${view}`,
        "aria-controls": `view-${view}`,
        onclick: () => app.show(view),
        onkeydown: (event: KeyboardEvent) => {
          const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
          if (by === 0) return;
          event.stopPropagation();
          const next = tabs[(at + by + tabs.length) % tabs.length]!;
          next.focus();
          next.click();
        },
      },
      name,
    );
    views[view].id = `view-${view}`;
    views[view].setAttribute("role", "tabpanel");
    views[view].setAttribute("aria-labelledby", tab.id);
    return tab;
  });
  /** Pictures for slides: the view, and its parts. */
  const save = (name: string, label: string, element: () => HTMLElement): HTMLElement =>
    h("button", {
      type: "button",
      onclick: () => {
        pictures.open = false;
        const { summary, linked } = app;
        const of = summary ? `, ${t("{program} on {machine}, cycle {cycle}", { program: summary.program, machine: summary.machine, cycle: linked.cycle })}` : "";
        const title = `HPS Lab: ${label}${of}`;
        download(`hps-${name.replaceAll(" ", "-")}.svg`, picture(element(), title, () => {
          pipeline.paint();
          compare.paint();
        }), "image/svg+xml");
      },
    }, label);
  const pictures = h(
    "details",
    { class: "menu" },
    h("summary", {}, t("Picture")),
    h(
      "div",
      {},
      h("p", { class: "faint" }, t("Save as SVG:")),
      save("view", t("view"), () => views[app.linked.view]),
      h("span", { class: "of-pipeline" }, save("time line", t("time line"), () => pipeline.timeline.element), save("block diagram", t("block diagram"), () => pipeline.diagram)),
      h("span", { class: "of-machine" }, save("machine", t("machine"), () => setup.diagram)),
      h("span", { class: "of-lesson" }, save("lesson", t("lesson"), () => lessons.element)),
    ),
  );
  lessons.element.id = "lesson";
  const opener = h(
    "button",
    {
      type: "button",
      id: "tab-lessons",
      "aria-controls": "lesson",
      onclick: () => {
        app.linked.lessonsOpen = !app.linked.lessonsOpen;
        app.tell("view");
        window.dispatchEvent(new Event("resize"));
      },
    },
    t("Lessons"),
  );
  fill(
    root,
    h(
      "header",
      {},
      h("h1", {}, "HPS Lab"),
      opener,
      h("div", { class: "tabs", role: "tablist", "aria-label": t("Views") }, tabs),
      status,
      pictures,
      languages(app),
      themes(),
    ),
    h(
      "div",
      { class: "workspace" },
      lessons.element,
      h("main", { class: "machine-side" }, setup.element, problem, stepper.element, h("div", { class: "content" }, Object.values(views))),
    ),
  );

  const show = (): void => {
    VIEWS.forEach(([view], at) => {
      const here = view === app.linked.view;
      views[view].hidden = !here;
      tabs[at]!.setAttribute("aria-selected", String(here));
      tabs[at]!.tabIndex = here ? 0 : -1;
    });
    stepper.element.hidden = app.linked.view === "profilers" || app.linked.view === "compare";
    document.body.dataset["view"] = app.linked.view;
    document.body.classList.toggle("with-machine", app.linked.drawer === "machine");
    document.body.classList.toggle("with-lesson", app.linked.lessonsOpen);
    lessons.element.hidden = !app.linked.lessonsOpen;
    opener.setAttribute("aria-expanded", String(app.linked.lessonsOpen));
  };
  app.listen((change) => {
    if (change === "view" || change === "selected") show();
    if (change === "busy") {
      document.body.classList.toggle("busy", app.busy);
      if (app.busy) status.textContent = t("running…");
    }
    if (change === "run") {
      const { summary } = app;
      status.textContent = summary
        ? `${summary.program}: ${t("{cycles} cycles, {instructions} instructions, {rate} a cycle", {
            cycles: grouped(summary.cycles),
            instructions: grouped(summary.instructions),
            rate: (summary.instructions / Math.max(1, summary.cycles)).toFixed(2),
          })}; ${ended(summary)}${notes(summary)}`
        : "";
      document.body.dataset["cycles"] = String(summary?.cycles ?? "");
    }
    if (change === "problem") {
      const { problem: one } = app;
      const place = one?.place ? `${one.place}${one.line ? `, ${t("line {line}, column {column}", { line: one.line, column: one.column ?? 1 })}` : ""}: ` : "";
      fill(problem, one ? h("p", {}, h("b", {}, place), one.message) : null);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (app.linked.view === "pipeline" || app.linked.view === "dise") {
      stepper.key(event, (by) => pipeline.move(by), () => pipeline.toggle(), (by) => pipeline.timeline.zoomBy(by));
    }
  });
  window.addEventListener("resize", () => pipeline.draw());
  window.addEventListener("hashchange", () => location.reload());
  // For tests, and for whoever wants to ask the simulator by hand.
  Object.assign(window, { hps: { app, compare, pipeline, lessons, profilers, setup, stepper } });
  show();
  if (!(await started)) {
    // What was drawn meanwhile gives way to the reason.
    return;
  }
  if (opensLesson) await lessons.go(query.lesson!, query.step);
  else await ran;
  app.tell("view");
  document.body.dataset["ready"] = "true";
}

void start(document.getElementById("app")!).catch((error: unknown) => {
  fallback(document.getElementById("app")!, t("The page failed: {error}", { error: error instanceof Error ? error.message : String(error) }));
});
