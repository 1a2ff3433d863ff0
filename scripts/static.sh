#!/usr/bin/env bash
# Builds hps for machines without Rust: one static file without debug information, for this machine's processor.
# Prints where it is and how large.
#
# It takes Rust's musl target and musl's C compiler (Debian: musl-tools), both of which it says how to install.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v musl-gcc >/dev/null || {
    echo "error: musl-gcc is missing; install Debian's musl-tools" >&2
    exit 1
}
target=$(uname -m)-unknown-linux-musl
[ -d "$(rustc --print target-libdir --target "$target")" ] || rustup target add "$target"

cargo build --locked --release --target "$target" --config 'profile.release.strip=true'
file=${CARGO_TARGET_DIR:-target}/$target/release/hps
echo "$file: $(($(stat -c %s "$file") / 1000000)) MB"
