#!/usr/bin/env bash
# Reads a small profile in every format with programs of other projects, and compares the totals that
# they find with the profile's: 2188 cycles, 447 instructions, 100 cycles of misses, of which the
# function `add` has 2000, 400 and 100. It needs the network once, for npm and crates.io.
#
# | format | reader | version that the script was last run with |
# | --- | --- | --- |
# | pprof | go tool pprof (Debian golang-go) | Go 1.19 |
# | pprof, speedscope, folded | speedscope's importer (npm speedscope) | 1.25.0 |
# | speedscope | speedscope's JSON schema (npm speedscope, ajv) | 1.25.0, 8 |
# | callgrind | callgrind_annotate (Debian valgrind) | 3.19.0 |
# | folded, perf script | inferno-flamegraph, inferno-collapse-perf (crates.io inferno) | 0.12.8 |
# | LLVM samples | llvm-profdata (Debian llvm) | 14.0.6 |
# | flame graph | an XML parser (Python's) | 3.11 |
#
# Firefox Profiler's front end is not on npm. A unit test compares the tables with those that the
# crate fxprof-processed-profile 0.8.1 writes. Speedscope's importers of callgrind and of perf script
# are not asked: the first ignores `positions: instr line`, the second weighs events by time and not
# by period. Its importer of pprof shows the outermost function of inlined ones alone. Inclusive
# costs of recursive functions are not compared: callgrind_annotate adds a function's calls of itself.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || {
        echo "error: $1 is missing; install Debian's $2" >&2
        exit 1
    }
}
need go golang-go
need callgrind_annotate valgrind
need llvm-profdata llvm
need node nodejs
need npm npm
need python3 python3

work=${1:-$(mktemp -d)}
mkdir -p "$work"
cargo run -q --locked -p hps-profile --example formats -- "$work"
cd "$work"
[ -d node_modules/ajv ] || npm install --silent --no-audit --no-fund --prefix . speedscope@1.25.0 ajv@8
[ -x bin/inferno-flamegraph ] ||
    CARGO_TARGET_DIR=$work/target CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
        cargo install -q --locked --root . inferno@0.12.8

expect() { # WHAT PATTERN TEXT
    grep -qE -- "$2" <<<"$3" || {
        echo "error: $1: no line matches $2 in:" >&2
        echo "$3" >&2
        exit 1
    }
    echo "ok: $1"
}

for column in cycles:2188cycles:2000cycles instructions:447:400 l1d_miss_cycles:100cycles:100cycles; do
    IFS=: read -r name total add <<<"$column"
    read_back=$(go tool pprof -top -nodefraction=0 -sample_index="$name" sample.pb.gz 2>&1)
    expect "pprof, total of $name" "of $total total$" "$read_back"
    expect "pprof, $name of an inlined function" "^ *$add .* add \(inline\)$" "$read_back"
done
expect "pprof, address without a symbol" "^ *5cycles .* 0x9000$" \
    "$(go tool pprof -top -nodefraction=0 sample.pb.gz 2>&1)"

read_back=$(node "$root/scripts/read-with-speedscope.js" node_modules/speedscope \
    sample.speedscope.json sample.pb.gz sample.folded)
expect "speedscope, cycles" "^sample.speedscope.json cycles: 2188 add 2000$" "$read_back"
expect "speedscope, instructions" "^sample.speedscope.json instructions: 447 add 400$" "$read_back"
expect "speedscope, misses" "^sample.speedscope.json l1d_miss_cycles: 100 add 100$" "$read_back"
expect "folded in speedscope" "^sample.folded .*: 2188 add 2000$" "$read_back"
expect "pprof in speedscope" "^sample.pb.gz .*: 2188 " "$read_back"
expect "speedscope's schema" "^valid$" "$(node -e '
    const read = (path) => JSON.parse(require("fs").readFileSync(path, "utf8"));
    const schema = read("node_modules/speedscope/dist/release/file-format-schema.json");
    const check = new (require("ajv"))({ strict: false }).compile(schema);
    console.log(check(read("sample.speedscope.json")) ? "valid" : JSON.stringify(check.errors));
')"

read_back=$(callgrind_annotate --auto=no --inclusive=no --threshold=100 sample.callgrind)
expect "callgrind, totals" "^ *2,188 .* 447 .* 100 .*PROGRAM TOTALS$" "$read_back"
expect "callgrind, function" "^ *2,000 .* 400 .* 100 .*:add \[sample\]$" "$read_back"
read_back=$(callgrind_annotate --auto=no --inclusive=yes --threshold=100 sample.callgrind)
expect "callgrind, inclusive" "^ *2,050 .* 410 .* 100 .*:work<int>" "$read_back"

read_back=$(bin/inferno-collapse-perf sample.perf)
expect "perf script, periods of the first event" "^sample;main;work<int>;add 2000$" "$read_back"
expect "perf script, total" "^2188$" "$(awk "{ total += \$NF } END { print total }" <<<"$read_back")"
expect "folded in inferno" "^2188$" \
    "$(bin/inferno-flamegraph sample.folded | sed -n 's/.*total_samples="\([0-9]*\)".*/\1/p')"

read_back=$(llvm-profdata show --sample sample.afdo)
expect "LLVM samples, function" "^Function: _Z4workIiEvc: 410, 10, " "$read_back"
expect "LLVM samples, inlined function" "inlined callee: _Z3addi: 400, 0, " "$read_back"
expect "LLVM samples, calls" "3: 0, calls: _Z4workIiEvc:10" "$read_back"

python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("sample.svg")'
echo "ok: flame graph is XML"
