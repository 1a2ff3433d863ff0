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

/** The bytes of a text in base 64. */
function decoded(text: string): Uint8Array<ArrayBuffer> {
  // Newer browsers decode it at once. The whole simulator is four million characters, and somebody waits.
  const quick = (Uint8Array as unknown as { fromBase64?(text: string): Uint8Array<ArrayBuffer> }).fromBase64;
  if (quick) return quick.call(Uint8Array, text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at);
  return bytes;
}

/** Unpacks the compressed simulator and compiles it, both while its parts arrive. */
export class Compiler {
  readonly module: Promise<WebAssembly.Module>;
  private readonly packed: WritableStreamDefaultWriter<BufferSource>;

  constructor() {
    const { readable, writable } = new DecompressionStream("gzip");
    this.packed = writable.getWriter();
    this.module = WebAssembly.compileStreaming(new Response(readable, { headers: { "content-type": "application/wasm" } }));
  }

  /** Takes the next part, in base 64. Damaged parts fail the module. */
  take(part: string): void {
    void this.packed.write(decoded(part)).catch(() => {});
  }

  end(): void {
    void this.packed.close().catch(() => {});
  }
}

export class Engine {
  private constructor(private readonly module: Exports) {}

  static async of(module: WebAssembly.Module): Promise<Engine> {
    const { exports } = await WebAssembly.instantiate(module, {});
    return new Engine(exports as unknown as Exports);
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
