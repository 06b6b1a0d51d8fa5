//! The host's knobs while a bench is under load: applied before a trial, looked at after it, and reverted.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use host::Host;
use knobs::overhead::{Overhead, measure};
use knobs::{Action, Asked, Engine, Problem, Subject};
use launch::{DEVICE, Form};
use results::{Invalid, Reason};
use spec::{Spec, Target};

use super::remote_host::Tuner;
use crate::{Error, Interrupt, Placement, Server};

/// The knobs of a bench, and what applies them.
#[derive(Clone)]
pub struct KnobGuard {
    knobs: Vec<String>,
    by: By,
}

#[derive(Clone)]
enum By {
    /// There are none.
    Nothing,
    /// The one engine that applies those of all benches.
    Engine(Box<Here>),
    /// The agent that runs the server on another machine, and the device there.
    Tuner(Arc<dyn Tuner>, Option<String>),
}

/// The knobs as `taillight tune` takes them.
pub(crate) fn names(spec: &Spec) -> Vec<String> {
    spec.knobs.iter().map(ToString::to_string).collect()
}

/// What knobs of this machine act on.
#[derive(Clone)]
struct Here {
    engine: Option<Engine>,
    asked: Asked,
    subject: Subject,
    host: Host,
}

impl KnobGuard {
    /// No knobs.
    pub(super) fn none() -> KnobGuard {
        KnobGuard { knobs: Vec::new(), by: By::Nothing }
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
        if experiment.knobs.is_empty() {
            return Ok(KnobGuard::none());
        }
        let engine = Engine::here()?;
        engine.refuse_leftovers()?;
        let pids = servers.iter().flat_map(Server::pids).collect();
        KnobGuard::of_processes(experiment, name, pids, placement, Some(&engine))
    }

    /// What `experiment` asks for, for this server.
    ///
    /// Errors: the host lacks it, or the engine is unavailable; nothing was changed.
    pub(super) fn here(
        experiment: &Spec,
        name: &str,
        server: &Server,
        placement: &Placement,
        engine: Option<&Engine>,
    ) -> Result<KnobGuard, Error> {
        KnobGuard::of_processes(experiment, name, server.pids(), placement, engine)
    }

    fn of_processes(
        experiment: &Spec,
        name: &str,
        pids: Vec<u32>,
        placement: &Placement,
        engine: Option<&Engine>,
    ) -> Result<KnobGuard, Error> {
        let asked = Asked::read(&names(experiment))?;
        let host = Host::here();
        let (net_device, net_namespace) = device(&experiment.target, &host, &pids);
        let subject = Subject {
            name: format!("taillight-study-{name}-{}", std::process::id()),
            pids,
            net_device,
            net_namespace,
            cpus: placement.server.iter().copied().collect(),
            ..Subject::default()
        };
        let here = Here { engine: engine.cloned(), asked, subject, host };
        here.plan()?;
        Ok(KnobGuard { knobs: names(experiment), by: By::Engine(Box::new(here)) })
    }

    /// The same of the machine on which `tuner` has its server.
    ///
    /// Errors: they are none, or that machine lacks them or does not allow them; nothing was changed.
    pub(super) fn there(experiment: &Spec, tuner: Arc<dyn Tuner>) -> Result<KnobGuard, Error> {
        Asked::read(&names(experiment))?;
        let device = experiment.target.device.clone();
        if !experiment.knobs.is_empty() {
            tuner.plan(&names(experiment), device.as_deref())?;
        }
        Ok(KnobGuard { knobs: names(experiment), by: By::Tuner(tuner, device) })
    }

    /// What of its profiles this machine does not support.
    pub fn notes(&self) -> Vec<String> {
        let By::Engine(here) = &self.by else { return Vec::new() };
        let planned = here.asked.plan(&here.host, &here.subject);
        let skipped = planned.map(|planned| planned.skipped).unwrap_or_default();
        skipped.iter().map(|one| format!("Left out of a profile: {}: {}.", one.knob, one.reason)).collect()
    }

    /// Runs `work` under the knobs; with what another process has changed meanwhile.
    ///
    /// Errors: those of `work`; a knob that cannot be applied or reverted.
    pub(super) fn during<T>(
        &self,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Option<Invalid>), Error> {
        if self.knobs.is_empty() {
            return Ok((work()?, None));
        }
        let (done, drifts) = match &self.by {
            By::Nothing => return Ok((work()?, None)),
            By::Engine(here) => {
                // Of a server that has ended, the work tells how.
                let engine = here.engine.as_ref().filter(|_| !here.subject.has_ended());
                let Some(engine) = engine else { return Ok((work()?, None)) };
                let applied = engine.apply(&here.plan()?)?;
                let done = work();
                let drifts = applied.check();
                applied.revert()?;
                (done, drifts?.iter().map(ToString::to_string).collect())
            }
            By::Tuner(tuner, device) => {
                tuner.apply(&self.knobs, device.as_deref()).map_err(|e| Self::not_as_planned(&e))?;
                let done = work();
                (done, tuner.undo().map_err(|e| Self::not_as_planned(&e))?)
            }
        };
        let drift =
            (!drifts.is_empty()).then(|| Invalid { reason: Reason::KnobDrift, detail: drifts.join("; ") });
        Ok((done?, drift))
    }

    /// What another machine's refusal of what it had planned means: its knobs may be in an unknown state.
    fn not_as_planned(error: &Error) -> Error {
        let (what, limit) = ("the knobs of the server's machine".into(), error.to_string());
        let hint = "look at it by `taillight tune status` on that machine".into();
        knobs::Error::Failed(Problem { what, limit, hint }).into()
    }

    /// How long it takes to apply the knobs, over so many times.
    ///
    /// Errors: they are those of another machine, to which each order would take longer than the knob.
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
        match interrupt.cause() {
            Some(cause) => Err(Error::Interrupted(cause)),
            None => Ok(Some(measured)),
        }
    }
}

impl Here {
    fn plan(&self) -> Result<Vec<Action>, Error> {
        Ok(self.asked.plan(&self.host, &self.subject)?.actions)
    }
}

/// The network device that knobs act on, and the namespace that it is in; `None`: this process's. A bare server is reached by
/// loopback, or by the machine's only card where it listens beyond.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_act_on_the_device_that_is_named_or_that_leads_to_the_server() {
        let check = |text: &str, pids: &[u32], name: &str, namespace: Option<&str>| {
            let experiment = crate::sample::spec(text);
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
    }
}
