#!/usr/bin/env bash
# Builds hps for machines without Rust: one static file without debug information, for this machine's processor.
# Prints where it is and how large.
#
# It takes Rust's musl target, musl's C compiler and LLVM's linker (Debian: musl-tools, lld), which it says how to install.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v musl-gcc >/dev/null || {
    echo "error: musl-gcc is missing; install Debian's musl-tools" >&2
    exit 1
}
command -v ld.lld >/dev/null || {
    echo "error: ld.lld is missing; install Debian's lld" >&2
    exit 1
}
target=$(uname -m)-unknown-linux-musl
[ -d "$(rustc --print target-libdir --target "$target")" ] || rustup target add "$target"

# At a fixed address it needs no relocations, and equal functions are kept once. A panic ends it, so that no code cleans up
# behind one; what has no loop is built for its size.
cargo rustc --locked --release --target "$target" --bin hps \
    --config 'profile.release.strip=true' \
    --config 'profile.release.panic="abort"' \
    --config 'profile.release.opt-level="s"' \
    --config 'profile.release.package.hps-experiments.opt-level="s"' \
    --config 'profile.release.package.hps-shim.opt-level="s"' \
    -- -C relocation-model=static -C link-arg=-fuse-ld=lld -C link-arg=-Wl,--icf=all
file=${CARGO_TARGET_DIR:-target}/$target/release/hps
echo "$file: $(($(stat -c %s "$file") / 1000000)) MB"
