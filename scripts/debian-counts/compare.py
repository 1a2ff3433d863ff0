#!/usr/bin/env python3
"""Compares two counts of a program's instructions: of QEMU's plugin (executions.c) and of `hps profile --json`.

    compare.py NAME ROOT COUNTS PROFILE TABLE [MAP]

MAP is the file in which the program under QEMU names code that it has made (`/tmp/perf-PID.map`). Such code lies elsewhere
in each run: it is compared by names.

Adds a row for each object to TABLE, and prints functions whose counts differ, functions whose calls are not the
executions of their first instruction, and addresses without a name that a symbol covers. Fails if shares of objects or
functions differ by more than one percentage point, or if such an address is there.
"""

import bisect
import collections
import json
import subprocess
import sys

LISTED = 12
LEAST_ROW = 1e-5


def segments(file):
    """Offset, address and size of each loaded part of a file."""
    text = subprocess.run(["readelf", "-lW", file], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in text.splitlines())
    return [(int(r[1], 16), int(r[2], 16), int(r[4], 16)) for r in rows if r and r[0] == "LOAD"]


def functions_of(file):
    """Address and size of each function that a symbol of a file names."""
    text = subprocess.run(["readelf", "-sW", file], capture_output=True, text=True, check=True).stdout
    found = []
    for row in (line.split() for line in text.splitlines()):
        if len(row) > 7 and row[3] in ("FUNC", "IFUNC") and row[6] != "UND":
            found.append((int(row[1], 16), int(row[2], 0)))
    return sorted(found)


def counted_by_qemu(path, root):
    """Executions by object and address."""
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    parts = {}
    for line in open(path):
        count, offset, name = line.rstrip("\n").split(" ", 2)
        offset = int(offset, 16)
        if name == "-":
            counts[None][offset] += int(count)
            continue
        if name not in parts:
            parts[name] = segments(root + name)
        for first, addr, size in parts[name]:
            if first <= offset < first + size:
                counts[name][offset - first + addr] += int(count)
                break
    return counts


def counted_by_hps(profile):
    """Executions by object and address, and functions by object: entry, name, calls."""
    biases = {o["name"]: int(o["load_bias"], 16) for o in profile["objects"] if o["name"]}
    functions = collections.defaultdict(list)
    for f in profile["functions"]:
        entry = int(f["entry"], 16) - biases.get(f["object"], 0)
        functions[f["object"]].append((entry, f["name"], f["calls"]))
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    starts = sorted((int(f["entry"], 16), f["object"]) for f in profile["functions"])
    entries = [entry for entry, _ in starts]
    for row in profile["static_instructions"]:
        if row["disepc"]:
            continue
        pc = int(row["pc"], 16)
        place = bisect.bisect_right(entries, pc) - 1
        name = starts[place][1] if place >= 0 else None
        counts[name][pc - biases.get(name, 0)] += row["commits"]
    return counts, {name: sorted(all) for name, all in functions.items()}


def by_name(counts, path):
    """Instructions by the names that a map gives to addresses."""
    named = []
    for line in open(path, errors="replace"):
        start, size, name = line.rstrip("\n").split(" ", 2)
        named.append((int(start, 16), int(size, 16), name.strip()))
    # Of code at one address the latest.
    named = list({start: (start, size, name) for start, size, name in named}.values())
    named.sort()
    starts = [start for start, _, _ in named]
    found = collections.Counter()
    for at, count in counts.items():
        place = bisect.bisect_right(starts, at) - 1
        held = place >= 0 and at < starts[place] + named[place][1]
        found[named[place][2] if held else None] += count
    return found


def main():
    program, root, qemu_file, profile_file, table, *maps = sys.argv[1:]
    profile = json.load(open(profile_file))
    qemu = counted_by_qemu(qemu_file, root)
    hps, functions = counted_by_hps(profile)
    made = [collections.Counter(), collections.Counter()]
    if maps:
        made[0] = by_name(qemu.pop(None, {}), maps[0])
        for f in profile["functions"]:
            if f["object"] is None or f["object"].startswith("/tmp/perf-"):
                name = None if f["name"].startswith("sub_") else f["name"]
                made[1][name] += f["instructions"]
        for name in [name for name in hps if name is None or name.startswith("/tmp/perf-")]:
            del hps[name], functions[name]
    sums = [sum(sum(of.values()) for of in side.values()) + sum(own.values()) for side, own in zip((qemu, hps), made)]
    failures = []
    rows = []
    by_function = []
    calls = [0, 0, 0]
    for name in sorted(set(qemu) | set(hps), key=lambda name: -sum(hps[name].values())):
        a, b = qemu[name], hps[name]
        totals = sum(a.values()), sum(b.values())
        addresses = set(a) | set(b)
        equal = sum(a.get(at) == b.get(at) for at in addresses)
        share = abs(totals[0] / sums[0] - totals[1] / sums[1])
        if share > 0.01:
            failures.append(f"{name}: shares differ by {100 * share:.2f} points")
        if max(totals) >= LEAST_ROW * sums[1]:
            difference = 100 * (totals[1] / totals[0] - 1) if totals[0] else float("inf")
            shown = f"`{name}`" if name else "outside of files"
            rows.append(
                f"| {program} | {shown} | {totals[0]:,} | {totals[1]:,} | {difference:+.3f}% | {len(addresses):,} | {equal:,} |"
            )
        own = functions.get(name, [])
        entries = [entry for entry, _, _ in own]
        sides = [collections.defaultdict(int), collections.defaultdict(int)]
        for side, counts in zip(sides, (a, b)):
            for at, count in counts.items():
                side[bisect.bisect_right(entries, at) - 1] += count
        for place in set(sides[0]) | set(sides[1]):
            label = own[place][1] if place >= 0 else "(before all functions)"
            by_function.append((sides[0][place], sides[1][place], name, label))
        for entry, _, count in own:
            ours, theirs = b.get(entry, 0), a.get(entry, 0)
            calls[0] += 1
            calls[1] += ours == theirs
            calls[2] += count == theirs
        if name and name.startswith("/"):
            try:
                known = functions_of(root + name)
            except (OSError, subprocess.CalledProcessError):
                known = []
            starts = [addr for addr, _ in known]
            for at in b:
                place = bisect.bisect_right(entries, at) - 1
                held = bisect.bisect_right(starts, at) - 1
                covered = held >= 0 and at < known[held][0] + known[held][1]
                if covered and (place < 0 or own[place][1].startswith("sub_")):
                    failures.append(f"{name}: {at:#x} has no name, and a symbol covers it")
                    break
    if maps:
        totals = [sum(own.values()) for own in made]
        names = set(made[0]) | set(made[1])
        equal = sum(made[0][name] == made[1][name] for name in names)
        difference = 100 * (totals[1] / totals[0] - 1) if totals[0] else float("inf")
        rows.append(
            f"| {program} | code that it made, by name | {totals[0]:,} | {totals[1]:,} | {difference:+.3f}% "
            f"| {len(names):,} names | {equal:,} |"
        )
        by_function.extend((made[0][name], made[1][name], "made", name or "(without a name)") for name in names)
    with open(table, "a") as out:
        out.write("\n".join(rows) + "\n")
    differ = [f for f in by_function if f[0] != f[1]]
    differ.sort(key=lambda f: -abs(f[0] - f[1]))
    print(f"{program}: {sums[0]:,} instructions in QEMU, {sums[1]:,} in hps ({100 * (sums[1] / sums[0] - 1):+.4f}%)")
    print(f"  {len(by_function):,} functions, {len(by_function) - len(differ):,} of equal count")
    print(f"  {calls[0]:,} entries: executions equal in {calls[1]:,}, calls equal to QEMU's executions in {calls[2]:,}")
    for theirs, ours, name, label in differ[:LISTED]:
        print(f"    {theirs:>14,} {ours:>14,}  {label}  {name}")
        share = abs(theirs / sums[0] - ours / sums[1])
        if share > 0.01:
            failures.append(f"{label} of {name}: shares differ by {100 * share:.2f} points")
    for failure in failures:
        print(f"  FAILS: {failure}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
