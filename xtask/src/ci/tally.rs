/// Test results, counted from the lines that tests print.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// Skipped tests and steps, with the reason.
    pub(super) skipped: Vec<String>,
    /// Tests that failed among others and passed alone.
    pub(super) unstable: Vec<String>,
    /// What failed tests printed last, a few lines of each program.
    pub(super) failures: Vec<String>,
    /// Tests that the harness ignored; it prints their reasons itself.
    ignored: u64,
    /// The part of the output that the next line belongs to.
    part: Part,
    /// The passing test whose output is shown.
    test: String,
    /// Tests of the running program that passed by saying that they were skipped.
    said: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    /// Progress, results and failures.
    #[default]
    Shown,
    /// The output of passing tests; `said` once the current test has printed that it was skipped.
    Successes { said: bool },
}

impl Tally {
    /// Takes one line of `cargo test -- --show-output`; true if the line should be shown.
    ///
    /// A test that lacks a tool prints `skipped: REASON` and returns. The harness counts it as passed and shows its
    /// output among the successes; here it counts as skipped, once.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let test = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"));
        if let Some(result) = line.strip_prefix("test result: ") {
            self.part = Part::Shown;
            self.result(result);
        } else if line == "failures:" {
            self.part = Part::Shown;
        } else if line == "successes:" {
            self.part = Part::Successes { said: false };
        } else if let Some(test) = test.filter(|_| self.part != Part::Shown) {
            self.part = Part::Successes { said: false };
            self.test = test.to_owned();
        } else if self.part == (Part::Successes { said: false })
            && let Some(what) = line.strip_prefix("skipped: ")
        {
            self.part = Part::Successes { said: true };
            self.said += 1;
            self.skipped.push(format!("{}: {what}", self.test));
        }
        self.part == Part::Shown
    }

    /// Adds the counts of a program's last line, `N passed, N failed, N skipped`; false for any other line.
    pub(super) fn closing(&mut self, line: &str) -> bool {
        let count =
            |part: Option<&str>, what: &str| part?.trim().strip_suffix(what)?.trim().parse::<u64>().ok();
        let mut parts = line.split(',');
        let counts = [" passed", " failed", " skipped"].map(|what| count(parts.next(), what));
        let [Some(passed), Some(failed), Some(skipped)] = counts else { return false };
        self.passed += passed;
        self.failed += failed;
        self.ignored += skipped;
        true
    }

    /// Reads the rest of a line such as `test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; …`.
    fn result(&mut self, result: &str) {
        let count = |what: &str| -> u64 {
            let parts = result.split(['.', ';']).map(str::trim);
            parts.filter_map(|part| part.strip_suffix(what)?.parse::<u64>().ok()).sum()
        };
        self.passed += count(" passed").saturating_sub(std::mem::take(&mut self.said));
        self.failed += count(" failed");
        self.ignored += count(" ignored");
    }

    pub(super) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.skipped.extend(other.skipped);
        self.unstable.extend(other.unstable);
        self.failures.extend(other.failures);
    }

    pub(super) fn skipped_count(&self) -> u64 {
        self.ignored + self.skipped.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> (Tally, Vec<&str>) {
        let mut tally = Tally::default();
        let shown = output.lines().filter(|line| tally.line(line)).collect();
        (tally, shown)
    }

    #[test]
    fn adds_up_the_results() {
        let check = |output: &str, expect: (u64, u64, u64)| {
            let (tally, _) = read(output);
            assert_eq!((tally.passed, tally.failed, tally.skipped_count()), expect, "{output}");
        };
        check("", (0, 0, 0));
        check("running 1 test\ntest a ... ok\n", (0, 0, 0));
        let ok =
            "test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.02s\n";
        let bad = "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1.5s\n";
        check(ok, (5, 0, 2));
        check(&format!("{ok}{bad}{ok}"), (11, 3, 4));
    }

    #[test]
    fn a_test_that_says_so_is_skipped_once() {
        let output = "\
test a ... ok
test b ... ok

successes:

---- a stdout ----
skipped: no memcached
skipped: said twice

---- b stdout ----
it talks
skipped to the end

successes:
    a
    b

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
        let (tally, shown) = read(output);
        assert_eq!((tally.passed, tally.skipped_count()), (1, 1));
        assert_eq!(tally.skipped, ["a: no memcached"]);
        assert_eq!(shown.len(), 4, "what passing tests say is not shown: {shown:?}");
    }

    #[test]
    fn failures_are_shown() {
        let output = "\
successes:

---- a stdout ----
hello

successes:
    a

failures:

---- b stdout ----
skipped: not really
panicked

failures:
    b

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
        let (tally, shown) = read(output);
        assert_eq!((tally.passed, tally.failed, tally.skipped_count()), (1, 1, 0));
        assert!(shown.contains(&"panicked") && !shown.contains(&"hello"), "{shown:?}");
    }

    #[test]
    fn adds_up_tallies() {
        let mut tally =
            Tally { passed: 1, failed: 2, skipped: vec!["a".into()], ignored: 3, ..Tally::default() };
        tally.add(Tally {
            passed: 10,
            failed: 20,
            skipped: vec!["b".into()],
            ignored: 30,
            ..Tally::default()
        });
        assert_eq!((tally.passed, tally.failed, tally.skipped_count()), (11, 22, 35));
        assert_eq!(tally.skipped, ["a", "b"]);
    }

    impl Tally {
        pub(crate) fn of(passed: u64, failed: u64) -> Tally {
            Tally { passed, failed, ..Tally::default() }
        }
    }
}
