//! The workload: viewers who arrive, their requests, and their playback.

use std::sync::Arc;

use openloop::{
    Closed, Distribution, Next, Parsed, Parts, ReadRate, Route, StepEnd, Then, Unasked, Underway, Workload,
};
use proto_http::{Method, Template};
use reactor::Via;
use spec::workload::{Bandwidth, Verify};
use units::{Nanos, ParseError};

use crate::places::put;
use crate::unasked::of_http;
use crate::video::answers::{FileRequest, Wire};
use crate::video::audience::{Audience, Viewer};
use crate::video::config::VideoConfig;
use crate::video::counts::{Answers, VideoCounts};
use crate::video::library::Videos;
use crate::video::links::{Links, paced};
use crate::video::session::{Rules, Session};

/// Length of the queue in front of a slow link, as time at its bandwidth: the most that a client may receive at once.
///
/// Source: ours; between the 250 ms that a buffer of one round trip has for the longest way around the world and the few
/// ms of a managed queue. It bounds the receive window as well as the token bucket.
const QUEUE: Nanos = Nanos::from_millis(100);
/// The least length of the queue. Units: bytes. Source: the head of an answer, which arrives at once; at 1/160 of the
/// bytes a chunk of 240p has 3277.
const QUEUE_LEAST: f64 = 256.0;
/// The least receive buffer. Units: bytes. Source: the kernel gives no less than 2304 with its bookkeeping, and a window of that
/// is mostly closed.
const BUFFER_LEAST: u32 = 4096;
/// The greatest length of the queue. Units: bytes. Source: 100 ms of 80 Mbps, which no class has at the usual speed.
const QUEUE_MOST: f64 = 1_048_576.0;

/// The reference from a request to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    session: u32,
}

/// The data shared by all threads.
#[derive(Clone, Debug)]
pub struct Known {
    config: VideoConfig,
    /// The mean length of a session, as a server sees it.
    mean_length: Nanos,
}

impl Known {
    /// The data for a configuration. Cost: 10 ms; with closed loops within sessions 30 ms.
    ///
    /// Errors: an invalid configuration.
    pub fn new(config: &VideoConfig) -> Result<Known, ParseError> {
        let mean_length = Audience::new(config, 0, 1)?.mean_length();
        Ok(Known { config: config.clone(), mean_length })
    }

    /// How many sessions are under way at a time, on average, if all is answered at once.
    pub fn mean_live(&self) -> f64 {
        self.config.viewers_per_s * self.mean_length.as_secs_f64()
    }
}

/// One generator thread's viewers.
///
/// Shape: sessions lie in a table, whose places are used again. Cost: about 200 B a session.
pub struct Video {
    known: Arc<Known>,
    /// Which of all machines' threads this is.
    share: (u32, u32),
    rules: Rules,
    audience: Audience,
    /// One for each server.
    templates: Vec<Template>,
    sessions: Vec<Session>,
    free: Vec<u32>,
    /// With `--bandwidth shape` the links, and each session's link.
    links: Option<(Links, Vec<u16>)>,
    counts: VideoCounts,
}

impl Video {
    /// The viewers of thread `share.0` of `share.1`, of all machines' threads.
    ///
    /// Errors: a configuration that cannot be.
    pub fn new(known: &Arc<Known>, share: (u32, u32)) -> Result<Video, ParseError> {
        let config = &known.config;
        let fastest = spec::workload::Video::FASTEST * config.library.bandwidth_scale();
        let links = || (Links::new(fastest, share), Vec::new());
        Ok(Video {
            links: (config.options.bandwidth == Bandwidth::Shape).then(links),
            known: Arc::clone(known),
            share,
            rules: Rules::new(config),
            audience: Audience::new(config, share.0, share.1)?,
            templates: templates(config),
            sessions: Vec::new(),
            free: Vec::new(),
            counts: VideoCounts::new(config.window),
        })
    }

    fn begin(&mut self, session: Session) -> Job {
        let place = put(&mut self.sessions, &mut self.free, session);
        if let Some((links, of)) = &mut self.links {
            of.resize(self.sessions.len(), 0);
            of[place as usize] = links.take(self.sessions[place as usize].viewer.bandwidth);
        }
        Job { session: place }
    }

    /// A session has ended: its place is free, and its link.
    fn end(&mut self, job: Job) {
        self.free.push(job.session);
        if let Some((links, of)) = &mut self.links {
            links.leave(of[job.session as usize]);
        }
    }

    /// The counters, including sessions that get no further request since their next chunk is due after the load.
    fn counts_at_the_end(&self) -> VideoCounts {
        let mut counts = self.counts.clone();
        for session in &self.sessions {
            session.clone().over(&self.rules, &mut counts);
        }
        counts
    }

    /// The request of a job, and where its answer is counted.
    fn asked(&mut self, job: Job) -> (FileRequest<'_>, &mut Answers) {
        let session = &self.sessions[job.session as usize];
        let (library, of) = (&self.rules.library, session.viewer.watched);
        let (ask, verify) = (session.ask(library), self.known.config.options.verify.unwrap_or_default());
        (FileRequest { library, of, ask, verify }, &mut self.counts.answers)
    }
}

/// The requests to each server.
pub(super) fn templates(config: &VideoConfig) -> Vec<Template> {
    let listed = matches!(config.library.source(), Videos::Listed(_));
    let template = |url: &proto_http::Url| {
        // Playlists name paths from the root on.
        let prefix = if listed { "" } else { url.path.trim_end_matches('/') };
        Template::new(&Method::get(), &url.host_field(), prefix, &config.options.header, None)
    };
    config.urls.iter().map(template).collect()
}

/// How fast a viewer reads.
pub(super) fn read_rate(viewer: &Viewer) -> ReadRate {
    let queue = viewer.bandwidth / 8.0 * QUEUE.as_secs_f64();
    ReadRate {
        bits_per_s: (viewer.bandwidth as u64).max(1),
        burst: queue.clamp(QUEUE_LEAST, QUEUE_MOST) as u32,
    }
}

impl Workload for Video {
    type Job = Job;
    type Wire = Wire;

    fn operations(&self) -> Vec<String> {
        let mut names = self.rules.library.rungs();
        if self.rules.library.has_indexes() {
            names.push("index".into());
        }
        names
    }

    fn timeout(&self, _: usize) -> Option<Nanos> {
        Some(self.rules.give_up)
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Job>) -> usize {
        let viewer = self.audience.arriving(seq);
        let session = Session::new(viewer, &self.rules);
        let operation = session.operation(&self.rules);
        let job = self.begin(session);
        parts.push(viewer.server, job);
        operation
    }

    fn underway(&mut self) -> Vec<Underway<Job>> {
        let (share, shares) = self.share;
        let viewers_per_s = self.known.config.viewers_per_s;
        let met = self.audience.underway(viewers_per_s, self.known.mean_length, share, shares);
        let under = |(viewer, age): (Viewer, Nanos)| {
            let (session, step) = Session::underway(viewer, age, &self.rules, &self.audience);
            let job = self.begin(session);
            Underway { age, endpoint: viewer.server, step, job }
        };
        met.into_iter().map(under).collect()
    }

    fn route(&self, job: &Job) -> Route {
        match self.known.config.options.bandwidth {
            Bandwidth::Off => Route::default(),
            Bandwidth::Read => {
                let rate = read_rate(&self.sessions[job.session as usize].viewer);
                let via = Via { receive_buffer: Some(rate.burst.max(BUFFER_LEAST)), ..Via::default() };
                Route { via, read_rate: Some(rate) }
            }
            Bandwidth::Pace => paced(self.sessions[job.session as usize].viewer.bandwidth),
            Bandwidth::Shape => {
                let link = self.links.as_ref().map(|(_, of)| of[job.session as usize]);
                link.map_or_else(Route::default, Links::route)
            }
        }
    }

    fn request(&mut self, job: &mut Job, _: u16, out: &mut Vec<u8>) {
        let session = &self.sessions[job.session as usize];
        let (library, of) = (&self.rules.library, session.viewer.watched);
        let (template, ask) = (&self.templates[session.viewer.server], session.ask(library));
        let path = |out: &mut Vec<u8>| library.append_path(of, ask, out);
        match library.part(of, ask).range {
            Some(range) => template.write_range(path, (range.first, range.last), out),
            None => template.write(path, out),
        }
    }

    fn response(&mut self, job: &mut Job, wire: &mut Wire, bytes: &[u8]) -> Parsed<Job> {
        let (request, counts) = self.asked(*job);
        request.read(wire, bytes, counts)
    }

    fn unasked(&self, bytes: &[u8]) -> Unasked {
        of_http(bytes)
    }

    fn closed(&mut self, job: &mut Job, wire: &mut Wire) -> Option<Closed<Job>> {
        let (request, counts) = self.asked(*job);
        Some((request.closed(wire, counts)?, Then::Close))
    }

    fn step_ended(&mut self, job: &mut Job, ended: &StepEnd) -> Next {
        let next = self.sessions[job.session as usize].ended(ended, &self.rules, &mut self.counts);
        if next == Next::End {
            self.end(*job);
        }
        next
    }

    fn dropped(&mut self, job: &mut Job) {
        self.sessions[job.session as usize].over(&self.rules, &mut self.counts);
        self.end(*job);
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        self.counts_at_the_end().list(self.known.config.options.verify != Some(Verify::None))
    }

    fn distributions(&self) -> Vec<Distribution> {
        self.counts_at_the_end().distributions()
    }

    fn leaves(&self, job: &Job) -> Option<Nanos> {
        self.sessions[job.session as usize].leaves()
    }

    fn window_opens(&mut self) {
        self.counts.window_opens();
    }

    fn window_closes(&mut self) {
        self.counts.window_closes();
    }
}

#[cfg(test)]
mod tests;
