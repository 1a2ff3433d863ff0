#!/usr/bin/env bash
# Builds the vDSO that dynamic programs get (system/vdso/vdso.so) from its source, with Debian's cross compiler:
#     scripts/build-vdso.sh [FILE]
set -euo pipefail
folder=$(dirname "$0")/../system/vdso
riscv64-linux-gnu-gcc -march=rv64gc -mabi=lp64d -nostdlib -shared -Wl,-soname=linux-vdso.so.1,--hash-style=both \
    -Wl,--build-id=none,--eh-frame-hdr,-z,max-page-size=4096,-s -Wl,-T,"$folder/vdso.lds" \
    -o "${1:-$folder/vdso.so}" "$folder/vdso.S"
