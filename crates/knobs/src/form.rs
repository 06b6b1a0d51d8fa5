use serde::{Deserialize, Serialize};

/// How two readings of a file of the kernel's are compared, since it does not always give back what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Words, whatever the spaces between.
    Text,
    /// A set of processors in hexadecimal: `00000000,0000000f` is `f`.
    Mask,
    /// The marked word of `always [madvise] never`.
    Choice,
    /// A size, which the kernel rounds to pages.
    Bytes,
    /// A number that the kernel works towards, and that may be met half-way.
    Count,
    /// A line of a resctrl `schemata`, `L3:0=f;1=f`, among those of other resources.
    Schemata,
}

/// The largest page of the processors that we know (64 KiB on 64-bit Arm): what a limit is rounded by.
const LARGEST_PAGE: u64 = 65_536;

impl Form {
    /// What is kept of a file's text, such that writing it restores the file.
    pub(crate) fn kept(self, text: &str) -> String {
        match self {
            Form::Choice => {
                let marked = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
                marked.map_or(text, |(word, _)| word).to_owned()
            }
            _ => text.to_owned(),
        }
    }

    /// Whether `found` means the same as `expected`.
    pub(crate) fn same(self, found: &str, expected: &str) -> bool {
        match self {
            Form::Text | Form::Choice | Form::Count => {
                found.split_whitespace().eq(expected.split_whitespace())
            }
            Form::Mask => mask(found) == mask(expected),
            Form::Bytes => match (found.trim().parse::<u64>(), expected.trim().parse::<u64>()) {
                (Ok(found), Ok(expected)) => found.abs_diff(expected) < LARGEST_PAGE,
                _ => found.trim() == expected.trim(),
            },
            Form::Schemata => {
                let expected = domains(expected);
                !expected.is_empty() && domains(found) == expected
            }
        }
    }

    /// Whether `found` is on the way from `before` to `wanted`: what an interrupted write leaves.
    pub(crate) fn is_between(self, found: &str, before: &str, wanted: &str) -> bool {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        match (self, number(found), number(before), number(wanted)) {
            (Form::Count, Some(found), Some(before), Some(wanted)) => {
                (before.min(wanted)..=before.max(wanted)).contains(&found)
            }
            _ => false,
        }
    }
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
        let check = |form: Form, found: &str, expected: &str, same: bool| {
            assert_eq!(form.same(found, expected), same, "{form:?} {found} {expected}");
        };
        check(Form::Text, "1024\t65000\n", "1024 65000", true);
        check(Form::Text, "1", "10", false);
        check(Form::Mask, "00000000,0000000F\n", "f", true);
        check(Form::Mask, "0", "00000000", true);
        check(Form::Mask, "1", "10", false);
        check(Form::Bytes, "536870912\n", "536870913", true);
        check(Form::Bytes, "536870912", "536936448", false);
        check(Form::Bytes, "max\n", "max", true);
        check(Form::Bytes, "max", "1", false);
        check(Form::Schemata, "    MB:0=100;1=100\n    L3:0=0000f;1=fffff\n", "L3:0=f;1=fffff", true);
        check(Form::Schemata, "L3:0=1f;1=fffff\n", "L3:0=f;1=fffff", false);
        check(Form::Schemata, "", "", false);
    }

    #[test]
    fn keeps_what_can_be_written_back() {
        let check = |form: Form, text: &str, expect: &str| assert_eq!(form.kept(text), expect);
        check(Form::Choice, "always [madvise] never\n", "madvise");
        check(Form::Text, "0-1\n", "0-1\n");
    }

    #[test]
    fn knows_the_way_between() {
        let check = |form: Form, found: &str, expect: bool| {
            assert_eq!(form.is_between(found, "0\n", "64"), expect, "{found}");
        };
        check(Form::Count, "37\n", true);
        check(Form::Count, "65", false);
        check(Form::Text, "37", false);
        check(Form::Count, "x", false);
    }
}
