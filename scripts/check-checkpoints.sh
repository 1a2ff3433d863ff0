#!/usr/bin/env bash
# Checks checkpoints over all guest programs of the tests: a run that goes on from each checkpoint as soon as it is
# written prints what the plain run prints, and ends with its exit code and its statistics.
#
#     scripts/check-checkpoints.sh HPS [EVERY [INSTRUCTIONS]]
#
# HPS is the command. A checkpoint is taken every EVERY instructions (20,000 unless given) of at most INSTRUCTIONS
# (400,000) of each program, functionally, on hps-4wide by both cores, and on cmp-4. Prints a line for each difference.
set -euo pipefail
hps=$(realpath "$1") every=${2:-20000} most=${3:-400000}
sources=$(realpath "$(dirname "$0")/../tests/cases/guest")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
modes=("" "--machine hps-4wide" "--machine hps-4wide --core instruction" "--machine cmp-4")
# Their outputs depend on the host's time.
leave_out=" endless limit_time "
same=0 checkpoints=0 differences=0

# Runs a program in an empty root. The statistics without those of the host's time follow its output.
run() { # NAME PROGRAM OPTIONS...
    local name=$1 program=$2 code=0
    shift 2
    rm -rf root
    mkdir root
    (cd root && timeout 120 "$hps" run --root . --writable=scratch --max-instructions "$most" --json=../stats --force \
        "$@" -- "$program" </dev/null >"../$name" 2>"../$name.said") || code=$?
    { echo "exit code $code"; grep -v '"host' stats || true; } >>"$name"
}

for isa in riscv64 alpha; do
    for source in "$sources"/*.c; do
        name=$(basename "$source" .c)
        case $leave_out in *" $name "*) continue ;; esac
        relax=()
        [ $isa = alpha ] && relax=(-Wl,--no-relax)
        $isa-linux-gnu-gcc "${relax[@]}" -static -O2 -pthread -o program "$source" -lm 2>/dev/null || continue
        for mode in "${modes[@]}"; do
            rm -rf kept
            # A mode is several words.
            # shellcheck disable=SC2086
            run plain ../program $mode
            # shellcheck disable=SC2086
            run resumed ../program $mode --checkpoint-every "$every" --checkpoints ../kept --checkpoint-check
            count=$(find kept -name '*.checkpoint' 2>/dev/null | wc -l)
            checkpoints=$((checkpoints + count))
            if cmp -s plain resumed; then
                same=$((same + 1))
            else
                differences=$((differences + 1))
                echo "$name ($isa $mode, $count checkpoints): $(diff plain resumed | head -3 | tr '\n' ' ')"
                grep 'error' resumed.said || true
            fi
        done
    done
done
echo "$same runs are equal and $differences differ; $checkpoints checkpoints"
[ $differences = 0 ]
