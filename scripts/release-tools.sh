# What the scripts that build releases share; to be read by them with `source`.

# Ends the script unless a command is there: needs COMMAND PACKAGE...
needs() {
    command -v "$1" >/dev/null || {
        echo "error: $1 is missing; install from Debian: ${*:2}" >&2
        exit 1
    }
}

# Puts maturin and zig into an environment of Python under the target folder.
python_tools() {
    local python=${PYTHON:-python3} tools=$1/release-tools
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "error: $python is older than 3.11; name a newer one in PYTHON" >&2
        exit 1
    }
    [ -e "$tools/complete" ] || {
        "$python" -m venv "$tools" || {
            echo "error: $python has no venv; install Debian's python3-venv" >&2
            exit 1
        }
        "$tools/bin/pip" install --quiet 'maturin>=1.9,<2' ziglang
        touch "$tools/complete"
    }
}

# Rust's name for a processor with the C library of the static file: static_triple PROCESSOR
static_triple() {
    case $1 in
    x86_64 | aarch64) echo "$1-unknown-linux-musl" ;;
    riscv64) echo riscv64gc-unknown-linux-gnu ;;
    *)
        echo "error: $1 is no processor that hps is built for: x86_64, aarch64 or riscv64" >&2
        return 1
        ;;
    esac
}
