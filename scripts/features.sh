#!/usr/bin/env bash
# Can the kernel's datapath be built here? Sourced, it sets what cargo and maturin are given; run, it says
# what it found, in one line.
#   extension   for the Python extension alone: "--features kernel", or nothing
#   workspace   for all crates but the extension: "--features bentpipe-kernel/bpf", or nothing
#   everything  for all crates: both, or nothing
#   said        the line
# and apart(), below.
# It needs a clang that makes BPF programs, and static libelf and zlib, which go into the extension (Debian:
# clang libelf-dev zlib1g-dev).

extension='' workspace='' everything='' said=''

# The first clang that makes BPF programs; CLANG=... is asked first. crates/kernel/build.rs reads CLANG, too.
find_clang() {
    local candidate
    for candidate in ${CLANG:-} clang clang-{21..14}; do
        if echo 'int one(void) { return 1; }' | "$candidate" -target bpf -O2 -c -x c - -o /dev/null 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# Do the libelf.a and libz.a that are given go into a shared object, with nothing left open? The three
# functions stand for crates/kernel/src/elf_error.rs, which says why they are needed.
links() {
    cc -shared -fPIC -o /dev/null -x c - -x none "$@" -Wl,--no-undefined -Wl,-Bsymbolic \
        -Wl,--exclude-libs,ALL 2>/dev/null <<'C'
#include <libelf.h>
#include <gelf.h>
#include <zlib.h>
int elf_errno(void) { return 0; }
void __libelf_seterrno(int value) { (void)value; }
const char *elf_errmsg(int error) { (void)error; return ""; }
void *used[] = { elf_version, elf_begin, elf_memory, elf_end, elf_getdata, elf_rawdata, elf_newscn, elf_update, elf_strptr,
    gelf_getehdr, gelf_getshdr, gelf_getsym, gelf_getrel, gzopen, gzread, gzclose };
C
}

look() {
    local clang missing=() elf z
    clang=$(find_clang) || missing+=(clang)
    command -v make >/dev/null || missing+=(make)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    elf=$(cc -print-file-name=libelf.a 2>/dev/null || true)
    [ -f "$elf" ] || missing+=(libelf-dev)
    z=$(cc -print-file-name=libz.a 2>/dev/null || true)
    [ -f "$z" ] || missing+=(zlib1g-dev)
    if [ ${#missing[@]} -gt 0 ]; then
        said="without the kernel's datapath (bentpipe kernel): missing ${missing[*]}"
        return
    fi
    if ! links "$elf" "$z"; then
        said="without the kernel's datapath (bentpipe kernel): $elf cannot be part of a shared object"
        return
    fi
    LIBBPF_SYS_LIBRARY_PATH=$(cd "$(dirname "$elf")" && pwd):$(cd "$(dirname "$z")" && pwd)
    export LIBBPF_SYS_LIBRARY_PATH CLANG=$clang
    extension='--features kernel'
    workspace='--features bentpipe-kernel/bpf'
    everything='--features bentpipe-kernel/bpf,bentpipe-py/kernel'
    said="with the kernel's datapath (bentpipe kernel), by $clang"
}

# For a linker that is not this machine's (zig): puts links to the two libraries and their headers, and to
# nothing else of this machine, into directory $1, and has libbpf look there.
apart() {
    local found
    [ -n "$extension" ] || return 0
    rm -rf "$1"
    mkdir -p "$1"
    for found in libelf.a libz.a; do ln -s "$(realpath "$(cc -print-file-name=$found)")" "$1/$found"; done
    for found in $(printf '#include <%s>\n' libelf.h gelf.h zlib.h | cc -E - | grep -oE '[^"]*/(g?elf|libelf|zlib|zconf)\.h' | sort -u); do
        ln -s "$found" "$1/"
    done
    rm -f "$1/elf.h" # of the C library
    export LIBBPF_SYS_LIBRARY_PATH=$1 LIBBPF_SYS_EXTRA_CFLAGS="-I$1"
}

look
[ "${BASH_SOURCE[0]}" != "$0" ] || echo "$said"
