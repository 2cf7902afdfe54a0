//! Whatever the text, the runner answers and does not panic.

use bentpipe_drill::Manner;
use proptest::prelude::*;

const SCRIPTS: [&str; 10] = [
    include_str!("scripts/slow_start/congestion_avoidance.pkt"),
    include_str!("scripts/sack/two_holes_in_order.pkt"),
    include_str!("scripts/rto/doubles_each_time.pkt"),
    include_str!("scripts/prr/one_for_two.pkt"),
    include_str!("scripts/ecn/echo_halves_once.pkt"),
    include_str!("scripts/receiver/most_recent_block_first.pkt"),
    include_str!("scripts/timestamps/eifel_spurious.pkt"),
    include_str!("scripts/window/scaled_window.pkt"),
    include_str!("scripts/application/writes_in_pieces.pkt"),
    include_str!("scripts/receiver/segments_of_any_length.pkt"),
];

/// Words of the language and numbers at its limits, to be put where they may not belong.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "501",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "+",
    "~",
    "...",
    "*",
    "<",
    ">",
    "`",
    "%{",
    "}%",
    "/*",
    "*/",
    "//",
    "\"",
    "(",
    ")",
    "[",
    "]",
    ":",
    ",",
    "=",
    "\n",
    " ",
    "é",
    "\u{2028}",
    "\u{0}",
    "sack",
    "sack 1:501",
    "TS val 1 ecr 0",
    "mss 0",
    "mss 12",
    "mss 1",
    "wscale 14",
    "win 0",
    "win 1",
    "ack 1",
    "[ce]",
    "[ect0]",
    "assert 1 / 0 == 1",
    "assert (",
    "- ",
    "not ",
    "tcpi_rtt * ",
    "+1000000 ",
    "+99999999 ",
    "write(4, ..., 1) = 1\n",
    "read(4, ..., 1) = 1\n",
    "close(4) = 0\n",
    "close(3) = 0\n",
    "recv(4, ..., 9, MSG_PEEK) = 1\n",
    "write(4, ..., 1000000000) = 1000000000\n",
    "+0...1 ",
    "<...>",
    "[ect1]",
    "`defaults.sh`\n",
    "`sysctl -w net.inet.tcp.delacktime=40`\n",
    "%{ assert tcpi_reordering == 3 }%\n",
    "sysctl net.ipv4.tcp_sack=0",
    "--tolerance_usecs=4294967295\n",
    "// bentpipe: initial_window=10000 max_rto=1s\n",
    "// bentpipe: min_rto=4294967295s granularity=1ms\n",
    "// bentpipe: initial_rto=1ms min_rto=1ms max_rto=1ms\n",
    "// bentpipe: profile=paper\n",
    "// bentpipe: cc=bbr recovery=reno\n",
];

/// One change of a text, at a place given as a fraction of 2^16.
#[derive(Clone, Debug)]
enum Change {
    Insert(u16, &'static str),
    Remove(u16, u8),
    /// A line again, or in place of another.
    Line(u16, u16, bool),
    Digit(u16, char),
    Cut(u16),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<u16>(), prop::sample::select(WORDS)).prop_map(|(at, word)| Change::Insert(at, word)),
        2 => (any::<u16>(), 1_u8..30).prop_map(|(at, n)| Change::Remove(at, n)),
        4 => (any::<u16>(), any::<u16>(), any::<bool>()).prop_map(|(a, b, again)| Change::Line(a, b, again)),
        8 => (any::<u16>(), prop::char::range('0', '9')).prop_map(|(at, c)| Change::Digit(at, c)),
        1 => any::<u16>().prop_map(Change::Cut),
    ]
}

fn place(at: u16, len: usize) -> usize {
    usize::from(at) * len / (1 << 16)
}

fn changed(text: &str, change: &Change) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    match *change {
        Change::Insert(at, word) => {
            let at = place(at, chars.len() + 1);
            chars.splice(at..at, word.chars());
        }
        Change::Remove(at, n) => {
            let at = place(at, chars.len() + 1);
            chars.drain(at..chars.len().min(at + usize::from(n)));
        }
        Change::Line(from, to, again) => {
            let mut lines: Vec<&str> = text.split('\n').collect();
            let (line, to) = (lines[place(from, lines.len())], place(to, lines.len()));
            lines.splice(to..to + usize::from(!again), [line]);
            return lines.join("\n");
        }
        Change::Digit(at, digit) => {
            let digits: Vec<usize> = (0..chars.len()).filter(|&n| chars[n].is_ascii_digit()).collect();
            if !digits.is_empty() {
                chars[digits[place(at, digits.len())]] = digit;
            }
        }
        Change::Cut(at) => chars.truncate(place(at, chars.len() + 1)),
    }
    chars.into_iter().collect()
}

/// An error names a line that the text has, or the first one of an empty text.
fn answers(text: &str) -> Result<(), TestCaseError> {
    let lines = text.split('\n').count();
    for manner in [Manner::Strict, Manner::Lenient] {
        if let Err(error) = bentpipe_drill::run_as(text, manner) {
            prop_assert!((1..=lines).contains(&error.line), "{error} of {lines} lines");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        answers(&text)?;
    }

    #[test]
    fn any_words_of_the_language_are_answered(words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        answers(&words.concat())?;
    }

    #[test]
    fn changed_scripts_are_answered(
        script in prop::sample::select(&SCRIPTS[..]),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        answers(&changes.iter().fold(script.to_string(), |text, c| changed(&text, c)))?;
    }
}
