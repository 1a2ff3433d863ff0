#!/usr/bin/env bash
# Builds real programs from Debian's sources into target/real-programs, as tests want them (`hps programs
# build` builds the whole suite). Sources come through apt and are pinned by their SHA-256, which stands
# in the suite's manifest. What is there already is kept.
#
#   exceptions, exceptions-alpha
#                             tests/guest/exceptions.cpp for RISC-V and Alpha, static, against glibc
#   The programs that are named (bzip2, gzip, lua), or bzip2 and lua, each in three forms from the same sources, without
#   inlining, for `hps validate --native ... --riscv ... --riscv-instrumented ...`:
#     NAME-native             for this host, instrumented (-finstrument-functions)
#     NAME-riscv              for RISC-V
#     NAME-riscv-instrumented for RISC-V, with hooks that write tags which nobody reads
#   lua-tags, mujs-tags       what scripts/managed-runtimes.sh builds
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/real-programs
mkdir -p "$out/src"

cc=riscv64-linux-gnu-gcc
alpha=alpha-linux-gnu-gcc
# Linker relaxation would leave a static Alpha program without its thread-local data.
alpha_flags="-mcpu=ev6 -mieee -Wl,--no-relax"

need() { # COMMAND PACKAGES...
    command -v "$1" >/dev/null || {
        echo "error: $1 is missing; install Debian's $2" >&2
        exit 1
    }
}
need $cc "gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross"
need ${cc%gcc}g++ g++-riscv64-linux-gnu
need $alpha "gcc-alpha-linux-gnu and libc6.1-dev-alpha-cross"
need ${alpha%gcc}g++ g++-alpha-linux-gnu

source scripts/debian-source.sh

# unpack PROGRAM: fresh sources in src/PROGRAM.
unpack() {
    local package archive sha
    read -r package archive sha < <(pinned "$1")
    fetch "$package" "$archive" "$sha"
    rm -rf "$out/src/$1" && mkdir "$out/src/$1"
    tar -xf "$out/src/$archive" -C "$out/src/$1" --strip-components=1
}

# Each builds the unpacked sources: COMPILER OUTPUT FLAGS...
build_bzip2() {
    local compiler=$1 to=$2
    shift 2
    (cd "$out/src/bzip2" && $compiler -O2 -g1 "$@" -D_FILE_OFFSET_BITS=64 -o "$to" \
        bzip2.c blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c)
}
build_lua() {
    local compiler=$1 to=$2
    shift 2
    (cd "$out/src/lua/src" && $compiler -O2 -g1 "$@" -DLUA_COMPAT_5_3 -DLUA_USE_POSIX -o "$to" \
        lua.c lapi.c lcode.c lctype.c ldebug.c ldo.c ldump.c lfunc.c lgc.c llex.c lmem.c lobject.c \
        lopcodes.c lparser.c lstate.c lstring.c ltable.c ltm.c lundump.c lvm.c lzio.c lauxlib.c \
        lbaselib.c lcorolib.c ldblib.c liolib.c lmathlib.c loadlib.c loslib.c lstrlib.c ltablib.c \
        lutf8lib.c linit.c -lm 2>/dev/null)
}
# gzip wants to be configured for its machine, in a folder of its own.
build_gzip() {
    local compiler=$1 to=$2 folder=$out/src/gzip.$1 options=(--quiet --disable-dependency-tracking)
    shift 2
    [ "$compiler" = cc ] || options+=("--host=${compiler%-gcc}")
    mkdir -p "$folder"
    (cd "$folder" && { [ -f Makefile ] || ../gzip/configure "${options[@]}" CC="$compiler"; } &&
        make -s clean && make -s -C lib CFLAGS="-O2 -g1 $*" && make -s version.c version.h &&
        make -s gzip CFLAGS="-O2 -g1 $*" && cp gzip "$to") >"$out/src/gzip.log" 2>&1 || {
        echo "error: gzip could not be built with $compiler; see $out/src/gzip.log" >&2
        exit 1
    }
}

root=$(pwd)
source=tests/guest/exceptions.cpp
for compiler in $cc $alpha; do
    to=$out/exceptions flags=
    [ $compiler = $cc ] || to=$out/exceptions-alpha flags=$alpha_flags
    [ "$to" -nt $source ] && continue
    # shellcheck disable=SC2086
    ${compiler%gcc}g++ -std=c++17 -O2 -g1 $flags -static -o "$out/part" $source
    mv "$out/part" "$to"
done

# What would make a call of one build none in the other, as src/commands/validate/build.rs has it.
same_calls="-fno-inline -fno-partial-inlining -fno-ipa-cp -fno-ipa-sra -fno-ipa-icf -fno-ipa-pure-const
 -fno-ipa-modref -fno-optimize-sibling-calls"
hooks=$root/$out/src/stand_in.o
$cc -O2 -c -o "$hooks" shim/preload/hps_shim_stand_in.c
(($#)) || set -- bzip2 lua
for program; do
    [ -x "$out/$program-riscv-instrumented" ] && continue
    unpack "$program"
    rm -rf "$out/src/$program".*cc
    # The flags are words. The form that is looked for above is made last.
    # shellcheck disable=SC2086
    {
        "build_$program" cc "$root/$out/$program-native" $same_calls -finstrument-functions
        "build_$program" $cc "$root/$out/$program-riscv" $same_calls -static
        "build_$program" $cc "$root/$out/part" $same_calls -static -finstrument-functions "$hooks"
    }
    mv "$out/part" "$out/$program-riscv-instrumented"
    rm -rf "$out/src/$program".*cc
done

scripts/managed-runtimes.sh
