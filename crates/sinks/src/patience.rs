use std::thread::sleep;
use std::time::Duration;

use crate::Error;

/// The longest pause that a sink may ask for.
const LONGEST: Duration = Duration::from_secs(5);

/// Time limits and retries for a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The most tries to send a batch.
    pub tries: u32,
    /// The pause before a retry, which doubles each time.
    pub pause: Duration,
    /// The time limit of an answer.
    pub answer: Duration,
    /// The time limit until all spans sent can be read.
    pub settle: Duration,
}

impl Default for Patience {
    /// Source: ours. Six tries take 3.1 s of pauses, within which a service that restarts is back; an answer takes some
    /// ms.
    fn default() -> Patience {
        Patience {
            tries: 6,
            pause: Duration::from_millis(100),
            answer: Duration::from_secs(10),
            settle: Duration::from_secs(10),
        }
    }
}

/// Why a try failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A retry may succeed, after this pause if the sink named one.
    Passing { problem: String, after: Option<Duration> },
    /// No other would.
    Final(String),
}

impl Failure {
    pub(crate) fn passing(problem: impl Into<String>) -> Failure {
        Failure::Passing { problem: problem.into(), after: None }
    }
}

impl Patience {
    /// Tries until success, a final failure or the last try.
    pub(crate) fn tried<T>(
        &self,
        sink: &str,
        mut attempt: impl FnMut() -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let (mut tries, mut pause) = (1, self.pause);
        loop {
            match attempt() {
                Ok(done) => return Ok(done),
                Err(Failure::Final(problem)) => return Err(Error::Refused { sink: sink.into(), problem }),
                Err(Failure::Passing { problem, .. }) if tries >= self.tries => {
                    return Err(Error::NoAnswer { sink: sink.into(), problem, tries });
                }
                Err(Failure::Passing { after, .. }) => sleep(after.unwrap_or(pause).min(LONGEST)),
            }
            tries += 1;
            pause *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(outcomes: &[Result<u32, Failure>]) -> (Result<u32, String>, usize) {
        let patience = Patience { tries: 3, pause: Duration::from_micros(1), ..Patience::default() };
        let mut left = outcomes.iter();
        let result = patience.tried("it", || left.next().expect("no further try").clone());
        (result.map_err(|e| e.to_string()), outcomes.len() - left.len())
    }

    #[test]
    fn what_may_pass_is_tried_again_and_not_for_ever() {
        let passing = || Err(Failure::passing("busy"));
        assert_eq!(tried(&[Ok(7)]), (Ok(7), 1));
        assert_eq!(tried(&[passing(), passing(), Ok(7)]), (Ok(7), 3));
        let (result, tries) = tried(&[passing(), passing(), passing(), Ok(7)]);
        assert!(tries == 3 && result.unwrap_err().contains("it: busy (3 tries)"));
        let (result, tries) = tried(&[Err(Failure::Final("wrong".into())), Ok(7)]);
        assert_eq!((result, tries), (Err("it: wrong".into()), 1));
    }
}
