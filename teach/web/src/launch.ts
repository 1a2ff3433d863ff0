// The worker of the simulator: started in front of the rest of the page, and anew when a run is stopped.

import type { Request } from "./types";

/** A part of the compressed simulator in base 64, behind the last one nothing; a compiled module; or a question. */
export type ToWorker = { part: string | null } | { module: WebAssembly.Module } | { id: number; request: Request };

export interface Launched {
  worker: Worker;
  /** The worker has got its first message, or never will. */
  began: Promise<void>;
  /** The module, as soon as it is compiled. */
  module: Promise<WebAssembly.Module>;
}

/** Another worker, which takes the module that the first one has compiled. */
export function launchAgain(module: WebAssembly.Module): Launched {
  const again = launch();
  again.worker.postMessage({ module });
  return again;
}

export function launch(): Launched {
  const text = document.getElementById("worker")!.textContent!;
  const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  const module = new Promise<WebAssembly.Module>((resolve, reject) => {
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    });
    worker.addEventListener("message", ({ data }: MessageEvent<{ module?: WebAssembly.Module; failed?: string }>) => {
      if (data.module) resolve(data.module);
      else if (data.failed !== undefined) reject(new Error(data.failed));
    });
  });
  // Whoever needs the module hears why there is none.
  module.catch(() => {});
  const began = new Promise<void>((resolve) => {
    worker.addEventListener("message", () => resolve(), { once: true });
    worker.addEventListener("error", () => resolve(), { once: true });
  });
  return { worker, began, module };
}
