#!/usr/bin/env python3
"""Runs in slices against runs without them: errors of cycles and profiles, intervals, time.

usage: scripts/slices.py HPS [--instructions N] [--slices N] [--programs P,...] [--isas I,...] [--machine M] [--core C]
                         [--jobs J] [-- more options of hps profile]
       scripts/slices.py HPS --choose METHODS --most K,... --slice-length N [as above]

Prints a line for each program and instruction set, and sums behind them. With --choose only some slices are timed, and the
lines are of methods. `docs/measurements/slices.md` has results.
"""

import argparse
import json
import subprocess
import time

PROGRAMS = "bwt,lz,chess,ray,interp,netsimplex,parse,place,objstore,minicc"


def timed(command):
    """Output and wall-clock seconds of a command."""
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout, time.monotonic() - begin


def choices(args):
    """Errors of methods that time only some slices."""
    print("method most | rms error | largest | held | mean overlap | timed")
    for method in args.choose.split(","):
        for most in args.most.split(","):
            errors, overlaps, shares, held, known = [], [], [], 0, 0
            for isa in args.isas.split(","):
                for program in args.programs.split(","):
                    order = [args.hps, "profile", "--isa", isa, "--machine", args.machine, "--core", args.core]
                    order += ["--max-instructions", str(args.instructions), "--json", "--slices-check"]
                    order += ["--slice-length", args.slice_length, "--choose", method, "--choose-most", most]
                    text, _ = timed([*order, *args.more, program, args.size])
                    slices = json.loads(text)["slices"]
                    errors.append(slices["difference"])
                    overlaps.append(slices["overlap"])
                    shares.append(slices["slices"] / slices["choice"]["slices"])
                    if "sampling_half_width" in slices:
                        known += 1
                        held += abs(slices["difference"]) <= slices["sampling_half_width"]
            count = len(errors)
            rms = (sum(error * error for error in errors) / count) ** 0.5
            print(
                f"{method} {most} | {100 * rms:.2f}% | {100 * max(map(abs, errors)):.2f}% | "
                f"{f'{held} of {known}' if known else '-'} | {100 * sum(overlaps) / count:.2f}% | "
                f"{100 * sum(shares) / count:.1f}%",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("hps")
    parser.add_argument("--instructions", type=int, default=100_000_000)
    parser.add_argument("--slices", type=int, default=10)
    parser.add_argument("--programs", default=PROGRAMS)
    parser.add_argument("--isas", default="riscv64,alpha")
    parser.add_argument("--machine", default="hps-4wide")
    parser.add_argument("--core", default="cycle")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--size", default="large")
    parser.add_argument("--choose", default="")
    parser.add_argument("--most", default="10,30")
    parser.add_argument("--slice-length", default="200000")
    parser.add_argument("more", nargs="*")
    args = parser.parse_args()
    if args.choose:
        choices(args)
        return
    print("program isa | error | expected | held | overlap | straight s | sliced s | times")
    errors, held, overlaps, ratios = [], 0, [], []
    for isa in args.isas.split(","):
        for program in args.programs.split(","):
            options = ["--isa", isa, "--machine", args.machine, "--core", args.core]
            options += ["--max-instructions", str(args.instructions), "--json"]
            subject = [program] if args.size == "none" else [program, args.size]
            run = [args.hps, "profile", *options]
            cut = ["--slices", str(args.slices), "--jobs", args.jobs, *args.more]
            _, straight = timed([*run, *subject])
            _, sliced = timed([*run, *cut, *subject])
            text, _ = timed([*run, *cut, "--slices-check", *subject])
            slices = json.loads(text)["slices"]
            error, expected = slices["difference"], slices["expected_error"]
            is_held = abs(error - expected) <= slices["half_width"]
            errors.append(error)
            held += is_held
            overlaps.append(slices["overlap"])
            ratios.append(straight / sliced)
            print(
                f"{program} {isa} | {100 * error:+.3f}% | {100 * expected:+.3f} ± {100 * slices['half_width']:.3f}% | "
                f"{'yes' if is_held else 'no'} | {100 * slices['overlap']:.3f}% | {straight:.1f} | {sliced:.1f} | "
                f"{straight / sliced:.2f}",
                flush=True,
            )
    count = len(errors)
    print(
        f"largest error {100 * max(map(abs, errors)):.3f}%, held {held} of {count}, least overlap "
        f"{100 * min(overlaps):.3f}%, speed-up {sum(ratios) / count:.2f} in the mean"
    )


if __name__ == "__main__":
    main()
