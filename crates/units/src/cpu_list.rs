use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseError;

/// A set of logical processors, ascending; written as the kernel does: `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(Vec<usize>);

/// No machine has more logical processors; a range beyond is a damaged file. Source: x86's `CONFIG_NR_CPUS`.
const MOST: usize = 8192;

impl CpuList {
    /// The processors, ascending.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `cpu` is one of them.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }
}

impl FromIterator<usize> for CpuList {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> CpuList {
        let mut cpus: Vec<usize> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        CpuList(cpus)
    }
}

impl FromStr for CpuList {
    type Err = ParseError;

    /// Reads `0-3,8`. Bounds: at least one processor, numbers below 8192.
    fn from_str(text: &str) -> Result<CpuList, ParseError> {
        let error = |problem: String| ParseError {
            what: "list of processors",
            given: text.into(),
            problem,
            hint: "write numbers and ranges of them, such as 1 or 0,2-3",
        };
        let mut cpus = Vec::new();
        for range in text.trim().split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.trim().parse::<usize>().ok().filter(|cpu| *cpu < MOST);
            let (first, last) = number(first)
                .zip(number(last))
                .ok_or_else(|| error(format!("'{range}' is not a number below {MOST} or a range of them")))?;
            if first > last {
                return Err(error(format!("'{range}' runs backwards")));
            }
            cpus.extend(first..=last);
        }
        Ok(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.0.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [one] => one.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        });
        f.pad(&ranges.collect::<Vec<_>>().join(","))
    }
}

impl TryFrom<String> for CpuList {
    type Error = ParseError;
    /// As [`FromStr`], but nothing at all is the empty set, as the kernel writes it.
    fn try_from(text: String) -> Result<CpuList, ParseError> {
        if text.trim().is_empty() { Ok(CpuList::default()) } else { text.parse() }
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> String {
        list.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let check = |text: &str, cpus: &[usize], shown: &str| {
            let list = CpuList::try_from(text.to_owned()).unwrap();
            assert_eq!((list.as_slice(), list.to_string().as_str()), (cpus, shown), "{text}");
        };
        check("", &[], "");
        check("0\n", &[0], "0");
        check("0-3,8", &[0, 1, 2, 3, 8], "0-3,8");
        check("4,0-1,1", &[0, 1, 4], "0-1,4");
        check("0,2,4", &[0, 2, 4], "0,2,4");
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "x", "1-", "-1", "3-1", "0-99999999999", "1;2", "8192", "1,,2"] {
            let error = text.parse::<CpuList>().unwrap_err().to_string();
            assert!(error.contains("such as 1 or 0,2-3"), "{error}");
        }
    }

    #[test]
    fn knows_its_members() {
        let list: CpuList = "0-1,4".parse().unwrap();
        assert_eq!([0, 1, 2, 4].map(|cpu| list.contains(cpu)), [true, true, false, true]);
        assert_eq!((list.len(), list.is_empty()), (3, false));
    }
}
