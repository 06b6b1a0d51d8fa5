//! Splits a line that a person typed into arguments, with quotes as Redis reads them.

use super::args::Place;

/// Appends the arguments of a line to `text`, and their places to `places`; returns whether all quotes are closed, each
/// before a blank or the end.
///
/// Source: Redis' `sdssplitargs`.
pub(super) fn split(line: &[u8], text: &mut Vec<u8>, places: &mut Vec<Place>) -> bool {
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        let start = text.len() as u32;
        let Some(left) = word(rest, text) else { return false };
        places.push((start, text.len() as u32));
        rest = left.trim_ascii_start();
    }
    true
}

/// Appends the first word of a line; returns the rest of the line.
fn word<'l>(mut rest: &'l [u8], text: &mut Vec<u8>) -> Option<&'l [u8]> {
    loop {
        match rest {
            [] => return Some(rest),
            [blank, ..] if blank.is_ascii_whitespace() || *blank == 0 => return Some(&rest[1..]),
            [b'"', quoted @ ..] => return closed(double(quoted, text)?),
            [b'\'', quoted @ ..] => return closed(single(quoted, text)?),
            [byte, left @ ..] => {
                text.push(*byte);
                rest = left;
            }
        }
    }
}

/// The text after a closing quote, if it begins with a blank or is empty.
fn closed(rest: &[u8]) -> Option<&[u8]> {
    rest.first().is_none_or(u8::is_ascii_whitespace).then_some(rest)
}

fn double<'l>(mut rest: &'l [u8], text: &mut Vec<u8>) -> Option<&'l [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'"', left @ ..] => return Some(left),
            [b'\\', b'x', high, low, left @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
                text.push(digit(*high) << 4 | digit(*low));
                left
            }
            [b'\\', escaped, left @ ..] => {
                text.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                left
            }
            [byte, left @ ..] => {
                text.push(*byte);
                left
            }
        }
    }
}

fn single<'l>(mut rest: &'l [u8], text: &mut Vec<u8>) -> Option<&'l [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'\'', left @ ..] => return Some(left),
            [b'\\', b'\'', left @ ..] => {
                text.push(b'\'');
                left
            }
            [byte, left @ ..] => {
                text.push(*byte);
                left
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_as_by_redis() {
        let check = |line: &str, expect: Option<&[&str]>| {
            let (mut text, mut places) = (Vec::new(), Vec::new());
            let well = split(line.as_bytes(), &mut text, &mut places);
            let words: Vec<_> = places.iter().map(|(from, to)| &text[*from as usize..*to as usize]).collect();
            let expect = expect.map(|words| words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
            assert_eq!(well.then_some(words), expect, "{line}");
        };
        check("", Some(&[]));
        check("  ", Some(&[]));
        check("get k", Some(&["get", "k"]));
        check("  set  k\tv  ", Some(&["set", "k", "v"]));
        check("set k \"a b\"", Some(&["set", "k", "a b"]));
        check("set k 'a \\'b'", Some(&["set", "k", "a 'b"]));
        check("set k \"\\x41\\n\\\"\\q\"", Some(&["set", "k", "A\n\"q"]));
        check("set k ''", Some(&["set", "k", ""]));
        check("set k ab\"c d\"", Some(&["set", "k", "abc d"]));
        check("set k \"a", None);
        check("set k \"a\"b", None);
        check("set k 'a", None);
    }
}
