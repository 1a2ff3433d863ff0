// Questions to the simulator, wherever it runs.

import { Engine } from "./engine";
import { sentence, t } from "./language";
import type { Answer, Problem, Request } from "./types";

type Kind = Answer["answer"];
type AnswerOf<K extends Kind> = Extract<Answer, { answer: K }>;

/** A question that cannot be answered, with the place of the reason, in the page's language. */
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

/** Why this browser cannot show the page; nothing if it can. */
export function missing(): string | undefined {
  if (typeof WebAssembly !== "object" || typeof WebAssembly.instantiateStreaming !== "function") return "WebAssembly";
  if (typeof DecompressionStream !== "function") return "DecompressionStream";
  return undefined;
}

/** The compressed simulator inside the page. */
function packed(): Uint8Array<ArrayBuffer> {
  const text = document.getElementById("simulator")!.textContent!.trim();
  // Newer browsers decode it at once. This is two million characters, and somebody waits.
  const quick = (Uint8Array as unknown as { fromBase64?(text: string): Uint8Array<ArrayBuffer> }).fromBase64;
  if (quick) return quick.call(Uint8Array, text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at);
  return bytes;
}

/** Where questions are answered. */
interface Simulator {
  ask(request: Request): Promise<Answer>;
  /** Ends what it does, and forgets its run. */
  stop(): Promise<void>;
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** In a worker, so that the page never waits. */
class InWorker implements Simulator {
  private worker!: Worker;
  private next = 0;
  private readonly waiting = new Map<number, Waiting>();

  private constructor(private readonly bytes: Uint8Array<ArrayBuffer>) {}

  static async of(bytes: Uint8Array<ArrayBuffer>): Promise<InWorker> {
    const simulator = new InWorker(bytes);
    await simulator.start();
    return simulator;
  }

  private start(): Promise<unknown> {
    const text = document.getElementById("worker")!.textContent!;
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(url);
    this.worker = worker;
    return new Promise((resolve, reject) => {
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message || t("the worker cannot be started")));
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
        if (error) waiting?.reject(new Error(t("the simulator stopped: {error}", { error })));
        else waiting?.resolve(answer);
      };
      worker.postMessage({ id: -1, bytes: this.bytes });
    });
  }

  async stop(): Promise<void> {
    this.worker.terminate();
    for (const waiting of this.waiting.values()) waiting.reject(new Error(t("stopped")));
    this.waiting.clear();
    await this.start();
  }

  ask(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, request });
    });
  }
}

/** In the page itself, which waits for it. */
class InPage implements Simulator {
  private constructor(private readonly engine: Engine) {}

  static async of(bytes: Uint8Array<ArrayBuffer>): Promise<InPage> {
    return new InPage(await Engine.of(bytes));
  }

  async ask(request: Request): Promise<Answer> {
    await new Promise((resolve) => setTimeout(resolve));
    return this.engine.ask(request);
  }

  async stop(): Promise<void> {}
}

/** In the command that serves the page. */
class InServer implements Simulator {
  private session = crypto.randomUUID();
  private ending = new AbortController();

  constructor(private readonly token: string) {}

  async ask(request: Request): Promise<Answer> {
    let answer: Response;
    try {
      answer = await fetch("/ask", {
        method: "POST",
        headers: { "x-hps-token": this.token, "x-hps-session": this.session },
        body: JSON.stringify(request),
        signal: this.ending.signal,
      });
    } catch {
      const stopped = this.ending.signal.aborted;
      throw new Error(stopped ? t("stopped") : t("hps teach --serve does not answer any more; start it again, and load this page"));
    }
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return (await answer.json()) as Answer;
  }

  /** The run that is under way goes on to its end, for nobody. */
  async stop(): Promise<void> {
    this.ending.abort();
    this.ending = new AbortController();
    this.session = crypto.randomUUID();
  }
}

export class Api {
  private simulator!: Simulator;
  private readonly token = JSON.parse(document.getElementById("server")!.textContent!) as string | null;

  /** The page asks the command that has served it. */
  get isServed(): boolean {
    return this.token !== null;
  }

  async start(): Promise<void> {
    if (this.token !== null) {
      this.simulator = new InServer(this.token);
      return;
    }
    const bytes = packed();
    try {
      this.simulator = await InWorker.of(bytes);
    } catch {
      // Some browsers refuse workers to pages from disk.
      this.simulator = await InPage.of(bytes);
    }
  }

  stop(): Promise<void> {
    return this.simulator.stop();
  }

  /** Asks, and gives the answer of the kind that belongs to the question. */
  async ask<K extends Kind>(kind: K, request: Request): Promise<AnswerOf<K>> {
    const answer = await this.simulator.ask(request);
    if (answer.answer === "problem") throw new Refusal(answer.said ? { ...answer, message: sentence(answer.said) } : answer);
    if (answer.answer !== kind) throw new Error(`an answer of kind ${answer.answer} to ${request.ask}`);
    return answer as AnswerOf<K>;
  }
}
