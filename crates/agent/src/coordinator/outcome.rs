use crate::{Comparison, Drift};

/// Result of a load that several agents generated.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The common start time, by this machine's `CLOCK_MONOTONIC`. Units: ns.
    pub start_ns: u64,
    /// One for each agent, in the given order.
    pub parts: Vec<Part>,
}

impl Outcome {
    /// The first agent that was lost or whose generator failed, and why.
    pub fn lost(&self) -> Option<(&Part, &str)> {
        let lost = self.parts.iter().filter_map(|part| Some((part, part.recording.as_ref().err()?.as_str())));
        lost.min_by_key(|(part, _)| part.lost_ns)
    }
}

/// One agent's part.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Name that the agent reports.
    pub name: String,
    /// Its address, as the user wrote it.
    pub address: String,
    /// Its generator's recording, or why it is missing.
    pub recording: Result<Vec<u8>, String>,
    /// When it was lost, by this machine's `CLOCK_MONOTONIC`. Units: ns.
    pub lost_ns: Option<u64>,
    /// Its clock.
    pub clock: ClockReport,
}

/// An agent's clock relative to the coordinator's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockReport {
    /// Right before the start, whose time was converted with it.
    pub at_start: Comparison,
    /// Its drift relative to this clock, from the beginning of the session to the end of the load; `None` if the agent
    /// was lost.
    pub drift: Option<Drift>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(recording: Result<Vec<u8>, String>, lost_ns: Option<u64>) -> Part {
        let at_start = Comparison { at_ns: 1_000_000_000, offset_ns: 7, error_ns: 40_000 };
        let drift = Some(Drift { ppm: -50.0, error_ppm: 10.0 });
        let clock = ClockReport { at_start, drift };
        Part { name: "a".into(), address: "h:1".into(), recording, lost_ns, clock }
    }

    #[test]
    fn the_first_loss_is_the_cause_of_the_others() {
        let check = |parts: Vec<Part>, expect: Option<&str>| {
            let outcome = Outcome { start_ns: 0, parts };
            assert_eq!(outcome.lost().map(|(_, why)| why), expect);
        };
        check(vec![part(Ok(vec![]), None), part(Ok(vec![]), None)], None);
        let (late, early) = (part(Err("late".into()), Some(9)), part(Err("early".into()), Some(3)));
        check(vec![part(Ok(vec![]), None), late, early], Some("early"));
    }
}
