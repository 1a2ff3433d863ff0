// An editor of text with line numbers and errors at their place.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, RangeSet, StateEffect, StateField, type TransactionSpec } from "@codemirror/state";
import { Decoration, type DecorationSet, drawSelection, EditorView, GutterMarker, gutterLineClass, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { h } from "./dom";
import type { Problem } from "./types";

const pointed = StateEffect.define<number | undefined>();
const here = Decoration.line({ class: "cm-here" });

/** The line that executes next. */
const pointer = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    for (const effect of change.effects) {
      if (!effect.is(pointed)) continue;
      const { value: line } = effect;
      const { doc } = change.state;
      return line === undefined || line > doc.lines ? Decoration.none : Decoration.set(here.range(doc.line(line).from));
    }
    return marks.map(change.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const chosenLines = StateEffect.define<number[]>();
const chosenLine = Decoration.line({ class: "cm-chosen" });

/** Lines that belong to a chosen line of another text. */
const chosen = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    for (const effect of change.effects) {
      if (!effect.is(chosenLines)) continue;
      const { doc } = change.state;
      const lines = effect.value.filter((line) => line <= doc.lines).sort((a, b) => a - b);
      return Decoration.set(lines.map((line) => chosenLine.range(doc.line(line).from)));
    }
    return marks.map(change.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const breakLines = StateEffect.define<number[]>();
const broken = new (class extends GutterMarker {
  override elementClass = "cm-break";
})();

/** Lines with breakpoints. */
const breakpoints = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(marks, change) {
    for (const effect of change.effects) {
      if (!effect.is(breakLines)) continue;
      const { doc } = change.state;
      const lines = effect.value.filter((line) => line <= doc.lines).sort((a, b) => a - b);
      return RangeSet.of(lines.map((line) => broken.range(doc.line(line).from)));
    }
    return marks.map(change.changes);
  },
  provide: (field) => gutterLineClass.from(field),
});

export class Editor {
  readonly element = h("div", {});
  /** The text and its marks, until somebody sees them. */
  private state: EditorState;
  private view: EditorView | undefined;
  private toggle: ((line: number) => void) | undefined;
  private entered: ((line: number) => void) | undefined;
  /** The line that executes next. */
  private here: number | undefined;

  /** `run`: what Ctrl and Enter do. */
  constructor(
    text: string,
    label: string,
    private readonly changed: (text: string) => void,
    run?: () => void,
  ) {
    const onChange = EditorView.updateListener.of((update) => {
      const { doc, selection } = update.state;
      if (update.docChanged) changed(doc.toString());
      else if (update.selectionSet) this.entered?.(doc.lineAt(selection.main.head).number);
    });
    this.state = EditorState.create({
      doc: text,
      extensions: [
        lineNumbers({
          domEventHandlers: {
            mousedown: (view, block) => {
              this.toggle?.(view.state.doc.lineAt(block.from).number);
              return this.toggle !== undefined;
            },
          },
        }),
        breakpoints,
        history(),
        drawSelection(),
        highlightActiveLine(),
        lintGutter(),
        chosen,
        pointer,
        // Tab leaves the editor, as it does other controls.
        keymap.of([...(run ? [{ key: "Mod-Enter", run: () => (run(), true) }] : []), ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
        onChange,
      ],
    });
    // An editor that is not seen is not laid out.
    const seen = new ResizeObserver(() => {
      if (this.element.clientWidth === 0) return;
      seen.disconnect();
      this.show();
    });
    seen.observe(this.element);
  }

  private show(): void {
    this.view = new EditorView({ state: this.state });
    this.view.dom.classList.toggle("breaks", this.toggle !== undefined);
    this.element.append(this.view.dom);
    this.element.style.display = "contents";
    if (this.here !== undefined) this.point(this.here);
  }

  private get now(): EditorState {
    return this.view?.state ?? this.state;
  }

  private dispatch(change: TransactionSpec): void {
    if (this.view) return this.view.dispatch(change);
    const made = this.state.update(change);
    this.state = made.state;
    if (made.docChanged) this.changed(this.text);
  }

  /** Tells of the line that the cursor comes to. */
  enters(entered: (line: number) => void): void {
    this.entered = entered;
  }

  /** Line numbers set breakpoints. */
  breaks(toggle: (line: number) => void): void {
    this.toggle = toggle;
  }

  /** Marks the lines that have breakpoints. */
  showBreaks(lines: number[]): void {
    this.dispatch({ effects: breakLines.of(lines) });
  }

  /** Marks lines, and shows the first of them. */
  choose(lines: number[]): void {
    this.dispatch({ effects: chosenLines.of(lines) });
    this.scrollTo(Math.min(...lines), 3);
  }

  /** Scrolls a line into sight, so far from the top: only the editor scrolls, and not the page. */
  private scrollTo(line: number, part: number): void {
    const { view } = this;
    if (!view || line > view.state.doc.lines) return;
    const block = view.lineBlockAt(view.state.doc.line(line).from);
    const { scrollDOM } = view;
    if (block.top < scrollDOM.scrollTop || block.bottom > scrollDOM.scrollTop + scrollDOM.clientHeight) {
      scrollDOM.scrollTop = block.top - scrollDOM.clientHeight / part;
    }
  }

  get text(): string {
    return this.now.doc.toString();
  }

  set text(text: string) {
    if (text === this.text) return;
    this.dispatch({ changes: { from: 0, to: this.now.doc.length, insert: text } });
  }

  /** Shows the line that executes next, or none. */
  point(line: number | undefined): void {
    this.here = line;
    if (line !== undefined && !this.view?.hasFocus) this.scrollTo(line, 2);
    this.dispatch({ effects: pointed.of(line) });
  }

  /** Marks an error, or none. */
  mark(problem: Problem | undefined): void {
    const { doc } = this.now;
    if (!problem?.line || problem.line > doc.lines) {
      this.dispatch(setDiagnostics(this.now, []));
      return;
    }
    const line = doc.line(problem.line);
    const from = Math.min(line.to, line.from + Math.max(0, (problem.column ?? 1) - 1));
    const word = /^[\w.$]+/.exec(doc.sliceString(from, line.to));
    const to = Math.min(line.to, from + (word ? word[0].length : 1));
    const diagnostic = { from, to: Math.max(to, from), severity: "error" as const, message: problem.message };
    this.dispatch(setDiagnostics(this.now, [diagnostic]));
    this.dispatch({ effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }
}
