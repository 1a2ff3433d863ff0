#!/usr/bin/env bash
# Runs SHIM's counters on real kernels: boots Debian's kernel in QEMU's emulation of machines whose processors have counters,
# and there the tests of shim/tests/emulated.rs. An instruction takes a nanosecond (-icount), so that counts are known exactly.
#
#   scripts/emulated-machine.sh            Arm (PMUv3); needs QEMU 7.2, cpio and the cross compiler
#   scripts/emulated-machine.sh riscv64    RISC-V (Sscofpmf); needs QEMU 10: QEMU 7.2 hangs or counts twice
#   scripts/emulated-machine.sh --record HPS FOLDER [riscv64]
#
# With --record no test runs, but `hps validate --counters --record`, and FOLDER gets the machine's record. HPS is the static
# file for that processor (scripts/static.sh). RISC-V counts programs that come with the project: both sides run one file. Arm
# counts bzip2, whose sources scripts/real-programs.sh fetches, built for both instruction sets in one way.
#
# Kernel and busybox come through apt and are pinned by version and SHA-256; they are kept in target/emulated-machine. Where
# a mirror has them no more, those that it has are taken and named: counts do not depend on the kernel. What this host lacks
# is an error under CI, and a line in the file HPS_LEFT_OUT elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/emulated-machine
record=
if [ "${1:-}" = --record ]; then
    if (($# < 3)); then
        sed -n '2,14s/^# \?//p' "$0" >&2
        exit 2
    fi
    hps=$2 record=$3
    shift 3
fi
mkdir -p "$out"

left_out() { # WHY
    if [ "${CI:-}" = true ]; then
        echo "error: counters in an emulated machine: $1" >&2
        exit 1
    fi
    echo "not tested: counters in an emulated machine: $1"
    [ -z "${HPS_LEFT_OUT:-}" ] || echo "counters in an emulated machine: $1" >>"$HPS_LEFT_OUT"
    exit 0
}
need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || left_out "$1 is missing; install Debian's $2"
}

case ${1:-aarch64} in
aarch64)
    target=aarch64-unknown-linux-gnu cc=aarch64-linux-gnu-gcc compiler=gcc-aarch64-linux-gnu
    qemu=qemu-system-aarch64 package=qemu-system-arm console=ttyAMA0 debian=arm64
    current=linux-image-cloud-arm64
    machine=(-M virt -cpu cortex-a57) without=(-M virt -cpu cortex-a57,pmu=off)
    kernel=(linux-image-6.1.0-50-cloud-arm64=6.1.176-1
        9d41a53f5d687ae1a33cf546d0ed8be955f72e5f9e97b2b4e45e41dff3353b97)
    busybox=(busybox-static=1:1.35.0-4+deb12u1+b1
        732c9135564fc71337e0e05fb4da4d11e6c28c1834bce3e405e575afef2a52f5)
    ;;
riscv64)
    target=riscv64gc-unknown-linux-gnu cc=riscv64-linux-gnu-gcc compiler=gcc-riscv64-linux-gnu
    qemu=qemu-system-riscv64 package=qemu-system-riscv console=ttyS0 debian=riscv64
    current=linux-image-riscv64
    machine=(-M virt -cpu rv64,sscofpmf=true,smcntrpmf=true) without=()
    kernel=(linux-image-6.12.117+deb13-riscv64=6.12.117-1
        f5d9424b6f6a4518197202effc7e8eeaa90f8d73466c2dba2470f6ea7fb4f55c)
    busybox=(busybox-static=1:1.37.0-6+b9
        4add476d2b185c5b487c285b38d790f0881a7e4a8e2ddde835f917e770eb8633)
    ;;
*)
    echo "error: no emulated machine $1: aarch64 or riscv64" >&2
    exit 1
    ;;
esac
need $qemu $package
if [ $debian = riscv64 ] && ! [[ $($qemu --version) =~ version\ [1-9][0-9] ]]; then
    left_out "$($qemu --version | head -1): RISC-V's counters need QEMU 10"
fi
need cpio cpio
need $cc $compiler
source scripts/debian-source.sh

# The tests as one static program.
build_tests() {
    local linker
    linker=CARGO_TARGET_$(tr a-z- A-Z_ <<<$target)_LINKER
    export "$linker=$cc" "${linker%LINKER}RUSTFLAGS=-C target-feature=+crt-static"
    [ -z "${RUSTFLAGS:-}" ] || export RUSTFLAGS="$RUSTFLAGS -C target-feature=+crt-static"
    # Nothing that it runs is worth the time to optimize hps-profile.
    cargo test --quiet --locked --no-run --target $target -p hps-shim --test emulated --message-format=json-render-diagnostics \
        --config 'profile.dev.package.hps-profile.opt-level=0' |
        sed -n 's/.*"executable":"\([^"]*emulated-[^"]*\)".*/\1/p' | tail -1
}

# bzip2 for this machine and for the simulator, and what it compresses.
build_bzip2() {
    local sources=target/real-programs/src/bzip2
    if [ ! -d $sources ]; then
        echo "error: $sources: the sources of bzip2 are missing; run scripts/real-programs.sh first" >&2
        exit 1
    fi
    need riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu
    head -c 4000 scripts/emulated-machine.sh >"$1/input"
    (cd $sources && for compiler in "$cc" riscv64-linux-gnu-gcc; do
        $compiler -O2 -static -D_FILE_OFFSET_BITS=64 -o "$1/bzip2-${compiler%%-*}" \
            bzip2.c blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c
    done)
}

# A first file system of two programs and a script.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
kept=$out/$debian
fetch_binaries $debian "$kept-kernel.deb" "${kernel[@]}" "$kept-busybox.deb" "${busybox[@]}" 2>/dev/null ||
    fetch_current $debian "$kept-kernel.deb" "$current" "$kept-busybox.deb" busybox-static ||
    left_out "Debian's packages ${kernel[0]} (or $current) and ${busybox[0]} cannot be fetched through apt"
echo "emulated machine: $(dpkg-deb -f "$kept-kernel.deb" Package Version | tr '\n' ' ')"
dpkg-deb --fsys-tarfile "$kept-kernel.deb" | tar -x -C "$work" ./boot
dpkg-deb --fsys-tarfile "$kept-busybox.deb" | tar -x -C "$work" --no-anchored busybox
find "$work" -path '*/bin/busybox' -exec mv {} "$work/busybox" \;
mkdir -p "$work"/ram/{bin,dev,proc,sys,tmp}
mv "$work/busybox" "$work/ram/bin/busybox"
counted="lz bwt"
if [ -n "$record" ]; then
    cp "$hps" "$work/ram/hps"
    if [ $debian = arm64 ]; then
        build_bzip2 "$work/ram"
        counted="--native /bzip2-aarch64 --simulated /bzip2-riscv64 --root / -- -1 -c /input"
    fi
else
    cp "$(build_tests)" "$work/ram/tests"
    chmod 755 "$work/ram/tests"
fi
[ $debian = riscv64 ] || $cc -std=c11 -O2 -Wall -Wextra -Werror -pthread -static -Ishim/include -o "$work/ram/stays" shim/tests/programs/stays.c
cat >"$work/ram/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs tmp /tmp
for word in $(/bin/busybox cat /proc/cmdline); do
    case $word in hps.tests=*) tests=${word#*=} ;; esac
done
if [ -x /hps ]; then
    cd /tmp
    if /hps validate --counters --runs 5 --record /tmp/records COUNTED; then
        for file in /tmp/records/*; do
            echo "hps: record ${file##*/}"
            /bin/busybox cat "$file"
        done
    fi
    echo "hps: end"
elif /tests "$tests" --test-threads 1 --nocapture; then echo "hps: passed"; else echo "hps: failed"; fi
/bin/busybox poweroff -f
INIT
sed -i "s|COUNTED|$counted|" "$work/ram/init"
chmod 755 "$work/ram" "$work/ram/init"
(cd "$work/ram" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/ram.gz"
image=$(ls "$work"/boot/vmlinu[xz]-*)

boot() { # TESTS SHIFT QEMU'S OPTIONS...: an instruction takes 2^SHIFT ns
    local tests=$1 shift=$2 log=$work/log
    shift 2
    timeout ${record:+3}300 $qemu "$@" -m 1024 -icount shift=$shift,sleep=off -seed 1 -rtc base=2026-01-01,clock=vm -nographic -nodefaults \
        -serial stdio -monitor none -no-reboot -kernel "$image" -initrd "$work/ram.gz" \
        -append "console=$console panic=-1 loglevel=4 hps.tests=$tests" </dev/null >"$log" 2>&1 || true
    if [ -n "$record" ]; then
        keep_record "$log"
        return
    fi
    tr -d '\r' <"$log" | sed -n '/^running/,/^hps: /p'
    grep -q '^hps: passed' "$log" || {
        echo "error: the tests $tests failed in the emulated machine, whose last words are" >&2
        tail -n 5 "$log" >&2
        exit 1
    }
}
# Writes the record that a machine has printed into the folder.
keep_record() { # LOG
    local name
    name=$(tr -d '\r' <"$1" | sed -n 's/^hps: record //p')
    if [ -z "$name" ]; then
        echo "error: nothing was recorded in the emulated machine, whose last words are" >&2
        tail -n 8 "$1" >&2
        exit 1
    fi
    mkdir -p "$record"
    tr -d '\r' <"$1" | sed -n '/^hps: record /,/^hps: end/{/^hps: /d;p}' >"$record/$name"
    echo "record  $record/$name"
}
if [ -n "$record" ]; then
    boot none 0 "${machine[@]}" -smp 2
    exit 0
fi
boot one_ 0 "${machine[@]}" -smp 1
boot slow_ 6 "${machine[@]}" -smp 1
if [ $debian = arm64 ]; then
    boot two_ 0 "${machine[@]}" -smp 2
    boot bare_ 0 "${without[@]}" -smp 1
fi
echo "emulated machine: counts are exact, and refusals are said"
