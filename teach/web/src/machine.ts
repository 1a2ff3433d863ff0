// The block diagram of a machine: what it has, before anything runs on it.

import { grouped } from "./dom";
import { t, word } from "./language";
import type { CacheSize, Summary } from "./types";

const SPACE = "http://www.w3.org/2000/svg";
const LINE = 15;

interface Box {
  id: string;
  title: string;
  lines: string[];
  at: [number, number, number, number];
  /** Beginnings of the keys that change it. */
  keys: string[];
}

function node<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number>, ...inside: (Node | string)[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...inside);
  return element;
}

const bytes = (n: number): string => (n >= 1 << 20 ? `${n / (1 << 20)} MiB` : n >= 1024 ? `${n / 1024} KiB` : t("{n} bytes", { n }));
const cache = ({ bytes: size, ways, line_bytes, hit_cycles }: CacheSize): string[] => [
  `${bytes(size)}, ${ways === 1 ? t("direct mapped") : t("{n} ways", { n: ways })}`,
  t("lines of {n} bytes", { n: line_bytes }),
  t("{n} cycle|{n} cycles", { n: hit_cycles }),
];

/** The boxes of a core and of what lies behind it. */
function boxes({ sizes }: Summary): Box[] {
  const of = (name: string) => sizes.caches.find((one) => one.name === name)!;
  const pools = Object.entries(sizes.pools).map(([name, count]) => `${word(name)} ×${count}`);
  const cycles = (at: number): string => t("{n} cycle to the next|{n} cycles to the next", { n: sizes.stages[at]! });
  const threads = sizes.threads > 1 ? [t("of {n} threads in turn", { n: sizes.threads })] : [];
  const l3 = sizes.caches.find((one) => one.name === "l3");
  return [
    { id: "predictor", title: t("Branch prediction"), lines: [sizes.predictor], at: [10, 12, 150, 58], keys: ["branch."] },
    { id: "fetch", title: t("Fetch"), lines: [t("{n} a cycle", { n: sizes.fetch_width }), t("buffer of {n}", { n: sizes.fetch_buffer }), cycles(0), ...threads], at: [10, 92, 150, 92], keys: ["fetch."] },
    { id: "l1i", title: t("Level 1, code"), lines: cache(of("l1i")), at: [10, 212, 150, 78], keys: ["memory.l1i."] },
    { id: "decode", title: t("Decode, rename"), lines: [t("{n} a cycle", { n: sizes.dispatch_width }), cycles(1)], at: [190, 92, 140, 92], keys: ["decode.", "window.dispatch"] },
    {
      id: "stations",
      title: sizes.in_order ? t("Issue in order") : t("Stations"),
      lines: [sizes.in_order ? t("program order") : t("out of order"), t("{n} wait", { n: sizes.stations }), t("{n} issue a cycle", { n: sizes.issue_width }), cycles(2)],
      at: [360, 92, 140, 92],
      keys: ["window.reservation", "window.fp_queue", "issue."],
    },
    { id: "units", title: t("Units"), lines: pools, at: [530, 12, 150, 32 + LINE * pools.length], keys: ["units."] },
    { id: "rob", title: t("Reorder buffer"), lines: [t("{n} in flight", { n: sizes.rob })], at: [710, 12, 140, 58], keys: ["window.rob"] },
    { id: "commit", title: t("Commit"), lines: [t("{n} a cycle", { n: sizes.commit_width }), t("in program order")], at: [710, 100, 140, 62], keys: ["window.commit"] },
    { id: "queues", title: t("Loads and stores"), lines: [t("{n} loads", { n: sizes.load_queue }), t("{n} stores", { n: sizes.store_queue })], at: [530, 190, 150, 62], keys: ["window.load", "window.store", "speculation."] },
    { id: "l1d", title: t("Level 1, data"), lines: cache(of("l1d")), at: [360, 212, 140, 78], keys: ["memory.l1d"] },
    { id: "l2", title: of("l2").shared ? t("Level 2, shared") : t("Level 2"), lines: cache(of("l2")), at: [190, 318, 140, 78], keys: ["memory.l2."] },
    ...(l3 ? [{ id: "l3", title: l3.shared ? t("Level 3, shared") : t("Level 3"), lines: cache(l3), at: [360, 318, 140, 78] as Box["at"], keys: ["memory.l3."] }] : []),
    { id: "memory", title: t("Memory"), lines: [t("{n} cycles", { n: grouped(sizes.memory_cycles) })], at: [530, 318, 150, 78], keys: ["memory.latency"] },
  ];
}

/** The boxes of a machine whose instructions go through the stages in step, or take one cycle. */
function stepBoxes({ sizes }: Summary): Box[] {
  const of = (name: string) => sizes.caches.find((one) => one.name === name)!;
  const pools = Object.entries(sizes.pools).map(([name, count]) => `${word(name)} ×${count}`);
  const held = sizes.issue_width === 1 ? t("one instruction") : t("{n} instructions", { n: sizes.issue_width });
  const hazards = sizes.forwarding ? [t("waits for a load's result")] : [t("waits until operands"), t("are written back")];
  const stages: Box[] =
    sizes.flow === "one cycle"
      ? [{ id: "one", title: t("All stages in one cycle"), lines: [t("fetch, decode, execute, memory, write back"), t("the next instruction follows in the next cycle")], at: [190, 60, 314, 92], keys: ["issue.", "units."] }]
      : [
          { id: "fetch", title: t("IF: fetch"), lines: [t("{n} a cycle", { n: sizes.fetch_width }), sizes.predictor.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase()], at: [10, 60, 142, 108], keys: ["fetch.", "branch."] },
          { id: "decode", title: t("ID: decode"), lines: [held, t("reads registers"), ...hazards, ...(sizes.branches_in_decode ? [t("decides branches")] : [])], at: [178, 60, 160, 108], keys: ["decode.", "issue."] },
          { id: "units", title: t("EX: execute"), lines: [...pools, ...(sizes.branches_in_decode ? [] : [t("decides branches")])], at: [364, 60, 142, 32 + LINE * (pools.length + 1)], keys: ["units."] },
          { id: "mem", title: t("MEM: memory"), lines: [held, t("loads and stores")], at: [532, 60, 142, 108], keys: ["window.store", "window.load"] },
          { id: "commit", title: t("WB: write back"), lines: [held, t("in program order")], at: [700, 60, 142, 108], keys: ["window.commit"] },
        ];
  return [
    ...stages,
    { id: "l1i", title: t("Level 1, code"), lines: cache(of("l1i")), at: [10, 230, 142, 78], keys: ["memory.l1i."] },
    { id: "l1d", title: t("Level 1, data"), lines: cache(of("l1d")), at: [532, 230, 142, 78], keys: ["memory.l1d"] },
    { id: "l2", title: t("Level 2"), lines: cache(of("l2")), at: [270, 320, 142, 78], keys: ["memory.l2."] },
    { id: "memory", title: t("Memory"), lines: [t("{n} cycles", { n: grouped(sizes.memory_cycles) })], at: [438, 320, 142, 78], keys: ["memory.latency"] },
  ];
}

const STEP_WAYS: [string, string][] = [
  ["l1i", "fetch"],
  ["fetch", "decode"],
  ["decode", "units"],
  ["units", "mem"],
  ["mem", "commit"],
  ["l1d", "mem"],
  ["l1i", "one"],
  ["one", "l1d"],
  ["l2", "l1i"],
  ["l2", "l1d"],
  ["l2", "memory"],
];

/** Ways of results that are forwarded, above the stages. */
function forwards(all: Box[]): SVGElement[] {
  const [to, ...from] = ["units", "mem", "commit"].map((id) => all.find((box) => box.id === id)?.at);
  if (!to) return [];
  const paths = from.flatMap((one, at) => {
    if (!one) return [];
    const [x, end, top] = [one[0] + 30, to[0] + to[2] - 30 - 26 * at, 46 - 18 * at];
    return [node("path", { d: `M${x} ${one[1]}V${top}H${end}V${to[1]}`, class: "way" }), node("path", { d: `M${end} ${to[1]}L${end - 4} ${to[1] - 6}L${end + 4} ${to[1] - 6}Z`, class: "tip" })];
  });
  return [...paths, node("text", { x: to[0] + to[2] + 34, y: 22, class: "cores" }, t("forwarding"))];
}

const WAYS: [string, string][] = [
  ["predictor", "fetch"],
  ["l1i", "fetch"],
  ["fetch", "decode"],
  ["decode", "stations"],
  ["stations", "units"],
  ["units", "rob"],
  ["rob", "commit"],
  ["units", "queues"],
  ["queues", "l1d"],
  ["l2", "l1i"],
  ["l2", "l1d"],
  ["l2", "l3"],
  ["l3", "memory"],
];

/** A line from one box to another: along the axis in which they lie apart. */
function way([x, y, w, h]: Box["at"], [u, v, s, t]: Box["at"]): { d: string; tip: [number, number]; to: [number, number] } {
  const apart = u >= x + w ? 1 : x >= u + s ? -1 : 0;
  const overlap = Math.min(y + h, v + t) - Math.max(y, v);
  if (apart !== 0 && overlap > 8) {
    const level = Math.max(y, v) + overlap / 2;
    const [from, to] = apart > 0 ? [x + w, u] : [x, u + s];
    return { d: `M${from} ${level}H${to}`, tip: [to, level], to: [apart, 0] };
  }
  const down = v >= y + h ? 1 : -1;
  const column = apart === 0 ? (Math.max(x, u) + Math.min(x + w, u + s)) / 2 : apart > 0 ? u + 20 : u + s - 20;
  const [from, to] = down > 0 ? [y + h, v] : [y, v + t];
  if (apart === 0) return { d: `M${column} ${from}V${to}`, tip: [column, to], to: [0, down] };
  const begin = apart > 0 ? x + w - 20 : x + 20;
  const middle = (from + to) / 2;
  return { d: `M${begin} ${from}V${middle}H${column}V${to}`, tip: [column, to], to: [0, down] };
}

/** The diagram of the machine of a run; boxes whose keys are changed are marked. */
export function machineDiagram(summary: Summary, keys: Record<string, string>): SVGSVGElement {
  const inStep = summary.sizes.flow !== "free";
  const all = inStep ? stepBoxes(summary) : boxes(summary);
  const { cores } = summary.sizes;
  const isChanged = (box: Box): boolean => Object.keys(keys).some((key) => box.keys.some((begin) => key.startsWith(begin)));
  const picture = node("svg", { class: "machine-diagram", viewBox: "0 0 860 406", role: "img" });
  picture.append(node("title", {}, `${summary.machine}: ${all.map(({ title, lines }) => `${title}: ${lines.join(", ")}`).join("; ")}${cores > 1 ? `; ${t("{n} cores", { n: cores })}` : ""}`));
  if (cores > 1) {
    const bottom = summary.sizes.caches.find((one) => one.name === "l2")!.shared ? 304 : 0;
    const frame = bottom ? `M4 4H856V${bottom}H4Z` : "M4 4H856V304H345V402H4Z";
    picture.append(node("path", { d: frame, class: "core" }), node("text", { x: 846, y: 294, class: "cores", "text-anchor": "end" }, `×${t("{n} cores", { n: cores })}`));
  }
  if (summary.sizes.forwarding) picture.append(...forwards(all));
  for (const [from, to] of inStep ? STEP_WAYS : WAYS) {
    const [a, b] = [from, to].map((id) => all.find((box) => box.id === id));
    const end = b ?? (to === "l3" ? all.find((box) => box.id === "memory") : undefined);
    if (!a || !end) continue;
    const { d, tip, to: toward } = way(a.at, end.at);
    const [x, y] = tip;
    const [dx, dy] = toward;
    const corner = (side: number): string => `${x - 6 * dx + side * 4 * dy} ${y - 6 * dy + side * 4 * dx}`;
    picture.append(node("path", { d, class: "way" }), node("path", { d: `M${x} ${y}L${corner(1)}L${corner(-1)}Z`, class: "tip" }));
  }
  for (const box of all) {
    const [x, y, width, height] = box.at;
    picture.append(
      node(
        "g",
        { class: isChanged(box) ? "box changed" : "box", "data-box": box.id },
        node("rect", { x, y, width, height, rx: 6 }),
        node("text", { x: x + 9, y: y + 19, class: "title" }, box.title),
        ...box.lines.map((line, at) => node("text", { x: x + 9, y: y + 19 + LINE * (at + 1) }, line)),
      ),
    );
  }
  return picture;
}
