// Edits of registers and memory: the run is made again with them.

import type { App } from "./app";
import { grouped, h } from "./dom";
import { nameOf, pieces, t } from "./language";
import type { Edit } from "./types";

/** The bytes of a number as it is written, `-5`, `0x1f` or `12`, the lowest first; why it has none otherwise. */
export function bytesOf(text: string, bytes: number): { bytes: string } | { why: string } {
  const written = text.trim().replaceAll("_", "");
  if (!/^-?(0x[0-9a-f]+|\d+)$/i.test(written)) return { why: t("Write a number: 12, -5 or 0x1f.") };
  const size = BigInt(8 * bytes);
  const positive = BigInt(written.replace("-", ""));
  const value = written.startsWith("-") ? -positive : positive;
  if (value >= 1n << size || value < -(1n << (size - 1n))) return { why: t("This does not fit into {n} byte.|This does not fit into {n} bytes.", { n: bytes }) };
  const digits = BigInt.asUintN(Number(size), value).toString(16).padStart(2 * bytes, "0");
  return { bytes: (digits.match(/../g) ?? []).reverse().join("") };
}

/** The number of an edit's bytes. */
const valueOf = ({ bytes }: Edit): string => `0x${BigInt(`0x${(bytes.match(/../g) ?? []).reverse().join("")}`).toString(16)}`;

/** Edits in the cycle that is looked at, and runs again. Gives why a number cannot be set. */
export function edit(app: App, place: string, text: string, size: number): string | undefined {
  const found = bytesOf(text, size);
  if ("why" in found) return found.why;
  const { stateView } = app;
  if (!stateView) return t("The registers of this cycle have not arrived yet.");
  const { setup, context } = app.linked;
  const one: Edit = { instructions: stateView.instructions, context, place, bytes: found.bytes };
  setup.edits = [...setup.edits.filter((other) => other.instructions !== one.instructions || !isOf(other, place, context)), one];
  again(app);
  return undefined;
}

/** Whether an edit is one of this place. Threads have registers of their own, and share memory. An old link names no context. */
const isOf = (edit: Edit, place: string, context: number): boolean => edit.place === place && ((edit.context ?? 0) === context || place.startsWith("0x"));

function again(app: App): void {
  app.tell("setup");
  void app.run();
}

/** The cycle of the last edit of a place up to the cycle that is looked at. */
export function editedAt(app: App, place: string): number | undefined {
  const cycles = app.linked.setup.edits.map((one, at) => (isOf(one, place, app.linked.context) ? app.summary?.edited[at] : undefined));
  const before = cycles.filter((cycle) => typeof cycle === "number" && cycle <= app.linked.cycle) as number[];
  return before.length > 0 ? Math.max(...before) : undefined;
}

/** All edits, each with a button that takes it back. */
export function editList(app: App): HTMLElement | null {
  const { edits } = app.linked.setup;
  if (edits.length === 0) return null;
  const contexts = app.summary?.contexts ?? [];
  return h(
    "ul",
    { class: "edits", "aria-label": t("Edits") },
    edits.map((one, at) => {
      const cycle = app.summary?.edited[at] ?? null;
      const what = `${one.place} = ${valueOf(one)}`;
      return h(
        "li",
        {},
        h("code", {}, what),
        contexts.length > 1 ? ` (${nameOf(contexts[one.context ?? 0]!)})` : "",
        cycle === null
          ? ` ${t(app.summary ? "behind {n} instructions, which the run does not reach" : "behind {n} instructions", { n: grouped(one.instructions) })} `
          : [" ", pieces("in {cycle}", { cycle: h("button", { type: "button", class: "link", onclick: () => void app.go(cycle) }, t("cycle {cycle}", { cycle: grouped(cycle) })) }), " "],
        h(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": t("Take back {what}", { what }),
            onclick: () => {
              edits.splice(at, 1);
              again(app);
            },
          },
          t("Take back"),
        ),
      );
    }),
  );
}

/** A number that can be edited: by a double click, or by Enter. */
export function cell(text: string, about: string, from: string, set: (text: string) => string | undefined): HTMLElement {
  const element: HTMLElement = h("span", { class: "cell", role: "button", tabIndex: -1, title: t("Double click or Enter: edit"), "aria-label": t("{about}: {value}. Edit", { about, value: text.trim() }) }, text);
  const begin = (): void => inPlace(element, about, from, set);
  element.addEventListener("dblclick", begin);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    begin();
  });
  return element;
}

/** An input in the place of a cell. Enter sets, Escape leaves. */
function inPlace(element: HTMLElement, about: string, from: string, set: (text: string) => string | undefined): void {
  const input = h("input", { class: "edit", value: from, "aria-label": about, spellcheck: false, size: Math.max(4, from.length) });
  let ended = false;
  // Taking the input away takes the focus from it, too.
  const end = (): void => {
    if (!ended) {
      ended = true;
      input.replaceWith(element);
    }
  };
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      end();
      element.focus();
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    const why = set(input.value);
    if (why === undefined) return end();
    input.setCustomValidity(why);
    input.reportValidity();
  });
  input.addEventListener("input", () => input.setCustomValidity(""));
  input.addEventListener("blur", end);
  element.replaceWith(input);
  input.focus();
  input.select();
}

/** Cells as one stop of the keyboard: arrow keys lead from one to the next. */
export function walked(element: HTMLElement): HTMLElement {
  const cells = (): HTMLElement[] => Array.from(element.querySelectorAll<HTMLElement>(".cell"));
  const first = cells()[0];
  if (first) first.tabIndex = 0;
  element.addEventListener("keydown", (event) => {
    const all = cells();
    const here = all.indexOf(event.target as HTMLElement);
    if (here < 0 || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
    const to = next(all, here, event.key);
    all[here]!.tabIndex = -1;
    all[to]!.tabIndex = 0;
    all[to]!.focus();
  });
  return element;
}

/** The cell beside another one, or the nearest one in the row above or below. */
function next(all: HTMLElement[], here: number, key: string): number {
  if (key === "ArrowRight") return Math.min(all.length - 1, here + 1);
  if (key === "ArrowLeft") return Math.max(0, here - 1);
  const down = key === "ArrowDown";
  const places = all.map((one) => one.getBoundingClientRect());
  const from = places[here]!;
  const beyond = [...all.keys()].filter((at) => (down ? places[at]!.top >= from.bottom - 1 : places[at]!.bottom <= from.top + 1));
  const distance = (at: number) => 1000 * Math.abs(places[at]!.top - from.top) + Math.abs(places[at]!.left - from.left);
  return beyond.reduce((best, at) => (best === here || distance(at) < distance(best) ? at : best), here);
}
