#!/bin/sh
# Rebuilds the guest programs from src-guest/ and runtime/.
#
#   build.sh                rebuilds images/riscv64/ with Debian's cross compiler
#   build.sh --check        rebuilds into a temporary folder and compares with the committed images
#   build.sh --expected     writes expected/ from runs of the images under qemu-riscv64
#   build.sh --verify       runs the images under qemu-riscv64 and compares with expected/
#   build.sh --cross-check  builds the programs for this x86-64 machine and compares their outputs
#   build.sh ... PROGRAM... does the same for the named programs only
set -eu

# What the committed images were built with; other versions may give other bytes.
IMAGE_COMPILER="riscv64-linux-gnu-gcc (Debian 12.2.0-13) 12.2.0"
PROGRAMS="bwt lz chess ray interp netsimplex parse place objstore minicc"
# These use the bit-manipulation extensions; the others stay with plain rv64gc.
BITMANIP="bwt chess netsimplex objstore minicc"

cd "$(dirname "$0")"
HERE=$(pwd)

die() { echo "build.sh: $*" >&2; exit 1; }

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || die "$1 not found; install the Debian package $2"
}

# Floating point is never contracted, so that every machine computes the same bits. Frame pointers,
# stack protectors, unwind tables and build ids are left out; symbols and line tables are kept.
COMMON="-O2 -g1 -gz=none -gno-record-gcc-switches -ffreestanding -fno-stack-protector -fno-pic
 -fno-asynchronous-unwind-tables -fno-unwind-tables -ffp-contract=off -fno-math-errno -fno-strict-aliasing
 -ffunction-sections -Wall -Wextra -Iruntime -ffile-prefix-map=$HERE=."
LINK="-static -nostdlib -no-pie -Wl,--build-id=none -Wl,--gc-sections -Wl,-z,noexecstack
 -Wl,-z,max-page-size=4096"

march_of() { # PROGRAM
    case " $BITMANIP " in
    *" $1 "*) echo rv64gc_zba_zbb_zbs ;;
    *) echo rv64gc ;;
    esac
}

# Compiles one program. The object files sit in a temporary folder that leaves no trace in the image.
build_one() { # PROGRAM ISA OUTPUT
    program=$1 isa=$2 output=$3
    case $isa in
    riscv64)
        cc=riscv64-linux-gnu-gcc cxx=riscv64-linux-gnu-g++
        machine="-march=$(march_of "$program") -mabi=lp64d" ;;
    x86_64) cc=gcc cxx=g++ machine="-march=x86-64-v2" ;;
    esac
    objects=$(mktemp -d)
    for source in runtime/"$isa"/*.S runtime/*.c src-guest/"$program"/*.c; do
        [ -e "$source" ] || continue
        extra="-std=c11"
        case $source in
        runtime/string.c) extra="$extra -fno-tree-loop-distribute-patterns" ;;
        esac
        $cc $COMMON $machine $extra -c "$source" -o "$objects/$(basename "$source").o"
    done
    for source in src-guest/"$program"/*.cpp; do
        [ -e "$source" ] || continue
        for unit in runtime/cxx.cpp src-guest/"$program"/*.cpp; do
            $cxx $COMMON $machine -std=c++17 -fno-exceptions -fno-rtti -fno-threadsafe-statics \
                -c "$unit" -o "$objects/$(basename "$unit").o"
        done
        break
    done
    $cc $machine $LINK -o "$output" "$objects"/*.o -lgcc
    chmod 755 "$output"
    rm -rf "$objects"
}

build_all() { # FOLDER
    need riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu
    need riscv64-linux-gnu-g++ g++-riscv64-linux-gnu
    for p in $PROGRAMS; do
        build_one "$p" riscv64 "$1/$p"
    done
}

# Runs a program on both sizes through the command that follows and hands each output to compare.
compare_outputs() { # FOLDER COMMAND...
    folder=$1; shift
    failed=0
    for p in $PROGRAMS; do
        for size in small large; do
            if "$@" "$folder/$p" $size | cmp -s - "expected/$p.$size.txt"; then
                echo "$p $size: same output"
            else
                echo "$p $size: DIFFERENT output"; failed=1
            fi
        done
    done
    [ $failed = 0 ] || die "outputs differ from expected/"
}

mode=build
case ${1:-} in
--check|--expected|--verify|--cross-check) mode=${1#--}; shift ;;
-*) die "unknown option $1; known are --check, --expected, --verify and --cross-check" ;;
esac
[ $# = 0 ] || PROGRAMS=$*
for p in $PROGRAMS; do
    [ -d "src-guest/$p" ] || die "there is no program $p in src-guest/"
done

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

case $mode in
build)
    build_all images/riscv64
    ;;
check)
    need riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu
    found=$(riscv64-linux-gnu-gcc --version | head -n 1)
    [ "$found" = "$IMAGE_COMPILER" ] ||
        die "cannot compare bytes: the images were built with $IMAGE_COMPILER, here is $found"
    build_all "$temporary"
    for p in $PROGRAMS; do
        cmp "$temporary/$p" "images/riscv64/$p" || die "images/riscv64/$p is not what its sources give"
    done
    echo "all images are what their sources give"
    ;;
expected)
    need qemu-riscv64 qemu-user
    for p in $PROGRAMS; do
        for size in small large; do
            qemu-riscv64 "images/riscv64/$p" $size >"expected/$p.$size.txt" || die "$p $size failed"
        done
    done
    ;;
verify)
    need qemu-riscv64 qemu-user
    compare_outputs images/riscv64 qemu-riscv64
    ;;
cross-check)
    [ "$(uname -m)" = x86_64 ] || die "--cross-check needs an x86-64 machine"
    need gcc gcc
    need g++ g++
    for p in $PROGRAMS; do
        build_one "$p" x86_64 "$temporary/$p"
    done
    compare_outputs "$temporary" env
    ;;
esac
