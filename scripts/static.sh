#!/usr/bin/env bash
# Builds hps for machines without Rust: one static file without debug information for each processor that is named
# (x86_64, aarch64, riscv64), or for this machine's. Prints where it is and how large.
#
# x86_64 and aarch64 take musl, whose C compiler is zig's (from PyPI, into the target folder, by Python's venv). riscv64 takes
# glibc, as a static library (Debian: gcc-riscv64-linux-gnu, libc6-dev-riscv64-cross), and Rust's own linker, since Debian 12's
# lld does not relax code of RISC-V.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
source scripts/release-tools.sh

for processor in "${@:-$(uname -m)}"; do
    target=$(static_triple "$processor")
    case $processor in
    x86_64 | aarch64)
        python_tools "$folder"
        cat >"$folder/zig-cc-$processor" <<END
#!/bin/sh
# Without the checks and the target that cc would name in Rust's words.
for word; do
    shift
    case \$word in --target=*) ;; *) set -- "\$@" "\$word" ;; esac
done
exec "$folder/release-tools/bin/python" -m ziglang cc -target $processor-linux-musl -fno-sanitize=undefined "\$@"
END
        chmod +x "$folder/zig-cc-$processor"
        export "CC_${processor}_unknown_linux_musl=$folder/zig-cc-$processor"
        export "CARGO_TARGET_${processor^^}_UNKNOWN_LINUX_MUSL_LINKER=rust-lld"
        linked=(-C link-arg=--icf=all)
        ;;
    riscv64)
        needs riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
        export CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER=riscv64-linux-gnu-gcc
        export CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_RUSTFLAGS="-Ctarget-feature=+crt-static -Cllvm-args=-align-all-functions=6"
        linked=(-C "link-arg=-B$(rustc --print target-libdir)/../bin/gcc-ld" -C link-arg=-fuse-ld=lld -C link-arg=-Wl,--icf=all)
        ;;
    esac
    [ -d "$(rustc --print target-libdir --target "$target")" ] || rustup target add "$target"
    # At a fixed address it needs no relocations, and equal functions are kept once. A panic ends it, so that no code cleans
    # up behind one; what has no loop is built for its size.
    cargo rustc --locked --release --target "$target" --bin hps \
        --config 'profile.release.strip=true' \
        --config 'profile.release.panic="abort"' \
        --config 'profile.release.opt-level="s"' \
        --config 'profile.release.package.hps-experiments.opt-level="s"' \
        --config 'profile.release.package.hps-shim.opt-level="s"' \
        -- -C relocation-model=static "${linked[@]}"
    file=$folder/$target/release/hps
    echo "$file: $(($(stat -c %s "$file") / 1000000)) MB"
done
