#!/usr/bin/env bash
# Compiles the simulator for a page in a browser, and prints the path of the module.
#   scripts/web.sh FOLDER
# No Rust toolchain here has a standard library for wasm32-unknown-unknown, so it is compiled, too. That needs
# the sources of the compiler's own version and a linker for WebAssembly. Debian has both beside a compiler.
# The packages are unpacked into FOLDER/tools and never installed: they would take the place of the Rust that
# is here. Once they are there, no network is needed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(realpath -m "$1")
tools=$folder/tools
packages=(rustc-web cargo-web rust-web-src libstd-rust-web-dev lld-22)
# What these link with, and a Debian without a compiler lacks. The library of Rust has its version in its name.
libraries=(libllvm22 libgit2-1.5 libhttp-parser2.9 libmbedcrypto7 libmbedtls14 libmbedx509-1)

say() { echo "make web: $*" >&2; }

if [ ! -e "$tools/complete" ]; then
    { command -v apt-get && command -v dpkg-deb; } >/dev/null || {
        say "the compiler for WebAssembly comes from Debian's packages, and there is no apt-get here; use Debian 12, or its image"
        exit 1
    }
    if ! apt-cache show "${packages[@]}" >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then apt-get update -qq >/dev/null 2>&1 || true; fi
    standard=$(apt-cache depends libstd-rust-web-dev 2>/dev/null | sed -nE 's/.*Depends: (libstd-rust-web-[0-9.]+).*/\1/p' | head -n 1)
    if [ -z "$standard" ] || ! apt-cache show "${packages[@]}" "${libraries[@]}" >/dev/null 2>&1; then
        say "apt does not know ${packages[*]} (Debian 12 has them in its security archive); run apt-get update as root"
        exit 1
    fi
    rm -rf "$tools"
    mkdir -p "$tools/packages"
    say "fetching a compiler for WebAssembly, 150 MB"
    (cd "$tools/packages" && apt-get -qq download "${packages[@]}" "$standard" "${libraries[@]}" 2>"$tools/refused") || {
        say "the packages cannot be fetched, is there a network? $(grep -m 1 '^E:' "$tools/refused" || true)"
        exit 1
    }
    for package in "$tools"/packages/*.deb; do dpkg-deb -x "$package" "$tools"; done
    rm -rf "$tools/packages" "$tools/refused" "$tools"/usr/share/doc
    touch "$tools/complete"
fi

# RUSTC_BOOTSTRAP lets a stable compiler build its own library.
export LD_LIBRARY_PATH=$(echo "$tools"/usr/lib/*-linux-gnu | tr ' ' ':')${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RUSTC=$tools/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$folder/build
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$tools/usr/bin/wasm-ld-22
"$tools/usr/bin/cargo" rustc --quiet --locked --profile web --package bentpipe-web --lib --crate-type cdylib \
    -Z build-std=std,panic_abort --target wasm32-unknown-unknown || {
    say "the simulator could not be compiled; the lines above say why (crates that are not here yet need a network)"
    exit 1
}
echo "$folder/build/wasm32-unknown-unknown/web/bentpipe_web.wasm"
