// Coherence of the caches of several cores, message by message.

import type { App } from "./app";
import { choice, fill, grouped, h, labelled } from "./dom";
import { nameOf, sentence, t } from "./language";
import type { CoherenceView, Message } from "./types";

/** Messages that the list shows before and behind the one that is looked at. */
const AROUND = 5;

const KINDS: Record<string, string> = {
  request: t("request"),
  invalidation: t("invalidation"),
  forward: t("forward"),
  acknowledgement: t("acknowledgement"),
  data: t("data arrive"),
  right: t("right to write"),
  write_back: t("write back"),
  change: t("first write"),
  drop: t("dropped"),
};

const STATES: Record<string, string> = {
  M: t("modified: it has written the line, and nobody else has it"),
  E: t("exclusive: it alone has the line, unchanged"),
  S: t("shared: it may read the line"),
  I: t("invalid: it does not have the line"),
};

const inWords = ({ said }: Message): string => said.map(sentence).join("; ");

export class CoherencePanel {
  readonly element = h("details", { class: "coherence block-coherence", hidden: true });
  private readonly body = h("div", {});
  private view: CoherenceView | undefined;
  /** The line of the messages that have arrived or are asked for. */
  private asked = "";
  /** The message that is looked at, as a place among the messages. */
  private at = -1;
  private runs = 0;

  constructor(private readonly app: App) {
    this.element.append(h("summary", {}, t("Coherence, message by message")), this.body);
    this.element.addEventListener("toggle", () => {
      const { linked } = app;
      if (this.element.open === (linked.line !== "")) return;
      linked.line = this.element.open ? "all" : "";
      app.tell("selected");
    });
    app.listen((change) => {
      if (change === "run") {
        this.runs++;
        this.view = undefined;
        this.asked = "";
        this.at = -1;
      }
      if (["run", "cycle", "selected", "view"].includes(change)) this.render();
    });
  }

  private render(): void {
    const { summary, linked } = this.app;
    const several = (summary?.sizes.cores ?? 1) > 1;
    this.element.hidden = !several;
    if (!several) return;
    this.element.open = linked.line !== "";
    if (linked.line === "") return;
    if (this.asked !== linked.line) {
      void this.ask();
      return;
    }
    if (this.view) this.show(this.view);
  }

  private async ask(): Promise<void> {
    const { app, runs } = this;
    const { line } = app.linked;
    this.asked = line;
    if (!this.view) fill(this.body, h("p", { role: "status" }, "…"));
    try {
      const view = await app.api.ask("coherence", { ask: "coherence", line: line === "all" ? null : line });
      if (runs !== this.runs || line !== app.linked.line) return;
      if (line !== "all" && view.lines.length > 0 && !view.lines.some(({ address }) => address === line)) {
        // A line of another program.
        app.linked.line = "all";
        app.tell("selected");
        return;
      }
      this.view = view;
      this.at = -1;
      this.show(view);
    } catch (error) {
      if (runs === this.runs) fill(this.body, h("p", {}, error instanceof Error ? error.message : String(error)));
    }
  }

  /** Goes to the message before or behind the one that is looked at. */
  async step(by: number): Promise<void> {
    const message = this.view?.messages[this.at + by];
    if (!message) return;
    this.at += by;
    await this.goTo(message);
  }

  private async goTo(message: Message): Promise<void> {
    await this.app.go(message.cycle);
    if (this.view) this.show(this.view);
  }

  /** The last message up to the cycle, unless one of the cycle is looked at. */
  private follow({ messages }: CoherenceView): void {
    const { cycle } = this.app.linked;
    if (messages[this.at]?.cycle === cycle) return;
    let [low, high] = [0, messages.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (messages[middle]!.cycle <= cycle) low = middle + 1;
      else high = middle;
    }
    this.at = low - 1;
  }

  private show(view: CoherenceView): void {
    if (view.missing) {
      fill(this.body, h("p", {}, t(view.missing)));
      return;
    }
    this.follow(view);
    const { messages, lines } = view;
    const now = messages[this.at];
    const options: [string, string][] = [
      ["all", t("all lines that several cores ask for ({n})", { n: lines.length })],
      ...lines.map(({ address, place, messages }): [string, string] => [address, t("{address} {place}: {n} message|{address} {place}: {n} messages", { address, place, n: grouped(messages) })]),
    ];
    const button = (text: string, by: number, about: string): HTMLElement =>
      h("button", { type: "button", "aria-label": about, title: about, disabled: messages[this.at + by] === undefined, onclick: () => void this.step(by) }, text);
    const focused = this.body.contains(document.activeElement) ? document.activeElement!.getAttribute("aria-label") : null;
    const left = view.left_out > 0 ? `; ${t("{n} more are left out", { n: grouped(view.left_out) })}` : "";
    fill(
      this.body,
      h(
        "div",
        { class: "bar" },
        labelled(
          t("Line"),
          choice(options, this.app.linked.line, (line) => {
            this.app.linked.line = line;
            this.app.tell("selected");
          }),
        ),
        h("span", { class: "joined" }, button(t("◂ Message"), -1, t("To the message before")), button(t("Message ▸"), 1, t("To the next message"))),
        h("span", { class: "faint", role: "status" }, `${t("message {n} of {all}", { n: grouped(this.at + 1), all: grouped(messages.length) })}${left}`),
      ),
      now ? this.picture(view, now) : h("p", {}, t("No message up to this cycle.")),
      now ? h("p", { class: "message-said", "aria-live": "polite" }, h("b", {}, t("Cycle {cycle}, {kind}, line {line}:", { cycle: grouped(now.cycle), kind: KINDS[now.kind] ?? now.kind, line: now.line })), " ", `${inWords(now)}.`) : null,
      this.list(view),
      h("p", { class: "faint" }, `${t(view.protocol === "directory" ? "A directory knows who has each line." : "All cores snoop on one bus.")} ${t("The model decides a request at once; its parts have the cycles that it gives them.")} `, Object.entries(STATES).map(([letter, says]) => `${letter}, ${says}. `)),
    );
    const same = focused && this.body.querySelector<HTMLElement>(`[aria-label="${focused}"]`);
    if (same) same.focus({ preventScroll: true });
  }

  /** Cores above, what they share below, and the message as an arrow. */
  private picture({ cores, protocol }: CoherenceView, now: Message): HTMLElement {
    const below = [protocol === "directory" ? "directory" : "bus", ...["level 2", "level 3", "memory"].filter((name) => name === now.from || name === now.to)];
    const width = 640;
    const place = new Map<string, [number, number]>();
    for (let core = 0; core < cores; core++) place.set(`core ${core}`, [((core + 0.5) * width) / cores, 30]);
    below.forEach((name, at) => place.set(name, [((at + 0.5) * width) / below.length, 140]));
    const box = ([name, [x, y]]: [string, [number, number]]): string => {
      const core = name.startsWith("core ") ? Number(name.slice(5)) : -1;
      const [was, is] = [now.before[core], now.after[core]];
      const state = core < 0 ? "" : was === is ? `: ${is}` : `: ${was} → ${is}`;
      const classes = [name === now.from || name === now.to ? "ends" : "", was !== is ? "changed" : "", core >= 0 && is !== "I" ? "holds" : ""].filter(Boolean).join(" ");
      return `<g class="${classes}"><rect x="${x - 66}" y="${y - 18}" width="132" height="36" rx="5"/><text x="${x}" y="${y + 5}" text-anchor="middle">${nameOf(name)}${state}</text></g>`;
    };
    const [from, to] = [place.get(now.from), place.get(now.to)];
    const bend = from && to && from[1] === to[1] ? 40 : 0;
    const end = (at: [number, number], other: [number, number]): number => (at[1] === other[1] ? at[1] + 19 : at[1] < other[1] ? at[1] + 19 : at[1] - 19);
    const arrow =
      from && to && now.from !== now.to
        ? `<path class="way" marker-end="url(#message-tip)" d="M${from[0]} ${end(from, to)} Q${(from[0] + to[0]) / 2} ${(end(from, to) + end(to, from)) / 2 + bend} ${to[0]} ${end(to, from)}"/>`
        : "";
    const picture = h("div", { class: "messages-picture", tabIndex: 0, role: "img", "aria-label": t("{from} to {to}: {kind}. States of the line before: {before}, behind: {after}", { from: nameOf(now.from), to: nameOf(now.to), kind: KINDS[now.kind] ?? now.kind, before: now.before, after: now.after }) });
    picture.innerHTML = `<svg viewBox="0 0 ${width} 172" aria-hidden="true"><defs><marker id="message-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>${[...place].map(box).join("")}${arrow}</svg>`;
    return picture;
  }

  private list({ messages, cores }: CoherenceView): HTMLElement {
    const first = Math.max(0, this.at - AROUND);
    const shown = messages.slice(first, Math.max(0, this.at) + AROUND + 1);
    const states = (message: Message) =>
      Array.from({ length: cores }, (_, core) => {
        const [was, is] = [message.before[core], message.after[core]];
        return h("td", { class: was === is ? `state-${is}` : `state-${is} moved` }, was === is ? is : `${was} → ${is}`);
      });
    return h(
      "div",
      { class: "wide", tabIndex: 0, role: "region", "aria-label": t("Messages around this one") },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, [t("cycle"), t("message"), t("from"), t("to"), t("line"), ...Array.from({ length: cores }, (_, core) => nameOf(`core ${core}`))].map((name) => h("th", { scope: "col" }, name)))),
        h(
          "tbody",
          {},
          shown.map((message, at) =>
            h(
              "tr",
              { class: first + at === this.at ? "wins" : "", "aria-current": first + at === this.at ? "true" : undefined, title: inWords(message) },
              h(
                "th",
                { scope: "row" },
                h("button", { type: "button", class: "link", "aria-label": t("Cycle {cycle}, message {n}", { cycle: grouped(message.cycle), n: first + at + 1 }), onclick: () => {
                  this.at = first + at;
                  void this.goTo(message);
                } }, grouped(message.cycle)),
              ),
              h("td", {}, KINDS[message.kind] ?? message.kind),
              h("td", {}, nameOf(message.from)),
              h("td", {}, nameOf(message.to)),
              h("td", {}, h("code", {}, message.line)),
              states(message),
            ),
          ),
        ),
      ),
    );
  }
}
