//! Equality of answers: all bytes, except unique numbers, which every server chooses, and time-dependent ones.

use std::collections::HashMap;

use crate::differential::talk::Answers;
use crate::support::Words;

/// Where two servers' answers differ, if they do.
pub(crate) fn difference(expect: &Answers, answers: &Answers, words: Words) -> Option<String> {
    let (expected, answered) = (normalise(expect, words), normalise(answers, words));
    let at = expected.iter().zip(&answered).position(|(a, b)| a != b);
    let at = at.or((expected.len() != answered.len()).then_some(expected.len().min(answered.len())))?;
    let show = |lines: &[String]| {
        let from = at.saturating_sub(3);
        let lines = lines.iter().enumerate().skip(from).take(8);
        let lines = lines.map(|(i, line)| {
            let line: String = line.chars().take(300).collect();
            format!("{} {line}\n", if i == at { ">" } else { " " })
        });
        lines.collect::<String>()
    };
    Some(format!("memcached answered\n{}sphinx answered\n{}", show(&expected), show(&answered)))
}

/// The answers, line by line, where values count as one line.
fn normalise(answers: &Answers, version: Words) -> Vec<String> {
    let mut names = Names::default();
    let mut lines = Vec::new();
    for (number, batch) in answers.batches.iter().enumerate() {
        lines.push(format!("batch {number}"));
        let mut rest = &batch[..];
        while !rest.is_empty() {
            let length = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
            let (line, after) = rest.split_at(length);
            rest = after;
            let mut words: Vec<&[u8]> = line.trim_ascii_end().split(|&byte| byte == b' ').collect();
            let place = match words[..] {
                [b"VALUE", _, _, _] | [b"VALUE", _, _, _, _] => Some(3),
                [b"VA", _, ..] => Some(1),
                _ => None,
            };
            let Some((place, length)) = place.and_then(|at| Some((at, number_of(words[at])?))) else {
                // The rest of a value is not a command, which 1.6.18 reports differently if it is short.
                let old = version == Words::Old && line == b"CLIENT_ERROR bad command line format\r\n";
                lines.push(if old { "ERROR".into() } else { names.line(line, &words) });
                continue;
            };
            let (value, after) = rest.split_at((length as usize + 2).min(rest.len()));
            rest = after;
            let (value, blanks) = without_padding(value);
            let length = (length as usize - blanks).to_string();
            words[place] = length.as_bytes();
            lines.push(names.line(line, &words));
            lines.push(format!("'{}'", value.escape_ascii()));
        }
    }
    if answers.closed {
        lines.push("closed".into());
    }
    lines
}

/// A number without trailing blanks, and their number. Listed: memcached does not always pad numbers that got shorter.
fn without_padding(value: &[u8]) -> (Vec<u8>, usize) {
    let Some(text) = value.strip_suffix(b"\r\n") else { return (value.to_vec(), 0) };
    let number = text.trim_ascii_end();
    let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let padded = text[number.len()..].iter().all(|&byte| byte == b' ');
    if is_number && padded {
        return ([number, b"\r\n"].concat(), text.len() - number.len());
    }
    (value.to_vec(), 0)
}

fn number_of(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Unique numbers, in the order in which they are seen: equal ones must be equal on the other server.
#[derive(Default)]
struct Names {
    seen: HashMap<u64, usize>,
}

impl Names {
    fn line(&mut self, line: &[u8], words: &[&[u8]]) -> String {
        let end = if line.ends_with(b"\r\n") { "" } else { " (no line end)" };
        let shown: Vec<String> = match words {
            [b"VALUE", _, _, _, cas] => {
                let cas = self.cas(cas);
                let before = words[..4].iter().map(|word| word.escape_ascii().to_string());
                before.chain([cas]).collect()
            }
            [b"HD" | b"VA" | b"EX" | b"NS" | b"NF" | b"EN", flags @ ..] => {
                let code = words[0].escape_ascii().to_string();
                std::iter::once(code).chain(flags.iter().map(|flag| self.flag(flag))).collect()
            }
            [b"ME", key, fields @ ..] => {
                let start = ["ME".into(), key.escape_ascii().to_string()];
                start.into_iter().chain(fields.iter().map(|field| self.field(field))).collect()
            }
            _ => words.iter().map(|word| word.escape_ascii().to_string()).collect(),
        };
        shown.join(" ") + end
    }

    /// A flag of a meta reply.
    fn flag(&mut self, flag: &[u8]) -> String {
        match flag {
            [b'c', cas @ ..] => format!("c{}", self.cas(cas)),
            [b't', left @ ..] => format!("t{}", moment(left)),
            [b'l', idle @ ..] => format!("l{}", recent(idle)),
            _ => flag.escape_ascii().to_string(),
        }
    }

    /// A field of the answer to `me`.
    fn field(&mut self, field: &[u8]) -> String {
        let text = field.escape_ascii().to_string();
        match text.split_once('=') {
            Some(("cas", cas)) => format!("cas={}", self.cas(cas.as_bytes())),
            Some(("exp", left)) => format!("exp={}", moment(left.trim_start_matches('-').as_bytes())),
            Some(("la", idle)) => format!("la={}", recent(idle.as_bytes())),
            // Listed: there are no classes.
            Some(("cls", _)) => "cls".into(),
            _ => text,
        }
    }

    fn cas(&mut self, word: &[u8]) -> String {
        let Some(number) = number_of(word) else { return word.escape_ascii().to_string() };
        let next = self.seen.len();
        match number {
            0 => "0".into(),
            number => format!("#{}", self.seen.entry(number).or_insert(next)),
        }
    }
}

/// Seconds, as exactly as two clocks agree.
fn moment(word: &[u8]) -> String {
    match number_of(word) {
        // Listed: memcached counts below 0 without a sign.
        Some(seconds) if seconds == 0 || seconds > u64::from(u32::MAX / 2) => "0".into(),
        // Times that are sent lie far apart, and a test takes far less than 50 s.
        Some(seconds) => format!("~{}", seconds.div_ceil(100)),
        None => word.escape_ascii().to_string(),
    }
}

/// Seconds since something that a test has done, which takes far less than a minute. Listed: the two do not mean the same.
fn recent(word: &[u8]) -> String {
    match number_of(word) {
        Some(0..60) => "~0".into(),
        _ => word.escape_ascii().to_string(),
    }
}

#[test]
fn only_what_must_differ_may() {
    let check = |a: &str, b: &str, same: bool| {
        let answers = |text: &str| Answers { batches: vec![text.as_bytes().to_vec()], closed: false };
        let found = difference(&answers(a), &answers(b), Words::New);
        assert_eq!(found.is_none(), same, "{a} {b}: {found:?}");
    };
    check("STORED\r\n", "STORED\r\n", true);
    check("STORED\r\n", "STORED\n", false);
    check("STORED\r\n", "", false);
    check("ERROR\r\n", "CLIENT_ERROR bad command line format\r\n", false);
    check("VALUE a 0 1 5\r\nx\r\nEND\r\n", "VALUE a 0 1 9\r\nx\r\nEND\r\n", true);
    check("VALUE a 0 1 5\r\nx\r\nEND\r\n", "VALUE a 0 1 9\r\ny\r\nEND\r\n", false);
    check("VALUE a 0 1\r\nx\r\nEND\r\n", "VALUE a 0 1 9\r\nx\r\nEND\r\n", false);
    check("HD c5\r\nHD c5\r\n", "HD c7\r\nHD c8\r\n", false);
    check("HD c5\r\nHD c5\r\n", "HD c7\r\nHD c7\r\n", true);
    check("HD h1 l0\r\n", "HD h1 l1\r\n", true);
    check("HD h1 l0\r\n", "HD h0 l0\r\n", false);
    check("HD l0\r\n", "HD l4294967295\r\n", false);
    check(
        "ME a exp=-1 la=0 cas=1 fetch=no cls=1 size=9\r\n",
        "ME a exp=-1 la=1 cas=1 fetch=yes cls=1 size=9\r\n",
        false,
    );
    check("VALUE a 0 2\r\n9 \r\nEND\r\n", "VALUE a 0 1\r\n9\r\nEND\r\n", true);
    check("VALUE a 0 2\r\nx \r\nEND\r\n", "VALUE a 0 1\r\nx\r\nEND\r\n", false);
    check("HD c0\r\n", "HD c8\r\n", false);
    check("HD t99\r\n", "HD t100\r\n", true);
    check("HD t-1\r\n", "HD t100\r\n", false);
    check("HD t5000\r\n", "HD t100\r\n", false);
    check("VA 4 f1\r\nHD \r\r\n", "VA 4 f2\r\nHD \r\r\n", false);
}
