// Headless Chromium for the tests of the page: node chromium.mjs PAGE HPS MODULES [SHOTS]
//
// PAGE is teach/page.html, HPS the command, MODULES a folder with node_modules (playwright-core), SHOTS a folder for
// screenshots. Chromium is /usr/bin/chromium, or $CHROMIUM. With ONLY=WORDS only tests with these words in their names run.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { saying } from "./words.mjs";

const [pageFile, hps, modules, shots] = process.argv.slice(2).map((path) => resolve(path));
const { chromium } = createRequire(join(modules, "package.json"))("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const errors = [];

/** Opens the page from disk, or another address. */
async function open(hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, ...options });
  const page = await context.newPage();
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && !options.refused && errors.push(message.text()));
  if (options.before) await page.addInitScript(options.before);
  await page.goto((options.address ?? pathToFileURL(pageFile).href) + hash);
  return page;
}
const ready = (page) => page.waitForSelector("body[data-ready]", { timeout: 60_000 });

/** What the machine holds has arrived for the cycle that is looked at. */
const settled = (page) =>
  page.waitForFunction(() => {
    const { app } = window.hps;
    return !app.busy && app.cycleView?.cycle === app.linked.cycle && app.inside?.cycle === app.linked.cycle;
  });

/** The address with the whole state. */
async function link(page) {
  await page.waitForFunction(() => window.hps.app.isSaved);
  await page.waitForTimeout(100);
  return new URL(page.url()).hash;
}

/** Opens a lesson at its first step, or the list of all. */
const lessons = (page, at = -1) => page.evaluate((at) => window.hps.lessons.go(at < 0 ? Infinity : at, 0), at);

/** Runs a program; resolves when its first cycle can be seen. */
async function run(page, setup) {
  await page.evaluate(async (setup) => {
    const { app } = window.hps;
    Object.assign(app.linked.setup, setup);
    await app.run();
  }, setup);
  await settled(page);
}

async function all(tests) {
  const only = process.env.ONLY;
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    if (only && !name.includes(only)) continue;
    try {
      await test();
      console.log(`ok: ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAILED: ${name}\n${error.stack}`);
    }
  }
  await browser.close();
  if (errors.length > 0) console.log(`errors in the page:\n${[...new Set(errors)].join("\n")}`);
  process.exit(failed > 0 || errors.length > 0 ? 1 : 0);
}

export { all, hps, lessons, link, modules, open, pageFile, ready, run, saying, settled, shots };
