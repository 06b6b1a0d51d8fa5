use std::fmt;

/// A violation of a rule of the tree, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, relative to the root.
    pub(crate) file: String,
    /// The line, from 1; `None` if it concerns the whole file.
    pub(crate) line: Option<usize>,
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

impl Finding {
    /// About a whole file.
    pub(crate) fn file(file: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { file: file.into(), line: None, problem: problem.into(), remedy: remedy.into() }
    }

    /// About one line, counted from 1.
    pub(crate) fn line(
        file: &str,
        line: usize,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { line: Some(line), ..Finding::file(file, problem, remedy) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}; {}", self.problem, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where_what_and_what_to_do() {
        let check = |finding: Finding, expect: &str| assert_eq!(finding.to_string(), expect);
        check(Finding::file("a.rs", "too long", "split it"), "a.rs: too long; split it");
        check(Finding::line("a.rs", 7, "wrong", "mend it"), "a.rs:7: wrong; mend it");
    }
}
