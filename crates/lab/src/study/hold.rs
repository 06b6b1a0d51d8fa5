//! The host's settings while a bench is under load: applied before a trial, looked at after it, and put back.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use host::Host;
use knobs::overhead::{Overhead, measure};
use knobs::{Action, Engine, Setting, Subject, plan};
use launch::Form;
use results::{Invalid, Reason};

use super::elsewhere::Tuner;
use super::experiment::Experiment;
use crate::{Error, Interrupt, Placement, Server};

/// The settings of a bench, and who applies them.
#[derive(Clone)]
pub(super) struct Hold {
    settings: Vec<String>,
    by: By,
}

#[derive(Clone)]
enum By {
    /// The one engine that applies those of all benches.
    Engine(Box<Here>),
    /// Whoever runs the server on another machine.
    Tuner(Arc<dyn Tuner>),
}

/// What settings of this machine act on.
#[derive(Clone)]
struct Here {
    engine: Option<Engine>,
    settings: Vec<Setting>,
    subject: Subject,
    host: Host,
}

impl Hold {
    /// What `experiment` asks for, for this server.
    ///
    /// Errors: the host lacks it, or the engine cannot be had; nothing was changed.
    pub(super) fn here(
        experiment: &Experiment,
        name: &str,
        server: &Server,
        placement: &Placement,
        engine: Option<&Engine>,
    ) -> Result<Hold, Error> {
        let settings = settings(&experiment.knobs)?;
        let pids = server.pids();
        // Every form but the bare one has a network namespace of its own, whose device launch calls eth0.
        let (net_device, net_namespace) = match (experiment.target.form, pids.first()) {
            (Form::Bare, _) | (_, None) => ("lo", None),
            (_, Some(pid)) => ("eth0", Some(PathBuf::from(format!("/proc/{pid}/ns/net")))),
        };
        let subject = Subject {
            name: format!("taillight-study-{name}-{}", std::process::id()),
            pids,
            net_device: Some(net_device.into()),
            net_namespace,
            cpus: placement.server.iter().copied().collect(),
            ..Subject::default()
        };
        let here = Here { engine: engine.cloned(), settings, subject, host: Host::here() };
        here.plan()?;
        Ok(Hold { settings: experiment.knobs.clone(), by: By::Engine(Box::new(here)) })
    }

    /// The same of the machine on which `tuner` has its server.
    ///
    /// Errors: they are none, or that machine lacks them or does not allow them; nothing was changed.
    pub(super) fn there(experiment: &Experiment, tuner: Arc<dyn Tuner>) -> Result<Hold, Error> {
        settings(&experiment.knobs)?;
        if !experiment.knobs.is_empty() {
            tuner.plan(&experiment.knobs)?;
        }
        Ok(Hold { settings: experiment.knobs.clone(), by: By::Tuner(tuner) })
    }

    /// Runs `work` under the settings; with what somebody else has changed meanwhile.
    ///
    /// Errors: those of `work`; a setting that cannot be applied or put back.
    pub(super) fn during<T>(
        &self,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Option<Invalid>), Error> {
        if self.settings.is_empty() {
            return Ok((work()?, None));
        }
        let (done, drifts) = match &self.by {
            By::Engine(here) => {
                let Some(engine) = &here.engine else { return Ok((work()?, None)) };
                let applied = engine.apply(&here.plan()?)?;
                let done = work();
                let drifts = applied.check();
                applied.revert()?;
                (done, drifts?.iter().map(ToString::to_string).collect())
            }
            By::Tuner(tuner) => {
                tuner.apply(&self.settings)?;
                let done = work();
                (done, tuner.undo()?)
            }
        };
        let drift =
            (!drifts.is_empty()).then(|| Invalid { reason: Reason::KnobDrift, detail: drifts.join("; ") });
        Ok((done?, drift))
    }

    /// How long it takes to apply the settings, over so many times.
    ///
    /// Errors: they are those of another machine, to which each order would take longer than the setting.
    pub(super) fn overhead(&self, times: u32, interrupt: &Interrupt) -> Result<Option<Overhead>, Error> {
        let here = match &self.by {
            By::Engine(here) => here,
            By::Tuner(_) => {
                let message = "to tell what applying them costs takes this program on that machine".into();
                return Err(Error::Elsewhere { name: self.settings.join(", "), message });
            }
        };
        let Some(engine) = here.engine.as_ref().filter(|_| !self.settings.is_empty()) else {
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
        Ok(plan(&self.settings, &self.host, &self.subject)?)
    }
}

/// Settings from their texts.
fn settings(texts: &[String]) -> Result<Vec<Setting>, Error> {
    texts.iter().map(|text| Ok(text.parse::<Setting>()?)).collect()
}
