#!/usr/bin/env bash
# Looks for what pip and cargo cannot install: a C compiler, Rust, Python's venv module, ns-2, ns-3 and
# tshark for the witness tests, node for the simulator of the page, valgrind for counting instructions, Chromium for
# looking at pages, ping for the emulator, and what builds and tests the kernel's datapath. A Debian without
# Rust gets one that is unpacked and not installed.
# As root on Debian it installs what is missing; otherwise it names it. Prints nothing when nothing is missing.
set -euo pipefail

rust_wanted=1.88
required=() # the build fails without these Debian packages
optional=() # only some checks need these
datapath=() # bentpipe kernel needs these when it is built, and nothing else does

python_ok() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The first interpreter that runs and is new enough; PYTHON=... is asked first.
find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3.11 python3 python3.12 python3.13 python3.14; do
        if python_ok "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

if [ "${1:-}" = python ]; then
    find_python || {
        echo "Python 3.11 or later is needed and was not found; on Debian 12: apt-get install python3 python3-venv" >&2
        exit 1
    }
    exit
fi

command -v cc >/dev/null || required+=(build-essential)
if python=$(find_python); then
    [ -x .venv/bin/python ] || "$python" -c 'import ensurepip, venv' 2>/dev/null || required+=(python3-venv)
else
    required+=(python3 python3-venv)
fi
command -v ns >/dev/null || optional+=(ns2)
[ -f /usr/include/ns3/core-module.h ] || optional+=(libns3-dev)
command -v tshark >/dev/null || optional+=(tshark)
command -v valgrind >/dev/null || optional+=(valgrind)
command -v iperf3 >/dev/null || optional+=(iperf3)
command -v ip >/dev/null || optional+=(iproute2)
command -v ping >/dev/null || optional+=(iputils-ping)
command -v bpftool >/dev/null || [ -x /usr/sbin/bpftool ] || optional+=(bpftool)
command -v node >/dev/null || optional+=(nodejs)
command -v chromium >/dev/null || command -v google-chrome >/dev/null || optional+=(chromium)

# The newest clang of Debian 12 has a number in its name; elsewhere the one without is new enough.
clang_package() { if apt-cache show clang-16 >/dev/null 2>&1; then echo "clang-16 llvm-16"; else echo "clang llvm"; fi; }
has_static() { [ -f "$(cc -print-file-name="$1" 2>/dev/null)" ]; }
compgen -c clang | grep -qxE 'clang(-[0-9]+)?' || read -ra datapath <<<"$(clang_package)"
has_static libelf.a || datapath+=(libelf-dev)
has_static libz.a || datapath+=(zlib1g-dev)
command -v pkg-config >/dev/null || datapath+=(pkg-config)

install() {
    echo "installing Debian packages: $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null && apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
}

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    if [ ${#required[@]} -gt 0 ]; then
        install "${required[@]}" || { echo "could not install ${required[*]}" >&2; exit 1; }
    fi
    if [ ${#optional[@]} -gt 0 ]; then
        install "${optional[@]}" || echo "could not install ${optional[*]}: the checks that need them will be skipped"
    fi
    if [ ${#datapath[@]} -gt 0 ]; then
        install "${datapath[@]}" || echo "could not install ${datapath[*]}: bentpipe kernel will not be built"
    fi
else
    if [ ${#required[@]} -gt 0 ]; then
        echo "missing; install these packages as root and try again: ${required[*]}" >&2
        exit 1
    fi
    if [ ${#optional[@]} -gt 0 ]; then
        echo "not installed, so the checks that need them will be skipped: ${optional[*]} (as root: apt-get install ${optional[*]})"
    fi
    if [ ${#datapath[@]} -gt 0 ]; then
        echo "not installed, so bentpipe kernel will not be built: ${datapath[*]} (as root: apt-get install ${datapath[*]})"
    fi
fi

# rustup puts cargo here, which a shell that has not been started anew does not search.
PATH="$HOME/.cargo/bin:$PATH:$PWD/target/rust/bin"
if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
    scripts/rust.sh target/rust >/dev/null || {
        echo "cargo was not found: install Rust $rust_wanted or later with rustup (or another package of Rust that is new enough;" \
            "Debian 12's own rustc is too old)" >&2
        exit 1
    }
    echo "there was no Rust here, so one of Debian's packages is in target/rust; \`make lint\` and \`make fmt\` need rustup's"
fi
rust=$(rustc --version | sed -E 's/^rustc ([0-9]+\.[0-9]+).*/\1/')
if [ "$(printf '%s\n%s\n' "$rust_wanted" "$rust" | sort -V | head -n 1)" != "$rust_wanted" ]; then
    echo "Rust $rust is too old: $rust_wanted or later is needed (rustup update)" >&2
    exit 1
fi
