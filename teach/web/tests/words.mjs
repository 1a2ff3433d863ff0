// Words of the page for its tests.
import { readFileSync } from "node:fs";

/** What the page says in a language for an English text. */
export function saying(language) {
  const words = language === "en" ? {} : JSON.parse(readFileSync(new URL(`../languages/${language}.json`, import.meta.url), "utf8"));
  return (text, values = {}) => (words[text] ?? text).replaceAll(/\{(\w+)\}/g, (_, name) => values[name]);
}
