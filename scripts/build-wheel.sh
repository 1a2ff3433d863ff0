#!/usr/bin/env bash
# Builds the wheel of the Python package: the native module, the package, and the command `hps` beside it, stripped.
#
#   scripts/build-wheel.sh                the wheel for this machine
#   scripts/build-wheel.sh PROCESSOR...   wheels of a release: for old C libraries, with the files of scripts/static.sh,
#                                         which must have run; for x86_64, aarch64, riscv64
#
# It takes Python 3.11 or newer with venv, which fetches maturin and zig.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
source scripts/release-tools.sh
python_tools "$folder"

# What the wheel installs as a command lies in this folder.
data=python/hps_lab.data
trap 'rm -rf $data' EXIT
wheel() { # COMMAND [MATURIN'S OPTIONS]
    [ -e "$1" ] || {
        echo "error: $1: the command is missing; run scripts/static.sh before" >&2
        exit 1
    }
    rm -rf $data
    mkdir -p $data/scripts
    cp "$1" $data/scripts/hps
    PATH=$folder/release-tools/bin:$PATH maturin build --release --locked --out "$folder/wheels" -m python/Cargo.toml "${@:2}"
}

if (($# == 0)); then
    cargo build --release --locked
    strip -o "$folder/hps-stripped" "$folder/release/hps"
    wheel "$folder/hps-stripped"
fi
for processor; do
    static=$(static_triple "$processor")
    target=${static/-musl/-gnu}
    [ -d "$(rustc --print target-libdir --target "$target")" ] || rustup target add "$target"
    wheel "$folder/$static/release/hps" --target "$target" --zig
done
ls -l "$folder"/wheels/*.whl
