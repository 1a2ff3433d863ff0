#!/usr/bin/env python3
"""A second implementation of the statistics over phases, which shares nothing with the lab's.

Reads the rows of a sweep (results.jsonl) and, from the accuracies at each phase alone, computes

- the mean and its 95% interval by the bootstrap, beside the lab's mean and Student's t interval;
- which of two bursts is more accurate at a frequency, by the bootstrap of differences over paired
  phases, beside the verdict of the t interval that the lab's reports use.

usage: bootstrap-phases.py results.jsonl

The exit code is 1 if a mean differs, if more than one row in twenty has a bootstrap interval that is
less than 0.75 or more than 1.15 times as wide as the lab's, or if one comparison of bursts in twenty
is judged otherwise. With 30 phases a bootstrap interval is expected to be 0.94 times as wide: it has
the quantile of the normal distribution (1.96 for 2.05) and divides by n instead of n - 1.
"""

import json
import math
import random
import sys
from collections import defaultdict

TIMES = 2000
# Quantiles of Student's t distribution at 97.5%, by degrees of freedom (a printed table).
T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
     14: 2.145, 19: 2.093, 24: 2.064, 29: 2.045, 39: 2.023, 49: 2.010, 59: 2.001, 99: 1.984}


def bootstrap(values, draw):
    """The 95% interval of the mean: 2.5% of the means of resampled values lie on each side."""
    n = len(values)
    means = sorted(sum(values[draw.randrange(n)] for _ in range(n)) / n for _ in range(TIMES))
    return means[TIMES // 40], means[TIMES - 1 - TIMES // 40]


def t_interval(values):
    """The 95% interval of the mean by Student's t distribution."""
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
    freedom = max(k for k in T if k <= n - 1)
    half = T[freedom] * math.sqrt(variance / n)
    return mean - half, mean + half


def verdict(interval):
    """-1, 0 or 1: below zero, not told from it, above it."""
    low, high = interval
    return (low > 0) - (high < 0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    rows = [row for row in rows if row.get("phases")]
    if not rows:
        sys.exit("no row has accuracies at several phases: run the sweep with --phases 30")
    draw = random.Random(2009)

    wrong_means = 0
    ratios = []
    for row in rows:
        phases = row["phases"]
        values = phases["renormalized"]
        mean = math.fsum(values) / len(values)
        wrong_means += abs(mean - phases["mean"]) > 1e-9
        half = phases["half_width"]
        if half and half > 1e-6:
            low, high = bootstrap(values, draw)
            ratios.append((high - low) / 2 / half)
    ratios.sort()
    outside = sum(not 0.75 <= ratio <= 1.15 for ratio in ratios)

    points = defaultdict(dict)
    for row in rows:
        place = (row["isa"], row["program"], row["input"], row["profile"], row["one_in"])
        points[place][row["burst"]] = row["phases"]["renormalized"]
    # Means over programs at each phase, of the points that all programs have.
    by_kind = defaultdict(lambda: defaultdict(list))
    for (isa, _, _, profile, one_in), bursts in points.items():
        for burst, values in bursts.items():
            by_kind[isa, profile, one_in][burst].append(values)
    compared = agreed = 0
    for bursts in by_kind.values():
        if len({len(of) for of in bursts.values()}) != 1:
            continue
        mean = {burst: [math.fsum(at) / len(at) for at in zip(*of)] for burst, of in bursts.items()}
        shortest = min(mean)
        for burst in mean:
            if burst == shortest:
                continue
            gains = [a - b for a, b in zip(mean[burst], mean[shortest])]
            compared += 1
            agreed += verdict(bootstrap(gains, draw)) == verdict(t_interval(gains))

    print(f"{len(rows)} rows, {wrong_means} with another mean")
    if ratios:
        middle = ratios[len(ratios) // 2]
        print(f"{len(ratios)} intervals: bootstrap {ratios[0]:.2f} to {ratios[-1]:.2f} times as wide, "
              f"{middle:.2f} in the middle; {outside} outside of 0.75 to 1.15")
    print(f"{compared} comparisons of bursts, {agreed} judged alike")
    failed = wrong_means > 0 or 20 * outside > len(ratios) or 20 * (compared - agreed) > compared
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
