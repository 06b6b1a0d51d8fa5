//! An application that is started here, with the files that it serves.

use std::sync::Arc;

use app::{App, Need, Placement, Restart, Running, RunningService};
use launch::Instance;

use super::ServerOptions;
use super::files::Served;
use super::usage::Usage;
use crate::Error;

/// An application that runs, and what a result records of it. Dropping it ends it and removes what it ran in.
pub(super) struct ManagedServer {
    running: Running,
    // Behind the services that serve them.
    _served: Option<Served>,
    options: ServerOptions,
}

impl ManagedServer {
    /// Errors: it cannot be started so, with the service that is in the way.
    pub(super) fn start(app: &Arc<App>, options: &ServerOptions) -> Result<ManagedServer, Error> {
        let mut plan = options.plan(app)?;
        let files = options.files.as_ref().filter(|_| app.needs(Need::Files));
        let served = files.map(|files| files.have(&options.exe)).transpose()?;
        plan.files = served.as_ref().map(|served| served.folder().into());
        Ok(ManagedServer { running: plan.start()?, _served: served, options: options.clone() })
    }

    /// Stops all services and starts them again in the same places.
    ///
    /// Errors: one does not come back; all are stopped then.
    pub(super) fn restart(&mut self) -> Result<Restart, Error> {
        Ok(self.running.restart()?)
    }

    /// Ends all in good order.
    pub(super) fn stop(&mut self) {
        self.running.stop();
    }

    /// What a result records of it. Of several services the command and the program are those of its entrance.
    pub(super) fn record(&self, name: &str) -> results::Target {
        let app = self.running.plan().app();
        let entrance = app.entrance(None).map(|entrance| entrance.service.as_str());
        let services: Vec<_> = self.running.services().collect();
        let front = services.iter().rev().find(|one| entrance.is_none_or(|name| one.service.name == name));
        let versions: Vec<String> =
            services.iter().rev().map(|one| one.version()).filter(|version| !version.is_empty()).collect();
        let places = self.running.places();
        let containers = services.iter().flat_map(|one| one.instances).filter_map(Instance::container);
        results::Target {
            name: name.into(),
            version: versions.join(", "),
            address: self.address(),
            command: front
                .and_then(|one| one.instances.first())
                .map_or(Vec::new(), |first| first.process.spec().command_line()),
            configuration: front.and_then(|one| one.configuration).map(str::to_owned),
            cpus: self.options.cpus.clone(),
            form: front.map_or_else(String::new, |one| self.placement(one).form.to_string()),
            instances: front.map_or(0, |one| one.instances.len() as u32),
            binary: front.map_or_else(String::new, |one| one.found.path.display().to_string()),
            image: listed(places.images().map(|image| format!("{} {}", image.name, image.id)).collect()),
            engine: listed(places.versions()),
            containers: containers.map(str::to_owned).collect(),
            congestion_control: self.congestion_control(),
            services: services.iter().map(|one| self.service(one)).collect(),
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
            calls: one.service.calls.clone(),
            entrances: entrances.map(|entrance| entrance.workload.name().to_owned()).collect(),
            form: placement.form.to_string(),
            instances: one.instances.len() as u32,
            threads: placement.threads as u32,
            memory_bytes: placement.memory.0,
            cpus: placement.cpus.clone(),
            addresses: one.addresses.clone(),
            restarts: 0,
        }
    }

    /// What the services have used so far.
    pub(super) fn usage(&self) -> Usage {
        Usage::of(&self.running)
    }

    /// Where the services listen, in the order of the record.
    pub(super) fn addresses(&self) -> Vec<Vec<String>> {
        self.running.services().map(|one| one.addresses).collect()
    }

    /// TCP's congestion control behind the bridge.
    pub(super) fn congestion_control(&self) -> Option<String> {
        let mut instances = self.running.services().flat_map(|service| service.instances);
        instances.find_map(Instance::congestion_control).map(str::to_owned)
    }

    /// Where it is spoken to, as `--target` takes it.
    pub(super) fn address(&self) -> String {
        self.running.address(None)
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.running.pids()
    }

    /// The first service that ended, by its name where there are several, with its last words; `None` while all run.
    pub(super) fn gone(&mut self) -> Option<(Option<String>, Vec<String>)> {
        let (name, last) = self.running.gone()?;
        let several = self.running.plan().app().services.len() > 1;
        Some((several.then_some(name), last))
    }

    /// The last lines that each wrote to standard error.
    pub(super) fn logs(&self) -> Vec<String> {
        self.running.logs()
    }
}

/// Several with commas between; `None` of none.
fn listed(all: Vec<String>) -> Option<String> {
    (!all.is_empty()).then(|| all.join(", "))
}
