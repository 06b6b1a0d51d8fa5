//! The lines of Redis' MONITOR: `1339518083.107412 [0 127.0.0.1:60866] "get" "x"`.
//!
//! Source: the documentation of MONITOR; strings are escaped as by `sdscatrepr`: `\n \r \t \a \b \" \\` and `\xHH`.

use crate::formats::{Line, Seen, key, number, seconds};
use crate::{Op, Record};

pub(super) fn line(line: &[u8], emit: &mut dyn FnMut(Seen)) -> Result<Line, String> {
    let line = line.strip_prefix(b"+").unwrap_or(line);
    if line == b"OK" {
        return Ok(Line::Skipped);
    }
    let blank = line.iter().position(|byte| *byte == b' ').ok_or("it has no client in brackets")?;
    let at_ns = seconds(&line[..blank])?;
    let rest = line[blank..].trim_ascii_start();
    // An address of IPv6 has brackets of its own; the words begin with a quotation mark.
    let client = &rest[..rest.iter().position(|byte| *byte == b'"').unwrap_or(rest.len())];
    let end = client.iter().rposition(|byte| *byte == b']').filter(|_| client.starts_with(b"["));
    let end = end.ok_or("it has no client in brackets")?;
    let database = client[1..end].split(|byte| *byte == b' ').next().and_then(number).unwrap_or(0);
    let mut words = Words(&rest[end + 1..]);
    let command = words.next().ok_or("it has no command")??.to_ascii_lowercase();
    let mut one = |op: Op, text: &[u8], size: Option<usize>, ttl_s: u32| -> Result<(), String> {
        let (key, key_size) = key(text)?;
        let size = match size {
            Some(size) if size > Record::SIZE_MAX as usize => return Err(format!("its value has {size} B")),
            size => size.map(|size| size as u32),
        };
        // Each database has keys of its own.
        emit(Seen { at_ns: Some(at_ns), key: key ^ database, key_size, size, ttl_s, op, times: 1 });
        Ok(())
    };
    let mut word = || words.next().ok_or("its command has too few words")?;
    match &command[..] {
        b"get" | b"getex" | b"strlen" | b"getrange" => one(Op::Get, &word()?, None, 0)?,
        b"getdel" | b"del" | b"unlink" | b"mget" => {
            let op = if command == b"mget" { Op::Get } else { Op::Delete };
            let first = word()?;
            one(op, &first, None, 0)?;
            for text in words {
                one(op, &text?, None, 0)?;
            }
        }
        b"set" | b"setnx" | b"getset" => {
            let (text, size) = (word()?, word()?.len());
            let (mut op, mut ttl) = (if command == b"setnx" { Op::Add } else { Op::Set }, 0);
            while let Some(option) = words.next() {
                let option = option?.to_ascii_lowercase();
                match &option[..] {
                    b"nx" => op = Op::Add,
                    b"xx" => op = Op::Replace,
                    b"ex" | b"px" => {
                        let given = words.next().ok_or("its time to expiry is missing")??;
                        ttl = expiry(&given, &option)?;
                    }
                    // Moments, of which the time left is the difference.
                    b"exat" | b"pxat" => {
                        let given = words.next().ok_or("its time to expiry is missing")??;
                        let unit = if option == b"exat" { 1_000_000_000 } else { 1_000_000 };
                        let moment = number(&given).ok_or("its time to expiry is not a number")?;
                        let left = moment.saturating_mul(unit).saturating_sub(at_ns) / 1_000_000_000;
                        // 0 means never.
                        ttl = limited(left.max(1));
                    }
                    _ => {}
                }
            }
            one(op, &text, Some(size), ttl)?;
        }
        b"setex" | b"psetex" => {
            let (text, given, value) = (word()?, word()?, word()?);
            let ttl = expiry(&given, if command == b"setex" { b"ex" } else { b"px" })?;
            one(Op::Set, &text, Some(value.len()), ttl)?;
        }
        b"mset" | b"msetnx" => {
            let (text, value) = (word()?, word()?);
            one(Op::Set, &text, Some(value.len()), 0)?;
            while let Some(text) = words.next() {
                let value = words.next().ok_or("its last key has no value")??;
                one(Op::Set, &text?, Some(value.len()), 0)?;
            }
        }
        b"append" => {
            let (text, value) = (word()?, word()?);
            one(Op::Append, &text, Some(value.len()), 0)?;
        }
        b"incr" | b"incrby" | b"incrbyfloat" => one(Op::Incr, &word()?, None, 0)?,
        b"decr" | b"decrby" => one(Op::Decr, &word()?, None, 0)?,
        _ => return Ok(Line::Skipped),
    }
    Ok(Line::Requests)
}

/// Seconds from now; of milliseconds as many as they begin.
fn expiry(text: &[u8], unit: &[u8]) -> Result<u32, String> {
    let given = number(text).ok_or("its time to expiry is not a number")?;
    Ok(limited(if unit == b"px" { given.div_ceil(1000) } else { given }))
}

fn limited(seconds: u64) -> u32 {
    seconds.min(u64::from(Record::TTL_MAX)) as u32
}

/// The quoted words of a line.
struct Words<'a>(&'a [u8]);

impl Iterator for Words<'_> {
    type Item = Result<Vec<u8>, &'static str>;

    fn next(&mut self) -> Option<Result<Vec<u8>, &'static str>> {
        let text = self.0.trim_ascii_start();
        if text.is_empty() {
            return None;
        }
        let word = quoted(text);
        // An error ends the line.
        self.0 = word.as_ref().map_or(&[], |(_, rest)| *rest);
        Some(word.map(|(word, _)| word))
    }
}

/// The word at the front, and the rest.
fn quoted(text: &[u8]) -> Result<(Vec<u8>, &[u8]), &'static str> {
    const OPEN: &str = "a word has no end";
    let mut rest = text.strip_prefix(b"\"").ok_or("a word is not in quotation marks")?;
    let mut word = Vec::new();
    loop {
        let (&byte, after) = rest.split_first().ok_or(OPEN)?;
        rest = after;
        match byte {
            b'"' => return Ok((word, rest)),
            b'\\' => {
                let (&escape, after) = rest.split_first().ok_or(OPEN)?;
                rest = after;
                word.push(match escape {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'a' => 7,
                    b'b' => 8,
                    b'x' => {
                        let digits = rest.first_chunk::<2>().ok_or(OPEN)?;
                        rest = &rest[2..];
                        let digit = |byte: u8| char::from(byte).to_digit(16);
                        let byte = digit(digits[0]).zip(digit(digits[1])).map(|(a, b)| (a * 16 + b) as u8);
                        byte.ok_or("an escape \\x has no two digits")?
                    }
                    other => other,
                });
            }
            byte => word.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::key;
    use crate::formats::tests::{read, refuses};
    use crate::{Format, Op};

    #[test]
    fn reads_requests() {
        let check = |command: &str, expect: &[(Op, &str, Option<u32>, u32)]| {
            let seen =
                read(Format::Monitor, &format!("1339518083.107412 [0 127.0.0.1:60866] {command}")).unwrap();
            let shape: Vec<_> = seen.iter().map(|one| (one.op, one.key, one.size, one.ttl_s)).collect();
            let expect: Vec<_> = expect
                .iter()
                .map(|(op, text, size, ttl)| (*op, key(text.as_bytes()).unwrap().0, *size, *ttl))
                .collect();
            assert_eq!(shape, expect, "{command}");
        };
        check(r#""get" "x""#, &[(Op::Get, "x", None, 0)]);
        check(r#""SET" "a b" "1\x00\"\\""#, &[(Op::Set, "a b", Some(4), 0)]);
        check(r#""set" "a" "12" "EX" "60" "NX""#, &[(Op::Add, "a", Some(2), 60)]);
        check(r#""set" "a" "12" "PX" "1500" "XX""#, &[(Op::Replace, "a", Some(2), 2)]);
        check(r#""set" "a" "12" "EXAT" "1339518183""#, &[(Op::Set, "a", Some(2), 99)]);
        check(r#""set" "a" "12" "PXAT" "1339518083500""#, &[(Op::Set, "a", Some(2), 1)]);
        check(r#""setex" "a" "9" "123""#, &[(Op::Set, "a", Some(3), 9)]);
        check(r#""mget" "a" "b""#, &[(Op::Get, "a", None, 0), (Op::Get, "b", None, 0)]);
        check(r#""mset" "a" "1" "b" "22""#, &[(Op::Set, "a", Some(1), 0), (Op::Set, "b", Some(2), 0)]);
        check(r#""del" "a" "b""#, &[(Op::Delete, "a", None, 0), (Op::Delete, "b", None, 0)]);
        check(r#""append" "a" "123""#, &[(Op::Append, "a", Some(3), 0)]);
        check(r#""incrby" "a" "5""#, &[(Op::Incr, "a", None, 0)]);
        check(r#""expire" "a" "5""#, &[]);
        let of =
            |client: &str| read(Format::Monitor, &format!("1.5 [{client}] \"get\" \"x]\"")).unwrap()[0].key;
        assert_eq!([of("0 [::1]:60866"), of("0 unix:/tmp/s"), of("0 lua")], [key(b"x]").unwrap().0; 3]);
        assert_ne!(of("1 [::1]:60866"), of("0 [::1]:60866"), "another database");
    }

    #[test]
    fn refuses_wrong_values() {
        let check = |text: &str, expect: &str| refuses(Format::Monitor, text, expect);
        check("hello", "no client");
        check("1.5 \"get\" \"x\"", "no client");
        check("soon [0 a:1] \"get\" \"x\"", "its time");
        check("1.5 [0 a:1]", "no command");
        check("1.5 [0 a:1] get x", "not in quotation marks");
        check("1.5 [0 a:1] \"get\" \"x", "no end");
        check("1.5 [0 a:1] \"get\"", "too few words");
        check("1.5 [0 a:1] \"get\" \"\\xg0\"", "no two digits");
        check("1.5 [0 a:1] \"mset\" \"a\" \"1\" \"b\"", "has no value");
        check("1.5 [0 a:1] \"set\" \"a\" \"1\" \"EX\" \"x\"", "not a number");
    }
}
