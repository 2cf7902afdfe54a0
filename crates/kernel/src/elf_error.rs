//! libelf's error number, in place of its own `elf_error.o` (elfutils, libelf/elf_error.c).
//!
//! Debian's static libelf is made for programs. It addresses its thread's error number in a way (local-exec
//! TLS) that is not allowed in a shared object, such as the Python extension. The linker takes these three
//! functions instead and leaves that file out; the rest of libelf is fit for both. Only libbpf reads the
//! number, to write it into a message.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// Returns the last error of this thread, and clears it.
#[unsafe(no_mangle)]
extern "C" fn elf_errno() -> c_int {
    LAST.replace(0)
}

/// Called by libelf when something fails.
#[unsafe(no_mangle)]
extern "C" fn __libelf_seterrno(value: c_int) {
    LAST.set(value);
}

/// One text for all errors; null if 0 is asked about and there was none.
#[unsafe(no_mangle)]
extern "C" fn elf_errmsg(error: c_int) -> *const c_char {
    if error == 0 && LAST.get() == 0 {
        return std::ptr::null();
    }
    c"libelf cannot read this object".as_ptr()
}
