//! The errors of libelf, in place of its own `elf_error.o`.
//!
//! Debian's `libelf.a` keeps the last error in a thread-local variable that was compiled for executables only, so that a shared
//! library (the Python module) cannot be linked with it; everything else in the archive can. These three functions are what that one
//! object file offers. libbpf calls `elf_errmsg(-1)` for its messages; the numbers are explained in `libelfP.h` of elfutils.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_int};
use std::ptr;

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
    static TEXT: RefCell<CString> = RefCell::default();
}

/// libelf notes an error by its number.
#[unsafe(no_mangle)]
extern "C" fn __libelf_seterrno(number: c_int) {
    LAST.set(number);
}

/// The last error of this thread, which is forgotten; 0 for none.
#[unsafe(no_mangle)]
extern "C" fn elf_errno() -> c_int {
    LAST.replace(0)
}

/// Words for an error: 0 stands for the last one, if any, and -1 for the last one in any case. They hold until the next call.
#[unsafe(no_mangle)]
extern "C" fn elf_errmsg(number: c_int) -> *const c_char {
    let last = LAST.get();
    if number == 0 && last == 0 {
        return ptr::null();
    }
    let number = if number == 0 || number == -1 { last } else { number };
    let words = if number == 0 { "no error".to_owned() } else { format!("error {number} of libelf") };
    TEXT.with_borrow_mut(|text| {
        *text = CString::new(words).unwrap_or_default();
        text.as_ptr()
    })
}
