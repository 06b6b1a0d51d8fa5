use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::link::Heard;
use super::members::Members;
use super::{AgentsLoad, ClockReport, Outcome, Part};
use crate::clock::monotonic_ns;
use crate::message::{Event, Generate, Order};
use crate::service::LARGEST_RECORDING;
use crate::{Comparison, Drift, Error};

/// From the order to start until the start: transmission of the order, and the agent's polling every 20 ms, on a
/// machine that may be busy.
const MARGIN: Duration = Duration::from_millis(500);
/// How often the coordinator checks for a request to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Time for agents to stop: the time that they give their generators, and the transfer of the recording.
const STOP_WAIT: Duration = Duration::from_secs(15);

enum Progress {
    Preparing,
    Ready,
    /// The load runs, or its recording is being transferred.
    Running(Vec<u8>),
    Done(Vec<u8>),
    Lost {
        why: String,
        at_ns: u64,
    },
}

/// One load, from the order to prepare to the last recording.
pub(super) struct Run<'a, 'b> {
    members: &'a mut Members,
    load: &'a AgentsLoad,
    stop: &'a AtomicBool,
    live: &'b mut dyn FnMut(usize, &str),
    progress: Vec<Progress>,
}

impl<'a, 'b> Run<'a, 'b> {
    pub(super) fn new(
        members: &'a mut Members,
        load: &'a AgentsLoad,
        stop: &'a AtomicBool,
        live: &'b mut dyn FnMut(usize, &str),
    ) -> Run<'a, 'b> {
        let progress = members.links.iter().map(|_| Progress::Preparing).collect();
        Run { members, load, stop, live, progress }
    }

    /// Runs it; the drift is measured against `first`.
    pub(super) async fn run(mut self, first: &[Comparison]) -> Result<Outcome, Error> {
        self.members.all_there()?;
        let (start_ns, at_start) = match self.generate().await {
            Ok(generated) => generated,
            Err(error) => {
                self.end_all().await;
                return Err(error);
            }
        };
        let mut clocks = Vec::new();
        for (agent, at_start) in at_start.into_iter().enumerate() {
            let at_end = self.members.compare(agent).await;
            let drift = at_end.and_then(|at_end| Drift::between(&first[agent], &at_end));
            clocks.push(ClockReport { at_start, drift });
        }
        Ok(self.outcome(start_ns, clocks))
    }

    /// Starts all generators and waits until they have ended; returns the start time, and the clocks right before.
    async fn generate(&mut self) -> Result<(u64, Vec<Comparison>), Error> {
        self.prepare().await?;
        let at_start = self.members.compare_all().await?;
        let start_ns = self.start(&at_start).await;
        self.collect().await?;
        Ok((start_ns, at_start))
    }

    /// Starts every agent's generator, and waits until all are ready.
    async fn prepare(&mut self) -> Result<(), Error> {
        let shares = self.members.links.len() as u32;
        for (share, link) in self.members.links.iter().enumerate() {
            let generate = Generate { spec: self.load.specs[share].clone(), share: share as u32, shares };
            link.say(Order::Generate(generate)).await;
        }
        let deadline = Instant::now() + self.load.prepare_within;
        loop {
            self.hear(deadline).await;
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            self.members.all_there()?;
            let label = |agent: usize| self.members.links[agent].label();
            for (agent, progress) in self.progress.iter().enumerate() {
                match progress {
                    Progress::Lost { why, .. } => {
                        return Err(Error::Failed { agent: label(agent), why: why.clone() });
                    }
                    Progress::Done(_) => {
                        let why = "its generator ended before it was told to begin".into();
                        return Err(Error::Failed { agent: label(agent), why });
                    }
                    Progress::Preparing | Progress::Ready | Progress::Running(_) => {}
                }
            }
            let waiting = self.progress.iter().position(|p| !matches!(p, Progress::Ready));
            let Some(agent) = waiting else { return Ok(()) };
            if Instant::now() >= deadline {
                let within_s = self.load.prepare_within.as_secs();
                return Err(Error::Stuck { agent: label(agent), what: "ready", within_s });
            }
        }
    }

    /// Sends each agent the start time by its own clock, and returns it by this machine's clock.
    async fn start(&mut self, clocks: &[Comparison]) -> u64 {
        let slowest = clocks.iter().map(|clock| clock.error_ns).max().unwrap_or(0);
        // An order takes one direction; the stated error is half of an exchange.
        let start_ns = monotonic_ns() + MARGIN.as_nanos() as u64 + 4 * slowest;
        for ((link, clock), progress) in self.members.links.iter().zip(clocks).zip(&mut self.progress) {
            link.say(Order::Start(clock.there(start_ns))).await;
            *progress = Progress::Running(Vec::new());
        }
        start_ns
    }

    /// Waits until every agent has ended or is lost. If one is lost, the others stop.
    async fn collect(&mut self) -> Result<(), Error> {
        let mut deadline = Instant::now() + self.load.end_within;
        let mut stopping = false;
        loop {
            let Some(agent) = self.progress.iter().position(|p| !p.is_over()) else { return Ok(()) };
            self.hear(deadline).await;
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if !stopping && self.progress.iter().any(|p| matches!(p, Progress::Lost { .. })) {
                stopping = true;
                deadline = Instant::now() + STOP_WAIT;
                self.say_stop().await;
            }
            if Instant::now() >= deadline {
                let (agent, within) = (self.members.links[agent].label(), self.load.end_within);
                return Err(Error::Stuck { agent, what: "done", within_s: within.as_secs() });
            }
        }
    }

    /// Stops all generators that still run and waits until they have ended, so that the agents are idle.
    async fn end_all(&mut self) {
        self.say_stop().await;
        let deadline = Instant::now() + STOP_WAIT;
        while self.progress.iter().any(|p| !p.is_over()) && Instant::now() < deadline {
            self.hear(deadline).await;
        }
    }

    async fn say_stop(&self) {
        for (link, progress) in self.members.links.iter().zip(&self.progress) {
            if !progress.is_over() {
                link.say(Order::Stop(())).await;
            }
        }
    }

    /// Processes the next message, waiting a moment for it.
    async fn hear(&mut self, deadline: Instant) {
        let heard = self.members.next(deadline.min(Instant::now() + LOOK)).await;
        if let Some(Heard { agent, at_ns, what }) = heard {
            let progress = &mut self.progress[agent];
            match what {
                Ok(Event::Ready(_)) if matches!(progress, Progress::Preparing) => *progress = Progress::Ready,
                Ok(Event::Live(line)) => (self.live)(agent, &line),
                Ok(Event::Recording(piece)) => progress.take(piece.bytes, piece.last, at_ns),
                Ok(Event::Failed(why)) | Err(why) if !progress.is_over() => {
                    *progress = Progress::Lost { why, at_ns };
                }
                _ => {}
            }
        }
    }

    fn outcome(self, start_ns: u64, clocks: Vec<ClockReport>) -> Outcome {
        let part = |((link, progress), clock): ((&super::Link, Progress), ClockReport)| {
            let (recording, lost_ns) = match progress {
                Progress::Done(bytes) => (Ok(bytes), None),
                Progress::Lost { why, at_ns } => (Err(why), Some(at_ns)),
                Progress::Preparing | Progress::Ready | Progress::Running(_) => {
                    unreachable!("`collect` returns when all are over")
                }
            };
            Part { name: link.name.clone(), address: link.address.clone(), recording, lost_ns, clock }
        };
        let parts = self.members.links.iter().zip(self.progress).zip(clocks).map(part).collect();
        Outcome { start_ns, parts }
    }
}

impl Progress {
    fn is_over(&self) -> bool {
        matches!(self, Progress::Done(_) | Progress::Lost { .. })
    }

    fn take(&mut self, bytes: Vec<u8>, last: bool, at_ns: u64) {
        let mut whole = match self {
            Progress::Running(whole) => std::mem::take(whole),
            Progress::Preparing | Progress::Ready => Vec::new(),
            Progress::Done(_) | Progress::Lost { .. } => return,
        };
        whole.extend_from_slice(&bytes);
        *self = if whole.len() as u64 > LARGEST_RECORDING {
            let why = format!("its recording is larger than {} MiB", LARGEST_RECORDING >> 20);
            Progress::Lost { why, at_ns }
        } else if last {
            Progress::Done(whole)
        } else {
            Progress::Running(whole)
        };
    }
}
