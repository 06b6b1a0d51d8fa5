//! The playback that a viewer sees: a pure function of the chunks' arrival times.

use units::Nanos;

/// A player: it starts with the first chunks, plays the buffer, stops when that is empty, and resumes with some chunks.
///
/// Times count from the viewer's arrival and do not decrease. A chunk that fails is skipped: the viewer misses its
/// content, and waits for it no longer than until the failure is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    state: State,
    started: bool,
    resume_with: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the start, or in a stall.
    Stopped {
        since: Nanos,
        /// Arrived since then.
        chunks: u32,
        media: Nanos,
    },
    /// The moment at which the buffer runs empty without further chunks.
    Playing { dry: Nanos },
}

/// The effect of a chunk when it arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// From the viewer's arrival to the first picture, of the chunk that began it.
    pub start_up: Option<Nanos>,
    /// How much was buffered before it; `None` before the first picture.
    pub buffered: Option<Nanos>,
    /// How long before its time it arrived; `None` if its time had passed, or the video had not begun.
    pub slack: Option<Nanos>,
    /// The length of the stall that ended with it.
    pub stall: Option<Nanos>,
}

impl Player {
    /// A player that plays once it has `resume_with` chunks, or all. Bounds: at least 1.
    pub fn new(resume_with: u32) -> Player {
        let state = State::Stopped { since: Nanos::ZERO, chunks: 0, media: Nanos::ZERO };
        Player { state, started: false, resume_with: resume_with.max(1) }
    }

    /// Whether the viewer has seen a picture.
    pub fn has_started(&self) -> bool {
        self.started
    }

    /// How much is buffered at `at`. Units: time of the video.
    pub fn buffered(&self, at: Nanos) -> Nanos {
        match self.state {
            State::Stopped { media, .. } => media,
            State::Playing { dry } => dry - at,
        }
    }

    /// A chunk has arrived; no other follows the last one.
    pub fn arrived(&mut self, at: Nanos, media: Nanos, last: bool) -> Seen {
        self.next(at, 1, media, last)
    }

    /// It is known that a chunk does not come.
    pub fn failed(&mut self, at: Nanos, last: bool) -> Seen {
        self.next(at, 0, Nanos::ZERO, last)
    }

    /// How long the video has stood still at `at`, since it has begun and if it does.
    pub fn stalled(&self, at: Nanos) -> Option<Nanos> {
        let since = match self.state {
            State::Stopped { since, .. } => since,
            State::Playing { dry } => dry,
        };
        (self.started && since < at).then(|| at - since)
    }

    fn next(&mut self, at: Nanos, came: u32, came_media: Nanos, last: bool) -> Seen {
        let mut seen = Seen::default();
        if self.started {
            seen.buffered = Some(self.buffered(at));
        }
        let (since, chunks, media) = match self.state {
            State::Playing { dry } if at <= dry => {
                seen.slack = (came > 0).then(|| dry - at);
                self.state = State::Playing { dry: dry + came_media };
                return seen;
            }
            State::Playing { dry } => (dry, came, came_media),
            State::Stopped { since, chunks, media } => (since, chunks + came, media + came_media),
        };
        let enough = chunks >= self.resume_with || last && chunks > 0;
        if enough && !self.started {
            self.started = true;
            seen.start_up = Some(at);
        } else if enough || last && self.started {
            seen.stall = Some(at - since);
        }
        self.state = match seen {
            Seen { start_up: None, stall: None, .. } => State::Stopped { since, chunks, media },
            _ => State::Playing { dry: at + media },
        };
        seen
    }
}

#[cfg(test)]
mod tests;
