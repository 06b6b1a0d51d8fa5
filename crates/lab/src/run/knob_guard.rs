//! The host's knobs while a bench is under load: applied before a trial, looked at after it, and reverted.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use host::Host;
use knobs::overhead::{Overhead, measure};
use knobs::{Action, Engine, Problem, RequestedKnobs, Skipped, Subject};
use launch::{DEVICE, Form, Interrupt};
use results::{Invalid, Reason};
use spec::{Agents, Spec, Target};

use super::remote_host::Tuner;
use crate::{Error, Placement, Server, forget_files};

/// The knobs of a bench, and the way to apply them.
#[derive(Clone)]
pub struct KnobGuard {
    knobs: Vec<String>,
    by: By,
    /// The knobs of the generator's machine, if that is this machine.
    client: Option<Box<KnobGuard>>,
}

/// Prefix of an agent's lines for profile knobs that its machine lacks.
pub const LEFT_OUT: &str = "# Left out of a profile: ";

#[derive(Clone)]
enum By {
    Nothing,
    /// The engine that applies the knobs of all benches.
    Engine(Box<Here>),
    /// The agent that runs the server on another machine, the device there, and what that machine lacks.
    Tuner(Arc<dyn Tuner>, Option<String>, Vec<String>),
}

/// The knobs as `taillight tune` takes them, with what keeps the bandwidth of clients.
pub(crate) fn names(spec: &Spec) -> Vec<String> {
    spec.knobs
        .iter()
        .map(ToString::to_string)
        .chain(spec.workload.client_knob().map(|needs| needs.knob))
        .collect()
}

/// The knobs of the generators' machines.
pub(crate) fn client_names(spec: &Spec) -> Vec<String> {
    spec.client_knobs.iter().map(ToString::to_string).collect()
}

/// Whether knobs of this machine will be changed; `elsewhere`: the servers run on other machines.
pub(crate) fn changes_this_machine(spec: &Spec, agents: &Agents, elsewhere: bool) -> bool {
    !names(spec).is_empty() && !elsewhere || !spec.client_knobs.is_empty() && agents.agents.is_empty()
}

/// Engine and subject of this machine's knobs.
#[derive(Clone)]
struct Here {
    engine: Option<Engine>,
    asked: RequestedKnobs,
    subject: Subject,
    host: Host,
    /// The profile knobs that this machine does not support.
    skipped: Vec<Skipped>,
}

impl KnobGuard {
    pub(super) fn none() -> KnobGuard {
        KnobGuard { knobs: Vec::new(), by: By::Nothing, client: None }
    }

    /// What `experiment` asks for, for servers of this machine, by an engine of its own.
    ///
    /// Errors: the host lacks it, an earlier run has left knobs set, or the engine is unavailable; nothing was changed.
    pub fn on(
        experiment: &Spec,
        name: &str,
        servers: &[Server],
        placement: &Placement,
    ) -> Result<KnobGuard, Error> {
        let agents = &experiment.generator.agents;
        if !changes_this_machine(experiment, agents, false) {
            return Ok(KnobGuard::none());
        }
        let engine = Engine::here()?;
        engine.refuse_leftovers()?;
        let hold = KnobGuard::here(experiment, name, servers, placement, Some(&engine))?;
        hold.and_client(experiment, name, agents, placement, Some(&engine))
    }

    /// Adds the generator's knobs, if it runs on this machine.
    ///
    /// Errors: the host lacks them; nothing was changed.
    pub(super) fn and_client(
        self,
        experiment: &Spec,
        name: &str,
        agents: &Agents,
        placement: &Placement,
        engine: Option<&Engine>,
    ) -> Result<KnobGuard, Error> {
        let knobs = client_names(experiment);
        if knobs.is_empty() || !agents.agents.is_empty() {
            return Ok(self);
        }
        let host = Host::here();
        let subject = Subject {
            name: format!("taillight-client-{name}-{}", std::process::id()),
            net_device: Some(client_device(&experiment.target, &host)),
            cpus: placement.generator.iter().copied().collect(),
            ..Subject::default()
        };
        let here = Here::planned(engine, RequestedKnobs::read(&knobs)?, subject, host)?;
        let client = KnobGuard { knobs, by: By::Engine(Box::new(here)), client: None };
        Ok(KnobGuard { client: Some(Box::new(client)), ..self })
    }

    /// The knobs of `experiment` for these servers, planned and not applied.
    ///
    /// Errors: the host lacks a knob, or the engine is unavailable.
    pub(super) fn here(
        experiment: &Spec,
        name: &str,
        servers: &[Server],
        placement: &Placement,
        engine: Option<&Engine>,
    ) -> Result<KnobGuard, Error> {
        let pids: Vec<u32> = servers.iter().flat_map(Server::started_pids).collect();
        let folder = servers.iter().find_map(Server::folder).map(PathBuf::from);
        let asked = RequestedKnobs::read(&names(experiment))?;
        let host = Host::here();
        let (net_device, net_namespace) = device(&experiment.target, &host, &pids);
        let subject = Subject {
            name: format!("taillight-study-{name}-{}", std::process::id()),
            pids,
            net_device,
            net_namespace,
            folder,
            cpus: placement.server.iter().copied().collect(),
            ..Subject::default()
        };
        let here = Here::planned(engine, asked, subject, host)?;
        Ok(KnobGuard { knobs: names(experiment), by: By::Engine(Box::new(here)), client: None })
    }

    /// The same of the machine on which `tuner` has its server.
    ///
    /// Errors: a name is not a knob, or that machine lacks or does not allow a knob; then no knob is changed.
    pub(super) fn there(experiment: &Spec, tuner: Arc<dyn Tuner>) -> Result<KnobGuard, Error> {
        RequestedKnobs::read(&names(experiment))?;
        let device = experiment.target.device.clone();
        let mut lacks = Vec::new();
        if !names(experiment).is_empty() {
            let planned = tuner.plan(&names(experiment), device.as_deref())?;
            lacks.extend(planned.lines().filter_map(|line| line.strip_prefix(LEFT_OUT)).map(str::to_owned));
        }
        Ok(KnobGuard { knobs: names(experiment), by: By::Tuner(tuner, device, lacks), client: None })
    }

    /// Notes on profile knobs that the machine does not support.
    pub fn notes(&self) -> Vec<String> {
        let lacks = match &self.by {
            By::Nothing => Vec::new(),
            By::Engine(here) => {
                here.skipped.iter().map(|one| format!("{}: {}", one.knob, one.reason)).collect()
            }
            By::Tuner(.., lacks) => lacks.clone(),
        };
        let mut notes: Vec<String> =
            lacks.iter().map(|lack| format!("Left out of a profile: {lack}.")).collect();
        for note in self.client.iter().flat_map(|client| client.notes()) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }

    /// Runs `work` under the knobs; also returns knobs that another process has changed during it.
    ///
    /// Errors: the error of `work`; a knob that cannot be applied or reverted.
    pub(super) fn during<T>(
        &self,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Option<Invalid>), Error> {
        let Some(client) = &self.client else { return self.around(work) };
        let ((done, inner), outer) = self.around(|| client.around(work))?;
        Ok((done, outer.or(inner)))
    }

    fn around<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<(T, Option<Invalid>), Error> {
        if self.knobs.is_empty() {
            return Ok((work()?, None));
        }
        let (done, drifts) = match &self.by {
            By::Nothing => return Ok((work()?, None)),
            By::Engine(here) => {
                // Of a server that has ended, the work tells how.
                let engine = here.engine.as_ref().filter(|_| !here.subject.has_ended());
                let Some(engine) = engine else { return Ok((work()?, None)) };
                forget_files(here.asked.knobs(), here.subject.folder.as_deref())?;
                let applied = engine.apply(&here.plan()?)?;
                let done = work();
                let drifts = applied.check();
                applied.revert()?;
                (done, drifts?.iter().map(ToString::to_string).collect())
            }
            By::Tuner(tuner, device, _) => {
                tuner.apply(&self.knobs, device.as_deref()).map_err(|e| Self::not_as_planned(&e))?;
                let done = work();
                (done, tuner.undo().map_err(|e| Self::not_as_planned(&e))?)
            }
        };
        let drift =
            (!drifts.is_empty()).then(|| Invalid { reason: Reason::KnobDrift, detail: drifts.join("; ") });
        Ok((done?, drift))
    }

    /// The error if another machine fails to execute its plan: its knobs may be in an unknown state.
    fn not_as_planned(error: &Error) -> Error {
        let (what, limit) = ("the knobs of the server's machine".into(), error.to_string());
        let hint = "look at it by `taillight tune status` on that machine".into();
        knobs::Error::Failed(Problem { what, limit, hint }).into()
    }

    /// Time to apply the knobs, over the given number of times.
    ///
    /// Errors: the knobs are another machine's, where the round trip would take longer than the knob.
    pub(super) fn overhead(&self, times: u32, interrupt: &Interrupt) -> Result<Option<Overhead>, Error> {
        let here = match &self.by {
            By::Nothing => return Ok(None),
            By::Engine(here) => here,
            By::Tuner(..) => {
                let message = "to tell what applying them costs takes this program on that machine".into();
                return Err(Error::RemoteHost { name: self.knobs.join(", "), message });
            }
        };
        let Some(engine) = here.engine.as_ref().filter(|_| !self.knobs.is_empty()) else {
            return Ok(None);
        };
        let go_on = |_| match interrupt.cause() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        };
        let measured = measure(engine, &here.plan()?, u64::from(times), go_on)?;
        interrupt.check()?;
        Ok(Some(measured))
    }
}

impl Here {
    /// Errors: the host lacks a knob.
    fn planned(
        engine: Option<&Engine>,
        asked: RequestedKnobs,
        subject: Subject,
        host: Host,
    ) -> Result<Here, Error> {
        let skipped = asked.plan(&host, &subject)?.skipped;
        Ok(Here { engine: engine.cloned(), asked, subject, host, skipped })
    }

    /// The current actions: processes may have other threads than when the bench was made.
    fn plan(&self) -> Result<Vec<Action>, Error> {
        Ok(self.asked.plan(&self.host, &self.subject)?.actions)
    }
}

/// The network device that knobs act on, and its namespace; `None`: this process's namespace. A bare server is reached
/// by loopback, or by the machine's only card if it listens on another address.
fn device(target: &Target, host: &Host, pids: &[u32]) -> (Option<String>, Option<PathBuf>) {
    match (&target.device, target.form, pids.first()) {
        (Some(device), ..) => (Some(device.clone()), None),
        (None, Form::Bare, _) if target.listen.is_some_and(|ip| !ip.is_loopback()) => {
            (host.only_card().map(|nic| nic.name.clone()), None)
        }
        (None, Form::Bare, _) | (None, _, None) => (Some("lo".into()), None),
        // Every form but the bare one has a network namespace of its own.
        (None, _, Some(pid)) => (Some(DEVICE.into()), Some(format!("/proc/{pid}/ns/net").into())),
    }
}

/// The network device by which this machine's generator reaches the target: loopback, if the target listens there.
fn client_device(target: &Target, host: &Host) -> String {
    let is_near = target.form == Form::Bare
        && target.agent.is_none()
        && !target.server.is_external()
        && target.listen.is_none_or(|ip| ip.is_loopback());
    let device = host.only_device().filter(|_| !is_near);
    device.map_or_else(|| "lo".into(), |nic| nic.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_act_on_the_device_that_is_named_or_that_leads_to_the_server() {
        let check = |text: &str, pids: &[u32], name: &str, namespace: Option<&str>| {
            let experiment = crate::testing::spec(text);
            let card =
                host::Nic { name: "eth7".into(), driver: Some("ixgbe".into()), ..host::Nic::default() };
            let host = Host { nics: vec![card], ..Host::default() };
            let found = device(&experiment.target, &host, pids);
            assert_eq!(found, (Some(name.into()), namespace.map(Into::into)), "{text}");
        };
        check("", &[7], "lo", None);
        check("target.listen = '10.0.0.1'", &[7], "eth7", None);
        check("target.form = 'bridged'", &[7], "eth0", Some("/proc/7/ns/net"));
        check("target.form = 'bridged'", &[], "lo", None);
        check("target.device = 'eth1'", &[7], "eth1", None);
        check("target.device = 'eth1'\ntarget.form = 'bridged'", &[7], "eth1", None);
        let client = |text: &str, expect: &str| {
            let card =
                host::Nic { name: "eth7".into(), driver: Some("ixgbe".into()), ..host::Nic::default() };
            let host = Host { nics: vec![card], ..Host::default() };
            assert_eq!(client_device(&crate::testing::spec(text).target, &host), expect, "{text}");
        };
        client("", "lo");
        client("target.agent = '10.0.0.5:7070'", "eth7");
        client("target.server = '10.0.0.5:11211'", "eth7");
    }

    #[test]
    fn the_bandwidth_of_clients_is_a_knob_of_the_servers_machine() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(names(&crate::testing::spec(text)), expect, "{text}");
            let changes = changes_this_machine(&crate::testing::spec(text), &Agents::default(), false);
            assert_eq!(changes, !expect.is_empty(), "{text}");
        };
        let of = |more: &str| format!("knobs = []\nworkload.kind = 'video'\ntarget.server = 'video'\n{more}");
        check(&of(""), &[]);
        check(&of("workload.bandwidth = 'pace'"), &["client.pace=on"]);
        check(
            &of("workload.bandwidth = 'shape'\nworkload.videos = '10x1/8'\nworkload.speed = 2"),
            &["client.shape=6250000bit"],
        );
    }

    #[test]
    fn this_machine_is_changed_where_the_server_or_the_generator_is() {
        let check = |text: &str, agents: &[&str], elsewhere: bool, expect: bool| {
            let agents =
                Agents { agents: agents.iter().map(|one| (*one).to_owned()).collect(), ..Agents::default() };
            let found = changes_this_machine(&crate::testing::spec(text), &agents, elsewhere);
            assert_eq!(found, expect, "{text}");
        };
        check("", &[], false, false);
        check("knobs = ['swap=off']", &[], false, true);
        check("knobs = ['swap=off']", &[], true, false);
        check("client-knobs = ['swap=off']", &[], true, true);
        check("client-knobs = ['swap=off']", &["10.0.0.6:7070"], false, false);
    }
}
