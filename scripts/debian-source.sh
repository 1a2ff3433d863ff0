# To be sourced: fetches source archives of Debian's packages, pinned by their SHA-256, into $out/src.

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
        apt-get "${options[@]}" source --download-only --tar-only "$package" >/dev/null) || {
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
