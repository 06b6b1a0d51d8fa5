/// Which parts of a line are not compared.
#[derive(Clone, Copy)]
pub(crate) enum Mask {
    Nothing,
    /// Numbers with their units, and how many blanks separate words.
    Numbers,
    AllButFirstWord,
}

/// How the lines of the two are set against each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Same,
    Any,
    /// In any order, and Sphinx may have lines that memcached does not have.
    AtLeast,
}

impl Mask {
    pub(crate) fn apply(self, line: &str) -> String {
        match self {
            Mask::Nothing => line.to_owned(),
            Mask::Numbers => {
                let words = line.split_whitespace().map(without_numbers);
                words.collect::<Vec<_>>().join(" ")
            }
            Mask::AllButFirstWord => {
                let word = line.split_whitespace().next().unwrap_or_default();
                word.trim_end_matches(':').to_owned()
            }
        }
    }
}

/// The word with `N` in place of each number, its fraction, and its unit of one letter.
fn without_numbers(word: &str) -> String {
    const UNITS: &str = "BKMGks";
    let mut masked = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        masked.push_str(&rest[..at]);
        masked.push('N');
        rest = &rest[at..];
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        rest = &rest[digits(rest)..];
        if let Some(fraction) = rest.strip_prefix('.')
            && digits(fraction) > 0
        {
            rest = &fraction[digits(fraction)..];
        }
        let after = rest.trim_start_matches(|c: char| UNITS.contains(c));
        if rest.len() - after.len() == 1
            && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        {
            rest = after;
        }
    }
    masked + rest
}

/// How the line with the exit status begins, which counts in every order.
pub(crate) const EXIT: &str = "exit ";

/// Lines that only one of the two has: `- LINE` for memcached's, `+ LINE` for Sphinx's, sorted.
pub(crate) fn differences(memcached: &[String], sphinx: &[String], order: Order) -> Vec<String> {
    if order == Order::Same && memcached == sphinx {
        return Vec::new();
    }
    let mut added: Vec<&String> = sphinx.iter().collect();
    let mut differences = Vec::new();
    for line in memcached {
        match added.iter().position(|other| *other == line) {
            Some(at) => drop(added.remove(at)),
            None => differences.push(format!("- {line}")),
        }
    }
    added.retain(|line| order != Order::AtLeast || line.starts_with(EXIT));
    differences.extend(added.iter().map(|line| format!("+ {line}")));
    if differences.is_empty() && order == Order::Same {
        differences.push("the order of lines".into());
    }
    differences.sort();
    differences
}

#[test]
fn numbers_are_masked_with_their_units() {
    let check = |line: &str, expect: &str| assert_eq!(Mask::Numbers.apply(line), expect, "{line}");
    check("  1      96B         0s       no", "N N N no");
    check("Net_rate: 6.4M/s", "Net_rate: N/s");
    check("version 1.6.18", "version N.N");
    check("key=a exp=-1 size=67", "key=a exp=-N size=N");
    check("test_1_set 1Mb 12kx", "test_N_set NMb Nkx");
    check("", "");
    assert_eq!(Mask::AllButFirstWord.apply("  pid:  17 "), "pid");
    assert_eq!(Mask::Nothing.apply(" a 1"), " a 1");
}

#[test]
fn differences_are_told_by_side() {
    let check = |memcached: &str, sphinx: &str, order: Order, expect: &[&str]| {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(differences(&lines(memcached), &lines(sphinx), order), expect, "{memcached}; {sphinx}");
    };
    check("a b", "a b", Order::Same, &[]);
    check("a b", "b a", Order::Same, &["the order of lines"]);
    check("a b", "b a", Order::Any, &[]);
    check("a a b", "a b c", Order::Any, &["+ c", "- a"]);
    check("a b", "a c b", Order::AtLeast, &[]);
    check("a b", "c", Order::AtLeast, &["- a", "- b"]);
    let exits = differences(&["exit 0".into()], &["x".into(), "exit 1".into()], Order::AtLeast);
    assert_eq!(exits, ["+ exit 1", "- exit 0"]);
}
