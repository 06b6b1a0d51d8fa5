use crate::digits::{DIGITS, digits};

/// Appends the start of a command of `words` words, its name included; [`word`] appends each of them.
#[inline]
pub fn head(out: &mut Vec<u8>, words: usize) {
    number_line(out, b'*', words as u64);
}

/// Appends one word of a command: its name, a key, an option or a value. Bounds: any bytes.
#[inline]
pub fn word(out: &mut Vec<u8>, word: &[u8]) {
    number_line(out, b'$', word.len() as u64);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

/// Appends any command; answered by one reply.
#[inline]
pub fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    head(out, words.len());
    words.iter().for_each(|each| word(out, each));
}

/// Appends `GET key`; answered by the value or null.
#[inline]
pub fn get(out: &mut Vec<u8>, key: &[u8]) {
    command(out, &[b"GET", key]);
}

/// Appends `GETEX key` with a new expiry time in seconds, 0 for none; answered as [`get`]. Redis 6.2 has it.
#[inline]
pub fn get_and_expire(out: &mut Vec<u8>, key: &[u8], seconds: u64) {
    if seconds == 0 {
        return command(out, &[b"GETEX", key, b"PERSIST"]);
    }
    head(out, 4);
    word(out, b"GETEX");
    word(out, key);
    word(out, b"EX");
    number(out, seconds);
}

/// When `SET` stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `NX`: only if the key has no item.
    Missing,
    /// `XX`: only over an item.
    Present,
}

/// The options of `SET`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetOptions {
    /// When it stores; always by default.
    pub condition: Option<Condition>,
    /// The expiry time, 0 for none. Units: s.
    pub seconds: u64,
}

/// Appends `SET key value` with its options; answered by `OK`, or by null if the condition does not hold.
#[inline]
pub fn set(out: &mut Vec<u8>, key: &[u8], value: &[u8], options: SetOptions) {
    set_header(out, key, value.len(), options);
    out.extend_from_slice(value);
    set_end(out, options);
}

/// Appends a `SET` up to its value. The caller writes the value's `length` bytes after it, then [`set_end`] with the same
/// options.
#[inline]
pub fn set_header(out: &mut Vec<u8>, key: &[u8], length: usize, options: SetOptions) {
    let words = 3 + usize::from(options.condition.is_some()) + if options.seconds > 0 { 2 } else { 0 };
    head(out, words);
    word(out, b"SET");
    word(out, key);
    number_line(out, b'$', length as u64);
}

/// Appends the end of a `SET` after its value.
#[inline]
pub fn set_end(out: &mut Vec<u8>, options: SetOptions) {
    out.extend_from_slice(b"\r\n");
    match options.condition {
        None => {}
        Some(Condition::Missing) => word(out, b"NX"),
        Some(Condition::Present) => word(out, b"XX"),
    }
    if options.seconds > 0 {
        word(out, b"EX");
        number(out, options.seconds);
    }
}

/// Appends `APPEND key value`; answered by the new length. An item that is missing is created.
#[inline]
pub fn append(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    command(out, &[b"APPEND", key, value]);
}

/// Appends `DEL key`; answered by the number of items deleted.
#[inline]
pub fn del(out: &mut Vec<u8>, key: &[u8]) {
    command(out, &[b"DEL", key]);
}

/// Appends `INCR key`; answered by the new number. An item that is missing is created, as 0 before.
#[inline]
pub fn incr(out: &mut Vec<u8>, key: &[u8]) {
    command(out, &[b"INCR", key]);
}

/// Appends `INCRBY key by`; as [`incr`].
pub fn incr_by(out: &mut Vec<u8>, key: &[u8], by: u64) {
    head(out, 3);
    word(out, b"INCRBY");
    word(out, key);
    number(out, by);
}

/// Appends `DECR key`; as [`incr`].
#[inline]
pub fn decr(out: &mut Vec<u8>, key: &[u8]) {
    command(out, &[b"DECR", key]);
}

/// Appends `EXPIRE key seconds`; answered by 1, or by 0 if the key has no item.
#[inline]
pub fn expire(out: &mut Vec<u8>, key: &[u8], seconds: u64) {
    head(out, 3);
    word(out, b"EXPIRE");
    word(out, key);
    number(out, seconds);
}

/// Appends `TOUCH key`, which makes an item the most recently used; answered by the number of items touched.
#[inline]
pub fn touch(out: &mut Vec<u8>, key: &[u8]) {
    command(out, &[b"TOUCH", key]);
}

/// Appends `AUTH`, with the name of a user unless it is the default one; answered by `OK`.
pub fn auth(out: &mut Vec<u8>, user: Option<&[u8]>, password: &[u8]) {
    match user {
        Some(user) => command(out, &[b"AUTH", user, password]),
        None => command(out, &[b"AUTH", password]),
    }
}

/// A word that is a number.
#[inline]
fn number(out: &mut Vec<u8>, number: u64) {
    let mut room = [0; DIGITS];
    word(out, digits(number, &mut room));
}

/// A line of a sign and a number.
#[inline]
fn number_line(out: &mut Vec<u8>, sign: u8, number: u64) {
    let mut room = [0; DIGITS];
    out.push(sign);
    out.extend_from_slice(digits(number, &mut room));
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn writes_each_command() {
        let check = |write: &dyn Fn(&mut Vec<u8>), expect: &str| {
            let mut out = Vec::new();
            write(&mut out);
            assert_eq!(String::from_utf8_lossy(&out).replace("\r\n", "|"), expect);
        };
        check(&|o| get(o, b"k"), "*2|$3|GET|$1|k|");
        check(&|o| get_and_expire(o, b"k", 0), "*3|$5|GETEX|$1|k|$7|PERSIST|");
        check(&|o| get_and_expire(o, b"k", 60), "*4|$5|GETEX|$1|k|$2|EX|$2|60|");
        let options = |condition, seconds| SetOptions { condition, seconds };
        check(&|o| set(o, b"k", b"", options(None, 0)), "*3|$3|SET|$1|k|$0||");
        check(&|o| set(o, b"k", b"v\r\n", options(None, 7)), "*5|$3|SET|$1|k|$3|v||$2|EX|$1|7|");
        check(
            &|o| set(o, b"k", b"v", options(Some(Condition::Missing), 10)),
            "*6|$3|SET|$1|k|$1|v|$2|NX|$2|EX|$2|10|",
        );
        check(&|o| set(o, b"k", b"v", options(Some(Condition::Present), 0)), "*4|$3|SET|$1|k|$1|v|$2|XX|");
        check(&|o| append(o, b"k", b"more"), "*3|$6|APPEND|$1|k|$4|more|");
        check(&|o| del(o, b"k"), "*2|$3|DEL|$1|k|");
        check(&|o| incr(o, b"k"), "*2|$4|INCR|$1|k|");
        check(&|o| incr_by(o, b"k", 12), "*3|$6|INCRBY|$1|k|$2|12|");
        check(&|o| decr(o, b"k"), "*2|$4|DECR|$1|k|");
        check(&|o| expire(o, b"k", 3_600), "*3|$6|EXPIRE|$1|k|$4|3600|");
        check(&|o| touch(o, b"k"), "*2|$5|TOUCH|$1|k|");
        check(&|o| auth(o, None, b"secret"), "*2|$4|AUTH|$6|secret|");
        check(&|o| auth(o, Some(b"me"), b"secret"), "*3|$4|AUTH|$2|me|$6|secret|");
    }

    proptest! {
        #[test]
        fn writes_numbers_as_the_standard_library(number: u64) {
            let mut room = [0; DIGITS];
            prop_assert_eq!(String::from_utf8_lossy(digits(number, &mut room)), number.to_string());
        }
    }
}
