#!/usr/bin/env bash
# Writes the statistics and the profiles of all programs on all machines and both cores into a folder, to compare
# two builds of the simulator:
#
#   scripts/dump-statistics.sh target/debug/hps before; ...; scripts/dump-statistics.sh target/debug/hps after
#   diff -r before after
#
# A third argument says how many instructions of each program are simulated, a fourth names programs.
set -euo pipefail
hps=$(realpath "$1")
out=$2
limit=${3:-100000}
programs=${4:-bwt lz chess ray interp netsimplex parse place objstore minicc}
mkdir -p "$out"
cd "$out"

# One line a run: a file, and the arguments that make it.
runs() {
    local program isa machine core kind
    for program in $programs; do
        for isa in riscv64 alpha; do
            for machine in hps-4wide simplescalar-4wide tiny-2wide wide-8 ev5 ev6; do
                for core in cycle instruction; do
                    # The instruction-driven core has no machine that issues in order.
                    [ "$machine $core" = "ev5 instruction" ] && continue
                    echo "$program-$machine-$core-$isa.json run --machine $machine --core $core --isa $isa" \
                        "--max-instructions $limit --json=@ $program small"
                done
            done
            echo "$program-$isa-truth.txt profile --machine hps-4wide --isa $isa --max-instructions $limit" \
                "--with all $program small"
            for kind in method call-pair data-stream; do
                echo "$program-$isa-$kind.txt collect --kind $kind --machine hps-4wide --core instruction" \
                    "--isa $isa $program small"
            done
        done
    done
}

# What the host took is never the same twice.
one() {
    local file=$1
    shift
    case $file in
    *.json)
        "$hps" "${@/=@/=$file}" >/dev/null 2>"$file.log" || { cat "$file.log" >&2; exit 1; }
        rm "$file.log"
        sed -i '/"host_/d' "$file"
        ;;
    *) "$hps" "$@" 2>/dev/null | grep -v "seconds" >"$file" ;;
    esac
}
export hps
export -f one

runs | xargs -P "$(nproc)" -L 1 bash -euo pipefail -c 'one "$@"' one
