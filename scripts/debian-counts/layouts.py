#!/usr/bin/env python3
"""Tells which functions' counts depend on where memory lies.

    layouts.py ROOT COUNTS PROFILE PROFILE...

COUNTS are of QEMU's plugin (executions.c), the profiles of `hps profile --json`: the first one as `compare.py` takes it,
the others with other addresses (`--address-seed`). Of the functions whose instructions differ between QEMU and the first
profile, prints how many differ between the profiles, too, and names the others.
"""

import bisect
import collections
import json
import sys

from compare import LISTED, counted_by_hps, counted_by_qemu


def by_function(counts, functions):
    """Instructions by object and function."""
    found = collections.Counter()
    for name, of in counts.items():
        own = functions.get(name, [])
        entries = [entry for entry, _, _ in own]
        for at, count in of.items():
            place = bisect.bisect_right(entries, at) - 1
            found[name, own[place][1] if place >= 0 else None] += count
    return found


def main():
    root, qemu_file, *profiles = sys.argv[1:]
    ours, known = [], None
    for path in profiles:
        counts, functions = counted_by_hps(json.load(open(path)))
        # Functions that ran in one of the runs alone are parts of others else.
        known = known or functions
        ours.append(by_function(counts, functions))
    theirs = by_function(counted_by_qemu(qemu_file, root), known)
    first, others = ours[0], ours[1:]
    differ = [f for f in set(first) | set(theirs) if first[f] != theirs[f]]
    moves = [f for f in differ if any(other[f] != first[f] for other in others)]
    weight = lambda of: sum(abs(first[f] - theirs[f]) for f in of)
    total = sum(first.values())
    print(f"{len(first):,} functions, {total:,} instructions, {len(profiles)} layouts")
    print(f"  {len(differ):,} differ from QEMU's by {weight(differ):,} instructions")
    print(f"  {len(moves):,} of them differ from layout to layout: {weight(moves):,} instructions")
    spans = [(min(o[f] for o in ours), max(o[f] for o in ours)) for f in moves]
    within = sum(low <= theirs[f] <= high for f, (low, high) in zip(moves, spans))
    print(f"  {within:,} of these hold QEMU's count between their least and their most")
    rest = sorted(set(differ) - set(moves), key=lambda f: -abs(first[f] - theirs[f]))
    for f in rest[:LISTED]:
        print(f"    {theirs[f]:>14,} {first[f]:>14,}  {f[1]}  {f[0]}")


main()
