"""Runs the code of notebooks from beginning to end, in a folder of its own, without a kernel.

    python3 tests/notebooks.py [FILE.ipynb ...]         only runs them
    python3 tests/notebooks.py --gallery DOCS           writes DOCS/gallery.md of them, with its pictures
"""

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import hps
from hps import _show

ROWS = 8
COLUMNS = 8


def markdown_table(frame: hps.Frame) -> str:
    """The first rows and columns of a table."""
    names, units = frame.columns[:COLUMNS], frame.units

    def line(cells) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    rows = [line(_show.cell(row[name], units.get(name, "")) for name in names) for row in frame.rows(ROWS)]
    kinds = ["---:" if frame[name].is_numeric else "---" for name in names]
    more = len(frame) - ROWS
    note = f"\n\n*{more:,} more rows*" if more > 0 else ""
    return "\n".join([line(names), line(kinds), *rows]) + note


def shown(value: object, picture) -> str:
    """A value as the gallery has it; `picture` keeps a picture and gives its name."""
    if isinstance(value, hps.Frame):
        return markdown_table(value)
    if isinstance(value, hps.Profile):
        return "\n\n".join([markdown_table(value.functions()), markdown_table(value.errors())])
    if isinstance(value, hps.Sweep):
        heat = next(name for name in value.figures if name.endswith("heatmap"))
        answers = "\n".join(f"- {line}" for line in value.answers)
        return f"{answers}\n\n![{heat}]({picture(value.figure(heat).svg)})"
    if isinstance(value, hps.Collected):
        return f"Accuracy {100 * value.accuracy:.1f}%\n\n{markdown_table(value.df)}"
    if isinstance(value, _show.Picture):
        return f"![picture]({picture(value.svg)})"
    return f"```text\n{value!r}\n```"


def run(file: Path, picture) -> str:
    """Runs the cells of a notebook, and gives its text with what it shows."""
    parts = []
    names: dict = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(file.read_text())["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            # The page has a title of its own.
            parts.append(source.replace("# ", "## ", 1) if source.startswith("# ") else source.replace("## ", "### "))
            continue
        parts.append(f"```python\n{source}\n```")
        tree = ast.parse(source, f"{file.name}:{number}")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        said = io.StringIO()
        value = None
        with contextlib.redirect_stdout(said):
            exec(compile(tree, f"{file.name}:{number}", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), f"{file.name}:{number}", "eval"), names)
        if said.getvalue():
            parts.append(f"```text\n{said.getvalue().rstrip()}\n```")
        if value is not None:
            show = getattr(value, "_repr_html_", None)
            assert (show() if show else repr(value)), f"{file.name}: cell {number} shows nothing"
            parts.append(shown(value, picture))
    return "\n\n".join(parts)


def main() -> None:
    """All notebooks, or those of the command line."""
    words = sys.argv[1:]
    gallery = Path(words[1]).resolve() if words[:1] == ["--gallery"] else None
    here = Path(__file__).resolve().parent.parent / "notebooks"
    named = [] if gallery else words
    files = [Path(name).resolve() for name in named] or sorted(here.glob("*.ipynb"))
    assert files, f"{here}: no notebooks"
    pictures: list[str] = []

    def picture(svg: str) -> str:
        name = f"pictures/gallery-{len(pictures) + 1}.svg"
        if gallery:
            (gallery / name).write_text(svg, encoding="utf-8")
        pictures.append(name)
        return name

    texts = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for file in files:
            begin = time.monotonic()
            texts.append(run(file, picture))
            print(f"{file.name}: ran in {time.monotonic() - begin:.1f} s")
        os.chdir("/")
    if gallery:
        head = (
            "# Gallery\n\nThe notebooks of `python/notebooks/`, as they ran with version "
            f"{hps.__version__}: text, code, and what it shows. `python3 python/tests/notebooks.py --gallery docs` writes this page."
        )
        (gallery / "gallery.md").write_text("\n\n".join([head, *texts]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
