// Memory behind the last commit of a cycle: as bytes, words or text, or as a picture.

import type { App } from "./app";
import { choice, fill, grouped, h, labelled } from "./dom";
import { cell, edit, editedAt, walked } from "./edits";
import { t } from "./language";
import type { Linked } from "./link";

/** The picture: this many pixels in a row, and rows; a byte each, three bits of red and green, two of blue. */
const SIDE = 64;
/** The symbol that a program gives to its picture. */
const SCREEN = "screen";

type Form = Linked["form"];

const FORMS: [Form, string][] = [
  ["bytes", t("bytes")],
  ["words", t("words of 4 bytes")],
  ["doublewords", t("words of 8 bytes")],
  ["text", t("text")],
  ["picture", t("a picture")],
];

const BYTES: Record<Form, number> = { bytes: 256, words: 256, doublewords: 256, text: 1024, picture: SIDE * SIDE };

const printable = (byte: string): string => {
  const code = parseInt(byte, 16);
  return code >= 32 && code < 127 ? String.fromCharCode(code) : "·";
};

/** Bytes of a word, the lowest first, as a signed number. */
function number(bytes: string[]): string {
  if (bytes.includes("--")) return "--";
  const value = BigInt(`0x${[...bytes].reverse().join("")}`);
  return BigInt.asIntN(8 * bytes.length, value).toString();
}

/** Red, green and blue of a pixel's byte, from 0 to 255. */
export const colors = (byte: number): [number, number, number] => [
  Math.round(((byte >> 5) * 255) / 7),
  Math.round((((byte >> 2) & 7) * 255) / 7),
  Math.round(((byte & 3) * 255) / 3),
];

export class MemoryPanel {
  readonly element = h("div", { class: "memory" });
  private bytes: string[] = [];
  /** The bytes of the cycle that was looked at before. */
  private before: string[] = [];
  private bytesOf = 0;
  /** The address of the first byte. */
  private first = 0n;
  private readonly shown = h("div", {});

  constructor(private readonly app: App) {
    this.render();
  }

  /** The run is another one. */
  reset(): void {
    this.bytes = [];
    this.before = [];
  }

  render(): void {
    const { linked } = this.app;
    const address = h("input", {
      value: linked.address,
      "aria-label": t("Address or symbol"),
      onchange: () => {
        linked.address = address.value;
        void this.read(true);
      },
    });
    const form = choice(FORMS, linked.form, (name) => {
      linked.form = name as Form;
      this.app.tell("selected");
      void (linked.form === "picture" ? this.readScreen(address) : this.read(true));
    });
    fill(
      this.element,
      h("div", { class: "bar" }, address, h("button", { type: "button", onclick: () => void this.read(true) }, t("Read")), labelled(t("as"), form)),
      this.shown,
    );
    this.show();
  }

  private show(): void {
    const { form } = this.app.linked;
    if (this.bytes.length === 0) {
      fill(this.shown, h("p", { class: "faint" }, form === "picture" ? t("A picture has {side} rows of {side} bytes, a pixel each; programs call it {symbol}.", { side: SIDE, symbol: SCREEN }) : t("Write an address or the name of a symbol.")));
      return;
    }
    fill(this.shown, form === "picture" ? this.picture() : form === "text" ? h("pre", {}, this.text()) : walked(h("pre", {}, this.numbers(form))));
  }

  /** Rows of numbers that can be edited; what has changed since the cycle before, or was edited, is marked. */
  private numbers(form: Form): (Node | string)[] {
    const size = form === "words" ? 4 : form === "doublewords" ? 8 : 1;
    const lines: (Node | string)[] = [];
    const width = size === 1 ? 2 : size === 4 ? 11 : 20;
    for (let at = 0; at < this.bytes.length; at += 16) {
      lines.push(`${at.toString(16).padStart(3, "0")}  `);
      for (let from = at; from < at + 16; from += size) {
        const now = this.bytes.slice(from, from + size);
        const same = now.every((byte, i) => byte === this.before[from + i]);
        const text = size === 1 ? now[0]! : number(now);
        const place = `0x${(this.first + BigInt(from)).toString(16)}`;
        const said = now.includes("--")
          ? text.padStart(width)
          : cell(text.padStart(width), place, size === 1 ? `0x${text}` : text, (written) => edit(this.app, place, written, size));
        const at = editedAt(this.app, place);
        lines.push(same && at === undefined ? said : h("mark", { title: at === undefined ? undefined : t("edited in cycle {cycle}", { cycle: at }) }, said), " ");
      }
      lines.push(size === 1 ? ` ${this.bytes.slice(at, at + 16).map(printable).join("")}\n` : "\n");
    }
    return lines;
  }

  private text(): (Node | string)[] {
    const lines: (Node | string)[] = [];
    for (let at = 0; at < this.bytes.length; at += 64) {
      lines.push(`${at.toString(16).padStart(3, "0")}  ${this.bytes.slice(at, at + 64).map(printable).join("")}\n`);
    }
    return lines;
  }

  private picture(): Node {
    const canvas = h("canvas", { width: String(SIDE), height: String(SIDE), class: "screen", role: "img" });
    const lit = this.bytes.filter((byte) => byte !== "00" && byte !== "--").length;
    canvas.setAttribute("aria-label", t("Picture of memory at {address}: {n} of {all} pixels are not black", { address: this.app.linked.address, n: grouped(lit), all: grouped(SIDE * SIDE) }));
    const pen = canvas.getContext("2d");
    if (pen) {
      const image = pen.createImageData(SIDE, SIDE);
      this.bytes.forEach((byte, at) => image.data.set([...colors(parseInt(byte, 16) || 0), 255], 4 * at));
      pen.putImageData(image, 0, 0);
    }
    return canvas;
  }

  /** Reads the program's picture, or where it has none the memory that was shown. */
  private async readScreen(address: HTMLInputElement): Promise<void> {
    const { linked } = this.app;
    const { cycle, context } = linked;
    const named = await this.app.api.ask("memory", { ask: "memory", cycle, context, address: SCREEN, bytes: 1 }).catch(() => undefined);
    if (named) linked.address = address.value = SCREEN;
    await this.read(true);
  }

  /** Reads memory of the cycle. An error is told only if somebody asked. */
  async read(loudly: boolean): Promise<void> {
    const { cycle, context, address, form } = this.app.linked;
    try {
      const { bytes, address: first } = await this.app.api.ask("memory", { ask: "memory", cycle, context, address, bytes: BYTES[form] });
      const now = this.app.linked;
      if (cycle !== now.cycle || context !== now.context || address !== now.address || form !== now.form) return;
      if (loudly || this.before.length === 0) this.before = bytes;
      else if (cycle !== this.bytesOf) this.before = this.bytes;
      this.bytes = bytes;
      this.bytesOf = cycle;
      this.first = BigInt(first);
      this.show();
    } catch (error) {
      if (loudly) this.app.fail(error);
    }
  }
}
