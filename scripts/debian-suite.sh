#!/usr/bin/env bash
# Runs programs of Debian under hps and under QEMU's user mode, and compares what they print. It needs the network for
# the packages, and is run by hand:
#     scripts/debian-suite.sh [--timed] HPS FOLDER [NAME...]
# FOLDER keeps the root, outputs (NAME.hps, NAME.qemu, NAME.err) and the table (table.md). Options of `hps run` in
# HPS_OPTIONS (such as --machine hps-4wide --core instruction --max-instructions 20000000) make runs that are not compared.
# QEMU runs in a user namespace with a binfmt_misc of its own (Linux 6.7 or newer), on an overlay of the root: QEMU names
# the static binary (of the Debian package qemu-user-static).
# With --timed, programs that need no child process run timed instead, on hps-4wide by both cores: a part of bounded length
# of each, behind a functional beginning, without comparison. The table is timed.md; lengths in millions of instructions
# are in TIMED_INSTRUCTION and TIMED_CYCLE (2 and 0.5).
set -euo pipefail

timed=
if [ "${1:-}" = --timed ]; then
    timed=yes
    shift
fi
if (($# < 2)); then
    sed -n '2,12s/^# //p' "$0" >&2
    exit 2
fi
hps=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
sources=$(realpath "$(dirname "$0")")/debian-suite
qemu=$(command -v "${QEMU:-qemu-riscv64-static}" || true)
seconds=${SUITE_SECONDS:-600}
root=$folder/root
packages=python3,perl,nodejs,ruby,php-cli,sqlite3,git,gcc,libc6-dev,make,openssl,zstd,xz-utils,imagemagick,redis-server
packages+=,redis-tools,nginx,jq,gawk,lua5.4,luajit,musl-tools
read -ra options <<<"${HPS_OPTIONS:-}"

if [ ! -e "$root" ]; then
    mirrors=()
    if [ -n "${MIRROR:-}" ]; then mirrors=(--mirror "$MIRROR"); fi
    "$hps" root make "$root" --with "$packages" "${mirrors[@]}"
fi
mkdir -p "$root/home/user/suite"
cp "$sources"/* "$root/home/user/suite/"

# Name, millions of instructions in front of the timed part, standard input, and the command.
timed_cases=$(cat <<'CASES'
bash 5 - bash -c 'for ((i = 0; i < 100000; i++)); do [[ $i =~ ^[0-9]*5$ ]] && a[i % 50]=$i; done'
coreutils 1 - sha256sum /usr/bin/perl
sort 5 - sort /usr/share/perl/5.40.1/perl5db.pl /usr/share/perl/5.40.1/CPAN.pm
gawk 5 - awk 'BEGIN { for (i = 0; i < 500000; i++) s[i % 101] += i; for (k in s) t += s[k] * k; print t }'
grep 1 - grep -cE '[a-m]+ing [a-z]* of' /usr/share/perl/5.40.1/perl5db.pl
tar 2 - tar cf /tmp/s.tar /usr/share/perl/5.40.1
python3-nbody 100 - python3 bench.py nbody
python3-fannkuch 100 - python3 bench.py fannkuch
python3-queens 100 - python3 bench.py queens
python3-mandelbrot 100 - python3 bench.py mandelbrot
python3-pidigits 100 - python3 bench.py pidigits
python3-words 100 - python3 bench.py words
python3-documents 100 - python3 bench.py documents
python3-paths 100 - python3 bench.py paths
python3-scheduler 100 - python3 bench.py scheduler
python3-text 100 - python3 bench.py text
perl 30 - perl run.pl
nodejs 200 - node run.js
nodejs-threads 400 - node threads.js
ruby 100 - ruby run.rb
php 20 - php run.php
sqlite3 50 run.sql sqlite3 /tmp/db
lua 20 - lua run.lua
luajit 5 - luajit run.lua
jq 20 - jq -n '[range(30000)] | map(. * 7 % 31) | group_by(.) | map({(.[0] | tostring): length}) | add'
git 5 - git hash-object /usr/bin/perl /usr/bin/git
cc1 20 - /usr/libexec/gcc/riscv64-linux-gnu/14/cc1 -quiet -O2 main.c -o /dev/null
make 2 - make -n all
openssl 20 - openssl speed -seconds 1 -bytes 1024 sha256
xz 20 - xz -c -T1 /usr/share/perl/5.40.1/perl5db.pl
zstd 5 - zstd -c -9 /usr/share/perl/5.40.1/perl5db.pl
imagemagick 10 - magick -size 80x60 gradient:red-blue -swirl 90 -resize 50% -colorspace gray /tmp/i.ppm
redis 5 - redis-server --port 6400 --save '' --dir /tmp
nginx 2 - nginx -g 'daemon off; master_process off; error_log /tmp/e; pid /tmp/p;'
CASES
)

# Name, package, and the command that bash runs in a copy of the suite's folder.
cases=$(cat <<'CASES'
bash bash for i in {1..40}; do [[ $i =~ ^[0-9]*5$ ]] && a+=($i); done; echo "${a[@]}" ${#a[@]}; seq 300 | while read -r n; do echo $((n * n % 97)); done | sort -n | uniq -c | sort -rn | head -5; trap 'echo bye' EXIT; (exit 3) || echo $?
coreutils coreutils seq 5000 | shuf --random-source=<(yes) | sort -n | tail -3; printf 'b 2\na 1\n' | sort | join - <(printf 'a x\nb y\n'); seq 100 | split -l 30 - part. && wc -l part.*; sha256sum bench.py; stat -c '%s %F' bench.py; ls -1 | head -4; date -u -d @86400 +%F; factor 1234567890; tr a-z A-Z < part.h; dd if=bench.py bs=100 count=3 2>/dev/null | cksum; cp -a . /tmp/copy; diff -r . /tmp/copy; du -b part.h; id -u; numfmt --to=iec 123456
gawk gawk awk 'BEGIN { for (i = 0; i < 50000; i++) s[i % 101] += i; for (k in s) t += s[k] * k; print t; print strftime("%F", 0, 1), toupper("abc"), gensub(/b/, "x", 1, "abc") }'
grep grep grep -nE '^def [a-m]+' bench.py; grep -c e bench.py; sed -n '/^def text/,/return/p' bench.py | sed 's/[aeiou]/_/g'; find . -name '*.py' | sort | xargs wc -l | tail -1
tar tar tar czf /tmp/s.tgz --sort=name --mtime=@0 . && tar tzf /tmp/s.tgz | wc -l; mkdir /tmp/x; tar xzf /tmp/s.tgz -C /tmp/x; diff -r . /tmp/x && echo same
python3-nbody python3 python3 bench.py nbody
python3-fannkuch python3 python3 bench.py fannkuch
python3-queens python3 python3 bench.py queens
python3-mandelbrot python3 python3 bench.py mandelbrot
python3-pidigits python3 python3 bench.py pidigits
python3-words python3 python3 bench.py words
python3-documents python3 python3 bench.py documents
python3-paths python3 python3 bench.py paths
python3-scheduler python3 python3 bench.py scheduler
python3-text python3 python3 bench.py text
python3-processes python3 python3 -c 'import multiprocessing as m, subprocess, threading, tempfile; print(m.get_context("fork").Pool(3).map(abs, range(-9, 0))); print(subprocess.run(["sort"], input=b"b\na\n", capture_output=True).stdout); t = [threading.Thread(target=print, args=(i,)) for i in range(2)]; [(x.start(), x.join()) for x in t]; print(tempfile.TemporaryFile().write(b"abc"))'
perl perl perl run.pl
nodejs nodejs node run.js
nodejs-threads nodejs node threads.js
ruby ruby ruby run.rb
php php-cli php run.php
sqlite3 sqlite3 sqlite3 /tmp/db < run.sql; sqlite3 /tmp/db .dump | md5sum
lua lua5.4 lua run.lua
luajit luajit luajit run.lua
jq jq jq -n '[range(3000)] | map(. * 7 % 31) | group_by(.) | map({(.[0] | tostring): length}) | add' | md5sum
git git export GIT_AUTHOR_DATE='1000000000 +0000' GIT_COMMITTER_DATE='1000000000 +0000'; git config --global user.email a@example.org; git config --global user.name A; git config --global init.defaultBranch main; git init -q /tmp/r && cp * /tmp/r && cd /tmp/r && git add . && git commit -qm one && for i in 1 2 3 4 5; do echo $i >> part.h; git commit -qam "change $i"; done; git checkout -qb side HEAD~2; echo side > side; git add side; git commit -qm side; git checkout -q main; git merge -q --no-edit side; git log --oneline --graph; git clone -q file:///tmp/r /tmp/c && cd /tmp/c && git log --format=%H | sort | md5sum; git gc -q; git fsck; git diff HEAD~3 --stat; git blame -s part.h; git count-objects -v | grep -E 'count|in-pack|packs'
gcc gcc gcc -O2 -c main.c part.c && gcc -o prog main.o part.o && ./prog && sha256sum main.o part.o prog && gcc -O1 -S -o - part.c | sha256sum
make make make -s -j4 all && cat out.* && make -s -j2 prog && ./prog
musl musl musl-gcc -O2 -o prog musl.c && ./prog; echo $?; sha256sum prog
openssl openssl openssl dgst -sha256 bench.py; openssl enc -aes-256-cbc -K 00 -iv 00 -in bench.py 2>/dev/null | sha512sum; openssl prime -generate -bits 64 | wc -l; openssl genpkey -algorithm ed25519 -out /tmp/k && echo text > /tmp/t && openssl pkeyutl -sign -inkey /tmp/k -rawin -in /tmp/t -out /tmp/s && openssl pkey -in /tmp/k -pubout -out /tmp/p && openssl pkeyutl -verify -pubin -inkey /tmp/p -rawin -in /tmp/t -sigfile /tmp/s
openssl-speed openssl openssl speed -seconds 1 -bytes 1024 sha256 >/tmp/o 2>/dev/null; echo $?; grep -c 'sha256' /tmp/o
xz xz-utils cat *.py *.js > /tmp/d; for i in {1..20}; do cat /tmp/d; done > /tmp/b; xz -T1 -6 -k /tmp/b; sha256sum < /tmp/b.xz; xz -dc /tmp/b.xz | cmp - /tmp/b && echo same; xz -T2 --block-size=20000 -c /tmp/b | xz -dc | sha256sum
zstd zstd cat *.py *.js > /tmp/d; for i in {1..20}; do cat /tmp/d; done > /tmp/b; zstd -q -9 /tmp/b; sha256sum < /tmp/b.zst; zstd -q -dc /tmp/b.zst | cmp - /tmp/b && echo same; zstd -q -T2 -c /tmp/b | zstd -dc | sha256sum
imagemagick imagemagick magick -size 80x60 gradient:red-blue -swirl 90 -resize 50% -colorspace gray /tmp/i.ppm && sha256sum < /tmp/i.ppm; magick /tmp/i.ppm /tmp/i.png && magick identify -format '%wx%h %m\n' /tmp/i.png
redis redis-server redis-server --port 6400 --save '' --daemonize no --dir /tmp > /tmp/log 2>&1 & p=$!; for i in {1..100}; do redis-cli -p 6400 ping 2>/dev/null && break; sleep 0.1; done; redis-cli -p 6400 set a 1; redis-cli -p 6400 incrby a 41; redis-benchmark -p 6400 -n 500 -c 5 -t set,get,lpush -q | tr '\r' '\n' | grep -c 'requests per second'; redis-cli -p 6400 dbsize; redis-cli -p 6400 shutdown nosave; wait $p; echo $?
nginx nginx mkdir /tmp/www; echo index > /tmp/www/index.html; seq 3000 > /tmp/www/data; nginx -c $PWD/nginx.conf & p=$!; python3 client.py 8080; kill -QUIT $p; wait $p; echo $?
CASES
)

# A command in a chroot of a user namespace, with QEMU for its programs.
under_qemu() {
    # shellcheck disable=SC2016
    timeout -k 5 "$seconds" unshare --map-root-user --mount --pid --fork --kill-child bash -ec '
        root=$1 qemu=$2
        magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xf3\x00"
        mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
        mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
        echo ":riscv64:M::$magic:$mask:$qemu:F" > /proc/sys/fs/binfmt_misc/register
        mount -t tmpfs tmpfs /mnt
        mkdir /mnt/upper /mnt/work /mnt/root
        mount -t overlay overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work,userxattr" /mnt/root
        cd /mnt/root
        mkdir -p proc dev tmp
        mount -t proc proc proc
        mount -t tmpfs tmpfs dev
        for name in null zero full random urandom; do touch "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
        mkdir dev/shm
        ln -s /proc/self/fd dev/fd
        chmod 1777 tmp
        ip link set lo up 2>/dev/null || true
        exec chroot . /usr/bin/env -i "${@:3}"' bash "$root" "$qemu" "${env[@]}" \
        /bin/bash -c "$command" < /dev/null
}

version_of() { jq -r --arg name "$1" '.packages[] | select(.name == $name) | .version' "$root/hps-root.json"; }

env=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 PYTHONHASHSEED=0)
# One timed run: a core, and a length in millions of instructions. Prints its IPC and processor seconds.
timed_run() {
    local words=() one
    for one in "${env[@]}"; do words+=(--env "$one"); done
    local file=$folder/$name.$1 code=0 length
    length=$(awk -v n="$2" 'BEGIN { printf "%d", n * 1e6 }')
    TIMEFORMAT=%U
    { time timeout -k 5 "$seconds" "$hps" run --root "$root" --writable=scratch --uid 0 --cwd /home/user/suite --force \
        --json="$file.json" "${words[@]}" --machine hps-4wide --core "$1" --skip "$((skip * 1000000))" \
        --until "$length" -- "${arguments[@]}" < "$input" > "$file.out" 2> "$file.err" || code=$?; } 2> "$file.time"
    if [ "$code" = 0 ]; then
        printf '%s' "$(jq -r '.ipc * 1000 | round / 1000' "$file.json")"
    else
        printf 'ends with %s' "$code"
    fi
    printf ' | %s' "$(tail -1 "$file.time")"
}

if [ -n "$timed" ]; then
    lengths=("${TIMED_INSTRUCTION:-2}" "${TIMED_CYCLE:-0.5}")
    printf '| program | from million | IPC of %s million, by instruction | processor seconds | IPC of %s million, by cycle | processor seconds |\n| --- | ---: | ---: | ---: | ---: | ---: |\n' \
        "${lengths[@]}" > "$folder/timed.md"
    while read -r name skip input line; do
        if (($#)) && [[ " $* " != *" $name "* ]]; then continue; fi
        case $input in
            -) input=/dev/null ;;
            *) input=$root/home/user/suite/$input ;;
        esac
        # The list's quotes are the shell's.
        eval "arguments=($line)"
        printf '| %s | %s | %s | %s |\n' "$name" "$skip" "$(timed_run instruction "${lengths[0]}")" \
            "$(timed_run cycle "${lengths[1]}")" | tee -a "$folder/timed.md"
    done <<< "$timed_cases"
    exit 0
fi

printf '| program | package | version | result | million instructions | processor seconds |\n| --- | --- | --- | --- | ---: | ---: |\n' > "$folder/table.md"
failed=0
while read -r name package line; do
    if (($#)) && [[ " $* " != *" $name "* ]]; then continue; fi
    command="cp -r /home/user/suite /tmp/suite && cd /tmp/suite && { $line; }"
    expected=0
    if [ -z "$qemu" ] || [ -n "${HPS_OPTIONS:-}" ]; then
        expected=none
    else
        under_qemu > "$folder/$name.qemu" 2> "$folder/$name.qemu-err" || expected=$?
    fi
    words=()
    for one in "${env[@]}"; do words+=(--env "$one"); done
    code=0
    # Processor time of the host, which a busy one changes little.
    TIMEFORMAT=%U
    { time timeout -k 5 "$seconds" "$hps" run --root "$root" --writable=scratch --uid 0 --cwd / --force \
        --json="$folder/$name.json" "${words[@]}" "${options[@]}" -- bash -c "$command" \
        < /dev/null > "$folder/$name.hps" 2> "$folder/$name.err" || code=$?; } 2> "$folder/$name.time"
    if [ "$expected" = none ]; then
        result="ends with $code"
    elif [ "$code" != "$expected" ]; then
        result="FAILS: ends with $code, in QEMU with $expected"
    elif cmp -s "$folder/$name.hps" "$folder/$name.qemu"; then
        result=equal
    else
        result="FAILS: other output"
    fi
    if [[ $result = FAILS* ]]; then failed=$((failed + 1)); fi
    # The file is empty where a run did not end.
    count=$(jq -r '.instructions / 1e6 | round' "$folder/$name.json" 2>/dev/null || true)
    printf '| %s | %s | %s | %s | %s | %s |\n' "$name" "$package" "$(version_of "$package")" "$result" "$count" \
        "$(cat "$folder/$name.time")" | tee -a "$folder/table.md"
done <<< "$cases"
exit $((failed > 0))
