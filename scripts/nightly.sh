#!/usr/bin/env bash
# What takes too long for each change: tests that are ignored in `./test.sh`, or shorter there, many litmus tests, threaded programs beside
# QEMU, other profilers' readers of our exports, the book, and the page in two browsers. After `./test.sh`, which installs
# the packages; each part goes on behind a failure, and the end says which failed.
set -uo pipefail
cd "$(dirname "$0")/.."
hps=$PWD/target/release/hps
failed=()
part() {
    local name=$1
    shift
    echo "== $name"
    "$@" || failed+=("$name")
}
cargo build --release --locked || exit 1
part "gzip in three forms" scripts/real-programs.sh gzip
part "ignored tests" cargo test --workspace --locked --no-fail-fast -- --ignored
part "tests that are shorter by day" env HPS_NIGHT=1 cargo test --locked --no-fail-fast -p hps
part "litmus tests" env HPS_LITMUS_TESTS=2000 cargo test --locked --test all litmus
part "threaded programs" scripts/threaded-programs.sh "$hps"
part "readers of exports" scripts/check-formats.sh "$hps"
part "checkpoints of all guest programs" scripts/check-checkpoints.sh "$hps"
part "host instructions" "$hps" dev bench --counts --compare workloads/host-instructions.json
part "SHIM on aarch64 and riscv64" scripts/check-aarch64.sh --tests
part "the simulator in browsers" scripts/check-wasm.sh
part "the book" scripts/build-book.sh
if command -v chromium >/dev/null; then
    part "the page in browsers" scripts/test-teach-page.sh "$hps"
else
    echo "left out: the page in browsers; install the Debian packages chromium and firefox-esr"
fi
if ((${#failed[@]})); then
    echo "failed: $(printf '%s; ' "${failed[@]}")" >&2
    exit 1
fi
