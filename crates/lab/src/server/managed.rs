//! An application that is started for a run, with the files that it serves: here, and by agents on other machines.

use std::path::Path;
use std::sync::Arc;

use app::{
    App, Away, Elsewhere, EndedPart, Making, Need, Placement, Plan, Running, RunningPart, RunningService,
    Seed,
};
use launch::{Instance, Interrupt, Interrupted, OwnFolder};

use super::ServerOptions;
use super::files::{Files, Served};
use super::spans;
use super::tracing;
use crate::agents::Machines;
use crate::{Error, TargetName};

/// A running application with its entry in the result. Dropping it ends the application and removes its places.
pub(super) struct ManagedServer {
    pub(super) running: Running,
    // Behind the services that serve them.
    served: Option<Served>,
    spans: Option<OwnFolder>,
    options: ServerOptions,
}

/// Machines whose agents start services of this target.
struct OfTarget<'a> {
    machines: &'a Machines,
    name: &'a TargetName,
    options: &'a ServerOptions,
}

impl app::Machines for OfTarget<'_> {
    fn open(&self, agent: &str, services: &[String]) -> Result<Box<dyn Elsewhere>, String> {
        self.machines.open(agent, self.name, self.options, services)
    }
}

impl ManagedServer {
    /// Errors: it cannot be started so, with the service that is in the way.
    pub(super) fn start(
        name: &TargetName,
        app: &Arc<App>,
        options: &ServerOptions,
        machines: Option<&Machines>,
    ) -> Result<ManagedServer, Error> {
        let mut plan = ManagedServer::plan(options, app)?;
        ManagedServer::make_data(&plan, &mut |_| ())?;
        let needs_files = plan.here().any(|service| service.needs.contains(&Need::Files));
        let files = options.files.as_ref().filter(|_| needs_files);
        let served = files.map(|files| files.have(&options.exe)).transpose()?;
        plan.files = served.as_ref().map(|served| served.folder().into());
        plan.videos = options.files.as_ref().and_then(Files::videos);
        let spans = options.traced.then(|| spans::folder(options.span_bytes)).transpose()?;
        plan.spans = spans.as_ref().map(|spans| spans.path().into());
        let machines = machines.map(|machines| OfTarget { machines, name, options });
        let running = plan.start_with(machines.as_ref().map(|machines| machines as &dyn app::Machines))?;
        Ok(ManagedServer { running, served, spans, options: options.clone() })
    }

    /// The start plan of `app`.
    ///
    /// Errors: an unknown setting; its requests are to be traced and cannot be.
    pub(super) fn plan(options: &ServerOptions, app: &Arc<App>) -> Result<Plan, Error> {
        let plan = options.plan(app)?;
        if options.traced {
            can_be_traced(&plan)?;
        }
        Ok(plan)
    }

    /// Makes the initial data of services on this machine, unless they exist; `tell` receives the progress.
    ///
    /// Errors: they cannot be made; the run was interrupted.
    pub(super) fn make_data(plan: &Plan, tell: &mut dyn FnMut(&Making)) -> Result<Vec<Seed>, Error> {
        let interrupt = Interrupt::signalled();
        let mut go_on = |making: &Making| {
            tell(making);
            interrupt.cause().is_none()
        };
        plan.make_seeds(&mut go_on).map_err(|error| match (error, interrupt.cause()) {
            (app::Error::Stopped, Some(cause)) => Interrupted(cause).into(),
            (error, _) => error.into(),
        })
    }

    /// The folder to which its services write spans, if they do.
    pub(super) fn spans(&self) -> Option<&Path> {
        self.spans.as_ref().map(OwnFolder::path)
    }

    /// The folder whose files its services serve here.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.served.as_ref().map(Served::folder)
    }

    /// Its entry in a result. If there are several services, the entrance determines command, program and machine.
    pub(super) fn record(&self, name: &str) -> results::Target {
        let app = self.running.plan().app();
        let entrance = app.entrance(None).map(|entrance| entrance.service.as_str());
        let is_front = |name: &str| entrance.is_none_or(|entrance| entrance == name);
        let of_part = |part: RunningPart<'_>| match part {
            RunningPart::Here(one) => is_front(&one.service.name).then(|| self.front(&one)),
            RunningPart::Elsewhere(away) => {
                away.services().iter().any(|name| is_front(name)).then(|| elsewhere(away))
            }
        };
        let front = self.running.parts().rev().find_map(of_part).unwrap_or_default();
        let mut services: Vec<results::Service> = Vec::new();
        for part in self.running.parts() {
            match part {
                RunningPart::Here(one) => services.push(self.service(&one)),
                RunningPart::Elsewhere(away) => {
                    let there = elsewhere(away);
                    let host = there.host.filter(|_| there.agent != front.agent);
                    services.extend(there.services.into_iter().map(|one| results::Service {
                        agent: there.agent.clone(),
                        host: host.clone(),
                        ..one
                    }));
                }
            }
        }
        let versions: Vec<&str> = services
            .iter()
            .rev()
            .map(|one| one.version.as_str())
            .filter(|version| !version.is_empty())
            .collect();
        results::Target {
            name: name.into(),
            version: versions.join(", "),
            address: self.running.address(None),
            services,
            ..front
        }
    }

    /// The entry of a target whose entrance runs on this machine.
    fn front(&self, one: &RunningService<'_>) -> results::Target {
        let places = self.running.places();
        let instances = || self.running.services().flat_map(|one| one.instances);
        results::Target {
            command: one.instances.first().map_or(Vec::new(), |first| first.process.spec().command_line()),
            configuration: one.configuration.map(str::to_owned),
            cpus: self.options.cpus.clone(),
            form: self.placement(one).form.to_string(),
            instances: one.instances.len() as u32,
            binary: one.found.path.display().to_string(),
            image: listed(places.images().map(|image| format!("{} {}", image.name, image.id)).collect()),
            engine: listed(places.versions()),
            containers: instances().filter_map(Instance::container).map(str::to_owned).collect(),
            congestion_control: self.congestion_control(),
            ..results::Target::default()
        }
    }

    fn placement(&self, one: &RunningService<'_>) -> &Placement {
        self.running.plan().placement(&one.service.name).expect("a plan has one for each service")
    }

    fn service(&self, one: &RunningService<'_>) -> results::Service {
        let (plan, name) = (self.running.plan(), &one.service.name);
        let placement = self.placement(one);
        let entrances = plan.app().entrances.iter().filter(|entrance| entrance.service == *name);
        results::Service {
            name: name.clone(),
            version: one.version(),
            binary: one.found.path.display().to_string(),
            calls: plan.app().before(one.service).cloned().collect(),
            entrances: entrances.map(|entrance| entrance.workload.name().to_owned()).collect(),
            form: placement.form.to_string(),
            instances: one.instances.len() as u32,
            threads: one.serving().unwrap_or(placement.threads) as u32,
            memory_bytes: placement.memory.0,
            cpus: placement.cpus.clone(),
            addresses: one.addresses.clone(),
            restarts: 0,
            ..results::Service::default()
        }
    }

    /// Its services on other machines, and whether its entrance is among them.
    pub(super) fn away(&self) -> impl Iterator<Item = (&Away, bool)> {
        let entrance = self.running.plan().app().entrance(None).map(|entrance| entrance.service.as_str());
        self.running.parts().filter_map(move |part| match part {
            RunningPart::Here(_) => None,
            RunningPart::Elsewhere(away) => {
                let has_it = away.services().iter().any(|name| entrance.is_none_or(|front| front == name));
                Some((away, has_it))
            }
        })
    }

    /// TCP's congestion control behind the bridge.
    pub(super) fn congestion_control(&self) -> Option<String> {
        let mut instances = self.running.services().flat_map(|service| service.instances);
        instances.find_map(Instance::congestion_control).map(str::to_owned)
    }

    /// How what ended first did so, as the end of a sentence; `None` while all run.
    pub(super) fn gone(&mut self) -> Option<String> {
        let several = self.running.plan().app().services.len() > 1;
        Some(match self.running.gone()? {
            EndedPart::Service { last, .. } if !several && last.is_empty() => String::new(),
            EndedPart::Service { last, .. } if !several => format!("; its last words: {}", last.join("\n  ")),
            EndedPart::Service { name, last, .. } => {
                format!(": its service {name} ended; the last words of that: {}", last.join("\n  "))
            }
            EndedPart::Elsewhere { name, why } => format!(": on {name}: {why}"),
        })
    }
}

/// Errors: no service of the application writes spans, or a service that does runs on another machine.
fn can_be_traced(plan: &Plan) -> Result<(), Error> {
    let app = plan.app();
    let error = |problem: String| Err(Error::NoSpans { name: app.name.clone(), problem });
    if tracing::entrance(app).is_none() {
        return error("none of its services writes any".into());
    }
    let agent = |name: &str| plan.placement(name).and_then(|placement| placement.agent.as_deref());
    let mut written = app.services.iter().filter(|service| service.written && plan.starts(&service.name));
    match written.find_map(|service| Some((&service.name, agent(&service.name)?))) {
        Some((name, agent)) => {
            error(format!("its service {name} would leave them on the machine of the agent at {agent}"))
        }
        None => Ok(()),
    }
}

/// The entry recorded by the agent of these services.
fn elsewhere(away: &Away) -> results::Target {
    let record: results::Target = serde_json::from_str(&away.told().record).unwrap_or_default();
    results::Target { agent: Some(away.name().into()), ..record }
}

/// Several with commas between; `None` of none.
fn listed(all: Vec<String>) -> Option<String> {
    (!all.is_empty()).then(|| all.join(", "))
}
