#!/usr/bin/env bash
# Drives the page of `hps teach` in headless Chromium: test-teach-page.sh HPS [SHOTS]. HPS is an optimized build of the
# command, whose results the page must have; screenshots of all views go to the folder SHOTS. It takes minutes, and
# measures time: run it by hand when the page has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

hps=${1:?usage: scripts/test-teach-page.sh HPS [SHOTS]}
for tool in node npm "${CHROMIUM:=chromium}"; do
    command -v "$tool" >/dev/null || {
        echo "error: $tool is missing; install Debian's nodejs, npm and chromium" >&2
        exit 1
    }
done
CHROMIUM=$(command -v "$CHROMIUM")
export CHROMIUM
work=${CARGO_TARGET_DIR:-target}/teach-page
mkdir -p "$work"
cp teach/web/package.json teach/web/package-lock.json "$work/"
(cd "$work" && npm ci --no-audit --no-fund --loglevel=error)
node teach/web/tests/page.mjs teach/page.html "$hps" "$work" "${2:-$work/shots}"
