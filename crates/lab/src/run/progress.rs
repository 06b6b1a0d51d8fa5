//! Progress reports of a run.

use std::time::{Duration, Instant};

use results::Trial;

use super::Request;
use super::agenda::Agenda;

/// An observer of a run.
///
/// Calls are rare, a few for each trial and some each second, so that watching does not disturb the measurement.
pub trait Progress {
    /// Something happened, or time passed.
    fn event(&mut self, event: &Event<'_>, about: &Where);

    /// Whether it shows the progress of running generators.
    fn shows_ticks(&self) -> bool {
        false
    }
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A part of the run begins, in words: `block 2 of 3: maximum throughput`.
    Phase(&'a str),
    /// Something that a reader may want to know at once.
    Note(&'a str),
    /// A trial begins.
    Started(&'a Step<'a>),
    /// It still runs, and printed these lines since the last time.
    Tick(&'a [String]),
    /// It is over.
    Ended(&'a Trial),
}

/// A trial that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The target's name.
    pub target: &'a str,
    /// Its workload: `cache`.
    pub workload: &'static str,
    /// Whether it is a closed loop.
    pub closed: bool,
    /// The specification of the trial.
    pub request: &'a Request,
}

/// How far the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Where {
    /// The number of the trial that runs, from 1.
    pub number: usize,
    /// About how many there will be.
    pub about: usize,
    /// About how long it will still take.
    pub left: Duration,
}

/// Ignores all progress.
pub struct Unwatched;

impl Progress for Unwatched {
    fn event(&mut self, _: &Event<'_>, _: &Where) {}
}

/// The progress of a run and its receiver.
pub struct Tracker<'a> {
    pub(super) agenda: Agenda,
    progress: &'a mut dyn Progress,
    phase: String,
}

impl<'a> Tracker<'a> {
    /// Reports the steps of `agenda` to `progress`.
    pub(super) fn new(agenda: Agenda, progress: &'a mut dyn Progress) -> Tracker<'a> {
        Tracker { agenda, progress, phase: String::new() }
    }

    /// One that tells `progress` of trials of which it is not known how many will come.
    pub fn of_one(progress: &'a mut dyn Progress) -> Tracker<'a> {
        Tracker::new(Agenda::new(Vec::new()), progress)
    }

    /// A part of the run begins, unless it did already.
    pub(super) fn phase(&mut self, words: String) {
        if words != self.phase {
            self.tell(&Event::Phase(&words));
            self.phase = words;
        }
    }

    pub(super) fn tell(&mut self, event: &Event<'_>) {
        let about = self.whereabouts();
        self.progress.event(event, &about);
    }

    /// A trial that began at `started` still runs.
    pub(super) fn tick(&mut self, started: Instant, lines: &[String]) {
        let about = self.whereabouts();
        let left = about.left.saturating_sub(started.elapsed());
        self.progress.event(&Event::Tick(lines), &Where { left, ..about });
    }

    fn whereabouts(&self) -> Where {
        Where { number: self.agenda.number(), about: self.agenda.about(), left: self.agenda.left() }
    }
}
