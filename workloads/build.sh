#!/bin/sh
# Rebuilds the guest programs from src-guest/ and runtime/.
#
#   build.sh                rebuilds images/riscv64/ and images/alpha/ with Debian's cross compilers
#   build.sh --check        rebuilds into a temporary folder and compares with the committed images
#   build.sh --expected     writes expected/ from runs under QEMU, which must be the same on all ISAs
#   build.sh --verify       runs the images under QEMU and compares with expected/
#   build.sh --sizes        prints the size of each image in bytes
#   build.sh --cross-check  builds the programs for this x86-64 machine and compares their outputs
#   build.sh ... --isa ISA  does the same for riscv64 or alpha only
#   build.sh ... PROGRAM... does the same for the named programs only
set -eu

# The release of GCC that the committed images were built with; others may give other bytes.
IMAGE_COMPILER="(Debian 12.2.0-13) 12.2.0"
ISAS="riscv64 alpha"
PROGRAMS="bwt lz chess ray interp netsimplex parse place objstore minicc"
# These use the bit-manipulation extensions (Zba, Zbb and Zbs; CIX on Alpha); the others stay with
# plain rv64gc and the 21264.
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
LINK="-static -nostdlib -no-pie -Wl,--build-id=none -Wl,--gc-sections -Wl,-z,noexecstack"

march_of() { # PROGRAM
    case " $BITMANIP " in
    *" $1 "*) echo rv64gc_zba_zbb_zbs ;;
    *) echo rv64gc ;;
    esac
}

mcpu_of() { # PROGRAM
    case " $BITMANIP " in
    *" $1 "*) echo ev67 ;;
    *) echo ev6 ;;
    esac
}

# Compiles one program. The object files sit in a temporary folder that leaves no trace in the image.
build_one() { # PROGRAM ISA OUTPUT
    program=$1 isa=$2 output=$3
    case $isa in
    riscv64)
        cc=riscv64-linux-gnu-gcc cxx=riscv64-linux-gnu-g++
        machine="-march=$(march_of "$program") -mabi=lp64d -Wl,-z,max-page-size=4096" ;;
    alpha)
        # Pages of Alpha Linux have 8 KiB.
        cc=alpha-linux-gnu-gcc cxx=alpha-linux-gnu-g++
        machine="-mcpu=$(mcpu_of "$program") -mieee -Wl,-z,max-page-size=8192" ;;
    x86_64) cc=gcc cxx=g++ machine="-march=x86-64-v2 -Wl,-z,max-page-size=4096" ;;
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
    for isa in $ISAS; do
        need "$isa-linux-gnu-gcc" "gcc-$isa-linux-gnu"
        need "$isa-linux-gnu-g++" "g++-$isa-linux-gnu"
        mkdir -p "$1/$isa"
        for p in $PROGRAMS; do
            build_one "$p" "$isa" "$1/$isa/$p"
        done
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
while :; do
    case ${1:-} in
    --check|--expected|--verify|--sizes|--cross-check) mode=${1#--}; shift ;;
    --isa)
        case ${2:-} in
        riscv64|alpha) ISAS=$2; shift 2 ;;
        *) die "--isa wants riscv64 or alpha" ;;
        esac ;;
    -*) die "unknown option $1; known are --check, --expected, --verify, --sizes, --cross-check and --isa" ;;
    *) break ;;
    esac
done
[ $# = 0 ] || PROGRAMS=$*
for p in $PROGRAMS; do
    [ -d "src-guest/$p" ] || die "there is no program $p in src-guest/"
done

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

case $mode in
build)
    build_all images
    ;;
check)
    for isa in $ISAS; do
        need "$isa-linux-gnu-gcc" "gcc-$isa-linux-gnu"
        found=$("$isa-linux-gnu-gcc" --version | head -n 1)
        [ "$found" = "$isa-linux-gnu-gcc $IMAGE_COMPILER" ] ||
            die "cannot compare bytes: the images were built with GCC $IMAGE_COMPILER, here is $found"
    done
    build_all "$temporary"
    for isa in $ISAS; do
        for p in $PROGRAMS; do
            cmp "$temporary/$isa/$p" "images/$isa/$p" || die "images/$isa/$p is not what its sources give"
        done
    done
    echo "all images are what their sources give"
    ;;
expected)
    for isa in $ISAS; do need "qemu-$isa" qemu-user; done
    for p in $PROGRAMS; do
        for size in small large; do
            for isa in $ISAS; do
                "qemu-$isa" "images/$isa/$p" $size >"$temporary/$isa" || die "$p $size failed on $isa"
                [ -e "$temporary/output" ] || mv "$temporary/$isa" "$temporary/output"
                [ ! -e "$temporary/$isa" ] || cmp -s "$temporary/$isa" "$temporary/output" ||
                    die "$p $size prints something else on $isa"
            done
            mv "$temporary/output" "expected/$p.$size.txt"
        done
    done
    ;;
verify)
    for isa in $ISAS; do
        need "qemu-$isa" qemu-user
        echo "$isa"
        compare_outputs "images/$isa" "qemu-$isa"
    done
    ;;
sizes)
    for isa in $ISAS; do
        for p in $PROGRAMS; do
            printf '%s/%s %s\n' "$isa" "$p" "$(wc -c <"images/$isa/$p")"
        done
    done
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
