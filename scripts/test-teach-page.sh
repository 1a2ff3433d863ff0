#!/usr/bin/env bash
# Drives the page of `hps teach` in headless Chromium and Firefox: test-teach-page.sh HPS [SHOTS]. HPS is an optimized
# build of the command, whose results the page must have; screenshots of all views go to the folder SHOTS. It takes
# minutes, and measures time: run it by hand when the page has changed. With ONLY=WORDS only tests with these words in
# their names run.
set -euo pipefail
cd "$(dirname "$0")/.."

hps=${1:?usage: scripts/test-teach-page.sh HPS [SHOTS]}
for tool in node npm "${CHROMIUM:=chromium}" "${FIREFOX:=firefox-esr}"; do
    command -v "$tool" >/dev/null || {
        echo "error: $tool is missing; install Debian's nodejs, npm, chromium and firefox-esr" >&2
        exit 1
    }
done
CHROMIUM=$(command -v "$CHROMIUM")
FIREFOX=$(command -v "$FIREFOX")
export CHROMIUM FIREFOX
work=${CARGO_TARGET_DIR:-target}/teach-page
mkdir -p "$work"
cp teach/web/package.json teach/web/package-lock.json "$work/"
(cd "$work" && npm ci --no-audit --no-fund --loglevel=error)
failed=0
for browser in page firefox; do
    node "teach/web/tests/$browser.mjs" teach/page.html "$hps" "$work" "${2:-$work/shots}" || failed=1
done
exit $failed
