"""Frames as other libraries have them, and as notebooks show them."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hps._hps import Frame

# Rows that a notebook shows.
_MOST_ROWS = 20


def to_pandas(frame: Frame) -> Any:
    """The frame as one of pandas. Numbers are not copied."""
    import numpy
    import pandas  # type: ignore[import-untyped, unused-ignore]

    def column(name: str) -> Any:
        values = frame[name]
        if values.is_numeric:
            return numpy.asarray(values)
        return values.tolist()

    data = {name: column(name) for name in frame.columns}
    table = pandas.DataFrame(data, columns=frame.columns, copy=False)
    table.attrs["units"] = frame.units
    return table


def to_polars(frame: Frame) -> Any:
    """The frame as one of polars, through Arrow, without a copy."""
    import polars

    return polars.DataFrame(frame)


def to_arrow(frame: Frame) -> Any:
    """The frame as a table of pyarrow, without a copy."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    return pyarrow.table(frame)


def cell(value: Any, unit: str = "") -> str:
    """A value for people."""
    if value is None or value != value:
        return ""
    if unit == "address":
        return f"{value:#x}"
    if unit == "share":
        return f"{100 * value:.2f}%"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


def table_html(frame: Frame, caption: str = "") -> str:
    """A table for a notebook, whose heads tell units and meanings."""
    units, about = frame.units, frame.descriptions
    heads = "".join(
        f'<th title="{html.escape(about.get(name, ""))}">{html.escape(name)}</th>' for name in frame.columns
    )
    kinds = [frame[name].is_numeric for name in frame.columns]
    body = []
    for row in frame.rows(_MOST_ROWS):
        cells = "".join(
            f'<td style="text-align:{"right" if numeric else "left"}">{html.escape(cell(row[name], units.get(name, "")))}</td>'
            for name, numeric in zip(frame.columns, kinds)
        )
        body.append(f"<tr>{cells}</tr>")
    more = len(frame) - _MOST_ROWS
    note = f"<p>{more:,} more rows</p>" if more > 0 else ""
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>{note}"


def table_text(frame: Frame) -> str:
    """A table for a terminal."""
    units = frame.units
    rows = [[cell(row[name], units.get(name, "")) for name in frame.columns] for row in frame.rows(_MOST_ROWS)]
    widths = [
        max([len(name), *(len(row[at]) for row in rows)]) for at, name in enumerate(frame.columns)
    ]
    numeric = [frame[name].is_numeric for name in frame.columns]

    def line(words: list[str]) -> str:
        placed = (w.rjust(n) if right else w.ljust(n) for w, n, right in zip(words, widths, numeric))
        return "  ".join(placed).rstrip()

    lines = [line(list(frame.columns)), *(line(row) for row in rows)]
    if len(frame) > _MOST_ROWS:
        lines.append(f"({len(frame) - _MOST_ROWS:,} more rows)")
    return "\n".join(lines)


class Picture:
    """A picture as SVG, which notebooks show."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_html_(self) -> str:
        # A picture with a script answers pointers only in a frame of its own.
        if "<script" in self.svg:
            return (
                f'<iframe srcdoc="{html.escape(self.svg)}" style="width:100%;height:480px;border:0" '
                'sandbox="allow-scripts"></iframe>'
            )
        return self.svg

    def save(self, file: str) -> None:
        """Writes the picture."""
        with open(file, "w", encoding="utf-8") as out:
            out.write(self.svg)

    def __repr__(self) -> str:
        return f"<Picture of {len(self.svg):,} bytes>"


def flame(profile: Any) -> Picture:
    """The flame graph of a profile."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flame.svg"
        profile.export(file, "flame-graph")
        return Picture(file.read_text(encoding="utf-8"))


def profile_html(profile: Any) -> str:
    """The functions of a profile, and the errors of the profilers that have watched."""
    parts = [table_html(profile.functions(), repr(profile).strip("<>"))]
    errors = profile.errors()
    if len(errors):
        parts.append(table_html(errors, "the share of time that each profiler gives to the wrong member"))
    return "".join(parts)
