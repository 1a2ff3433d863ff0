# To be sourced: fetches packages of Debian, pinned by their SHA-256: source archives into $out/src, and binary packages.

# apt_aside WORK TYPE [OPTION...]: sets `apt` to apt-get with the system's own package sources, asked for TYPE (deb,
# deb-src); the system is not changed.
apt_aside() {
    local work=$1 type=$2
    shift 2
    mkdir -p "$work/parts" "$work/lists/partial" "$work/cache"
    for list in /etc/apt/sources.list.d/debian.sources; do
        [ -f "$list" ] && sed "s/^Types: .*/Types: $type/" "$list" >"$work/parts/aside.sources"
    done
    if [ -s /etc/apt/sources.list ]; then
        sed -n "s/^deb \(.*debian.*\)/$type \1/p" /etc/apt/sources.list >"$work/parts/aside.list"
    fi
    apt=(apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/parts"
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3 "$@")
}

# fetch_current ARCHITECTURE {FILE PACKAGE}...: binary packages of the version that there is today, for which apt vouches. A
# package without files stands for the first one that it depends on. Fails if they cannot be had.
fetch_current() {
    local architecture=$1 all=("${@:2}") work apt had=0 i name
    work=$(mktemp -d)
    apt_aside "$work" deb -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
        -o Dir::State::status=/dev/null
    (cd "$work" && "${apt[@]}" update >/dev/null) || had=1
    for ((i = 0; had == 0 && i < ${#all[@]}; i += 2)); do
        name=${all[i + 1]}
        [[ $name != linux-image-* ]] || name=$(apt-cache "${apt[@]:1}" depends "$name" | sed -n 's/^ *Depends: \(linux-image-\)/\1/p' | head -1)
        (cd "$work" && rm -f ./*.deb && "${apt[@]}" download "$name" >/dev/null) && mv "$work"/*.deb "${all[i]}" || had=1
    done
    rm -rf "$work"
    return $had
}

# fetch_binaries ARCHITECTURE {FILE PACKAGE=VERSION SHA256}...: binary packages, unless the files are they. Fails if they
# cannot be had.
fetch_binaries() {
    local architecture=$1 all=("${@:2}") work apt had=0 i
    local is_there=true
    for ((i = 0; i < ${#all[@]}; i += 3)); do
        echo "${all[i + 2]}  ${all[i]}" | sha256sum -c --status 2>/dev/null || is_there=false
    done
    if $is_there; then return; fi
    work=$(mktemp -d)
    apt_aside "$work" deb -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
        -o Dir::State::status=/dev/null
    (cd "$work" && "${apt[@]}" update >/dev/null) || had=1
    for ((i = 0; had == 0 && i < ${#all[@]}; i += 3)); do
        (cd "$work" && rm -f ./*.deb && "${apt[@]}" download "${all[i + 1]}" >/dev/null) &&
            echo "${all[i + 2]}  $(echo "$work"/*.deb)" | sha256sum -c --status && mv "$work"/*.deb "${all[i]}" || had=1
    done
    rm -rf "$work"
    return $had
}

# fetch PACKAGE FILE SHA256: the original source archive of a Debian source package.
fetch() {
    local package=$1 file=$2 sha=$3
    if [ -f "$out/src/$file" ] && echo "$sha  $out/src/$file" | sha256sum -c --status; then return; fi
    local work apt
    work=$(mktemp -d)
    apt_aside "$work" deb-src
    (cd "$work" && "${apt[@]}" update >/dev/null &&
        "${apt[@]}" source --download-only --tar-only "$package" >/dev/null) || {
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

# pinned PROGRAM: package, archive and SHA-256 of its source, as the suite's manifest has them.
pinned() {
    sed -n "/^ *name: \"$1\",$/,/Debian(/s/.*package: \"\([^\"]*\)\".* file: \"\([^\"]*\)\".* sha256: \"\([^\"]*\)\".*/\1 \2 \3/p" \
        workloads/suite/suite.ron
}
