//! The host's knobs while a bench is under load: applied before a trial, looked at after it, and reverted.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use host::Host;
use knobs::overhead::{Overhead, measure};
use knobs::{Action, Engine, Knob, Problem, Subject, plan};
use launch::Form;
use results::{Invalid, Reason};
use spec::{Spec, Target};

use super::remote_host::Tuner;
use crate::{Error, Interrupt, Placement, Server};

/// The knobs of a bench, and what applies them.
#[derive(Clone)]
pub(super) struct KnobGuard {
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
    knobs: Vec<Knob>,
    subject: Subject,
    host: Host,
}

impl KnobGuard {
    /// No knobs.
    pub(super) fn none() -> KnobGuard {
        KnobGuard { knobs: Vec::new(), by: By::Nothing }
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
        let knobs = knobs(&names(experiment))?;
        let pids = server.pids();
        let (net_device, net_namespace) = device(&experiment.target, &pids);
        let subject = Subject {
            name: format!("taillight-study-{name}-{}", std::process::id()),
            pids,
            net_device: Some(net_device),
            net_namespace,
            cpus: placement.server.iter().copied().collect(),
            ..Subject::default()
        };
        let here = Here { engine: engine.cloned(), knobs, subject, host: Host::here() };
        here.plan()?;
        Ok(KnobGuard { knobs: names(experiment), by: By::Engine(Box::new(here)) })
    }

    /// The same of the machine on which `tuner` has its server.
    ///
    /// Errors: they are none, or that machine lacks them or does not allow them; nothing was changed.
    pub(super) fn there(experiment: &Spec, tuner: Arc<dyn Tuner>) -> Result<KnobGuard, Error> {
        knobs(&names(experiment))?;
        let device = experiment.target.device.clone();
        if !experiment.knobs.is_empty() {
            tuner.plan(&names(experiment), device.as_deref())?;
        }
        Ok(KnobGuard { knobs: names(experiment), by: By::Tuner(tuner, device) })
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
        Ok(plan(&self.knobs, &self.host, &self.subject)?)
    }
}

/// The network device that knobs act on, and the namespace that it is in; `None`: this process's.
fn device(target: &Target, pids: &[u32]) -> (String, Option<PathBuf>) {
    match (&target.device, target.form, pids.first()) {
        (Some(device), ..) => (device.clone(), None),
        (None, Form::Bare, _) | (None, _, None) => ("lo".into(), None),
        // Every form but the bare one has a network namespace of its own, whose device launch calls eth0.
        (None, _, Some(pid)) => ("eth0".into(), Some(format!("/proc/{pid}/ns/net").into())),
    }
}

/// Knobs from their texts.
fn knobs(texts: &[String]) -> Result<Vec<Knob>, Error> {
    texts.iter().map(|text| Ok(text.parse::<Knob>()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_act_on_the_device_that_is_named_or_that_leads_to_the_server() {
        let check = |text: &str, pids: &[u32], name: &str, namespace: Option<&str>| {
            let experiment = crate::sample::spec(text);
            let found = device(&experiment.target, pids);
            assert_eq!(found, (name.into(), namespace.map(Into::into)), "{text}");
        };
        check("", &[7], "lo", None);
        check("target.form = 'bridged'", &[7], "eth0", Some("/proc/7/ns/net"));
        check("target.form = 'bridged'", &[], "lo", None);
        check("target.device = 'eth1'", &[7], "eth1", None);
        check("target.device = 'eth1'\ntarget.form = 'bridged'", &[7], "eth1", None);
    }
}
