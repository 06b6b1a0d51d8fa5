use serde::{Deserialize, Serialize};
use units::{Nanos, Time};

use crate::{Outcome, StepEnd};

/// When a request was due, was sent and ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// When the schedule wanted it sent.
    pub intended: Time,
    /// When it was; `None`: never.
    pub sent: Option<SendTimes>,
    /// When it ended.
    pub done: Time,
}

/// When a request was sent, and when its answer began to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendTimes {
    /// Just before the system call that carried its first byte.
    pub at: Time,
    /// At the return of the receive that brought the answer's first byte; of one without an answer its end.
    pub first_byte: Time,
}

/// A request that the server traces: its spans are joined by `trace` and `span`.
///
/// Units: moments on the clock of the machine that sent it; after [`Recording::rebase`](crate::Recording::rebase)
/// since the opening of its window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// The identity of the request.
    pub trace: [u8; 16],
    /// Identity of the span that caused the server's part of it.
    pub span: u64,
    /// Its operation; an index into the workload's names.
    pub operation: usize,
    /// When.
    pub moments: Moments,
    /// How it ended.
    pub outcome: Outcome,
    /// Bytes of its answer's content.
    pub bytes: u64,
}

impl Traced {
    /// From a step that has ended.
    pub fn of(ended: &StepEnd, (trace, span): ([u8; 16], u64), operation: usize, bytes: u64) -> Traced {
        Traced { trace, span, operation, moments: ended.moments, outcome: ended.outcome, bytes }
    }

    /// done − sent, if it was answered as requested.
    pub fn service_time(&self) -> Option<Nanos> {
        let Moments { sent, done, .. } = self.moments;
        sent.filter(|_| self.outcome == Outcome::Completed).map(|sent| done.since(sent.at))
    }

    /// A copy with moments after `start`.
    pub(crate) fn rebase(&mut self, start: Time) {
        let after = |moment: &mut Time| moment.0 = moment.0.saturating_sub(start.0);
        let Moments { intended, sent, done } = &mut self.moments;
        after(intended);
        after(done);
        if let Some(SendTimes { at, first_byte }) = sent {
            after(at);
            after(first_byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_read_back_and_counted_from_the_window() {
        let sent = Some(SendTimes { at: Time(1_010), first_byte: Time(1_300) });
        let moments = Moments { intended: Time(1_000), sent, done: Time(1_400) };
        let one = Traced {
            trace: [7; 16],
            span: u64::MAX,
            operation: 2,
            moments,
            outcome: Outcome::Completed,
            bytes: 5,
        };
        let back: Traced = serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap();
        assert_eq!(back, one);
        assert_eq!(one.service_time(), Some(Nanos(390)));
        let mut later = one.clone();
        later.rebase(Time(900));
        assert_eq!((later.moments.intended, later.moments.done), (Time(100), Time(500)));
        assert_eq!(later.service_time(), Some(Nanos(390)));
        assert_eq!(Traced { outcome: Outcome::Error, ..one.clone() }.service_time(), None);
        assert_eq!(Traced { moments: Moments { sent: None, ..moments }, ..one }.service_time(), None);
    }
}
