/// Which part of a file an answer holds: the value of `Content-Range`. Source: RFC 9110 §14.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum ContentRange {
    /// The bytes from the first to the last, both included, of a whole of this length, if it is known.
    Part { first: u64, last: u64, complete: Option<u64> },
    /// The requested part lies outside of a whole of this length (status 416).
    Unsatisfied { complete: u64 },
}

impl ContentRange {
    /// Reads the field's value; `None` for units other than bytes and for invalid values.
    pub fn read(value: &[u8]) -> Option<ContentRange> {
        let text = std::str::from_utf8(value).ok()?.trim();
        let (unit, rest) = text.split_once(' ')?;
        let (part, complete) = rest.trim_start().split_once('/')?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        let complete = if complete == "*" { None } else { Some(number(complete)?) };
        if part == "*" {
            return complete.map(|complete| ContentRange::Unsatisfied { complete });
        }
        let (first, last) = part.split_once('-')?;
        let (first, last) = (number(first)?, number(last)?);
        let fits = first <= last && complete.is_none_or(|complete| last < complete);
        fits.then_some(ContentRange::Part { first, last, complete })
    }

    /// The length of the whole, if given.
    pub fn complete(self) -> Option<u64> {
        match self {
            ContentRange::Part { complete, .. } => complete,
            ContentRange::Unsatisfied { complete } => Some(complete),
        }
    }

    /// The length of the body of such an answer; `None` if not given.
    pub fn length(self) -> Option<u64> {
        match self {
            // The last of 2⁶⁴ bytes is never sent.
            ContentRange::Part { first, last, .. } => (last - first).checked_add(1),
            ContentRange::Unsatisfied { .. } => None,
        }
    }
}

/// The part of a whole that a request asks for: the value of `Range`, applied to the length of the whole. Source: RFC
/// 9110 §14.1 and §14.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of it: no range, an invalid one, another unit, or several ranges, which a server may answer with the whole.
    Whole,
    /// These bytes, both included.
    Part {
        /// The first byte.
        first: u64,
        /// The last byte, no less than the first and within the whole.
        last: u64,
    },
    /// A part that does not exist (status 416).
    Unsatisfiable,
}

impl Wanted {
    /// Reads the field's value for a whole of `complete` bytes.
    pub fn read(value: Option<&str>, complete: u64) -> Wanted {
        value.and_then(|value| Wanted::of(value.trim(), complete)).unwrap_or(Wanted::Whole)
    }

    fn of(value: &str, complete: u64) -> Option<Wanted> {
        let (unit, range) = value.split_once('=')?;
        let (first, last) = range.trim().split_once('-')?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (first, last) = match (first, last) {
            ("", suffix) => (complete.saturating_sub(place(suffix)?), complete.checked_sub(1)),
            (first, "") => (place(first)?, complete.checked_sub(1)),
            (first, last) => {
                let (first, last) = (place(first)?, place(last)?);
                if last < first {
                    return None;
                }
                (first, complete.checked_sub(1).map(|end| last.min(end)))
            }
        };
        Some(match last {
            Some(last) if first <= last => Wanted::Part { first, last },
            _ => Wanted::Unsatisfiable,
        })
    }
}

/// An offset in a file; one beyond 2⁶⁴ counts as beyond any end.
fn place(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// Parses digits only, unlike `parse`, which accepts a sign.
pub(crate) fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_makes_sense() {
        let check = |value: &str, expect: Option<ContentRange>| {
            assert_eq!(ContentRange::read(value.as_bytes()), expect, "{value}");
        };
        let part = |first, last, complete| Some(ContentRange::Part { first, last, complete });
        check("bytes 0-99/1234", part(0, 99, Some(1234)));
        check("bytes 5-5/*", part(5, 5, None));
        check("Bytes */47", Some(ContentRange::Unsatisfied { complete: 47 }));
        for wrong in [
            "",
            "bytes",
            "bytes 1-0/5",
            "bytes 0-5/5",
            "bytes */*",
            "lines 0-1/2",
            "bytes -1-5/9",
            "bytes 0-+5/9",
        ] {
            check(wrong, None);
        }
        assert_eq!(part(0, 99, None).and_then(ContentRange::length), Some(100));
        assert_eq!(part(0, u64::MAX, None).and_then(ContentRange::length), None);
    }

    #[test]
    fn a_wanted_part_lies_within_the_whole() {
        let check = |value: &str, complete: u64, expect: Wanted| {
            assert_eq!(Wanted::read(Some(value), complete), expect, "{value} of {complete}");
        };
        let part = |first, last| Wanted::Part { first, last };
        check("bytes=0-0", 10, part(0, 0));
        check("bytes=2-5", 10, part(2, 5));
        check("Bytes= 2-5 ", 10, part(2, 5));
        check("bytes=2-", 10, part(2, 9));
        check("bytes=-3", 10, part(7, 9));
        check("bytes=-30", 10, part(0, 9));
        check("bytes=9-20", 10, part(9, 9));
        check("bytes=0-99999999999999999999", 10, part(0, 9));
        for gone in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"] {
            check(gone, 10, Wanted::Unsatisfiable);
        }
        for gone in ["bytes=0-", "bytes=0-5", "bytes=-5"] {
            check(gone, 0, Wanted::Unsatisfiable);
        }
        for passed_over in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes=0-1,3-4",
            "lines=0-1",
        ] {
            check(passed_over, 10, Wanted::Whole);
        }
        assert_eq!(Wanted::read(None, 10), Wanted::Whole);
    }
}
