#!/usr/bin/env bash
# Builds the page of `hps teach`: compiles teach/ for browsers, bundles the page's TypeScript around it, and writes
# teach/page.html with the digest of what it was made of.
#
# It takes Rust's target wasm32-unknown-unknown, Node.js and npm, which fetches the versions in
# teach/web/package-lock.json.
set -euo pipefail
cd "$(dirname "$0")/.."

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || {
        echo "error: $1 is missing; install Debian's $2" >&2
        exit 1
    }
}
need node nodejs
need npm npm
target=wasm32-unknown-unknown
[ -d "$(rustc --print target-libdir --target $target)" ] || rustup target add $target

folder=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder/teach-page"
work=$(cd "$folder/teach-page" && pwd)
# Libraries of npm stay out of the sources.
cp teach/web/package.json teach/web/package-lock.json "$work/"
(cd "$work" && npm ci --no-audit --no-fund --loglevel=error)

# Deep recursion of the simulator needs more stack than a browser's default. Messages name files without the
# folders of this machine.
flags="-C link-arg=-zstack-size=8388608 --remap-path-prefix=$PWD=."
for crates in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    flags+=" --remap-path-prefix=$crates=crates"
done
RUSTFLAGS=$flags cargo build --locked --profile page --target $target -p hps-teach
cp "$folder/$target/page/hps_teach.wasm" "$work/hps_teach.wasm"

rm -rf "$work/web" "$work/lessons"
cp -r teach/web "$work/web"
cp -r teach/lessons "$work/lessons"
"$work/node_modules/.bin/tsc" --noEmit -p "$work/web/tsconfig.json"
node teach/web/build.mjs "$work" teach
