//! libelf's error number, in place of its own `elf_error.o` (elfutils, libelf/elf_error.c).
//!
//! Debian's static libelf is made for programs: its thread's error number is addressed in a way (local-exec TLS) that a shared object,
//! such as the Python extension, may not hold. The linker takes these three functions instead and leaves that file alone; all the rest of
//! libelf is fit for both. Only libbpf reads the number, to write it into a message.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// The last error of this thread, which it forgets.
#[unsafe(no_mangle)]
extern "C" fn elf_errno() -> c_int {
    LAST.replace(0)
}

/// What libelf calls when something fails.
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
