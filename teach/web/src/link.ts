// The state of the page in its address, so that a link shows the same.

import type { ProfileOrder, Setup } from "./types";

export type View = "pipeline" | "compare" | "dise" | "profilers";
export type Tab = "registers" | "memory" | "code" | "function" | "loop" | "output" | "counters";

/** An answer to a question of a lesson. */
export interface Given {
  text: string;
  right: boolean;
  /** Answers up to the first right one, that one included. */
  tries: number;
  /** Seconds from the first sight of the question to the first right answer, or to the last answer. */
  seconds: number;
}

/** A place of a run that somebody wants to come back to. */
export interface Bookmark {
  cycle: number;
  row: number | null;
}

/** What a link carries. Programs from files are not part of it. */
export interface Linked {
  view: View;
  setup: Setup;
  /** The run that is kept for a comparison. */
  pinned: Setup | null;
  cycle: number;
  /** The hardware context that is looked at. */
  context: number;
  /** The instruction that is selected on the time line. */
  selected: number | null;
  breakpoints: string[];
  /** The event that steps go to. */
  event: string;
  /** Width of a cycle on the time line, as a number of the list of widths. */
  zoom: number;
  /** The state that is shown beside the blocks. */
  tab: Tab;
  /** The memory that is shown: an address or a symbol. */
  address: string;
  /** How it is shown. */
  form: "bytes" | "words" | "doublewords" | "text" | "picture";
  /** The table of the machine that is shown, and its set. */
  table: string;
  set: number;
  /** The line whose coherence is shown, `all` lines, or nothing while that is closed. */
  line: string;
  /** The text in the editor of productions, which need not have run. */
  productions: string | null;
  /** The text in the editor of C, if it has not been compiled. */
  c: string | null;
  order: ProfileOrder;
  /** The profiler whose samples are on the time line. */
  marks: string;
  lesson: number;
  step: number;
  answers: Record<string, Given>;
  /** The lesson stands beside the machine. */
  lessonsOpen: boolean;
  /** Wrong paths are left out of the time line. */
  hideWrong: boolean;
  /** Dependences of the selected instruction are drawn on the time line. */
  arrows: boolean;
  bookmarks: Bookmark[];
  /** What is open below the bar: the program's text, the machine's keys, or nothing. */
  drawer: "" | "program" | "machine";
  /** Lessons that were opened from files. */
  lessons: { name: string; text: string }[];
}

const toText = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const toBytes = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function write(linked: Linked): Promise<string> {
  const plain = { ...linked, setup: { ...linked.setup } };
  if (plain.setup.program.kind === "file") {
    plain.setup.program = { kind: "built_in", name: "bwt", isa: "riscv64", size: "small" };
  }
  if (plain.pinned?.program.kind === "file") plain.pinned = null;
  const bytes = new TextEncoder().encode(JSON.stringify(plain));
  return "#" + toText(await through(bytes, new CompressionStream("deflate-raw")));
}

/** The state of an address; nothing if it has none or a damaged one. */
export async function read(hash: string): Promise<Partial<Linked> | undefined> {
  if (hash.length < 2) return undefined;
  try {
    const bytes = await through(toBytes(hash.slice(1)), new DecompressionStream("deflate-raw"));
    const linked = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Linked>;
    return typeof linked === "object" ? linked : undefined;
  } catch {
    return undefined;
  }
}
