#!/usr/bin/env bash
# Counts how often each instruction of programs of Debian runs, under hps and under QEMU's user mode with a plugin that
# counts (scripts/debian-counts/executions.c), and compares the counts by object and function. It runs by hand:
#     scripts/debian-counts.sh HPS FOLDER [NAME...]
# FOLDER has the root that scripts/debian-suite.sh has made there, and keeps counts (NAME.qemu-counts, NAME.profile.json)
# and the table (counts.md). QEMU names the dynamic binary of the package qemu-user of Debian 12: that of Debian 13 is
# static and takes no plugin. QEMU runs in a user namespace, in a chroot of an overlay of the root.
#
# QEMU 7 does not know the system call `riscv_hwprobe`, by which libc chooses a memcpy, and has no vDSO. Both run on a copy
# of the root whose libc and loader make a call instead that nobody knows, and find no function of a vDSO (links to the
# files of the root but for these two). Standard output is a pipe under both: node loads other modules for a file.
set -euo pipefail

if (($# < 2)); then
    sed -n '2,12s/^# \?//p' "$0" >&2
    exit 2
fi
hps=$(realpath "$1")
folder=$(realpath "$2")
shift 2
here=$(realpath "$(dirname "$0")")/debian-counts
qemu=$(realpath "$(command -v "${QEMU:-qemu-riscv64}")")
root=$folder/root-counted
if [ ! -e "$root" ]; then
    cp -al "$(realpath "$folder/root")" "$root"
    for name in libc.so.6 ld-linux-riscv64-lp64d.so.1; do
        "$here/patch.py" "$root/usr/lib/riscv64-linux-gnu/$name"
    done
fi
cc -shared -fPIC -O2 -o "$folder/executions.so" "$here/executions.c"

# Name and command, which starts no other program.
cases=$(cat <<'CASES'
sqlite3 /usr/bin/sqlite3 -init /dev/null :memory: ".read /home/user/suite/run.sql"
python3 /usr/bin/python3.13 -S -c "print(sum(hash(str(i)) % 7 for i in range(20000)), sorted({i * 7 % 101: str(i) for i in range(1000)}.items())[-1])"
cc1 /usr/libexec/gcc/riscv64-linux-gnu/14/cc1 -quiet -O2 /home/user/suite/part.c -o /dev/null
node /usr/bin/node --jitless --single-threaded --predictable --hash-seed=1 --random-seed=1 -e "let s = 0; for (let i = 0; i < 20000; i++) s = (s * 31 + i) % 65521; console.log(s)"
node-compiled /usr/bin/node --single-threaded --predictable --hash-seed=1 --random-seed=1 --perf-basic-prof -e "let s = 0; for (let i = 0; i < 2000000; i++) s = (s * 31 + i) % 65521; console.log(s)"
CASES
)
env=(PATH=/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 PYTHONHASHSEED=0)

# A command in a chroot, under QEMU. The chroot has the host's files at /host, for QEMU and its libraries. What the command
# tells `perf` of code that it makes goes to $name.qemu-map.
under_qemu() {
    # shellcheck disable=SC2016
    unshare --map-root-user --mount --pid --fork --kill-child bash -ec '
        root=$1 qemu=$2
        shift 2
        libraries=$(ldd "$qemu" | sed -n "s|.*=> \(/.*\)/[^/]* (.*|/host\1|p" | sort -u | paste -sd:)
        loader=/host$(realpath "$(ldd "$qemu" | sed -n "s|^\s*\(/.*/ld-[^ ]*\) .*|\1|p")")
        mount -t tmpfs tmpfs /mnt
        mkdir /mnt/upper /mnt/work /mnt/root
        mount -t overlay overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work,userxattr" /mnt/root
        cd /mnt/root
        mkdir -p proc dev tmp host
        mount --rbind / host
        mount -t proc proc proc
        mount -t tmpfs tmpfs dev
        for name in null zero urandom random; do touch "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
        map=$1
        shift
        env -i "${@:2:$1}" /usr/sbin/chroot . "$loader" --library-path "$libraries" "/host$qemu" "${@:$1 + 2}"
        for file in tmp/perf-*.map; do if [ -e "$file" ]; then cp "$file" "$map"; fi; done' \
        bash "$root" "$qemu" "$folder/$name.qemu-map" "${#env[@]}" "${env[@]}" "$@" < /dev/null
}

printf '| program | object | instructions in QEMU | in hps | difference | executed addresses | of equal count |\n' > "$folder/counts.md"
printf '| --- | --- | ---: | ---: | ---: | ---: | ---: |\n' >> "$folder/counts.md"
failed=0
while read -r name line; do
    if (($#)) && [[ " $* " != *" $name "* ]]; then continue; fi
    eval "words=($line)"
    rm -f "$folder/$name.qemu-counts" "$folder/$name.qemu-map"
    under_qemu -plugin "/host$folder/executions.so,out=/host$folder/$name.qemu-counts" -0 "${words[0]}" \
        "${words[@]}" | cat > "$folder/$name.counted-out" || true
    settings=()
    for one in "${env[@]}"; do settings+=(--env "$one"); done
    "$hps" profile --root "$root" --writable=scratch --uid 0 --cwd / --force --core instruction "${settings[@]}" \
        --json="$folder/$name.profile.json" -- "${words[@]}" < /dev/null > "$folder/$name.profile-out" 2> "$folder/$name.profile-err" ||
        cat "$folder/$name.profile-err"
    files=("$folder/$name.qemu-counts" "$folder/$name.profile.json" "$folder/counts.md")
    if [ -e "$folder/$name.qemu-map" ]; then files+=("$folder/$name.qemu-map"); fi
    "$here/compare.py" "$name" "$root" "${files[@]}" ||
        failed=$((failed + 1))
done <<< "$cases"
cat "$folder/counts.md"
exit $((failed > 0))
