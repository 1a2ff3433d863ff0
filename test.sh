#!/usr/bin/env bash
# Passes the tests. Installs from Debian what they need and the machine lacks: QEMU's user mode
# (the oracle), the cross compilers for RISC-V, Alpha and aarch64, clang with its linker and tools, valgrind
# (which counts instructions), QEMU's emulation of an Arm machine and cpio (counters on a real kernel), gdb for all instruction sets, Node.js (which runs the simulator of the page), Python (which runs the package and its notebooks), Slurm with its authentication, what the builds of real programs call, and the sources of
# the real programs that are run.
set -euo pipefail
cd "$(dirname "$0")"

packages=()
{ command -v qemu-riscv64 && command -v qemu-alpha; } >/dev/null || packages+=(qemu-user)
command -v qemu-system-aarch64 >/dev/null || packages+=(qemu-system-arm)
command -v cpio >/dev/null || packages+=(cpio)
command -v riscv64-linux-gnu-gcc >/dev/null || packages+=(gcc-riscv64-linux-gnu libc6-dev-riscv64-cross)
command -v riscv64-linux-gnu-g++ >/dev/null || packages+=(g++-riscv64-linux-gnu)
command -v alpha-linux-gnu-gcc >/dev/null || packages+=(gcc-alpha-linux-gnu libc6.1-dev-alpha-cross)
command -v alpha-linux-gnu-g++ >/dev/null || packages+=(g++-alpha-linux-gnu)
command -v aarch64-linux-gnu-gcc >/dev/null || packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
command -v clang >/dev/null || packages+=(clang)
command -v ld.lld >/dev/null || packages+=(lld)
command -v llvm-profdata >/dev/null || packages+=(llvm)
command -v bison >/dev/null || packages+=(bison)
command -v make >/dev/null || packages+=(make)
{ command -v mmdebstrap && command -v dpkg-deb; } >/dev/null || packages+=(mmdebstrap)
command -v gdb-multiarch >/dev/null || packages+=(gdb-multiarch)
command -v xz >/dev/null || packages+=(xz-utils)
command -v bzip2 >/dev/null || packages+=(bzip2)
command -v parallel >/dev/null || packages+=(parallel)
command -v valgrind >/dev/null || packages+=(valgrind)
command -v node >/dev/null || packages+=(nodejs)
command -v python3 >/dev/null || packages+=(python3)
{ PATH=$PATH:/usr/sbin command -v slurmctld && command -v sbatch; } >/dev/null || packages+=(slurm-wlm)
PATH=$PATH:/usr/sbin command -v munged >/dev/null || packages+=(munge)
if ((${#packages[@]})); then
    echo "installing ${packages[*]}"
    sudo=$(command -v sudo || true)
    if [ "$(id -u)" = 0 ]; then sudo=; elif [ -z "$sudo" ]; then
        echo "error: the tests need the Debian packages ${packages[*]}; install them as root" >&2
        exit 1
    fi
    $sudo apt-get update -q
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"
fi

# SHIM's crates are checked for aarch64, too; scripts/nightly.sh has other targets.
[ -d "$(rustc --print target-libdir --target aarch64-unknown-linux-gnu)" ] || rustup target add aarch64-unknown-linux-gnu

# Side by side: the programs' builds leave processors idle.
scripts/real-programs.sh &
programs=$!
cargo test --workspace --locked --no-run "$@" || { kill $programs; exit 1; }
wait $programs

# Tests that this host cannot run say so here.
HPS_LEFT_OUT=$(mktemp)
export HPS_LEFT_OUT
said=$(mktemp)
trap 'rm -f "$HPS_LEFT_OUT" "$said"' EXIT
passed=true
# Beside the checks, not beside the tests, of which some measure time.
scripts/emulated-machine.sh >"$said" 2>&1 &
emulated=$!
scripts/check-aarch64.sh || passed=false
wait $emulated || passed=false
cat "$said"

# All failures at once: another run takes as long as this one.
cargo test --workspace --locked --no-fail-fast "$@" || passed=false
if [ -s "$HPS_LEFT_OUT" ]; then
    echo "Not tested on this host:"
    sort -u "$HPS_LEFT_OUT" | sed 's/^/  /'
fi
$passed
