// Profilers: the truth beside HPS and sampling policies, recomputed while sliders move.

import type { App } from "../app";
import { choice, debounced, fill, grouped, h, labelled, percent } from "../dom";
import { pieces, t, word } from "../language";
import type { Member, Opinion, Profiles, Summary } from "../types";

/** What profiles are compared by: its name for the simulator, several of it, and one. */
const LEVELS: [string, string, string][] = [
  ["function", t("functions"), t("function")],
  ["line", t("source lines"), t("source line")],
  ["instruction", t("instructions"), t("instruction")],
];

/** Cycles by owner in one bar. */
export function stack(summary: Summary): HTMLElement {
  const all = summary.cpi_stack.filter(({ slots }) => slots > 0);
  const total = all.reduce((sum, { slots }) => sum + slots, 0);
  const text = all.map(({ cause, slots }) => `${word(cause)} ${percent(slots / total)}`);
  return h(
    "figure",
    { class: "stack" },
    h("figcaption", {}, t("Where commit slots went: {n} cycles an instruction", { n: (summary.cycles / Math.max(1, summary.instructions)).toFixed(2) })),
    h(
      "div",
      { class: "stack-bar", role: "img", "aria-label": text.join(", ") },
      all.map(({ cause, slots }) =>
        h("div", {
          class: `cause-${cause}`,
          style: `flex-grow: ${slots}`,
          title: `${word(cause)}: ${percent(slots / total)}`,
        }),
      ),
    ),
    h(
      "ul",
      { class: "legend" },
      all.map(({ cause, slots }) =>
        h("li", {}, h("span", { class: `swatch cause-${cause}` }), `${word(cause)} ${percent(slots / total)}`),
      ),
    ),
  );
}

export class ProfilersView {
  readonly element = h("section", { class: "view profilers", "aria-label": t("Profilers") });
  private readonly controls = h("div", { class: "column controls" });
  private readonly results = h("div", { class: "column results", "aria-live": "polite" });
  profiles: Profiles | undefined;
  private asked = 0;
  /** The truth is covered, until a member is guessed. */
  private game: { guessed: number | undefined } | undefined;
  private readonly score = { right: 0, all: 0 };
  private readonly again = debounced(140, () => void this.ask());

  constructor(private readonly app: App) {
    this.element.append(this.controls, this.results);
    app.listen((change) => {
      const seen = app.linked.view === "profilers";
      if (change === "run") {
        this.profiles = undefined;
        this.game = undefined;
        // A link to a time line with samples shows them again.
        if (seen || app.linked.marks) void this.ask();
      }
      if (change === "view" && seen) {
        this.renderControls();
        if (!this.profiles) void this.ask();
      }
    });
    this.renderControls();
  }

  /** Asks for the profiles that the controls say. */
  async ask(): Promise<void> {
    if (!this.app.summary) {
      fill(this.results, h("p", {}, t("Nothing has run.")));
      return;
    }
    const number = ++this.asked;
    try {
      const profiles = await this.app.api.ask("profiles", { ask: "profiles", order: this.app.linked.order });
      if (number !== this.asked) return;
      this.profiles = profiles;
      this.showMarks();
      this.renderResults();
    } catch (error) {
      if (number === this.asked) {
        fill(this.results, h("p", { class: "bad" }, error instanceof Error ? error.message : String(error)));
      }
    }
  }

  /** Puts the samples of the chosen profiler on the time line. */
  private showMarks(): void {
    const opinions = this.profiles?.opinions ?? [];
    const chosen = opinions.find((one) => one.profiler === this.app.linked.marks) ?? opinions[0];
    this.app.marks = chosen?.marks ?? [];
    this.app.tell("marks");
  }

  private marksChoice(profiles: Profiles): HTMLSelectElement {
    const names = profiles.opinions.map((one): [string, string] => [one.profiler, one.profiler]);
    const { linked } = this.app;
    const now = names.some(([name]) => name === linked.marks) ? linked.marks : names[0]![0];
    return choice(names, now, (name) => {
      linked.marks = name;
      this.app.tell("selected");
      this.showMarks();
    });
  }

  private changed(): void {
    this.app.tell("setup");
    this.again();
  }

  /** A slider over powers of some base. */
  private slider(name: string, value: number, from: number, to: number, set: (value: number) => void): HTMLElement {
    const steps = 60;
    const span = Math.log(to / Math.max(1, from));
    const low = Math.max(1, from);
    const at = value <= 0 ? 0 : Math.round((steps * Math.log(Math.max(low, value) / low)) / span);
    const exact = h("input", {
      type: "number",
      min: String(from),
      max: String(to),
      value: String(value),
      "aria-label": t("{name}, exactly", { name }),
      onchange: () => {
        const number = Math.max(from, Math.min(to, Math.round(Number(exact.value)) || from));
        range.value = String(Math.round((steps * Math.log(Math.max(low, number) / low)) / span));
        exact.value = String(number);
        set(number);
      },
    });
    const range = h("input", {
      type: "range",
      min: "0",
      max: String(steps),
      value: String(at),
      oninput: () => {
        const place = Number(range.value);
        const number = place === 0 && from === 0 ? 0 : Math.round(low * Math.exp((span * place) / steps));
        exact.value = String(number);
        range.setAttribute("aria-valuetext", exact.value);
        set(number);
      },
    });
    range.setAttribute("aria-valuetext", String(value));
    return h("div", { class: "slider" }, labelled(name, range), exact);
  }

  renderControls(): void {
    const { order } = this.app.linked;
    const hps = order.hps;
    const first = order.profilers[0];
    const box = (checked: boolean, change: (on: boolean) => void) => {
      const input = h("input", { type: "checkbox", checked, onchange: () => change(input.checked) });
      return input;
    };
    fill(
      this.controls,
      h("h2", {}, t("Sampling policies")),
      labelled(
        t("Compared by"),
        choice(LEVELS.map(([level, several]): [string, string] => [level, several]), order.level, (level) => {
          order.level = level;
          this.changed();
        }),
      ),
      this.slider(t("Period"), first?.period ?? 97, 1, 100_000, (period) => {
        order.profilers.forEach((one) => (one.period = period));
        this.changed();
      }),
      this.slider(t("Random, percent"), first?.random_percent ?? 0, 0, 100, (random_percent) => {
        order.profilers.forEach((one) => (one.random_percent = random_percent));
        this.changed();
      }),
      h(
        "fieldset",
        {},
        h("legend", {}, t("Watching")),
        this.app.catalog.profilers.map(({ name, about, hardware }) =>
          h(
            "label",
            { class: "check", title: t("{about}. Hardware: {hardware}", { about: t(about), hardware: t(hardware) }) },
            box(order.profilers.some((one) => one.name === name), (on) => {
              const period = order.profilers[0]?.period ?? 97;
              const random_percent = order.profilers[0]?.random_percent ?? 0;
              if (on) order.profilers.push({ name, period, seed: 1, random_percent });
              else order.profilers = order.profilers.filter((one) => one.name !== name);
              this.changed();
            }),
            h("b", {}, name),
            h("span", { class: "about" }, t(about)),
          ),
        ),
      ),
      h("h2", {}, "HPS"),
      h(
        "label",
        { class: "check" },
        box(hps !== null, (on) => {
          order.hps = on ? { kind: "method", burst: 10, sparsity: 90, random_period: false } : null;
          this.changed();
          this.renderControls();
        }),
        t("collects a profile"),
      ),
      hps
        ? [
            labelled(
              t("of"),
              choice(
                [
                  ["method", t("hot methods")],
                  ["call_pair", t("call pairs")],
                ],
                hps.kind,
                (kind) => {
                  hps.kind = kind;
                  this.changed();
                },
              ),
            ),
            this.slider(t("Burst, events"), hps.burst, 1, 1000, (burst) => {
              hps.burst = burst;
              this.changed();
            }),
            this.slider(t("Sparsity, events"), hps.sparsity, 0, 100_000, (sparsity) => {
              hps.sparsity = sparsity;
              this.changed();
            }),
            h(
              "label",
              { class: "check" },
              box(hps.random_period, (on) => {
                hps.random_period = on;
                this.changed();
              }),
              t("random periods"),
            ),
          ]
        : null,
    );
  }

  /** The member with the most cycles is guessed from the profiles. */
  private guess(at: number): void {
    const shares = this.profiles!.truth.map(({ share }) => share);
    this.game = { guessed: at };
    this.score.all++;
    this.score.right += Number(shares[at] === Math.max(...shares));
    this.renderResults();
    this.results.querySelector<HTMLElement>(".game button")?.focus();
  }

  /** Begins the game, or says how a guess was. */
  private renderGame(profiles: Profiles): HTMLElement | null {
    if (profiles.opinions.length === 0 || profiles.truth.length < 2) return null;
    const { game, score } = this;
    const what = LEVELS.find(([level]) => level === this.app.linked.order.level)![2];
    const begin = h("button", {
      type: "button",
      onclick: () => {
        this.game = game && game.guessed === undefined ? undefined : { guessed: undefined };
        this.renderResults();
        this.results.querySelector<HTMLElement>(".game button")?.focus();
      },
    }, game && game.guessed === undefined ? t("Show the truth") : game ? t("Guess again") : t("Guess the hottest {what}", { what }));
    let said: (Node | string)[] = [t("Cover the truth, and find what takes the most cycles from what the profilers say.")];
    if (game && game.guessed === undefined) said = [t("Which {what} takes the most cycles? Choose it in the table.", { what })];
    else if (game) {
      const guessed = profiles.truth[game.guessed!]!;
      const [hottest] = [...profiles.truth].sort((a, b) => b.share - a.share);
      const right = guessed.share === hottest!.share;
      said = [
        h("b", { class: `verdict ${right ? "right" : "wrong"}` }, right ? t("Right.") : t("No.")),
        " ",
        ...pieces(right ? "{guessed} takes {share} of the cycles." : "{guessed} takes {share} of the cycles, and {hottest} {most}.", {
          guessed: h("code", {}, guessed.name),
          share: percent(guessed.share),
          hottest: h("code", {}, hottest!.name),
          most: percent(hottest!.share),
        }),
        ` ${t("{n} of {all} right.", { n: score.right, all: score.all })}`,
      ];
    }
    return h("div", { class: "bar game", role: "status" }, begin, h("span", {}, said));
  }

  private renderResults(): void {
    const { profiles } = this;
    const { summary } = this.app;
    if (!profiles || !summary) return;
    const hides = this.game !== undefined && this.game.guessed === undefined;
    const rows = profiles.truth.map((member, at): [Member, number] => [member, at]);
    // The order of the truth would tell.
    if (hides) rows.sort(([a], [b]) => a.name.localeCompare(b.name));
    const most = Math.max(1e-9, ...profiles.truth.map((m) => m.share), ...profiles.opinions.flatMap((o) => o.shares));
    const bar = (share: number, kind: string) =>
      h("div", { class: "bar-cell" }, h("div", { class: `bar-fill ${kind}`, style: `width: ${(100 * share) / most}%` }), h("span", {}, percent(share)));
    const name = (member: Member) =>
      h(
        "th",
        { scope: "row", title: hides ? "" : Object.entries(member.parts).map(([part, share]) => `${word(part)} ${percent(share)}`).join(", ") },
        h("code", {}, member.name),
      );
    const opinion = (one: Opinion) =>
      h("th", { scope: "col" }, one.profiler, hides ? null : h("small", {}, t("error {share}", { share: percent(one.error) })), h("small", {}, t("{n} samples", { n: grouped(one.samples) })));
    const { hps } = profiles;
    fill(
      this.results,
      stack(summary),
      h(
        "p",
        {},
        Object.entries(profiles.states).map(([state, share], at) => [at > 0 ? ", " : "", h("b", {}, word(state)), ` ${percent(share)}`]),
        ". ",
        t("Error is the share of time that a profile gives to the wrong member."),
      ),
      profiles.missing ? h("p", { class: "note" }, t(profiles.missing)) : null,
      this.renderGame(profiles),
      profiles.opinions.length > 0
        ? h(
            "div",
            { class: "bar" },
            labelled(t("Samples on the time line, of"), this.marksChoice(profiles)),
            h("button", { type: "button", onclick: () => this.app.show("pipeline") }, t("Look at the time line")),
          )
        : null,
      h(
        "div",
        { class: "wide", tabIndex: 0, role: "region", "aria-label": t("Profiles") },
        h(
          "table",
          { class: "profile" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, LEVELS.find(([level]) => level === this.app.linked.order.level)?.[2]), h("th", { scope: "col" }, t("truth"), h("small", {}, t("{n} cycles", { n: grouped(profiles.cycles) }))), profiles.opinions.map(opinion))),
          h(
            "tbody",
            {},
            rows.map(([member, at]) =>
              h(
                "tr",
                { class: this.game?.guessed === at ? "guessed" : "" },
                name(member),
                h("td", {}, hides ? h("button", { type: "button", "aria-label": `${t("this one")}: ${member.name}`, onclick: () => this.guess(at) }, t("this one")) : bar(member.share, "truth")),
                profiles.opinions.map((one) => h("td", {}, bar(one.shares[at] ?? 0, "found"))),
              ),
            ),
          ),
        ),
      ),
      hps
        ? [
            h("h2", {}, t("What HPS collects")),
            h(
              "p",
              { class: "headline" },
              pieces("Overlap {overlap}, overhead {overhead}: {n} of {all} events, {cycles} cycles.", {
                overlap: h("b", { id: "hps-accuracy" }, percent(hps.accuracy)),
                overhead: h("b", { id: "hps-overhead" }, percent(hps.overhead)),
                n: grouped(hps.sampled_events),
                all: grouped(hps.exact_events),
                cycles: grouped(hps.cycles),
              }),
            ),
            h(
              "table",
              { class: "profile" },
              h("thead", {}, h("tr", {}, [this.app.linked.order.hps?.kind === "call_pair" ? t("call pair") : t("method"), t("all events"), t("sampled")].map((text) => h("th", { scope: "col" }, text)))),
              h(
                "tbody",
                {},
                hps.members.map(([member, exact, sampled]) =>
                  h("tr", {}, h("th", { scope: "row" }, h("code", {}, member)), h("td", {}, percent(exact)), h("td", {}, percent(sampled))),
                ),
              ),
            ),
          ]
        : null,
    );
  }
}
