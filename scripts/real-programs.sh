#!/usr/bin/env bash
# Builds real programs for RISC-V from Debian's sources into target/real-programs: bzip2 and Lua,
# static, against glibc, with Debian's cross compiler. Sources come through apt and are pinned by
# their SHA-256. What is there already is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/real-programs
mkdir -p "$out/src"

bzip2_sha=ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269
lua_sha=164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61
cc=riscv64-linux-gnu-gcc

command -v $cc >/dev/null || {
    echo "error: $cc is missing; install Debian's gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross" >&2
    exit 1
}

# fetch PACKAGE FILE SHA256: the original source archive of a Debian source package.
fetch() {
    local package=$1 file=$2 sha=$3
    if [ -f "$out/src/$file" ] && echo "$sha  $out/src/$file" | sha256sum -c --status; then return; fi
    local work
    work=$(mktemp -d)
    # The system's own package sources, asked for source packages; the system is not changed.
    mkdir -p "$work/parts" "$work/lists/partial"
    for list in /etc/apt/sources.list.d/debian.sources; do
        [ -f "$list" ] && sed 's/^Types: .*/Types: deb-src/' "$list" >"$work/parts/source.sources"
    done
    if [ -s /etc/apt/sources.list ]; then
        sed -n 's/^deb \(.*debian.*\)/deb-src \1/p' /etc/apt/sources.list >"$work/parts/source.list"
    fi
    local options=(-q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/parts"
        -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root)
    (cd "$work" && apt-get "${options[@]}" update >/dev/null &&
        apt-get "${options[@]}" source --download-only "$package" >/dev/null) || {
        echo "error: the sources of $package could not be fetched through apt" >&2
        exit 1
    }
    echo "$sha  $work/$file" | sha256sum -c --status || {
        echo "error: $file is not the archive that the tests are pinned to (SHA-256 $sha)" >&2
        exit 1
    }
    mv "$work/$file" "$out/src/$file"
    rm -rf "$work"
}

if [ ! -x "$out/bzip2" ]; then
    fetch bzip2 bzip2_1.0.8.orig.tar.gz $bzip2_sha
    rm -rf "$out/src/bzip2" && mkdir "$out/src/bzip2"
    tar -xzf "$out/src/bzip2_1.0.8.orig.tar.gz" -C "$out/src/bzip2" --strip-components=1
    (cd "$out/src/bzip2" && $cc -O2 -g1 -static -D_FILE_OFFSET_BITS=64 -o ../../bzip2.part \
        bzip2.c blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c)
    mv "$out/bzip2.part" "$out/bzip2"
fi

if [ ! -x "$out/lua" ]; then
    fetch lua5.4 lua5.4_5.4.4.orig.tar.gz $lua_sha
    rm -rf "$out/src/lua" && mkdir "$out/src/lua"
    tar -xzf "$out/src/lua5.4_5.4.4.orig.tar.gz" -C "$out/src/lua" --strip-components=1
    (cd "$out/src/lua/src" && $cc -O2 -g1 -static -DLUA_COMPAT_5_3 -DLUA_USE_POSIX -o ../../../lua.part \
        lua.c lapi.c lcode.c lctype.c ldebug.c ldo.c ldump.c lfunc.c lgc.c llex.c lmem.c lobject.c \
        lopcodes.c lparser.c lstate.c lstring.c ltable.c ltm.c lundump.c lvm.c lzio.c lauxlib.c \
        lbaselib.c lcorolib.c ldblib.c liolib.c lmathlib.c loadlib.c loslib.c lstrlib.c ltablib.c \
        lutf8lib.c linit.c -lm 2>/dev/null)
    mv "$out/lua.part" "$out/lua"
fi
