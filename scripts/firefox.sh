#!/usr/bin/env bash
# Unpacks the Firefox of Debian's packages and installs nothing. Prints the path of its program.
#   scripts/firefox.sh FOLDER
# The first time fetches 80 MB; afterwards no network is needed.
set -euo pipefail

folder=$(realpath -m "$1")
# The libraries that Debian's Chromium, which the tests need anyway, does not bring along.
packages=(firefox-esr libvpx7 libevent-2.1-7)

fail() {
    echo "Firefox from Debian's packages: $*" >&2
    exit 1
}

if [ ! -e "$folder/complete" ]; then
    { command -v apt-get && command -v dpkg-deb; } >/dev/null || fail "there is no apt-get here; use Debian 12, or its image"
    if ! apt-cache show "${packages[@]}" >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then apt-get update -qq >/dev/null 2>&1 || true; fi
    rm -rf "$folder"
    mkdir -p "$folder/packages"
    (cd "$folder/packages" && apt-get -qq download "${packages[@]}" 2>"$folder/refused") ||
        fail "the packages cannot be fetched, is there a network? $(grep -m 1 '^E:' "$folder/refused" || true)"
    for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder"; done
    rm -rf "$folder/packages" "$folder/refused"
    # shellcheck disable=SC2016 # what $@ is, is known when it runs
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$(echo "$folder"/usr/lib/*-linux-gnu)" \
        "$folder/usr/lib/firefox-esr/firefox-esr" >"$folder/firefox"
    chmod +x "$folder/firefox"
    touch "$folder/complete"
fi
echo "$folder/firefox"
