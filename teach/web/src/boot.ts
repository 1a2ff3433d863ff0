// In front of the compressed simulator: starts the worker, which unpacks and compiles the parts while the browser reads
// the rest of the page.

import { launch, type Launched } from "./launch";

declare global {
  interface Window {
    hpsBoot: { launched: Launched | undefined; part(last: boolean): void };
  }
}

/** Nothing in a page that the command serves, and where pages from disk get no workers. */
function launched(): Launched | undefined {
  if (document.getElementById("server")!.textContent !== "null") return undefined;
  try {
    return launch();
  } catch {
    return undefined;
  }
}

window.hpsBoot = {
  launched: launched(),
  /** Hands over the part in front of the script that calls this. */
  part(last) {
    const worker = this.launched?.worker;
    worker?.postMessage({ part: document.currentScript!.previousElementSibling!.textContent });
    if (last) worker?.postMessage({ part: null });
  },
};
