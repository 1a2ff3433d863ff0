#!/usr/bin/env bash
# Makes what a release holds, for x86_64, aarch64 and riscv64, in one folder:
#
#   crates      all crates packaged, compiled from their packages, in the order in which they depend on each other
#   binaries    a tar file with the static command, its man pages and completions, for each processor
#   wheels      a wheel for each processor, from Python 3.11 on
#   debian      a Debian package for each processor (cargo-deb)
#   container   an image of the static command for x86_64, as a file for `docker load` (buildah, podman or docker)
#   sbom        what the command is made of, in CycloneDX's JSON (cargo-cyclonedx)
#   checks      runs what was built, by QEMU's user mode where the processor is another one, and compares outputs
#   sums        SHA-256 of all files
#
#   scripts/release.sh [PART...]          these parts, or all of them, in this order
#
# PROCESSORS="x86_64" leaves the others out. Nothing is published.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export CARGO_TARGET_DIR=$folder
source scripts/release-tools.sh
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
out=$folder/releases/$version
mkdir -p "$out"
read -ra processors <<<"${PROCESSORS:-x86_64 aarch64 riscv64}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

static() { echo "$folder/$(static_triple "$1")/release/hps"; }

# Runs a program of another processor as well: on PROCESSOR COMMAND...
on() {
    if [ "$1" = "$(uname -m)" ]; then "${@:2}"; else
        needs "qemu-$1" qemu-user
        "qemu-$1" "${@:2}"
    fi
}

# Man pages and completions beside a static file: the host's command, or an emulator, writes them.
manual() {
    local beside
    beside=$(dirname "$(static "$1")")/manual
    rm -rf "$beside"
    mkdir -p "$beside/man"
    on "$1" "$(static "$1")" dev man "$beside/man" >/dev/null
    for shell in bash zsh fish; do on "$1" "$(static "$1")" dev completions $shell >"$beside/hps.$shell"; done
    gzip -n9 "$beside"/man/*.1
}

crates() {
    cargo publish --workspace --dry-run --locked
    # Cargo 1.95 leaves them in a registry of its own there.
    find "$folder/package" -name "*-$version.crate" -exec cp {} "$out" \;
}

binaries() {
    scripts/static.sh "${processors[@]}"
    for processor in "${processors[@]}"; do
        manual "$processor"
        local name
        name=hps-$version-$(static_triple "$processor")
        mkdir -p "$work/$name"
        cp -r "$(static "$processor")" "$(dirname "$(static "$processor")")"/manual/* README.md CHANGELOG.md LICENSE-* "$work/$name"
        tar -C "$work" --sort=name --owner=0 --group=0 --mtime="@$(git log -1 --format=%ct)" -czf "$out/$name.tar.gz" "$name"
    done
}

wheels() {
    rm -rf "$folder/wheels"
    scripts/build-wheel.sh "${processors[@]}"
    cp "$folder"/wheels/*.whl "$out"
}

debian() {
    [ -x "$folder/release-tools/bin/cargo-deb" ] || cargo install --locked --quiet --root "$folder/release-tools" cargo-deb --version '^3'
    for processor in "${processors[@]}"; do
        "$folder/release-tools/bin/cargo-deb" --no-build --no-strip --target "$(static_triple "$processor")" --output "$out"
    done
}

container() {
    local builder=()
    for tool in buildah podman docker; do
        command -v $tool >/dev/null && builder=($tool build) && break
    done
    ((${#builder[@]})) || {
        echo "error: nothing is there that builds images; install from Debian: buildah" >&2
        exit 1
    }
    # Without the right to make a container of its own, the builder uses a changed root.
    [ "${builder[0]}" = docker ] || builder+=(--isolation chroot)
    mkdir -p "$work/image/rootfs/bin" "$work/image/rootfs/tmp"
    chmod 1777 "$work/image/rootfs/tmp"
    cp "$(static x86_64)" "$work/image/rootfs/bin/hps"
    "${builder[@]}" --target hps --tag "hps:$version" --file Containerfile "$work/image"
    local file=$out/hps-$version-x86_64-image.tar
    rm -f "$file"
    case ${builder[0]} in
    buildah) buildah push "hps:$version" "docker-archive:$file:hps:$version" ;;
    *) "${builder[0]}" save --output "$file" "hps:$version" ;;
    esac
}

sbom() {
    [ -x "$folder/release-tools/bin/cargo-cyclonedx" ] ||
        cargo install --locked --quiet --root "$folder/release-tools" cargo-cyclonedx --version '^0.5'
    # It writes beside each manifest, so it gets a copy of the sources.
    mkdir -p "$work/sources"
    git archive HEAD | tar -C "$work/sources" -x
    (cd "$work/sources" && "$folder/release-tools/bin/cargo-cyclonedx" cyclonedx --format json --spec-version 1.5 --target all \
        --override-filename sbom --quiet)
    cp "$work/sources/sbom.json" "$out/hps-$version.cdx.json"
}

checks() {
    local commands=("--version" "run bwt small" "run --machine hps-4wide --stats interp small"
        "profile --core instruction --machine ev6 --isa alpha chess small")
    for processor in "${processors[@]}"; do
        for command in "${commands[@]}"; do
            # Words of a command are to be split.
            # shellcheck disable=SC2086
            on "$processor" "$(static "$processor")" $command
        done 2>&1 | grep -v '^host seconds' >"$work/said-$processor"
        cmp "$work/said-$processor" "$work/said-${processors[0]}"
        echo "$processor: ${#commands[@]} commands say what they say on ${processors[0]}"
    done
}

sums() {
    (cd "$out" && rm -f SHA256SUMS && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
}

parts=(crates binaries wheels debian container sbom checks sums)
for part in "${@:-${parts[@]}}"; do
    [[ " ${parts[*]} " == *" $part "* ]] || {
        echo "error: $part is no part of a release: ${parts[*]}" >&2
        exit 1
    }
    echo "== $part"
    "$part"
done
ls -l "$out"
