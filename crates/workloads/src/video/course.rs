//! When a viewer requests chunks, and when these arrive if the server takes no time.

use spec::workload::{Bandwidth, ClientMix, Pacing};
use units::Nanos;

use crate::video::audience::Viewer;
use crate::video::classes::{CLASSES, FIT};
use crate::video::config::VideoConfig;
use crate::video::library::Library;
use crate::video::player::Player;
use crate::video::requests::read_rate;

/// Buffer level above which a player pauses its requests. Source: video.js, `GOAL_BUFFER_LENGTH`.
const GOAL: Nanos = Nanos::from_secs(30);

/// The parameters that determine the times of chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pacing: Pacing,
    ahead: u32,
    goal: Nanos,
    resume_with: u32,
    bandwidth: Bandwidth,
}

impl Pace {
    pub(super) fn new(config: &VideoConfig) -> Pace {
        Pace {
            pacing: config.options.pacing,
            ahead: config.options.ahead,
            goal: config.library.lasts(GOAL),
            resume_with: config.options.resume_with,
            bandwidth: config.options.bandwidth,
        }
    }

    /// Whether request times are independent of answers.
    pub(super) fn is_open(&self) -> bool {
        self.pacing == Pacing::Open
    }

    /// When a chunk is requested, after the arrival; `before` is when the one before it ended. `player` belongs to a
    /// viewer who has received it, and watches.
    pub(super) fn due(
        &self,
        library: &Library,
        rung: usize,
        chunk: u32,
        before: Nanos,
        player: Option<&Player>,
    ) -> Nanos {
        let start = |chunk: u32| library.start(rung, chunk);
        match (self.pacing, player) {
            (Pacing::Open, _) => (chunk + 1).checked_sub(self.ahead).map_or(Nanos::ZERO, start),
            // One whose chunk failed pauses, as it would ask in a tight loop.
            (Pacing::Player, Some(player)) => before + (player.buffered(before) - self.goal),
            // In a closed loop a request is due when the one before it has been answered, or a pause after that: the
            // pause belongs to the answer, so that one chunk more is requested without one.
            _ if chunk <= self.ahead => before,
            _ => before + (start(chunk) - start(chunk - 1)),
        }
    }

    /// The longest time of a chunk at its viewer's bandwidth, as a share of its duration; 0 if that delays no other.
    pub(super) fn most_waits(&self, library: &Library, mix: ClientMix) -> f64 {
        if self.is_open() || !self.bandwidth.is_limited() {
            return 0.0;
        }
        let slowest = CLASSES.map(|class| class.from * 1e6).into_iter().fold(f64::INFINITY, f64::min);
        let of = |rung: usize| library.bit_rate(rung) / (slowest * library.bandwidth_scale());
        match mix {
            // A viewer takes the lowest quality if none fits.
            ClientMix::Table1 => of(0).max(FIT),
            ClientMix::CloudSuite => (0..library.rung_count()).map(of).fold(0.0, f64::max),
        }
    }

    /// When a viewer sees the first picture if the server takes no time, after the arrival.
    pub(super) fn starts(&self, library: &Library, viewer: &Viewer) -> Nanos {
        let first = Course::new(*self, library, viewer).take(self.resume_with.max(1) as usize).last();
        first.map_or(Nanos::ZERO, |(_, came)| came)
    }

    /// Whether a viewer leaves before that, which no server can help.
    #[inline]
    pub(super) fn loses(&self, library: &Library, viewer: &Viewer) -> bool {
        viewer.leaves < Nanos(u64::MAX) && self.starts(library, viewer) > viewer.leaves
    }

    /// When the last chunk of a viewer is requested. Cost: some 10 ns, in a closed loop for each chunk.
    pub(super) fn last(&self, library: &Library, viewer: &Viewer) -> Nanos {
        if self.is_open() {
            return self.due(library, viewer.watched.rung, viewer.chunks - 1, Nanos::ZERO, None);
        }
        Course::new(*self, library, viewer).last().map_or(Nanos::ZERO, |(asked, _)| asked)
    }
}

/// The chunks of a viewer: when each is requested, after the arrival, and when it arrives.
///
/// Each takes its time at the viewer's bandwidth, if limited; heads of answers are left out.
pub(super) struct Course<'a> {
    pace: Pace,
    library: &'a Library,
    viewer: &'a Viewer,
    player: Player,
    chunk: u32,
    before: Nanos,
    /// When everything requested would have arrived at the steady rate, without bursts.
    steadily: Nanos,
    /// Duration, at the rate, of the burst that may arrive at once after a pause: a client that reads at a rate is such
    /// a token bucket.
    burst: Nanos,
}

impl<'a> Course<'a> {
    pub(super) fn new(pace: Pace, library: &'a Library, viewer: &'a Viewer) -> Course<'a> {
        let burst = match pace.bandwidth {
            Bandwidth::Read => 8.0 * f64::from(read_rate(viewer).burst) / viewer.bandwidth,
            Bandwidth::Off | Bandwidth::Pace | Bandwidth::Shape => 0.0,
        };
        Course {
            pace,
            library,
            viewer,
            player: Player::new(pace.resume_with),
            chunk: 0,
            before: Nanos::ZERO,
            steadily: Nanos::ZERO,
            burst: Nanos((1e9 * burst) as u64),
        }
    }

    /// When a chunk requested at `asked` arrives.
    fn comes(&mut self, asked: Nanos) -> Nanos {
        if !self.pace.bandwidth.is_limited() {
            return asked;
        }
        // All of it comes, also to one who leaves before its end.
        let media = self.library.media(self.viewer.watched.rung, self.chunk, Nanos(u64::MAX));
        let takes = media.0 as f64 * self.library.bit_rate(self.viewer.watched.rung) / self.viewer.bandwidth;
        self.steadily = self.steadily.max(asked) + Nanos(takes as u64);
        asked.max(self.steadily - self.burst)
    }
}

impl Iterator for Course<'_> {
    type Item = (Nanos, Nanos);

    fn next(&mut self) -> Option<(Nanos, Nanos)> {
        let Viewer { watched, chunks, until, .. } = *self.viewer;
        if self.chunk >= chunks {
            return None;
        }
        let asked = self.pace.due(self.library, watched.rung, self.chunk, self.before, Some(&self.player));
        let came = self.comes(asked);
        let media = self.library.media(watched.rung, self.chunk, until);
        self.player.arrived(came, media, self.chunk + 1 == chunks);
        (self.chunk, self.before) = (self.chunk + 1, came);
        Some((asked, came))
    }
}

#[cfg(test)]
mod tests;
