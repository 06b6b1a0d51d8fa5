//! The workload: users who arrive, their operations, and the outcomes.

use std::sync::Arc;

use dist::Rng;
use openloop::{Closed, Fault, Next, Parsed, Parts, Step, StepEnd, Unasked, Underway, Workload};
use spec::workload::SocialOperation;
use units::Nanos;

use crate::places::put;
use crate::social::config::{ARRIVING, Known, Share, UNDERWAY};
use crate::social::counts::SocialCounts;
use crate::social::login::Ready;
use crate::social::pages::{self, Wire};
use crate::social::people::Offline;
use crate::social::session::Session;
use crate::unasked::of_http;

/// The kind of error of a session for which no user is left.
const NO_USER: &str = "no user";
/// The user of such a session.
const NO_ONE: u32 = u32::MAX;
/// Numbers of sessions from here on are those of sessions that were under way when the load began.
const FROM_BEFORE: u64 = 1 << 48;

/// The reference from a request to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    session: u32,
}

/// One generator thread's users.
///
/// Shape: sessions lie in a table, whose places are used again. Cost: about 700 B a session, its cookies with it.
pub struct Social {
    known: Arc<Known>,
    share: Share,
    offline: Offline,
    rng: Rng,
    /// The users present when the load begins, with their next steps.
    underway: Vec<(Session, Step)>,
    sessions: Vec<Session>,
    free: Vec<u32>,
    scratch: [Vec<u8>; 2],
    counts: SocialCounts,
}

impl Social {
    /// The users of a thread. `ready` are those who were logged in before, of
    /// [`Known::logged_in_before`]; of others there are no sessions when the load begins.
    pub fn new(known: &Arc<Known>, share: Share, ready: Vec<Ready>) -> Social {
        let present = known.present(share);
        let (mut rng, mut offline) = (present.rng, present.offline);
        let mut number = FROM_BEFORE + u64::from(share.thread);
        let mut next = || {
            number += u64::from(share.threads.max(1));
            (number, known.streams.stream(UNDERWAY, number))
        };
        let mut underway = Vec::with_capacity(present.inside.len() + present.entering.len());
        let mut ready: std::collections::HashMap<u32, Ready> =
            ready.into_iter().map(|ready| (ready.user, ready)).collect();
        for user in present.inside {
            let (number, rng) = next();
            match ready.remove(&user) {
                Some(ready) => {
                    let mut session = Session::new(user, number, rng, known);
                    ready.moves_in(&mut session);
                    underway.push(session.goes_on(known));
                }
                None => offline.take_back(user),
            }
        }
        for user in present.entering {
            let (number, rng) = next();
            underway.push(Session::new(user, number, rng, known).enters(known));
        }
        // The first draws belong to the users present.
        let _ = rand::RngExt::random::<u64>(&mut rng);
        Social {
            known: Arc::clone(known),
            share,
            offline,
            rng,
            underway,
            sessions: Vec::new(),
            free: Vec::new(),
            scratch: [Vec::new(), Vec::new()],
            counts: SocialCounts::default(),
        }
    }

    fn begin(&mut self, session: Session) -> Job {
        Job { session: put(&mut self.sessions, &mut self.free, session) }
    }

    /// A session has ended: its place is free, and its user.
    fn end(&mut self, job: Job) {
        let user = self.sessions[job.session as usize].user;
        if user != NO_ONE {
            self.offline.take_back(user);
        }
        self.free.push(job.session);
    }

    fn write(&mut self, job: Job, is_last: bool, out: &mut Vec<u8>) {
        let session = &mut self.sessions[job.session as usize];
        pages::write(&self.known, session, is_last, &mut self.scratch, out);
    }
}

impl Workload for Social {
    type Job = Job;
    type Wire = Wire;

    fn operations(&self) -> Vec<String> {
        SocialOperation::ALL.map(|operation| operation.name().to_owned()).to_vec()
    }

    fn timeout(&self, operation: usize) -> Option<Nanos> {
        Some(self.known.config.timeout(SocialOperation::ALL[operation]))
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Job>) -> usize {
        let user = self.offline.draw(&mut self.rng);
        let rng = self.known.streams.stream(ARRIVING, seq);
        let session = Session::new(user.unwrap_or(NO_ONE), seq, rng, &self.known);
        if user.is_none() {
            let Share { thread, threads, .. } = self.share;
            let own = (thread..self.known.config.options.users.0).step_by(threads.max(1) as usize).count();
            let detail =
                format!("all {own} users of this thread are logged in, and none is left for another session");
            parts.refuse(Fault::new(NO_USER, detail));
        }
        let operation = session.operation.place();
        let job = self.begin(session);
        parts.push(0, job);
        operation
    }

    fn underway(&mut self) -> Vec<Underway<Job>> {
        let there = std::mem::take(&mut self.underway);
        let under =
            |(session, step)| Underway { age: Nanos::ZERO, endpoint: 0, step, job: self.begin(session) };
        there.into_iter().map(under).collect()
    }

    fn request(&mut self, job: &mut Job, _: u16, out: &mut Vec<u8>) {
        self.write(*job, false, out);
    }

    fn last_request(&mut self, job: &mut Job, _: u16, out: &mut Vec<u8>) {
        self.write(*job, true, out);
    }

    fn response(&mut self, job: &mut Job, wire: &mut Wire, bytes: &[u8]) -> Parsed<Job> {
        let session = &mut self.sessions[job.session as usize];
        pages::read(&self.known, session, wire, bytes, &mut self.counts.answers)
    }

    fn unasked(&self, bytes: &[u8]) -> Unasked {
        of_http(bytes)
    }

    fn closed(&mut self, job: &mut Job, wire: &mut Wire) -> Option<Closed<Job>> {
        let session = &mut self.sessions[job.session as usize];
        pages::closed(&self.known, session, wire, &mut self.counts.answers)
    }

    fn step_ended(&mut self, job: &mut Job, ended: &StepEnd) -> Next {
        let session = &mut self.sessions[job.session as usize];
        let next = session.ended(ended, &self.known, &mut self.counts);
        if next == Next::End {
            self.end(*job);
        }
        next
    }

    fn dropped(&mut self, job: &mut Job) {
        self.end(*job);
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        self.counts.list(|operation| self.known.config.site.has(operation))
    }

    fn window_opens(&mut self) {
        self.counts.window_opens();
    }
}

#[cfg(test)]
mod tests;
