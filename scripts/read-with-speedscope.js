// Imports profiles with speedscope's own importer and prints, for each profile of each file, its
// name, the sum of its weights, and the sum at frames called "add":
// node read-with-speedscope.js SPEEDSCOPE_PACKAGE FILE...
//
// The importer is inside the bundle of the page. The script runs the bundle up to the point where
// it would draw the page, and takes the function that imports a file.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, ...files] = process.argv.slice(2);
const release = path.join(folder, "dist", "release");
const bundles = fs.readdirSync(release).filter((name) => /^speedscope-\w+\.js$/.test(name));
const code = fs.readFileSync(path.join(release, bundles[0]), "utf8");
const module_ = /([\w$]+),\{[^{}]*importProfilesFromArrayBuffer:/.exec(code)?.[1];
const literal = module_?.replace(/\$/g, "\\$");
const load = new RegExp(`\\(([\\w$]+)\\(\\),${literal}\\)`).exec(code)?.[1];
const page = code.lastIndexOf("console.log(`speedscope v");
if (bundles.length !== 1 || !load || page < 0) {
  throw new Error("this release of speedscope is not laid out as the script expects");
}

// What the bundle asks of a browser before it draws.
const anything = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : anything),
  set: () => true,
  apply: () => anything,
  construct: () => anything,
});
const quiet = { ...console, log() {} };
const browser = {
  console: quiet, document: anything, navigator: { userAgent: "", platform: "" },
  location: { hash: "", protocol: "file:" }, localStorage: anything, history: anything,
  matchMedia: () => anything, requestAnimationFrame() {}, addEventListener() {},
  performance, TextDecoder, TextEncoder, URL, Blob, setTimeout, clearTimeout, atob, btoa,
  HTMLElement: class {}, Image: class {}, FileReader: class {}, fetch,
  ArrayBuffer, Uint8Array, Uint32Array, Int32Array, Float32Array, Float64Array, DataView,
};
browser.window = browser.self = browser;
vm.runInNewContext(
  `${code.slice(0, page)};${load}();globalThis.importer=${module_};})();`,
  vm.createContext(browser),
);

(async () => {
  for (const file of files) {
    const bytes = fs.readFileSync(file);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const group = await browser.importer.importProfilesFromArrayBuffer(path.basename(file), buffer);
    if (!group) throw new Error(`speedscope does not know the format of ${file}`);
    for (const profile of group.profiles) {
      let add = 0;
      profile.forEachFrame((frame) => {
        if (frame.name === "add") add += frame.getSelfWeight();
      });
      console.log(`${path.basename(file)} ${profile.getName()}: ${profile.getTotalNonIdleWeight()} add ${add}`);
    }
  }
})().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
