// The simulator: one instance of the compiled module, asked in text.

import type { Answer, Request } from "./types";

interface Exports {
  memory: WebAssembly.Memory;
  hps_room(bytes: number): number;
  hps_ask(room: number, bytes: number): number;
  hps_answer(): number;
  hps_panic(): number;
  hps_panic_bytes(): number;
}

export class Engine {
  private constructor(private readonly module: Exports) {}

  /** The simulator of compressed bytes: it is compiled while it is being unpacked. */
  static async of(packed: Uint8Array<ArrayBuffer>): Promise<Engine> {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const answer = new Response(stream, { headers: { "content-type": "application/wasm" } });
    const { instance } = await WebAssembly.instantiateStreaming(answer, {});
    return new Engine(instance.exports as unknown as Exports);
  }

  private text(at: number, bytes: number): string {
    return new TextDecoder().decode(new Uint8Array(this.module.memory.buffer, at, bytes));
  }

  /** The answer to a question. After an exception the engine must be made anew. */
  ask(request: Request): Answer {
    const question = new TextEncoder().encode(JSON.stringify(request));
    const room = this.module.hps_room(question.length);
    new Uint8Array(this.module.memory.buffer, room, question.length).set(question);
    try {
      const bytes = this.module.hps_ask(room, question.length);
      return JSON.parse(this.text(this.module.hps_answer(), bytes)) as Answer;
    } catch (error) {
      const said = this.text(this.module.hps_panic(), this.module.hps_panic_bytes());
      throw new Error(said || String(error));
    }
  }
}
