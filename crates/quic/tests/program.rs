//! The program `bentpipe-quic`, as a user calls it.

use std::process::{Command, Output};

fn bentpipe_quic(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe-quic"));
    command.args(words.split_whitespace()).output().expect("the program runs")
}

#[test]
fn a_wrong_request_is_one_line_and_status_2() {
    for (words, said) in [
        ("send 127.0.0.1:1 --cc rono --for 1", "no congestion controller is called \"rono\""),
        ("send 127.0.0.1:1 --cc star --set bw_samples=often --for 1", "bw_samples"),
        ("simulate no-such-file.toml --cc star --for 1", "no-such-file.toml"),
    ] {
        let done = bentpipe_quic(words);
        let told = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), told.lines().count()), (Some(2), 1), "{words}: {told}");
        assert!(told.contains(said) && done.stdout.is_empty(), "{words}: {told}");
    }
}
