#!/usr/bin/env bash
# Proves on another machine that SHIM's crates and its C sources are sound for aarch64:
#
#   - clippy of hps-shim and hps-shim-tags, tests included, without a warning;
#   - the header and the tag library compiled by the cross compiler, warnings being errors;
#   - the header's layout, printed by an aarch64 program, is the host's, and the header's scenario runs.
#
# With --tests clippy sees hps-shim for riscv64, too, and the crates' unit tests run, under QEMU's user mode. It has no perf events and no
# processors of its own: what needs them says so in the tests' output.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
cc=aarch64-linux-gnu-gcc
qemu=(qemu-aarch64 -L /usr/aarch64-linux-gnu)

need() { # COMMAND PACKAGES
    command -v "$1" >/dev/null || {
        echo "error: $1 is missing; install Debian's $2" >&2
        exit 1
    }
}
need $cc "gcc-aarch64-linux-gnu and libc6-dev-arm64-cross"
need "${qemu[0]}" qemu-user
needs_rust() { # TARGET
    rustc --print target-libdir --target "$1" | xargs test -d || {
        echo "error: Rust's library for $1 is missing; run: rustup target add $1" >&2
        exit 1
    }
}
needs_rust $target

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$cc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="${qemu[*]}"
cargo clippy --quiet --locked --target $target -p hps-shim -p hps-shim-tags --all-targets -- -D warnings

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict=(-O2 -Wall -Wextra -Werror -pthread -Ishim/include)
# As shim/src/preload.rs compiles the library; its variant that patches entries is for x86-64 only.
for variant in preload preload:FLAT preload:NEW calls:CALLS calls:PAIRS calls:SEQUENCE; do
    $cc -std=gnu11 "${strict[@]}" -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec \
        "-DHPS_SHIM_${variant#*:}" -o "$work/library.so" "shim/preload/hps_shim_${variant%%:*}.c"
done
writers=shim/tags/tests/writers
for compiler in cc $cc; do
    $compiler -std=c11 "${strict[@]}" -o "$work/layout-$compiler" $writers/layout.c
done
"$work/layout-cc" >"$work/host"
"${qemu[@]}" "$work/layout-$cc" | diff "$work/host" - || {
    echo "error: the region's layout is another one on aarch64" >&2
    exit 1
}
$cc -std=c11 "${strict[@]}" -o "$work/writer" $writers/writer.c $writers/second_unit.c
"${qemu[@]}" "$work/writer"
HPS_SHIM_REGION=self "${qemu[@]}" "$work/writer"

if [ "${1:-}" = --tests ]; then
    needs_rust riscv64gc-unknown-linux-gnu
    # The library and the tests of its counters.
    cargo clippy --quiet --locked --target riscv64gc-unknown-linux-gnu -p hps-shim --lib --test emulated -- -D warnings
    cargo test --locked --target $target -p hps-shim -p hps-shim-tags --lib -- --nocapture
fi
echo "aarch64: the crates and C sources of SHIM compile without a warning; layout and scenario are the host's"
