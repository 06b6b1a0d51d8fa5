use serde::{Deserialize, Serialize};
use units::{Nanos, Time};

use crate::{Outcome, StepEnd};

/// When a request was sent, and when its answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Just before the system call that carried its first byte.
    pub sent: Time,
    /// At the return of the receive that brought the answer's first byte; the end of one without an answer.
    pub first_byte: Time,
}

/// A request that the server was told to trace: what those behind it write about it is joined by `trace` and `span`.
///
/// Units: moments on the clock of the machine that sent it, and after [`Recording::rebase`](crate::Recording::rebase) after
/// the opening of its window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// The identity of the request.
    pub trace: [u8; 16],
    /// That of what caused the server's part of it.
    pub span: u64,
    /// Which operation it was; an index into the workload's names.
    pub operation: usize,
    /// When it was due.
    pub intended: Time,
    /// When it was sent; `None`: never.
    pub sent: Option<Sent>,
    /// When it ended.
    pub done: Time,
    /// How.
    pub outcome: Outcome,
    /// Bytes of its answer's content.
    pub bytes: u64,
}

impl Traced {
    /// Of a step that has ended.
    pub fn of(ended: &StepEnd, (trace, span): ([u8; 16], u64), operation: usize, bytes: u64) -> Traced {
        let StepEnd { intended, at, sent, outcome, .. } = *ended;
        Traced { trace, span, operation, intended, sent, done: at, outcome, bytes }
    }

    /// done − intended.
    pub fn response_time(&self) -> Nanos {
        self.done.since(self.intended)
    }

    /// The same after the moment `start`.
    pub(crate) fn rebase(&mut self, start: Time) {
        let after = |moment: &mut Time| *moment = Time(moment.0.saturating_sub(start.0));
        after(&mut self.intended);
        after(&mut self.done);
        if let Some(Sent { sent, first_byte }) = &mut self.sent {
            after(sent);
            after(first_byte);
        }
    }
}
