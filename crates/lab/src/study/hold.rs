//! The host's settings while a bench is under load: applied before a trial, looked at after it, and put back.

use std::ops::ControlFlow;
use std::path::PathBuf;

use host::Host;
use knobs::overhead::{Overhead, measure};
use knobs::{Engine, Setting, Subject, plan};
use launch::Form;
use results::{Invalid, Reason};

use super::experiment::Experiment;
use crate::{Error, Interrupt, Placement, Server};

/// The settings of a bench and the one engine that applies those of all.
#[derive(Clone)]
pub(super) struct Hold {
    engine: Option<Engine>,
    settings: Vec<Setting>,
    subject: Subject,
    host: Host,
}

impl Hold {
    /// What `experiment` asks for, for this server.
    ///
    /// Errors: the host lacks it, or the engine cannot be had; nothing was changed.
    pub(super) fn new(
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
        let hold = Hold { engine: engine.cloned(), settings, subject, host: Host::here() };
        plan(&hold.settings, &hold.host, &hold.subject)?;
        Ok(hold)
    }

    /// Runs `work` under the settings; with what somebody else has changed meanwhile.
    ///
    /// Errors: those of `work`; a setting that cannot be applied or put back.
    pub(super) fn during<T>(
        &self,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Option<Invalid>), Error> {
        let Some(engine) = self.engine.as_ref().filter(|_| !self.settings.is_empty()) else {
            return Ok((work()?, None));
        };
        let applied = engine.apply(&plan(&self.settings, &self.host, &self.subject)?)?;
        let done = work();
        let drifts = applied.check();
        applied.revert()?;
        let drifts: Vec<String> = drifts?.iter().map(ToString::to_string).collect();
        let drift =
            (!drifts.is_empty()).then(|| Invalid { reason: Reason::KnobDrift, detail: drifts.join("; ") });
        Ok((done?, drift))
    }

    /// How long it takes to apply the settings, over so many times.
    pub(super) fn overhead(&self, times: u32, interrupt: &Interrupt) -> Result<Option<Overhead>, Error> {
        let Some(engine) = self.engine.as_ref().filter(|_| !self.settings.is_empty()) else {
            return Ok(None);
        };
        let plan = plan(&self.settings, &self.host, &self.subject)?;
        let go_on = |_| match interrupt.cause() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        };
        let measured = measure(engine, &plan, u64::from(times), go_on)?;
        match interrupt.cause() {
            Some(cause) => Err(Error::Interrupted(cause)),
            None => Ok(Some(measured)),
        }
    }
}

/// Settings from their texts.
fn settings(texts: &[String]) -> Result<Vec<Setting>, Error> {
    texts.iter().map(|text| Ok(text.parse::<Setting>()?)).collect()
}
