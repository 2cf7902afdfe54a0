#!/usr/bin/env bash
# Compiles the simulator for a page in a browser, and prints the path of the module.
#   scripts/web.sh FOLDER [PROFILE]
# What it makes is in FOLDER. Its compiler and the sources of the standard library are in target/rust
# (scripts/rust.sh), because no Rust toolchain here has a standard library for wasm32-unknown-unknown.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(realpath -m "$1") profile=${2:-web}
bin=$(scripts/rust.sh target/rust)
# RUSTC_BOOTSTRAP lets a stable compiler build its own library.
export RUSTC=$bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$folder
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$bin/wasm-ld
"$bin/cargo" rustc --quiet --locked --profile "$profile" --package bentpipe-web --lib --crate-type cdylib \
    -Z build-std=std,panic_abort --target wasm32-unknown-unknown || {
    echo "make web: the simulator could not be compiled; the lines above say why (crates that are not here yet need a network)" >&2
    exit 1
}
echo "$folder/wasm32-unknown-unknown/$profile/bentpipe_web.wasm"
