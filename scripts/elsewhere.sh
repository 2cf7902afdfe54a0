#!/usr/bin/env bash
# Checks that the Python extension compiles for macOS (arm64) and Windows (x86-64), without the parts that
# need Linux. Nothing is linked and nothing runs. The standard library of both targets is checked with it, by
# the sources of scripts/rust.sh.
#   scripts/elsewhere.sh FOLDER   # what it makes goes there
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=$(scripts/rust.sh target/rust)
export RUSTC=$bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$(realpath -m "$1")
export PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1 PYO3_CROSS_PYTHON_VERSION=3.11
unset PYO3_PYTHON
for target in aarch64-apple-darwin x86_64-pc-windows-msvc; do
    "$bin/cargo" check --quiet --locked --profile web --package bentpipe-py -Z build-std=std,panic_unwind --target "$target" || {
        echo "the Python extension does not compile for $target; the lines above say why" >&2
        exit 1
    }
    echo "the Python extension compiles for $target"
done
