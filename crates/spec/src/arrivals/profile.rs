//! How the offered rate changes over time.
//!
//! A profile stretches and squeezes the time of any process: where its factor is 2, the process's clock runs twice as
//! fast. That is exact for every process, and leaves its own character, bursts included, as it was. Factors of the
//! offered rate are used rather than rates, so that a profile keeps its form when a search varies the rate.
//!
//! Source: Çinlar, *Introduction to stochastic processes*, 1975, §4.7 (operational time).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use units::ParseError;

use crate::Notation;
use crate::syntax::{Syntax, whole_span};

/// How the offered rate changes over time, in factors of it.
///
/// Shape: pieces in which the factor is linear. After the last piece its factor stays, unless all is repeated.
/// Bounds: at most 1 000 pieces, factors up to 1 000, and not 0 all the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    kind: Kind,
    pieces: Arc<[Piece]>,
    repeat: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Ramp,
    Steps,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: f64,
    to: f64,
    span_ns: u64,
    /// When it begins, and the integral of the factors up to there. Units: ns.
    start: f64,
    area: f64,
}

/// The position of a walk through a profile, so that each arrival costs constant time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cursor {
    piece: usize,
    round: u64,
}

const HINT: &str = "write ramp:FROMx..TOx/TIME such as ramp:0.1x..1x/60s, or steps:FACTORx@TIME,… such as \
     steps:1x@10s,3x@5s, with ,repeat at its end to begin again";

impl Profile {
    /// The most pieces.
    pub const MAX_PIECES: usize = 1_000;
    /// The highest factor.
    pub const MAX_FACTOR: f64 = 1_000.0;

    /// Every form.
    pub const FORMS: [Notation; 2] = [
        Notation {
            syntax: "ramp:FROMx..TOx/TIME",
            meaning: "the rate goes evenly from FROM to TO times the offered rate within TIME, and stays there; with \
                 ,repeat it begins again",
            example: "ramp:0.1x..1x/60s",
            source: "a time change of the process: Çinlar, Introduction to stochastic processes, 1975, §4.7",
            check: "arrivals in each part of the time by the integral of the rate",
        },
        Notation {
            syntax: "steps:FACTORx@TIME,…",
            meaning: "for each TIME that multiple of the offered rate; the last stays; with ,repeat at its end all \
                 begins again",
            example: "steps:1x@10s,3x@5s,repeat",
            source: "a time change of the process, as above",
            check: "arrivals in each part of the time by the integral of the rate",
        },
    ];

    /// How this one is written.
    pub fn notation(&self) -> &'static Notation {
        &Profile::FORMS[self.kind as usize]
    }

    fn new(kind: Kind, factors: Vec<(f64, f64, u64)>, repeat: bool) -> Profile {
        let (mut start, mut area) = (0.0, 0.0);
        let pieces = factors.into_iter().map(|(from, to, span_ns)| {
            let piece = Piece { from, to, span_ns, start, area };
            start += span_ns as f64;
            area += (from + to) / 2.0 * span_ns as f64;
            piece
        });
        Profile { kind, pieces: pieces.collect(), repeat }
    }

    fn last(&self) -> &Piece {
        self.pieces.last().expect("a profile has a piece: the parser sees to it")
    }

    /// The integral of the factors up to `t` ns: how much of its own time the process has spent.
    pub fn spent(&self, t: f64) -> f64 {
        let last = self.last();
        let (mut t, mut before) = (t.max(0.0), 0.0);
        if self.repeat {
            let rounds = (t / last.end()).floor();
            (t, before) = (t - rounds * last.end(), rounds * last.area_end());
        } else if t > last.end() {
            return last.area_end() + (t - last.end()) * last.to;
        }
        let at = self.pieces.partition_point(|piece| piece.start <= t).max(1) - 1;
        before + self.pieces[at].spent(t)
    }

    /// The time at which the process has spent `own` ns of its own time, or `None` if it never does.
    ///
    /// Bounds: `own` never less than at the call before with the same cursor.
    #[inline]
    pub fn reached(&self, own: f64, cursor: &mut Cursor) -> Option<f64> {
        let last = self.last();
        loop {
            let round_area = cursor.round as f64 * last.area_end();
            let piece = &self.pieces[cursor.piece];
            let within = own - round_area;
            if within <= piece.area_end() {
                // Rounds are multiplied, not summed up, so that no rounding error grows.
                return Some(cursor.round as f64 * last.end() + piece.reached(within));
            }
            if cursor.piece + 1 < self.pieces.len() {
                cursor.piece += 1;
            } else if self.repeat {
                *cursor = Cursor { piece: 0, round: cursor.round + 1 };
            } else if last.to > 0.0 {
                return Some(last.end() + (within - last.area_end()) / last.to);
            } else {
                return None;
            }
        }
    }
}

impl Piece {
    fn end(&self) -> f64 {
        self.start + self.span_ns as f64
    }

    fn area_end(&self) -> f64 {
        self.area + (self.from + self.to) / 2.0 * self.span_ns as f64
    }

    /// By `t`, a moment of this piece.
    fn spent(&self, t: f64) -> f64 {
        let t = t - self.start;
        let slope = (self.to - self.from) / self.span_ns as f64;
        self.area + t * (self.from + slope * t / 2.0)
    }

    /// When `own` is spent, which happens in this piece.
    #[inline]
    fn reached(&self, own: f64) -> f64 {
        let area = (own - self.area).max(0.0);
        if area == 0.0 {
            return self.start;
        }
        let slope = (self.to - self.from) / self.span_ns as f64;
        // The form of the root that cancels no digits. Rounding may make the radicand negative.
        let root = (self.from * self.from + 2.0 * slope * area).max(0.0).sqrt();
        (self.start + 2.0 * area / (self.from + root)).min(self.end())
    }
}

impl fmt::Display for Profile {
    /// A text that reads back as the same profile.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = match self.kind {
            Kind::Ramp => {
                let piece = self.last();
                format!("ramp:{}x..{}x/{}", piece.from, piece.to, whole_span(piece.span_ns))
            }
            Kind::Steps => {
                let steps = self.pieces.iter().map(|p| format!("{}x@{}", p.from, whole_span(p.span_ns)));
                format!("steps:{}", steps.collect::<Vec<_>>().join(","))
            }
        };
        if self.repeat {
            text += ",repeat";
        }
        f.pad(&text)
    }
}

impl FromStr for Profile {
    type Err = ParseError;

    /// Reads every syntax of [`Profile::FORMS`].
    fn from_str(text: &str) -> Result<Profile, ParseError> {
        let syntax = Syntax { what: "load profile", given: text, hint: HINT };
        let factor = |text: &str| syntax.factor(text, "factor", Profile::MAX_FACTOR);
        let (name, rest) = syntax.name();
        let rest = rest.ok_or_else(|| syntax.error("it has no colon"))?;
        let (rest, repeat) = match rest.rsplit_once(',') {
            Some((rest, word)) if word.trim() == "repeat" => (rest, true),
            _ => (rest, false),
        };
        let (kind, factors) = match name {
            "ramp" => {
                let (range, span) = rest.split_once('/').ok_or_else(|| syntax.error("it has no '/TIME'"))?;
                let (from, to) = range.split_once("..").ok_or_else(|| syntax.error("it has no '..'"))?;
                (Kind::Ramp, vec![(factor(from)?, factor(to)?, syntax.span(span, "time")?)])
            }
            "steps" => {
                let step = |step: &str| {
                    let (level, span) = step
                        .split_once('@')
                        .ok_or_else(|| syntax.error(format!("'{step}' is not FACTORx@TIME")))?;
                    let level = factor(level)?;
                    Ok((level, level, syntax.span(span, "time")?))
                };
                (Kind::Steps, rest.split(',').map(step).collect::<Result<Vec<_>, ParseError>>()?)
            }
            _ => return Err(syntax.error("there is none of this name")),
        };
        if factors.len() > Profile::MAX_PIECES {
            return Err(syntax.error(format!("it has more than {} steps", Profile::MAX_PIECES)));
        }
        if factors.iter().all(|(from, to, _)| *from == 0.0 && *to == 0.0) {
            return Err(syntax.error("all of its factors are 0, so that nothing would ever arrive"));
        }
        Ok(Profile::new(kind, factors, repeat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_prints() {
        for notation in &Profile::FORMS {
            let profile: Profile = notation.example.parse().unwrap();
            assert_eq!((profile.to_string().as_str(), profile.notation()), (notation.example, notation));
        }
        let check = |text: &str, shown: &str| {
            assert_eq!(text.parse::<Profile>().unwrap().to_string(), shown);
        };
        check("ramp:0..2/1.5s", "ramp:0x..2x/1500ms");
        check("ramp:1x..0x/1s,repeat", "ramp:1x..0x/1s,repeat");
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Profile>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("ramp", "no colon");
        check("ramp:1..2", "no '/TIME'");
        check("ramp:1/2s", "no '..'");
        check("ramp:1..2/0s", "its time is 0");
        check("ramp:-1..2/1s", "factor -1 is not between 0 and 1000");
        check("steps:1x", "'1x' is not FACTORx@TIME");
        check("steps:0x@1s,0x@2s", "nothing would ever arrive");
        check("steps:repeat", "'repeat' is not FACTORx@TIME");
        check("sine:1", "none of this name");
        check(&format!("steps:1@1s{}", ",1@1s".repeat(1_000)), "more than 1000 steps");
    }

    #[test]
    fn spends_the_area_under_the_factors() {
        let check = |text: &str, t: f64, expect: f64| {
            let profile: Profile = text.parse().unwrap();
            assert!((profile.spent(t * 1e9) / 1e9 - expect).abs() < 1e-9, "{text} at {t}");
        };
        check("ramp:0x..2x/10s", 5.0, 2.5);
        check("ramp:0x..2x/10s", 10.0, 10.0);
        check("ramp:0x..2x/10s", 20.0, 30.0);
        check("ramp:0x..2x/10s,repeat", 25.0, 22.5);
        check("steps:1x@10s,3x@5s", 12.0, 16.0);
        check("steps:1x@10s,3x@5s", 16.0, 28.0);
        check("steps:1x@10s,3x@5s,repeat", 16.0, 26.0);
        check("steps:1x@10s,3x@5s", -1.0, 0.0);
    }

    #[test]
    fn a_profile_that_ends_at_nothing_ends() {
        let profile: Profile = "steps:1x@1s,0x@1s".parse().unwrap();
        let mut cursor = Cursor::default();
        assert_eq!(profile.reached(5e8, &mut cursor), Some(5e8));
        assert_eq!(profile.reached(2e9, &mut cursor), None);
        let profile: Profile = "steps:1x@1s,0x@1s,repeat".parse().unwrap();
        assert_eq!(profile.reached(1.5e9, &mut Cursor::default()), Some(2.5e9));
    }

    proptest! {
        #[test]
        fn reaching_inverts_spending(
            steps in proptest::collection::vec((0u32..40, 1u32..5_000), 1..6),
            ramp in any::<bool>(),
            repeat in any::<bool>(),
            parts in proptest::collection::vec(0.0..1.0f64, 1..20),
        ) {
            let text = if ramp {
                let to = steps.last().unwrap().0;
                format!("ramp:{}..{}/{}ms", f64::from(steps[0].0) / 10.0, f64::from(to) / 10.0, steps[0].1)
            } else {
                let steps: Vec<String> =
                    steps.iter().map(|(f, ms)| format!("{}@{ms}ms", f64::from(*f) / 10.0)).collect();
                format!("steps:{}", steps.join(","))
            };
            let text = if repeat { text + ",repeat" } else { text };
            if let Ok(profile) = text.parse::<Profile>() {
                prop_assert_eq!(&profile.to_string().parse::<Profile>().unwrap(), &profile);
                let mut cursor = Cursor::default();
                let mut own = 0.0;
                for part in parts {
                    own += part * 1e9;
                    if let Some(t) = profile.reached(own, &mut cursor) {
                        prop_assert!((profile.spent(t) - own).abs() < 1.0, "{} at {}: {}", text, own, t);
                    }
                }
            }
        }
    }
}
