// Answers questions by a simulator as the page has it: node answer.mjs FILE.wasm, questions as JSON, one a line.
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const { memory, hps_room, hps_ask, hps_answer, hps_panic, hps_panic_bytes } = instance.exports;
const text = (at, bytes) => new TextDecoder().decode(new Uint8Array(memory.buffer, at, bytes));
for (const line of readFileSync(0, "utf8").split("\n")) {
  const question = new TextEncoder().encode(line);
  const room = hps_room(question.length);
  new Uint8Array(memory.buffer, room, question.length).set(question);
  try {
    const bytes = hps_ask(room, question.length);
    process.stdout.write(text(hps_answer(), bytes) + "\n");
  } catch (error) {
    console.error(text(hps_panic(), hps_panic_bytes()) || error);
    process.exit(1);
  }
}
