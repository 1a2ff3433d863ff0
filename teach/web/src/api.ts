// Questions to the simulator, wherever it runs.

import type {} from "./boot";
import { Compiler, Engine } from "./engine";
import { sentence, t } from "./language";
import { launchAgain, type Launched } from "./launch";
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
  if (typeof WebAssembly !== "object" || typeof WebAssembly.compileStreaming !== "function") return "WebAssembly";
  if (typeof DecompressionStream !== "function") return "DecompressionStream";
  return undefined;
}

/** Where questions are answered. */
interface Simulator {
  ask(request: Request): Promise<Answer>;
  /** Ends what it does, and forgets its run. */
  stop(): Promise<void>;
}

interface Waiting {
  request: Request;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** In a worker, so that the page never waits. */
class InWorker implements Simulator {
  private worker!: Worker;
  private module!: Promise<WebAssembly.Module>;
  private next = 0;
  private readonly waiting = new Map<number, Waiting>();

  constructor(launched: Launched) {
    this.attach(launched);
  }

  private attach({ worker, module }: Launched): void {
    this.worker = worker;
    this.module = module;
    worker.addEventListener("message", ({ data }: MessageEvent<{ id?: number; answer: Answer; error?: string }>) => {
      const { id, answer, error } = data;
      if (id === undefined) return;
      const waiting = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) waiting?.reject(new Error(t("the simulator stopped: {error}", { error })));
      else waiting?.resolve(answer);
    });
  }

  /** The simulator is compiled. Questions may be asked earlier. */
  async ready(): Promise<void> {
    await this.module;
  }

  async stop(): Promise<void> {
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(new Error(t("stopped")));
    this.waiting.clear();
    this.attach(launchAgain(await this.module));
    await this.module;
  }

  ask(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { request, resolve, reject });
      this.worker.postMessage({ id, request });
    });
  }

  /** Has the questions that wait answered elsewhere. */
  handOver(to: Simulator): void {
    for (const { request, resolve, reject } of this.waiting.values()) to.ask(request).then(resolve, reject);
    this.waiting.clear();
  }
}

/** In the page itself, which waits for it. */
class InPage implements Simulator {
  private constructor(private readonly engine: Engine) {}

  static async of(): Promise<InPage> {
    const compiler = new Compiler();
    for (const part of document.querySelectorAll("script.simulator")) compiler.take(part.textContent!);
    compiler.end();
    return new InPage(await Engine.of(await compiler.module));
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

/** A simulator has the worker that was started in front of the page. */
let isTaken = false;

export class Api {
  /** A worker is here before its simulator is, since questions wait there. */
  private simulator: Simulator | undefined;
  private starting!: Promise<Simulator>;
  private readonly token = JSON.parse(document.getElementById("server")!.textContent!) as string | null;

  /** The page asks the command that has served it. */
  get isServed(): boolean {
    return this.token !== null;
  }

  /** Starts the simulator; resolves when it is there. It may be asked at once. */
  async start(): Promise<void> {
    this.starting = this.begin();
    await this.starting;
  }

  private async begin(): Promise<Simulator> {
    if (this.token !== null) return (this.simulator = new InServer(this.token));
    const { launched } = window.hpsBoot;
    let worker: InWorker | undefined;
    try {
      if (!launched) throw new Error(t("the worker cannot be started"));
      // The first simulator takes the worker in front of the page, another one a worker of its own.
      worker = new InWorker(isTaken ? launchAgain(await launched.module) : launched);
      isTaken = true;
      this.simulator = worker;
      await worker.ready();
      return worker;
    } catch {
      // Some browsers refuse workers to pages from disk.
      this.simulator = await InPage.of();
      worker?.handOver(this.simulator);
      return this.simulator;
    }
  }

  stop(): Promise<void> {
    return this.simulator!.stop();
  }

  /** Asks, and gives the answer of the kind that belongs to the question. */
  async ask<K extends Kind>(kind: K, request: Request): Promise<AnswerOf<K>> {
    const answer = await (this.simulator ?? (await this.starting)).ask(request);
    if (answer.answer === "problem") throw new Refusal(answer.said ? { ...answer, message: sentence(answer.said) } : answer);
    if (answer.answer !== kind) throw new Error(`an answer of kind ${answer.answer} to ${request.ask}`);
    return answer as AnswerOf<K>;
  }
}
