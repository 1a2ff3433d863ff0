#!/usr/bin/env python3
"""How often the interval of `hps run --sample` holds the exact cycles an instruction.

usage: sampled-coverage.py HPS [--programs A,B] [--machines M,N] [--isas I,J] [--lengths L,M] [--periods P,Q] [--cases FILE]

Runs each program of the project (small input) up to each number of instructions, exactly and with sampled timing: with the
default plan (`default`) and with one unit in each of the periods. A run of fewer than four units is no case. Prints how
many intervals hold the exact value, by plan, by number of units, by machine and by instruction set. --cases writes every
case as JSON, one a line. A thousand cases take minutes of processor time.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict

PROGRAMS = "bwt lz chess ray interp netsimplex parse place objstore minicc".split()
MACHINES = "hps-4wide tiny-2wide wide-8 simplescalar-4wide ev6".split()
BOUNDS = [4, 10, 20, 40, 80, 160]


def run(hps, options, program):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        order = [hps, "run", *options, f"--json={file.name}", program, "small"]
        done = subprocess.run(order, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(order)}: {done.stderr}")
        return json.load(open(file.name))


def cases(args):
    for machine in args.machines:
        for program in args.programs:
            for isa in args.isas:
                for length in args.lengths:
                    options = ["--isa", isa, "--machine", machine, "--max-instructions", str(length)]
                    exact = run(args.hps, options, program)
                    instructions = exact["instructions"]
                    for plan in args.periods:
                        more = ["--sample"] if plan == "default" else ["--sample", "--sample-period", plan]
                        found = run(args.hps, options + more, program)["sampling"]
                        if not found or found["units"] < BOUNDS[0]:
                            continue
                        cpi, wanted = found["cpi"]["mean"], exact["cycles"] / instructions
                        # JSON has no infinity.
                        half_width = found["cpi"]["half_width"] or math.inf
                        yield {
                            "machine": machine,
                            "program": program,
                            "isa": isa,
                            "instructions": instructions,
                            "plan": plan,
                            "units": found["units"],
                            "exact_cpi": wanted,
                            "cpi": cpi,
                            "half_width": half_width / cpi,
                            "error": cpi / wanted - 1,
                            "holds": abs(cpi - wanted) <= half_width,
                        }
                    if instructions < length:
                        break


def table(all_cases, title, key):
    groups = defaultdict(list)
    for case in all_cases:
        groups[key(case)].append(case)
    print(f"\n| {title} | intervals that hold | | half width, median | error, root mean square |\n| --- | --- | --- | --- | --- |")
    for name, group in sorted(groups.items(), key=lambda pair: str(pair[0]).zfill(8)):
        held = sum(case["holds"] for case in group)
        width = sorted(case["half_width"] for case in group)[len(group) // 2]
        error = (sum(case["error"] ** 2 for case in group) / len(group)) ** 0.5
        print(f"| {name} | {held} of {len(group)} | {held / len(group):.1%} | {width:.1%} | {error:.1%} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("hps")
    words = lambda text: text.split(",")
    parser.add_argument("--programs", type=words, default=PROGRAMS)
    parser.add_argument("--machines", type=words, default=MACHINES)
    parser.add_argument("--isas", type=words, default=["riscv64", "alpha"])
    numbers = lambda text: [int(n) for n in text.split(",")]
    parser.add_argument("--lengths", type=numbers, default=[250_000, 500_000, 1_000_000, 2_000_000, 5_000_000])
    parser.add_argument("--periods", type=words, default=["default", "10007", "40009", "200003"])
    parser.add_argument("--cases")
    args = parser.parse_args()
    found = []
    file = open(args.cases, "w") if args.cases else None
    for case in cases(args):
        found.append(case)
        if file:
            file.write(json.dumps(case) + "\n")
            file.flush()
    units = lambda case: max(bound for bound in BOUNDS if case["units"] >= bound)
    table(found, "plan", lambda case: case["plan"])
    table(found, "units at least", units)
    table(found, "machine", lambda case: case["machine"])
    table(found, "instruction set", lambda case: case["isa"])


main()
