#!/usr/bin/env bash
# Runs real programs with threads and processes functionally, on `cmp-4` and on `smt-2`, and compares output and exit
# code with QEMU's:
#
#   scripts/threaded-programs.sh target/release/hps
#
#   bash               a script with pipes, substitutions and jobs in the background
#   pbzip2, xz, zstd   compression with two threads
#   goroutines         Go with garbage collection, where `go` is installed (RISC-V only)
#   rayon              Rust, where its target riscv64gc-unknown-linux-gnu is installed (RISC-V only)
#
# The programs are built from Debian's sources, pinned by their SHA-256, static and for both instruction sets, into
# target/real-programs/threaded. What is there already is kept.
set -euo pipefail
hps=$(realpath "$1")
cd "$(dirname "$0")/.."
root=$(pwd)
out=$root/target/real-programs/threaded
mkdir -p "$out/src"
source scripts/debian-source.sh

compiler_of() { echo "$1-linux-gnu-gcc"; }
# Linker relaxation would leave a static Alpha program without its thread-local data.
flags_of() { if [ "$1" = alpha ]; then echo "-O2 -mcpu=ev6 -mieee"; else echo -O2; fi; }
link_of() { if [ "$1" = alpha ]; then echo "-static -Wl,--no-relax"; else echo -static; fi; }

# unpack ISA PACKAGE FILE SHA256: fresh sources in src/ISA/PACKAGE.
unpack() {
    fetch "$2" "$3" "$4"
    rm -rf "$out/src/$1/$2" && mkdir -p "$out/src/$1/$2"
    tar -xf "$out/src/$3" -C "$out/src/$1/$2" --strip-components=1
}

build_pbzip2() {
    local isa=$1 name
    unpack "$isa" bzip2 bzip2_1.0.8.orig.tar.gz ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269
    unpack "$isa" pbzip2 pbzip2_1.1.13.orig.tar.gz bca3d7b50e4e5f963c82cb9626bb72e4062d83bc2b8b028eee22efdcda972b9b
    cd "$out/src/$isa/bzip2"
    for name in blocksort huffman crctable randtable compress decompress bzlib; do
        "$(compiler_of "$isa")" $(flags_of "$isa") -D_FILE_OFFSET_BITS=64 -c $name.c
    done
    cd ../pbzip2
    "$isa-linux-gnu-g++" $(flags_of "$isa") -std=gnu++98 -D_FILE_OFFSET_BITS=64 -pthread -I../bzip2 $(link_of "$isa") \
        -o "$out/pbzip2-$isa" pbzip2.cpp BZ2StreamScanner.cpp ErrorContext.cpp ../bzip2/*.o
}
build_zstd() {
    local isa=$1
    unpack "$isa" libzstd libzstd_1.5.4+dfsg2.orig.tar.xz 8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953
    cd "$out/src/$isa/libzstd"
    make -s -C programs zstd CC="$(compiler_of "$isa")" CFLAGS="$(flags_of "$isa")" LDFLAGS="$(link_of "$isa")" \
        HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 HAVE_THREAD=1 ZSTD_NO_ASM=1
    cp programs/zstd "$out/zstd-$isa"
}
build_xz() {
    local isa=$1
    unpack "$isa" xz-utils xz-utils_5.4.1.orig.tar.xz 5d9827aa1875b21c288f78864bb26d2650b436ea8d2cad364e4921eb6266a5a5
    cd "$out/src/$isa/xz-utils"
    ./configure --quiet --host="$isa-linux-gnu" --disable-shared --disable-nls --disable-doc --disable-scripts \
        --disable-lzmadec --disable-lzmainfo CC="$(compiler_of "$isa")" CFLAGS="$(flags_of "$isa")" \
        LDFLAGS="$(link_of "$isa")"
    make -s LDFLAGS="$(link_of "$isa") -all-static"
    cp src/xz/xz "$out/xz-$isa"
}
build_bash() {
    local isa=$1
    unpack "$isa" bash bash_5.2.15.orig.tar.gz 7a315bc0e9d90713159e4390ec1096a41e4f33cd8cc3d1a749a8e5ad56600f51
    cd "$out/src/$isa/bash"
    # Debian's archive holds another one.
    [ -f configure ] || tar -xf bash-*.tar.* --strip-components=1
    ./configure --quiet --host="$isa-linux-gnu" --without-bash-malloc --enable-static-link --disable-nls \
        --without-curses CC="$(compiler_of "$isa")" CC_FOR_BUILD=cc CFLAGS="$(flags_of "$isa") -w" \
        LDFLAGS="$(link_of "$isa")"
    make -s
    cp bash "$out/bash-$isa"
}
build_goroutines() {
    cd "$out/src"
    GOOS=linux GOARCH=riscv64 CGO_ENABLED=0 GOFLAGS= go build -o "$out/goroutines-riscv64" \
        "$root/tests/cases/guest/goroutines.go"
}
build_rayon() {
    mkdir -p "$out/src/rayon/src"
    cp "$root/tests/cases/guest/threads_rayon.rs" "$out/src/rayon/src/main.rs"
    cd "$out/src/rayon"
    printf '[package]\nname = "threads"\nedition = "2024"\n[dependencies]\nrayon = "1.10"\n[workspace]\n' >Cargo.toml
    CARGO_TARGET_DIR=$out/src/rayon/target RUSTFLAGS="-C target-feature=+crt-static" \
        CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER=riscv64-linux-gnu-gcc \
        cargo build --quiet --release --target riscv64gc-unknown-linux-gnu
    cp target/riscv64gc-unknown-linux-gnu/release/threads "$out/rayon-riscv64"
}

# made NAME ISA: builds a program unless it is there. It fails if it cannot be built.
made() {
    [ -x "$out/$1-$2" ] && return
    (set -e; "build_$1" "$2") >"$out/src/$1-$2.log" 2>&1
    [ -x "$out/$1-$2" ]
}

cat >"$out/script.sh" <<'SCRIPT'
for i in 1 2 3; do echo "line $i"; done | while read a b; do echo "got $b of $a"; done
f() { local n=$1; [ $n -le 1 ] && { echo 1; return; }; echo $(( n * $(f $((n-1))) )); }
echo "factorial $(f 6)"
( exit 3 ); echo "code $?"
words=(a b c); echo "${words[@]} ${#words[@]}"
while read -r w; do printf '%s;' "$w"; done < <(printf 'p\nq\nr\n'); echo
trap 'echo trapped' USR1; kill -USR1 $$
busy() { for ((k = 0; k < 200; k++)); do :; done; }
busy & busy & wait
busy & kill -STOP $!; kill -CONT $!; wait $!; echo "ended $?"
SCRIPT
head -c 120000 system/src/os/mod.rs system/src/os/dispatch.rs system/src/os/signals.rs >"$out/input"

# Programs see the folder that they are run in.
cd "$out"
failed=0
# compare ISA PROGRAM ARGUMENTS...: in each mode.
compare() {
    local isa=$1 program=./$2-$1 name=$2 code mode
    shift 2
    code=0
    "qemu-$isa" "$program" "$@" <input >expected 2>/dev/null || code=$?
    for mode in "" "--machine cmp-4" "--machine smt-2"; do
        local got=0
        "$hps" run $mode -- "$program" "$@" <input >got 2>errors || got=$?
        if [ $got = $code ] && cmp -s got expected; then
            echo "ok      $name $isa ${mode:-functional}"
        else
            echo "DIFFERS $name $isa ${mode:-functional}: exit code $got, not $code; $(head -1 errors)"
            failed=1
        fi
    done
}

for isa in riscv64 alpha; do
    made bash $isa && compare $isa bash --norc script.sh
    made pbzip2 $isa && compare $isa pbzip2 -p2 -1 -b1 -c
    made xz $isa && compare $isa xz -T2 -2 -c
    made zstd $isa && compare $isa zstd -T2 -3 -c
done
command -v go >/dev/null && made goroutines riscv64 && compare riscv64 goroutines
target=riscv64gc-unknown-linux-gnu
[ -d "$(rustc --print target-libdir --target $target)" ] && made rayon riscv64 && compare riscv64 rayon
exit $failed
