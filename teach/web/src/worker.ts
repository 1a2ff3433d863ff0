// The simulator beside the page, so that the page never waits for it.

import { Engine } from "./engine";
import type { Request } from "./types";

let bytes: Uint8Array<ArrayBuffer>;
let engine: Engine | undefined;

self.onmessage = async (event: MessageEvent<{ id: number; bytes?: Uint8Array<ArrayBuffer>; request?: Request }>) => {
  const { id, request } = event.data;
  try {
    if (event.data.bytes) bytes = event.data.bytes;
    engine ??= await Engine.of(bytes);
    self.postMessage({ id, answer: request ? engine.ask(request) : null });
  } catch (error) {
    engine = undefined;
    self.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
};
