#!/usr/bin/env bash
# Checks that what the page of `hps teach` runs compiles for browsers.
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
if [ ! -d "$(rustc --print target-libdir --target $target)" ]; then
    echo "error: Rust's target $target is missing; install it by: rustup target add $target" >&2
    exit 1
fi
cargo check --locked --target $target -p hps-teach -p hps-dcpi
