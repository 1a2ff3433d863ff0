// Questions to the simulator, wherever it runs.

import { Engine } from "./engine";
import type { Answer, Problem, Request } from "./types";

type Kind = Answer["answer"];
type AnswerOf<K extends Kind> = Extract<Answer, { answer: K }>;

/** A question that cannot be answered, with the place of the reason. */
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

/** Why this browser cannot show the page; nothing if it can. */
export function missing(): string | undefined {
  if (typeof WebAssembly !== "object") return "WebAssembly";
  if (typeof DecompressionStream !== "function") return "DecompressionStream";
  return undefined;
}

async function simulator(): Promise<ArrayBuffer> {
  const text = document.getElementById("simulator")!.textContent!.trim();
  const characters = atob(text);
  const packed = new Uint8Array(characters.length);
  // A loop: this is two million characters, and somebody waits.
  for (let at = 0; at < packed.length; at++) packed[at] = characters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export class Api {
  private worker: Worker | undefined;
  private engine: Engine | undefined;
  private bytes: ArrayBuffer | undefined;
  private next = 0;
  private readonly waiting = new Map<number, Waiting>();

  async start(): Promise<void> {
    this.bytes = await simulator();
    try {
      await this.startWorker();
    } catch {
      // Some browsers refuse workers to pages from disk: the page then waits for the simulator.
      this.worker = undefined;
      this.engine = await Engine.of(this.bytes.slice(0));
    }
  }

  private startWorker(): Promise<unknown> {
    const text = document.getElementById("worker")!.textContent!;
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(url);
    this.worker = worker;
    return new Promise((resolve, reject) => {
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message || "the worker cannot be started"));
      };
      worker.onmessage = (event: MessageEvent<{ id: number; answer: Answer; error?: string }>) => {
        const { id, answer, error } = event.data;
        if (id < 0) {
          if (error) reject(new Error(error));
          else resolve(null);
          return;
        }
        const waiting = this.waiting.get(id);
        this.waiting.delete(id);
        if (error) waiting?.reject(new Error(`the simulator stopped: ${error}`));
        else waiting?.resolve(answer);
      };
      worker.postMessage({ id: -1, bytes: this.bytes });
    });
  }

  /** Ends what the simulator does, and forgets its run. */
  async stop(): Promise<void> {
    if (!this.worker) return;
    this.worker.terminate();
    for (const waiting of this.waiting.values()) waiting.reject(new Error("stopped"));
    this.waiting.clear();
    await this.startWorker();
  }

  private send(request: Request): Promise<Answer> {
    if (this.engine) {
      const engine = this.engine;
      return new Promise((resolve) => setTimeout(resolve)).then(() => engine.ask(request));
    }
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { resolve, reject });
      this.worker!.postMessage({ id, request });
    });
  }

  /** Asks, and gives the answer of the kind that belongs to the question. */
  async ask<K extends Kind>(kind: K, request: Request): Promise<AnswerOf<K>> {
    const answer = await this.send(request);
    if (answer.answer === "problem") throw new Refusal(answer);
    if (answer.answer !== kind) throw new Error(`an answer of kind ${answer.answer} to ${request.ask}`);
    return answer as AnswerOf<K>;
  }
}
