//! One viewer's session: its next request, and its outcomes.

use openloop::{Next, Outcome, Step, StepEnd};
use spec::workload::Late;
use units::Nanos;

use crate::video::audience::{Audience, Viewer};
use crate::video::config::VideoConfig;
use crate::video::counts::VideoCounts;
use crate::video::course::Pace;
use crate::video::library::{Ask, Library};
use crate::video::player::{Player, Seen};

/// A session is good if it starts within this time, plus the time of its first chunks at its bandwidth, never stalls
/// and misses no chunk. Source: ours; from 2 s on viewers leave (Krishnan and Sitaraman, IMC 2012).
pub const GOOD_START: Nanos = Nanos::from_secs(2);

/// The rules of sessions.
#[derive(Clone)]
pub(super) struct Rules {
    pub(super) library: Library,
    chunk_timeout: Nanos,
    pub(super) give_up: Nanos,
    late: Late,
    pace: Pace,
    resume_with: u32,
    good_start: Nanos,
}

/// A session that is under way.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) viewer: Viewer,
    /// The chunk that is under way or comes next.
    chunk: u32,
    /// How many requests of [`Ask::Index`] have ended.
    indexes: u32,
    /// When the one before it ended, after the start.
    before: Nanos,
    player: Player,
    /// Whether the viewer arrived in the window; `None` until their first request has ended.
    arrived: Option<bool>,
    fate: Fate,
    /// Whether a request of it failed.
    failed: bool,
    /// Whether the last request that ended was due in the window.
    in_window: bool,
    /// Whether it counts among the sessions that are judged, and has failed there.
    judged: bool,
    bad: bool,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Watching,
    /// It lost its connection or its playlist, and with it all later chunks.
    Killed,
    /// The load ended while it waited.
    Cut,
    /// Its viewer left before the first picture.
    Left,
    /// It has no further request.
    Over,
}

impl Rules {
    pub(super) fn new(config: &VideoConfig) -> Rules {
        let library = config.library.clone();
        Rules {
            chunk_timeout: config.options.timeout(),
            give_up: config.options.longest_chunk(),
            late: config.options.late,
            pace: Pace::new(config),
            resume_with: config.options.resume_with,
            good_start: library.lasts(GOOD_START),
            library,
        }
    }

    /// The longest start-up delay of a viewer without fault of the server: excludes the time of the first chunks at the
    /// bandwidth, and the later due time of the last of them.
    fn good_start(&self, viewer: &Viewer) -> Nanos {
        self.good_start + self.pace.starts(&self.library, viewer)
    }
}

impl Session {
    /// A viewer who comes.
    pub(super) fn new(viewer: Viewer, rules: &Rules) -> Session {
        Session {
            viewer,
            chunk: 0,
            indexes: 0,
            before: Nanos::ZERO,
            player: Player::new(rules.resume_with),
            arrived: None,
            fate: Fate::Watching,
            failed: false,
            in_window: false,
            judged: false,
            bad: false,
        }
    }

    /// A viewer who arrived `age` ago, with answers at the times of [`Audience::as_before`]; and their next request,
    /// due from then on.
    pub(super) fn underway(
        viewer: Viewer,
        age: Nanos,
        rules: &Rules,
        audience: &Audience,
    ) -> (Session, Step) {
        let mut session = Session { arrived: Some(false), ..Session::new(viewer, rules) };
        let rung = viewer.watched.rung;
        let mut due = Nanos::ZERO;
        for (chunk, (asked, came)) in (0..).zip(audience.as_before(&viewer)) {
            due = asked;
            session.chunk = chunk;
            session.indexes = rules.library.indexes(rung, chunk.saturating_sub(1));
            if asked >= age || chunk + 1 == viewer.chunks {
                break;
            }
            let media = rules.library.media(rung, chunk, viewer.until);
            session.player.arrived(came, media, false);
            session.before = came;
        }
        // A last one that was due before is due now: no step is behind the drawn age.
        let operation = session.operation(rules);
        (session, Step { offset: due.max(age), operation })
    }

    /// The object of the next request.
    pub(super) fn ask(&self, library: &Library) -> Ask {
        if self.indexes < library.indexes(self.viewer.watched.rung, self.chunk) {
            Ask::Index(self.indexes)
        } else {
            Ask::Chunk(self.chunk)
        }
    }

    /// The operation of the next request: its quality, or the last one for other objects.
    pub(super) fn operation(&self, rules: &Rules) -> usize {
        match self.ask(&rules.library) {
            Ask::Index(_) => rules.library.rung_count(),
            Ask::Chunk(_) => self.viewer.watched.rung,
        }
    }

    /// When the viewer leaves, unless they have seen something by then.
    pub(super) fn leaves(&self) -> Option<Nanos> {
        (!self.player.has_started() && self.viewer.leaves < Nanos(u64::MAX)).then_some(self.viewer.leaves)
    }

    /// A request has ended: returns the next step.
    pub(super) fn ended(&mut self, end: &StepEnd, rules: &Rules, counts: &mut VideoCounts) -> Next {
        let in_window = end.in_window.is_some();
        self.in_window = in_window;
        if self.arrived.is_none() {
            self.arrived = Some(in_window);
            counts.sessions.arrived += u64::from(in_window);
            counts.sessions.hopeless += u64::from(in_window && self.viewer.hopeless);
        }
        let waits = end.outcome == Outcome::Unfinished;
        // Counted from when it could be requested: a chunk after a late one is not late because of it.
        let late = end.ended - end.offset.max(self.before) > rules.chunk_timeout;
        let failed = end.outcome != Outcome::Completed && !waits;
        let had_started = self.player.has_started();
        self.failed |= failed;
        if in_window && !self.viewer.hopeless && !rules.pace.loses(&rules.library, &self.viewer) {
            counts.possible.due += 1;
            counts.possible.completed += u64::from(end.outcome == Outcome::Completed);
        }
        let left = |leaves: Nanos| end.ended > leaves || waits && end.ended == leaves;
        if self.fate == Fate::Watching && self.leaves().is_some_and(left) {
            self.fate = Fate::Left;
        }
        match self.ask(&rules.library) {
            Ask::Chunk(chunk) => {
                let missed = failed || late;
                if in_window && (missed || !waits) {
                    counts.chunks.due += 1;
                    counts.chunks.missed += u64::from(missed);
                    self.judge(missed, counts);
                }
                self.shown(chunk, end, rules, counts);
                if missed && !waits && rules.late == Late::Kill && self.fate == Fate::Watching {
                    self.fate = Fate::Killed;
                    self.stands_still(end.ended, counts);
                }
            }
            // Nothing can be shown without it.
            Ask::Index(_) if failed && self.fate == Fate::Watching => self.fate = Fate::Killed,
            Ask::Index(_) => {}
        }
        if waits && self.fate == Fate::Watching {
            self.cut(end, had_started, counts, rules);
        }
        self.before = end.ended;
        let next = if self.fate == Fate::Left { Next::End } else { self.next(end, rules) };
        if self.fate == Fate::Left && self.arrived == Some(true) {
            counts.sessions.abandoned += 1;
            counts.started(self.viewer.leaves);
            self.judge(true, counts);
        }
        if next == Next::End {
            self.over(rules, counts);
        }
        next
    }

    /// No further request of it ends in the load, or there is none: its viewer's wait has lasted until now.
    pub(super) fn over(&mut self, rules: &Rules, counts: &mut VideoCounts) {
        let waits = matches!(self.fate, Fate::Watching | Fate::Killed) && !self.player.has_started();
        if waits && self.arrived == Some(true) {
            let lost = self.failed || self.fate == Fate::Killed;
            // How long the viewer of a failed session would have waited is unknown. It must not be less than others
            // waited, as failures would make the percentiles better.
            let waited = if lost { self.before.max(rules.give_up) } else { self.before };
            counts.started(waited);
            if lost || waited > rules.good_start(&self.viewer) {
                self.judge(true, counts);
            }
        }
        if self.fate == Fate::Watching {
            self.stands_still(self.before, counts);
        }
        self.fate = Fate::Over;
    }

    /// The video does not continue: if it is in a stall at `at`, the whole stall is known.
    fn stands_still(&mut self, at: Nanos, counts: &mut VideoCounts) {
        if let Some(length) = self.player.stalled(at).filter(|_| self.in_window) {
            counts.stalled(length);
            self.judge(true, counts);
        }
    }

    /// The effect of a chunk on the viewer.
    fn shown(&mut self, chunk: u32, end: &StepEnd, rules: &Rules, counts: &mut VideoCounts) {
        if self.fate != Fate::Watching || end.outcome == Outcome::Unfinished {
            return;
        }
        let rung = self.viewer.watched.rung;
        let last = chunk + 1 == self.viewer.chunks;
        let came = end.outcome == Outcome::Completed;
        let media = rules.library.media(rung, chunk, self.viewer.until);
        let seen = if came {
            self.player.arrived(end.ended, media, last)
        } else {
            self.player.failed(end.ended, last)
        };
        let Seen { start_up, buffered, slack, stall } = seen;
        if let (Some(delay), Some(true)) = (start_up, self.arrived) {
            counts.started(delay);
            self.judge(delay > rules.good_start(&self.viewer), counts);
        }
        let Some(due) = end.in_window else { return };
        if came {
            counts.chunks.played += media;
        }
        if let Some(buffered) = buffered {
            counts.buffered(due + (end.ended - end.offset), buffered);
        }
        if let Some(slack) = slack {
            counts.in_time(slack);
        }
        if let Some(length) = stall {
            counts.stalled(length);
            self.judge(true, counts);
        }
    }

    /// The load has ended with a request outstanding: records the figures known by then.
    fn cut(&mut self, end: &StepEnd, had_started: bool, counts: &mut VideoCounts, rules: &Rules) {
        self.fate = Fate::Cut;
        if !had_started && self.arrived == Some(true) {
            // As an unfinished request does, it enters at its age.
            counts.started(end.ended);
            if end.ended > rules.good_start(&self.viewer) {
                self.judge(true, counts);
            }
        }
        self.stands_still(end.ended, counts);
    }

    /// Something is known of the session in the window: whether it speaks against it.
    fn judge(&mut self, bad: bool, counts: &mut VideoCounts) {
        if !std::mem::replace(&mut self.judged, true) {
            counts.sessions.judged += 1;
            counts.sessions.met += 1;
        }
        if bad && !std::mem::replace(&mut self.bad, true) {
            counts.sessions.met -= 1;
        }
    }

    /// The next request, and when it is due.
    fn next(&mut self, end: &StepEnd, rules: &Rules) -> Next {
        let ended = self.ask(&rules.library);
        match ended {
            Ask::Index(_) => self.indexes += 1,
            Ask::Chunk(_) => self.chunk += 1,
        }
        if self.chunk >= self.viewer.chunks {
            return Next::End;
        }
        let offset = match ended {
            // In a closed loop its chunk follows at once: the pause was before the header.
            Ask::Index(_) if !rules.pace.is_open() => end.ended,
            _ => self.offset(self.chunk, end, rules),
        };
        let step = Step { offset, operation: self.operation(rules) };
        if self.fate == Fate::Killed { Next::Lose(step) } else { Next::Send(step) }
    }

    /// When a chunk is requested.
    fn offset(&self, chunk: u32, end: &StepEnd, rules: &Rules) -> Nanos {
        let watches = end.outcome == Outcome::Completed && self.fate == Fate::Watching;
        let player = watches.then_some(&self.player);
        rules.pace.due(&rules.library, self.viewer.watched.rung, chunk, end.ended, player)
    }
}

#[cfg(test)]
mod tests;
