#!/usr/bin/env bash
# Writes the statistics of several programs on several machines and both cores into a folder, to compare
# two builds of the simulator:
#
#   scripts/dump-statistics.sh target/debug/hps before; ...; scripts/dump-statistics.sh target/debug/hps after
#   diff -r -x '*.log' before after
set -euo pipefail
hps=$1
out=$2
limit=${3:-100000}
mkdir -p "$out"
for program in bwt lz chess ray; do
    for machine in hps-4wide simplescalar-4wide tiny-2wide wide-8 ev5 ev6; do
        for core in cycle instruction; do
            for isa in riscv64 alpha; do
                name=$program-$machine-$core-$isa.json
                # A machine that a core cannot simulate is refused; then there is no file.
                "$hps" run --machine "$machine" --core "$core" --isa "$isa" --stats-out "$out/$name" \
                    --max-instructions "$limit" "$program" small >"$out/$name.log" 2>&1 || true
            done
        done
    done
done
# What the host took is never the same twice.
sed -i '/"host_/d' "$out"/*.json
