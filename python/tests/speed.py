"""Prints the numbers of docs/measurements/python.md: speed of probes and of frames. It takes numpy, pandas, polars, pyarrow."""

import json
import time

import hps
import numpy as np


def seconds(run) -> float:
    """Seconds of the host that a call takes."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


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
    print(f"from_json of a million rows: {seconds(lambda: hps.Frame.from_json(text)):.1f} s")


if __name__ == "__main__":
    main()
