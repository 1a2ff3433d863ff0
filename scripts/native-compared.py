#!/usr/bin/env python3
"""Profilers of native programs beside each other: what each costs, and how far its profile is from exact counts.

    scripts/native-compared.py HPS FOLDER [RUNS [PROGRAM...]]

Five programs run under perf, Coz, SHIM and shadows: bzip2 both ways, two scripts of Lua, one of MuJS, each built from the
sources that scripts/real-programs.sh has fetched, without inlining. Needs the Debian packages linux-perf, coz-profiler, valgrind, time and a C compiler;
what is missing is left out and named. FOLDER keeps programs, profiles and the table (compared.md), which is printed.

- Exact: instructions by function, counted by Callgrind. A profile of time differs from it where instructions take
  different times; a profile of instructions should not.
- Error: 1 - the sum over functions of the smaller share.
- Cost: processor time (user and system) of the program under the profiler over that alone, medians of RUNS (5); and of all
  that ran, profiler and shadows included.
"""

import collections
import glob
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys

BZIP2 = "bzip2.c blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c".split()
CALLS = """
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {}
for round = 1, 20 do
  for i = 1, 200000 do t[i] = (i * 7919 + round) % 100003 end
  table.sort(t)
end
print(fib(35), t[1])
"""
STRINGS = """
local n, words = 0, {}
for i = 1, 5000000 do
  local s = string.format("%d:%x", i, i * 7919)
  words[i % 1000 + 1] = s:upper():reverse()
  n = n + #s + (s:find("ff") or 0)
end
print(n, #table.concat(words))
"""
JAVASCRIPT = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var words = {}, n = 0, i;
for (i = 0; i < 2500000; ++i) { var w = "w" + i * 7919 % 5003; words[w] = (words[w] || 0) + 1; }
for (i in words) n += words[i];
print(fib(30), n);
"""


def run(words, **how):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)


def all_time(words):
    """Processor seconds of a command and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run(words).returncode != 0:
        raise RuntimeError(words[0])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def built(folder):
    """Name, command, and command with hooks at functions."""
    sources = "target/real-programs/src"
    if not os.path.isdir(f"{sources}/bzip2"):
        sys.exit(f"{sources}: the sources are missing; run scripts/real-programs.sh first")

    def file(name, content):
        open(f"{folder}/{name}", "w").write(content)
        return f"{folder}/{name}"

    lines = (f"line {n * 7919 % 100003} of a text, {n % 613} words and {n % 89} names\n" for n in range(1_200_000))
    text = file("input", "".join(lines))
    of_lua = sorted(f for f in os.listdir(f"{sources}/lua/src") if f.endswith(".c") and f != "luac.c")
    # What lies unpacked there writes tags.
    mujs = f"{folder}/mujs-source"
    os.makedirs(mujs, exist_ok=True)
    archive, = glob.glob(f"{sources}/mujs_*.orig.tar.*")
    subprocess.run(["tar", "-xf", archive, "-C", mujs, "--strip-components=1"], check=True)
    kinds = {
        "bzip2": ([f"{sources}/bzip2/{f}" for f in BZIP2], []),
        "lua": ([f"{sources}/lua/src/{f}" for f in of_lua], ["-DLUA_COMPAT_5_3", "-DLUA_USE_POSIX", "-lm", "-ldl"]),
        "mujs": ([f"{mujs}/{f}" for f in ("one.c", "main.c")], ["-lm"]),
    }
    for name, (parts, flags) in kinds.items():
        for ending, hooks in (("", []), (".hooks", ["-finstrument-functions"])):
            made = f"{folder}/{name}{ending}"
            if not os.path.exists(made):
                common = ["-O2", "-g1", "-gdwarf-4", "-w", "-fno-inline"]
                subprocess.run(["cc", *common, *hooks, "-o", made, *parts, *flags], check=True)
    packed = f"{folder}/input.bz2"
    subprocess.run([f"{folder}/bzip2", "-k", "-f", text], check=True)
    cases = [
        ("bzip2", "bzip2", ["-c", "-k", text]),
        ("bunzip2", "bzip2", ["-d", "-c", "-k", packed]),
        ("lua, calls", "lua", [file("calls.lua", CALLS)]),
        ("lua, strings", "lua", [file("strings.lua", STRINGS)]),
        ("mujs", "mujs", [file("program.js", JAVASCRIPT)]),
    ]
    return [(title, [f"{folder}/{of}", *args], [f"{folder}/{of}.hooks", *args]) for title, of, args in cases]


def plain_name(name):
    """A function's name without what compilers and loaders add."""
    name = re.sub(r"(\.(constprop|isra|part|cold)(\.\d+)?)+$|@.*$", "", name)
    # The C library has variants for processors, and Callgrind's has no AVX-512.
    return re.sub(r"(_(sse2|sse42?|sse4_[12]|ssse3|avx|avx2|avx512|evex|evex512|rtm|erms|unaligned|no_vzeroupper|fma|fma4))+$", "", name)


def exact(command, folder):
    file = f"{folder}/callgrind.out"
    run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", *command], check=True)
    text = subprocess.run(
        ["callgrind_annotate", "--auto=no", "--threshold=100", "--show=Ir", file], capture_output=True, text=True, check=True
    ).stdout
    found = collections.Counter()
    for line in text.splitlines():
        row = re.match(r"\s*([\d,]+) \([^)]*\)\s+[^:]*:(.+?)(?: \[[^]]*\])?$", line)
        if row:
            # Recursion has a number of its own there.
            found[plain_name(re.sub(r"'\d+$", "", row[2]))] += int(row[1].replace(",", ""))
    return found


def of_perf(folder):
    words = ["perf", "report", "-i", f"{folder}/perf.data", "--stdio", "--no-children", "-s", "symbol", "-F", "sample,symbol", "-t", ";"]
    text = subprocess.run(words, capture_output=True, text=True).stdout
    found = collections.Counter()
    for line in text.splitlines():
        if ";" in line and not line.startswith("#"):
            count, symbol = line.split(";")[:2]
            found[plain_name(symbol.strip()[4:])] += int(count)
    return found


def of_folded(folder):
    found = collections.Counter()
    for line in open(f"{folder}/shadows.folded"):
        stack, count = line.rsplit(" ", 1)
        found[plain_name(stack.split(";")[-1])] += int(count)
    return found


def of_shim(folder):
    tags = json.load(open(f"{folder}/shim.json"))["tags"]
    found = collections.Counter()
    for tag in tags:
        if tag["name"] != "(nothing)":
            found[plain_name(tag["name"] or tag["tag"])] += tag["samples"]
    return found


def error(profile, truth):
    share = lambda of: {name: count / max(sum(of.values()), 1) for name, count in of.items()}
    a, b = share(profile), share(truth)
    return 1 - sum(min(a[name], b.get(name, 0)) for name in a)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    hps, folder = map(os.path.realpath, sys.argv[1:3])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    os.makedirs(folder, exist_ok=True)
    own = f"{folder}/own"
    timed = ["/usr/bin/time", "-f", "%U %S", "-o", own]
    shadow = [hps, "shadow", "run", "--export", f"folded:{folder}/shadows.folded"]
    # Name, needed command, words in front of the program (which is timed behind them), whether it takes hooks, its profile.
    tools = [
        ("perf record, 1,000 a second", "perf", ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "1000", "-o", f"{folder}/perf.data", *timed], False, of_perf),
        ("the same with call chains", "perf", ["perf", "record", "-q", "-g", "-e", "cpu-clock:u", "-F", "1000", "-o", f"{folder}/perf.data", *timed], False, of_perf),
        ("Coz", "coz", ["coz", "run", "--end-to-end", "-o", f"{folder}/profile.coz", "---"], False, None),
        ("SHIM, a tag at each function", hps, [hps, "shim", "run", "--preload", f"--json={folder}/shim.json"], True, of_shim),
        ("shadows", hps, shadow, False, of_folded),
        ("shadows, --max-overhead 1", hps, [*shadow, "--max-overhead", "1"], False, of_folded),
    ]
    head = "| program | profiler | cost to the program, % | all processor time, % | error by function, % | its hottest function is the hottest |"
    table = [head, "| --- | --- | ---: | ---: | ---: | --- |"]
    median = lambda measure: statistics.median(measure() for _ in range(runs))
    for name, plain, hooks in built(folder):
        if sys.argv[4:] and name not in sys.argv[4:]:
            continue
        truth = exact(plain, folder)
        (hottest, _), = truth.most_common(1)
        alone = median(lambda: all_time(plain))
        table.append(f"| {name} | exact: {sum(truth.values()) / 1e6:,.0f} million instructions, {alone:.2f} s alone; {100 * truth[hottest] / sum(truth.values()):.1f}% in `{hottest}` | | | | |")
        for title, needs, words, takes_hooks, profile in tools:
            if not shutil.which(needs):
                table.append(f"| {name} | {title}: {needs} is not installed | | | | |")
                continue
            for file in ("perf.data", "shadows.folded", "shim.json"):
                if os.path.exists(f"{folder}/{file}"):
                    os.remove(f"{folder}/{file}")
            command = words + (hooks if takes_hooks else plain)
            owns = []

            def once():
                spent = all_time(command)
                if own in words:
                    owns.append(sum(map(float, open(own).read().split()[-2:])))
                return spent

            try:
                spent = median(once)
            except RuntimeError:
                table.append(f"| {name} | {title}: fails on this program | | | | |")
                print(table[-1], flush=True)
                continue
            own_cost = f"{100 * (statistics.median(owns) / alone - 1):.1f}" if owns else "–"
            cells = ["–", "–"]
            if profile:
                try:
                    found = profile(folder)
                except (OSError, ValueError, KeyError):
                    found = collections.Counter()
                if found:
                    (top, _), = found.most_common(1)
                    cells = [f"{100 * error(found, truth):.1f}", "yes" if top == hottest else f"no: `{top}`"]
                else:
                    cells = ["no profile", ""]
            table.append(f"| {name} | {title} | {own_cost} | {100 * (spent / alone - 1):.0f} | {cells[0]} | {cells[1]} |")
            print(table[-1], flush=True)
    open(f"{folder}/compared.md", "w").write("\n".join(table) + "\n")
    print("\n".join(table))


main()
