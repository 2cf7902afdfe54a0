#!/usr/bin/env bash
# Unpacks a Rust of Debian's packages with the sources of its library and a linker for WebAssembly, and prints
# the folder of its programs. Nothing is installed, so a Rust that is on the machine stays as it is.
#   scripts/rust.sh FOLDER        # FOLDER/bin: cargo, rustc, rustdoc, wasm-ld
# It has two uses: targets for which no Rust toolchain here has a standard library compile that library, too
# (scripts/web.sh, scripts/elsewhere.sh), and a Debian without Rust builds with it (scripts/system.sh). The
# first time fetches 150 MB; afterwards no network is needed.
set -euo pipefail

tools=$(realpath -m "$1")
packages=(rustc-web cargo-web rust-web-src libstd-rust-web-dev lld-22)
# What these link with, and a Debian without a compiler lacks. The library of Rust has its version in its name.
libraries=(libllvm22 libgit2-1.5 libhttp-parser2.9 libmbedcrypto7 libmbedtls14 libmbedx509-1)

fail() {
    echo "Rust from Debian's packages: $*" >&2
    exit 1
}

if [ ! -e "$tools/complete" ]; then
    { command -v apt-get && command -v dpkg-deb; } >/dev/null || fail "there is no apt-get here; use Debian 12, or its image"
    if ! apt-cache show "${packages[@]}" >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then apt-get update -qq >/dev/null 2>&1 || true; fi
    standard=$(apt-cache depends libstd-rust-web-dev 2>/dev/null | sed -nE 's/.*Depends: (libstd-rust-web-[0-9.]+).*/\1/p' | head -n 1)
    if [ -z "$standard" ] || ! apt-cache show "${packages[@]}" "${libraries[@]}" >/dev/null 2>&1; then
        fail "apt does not know ${packages[*]} (Debian 12 has them in its security archive); run apt-get update as root"
    fi
    rm -rf "$tools"
    mkdir -p "$tools/packages" "$tools/bin"
    echo "fetching a Rust of Debian's packages, 150 MB" >&2
    (cd "$tools/packages" && apt-get -qq download "${packages[@]}" "$standard" "${libraries[@]}" 2>"$tools/refused") ||
        fail "the packages cannot be fetched, is there a network? $(grep -m 1 '^E:' "$tools/refused" || true)"
    for package in "$tools"/packages/*.deb; do dpkg-deb -x "$package" "$tools"; done
    rm -rf "$tools/packages" "$tools/refused" "$tools"/usr/share/doc
    # Libraries of these programs, and of no other: the variable is theirs alone.
    for program in cargo rustc rustdoc wasm-ld; do
        target=$(ls "$tools/usr/bin/$program"* | head -n 1)
        # shellcheck disable=SC2016 # what $@ is, is known when it runs
        printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$(echo "$tools"/usr/lib/*-linux-gnu)" "$target" >"$tools/bin/$program"
        chmod +x "$tools/bin/$program"
    done
    touch "$tools/complete"
fi
echo "$tools/bin"
