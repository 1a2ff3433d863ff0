// The simulator beside the page, so that the page never waits for it.

import { Compiler, Engine } from "./engine";
import type { ToWorker } from "./launch";

let compiler: Compiler | undefined;
let module: Promise<WebAssembly.Module>;
let engine: Promise<Engine> | undefined;

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Tells of the compiled module, which a later worker takes. */
function compiled(by: Promise<WebAssembly.Module>): void {
  module = by;
  module.then(
    (module) => self.postMessage({ module }),
    (error: unknown) => self.postMessage({ failed: said(error) }),
  );
}

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  if ("module" in data) return compiled(Promise.resolve(data.module));
  if ("part" in data) {
    if (!compiler) {
      self.postMessage({ began: true });
      compiler = new Compiler();
      compiled(compiler.module);
    }
    return data.part === null ? compiler.end() : compiler.take(data.part);
  }
  const { id, request } = data;
  try {
    // Questions that come earlier wait for the module, in their order.
    engine ??= module.then((module) => Engine.of(module));
    self.postMessage({ id, answer: (await engine).ask(request) });
  } catch (error) {
    engine = undefined;
    self.postMessage({ id, error: said(error) });
  }
};
