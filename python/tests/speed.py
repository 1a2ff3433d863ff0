"""Prints the numbers of docs/measurements/python.md: speed of probes and of frames. It takes numpy, pandas, polars, pyarrow."""

import json
import tempfile
import time
from pathlib import Path

import hps
import numpy as np
import pandas
import polars
import pyarrow.csv
import pyarrow.parquet


def seconds(run) -> float:
    """Seconds of the host that a call takes."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def profile(file: Path, members: int) -> None:
    """Writes a profile file with so many instructions."""
    header = {
        "program": "made",
        "program_hash": "",
        "version": hps.__version__,
        "configuration": {},
        "kind": "instruction",
        "unit": "cycles",
        "parts": 12,
        "total": members * (members + 1) // 2,
        "summary": None,
    }
    rows = [{"member": f"{0x10000 + 4 * n:#x}", "weight": members - n} for n in range(members)]
    file.write_text(json.dumps({"format": "hps-profile", "format_version": 1, "header": header, "members": rows}))


def loads(folder: Path) -> None:
    """Loads a table of a million rows and nine columns, as the command writes it, in each format with each library."""
    profile(folder / "profile.json", 1_000_000)
    for end in ("parquet", "csv", "json"):
        file = folder / f"rows.{end}"
        words = ("results", "convert", folder / "profile.json", "--out", file)
        taken = seconds(lambda: hps.command(*words, progress=False))
        print(f"hps results convert to {end}: {taken:.1f} s, {file.stat().st_size / 1e6:.0f} MB")
    text = (folder / "rows.json").read_text()
    readers = {
        "parquet, pandas": lambda: pandas.read_parquet(folder / "rows.parquet"),
        "parquet, polars": lambda: polars.read_parquet(folder / "rows.parquet"),
        "parquet, pyarrow": lambda: pyarrow.parquet.read_table(folder / "rows.parquet"),
        "csv, pandas": lambda: pandas.read_csv(folder / "rows.csv"),
        "csv, pandas with pyarrow": lambda: pandas.read_csv(folder / "rows.csv", engine="pyarrow"),
        "csv, polars": lambda: polars.read_csv(folder / "rows.csv"),
        "csv, pyarrow": lambda: pyarrow.csv.read_csv(folder / "rows.csv"),
        "json, hps.Frame.from_table": lambda: hps.Frame.from_table(text, {}),
    }
    for name, read in readers.items():
        assert len(read()) == 1_000_000, name
        print(f"load of a million rows: {name}: {min(seconds(read) for _ in range(3)):.2f} s")


def main() -> None:
    """Runs, probes, and frames of a million rows."""
    program, machine, millions = hps.Program("chess", "small"), hps.Machine(), 2
    for core in ("cycle", "instruction"):
        counts: dict[int, int] = {}

        def probe(batch: hps.Frame) -> None:
            for address, count in zip(*(part.tolist() for part in np.unique(np.asarray(batch["address"]), return_counts=True))):
                counts[address] = counts.get(address, 0) + count

        limit = millions * 1_000_000
        plain = seconds(lambda: hps.run(program, machine, core=core, limit=limit))
        watched = seconds(lambda: hps.watch(program, probe, machine, core=core, limit=limit))
        print(f"by {core}: {millions / plain:.1f} million instructions a second, {millions / watched:.1f} under the probe")
    frames: list[hps.Frame] = []
    columns = ["cycle", "address", "class", "memory_address", "taken", "events"]
    hps.watch(program, frames.append, machine, core="instruction", limit=1_000_000, batch=1_000_000, columns=columns)
    for name in ("to_pandas", "to_polars", "to_arrow"):
        hand_over = getattr(frames[0], name)
        hand_over()  # loads the library
        print(f"{name} of {len(frames[0]):,} rows: {1000 * seconds(hand_over):.1f} ms")
    rows = (json.dumps({"a": n, "b": n / 3, "c": f"x{n % 10}", "d": {"e": n * 2}}) for n in range(1_000_000))
    text = "\n".join(rows)
    print(f"from_json of a million rows: {min(seconds(lambda: hps.Frame.from_json(text)) for _ in range(3)):.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        loads(Path(folder))


if __name__ == "__main__":
    main()
