// Answers as files: a learner's, which is signed, and a class's, as CSV.
//
// The key pair is made when the file is saved, and the file has its public half: a signature shows that the file is as
// the page has written it. It does not show who sat in front of the page.

import { t } from "./language";
import type { Given } from "./link";

const CURVE = { name: "ECDSA", namedCurve: "P-256" };
const SIGN = { name: "ECDSA", hash: "SHA-256" };

/** An answer in a file. */
export interface Answered extends Given {
  lesson: string;
  question: string;
  words: string;
}

interface Saved {
  format: "hps-answers-1";
  learner: string;
  saved: string;
  answers: Answered[];
}

const base64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const bytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const encoded = (saved: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(saved) as Uint8Array<ArrayBuffer>;

/** The text of a learner's file. */
export async function sign(learner: string, answers: Answered[]): Promise<string> {
  const saved: Saved = { format: "hps-answers-1", learner, saved: new Date().toISOString(), answers };
  const content = JSON.stringify(saved);
  const pair = await crypto.subtle.generateKey(CURVE, true, ["sign", "verify"]);
  const signature = base64(await crypto.subtle.sign(SIGN, pair.privateKey, encoded(content)));
  const key = base64(await crypto.subtle.exportKey("raw", pair.publicKey));
  return `${JSON.stringify({ content, key, signature })}\n`;
}

/** What a learner's file says, and whether it is as it was saved. */
export async function verify(text: string): Promise<{ saved: Saved; intact: boolean }> {
  const { content, key, signature } = JSON.parse(text) as { content: string; key: string; signature: string };
  const saved = JSON.parse(content) as Saved;
  if (saved.format !== "hps-answers-1") throw new Error(t("this is no file of answers"));
  const known = await crypto.subtle.importKey("raw", bytes(key), CURVE, false, ["verify"]);
  const intact = await crypto.subtle.verify(SIGN, known, bytes(signature), encoded(content));
  return { saved, intact };
}

/** A cell of CSV. What a spreadsheet would take for a formula gets a quote in front. */
const cell = (value: string | number | boolean): string => {
  const text = typeof value === "string" && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** The answers of a class, one a line. */
export async function collect(files: { name: string; text: string }[]): Promise<string> {
  const lines = [["file", "learner", "intact", "saved", "lesson", "question", "right", "tries", "seconds", "answer"]];
  for (const { name, text } of files) {
    try {
      const { saved, intact } = await verify(text);
      for (const one of saved.answers) {
        lines.push([name, saved.learner, intact, saved.saved, one.lesson, one.question, one.right, one.tries, one.seconds, one.text].map(cell));
      }
    } catch {
      lines.push([cell(name), "", "unreadable", "", "", "", "", "", "", ""]);
    }
  }
  return `${lines.map((line) => line.join(",")).join("\n")}\n`;
}
