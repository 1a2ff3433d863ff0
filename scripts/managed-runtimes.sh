#!/usr/bin/env bash
# Builds script interpreters whose functions are SHIM's tags (hps_shim.h) into target/real-programs, for
# `hps shim simulate --own-tags` and for `hps shim run`. Sources are Debian's, pinned by their SHA-256; what is ours
# lies in workloads/managed. What is there already is kept.
#
#   lua-tags, mujs-tags      Lua 5.4 and MuJS, a JavaScript engine, for RISC-V, static
#   NAME-alpha               each of them for Alpha
#   NAME-native              each of them for this host
set -euo pipefail
cd "$(dirname "$0")/.."
root=$(pwd)
out=target/real-programs
ours=$root/workloads/managed
mkdir -p "$out/src"
source scripts/debian-source.sh

common="-O2 -g1 -w -ffp-contract=off -I$root/shim/include -I$ours"

# build_RUNTIME COMPILER OUTPUT FLAGS..., in the unpacked sources.
build_lua() {
    local compiler=$1 to=$2 sources
    shift 2
    # All but the compiler's own main program.
    sources=$(cd src && ls ./*.c | grep -v /luac.c)
    # The lists are words.
    # shellcheck disable=SC2086
    (cd src && $compiler $common "$@" -DLUA_COMPAT_5_3 -DLUA_USE_POSIX -I. -o "$to" $sources \
        "$ours/lua_tags.c" -Wl,--wrap=luaL_openlibs -lm)
}
build_mujs() {
    local compiler=$1 to=$2
    shift 2
    # shellcheck disable=SC2086
    $compiler $common "$@" -include mujs_tags.h -c -o "$to.o" one.c
    # shellcheck disable=SC2086
    $compiler $common "$@" -o "$to" "$to.o" main.c -lm
    rm "$to.o"
}

for runtime in lua mujs; do
    to=$root/$out/$runtime-tags
    newest=$(ls -t "$ours"/* shim/include/hps_shim.h scripts/managed-runtimes.sh | head -n 1)
    # The last one that is made.
    [ "$to-native" -nt "$newest" ] && continue
    case $runtime in
    lua) read -r package archive sha < <(pinned lua) ;;
    mujs) package=mujs archive=mujs_1.3.2.orig.tar.xz \
        sha=4886593fc688b0cdccd31e5ecbe5afe7ad1bee23aa69e667b871afd5dfc640c3 ;;
    esac
    fetch "$package" "$archive" "$sha"
    rm -rf "$out/src/$runtime-tags" && mkdir "$out/src/$runtime-tags"
    tar -xf "$out/src/$archive" -C "$out/src/$runtime-tags" --strip-components=1
    (
        cd "$out/src/$runtime-tags"
        [ $runtime != mujs ] || sed -i -f "$ours/mujs_tags.sed" jsrun.c
        "build_$runtime" riscv64-linux-gnu-gcc "$to" -static
        # Linker relaxation would leave a static Alpha program without its thread-local data.
        "build_$runtime" alpha-linux-gnu-gcc "$to-alpha" -mcpu=ev6 -mieee -Wl,--no-relax -static
        "build_$runtime" cc "$to-native" -pthread
    )
done
