#!/usr/bin/env bash
# Compiles the C programs that the page of `hps teach` shows beside their assembly (teach/web/c). The assembly is part of
# the repository, so that a page is built without a compiler of C: run this when a program has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

compiler=${CC:-riscv64-linux-gnu-gcc}
for tool in node "$compiler"; do
    command -v "$tool" >/dev/null || {
        echo "error: $tool is missing; install Debian's nodejs and gcc-riscv64-linux-gnu" >&2
        exit 1
    }
done
node teach/web/c.mjs teach/web/c "$compiler"
