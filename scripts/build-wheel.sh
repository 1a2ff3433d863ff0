#!/usr/bin/env bash
# Builds the wheel of the Python package: the native module, the package, and the command `hps` beside it, stripped.
#
# It takes Python 3.11 or newer with venv, which fetches maturin.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "error: $python is older than 3.11; name a newer one in PYTHON" >&2
    exit 1
}
[ -x "$folder/maturin/bin/maturin" ] || {
    "$python" -m venv "$folder/maturin" || {
        echo "error: $python has no venv; install Debian's python3-venv" >&2
        exit 1
    }
    "$folder/maturin/bin/pip" install --quiet 'maturin>=1.9,<2'
}
cargo build --release --locked
# What the wheel installs as a command lies in this folder.
scripts=python/hps_lab.data/scripts
rm -rf python/hps_lab.data
trap 'rm -rf python/hps_lab.data' EXIT
mkdir -p $scripts
cp "$folder/release/hps" $scripts/hps
strip $scripts/hps
"$folder/maturin/bin/maturin" build --release --locked --out "$folder/wheels" -m python/Cargo.toml
ls -l "$folder"/wheels/*.whl
