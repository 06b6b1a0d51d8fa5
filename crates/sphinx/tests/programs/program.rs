use super::compare::{Mask, Order};
use super::pair::{Server, Way};
use super::probe::Probe;
use super::run::Ended;
use crate::support::Words;

/// A program that speaks to memcached: one row of the table.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The version that the table was made with.
    pub(crate) version: &'static str,
    /// Whether it was installed where the table was made.
    pub(crate) was_run: bool,
    /// How to get it, for the line that says why it is skipped.
    pub(crate) from: &'static str,
    pub(crate) probe: Probe,
    pub(crate) checks: Vec<Check>,
}

/// One thing that a program does, with memcached and with Sphinx.
pub(crate) struct Check {
    /// Its name in the table; consecutive checks with one name share a row.
    pub(crate) name: &'static str,
    pub(crate) step: Step,
    pub(crate) way: Way,
    pub(crate) mask: Mask,
    pub(crate) order: Order,
    /// The output required of both, if known.
    pub(crate) expected: Option<&'static [&'static str]>,
    /// Whether it must end with status 0 on both, so that no failure on both passes for agreement.
    pub(crate) succeeds: bool,
    pub(crate) difference: Option<Difference>,
}

pub(crate) enum Step {
    /// A command line, in which `{server}` and other words in braces stand for the server's place.
    Command(&'static str),
    Call(fn(&Server) -> Ended),
}

/// How Sphinx's outcome differs from memcached's.
pub(crate) struct Difference {
    /// `- LINE` for a line that only memcached prints, `+ LINE` for one that only Sphinx prints; sorted.
    lines: &'static [&'static str],
    /// Whether it is a difference of memcached 1.6.18 only, as 1.6.45 behaves like Sphinx.
    old_only: bool,
    /// For the documentation: the visible effect, and its reason.
    pub(crate) why: &'static str,
}

impl Difference {
    /// The lines by which Sphinx differs from a memcached of these words.
    pub(crate) fn lines(&self, words: Words) -> &'static [&'static str] {
        if self.old_only && words == Words::New { &[] } else { self.lines }
    }
}

impl Program {
    pub(crate) fn new(
        name: &'static str,
        version: &'static str,
        from: &'static str,
        probe: Probe,
    ) -> Program {
        Program { name, version, was_run: true, from, probe, checks: Vec::new() }
    }

    /// The table was made where it was not installed, and has no result.
    pub(crate) fn not_run(self) -> Program {
        Program { was_run: false, ..self }
    }

    /// A command that must print and end alike on both, but for numbers.
    pub(crate) fn check(self, name: &'static str, command: &'static str) -> Program {
        self.with(name, Step::Command(command))
    }

    pub(crate) fn with(mut self, name: &'static str, step: Step) -> Program {
        let (mask, order) = (Mask::Numbers, Order::Same);
        let (way, succeeds) = (Way::Tcp, false);
        let check = Check { name, step, way, mask, order, expected: None, succeeds, difference: None };
        self.checks.push(check);
        self
    }

    fn last(mut self, change: impl FnOnce(&mut Check)) -> Program {
        change(self.checks.last_mut().expect("a check to change"));
        self
    }

    /// Makes the last check use this transport instead of TCP.
    pub(crate) fn over(self, way: Way) -> Program {
        self.last(|check| check.way = way)
    }

    /// The last check must print these lines on both.
    pub(crate) fn prints(self, expected: &'static [&'static str]) -> Program {
        self.last(|check| (check.expected, check.mask) = (Some(expected), Mask::Nothing))
    }

    /// The last check must end with status 0 on both.
    pub(crate) fn succeeds(self) -> Program {
        self.last(|check| check.succeeds = true)
    }

    /// In the last check the first word of each line counts, and Sphinx may print more of them.
    pub(crate) fn at_least_the_names(self) -> Program {
        self.last(|check| (check.mask, check.order) = (Mask::AllButFirstWord, Order::AtLeast))
    }

    /// In the last check the order of lines does not count.
    pub(crate) fn in_any_order(self) -> Program {
        self.last(|check| check.order = Order::Any)
    }

    /// The last check differs by these lines.
    pub(crate) fn differs(self, lines: &'static [&'static str], why: &'static str) -> Program {
        self.last(|check| check.difference = Some(Difference { lines, old_only: false, why }))
    }

    /// The last check differs by these lines from memcached 1.6.18, and not from 1.6.45.
    pub(crate) fn differs_from_old(self, lines: &'static [&'static str], why: &'static str) -> Program {
        self.last(|check| check.difference = Some(Difference { lines, old_only: true, why }))
    }
}
