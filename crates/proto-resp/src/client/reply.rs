use memchr::memchr;

/// A complete reply. Slices point into the bytes that were parsed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply<'b> {
    /// `+`: a word such as `OK`.
    Simple(&'b [u8]),
    /// `-` or, with a length, `!`: an error, whose first word is its kind; the connection stays in step.
    Error(&'b [u8]),
    /// `:`
    Integer(i64),
    /// `$`: a value.
    Bulk(&'b [u8]),
    /// `_`, and in RESP2 a value or an array of length −1.
    Null,
    /// `*`
    Array(Elements<'b>),
    /// `%`: keys and values in turn.
    Map(Elements<'b>),
    /// `~`
    Set(Elements<'b>),
    /// `,`
    Double(f64),
    /// `#`
    Boolean(bool),
    /// `(`: the digits, after a sign.
    BigNumber(&'b [u8]),
    /// `=`: a text, without the three letters of its format.
    Verbatim(&'b [u8]),
}

/// The elements of an array, a map or a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elements<'b> {
    /// Whole replies, already checked.
    bytes: &'b [u8],
    count: usize,
}

impl<'b> Elements<'b> {
    /// How many there are; a map has two for each of its keys.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The elements in their order. Cost: reads the lines before them a second time.
    pub fn iter(&self) -> impl Iterator<Item = Reply<'b>> + use<'b> {
        let (mut rest, mut left) = (self.bytes, self.count);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let (reply, length) = Reply::checked(rest)?;
            rest = &rest[length..];
            Some(reply)
        })
    }
}

impl<'b> Reply<'b> {
    /// The reply at the start of `bytes`, and its length.
    ///
    /// Bounds: the parser has understood it, so it is whole; `None` otherwise.
    pub(super) fn checked(bytes: &'b [u8]) -> Option<(Reply<'b>, usize)> {
        let newline = memchr(b'\n', bytes)?;
        let (sign, text) = bytes.get(..newline.checked_sub(1)?)?.split_first()?;
        let behind = newline + 1;
        let value = || {
            let length = length(text)?;
            Some((bytes.get(behind..)?.get(..length)?, behind + length + 2))
        };
        let elements = |each: usize| {
            let count = length(text)?.checked_mul(each)?;
            let mut end = behind;
            for _ in 0..count {
                end += Reply::checked(bytes.get(end..)?)?.1;
            }
            Some((Elements { bytes: &bytes[behind..end], count }, end))
        };
        let line = |reply| Some((reply, behind));
        match sign {
            b'+' => line(Reply::Simple(text)),
            b'-' => line(Reply::Error(text)),
            b':' => line(Reply::Integer(integer(text)?)),
            b'_' => line(Reply::Null),
            b'$' | b'*' if text == b"-1" => line(Reply::Null),
            b',' => line(Reply::Double(double(text)?)),
            b'#' => line(Reply::Boolean(boolean(text)?)),
            b'(' => line(Reply::BigNumber(text)),
            b'$' => value().map(|(value, end)| (Reply::Bulk(value), end)),
            b'!' => value().map(|(value, end)| (Reply::Error(value), end)),
            b'=' => value().and_then(|(value, end)| Some((Reply::Verbatim(value.get(FORMAT..)?), end))),
            b'*' => elements(1).map(|(elements, end)| (Reply::Array(elements), end)),
            b'~' => elements(1).map(|(elements, end)| (Reply::Set(elements), end)),
            b'%' => elements(2).map(|(elements, end)| (Reply::Map(elements), end)),
            _ => None,
        }
    }
}

/// The length of the format before a verbatim text: three letters and a colon.
pub(super) const FORMAT: usize = 4;

/// A length or a count: digits only.
#[inline]
pub(super) fn length(text: &[u8]) -> Option<usize> {
    // 18 digits cannot overflow; no length that is read has as many.
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0usize, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| number * 10 + usize::from(digit))
    })
}

pub(super) fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub(super) fn double(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub(super) fn boolean(text: &[u8]) -> Option<bool> {
    match text {
        b"t" => Some(true),
        b"f" => Some(false),
        _ => None,
    }
}

pub(super) fn is_big_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
