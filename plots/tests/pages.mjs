// Report pages in headless Chromium: node pages.mjs MODULES SHOTS PAGE...
//
// Each page is opened light and dark, at 360, 1280 and 1920 pixels, with all its details open. It passes if axe finds no
// violation, nothing reaches beyond the window but what scrolls by itself, and no text of a picture is cut. MODULES is a
// folder with node_modules (playwright-core and axe-core, as teach/web/package.json names them); SHOTS takes screenshots.
// Chromium is /usr/bin/chromium, or $CHROMIUM.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, shots, ...pages] = process.argv.slice(2).map((path) => resolve(path));
if (pages.length === 0) throw new Error("usage: node pages.mjs MODULES SHOTS PAGE...");
const load = createRequire(join(modules, "package.json"));
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
const browser = await load("playwright-core").chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});
mkdirSync(shots, { recursive: true });

/** What axe finds wrong, a line for each rule with the first element. */
async function violations(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map(({ id, nodes }) => {
    const [{ html, any, all, none }] = nodes;
    const why = any[0]?.message ?? all[0]?.message ?? none[0]?.message ?? "";
    return `${id}: ${nodes.length} times, ${html.slice(0, 160)} (${why})`;
  });
}

/** What is cut: text of pictures beyond their edges, and elements beyond the window or beyond a box that hides them. */
const cut = (page) =>
  page.evaluate(() => {
    const found = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    const scrolls = (element) => element.closest(".wide, pre") !== null;
    for (const element of document.querySelectorAll("main *:not(svg *)")) {
      const box = element.getBoundingClientRect();
      const is = `${element.tagName} ${element.className} ${element.textContent.slice(0, 60)}`;
      if (box.width > 0 && box.right > width + 1 && !scrolls(element)) found.push(`beyond the window: ${is}`);
      const hides = ["hidden", "clip"].includes(getComputedStyle(element).overflowX);
      if (hides && element.scrollWidth > element.clientWidth + 1) found.push(`cut: ${is}`);
    }
    for (const text of document.querySelectorAll("figure svg text")) {
      if (text.textContent.trim() === "") continue;
      const [inner, outer] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
      const is = inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
      if (is) found.push(`cut in a picture: ${text.textContent}`);
    }
    return [...new Set(found)];
  });

let failed = 0;
for (const file of pages) {
  const name = basename(dirname(file));
  const before = failed;
  for (const [width, height] of [[360, 780], [1280, 900], [1920, 1080]]) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme });
      const page = await context.newPage();
      const errors = [];
      page.on("pageerror", (error) => errors.push(error.message));
      page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
      await page.goto(pathToFileURL(file).href);
      await page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
      for (const one of [...errors, ...(await violations(page)), ...(await cut(page))]) {
        console.log(`${name}, ${width}, ${colorScheme}: ${one}`);
        failed += 1;
      }
      await context.close();
    }
  }
  if (failed === before) console.log(`${name}: ok`);
}
await browser.close();
process.exit(failed === 0 ? 0 : 1);
