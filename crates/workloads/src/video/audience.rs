//! The viewers and their videos: drawn from the seed and the number of the session, on any thread.

use dist::{KeySampler, Purpose, Rng, Streams, poisson};
use rand::RngExt;
use spec::workload::{Abandon, Bandwidth, ClientMix};
use units::{Nanos, ParseError};

use crate::video::classes::{self, Choice, FIT};
use crate::video::config::VideoConfig;
use crate::video::course::{Course, Pace};
use crate::video::library::{Library, Watched};
use crate::video::watched::watched_at;

/// The purposes of streams: sessions that arrive, by their number; those under way when the load begins, by theirs; how many
/// those are; the mean length.
const ARRIVING: Purpose = Purpose::Other(4);
const UNDERWAY: Purpose = Purpose::Other(5);
const HOW_MANY: Purpose = Purpose::Other(6);
const MEAN: Purpose = Purpose::Other(7);

/// Sessions from which the mean length is taken. Source: lengths have a standard deviation of about their mean, so that it is
/// known to 0.4 %; 10 ms.
const SAMPLE: u64 = 65_536;
/// Most attempts to draw a video that exists in the wanted quality. Source: one in five exists in the highest, so that
/// this many fail with a chance of 10⁻⁹⁶; the rest are sets of few videos of which no popular one has it.
const TRIES: u32 = 1_000;

/// No viewer leaves before this time. Source: Krishnan and Sitaraman, IMC 2012.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// From then on this share of all viewers leaves in each second. Source: as above.
const IMPATIENCE: f64 = 0.058;

/// A viewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewer {
    /// The video and its quality.
    pub watched: Watched,
    /// How far into the video they watch. Units: time of a viewer, here and below.
    pub until: Nanos,
    /// How many chunks that takes; at least one.
    pub chunks: u32,
    /// Units: bits per second.
    pub bandwidth: f64,
    /// Whether the quality takes more than that, and they read no faster: no server can have a chunk there in time.
    pub hopeless: bool,
    /// When they leave if nothing has been shown by then, after their arrival.
    pub leaves: Nanos,
    /// The server that they are with.
    pub server: usize,
}

/// The source of viewers.
#[derive(Clone)]
pub struct Audience {
    library: Library,
    popularity: KeySampler,
    mix: ClientMix,
    abandon: Abandon,
    servers: usize,
    streams: Streams,
    pace: Pace,
    bandwidth: Bandwidth,
}

impl Audience {
    /// The audience of a configuration, for this thread of `threads`.
    ///
    /// Errors: a configuration that cannot be.
    pub fn new(config: &VideoConfig, thread: u32, threads: u32) -> Result<Audience, ParseError> {
        config.check()?;
        let sampler = KeySampler::new(config.options.popularity, config.library.videos())?;
        Ok(Audience {
            popularity: sampler.scattered(config.library.scatter()).shared(thread, threads),
            library: config.library.clone(),
            mix: config.options.mix,
            abandon: config.options.abandon,
            servers: config.urls.len().max(1),
            streams: Streams::new(config.seed),
            pace: Pace::new(config),
            bandwidth: config.options.bandwidth,
        })
    }

    /// The viewer who is arrival `seq`.
    pub fn arriving(&mut self, seq: u64) -> Viewer {
        let mut rng = self.streams.stream(ARRIVING, seq);
        self.draw(&mut rng)
    }

    fn draw(&mut self, rng: &mut Rng) -> Viewer {
        let bandwidth = classes::bandwidth(rng) * self.library.bandwidth_scale();
        let watched = match classes::choice(self.mix, rng) {
            Choice::Best => self.best(bandwidth, rng),
            Choice::Rung(rung) => self.in_rung(rung, rng),
        };
        let watches = watched_at(rng.random::<f64>());
        // A viewer who comes sees something.
        let until = Nanos((self.library.duration(watched).0 as f64 * watches) as u64).max(Nanos(1));
        let leaves = match self.abandon {
            Abandon::Off => Nanos(u64::MAX),
            Abandon::Imc12 => {
                let seconds = PATIENCE.as_secs_f64() + rng.random::<f64>() / IMPATIENCE;
                self.library.lasts(Nanos((seconds * 1e9) as u64))
            }
        };
        Viewer {
            watched,
            until,
            chunks: self.library.chunks_until(watched.rung, until),
            bandwidth,
            hopeless: self.bandwidth.is_limited() && self.library.bit_rate(watched.rung) > bandwidth,
            leaves,
            server: if self.servers > 1 { rng.random_range(0..self.servers) } else { 0 },
        }
    }

    /// A video, and the best quality of it that the bandwidth carries; else the lowest.
    fn best(&mut self, bandwidth: f64, rng: &mut Rng) -> Watched {
        let video = self.popularity.sample(rng, 0);
        let rungs = 0..self.library.rung_count();
        let fits = |rung: &usize| {
            let of = Watched { video, rung: *rung };
            self.library.has(of) && self.library.bit_rate(*rung) <= FIT * bandwidth
        };
        Watched { video, rung: rungs.rev().find(fits).unwrap_or(0) }
    }

    /// A video that exists in this quality.
    fn in_rung(&mut self, rung: usize, rng: &mut Rng) -> Watched {
        let mut of = Watched { video: 0, rung };
        for _ in 0..TRIES {
            of.video = self.popularity.sample(rng, 0);
            if self.library.has(of) {
                return of;
            }
        }
        let all = 0..self.library.videos();
        let found = all.map(|video| Watched { video, rung }).find(|of| self.library.has(*of));
        found.unwrap_or(Watched { video: of.video, rung: 0 })
    }

    /// When each chunk of a viewer who is present when the load begins was requested, after the arrival, and when it
    /// arrived, if the server took no time.
    ///
    /// Chunks of hopeless viewers arrive at once in an open loop: a session cannot begin with the delay that they have
    /// gathered by then.
    pub fn as_before<'a>(&'a self, viewer: &'a Viewer) -> impl Iterator<Item = (Nanos, Nanos)> + 'a {
        let at_once = viewer.hopeless && self.pace.is_open() && !self.pace.loses(&self.library, viewer);
        let course = Course::new(self.pace, &self.library, viewer);
        course.map(move |(asked, came)| (asked, if at_once { asked } else { came }))
    }

    /// How long a server has to serve a viewer: until the last chunk is requested, or a viewer leaves who cannot have
    /// seen anything by then.
    pub fn length(&self, viewer: &Viewer) -> Nanos {
        let last = self.pace.last(&self.library, viewer);
        if self.pace.loses(&self.library, viewer) { last.min(viewer.leaves) } else { last }
    }

    /// The mean of that over all viewers. Cost: 10 ms; in a closed loop 30 ms.
    pub fn mean_length(&mut self) -> Nanos {
        let sum: u128 = (0..SAMPLE)
            .map(|i| {
                let mut rng = self.streams.stream(MEAN, i);
                let viewer = self.draw(&mut rng);
                u128::from(self.length(&viewer).0)
            })
            .sum();
        Nanos((sum / u128::from(SAMPLE)) as u64)
    }

    /// The viewers present when the load begins, with the time since their arrival: share `share` of `shares`.
    ///
    /// With arrivals at random and independent lengths their number is Poisson with the mean rate × mean length, a length is
    /// met in proportion to itself, and each is at any of its moments (an M/G/∞ queue). All shares together are the same
    /// viewers however many shares there are.
    pub fn underway(
        &mut self,
        viewers_per_s: f64,
        mean: Nanos,
        share: u32,
        shares: u32,
    ) -> Vec<(Viewer, Nanos)> {
        let number = poisson(viewers_per_s * mean.as_secs_f64(), &mut self.streams.stream(HOW_MANY, 0));
        let own = (u64::from(share)..number).step_by(shares.max(1) as usize);
        own.map(|i| self.met(i)).collect()
    }

    /// A viewer drawn in proportion to the length of their session, and the time since their arrival.
    fn met(&mut self, i: u64) -> (Viewer, Nanos) {
        let mut rng = self.streams.stream(UNDERWAY, i);
        // A viewer whose chunks take their time asks for the last one that much later.
        let longest = self.library.longest().0 as f64 * (1.0 + self.pace.most_waits(&self.library, self.mix));
        loop {
            let viewer = self.draw(&mut rng);
            let length = self.length(&viewer);
            if rng.random::<f64>() * longest < length.0 as f64 {
                return (viewer, Nanos(rng.random_range(0..length.0)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
