//! The functions that a page calls, with the names and types of C.
//!
//! A call takes the bytes that the page has written to [`input`], and leaves an answer at [`output`]. A page
//! calls from one thread, as a module of WebAssembly has one.
#![allow(unsafe_code)]

use std::cell::RefCell;

use bentpipe_cc::{Controller, Start};

use crate::answer::{Answer, Request};
use crate::own::Page;
use crate::play::Player;
use crate::{bits, files, play, save};

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static COLUMNS: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
    static FILE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static PLAYER: RefCell<Player> = const { RefCell::new(Player::new()) };
}

#[cfg(target_family = "wasm")]
mod page {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        /// Learns of a bug of the simulator: a text in UTF-8. The module stops right after.
        pub(super) fn panicked(at: *const u8, len: usize);
        /// Learns what part of the run is done, from 0 to 1.
        pub(super) fn progress(part: f64);
        /// [`Page::make`](crate::own::Page): the texts in UTF-8. Below 0 there is no such class.
        pub(super) fn make(
            class: *const u8,
            class_len: usize,
            flow: *const u8,
            flow_len: usize,
            numbers: *mut f64,
        ) -> i32;
        /// [`Page::call`](crate::own::Page).
        pub(super) fn call(number: u32, call: u32, numbers: *mut f64);
        /// [`Page::probes`](crate::own::Page). Names and values are a text at [`input`](super::input), each
        /// with a NUL byte behind it.
        pub(super) fn probes(number: u32, now_s: f64);
    }
}

/// Room for `len` bytes of input. It is valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the page reads these bytes during the call, and they live until it returns.
        unsafe { page::panicked(text.as_ptr(), text.len()) }
    }));
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(len, 0);
        input.as_mut_ptr()
    })
}

/// Where the output of the last call is. It is valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Where the columns of the last [`simulate`] or [`play()`] are: 64-bit numbers. They are valid until the next
/// call.
#[unsafe(no_mangle)]
pub extern "C" fn columns() -> *const f64 {
    COLUMNS.with_borrow(|columns| columns.as_ptr())
}

/// How many numbers the columns have.
#[unsafe(no_mangle)]
pub extern "C" fn columns_len() -> usize {
    COLUMNS.with_borrow(Vec::len)
}

/// Takes a file that scenarios may name: the input is its name, a NUL byte, and its contents.
#[unsafe(no_mangle)]
pub extern "C" fn give_file() {
    let input = INPUT.take();
    if let Some(end) = input.iter().position(|byte| *byte == 0) {
        files::give(&String::from_utf8_lossy(&input[..end]), input[end + 1..].to_vec());
    }
}

/// The JSON Schema of a scenario. The page makes its form from it. The result is its length.
#[unsafe(no_mangle)]
pub extern "C" fn schema() -> usize {
    give(bentpipe_sim::schema())
}

/// Answers a [`Request`]; the result is the length of the [`Answer`].
#[unsafe(no_mangle)]
pub extern "C" fn simulate() -> usize {
    let (answer, columns) = match serde_json::from_slice::<Request>(&INPUT.take()) {
        Ok(request) => Answer::to(&request, &mut supply, &mut watch),
        Err(error) => (Answer::wrong("", unread(&error)), Vec::new()),
    };
    COLUMNS.set(columns);
    give(serde_json::to_string(&answer).unwrap_or_default())
}

/// Answers a [`play::Request`]; the result is the length of the [`play::Answer`].
#[unsafe(no_mangle)]
pub extern "C" fn play() -> usize {
    let (answer, columns) = match serde_json::from_slice(&INPUT.take()) {
        Ok(request) => PLAYER.with_borrow_mut(|player| player.answer(&request, &mut supply, &mut watch)),
        Err(error) => (play::Answer { mistakes: unread(&error), ..play::Answer::default() }, Vec::new()),
    };
    COLUMNS.set(columns);
    give(serde_json::to_string(&answer).unwrap_or_default())
}

/// Answers a [`save::Request`]; the result is the length of the [`save::Answer`]. The file is at [`file()`].
#[unsafe(no_mangle)]
pub extern "C" fn save() -> usize {
    let made = serde_json::from_slice(&INPUT.take()).map_err(|error| unread(&error));
    let made = made.and_then(|request| save::file(&request, &mut supply, &mut watch));
    let (bytes, mistakes) = made.map_or_else(|mistakes| (Vec::new(), mistakes), |bytes| (bytes, Vec::new()));
    FILE.set(bytes);
    give(serde_json::to_string(&save::Answer { mistakes }).unwrap_or_default())
}

/// Where the file of the last [`save()`] is. It is valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn file() -> *const u8 {
    FILE.with_borrow(|file| file.as_ptr())
}

/// How many bytes it has.
#[unsafe(no_mangle)]
pub extern "C" fn file_len() -> usize {
    FILE.with_borrow(Vec::len)
}

/// The bits of the run of a scenario ([`bits::of`]): the input is the name of its file, a NUL byte, and its
/// text. The result is the length of the output.
#[unsafe(no_mangle)]
pub extern "C" fn run_bits() -> usize {
    let input = String::from_utf8_lossy(&INPUT.take()).into_owned();
    let (name, text) = input.split_once('\0').unwrap_or_default();
    give(bits::of(text, name))
}

/// The controllers of the page.
fn supply(class: &str, flow: &str, start: Start) -> Result<Box<dyn Controller>, String> {
    OWN.supply(class, flow, start)
}

fn unread(error: &serde_json::Error) -> Vec<String> {
    vec![format!("the request of the page: {error}")]
}

fn give(text: String) -> usize {
    let len = text.len();
    OUTPUT.set(text.into_bytes());
    len
}

/// Reports to the page how far a run is. The page stops a run by ending the worker in which it goes on.
fn watch(part: f64) -> bool {
    #[cfg(target_family = "wasm")]
    // SAFETY: the function takes a number and calls nothing here.
    unsafe {
        page::progress(part);
    }
    _ = part;
    true
}

#[cfg(target_family = "wasm")]
const OWN: Page = Page {
    make: |class, flow, numbers| {
        // SAFETY: the page reads the texts and writes the numbers during the call, and calls nothing here.
        let number = unsafe {
            page::make(class.as_ptr(), class.len(), flow.as_ptr(), flow.len(), numbers.as_mut_ptr())
        };
        number.try_into().ok()
    },
    call: |number, call, numbers| {
        // SAFETY: as above.
        unsafe { page::call(number, call, numbers.as_mut_ptr()) }
    },
    probes: |number, now_s| {
        // SAFETY: the page takes numbers, and calls only `input`, which nothing here borrows meanwhile.
        unsafe { page::probes(number, now_s) }
        crate::own::listed(&String::from_utf8_lossy(&INPUT.take()))
    },
};

/// Without a page there are no classes.
#[cfg(not(target_family = "wasm"))]
const OWN: Page = Page { make: |_, _, _| None, call: |_, _, _| (), probes: |_, _| Vec::new() };

#[cfg(test)]
mod tests {
    use super::*;

    /// What a page does: room for the bytes, the call, the bytes of the answer.
    fn call(input_bytes: &[u8], function: extern "C" fn() -> usize) -> String {
        let at = input(input_bytes.len());
        // SAFETY: there is room for as many bytes, until the next call.
        unsafe { std::ptr::copy_nonoverlapping(input_bytes.as_ptr(), at, input_bytes.len()) };
        let len = function();
        // SAFETY: the output has this length, and is there until the next call.
        String::from_utf8(unsafe { std::slice::from_raw_parts(output(), len) }.to_vec()).expect("UTF-8")
    }

    #[test]
    fn a_page_gets_an_answer_and_its_columns() {
        let text = "duration = \"10 s\"\n[link.a]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n[[flow]]\ncc = \"reno\"\npath = [\"a\"]\n";
        let request = serde_json::json!({ "text": text, "name": "a.toml", "samples": 10 }).to_string();
        let answer: serde_json::Value =
            serde_json::from_str(&call(request.as_bytes(), simulate)).expect("JSON");
        assert_eq!(answer["mistakes"], serde_json::json!([]));
        // A sample every second for the flow, and for each of the two directions; the end may be one.
        let rows = [&answer["rows"][0], &answer["rows"][1]].map(|rows| rows.as_u64().expect("a number"));
        assert!((10..=11).contains(&rows[0]) && rows[1] == 2 * rows[0], "{rows:?}");
        assert_eq!(columns_len() as u64, 6 * rows[0] + 5 * rows[1]);
    }

    #[test]
    fn a_page_gets_the_schema_of_scenarios() {
        let schema: serde_json::Value = serde_json::from_str(&call(b"", schema)).expect("JSON");
        assert_eq!(schema["properties"]["seed"]["default"], 1);
        assert_eq!(schema["$defs"]["Link"]["properties"]["rate"]["anyOf"][1]["type"], "null");
    }

    #[test]
    fn a_request_that_is_none_is_answered_too() {
        let answer = call(b"{}", simulate);
        assert!(answer.contains("the request of the page") && columns_len() == 0, "{answer}");
    }
}
