//! How long a thread that has nothing to do looks for work before it sleeps.
//!
//! Waking a sleeping thread takes a virtual machine some 13 µs, and longer in the tail; a thread that still looks for
//! work sees messages at once, and its peers need not wake it. The price is a processor that is never idle, so it is an
//! option, with an automatic mode.
//!
//! Try it: `cargo test -p sphinx spin`.

use std::fmt;
use std::str::FromStr;

use units::{Nanos, Time};

/// How a thread waits before it sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spin {
    /// It sleeps at once.
    #[default]
    Off,
    /// It looks for work for this long.
    For(Nanos),
    /// It looks for [`Spin::AUTO`] when most of its pauses have been shorter lately.
    Auto,
}

impl Spin {
    /// The longest that [`Spin::Auto`] looks for work: four wake-ups of some 13 µs. Spinning through a longer pause
    /// costs more than a wake-up.
    pub const AUTO: Nanos = Nanos::from_micros(50);
    /// The longest that can be asked for: a timer tick or so; more would be a busy loop.
    pub const LONGEST: Nanos = Nanos::from_millis(10);
}

impl fmt::Display for Spin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spin::Off => f.pad("off"),
            Spin::Auto => f.pad("auto"),
            Spin::For(time) => write!(f, "{}", time.as_micros_f64()),
        }
    }
}

impl FromStr for Spin {
    type Err = String;

    fn from_str(text: &str) -> Result<Spin, String> {
        match text {
            "off" | "0" => return Ok(Spin::Off),
            "auto" => return Ok(Spin::Auto),
            _ => {}
        }
        let time = match text.parse::<u64>() {
            Ok(micros) => Nanos(micros.saturating_mul(1_000)),
            Err(_) => {
                text.parse::<Nanos>().map_err(|_| "write auto, off, or microseconds such as 50".to_owned())?
            }
        };
        if time > Spin::LONGEST {
            return Err(format!("{time} is too long to look for work; the longest is {}", Spin::LONGEST));
        }
        Ok(if time == Nanos::ZERO { Spin::Off } else { Spin::For(time) })
    }
}

/// Decides whether one thread continues to look for work, from its history.
#[derive(Debug)]
pub(crate) struct Spinner {
    spin: Spin,
    /// When there was last something to do; `None` while there is.
    idle_since: Option<Time>,
    /// The share of pauses that were short, in 1/256; each new one weighs 1/16.
    short: u32,
    /// Time spent looking.
    pub(crate) looked: Nanos,
    /// Pauses that ended while it looked.
    pub(crate) found: u64,
}

impl Spinner {
    pub(crate) fn new(spin: Spin) -> Spinner {
        Spinner { spin, idle_since: None, short: 0, looked: Nanos::ZERO, found: 0 }
    }

    /// Whether it never looks; then the clock need not be read.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.spin == Spin::Off
    }

    /// There is nothing to do at `now`: whether to look again, rather than sleep.
    #[inline]
    pub(crate) fn goes_on(&mut self, now: Time) -> bool {
        let since = *self.idle_since.get_or_insert(now);
        let limit = match self.spin {
            Spin::Off => Nanos::ZERO,
            Spin::For(time) => time,
            Spin::Auto if self.short > 128 => Spin::AUTO,
            Spin::Auto => Nanos::ZERO,
        };
        now.since(since) < limit
    }

    /// There was something to do at `now`, after it had looked, or slept.
    #[inline]
    pub(crate) fn found_work(&mut self, now: Time, slept: bool) {
        let Some(since) = self.idle_since.take() else { return };
        let pause = now.since(since);
        let short = u32::from(pause < Spin::AUTO) * 256;
        self.short = (self.short * 15 + short).div_ceil(16).min(256);
        if !slept {
            self.found += 1;
            self.looked += pause;
        }
    }

    /// Resets the counters, but keeps the learned state.
    pub(crate) fn reset(&mut self) {
        (self.looked, self.found) = (Nanos::ZERO, 0);
    }

    /// It sleeps now, having looked since the pause began.
    #[inline]
    pub(crate) fn gives_up(&mut self, now: Time) {
        self.looked += now.since(self.idle_since.unwrap_or(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_what_it_is_told() {
        let check = |text: &str, expect: Result<Spin, &str>| match (text.parse::<Spin>(), expect) {
            (Ok(got), Ok(expect)) => {
                assert_eq!(got, expect, "{text}");
                assert_eq!(got.to_string().parse(), Ok(got), "{text}");
            }
            (Err(got), Err(expect)) => assert!(got.contains(expect), "{text}: {got}"),
            (got, expect) => panic!("{text}: {got:?}, not {expect:?}"),
        };
        check("off", Ok(Spin::Off));
        check("0", Ok(Spin::Off));
        check("auto", Ok(Spin::Auto));
        check("50", Ok(Spin::For(Nanos::from_micros(50))));
        check("1ms", Ok(Spin::For(Nanos::from_millis(1))));
        check("11ms", Err("the longest is 10 ms"));
        check("18446744073709551615", Err("the longest"));
        check("-1", Err("write auto, off, or microseconds"));
        check("", Err("write auto"));
    }

    /// Pauses of this length each, one after the other; whether it looks in the next.
    fn looks_after(spin: Spin, pauses: usize, length: Nanos) -> bool {
        let mut spinner = Spinner::new(spin);
        let mut now = Time(0);
        for _ in 0..pauses {
            let slept = !spinner.goes_on(now);
            now += length;
            spinner.found_work(now, slept);
        }
        spinner.goes_on(now)
    }

    #[test]
    fn looks_when_that_has_paid() {
        let us = Nanos::from_micros;
        assert!(!looks_after(Spin::Off, 100, us(1)));
        assert!(looks_after(Spin::For(us(10)), 0, us(1)) && looks_after(Spin::For(us(10)), 100, us(1_000)));
        assert!(!looks_after(Spin::Auto, 0, us(1)), "it has seen nothing yet");
        assert!(looks_after(Spin::Auto, 20, us(10)));
        assert!(looks_after(Spin::Auto, 1_000, us(49)));
        assert!(!looks_after(Spin::Auto, 1_000, us(51)));
        let mut spinner = Spinner::new(Spin::Auto);
        let mut now = Time(0);
        // One long pause among short ones does not change its mind; a run of them does.
        let mut pause = |spinner: &mut Spinner, length: Nanos| {
            let slept = !spinner.goes_on(now);
            now += length;
            spinner.found_work(now, slept);
            spinner.goes_on(now)
        };
        (0..50).for_each(|_| _ = pause(&mut spinner, us(5)));
        assert!(pause(&mut spinner, us(500)));
        let still = (0..50).take_while(|_| pause(&mut spinner, us(500))).count();
        assert!((5..20).contains(&still), "{still}");
    }

    #[test]
    fn stops_at_its_limit_and_counts_what_it_cost() {
        let mut spinner = Spinner::new(Spin::For(Nanos(1_000)));
        assert!(spinner.goes_on(Time(5_000)) && spinner.goes_on(Time(5_999)));
        assert!(!spinner.goes_on(Time(6_000)));
        spinner.gives_up(Time(6_000));
        spinner.found_work(Time(90_000), true);
        assert!(spinner.goes_on(Time(100_000)));
        spinner.found_work(Time(100_200), false);
        assert_eq!((spinner.looked, spinner.found), (Nanos(1_200), 1));
        spinner.reset();
        assert_eq!((spinner.looked, spinner.found), (Nanos::ZERO, 0));
    }
}
