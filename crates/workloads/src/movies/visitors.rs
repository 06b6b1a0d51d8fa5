//! The workload: visitors who arrive, their requests, and the outcomes.

use std::sync::Arc;

use dist::KeySampler;
use openloop::{Closed, Distribution, Next, Parsed, Parts, StepEnd, Traced, Unasked, Workload};
use spec::workload::MovieQuery;

use crate::movies::answers::{self, Wire};
use crate::movies::config::Known;
use crate::movies::counts::MoviesCounts;
use crate::movies::visit::{STREAM, Visit};
use crate::places::put;
use crate::unasked::of_http;

/// The reference from a request to its visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    visit: u32,
}

/// One generator thread's visitors.
///
/// Shape: visits lie in a table, whose places are used again. Cost: about 200 B a visit, and the names of the segments of a film that is
/// watched.
pub struct Movies {
    known: Arc<Known>,
    films: KeySampler,
    visits: Vec<Visit>,
    free: Vec<u32>,
    body: Vec<u8>,
    counts: MoviesCounts,
}

impl Movies {
    /// The visitors of a thread; none are present when the load begins.
    pub fn new(known: &Arc<Known>) -> Movies {
        Movies {
            known: Arc::clone(known),
            films: known.films.clone(),
            visits: Vec::new(),
            free: Vec::new(),
            body: Vec::new(),
            counts: MoviesCounts::default(),
        }
    }
}

impl Workload for Movies {
    type Job = Job;
    type Wire = Wire;

    fn operations(&self) -> Vec<String> {
        MovieQuery::ALL.map(MovieQuery::name).into_iter().chain(STREAM).map(str::to_owned).collect()
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Job>) -> usize {
        let visit = Visit::new(seq, &self.known, &mut self.films);
        let operation = visit.operation();
        parts.push(0, Job { visit: put(&mut self.visits, &mut self.free, visit) });
        operation
    }

    fn request(&mut self, job: &mut Job, _: u16, out: &mut Vec<u8>) {
        answers::write(&self.known, &self.visits[job.visit as usize], false, &mut self.body, out);
    }

    fn last_request(&mut self, job: &mut Job, _: u16, out: &mut Vec<u8>) {
        answers::write(&self.known, &self.visits[job.visit as usize], true, &mut self.body, out);
    }

    fn response(&mut self, job: &mut Job, wire: &mut Wire, bytes: &[u8]) -> Parsed<Job> {
        let visit = &mut self.visits[job.visit as usize];
        answers::read(&self.known, visit, wire, bytes, &mut self.counts.answers)
    }

    fn unasked(&self, bytes: &[u8]) -> Unasked {
        of_http(bytes)
    }

    fn closed(&mut self, job: &mut Job, wire: &mut Wire) -> Option<Closed<Job>> {
        let visit = &mut self.visits[job.visit as usize];
        answers::closed(&self.known, visit, wire, &mut self.counts.answers)
    }

    fn step_ended(&mut self, job: &mut Job, ended: &StepEnd) -> Next {
        let visit = &mut self.visits[job.visit as usize];
        let next = visit.ended(ended, &self.known, &mut self.counts);
        if next == Next::End {
            self.free.push(job.visit);
        }
        next
    }

    fn dropped(&mut self, job: &mut Job) {
        self.free.push(job.visit);
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        self.counts.list()
    }

    fn distributions(&self) -> Vec<Distribution> {
        self.counts.distributions()
    }

    fn take_traced(&mut self) -> Vec<Traced> {
        std::mem::take(&mut self.counts.traced)
    }

    fn window_opens(&mut self) {
        self.counts.window_opens();
    }
}

#[cfg(test)]
mod tests;
