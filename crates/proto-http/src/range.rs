/// Which part of a file an answer holds: the value of `Content-Range`. Source: RFC 9110 §14.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRange {
    /// These bytes, both included.
    Part {
        /// The first byte.
        first: u64,
        /// The last byte, no less than the first.
        last: u64,
        /// The length of the whole, where it is known.
        complete: Option<u64>,
    },
    /// None: what was asked for lies outside of a whole of this length (status 416).
    Unsatisfied {
        /// The length of the whole.
        complete: u64,
    },
}

impl ContentRange {
    /// Reads the field's value; `None` for units other than bytes and for what makes no sense.
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

    /// The length of the whole, where it is said.
    pub fn complete(self) -> Option<u64> {
        match self {
            ContentRange::Part { complete, .. } => complete,
            ContentRange::Unsatisfied { complete } => Some(complete),
        }
    }

    /// How long the body of such an answer is; `None` where that is not said.
    pub fn length(self) -> Option<u64> {
        match self {
            // The last of 2⁶⁴ bytes is never sent.
            ContentRange::Part { first, last, .. } => (last - first).checked_add(1),
            ContentRange::Unsatisfied { .. } => None,
        }
    }
}

/// Digits and nothing else, unlike `parse`, which takes a sign.
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
}
