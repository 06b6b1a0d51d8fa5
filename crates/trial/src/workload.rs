//! The workloads as a trial offers them: a file each, from the options of a specification to the evaluation of a recording.
//!
//! A further one is a file here, and a line in [`of`].

mod ask;
mod cache;
mod movies;
mod null;
mod sessions;
mod several;
mod social;
mod video;
mod web;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Error, Result, bail};
use dist::Arrivals;
use openloop::{Generator, Load, Plan, Recording};
use proto_http::Url;
use reactor::Address;
use results::{Found, Invalid, Reason};
use spec::{Spec, Workload};
use units::{Nanos, Rate};

pub(crate) use self::ask::stranger;
pub use self::cache::{read as read_data_set, selected as selected_requests};
use crate::from_agents::{Agents, NotOffered};
use crate::generate::Interrupted;
use crate::noise::Watch;
use crate::task::Task;
use crate::tls::TlsClient;

/// The time that each login before a load takes at most. Source: the limit of one login, divided by the logins that run at
/// once. The site determines the cost of a login, and its hashes may be expensive; the limit of one login detects a site that
/// does not answer.
pub(crate) const LOGIN: Nanos = Nanos(ask::LOGIN_MOST.as_nanos() as u64 / several::AT_ONCE as u64);

/// A workload with every parameter filled in.
pub(crate) trait Offered {
    /// The task with other servers in place of the given ones; `None` if it keeps them.
    ///
    /// Errors: the servers are not of the kind that is replaced.
    fn replaced(&self, _task: &Task, _tls: Option<&TlsClient>) -> Result<Option<Task>> {
        Ok(None)
    }

    /// Further ports of these servers that are used.
    ///
    /// Errors: a server has none.
    fn datagram_ports(&self, _servers: &[Address]) -> Result<Vec<Address>> {
        Ok(Vec::new())
    }

    /// Its own arrivals in place of drawn ones, at this mean rate if one is given.
    ///
    /// Errors: they have no rate of their own.
    fn arrivals(&self, _rate: Option<Rate>) -> Result<Option<Arrivals>> {
        Ok(None)
    }

    /// Adjusts the plan to the workload, and the workload to the plan.
    ///
    /// Errors: a load that this process cannot offer.
    fn plan(&mut self, _task: &Task, _plan: &mut Plan) -> Result<()> {
        Ok(())
    }

    /// Sets values that are only known at run time in the options: the keys of a data set, the files of a folder.
    fn resolve(&self, _workload: &mut Workload) {}

    /// Adds facts known before the first request.
    fn found(&self, _found: &mut Found) {}

    /// Prepares the servers, generates the load and evaluates the recording.
    ///
    /// Errors: a server that cannot be reached or refuses the preparation; the run was interrupted.
    fn run(self: Box<Self>, run: &mut Run<'_>) -> Result<(Recording, Watch)>;
}

/// A task, and the means to query its servers before the load.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) task: &'a Task,
    pub(crate) tls: Option<&'a TlsClient>,
    pub(crate) stop: &'a Arc<AtomicBool>,
}

/// URLs of web servers; empty if they are not known yet.
fn urls(reach: Option<Reach<'_>>) -> Vec<Url> {
    reach.map_or_else(Vec::new, |reach| reach.task.urls.clone())
}

/// The workload of a specification on the servers of a task; `None` if they are not known yet.
///
/// Errors: parameters that contradict each other; a file, folder or playlist that cannot be read.
pub(crate) fn of(spec: &Spec, reach: Option<Reach<'_>>) -> Result<Box<dyn Offered>> {
    Ok(match &spec.workload {
        Workload::Cache(options) => Box::new(cache::offered(options, spec, reach)?),
        Workload::Web(options) => Box::new(web::offered(options, spec, reach)?),
        Workload::Video(options) => Box::new(video::offered(options, spec, reach)?),
        Workload::Social(options) => Box::new(social::offered(options, spec, reach)?),
        Workload::Movies(options) => Box::new(movies::offered(options, spec, reach)?),
        Workload::Null(_) => Box::new(null::Offered),
    })
}

/// A trial while its load is prepared and generated.
pub(crate) struct Run<'a> {
    pub(crate) reach: Reach<'a>,
    pub(crate) generator: &'a Generator,
    pub(crate) agents: &'a mut Option<Agents>,
    /// The workload's options, resolved.
    pub(crate) workload: &'a Workload,
    pub(crate) load: Load,
    pub(crate) others: Vec<Invalid>,
    pub(crate) counters: BTreeMap<String, f64>,
    /// The name that the first server reports.
    pub(crate) server_version: Option<String>,
    /// Facts that the servers did not tell, and why.
    pub(crate) unknown: Vec<String>,
}

impl Run<'_> {
    /// Watches this machine, which generates the load unless agents do, and records the load: of agents, or by `here`.
    ///
    /// Errors: nothing was recorded, or the run was interrupted before any request of its window was due.
    pub(crate) fn record(
        &mut self,
        here: impl FnOnce(&Generator) -> Result<Recording>,
    ) -> Result<(Recording, Watch)> {
        let (watch, recording) = self.watch_and_record(here);
        self.watched(watch, recording)
    }

    /// The same for a load that may not be offered: `refused` is the reason, and `nothing` an empty recording, so that a search
    /// continues with a lower rate.
    ///
    /// Errors: as above; also a load that cannot be offered if an agent started this process and waits for it to be ready.
    pub(crate) fn record_unless(
        &mut self,
        refused: Option<Invalid>,
        here: impl FnOnce(&Generator) -> Result<Recording>,
        nothing: impl FnOnce(&Generator) -> Recording,
    ) -> Result<(Recording, Watch)> {
        let (watch, recording) = match refused {
            Some(invalid) => (self.watch(), Err(NotOffered(invalid).into())),
            None => self.watch_and_record(here),
        };
        let recording = match recording.map_err(Error::downcast::<NotOffered>) {
            Err(Ok(NotOffered(invalid))) if !self.reach.task.start_on_stdin => {
                self.others.push(invalid);
                Ok(nothing(self.generator))
            }
            Err(Ok(refused)) => Err(refused.into()),
            Err(Err(error)) => Err(error),
            Ok(recording) => Ok(recording),
        };
        self.watched(watch, recording)
    }

    fn watch_and_record(
        &mut self,
        here: impl FnOnce(&Generator) -> Result<Recording>,
    ) -> (Watch, Result<Recording>) {
        let watch = self.watch();
        let recording = match self.agents {
            Some(agents) => agents.gather(self.reach.task, self.workload, &self.load, self.reach.stop),
            None => here(self.generator),
        };
        (watch, recording)
    }

    fn watch(&self) -> Watch {
        let task = self.reach.task;
        match task.spec.generator.agents.agents.is_empty() {
            true => Watch::on(&task.server_pids, &self.generator.cpus),
            false => Watch::of_server(&task.server_pids),
        }
    }

    /// The recording; an interrupted run yields the recording of a shorter window. With several generators, the others stop
    /// when one is lost, and keep their data.
    fn watched(&self, watch: Watch, recording: Result<Recording>) -> Result<(Recording, Watch)> {
        let is_empty = !recording.as_ref().is_ok_and(|recording| recording.tally.intended > 0);
        let Reach { task, stop, .. } = self.reach;
        if stop.load(Ordering::Relaxed) && !task.start_on_stdin && is_empty {
            bail!(Interrupted);
        }
        Ok((recording?, watch))
    }

    /// Notes responses with wrong contents as a reason against the trial, in these words.
    pub(crate) fn refuse_wrong(&mut self, recording: &Recording, words: &str) {
        let wrong =
            recording.counters.iter().find(|(name, wrong, _)| name == "verify_failures" && *wrong > 0);
        self.others.extend(wrong.map(|(_, wrong, of)| Invalid {
            reason: Reason::VerifyFailed,
            detail: format!("{wrong} of {of} {words}"),
        }));
    }
}

/// Gives the plan sessions in place of a fixed number of connections; `most`: how many at once, `None` if agents generate them.
pub(crate) fn plan_sessions(plan: &mut Plan, most: Option<usize>) {
    for endpoint in &mut plan.endpoints {
        endpoint.connections = 0;
    }
    (plan.depth, plan.clients, plan.sessions) = (1, None, most);
}
