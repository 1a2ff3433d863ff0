// Elements with properties and children in one call.

type Child = Node | string | number | null | undefined | false | Child[];
type Properties = Record<string, unknown>;

function append(parent: Node, child: Child): void {
  if (Array.isArray(child)) {
    child.forEach((one) => append(parent, one));
  } else if (child !== null && child !== undefined && child !== false) {
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** An element. Properties that begin with `on` are listeners; those with a dash, and `role`, are attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (name === "class") {
      element.className = String(value);
    } else if (name === "style") {
      element.setAttribute("style", String(value));
    } else if (name.includes("-") || name === "role" || name === "for" || name === "list") {
      element.setAttribute(name, String(value));
    } else {
      (element as unknown as Properties)[name] = value;
    }
  }
  append(element, children);
  return element;
}

/** Replaces everything inside an element. */
export function fill(element: HTMLElement, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Style variables of an element as they are now, each read once. */
export function colorsOf(element: Element): (name: string) => string {
  const style = getComputedStyle(element);
  const read = new Map<string, string>();
  return (name) => {
    const known = read.get(name) ?? style.getPropertyValue(name);
    read.set(name, known);
    return known;
  };
}

let labels = 0;

/** A control with its label. */
export function labelled(text: string, control: HTMLElement, about?: string): HTMLElement {
  control.id ||= `control-${++labels}`;
  return h("div", { class: "field", title: about }, h("label", { for: control.id }, text), control);
}

/** A list to choose one of. */
export function choice(
  options: [string, string][],
  value: string,
  change: (value: string) => void,
): HTMLSelectElement {
  const select = h(
    "select",
    { onchange: () => change(select.value) },
    options.map(([name, text]) => h("option", { value: name }, text)),
  );
  select.value = value;
  return select;
}

export const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;
export const grouped = (n: number): string => n.toLocaleString("en-US");

/** Calls at most once in a while, with the last arguments. */
export function debounced<A extends unknown[]>(ms: number, call: (...args: A) => void): (...args: A) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), ms);
  };
}

/** Offers a text as a file. */
export function download(name: string, text: string, type = "text/plain"): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
