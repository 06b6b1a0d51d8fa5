use openloop::Distribution;
use units::Nanos;

/// A thread's counters and distributions over the window.
///
/// Figures of chunks and sessions belong to the moment at which a chunk was due, so that a chunk due in the window
/// counts at any arrival; figures of answers belong to the moment at which they arrived.
#[derive(Clone, Debug)]
pub(super) struct VideoCounts {
    pub(super) answers: Answers,
    /// The answers that had arrived when the window closed.
    in_window: Option<Answers>,
    pub(super) possible: Possible,
    pub(super) chunks: Chunks,
    pub(super) sessions: Sessions,
    start_up: Distribution,
    slack: Distribution,
    stall: Distribution,
    buffer: Distribution,
    window: Nanos,
}

/// Of the requests due in the window, those that a server can answer in time: all but the requests of viewers whose
/// quality takes more than their bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Possible {
    pub(super) due: u64,
    pub(super) completed: u64,
}

/// Counters of answers that arrived in the window; compared contents include later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) answered: u64,
    /// With status 206.
    pub(super) partial: u64,
    /// Bodies that were wrong, and those that were compared.
    pub(super) wrong: u64,
    pub(super) verified: u64,
    /// Connections that the server ended without being asked.
    pub(super) ended: u64,
}

/// Counters of chunks due in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chunks {
    /// Chunks whose time-out is over, or that ended before.
    pub(super) due: u64,
    pub(super) missed: u64,
    pub(super) played: Nanos,
    pub(super) stalled: Nanos,
    pub(super) stalls: u64,
}

/// Counters of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    /// Sessions that arrived in the window.
    pub(super) arrived: u64,
    pub(super) hopeless: u64,
    pub(super) abandoned: u64,
    /// With a chunk that was due in the window.
    pub(super) judged: u64,
    /// And nothing against them there.
    pub(super) met: u64,
}

impl VideoCounts {
    pub(super) fn new(window: Nanos) -> VideoCounts {
        VideoCounts {
            answers: Answers::default(),
            in_window: None,
            possible: Possible::default(),
            chunks: Chunks::default(),
            sessions: Sessions::default(),
            start_up: Distribution::new("startup"),
            slack: Distribution::new("slack"),
            stall: Distribution::new("stall"),
            buffer: Distribution::over_time("buffer", window),
            window,
        }
    }

    /// The start-up delay of a session that arrived in the window; its age if the end of the load cut it, the time of leaving
    /// for a viewer who left, and for a session that failed before its start at least the time-out of a chunk.
    pub(super) fn started(&mut self, delay: Nanos) {
        self.start_up.values.record(delay);
    }

    /// Records how long before its time a chunk arrived.
    pub(super) fn in_time(&mut self, slack: Nanos) {
        self.slack.values.record(slack);
    }

    /// A stall.
    pub(super) fn stalled(&mut self, length: Nanos) {
        self.stall.values.record(length);
        self.chunks.stalls += 1;
        self.chunks.stalled += length;
    }

    /// Records the buffer level when a chunk arrived, `offset` after the window opened.
    pub(super) fn buffered(&mut self, offset: Nanos, buffer: Nanos) {
        if offset < self.window {
            self.buffer.record(offset, buffer);
        }
    }

    /// Name, count, and of how many; the same names in every thread.
    pub(super) fn list(&self, verifies: bool) -> Vec<(String, u64, u64)> {
        let VideoCounts { chunks, sessions, possible, .. } = self;
        let answers = self.in_window.as_ref().unwrap_or(&self.answers);
        let ms = |time: Nanos| time.0 / 1_000_000;
        let (stalled, played) = (ms(chunks.stalled), ms(chunks.played));
        let figures = [
            ("misses", chunks.missed, chunks.due),
            ("rebuffer_ratio", stalled, stalled + played),
            ("rebuffer_of_media", stalled, played),
            ("stalls", chunks.stalls, played),
            ("sessions_met", sessions.met, sessions.judged),
            ("hopeless", sessions.hopeless, sessions.arrived),
            ("possible_steps_completed", possible.completed, possible.due),
            ("abandoned", sessions.abandoned, sessions.arrived),
            ("partial_content", answers.partial, answers.answered),
            ("closed_by_server", answers.ended, answers.answered),
        ];
        let verified = verifies.then_some(("verify_failures", self.answers.wrong, self.answers.verified));
        let named = |(name, count, of): (&str, u64, u64)| (name.to_owned(), count, of);
        figures.into_iter().chain(verified).map(named).collect()
    }

    /// The quantities by name.
    pub(super) fn distributions(&self) -> Vec<Distribution> {
        Vec::from([&self.start_up, &self.slack, &self.stall, &self.buffer].map(Distribution::clone))
    }

    /// The window opens. Figures of chunks due in it cannot have been counted before.
    pub(super) fn window_opens(&mut self) {
        self.answers = Answers::default();
    }

    /// The window closes: answers that arrive now do not count in it.
    pub(super) fn window_closes(&mut self) {
        self.in_window = Some(self.answers);
    }
}
