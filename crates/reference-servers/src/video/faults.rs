use std::fmt;
use std::str::FromStr;

use units::{Bytes, Nanos, ParseError};

/// A fault of an answer that carries a part of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It begins with this delay.
    Delay(Nanos),
    /// It is sent at this many bytes per second.
    Trickle(Bytes),
    /// The connection is reset after half of the body.
    Reset,
    /// The connection is ended, in good order, after half of the body.
    Cut,
    /// Status 503, without a body.
    Unavailable,
    /// Status 404, as of a file that has vanished.
    Gone,
    /// Status 206 with the range one byte further on, and its bytes.
    WrongRange,
    /// Status 200 and the whole file, for any requested part.
    Whole,
    /// Another byte in the middle of the body.
    Garbled,
}

/// A fault, and in which answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planted {
    /// The fault.
    pub fault: Fault,
    /// With the n-th answer that carries a part of a video, the 2n-th and so on. Bounds: over 0.
    pub every: u64,
}

/// The faults that a server plants; of several that fall on one answer the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Planted>);

const HINT: &str = "write NAME:N for every N-th chunk, with commas between: delay:N:3s, trickle:N:16KiB (in a second), \
     reset:N, cut:N, unavailable:N, gone:N, wrong-range:N, whole:N, garbled:N";

/// Faults without a figure.
const PLAIN: [(&str, Fault); 7] = [
    ("reset", Fault::Reset),
    ("cut", Fault::Cut),
    ("unavailable", Fault::Unavailable),
    ("gone", Fault::Gone),
    ("wrong-range", Fault::WrongRange),
    ("whole", Fault::Whole),
    ("garbled", Fault::Garbled),
];

impl Faults {
    /// The fault of the `n`-th answer that carries a part of a video, counted from 1.
    pub fn of(&self, n: u64) -> Option<Fault> {
        let falls_on = |planted: &&Planted| planted.every > 0 && n.is_multiple_of(planted.every);
        self.0.iter().find(falls_on).map(|planted| planted.fault)
    }
}

impl FromStr for Faults {
    type Err = ParseError;

    /// Reads `reset:10,delay:25:3s`, and nothing as no fault.
    fn from_str(text: &str) -> Result<Faults, ParseError> {
        let error = |problem: String| ParseError { what: "faults", given: text.into(), problem, hint: HINT };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| planted(part).map_err(error)).collect::<Result<Vec<_>, _>>().map(Faults)
    }
}

fn planted(text: &str) -> Result<Planted, String> {
    let mut words = text.splitn(3, ':');
    let (name, every, more) = (words.next().unwrap_or_default(), words.next(), words.next());
    let number = every.and_then(|every| every.trim().parse().ok()).filter(|every| *every > 0);
    let every: u64 = number.ok_or_else(|| format!("'{text}' does not say every how many chunks"))?;
    let fault = match (name, more) {
        ("delay", Some(time)) => Fault::Delay(time.parse().map_err(|e: ParseError| e.to_string())?),
        ("trickle", Some(rate)) => {
            let rate: Bytes = rate.parse().map_err(|e: ParseError| e.to_string())?;
            if rate.0 == 0 {
                return Err(format!("'{text}': at 0 bytes per second nothing ever comes"));
            }
            Fault::Trickle(rate)
        }
        ("delay" | "trickle", None) => return Err(format!("'{text}' lacks its time or its rate")),
        (_, Some(more)) => return Err(format!("'{name}' takes no '{more}'")),
        (_, None) => {
            PLAIN
                .iter()
                .find(|(known, _)| *known == name)
                .ok_or_else(|| format!("there is no fault '{name}'"))?
                .1
        }
    };
    Ok(Planted { fault, every })
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let every = self.every;
        match self.fault {
            Fault::Delay(time) => write!(f, "delay:{every}:{}ns", time.0),
            Fault::Trickle(rate) => write!(f, "trickle:{every}:{}", rate.0),
            plain => {
                let name = PLAIN.iter().find(|(_, fault)| *fault == plain).map_or("", |(name, _)| *name);
                write!(f, "{name}:{every}")
            }
        }
    }
}

impl fmt::Display for Faults {
    /// Text that parses back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(Planted::to_string).collect();
        f.pad(&all.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let check = |text: &str, expect: &[(Fault, u64)]| {
            let faults: Faults = text.parse().unwrap();
            let of = |(fault, every): &(Fault, u64)| Planted { fault: *fault, every: *every };
            assert_eq!(faults, Faults(expect.iter().map(of).collect()), "{text}");
            assert_eq!(faults.to_string().parse(), Ok(faults));
        };
        check("", &[]);
        check("reset:10", &[(Fault::Reset, 10)]);
        check(
            "delay:25:3s, trickle:7:16KiB",
            &[(Fault::Delay(Nanos::from_secs(3)), 25), (Fault::Trickle(Bytes(16_384)), 7)],
        );
        check(
            "cut:1,unavailable:2,gone:3,wrong-range:4,whole:5,garbled:6",
            &[
                (Fault::Cut, 1),
                (Fault::Unavailable, 2),
                (Fault::Gone, 3),
                (Fault::WrongRange, 4),
                (Fault::Whole, 5),
                (Fault::Garbled, 6),
            ],
        );
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Faults>().unwrap_err().to_string();
            assert!(error.contains(expect) && error.contains("wrong-range:N"), "{text}: {error}");
        };
        check("reset", "every how many chunks");
        check("reset:0", "every how many chunks");
        check("reset:often", "every how many chunks");
        check("reset:5:3s", "takes no '3s'");
        check("delay:5", "lacks its time");
        check("delay:5:long", "'long'");
        check("trickle:5:0", "nothing ever comes");
        check("explode:5", "no fault 'explode'");
    }

    #[test]
    fn the_first_that_falls_on_an_answer_is_planted() {
        let faults: Faults = "reset:3,gone:2".parse().unwrap();
        let all: Vec<_> = (1..=6).map(|n| faults.of(n)).collect();
        let (reset, gone) = (Some(Fault::Reset), Some(Fault::Gone));
        assert_eq!(all, [None, gone, reset, gone, None, reset]);
        assert_eq!(Faults::default().of(1), None);
    }
}
