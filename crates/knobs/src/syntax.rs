use serde::{Deserialize, Serialize};

/// How to compare two readings of a kernel file, which does not always return the text that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Syntax {
    /// Words, separated by any spaces.
    Text,
    /// A set of processors in hexadecimal: `00000000,0000000f` is `f`.
    Mask,
    /// The marked word of `always [madvise] never`.
    Choice,
    /// A size, which the kernel rounds to pages.
    Bytes,
    /// A number that the kernel approaches, and may reach only in part.
    Count,
    /// A line of `io.max`: a device's limits; those that were written, among others.
    Limits,
    /// A line of a resctrl `schemata`, `L3:0=f;1=f`, among lines for other resources.
    Schemata,
}

/// The largest page of the processors that we know (64 KiB on 64-bit Arm): the kernel rounds limits to pages.
const LARGEST_PAGE: u64 = 65_536;

impl Syntax {
    /// The part of a file's text that restores the file when written.
    pub(crate) fn kept(self, text: &str) -> String {
        match self {
            Syntax::Choice => {
                let marked = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
                marked.map_or(text, |(word, _)| word).to_owned()
            }
            _ => text.to_owned(),
        }
    }

    /// Whether `found` means the same as `expected`.
    pub(crate) fn same(self, found: &str, expected: &str) -> bool {
        match self {
            Syntax::Text | Syntax::Choice | Syntax::Count => {
                found.split_whitespace().eq(expected.split_whitespace())
            }
            Syntax::Limits => limits(found, expected),
            Syntax::Mask => mask(found) == mask(expected),
            Syntax::Bytes => match (found.trim().parse::<u64>(), expected.trim().parse::<u64>()) {
                (Ok(found), Ok(expected)) => found.abs_diff(expected) < LARGEST_PAGE,
                _ => found.trim() == expected.trim(),
            },
            Syntax::Schemata => {
                let expected = domains(expected);
                !expected.is_empty() && domains(found) == expected
            }
        }
    }

    /// Whether `found` lies between `before` and `wanted`: an interrupted write leaves such a value.
    pub(crate) fn is_between(self, found: &str, before: &str, wanted: &str) -> bool {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        match (self, number(found), number(before), number(wanted)) {
            (Syntax::Count, Some(found), Some(before), Some(wanted)) => {
                (before.min(wanted)..=before.max(wanted)).contains(&found)
            }
            _ => false,
        }
    }
}

/// Whether the line of the device that `expected` begins with has all its words.
fn limits(found: &str, expected: &str) -> bool {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let expected = words(expected);
    let line = found.lines().map(words).find(|line| line.first() == expected.first());
    line.is_some_and(|line| expected.iter().all(|word| line.contains(word)))
}

/// The digits of a mask without the commas between words and the zeros before.
fn mask(text: &str) -> String {
    let digits: String = text.trim().chars().filter(|c| *c != ',').collect();
    digits.trim_start_matches('0').to_ascii_lowercase()
}

/// The parts of the L3 line, each with its mask in the shortest form.
fn domains(schemata: &str) -> Vec<String> {
    let line = schemata.lines().find_map(|line| line.trim().strip_prefix("L3:"));
    let parts = line.unwrap_or("").split(';').filter_map(|part| part.split_once('='));
    parts.map(|(domain, bits)| format!("{}={}", domain.trim(), mask(bits))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_meanings() {
        let check = |syntax: Syntax, found: &str, expected: &str, same: bool| {
            assert_eq!(syntax.same(found, expected), same, "{syntax:?} {found} {expected}");
        };
        check(Syntax::Text, "1024\t65000\n", "1024 65000", true);
        check(Syntax::Text, "1", "10", false);
        check(Syntax::Mask, "00000000,0000000F\n", "f", true);
        check(Syntax::Mask, "0", "00000000", true);
        check(Syntax::Mask, "1", "10", false);
        check(Syntax::Bytes, "536870912\n", "536870913", true);
        check(Syntax::Bytes, "536870912", "536936448", false);
        check(Syntax::Bytes, "max\n", "max", true);
        check(Syntax::Bytes, "max", "1", false);
        check(Syntax::Limits, "8:0 rbps=9 wbps=max\n254:0 rbps=5 wbps=max riops=max\n", "254:0 rbps=5", true);
        check(Syntax::Limits, "8:0 rbps=5\n254:0 rbps=9\n", "254:0 rbps=5", false);
        check(Syntax::Limits, "", "254:0 rbps=5", false);
        check(Syntax::Schemata, "    MB:0=100;1=100\n    L3:0=0000f;1=fffff\n", "L3:0=f;1=fffff", true);
        check(Syntax::Schemata, "L3:0=1f;1=fffff\n", "L3:0=f;1=fffff", false);
        check(Syntax::Schemata, "", "", false);
    }

    #[test]
    fn keeps_what_can_be_written_back() {
        let check = |syntax: Syntax, text: &str, expect: &str| assert_eq!(syntax.kept(text), expect);
        check(Syntax::Choice, "always [madvise] never\n", "madvise");
        check(Syntax::Text, "0-1\n", "0-1\n");
    }

    #[test]
    fn knows_the_way_between() {
        let check = |syntax: Syntax, found: &str, expect: bool| {
            assert_eq!(syntax.is_between(found, "0\n", "64"), expect, "{found}");
        };
        check(Syntax::Count, "37\n", true);
        check(Syntax::Count, "65", false);
        check(Syntax::Text, "37", false);
        check(Syntax::Count, "x", false);
    }
}
