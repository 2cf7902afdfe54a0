//! Assertions: `assert tcpi_snd_cwnd == 10 and 3 < tcpi_unacked <= 7, message`. Whole
//! numbers; a comparison is 1 or 0.

use super::Error;
use super::parser::split_at_commas;

/// Makes the quantities, each with the name that a script has for it.
macro_rules! quantities {
    ($($(#[$about:meta])* $quantity:ident = $name:literal,)*) => {
        /// What can be asked of a connection.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Quantity {
            $($(#[$about])* $quantity,)*
        }

        /// Names as in Linux's `tcp_info` where there is one; `bentpipe_` counters otherwise.
        const NAMES: &[(&str, Quantity)] = &[$(($name, Quantity::$quantity)),*];
    };
}

quantities! {
    Cwnd = "tcpi_snd_cwnd",
    Ssthresh = "tcpi_snd_ssthresh",
    Unacked = "tcpi_unacked",
    Sacked = "tcpi_sacked",
    Lost = "tcpi_lost",
    Retrans = "tcpi_retrans",
    TotalRetrans = "tcpi_total_retrans",
    CaState = "tcpi_ca_state",
    Mss = "tcpi_snd_mss",
    Rtt = "tcpi_rtt",
    MinRtt = "tcpi_min_rtt",
    /// RFC 6675's pipe; Linux reports its terms.
    Pipe = "bentpipe_pipe",
    Timeouts = "bentpipe_timeouts",
    SpuriousTimeouts = "bentpipe_spurious_timeouts",
    Recoveries = "bentpipe_recoveries",
    SpuriousRecoveries = "bentpipe_spurious_recoveries",
    Probes = "bentpipe_probes",
    Received = "bentpipe_received",
}

/// States of Linux. `Disorder` is an open sender with segments SACKed; none here is ever in `CWR`.
const STATES: &[(&str, i64)] = &[
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
];

/// How deep an expression may nest.
const DEEPEST: usize = 64;

/// The most words it may have: the contents of a row nest as well.
const LONGEST: usize = 500;

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expr {
    Number(i64),
    Ask(Quantity),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Arithmetic(char, Box<Expr>, Box<Expr>),
    /// `a < b <= c`: each neighbour compared.
    Chain(Box<Expr>, Vec<(&'static str, Expr)>),
}

/// One assertion and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assertion {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) expr: Expr,
}

/// Reads a block of code, which begins on `line`.
pub(crate) fn assertions(line: usize, code: &str) -> Result<Vec<Assertion>, Error> {
    let mut all = Vec::new();
    for (n, row) in code.lines().enumerate() {
        let row = row.split('#').next().unwrap_or("").trim().trim_end_matches('\\');
        for statement in row.split(';').map(str::trim).filter(|s| !s.is_empty()) {
            let line = line + n;
            let Some(claim) = statement.strip_prefix("assert").filter(|c| c.starts_with([' ', '('])) else {
                let short: String = statement.chars().take(40).collect();
                return Err(Error::refused(line, format!("only assert is understood, not {short:?}")));
            };
            let text = split_at_commas(claim).swap_remove(0);
            let words = words(line, &text)?;
            if words.len() > LONGEST {
                return Err(Error::syntax(line, format!("an assertion of more than {LONGEST} words")));
            }
            let mut parser = Parser { line, words, at: 0, depth: 0 };
            let expr = parser.either()?;
            if let Some(left) = parser.peek() {
                return Err(Error::syntax(line, format!("{left:?} in an assertion")));
            }
            all.push(Assertion { line, text, expr });
        }
    }
    Ok(all)
}

fn words(line: usize, text: &str) -> Result<Vec<String>, Error> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let word = |ok: fn(char) -> bool| rest.find(|c| !ok(c)).unwrap_or(rest.len());
        let len = if c.is_ascii_digit() {
            word(|c| c.is_ascii_digit())
        } else if c.is_ascii_alphabetic() || c == '_' {
            word(|c| c.is_ascii_alphanumeric() || c == '_')
        } else if ["==", "!=", "<=", ">="].iter().any(|op| rest.starts_with(op)) {
            2
        } else if "<>+-*/()".contains(c) {
            1
        } else {
            return Err(Error::syntax(line, format!("{c:?} in an assertion")));
        };
        words.push(rest[..len].to_string());
        rest = rest[len..].trim_start();
    }
    Ok(words)
}

struct Parser {
    line: usize,
    words: Vec<String>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(String::as_str)
    }

    fn eat(&mut self, word: &str) -> bool {
        let there = self.peek() == Some(word);
        self.at += usize::from(there);
        there
    }

    fn either(&mut self) -> Result<Expr, Error> {
        let mut left = self.both()?;
        while self.eat("or") {
            left = Expr::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expr, Error> {
        let mut left = self.comparison()?;
        while self.eat("and") {
            left = Expr::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expr, Error> {
        if self.eat("not") {
            self.deeper()?;
            let inner = self.comparison()?;
            self.depth -= 1;
            return Ok(Expr::Not(Box::new(inner)));
        }
        let first = self.sum()?;
        let mut chain = Vec::new();
        while let Some(op) = ["==", "!=", "<=", ">=", "<", ">"].into_iter().find(|op| self.eat(op)) {
            chain.push((op, self.sum()?));
        }
        Ok(if chain.is_empty() { first } else { Expr::Chain(Box::new(first), chain) })
    }

    fn sum(&mut self) -> Result<Expr, Error> {
        let mut left = self.product()?;
        while let Some(op) = ['+', '-'].into_iter().find(|op| self.eat(&op.to_string())) {
            left = Expr::Arithmetic(op, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, Error> {
        let mut left = self.factor()?;
        while let Some(op) = ['*', '/'].into_iter().find(|op| self.eat(&op.to_string())) {
            left = Expr::Arithmetic(op, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn deeper(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::syntax(self.line, format!("an assertion nests deeper than {DEEPEST}")));
        }
        Ok(())
    }

    fn factor(&mut self) -> Result<Expr, Error> {
        let line = self.line;
        let Some(word) = self.peek().map(str::to_string) else {
            return Err(Error::syntax(line, "an assertion ends too early"));
        };
        self.at += 1;
        if word == "-" || word == "(" {
            self.deeper()?;
            let inner = if word == "-" { Expr::Minus(Box::new(self.factor()?)) } else { self.either()? };
            if word == "(" && !self.eat(")") {
                return Err(Error::syntax(line, "( without ) in an assertion"));
            }
            self.depth -= 1;
            return Ok(inner);
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse().map_err(|_| Error::syntax(line, format!("{word} is too large")))?;
            return Ok(Expr::Number(number));
        }
        if let Some((_, quantity)) = NAMES.iter().find(|(name, _)| *name == word) {
            return Ok(Expr::Ask(*quantity));
        }
        if let Some((_, state)) = STATES.iter().find(|(name, _)| *name == word) {
            return Ok(Expr::Number(*state));
        }
        if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            let known = known.join(", ");
            return Err(Error::refused(line, format!("{word:?} cannot be asked here; known are {known}")));
        }
        Err(Error::syntax(line, format!("{word:?} in an assertion")))
    }
}

/// The value of `expr`; `None` if it divides by zero or leaves 64 bits.
pub(crate) fn value(expr: &Expr, ask: &dyn Fn(Quantity) -> i64) -> Option<i64> {
    Some(match expr {
        Expr::Number(n) => *n,
        Expr::Ask(quantity) => ask(*quantity),
        Expr::Not(inner) => i64::from(value(inner, ask)? == 0),
        Expr::Minus(inner) => value(inner, ask)?.checked_neg()?,
        Expr::And(a, b) => i64::from(value(a, ask)? != 0 && value(b, ask)? != 0),
        Expr::Or(a, b) => i64::from(value(a, ask)? != 0 || value(b, ask)? != 0),
        Expr::Arithmetic(op, a, b) => {
            let (a, b) = (value(a, ask)?, value(b, ask)?);
            match op {
                '+' => a.checked_add(b)?,
                '-' => a.checked_sub(b)?,
                '*' => a.checked_mul(b)?,
                _ => a.checked_div(b)?,
            }
        }
        Expr::Chain(first, rest) => {
            let mut left = value(first, ask)?;
            let mut holds = true;
            for (op, right) in rest {
                let right = value(right, ask)?;
                holds &= match *op {
                    "==" => left == right,
                    "!=" => left != right,
                    "<=" => left <= right,
                    ">=" => left >= right,
                    "<" => left < right,
                    _ => left > right,
                };
                left = right;
            }
            i64::from(holds)
        }
    })
}

/// The quantities that `expr` asks for, with their names.
pub(crate) fn asked(expr: &Expr, into: &mut Vec<(&'static str, Quantity)>) {
    match expr {
        Expr::Number(_) => {}
        Expr::Ask(quantity) => into.extend(NAMES.iter().filter(|(_, q)| q == quantity)),
        Expr::Not(a) | Expr::Minus(a) => asked(a, into),
        Expr::And(a, b) | Expr::Or(a, b) | Expr::Arithmetic(_, a, b) => {
            asked(a, into);
            asked(b, into);
        }
        Expr::Chain(first, rest) => {
            asked(first, into);
            rest.iter().for_each(|(_, e)| asked(e, into));
        }
    }
}
