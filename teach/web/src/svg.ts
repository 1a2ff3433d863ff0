// Pictures of the page as SVG, for slides: what canvases draw, and elements as they are laid out.

const SPACE = "http://www.w3.org/2000/svg";
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const short = (n: number): string => String(Math.round(n * 100) / 100);

/** The part of a canvas's pen that the page uses. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "lineWidth" | "globalAlpha" | "font" | "textAlign" | "textBaseline"
  | "setTransform" | "clearRect" | "fillRect" | "strokeRect" | "fillText"
  | "beginPath" | "moveTo" | "lineTo" | "bezierCurveTo" | "arc" | "stroke" | "fill"
>;

/** A pen that writes SVG. */
class SvgPen implements Pen {
  fillStyle: Pen["fillStyle"] = "#000";
  strokeStyle: Pen["strokeStyle"] = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign: CanvasTextAlign = "start";
  textBaseline: CanvasTextBaseline = "alphabetic";
  readonly parts: string[] = [];
  private path: string[] = [];

  private put(tag: string, attributes: Record<string, string | number>, inside = ""): void {
    const all = { ...attributes, ...(this.globalAlpha < 1 ? { opacity: this.globalAlpha } : {}) };
    const text = Object.entries(all).map(([name, value]) => ` ${name}="${typeof value === "number" ? short(value) : escaped(value)}"`);
    this.parts.push(`<${tag}${text.join("")}>${inside}</${tag}>`);
  }

  /** The size of a dot is the canvas's affair: SVG has none. */
  setTransform(): void {}
  clearRect(): void {
    this.parts.length = 0;
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    this.put("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), fill: String(this.fillStyle).trim() });
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.put("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), fill: "none", stroke: String(this.strokeStyle).trim(), "stroke-width": this.lineWidth });
  }
  fillText(text: string, x: number, y: number): void {
    const [, size = "10", family = "sans-serif"] = /([\d.]+)px\s+(.*)$/.exec(this.font) ?? [];
    // The middle of the letters lies a third of their size above the base line.
    const base = this.textBaseline === "middle" ? y + Number(size) * 0.35 : y;
    const anchor = this.textAlign === "center" ? "middle" : "start";
    this.put("text", { x, y: base, fill: String(this.fillStyle).trim(), "font-size": Number(size), "font-family": family, "text-anchor": anchor, "xml:space": "preserve" }, escaped(text));
  }
  beginPath(): void {
    this.path = [];
  }
  moveTo(x: number, y: number): void {
    this.path.push(`M${short(x)} ${short(y)}`);
  }
  lineTo(x: number, y: number): void {
    this.path.push(`L${short(x)} ${short(y)}`);
  }
  bezierCurveTo(...points: [number, number, number, number, number, number]): void {
    this.path.push(`C${points.map(short).join(" ")}`);
  }
  /** Whole circles only, which are all that the page draws. */
  arc(x: number, y: number, radius: number): void {
    const [r, left, right] = [short(radius), short(x - radius), short(x + radius)];
    this.path.push(`M${left} ${short(y)}A${r} ${r} 0 1 1 ${right} ${short(y)}A${r} ${r} 0 1 1 ${left} ${short(y)}`);
  }
  stroke(): void {
    this.put("path", { d: this.path.join(""), fill: "none", stroke: String(this.strokeStyle).trim(), "stroke-width": this.lineWidth });
  }
  fill(): void {
    this.put("path", { d: this.path.join(""), fill: String(this.fillStyle).trim() });
  }
}

/** Pens of canvases while a picture is made. */
let pens: Map<HTMLCanvasElement, SvgPen> | undefined;

/** The pen that draws a canvas: its own, or one that writes SVG. */
export const penOf = (canvas: HTMLCanvasElement): Pen => pens?.get(canvas) ?? canvas.getContext("2d")!;

/** A picture of an element as it is seen. `draw` draws its canvases at once. */
export function picture(element: HTMLElement, title: string, draw: () => void): string {
  const canvases = [...element.querySelectorAll("canvas"), ...(element instanceof HTMLCanvasElement ? [element] : [])];
  pens = new Map(canvases.map((canvas) => [canvas, new SvgPen()]));
  try {
    draw();
    const whole = element.getBoundingClientRect();
    const page = getComputedStyle(document.documentElement);
    const walk = new Walk(whole, pens);
    walk.element(element);
    const [width, height] = [short(whole.width), short(whole.height)];
    return `<svg xmlns="${SPACE}" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="${page.getPropertyValue("--paper").trim()}"/>
${walk.parts.join("\n")}
</svg>
`;
  } finally {
    pens = undefined;
    draw();
  }
}

const clear = (color: string): boolean => color === "transparent" || /,\s*0\)$/.test(color);

/** Writes elements with their boxes, borders and lines of text. */
class Walk {
  readonly parts: string[] = [];
  private clips = 0;
  private readonly ruler = document.createElement("canvas").getContext("2d")!;

  constructor(
    private readonly whole: DOMRect,
    private readonly drawn: Map<HTMLCanvasElement, SvgPen>,
  ) {}

  private place(box: DOMRect): { x: number; y: number; width: number; height: number } {
    return { x: box.left - this.whole.left, y: box.top - this.whole.top, width: box.width, height: box.height };
  }

  private rect(box: { x: number; y: number; width: number; height: number }, attributes: string): void {
    this.parts.push(`<rect x="${short(box.x)}" y="${short(box.y)}" width="${short(box.width)}" height="${short(box.height)}" ${attributes}/>`);
  }

  element(element: Element): void {
    if (!element.checkVisibility({ visibilityProperty: true })) return;
    const style = getComputedStyle(element);
    const bounds = element.getBoundingClientRect();
    if (element.matches(".hidden-file") || bounds.width === 0 || bounds.height === 0) return;
    const box = this.place(bounds);
    if (element instanceof SVGSVGElement) return this.vector(element, box);
    if (element instanceof HTMLCanvasElement) return this.canvas(element, box);
    const alpha = Number(style.opacity);
    if (alpha < 1) this.parts.push(`<g opacity="${alpha}">`);
    this.frame(box, style);
    if (element instanceof HTMLImageElement) {
      this.parts.push(`<image x="${short(box.x)}" y="${short(box.y)}" width="${short(box.width)}" height="${short(box.height)}" href="${escaped(element.src)}"/>`);
    } else if (element.matches("input, select, textarea")) this.control(element as HTMLInputElement, box, style);
    else this.inside(element, box, style);
    if (alpha < 1) this.parts.push("</g>");
  }

  /** Background and borders. */
  private frame(box: { x: number; y: number; width: number; height: number }, style: CSSStyleDeclaration): void {
    const radius = `rx="${short(parseFloat(style.borderTopLeftRadius) || 0)}"`;
    if (!clear(style.backgroundColor)) this.rect(box, `${radius} fill="${style.backgroundColor}"`);
    const sides = ["Top", "Right", "Bottom", "Left"].map((side) => {
      const of = (what: string) => style[`border${side}${what}` as "borderTopColor"];
      const width = of("Style") === "none" || clear(of("Color")) ? 0 : parseFloat(of("Width"));
      return { width, color: of("Color") };
    }) as [Side, Side, Side, Side];
    const [top, right, bottom, left] = sides;
    if (top.width > 0 && sides.every((one) => one.width === top.width && one.color === top.color)) {
      const half = top.width / 2;
      this.rect({ x: box.x + half, y: box.y + half, width: box.width - top.width, height: box.height - top.width }, `${radius} fill="none" stroke="${top.color}" stroke-width="${top.width}"`);
      return;
    }
    if (top.width > 0) this.rect({ ...box, height: top.width }, `fill="${top.color}"`);
    if (bottom.width > 0) this.rect({ ...box, y: box.y + box.height - bottom.width, height: bottom.width }, `fill="${bottom.color}"`);
    if (left.width > 0) this.rect({ ...box, width: left.width }, `fill="${left.color}"`);
    if (right.width > 0) this.rect({ ...box, x: box.x + box.width - right.width, width: right.width }, `fill="${right.color}"`);
  }

  private inside(element: Element, box: { x: number; y: number; width: number; height: number }, style: CSSStyleDeclaration): void {
    const cut = style.overflowX !== "visible" || style.overflowY !== "visible";
    if (cut) {
      const id = `clip-${++this.clips}`;
      this.parts.push(`<clipPath id="${id}"><rect x="${short(box.x)}" y="${short(box.y)}" width="${short(box.width)}" height="${short(box.height)}"/></clipPath><g clip-path="url(#${id})">`);
    }
    for (const child of element.childNodes) {
      if (child instanceof Element) this.element(child);
      else if (child instanceof Text && child.data.trim()) this.text(child, style);
    }
    if (cut) this.parts.push("</g>");
  }

  /** A text, line by line as the browser has broken it. */
  private text(node: Text, style: CSSStyleDeclaration): void {
    const lines: { text: string; box: DOMRect }[] = [];
    const range = document.createRange();
    for (const { 0: word, index } of node.data.matchAll(/\S+\s*/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getClientRects()[0];
      if (!box || box.width === 0) continue;
      const line = lines[lines.length - 1];
      if (line && Math.abs(line.box.top - box.top) < 2) line.text += word;
      else lines.push({ text: word, box });
    }
    const shown = (text: string): string => (style.whiteSpace.startsWith("pre") ? text : text.replaceAll(/\s+/g, " ")).trimEnd();
    for (const { text, box } of lines) this.line(shown(text), this.place(box), style);
  }

  private line(text: string, box: { x: number; y: number; height: number }, style: CSSStyleDeclaration): void {
    this.ruler.font = style.font;
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = this.ruler.measureText(text);
    const base = box.y + (box.height - above - below) / 2 + above;
    const decoration = style.textDecorationLine === "none" ? "" : ` text-decoration="${style.textDecorationLine}"`;
    const shown = style.textTransform === "uppercase" ? text.toUpperCase() : text;
    this.parts.push(
      `<text x="${short(box.x)}" y="${short(base)}" fill="${style.color}" font-size="${style.fontSize}" font-family="${escaped(style.fontFamily)}" font-weight="${style.fontWeight}" font-style="${style.fontStyle}"${decoration} xml:space="preserve">${escaped(shown)}</text>`,
    );
  }

  /** What a control holds: its text, its place or its tick. */
  private control(control: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement, box: { x: number; y: number; width: number; height: number }, style: CSSStyleDeclaration): void {
    const middle = box.y + box.height / 2;
    if (control.type === "range" && control instanceof HTMLInputElement) {
      const share = (Number(control.value) - Number(control.min)) / Math.max(1, Number(control.max) - Number(control.min));
      this.rect({ ...box, y: middle - 2, height: 4 }, `rx="2" fill="${style.accentColor}"`);
      this.parts.push(`<circle cx="${short(box.x + 7 + share * (box.width - 14))}" cy="${short(middle)}" r="7" fill="${style.accentColor}"/>`);
    } else if (control.type === "checkbox" || control.type === "radio") {
      const on = (control as HTMLInputElement).checked;
      this.rect(box, `rx="${control.type === "radio" ? short(box.width / 2) : 2}" fill="${on ? style.accentColor : "none"}" stroke="${style.color}"`);
    } else {
      const text = control instanceof HTMLSelectElement ? (control.selectedOptions[0]?.text ?? "") : control.value || control.placeholder;
      const size = parseFloat(style.fontSize);
      const fits = Math.max(0, Math.floor((box.width - 2 * parseFloat(style.paddingLeft)) / (size * 0.52)));
      this.line(text.slice(0, fits), { x: box.x + parseFloat(style.paddingLeft) + 1, y: middle - size * 0.6, height: size * 1.2 }, style);
    }
  }

  private canvas(canvas: HTMLCanvasElement, box: { x: number; y: number; width: number; height: number }): void {
    const pen = this.drawn.get(canvas);
    if (!pen) return;
    this.parts.push(`<svg x="${short(box.x)}" y="${short(box.y)}" width="${short(box.width)}" height="${short(box.height)}">`, ...pen.parts, "</svg>");
  }

  /** Vectors with the colours that the style sheet gives them. */
  private vector(element: SVGSVGElement, box: { x: number; y: number; width: number; height: number }): void {
    const copy = element.cloneNode(true) as SVGSVGElement;
    const [from, to] = [element, copy].map((one) => [...one.querySelectorAll("*")]) as [Element[], Element[]];
    from.forEach((one, at) => {
      const style = getComputedStyle(one);
      for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "font-weight"]) to[at]!.setAttribute(name, style.getPropertyValue(name));
    });
    copy.removeAttribute("class");
    copy.setAttribute("x", short(box.x));
    copy.setAttribute("y", short(box.y));
    copy.setAttribute("width", short(box.width));
    copy.setAttribute("height", short(box.height));
    this.parts.push(new XMLSerializer().serializeToString(copy));
  }
}

interface Side {
  width: number;
  color: string;
}
