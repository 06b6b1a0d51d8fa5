use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use app::{Addresses, App, PeopleSet, Placement, Plan};
use launch::Subnet;
use spec::{Target, TargetName, Workload};
use units::Rate;

use super::{Files, spans};

/// How a server that is started here is set up.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerOptions {
    /// This program, which is started once more as the embedded server.
    pub exe: PathBuf,
    /// The set-up, as a specification has it; on this machine `cpus` are its processors.
    pub target: Target,
    /// The services to start; empty means all. The others run elsewhere.
    pub only: Vec<String>,
    /// Addresses of services elsewhere that are called from here.
    pub called: Addresses,
    /// The address range of services that are not bare, which other machines route to this one; `None`: only this
    /// machine reaches them.
    pub routed: Option<Subnet>,
    /// Connections that will be made to each instance.
    pub connections: usize,
    /// The processors that they may run on.
    pub cpus: Vec<usize>,
    /// The files of a web server.
    pub files: Option<Files>,
    /// The users whose data it begins with.
    pub people: Option<PeopleSet>,
    /// Whether its services write spans of requests that are traced.
    pub traced: bool,
    /// Bytes of the spans of a trial, for which room is looked for.
    pub span_bytes: u64,
}

/// The users whose data a server begins with that is started for a workload; `None` of a workload that has none.
pub(crate) fn people_of(workload: &Workload) -> Option<PeopleSet> {
    workload.people().map(|(users, seed)| PeopleSet { users, seed })
}

/// Whether `workload` traces requests.
pub fn is_traced(workload: &Workload) -> bool {
    workload.traced_one_in().is_some()
}

/// How many bytes of spans a trial of `spec` leaves, about.
pub(crate) fn span_bytes(spec: &spec::Spec) -> u64 {
    let Some(one_in) = spec.workload.traced_one_in() else { return 0 };
    let rate = spec.load.rate().map(Rate::rps);
    let time = [spec.time.warmup, spec.time.window, spec.generator.drain].map(Duration::from).iter().sum();
    spans::bytes_of(time, rate, one_in)
}

impl ServerOptions {
    /// The same for a load of `workload` on `target`: its files, its users, its data, and whether requests are traced.
    #[must_use]
    pub fn serving(self, workload: &Workload, target: &TargetName, files: Option<Files>) -> ServerOptions {
        let (people, traced) = (people_of(workload), is_traced(workload));
        let mut options = ServerOptions { files, people, traced, ..self };
        // An application made like the application of these data has the same settings. The user's settings come later,
        // and win.
        let is_like = |name: &str| {
            crate::application(target).is_ok_and(|app| app.is_some_and(|app| app.made_as() == name))
        };
        if let Some((_, settings)) = workload.data_settings().filter(|(name, _)| is_like(name)) {
            options.target.set.splice(0..0, settings);
        }
        options
    }

    /// One bare server of one thread with 1 GiB, on the first processor.
    pub fn new(exe: &Path) -> ServerOptions {
        ServerOptions {
            exe: exe.into(),
            target: Target::default(),
            only: Vec::new(),
            called: Addresses::new(),
            routed: None,
            connections: 64,
            cpus: crate::allowed_cpus()[..1].to_vec(),
            files: None,
            people: None,
            traced: false,
            // A minute of which one request in ten is traced.
            span_bytes: spans::bytes_of(Duration::from_secs(60), None, 10),
        }
    }

    /// Options from a specification, with `cpus` and the number of connections. The files are set later.
    pub fn of(target: &Target, exe: &Path, cpus: Vec<usize>, connections: usize) -> ServerOptions {
        ServerOptions { target: target.clone(), connections, cpus, ..ServerOptions::new(exe) }
    }

    /// The start plan of `app`. Every service gets the common threads, memory, processors, instances, form and machine,
    /// unless a setting such as `SERVICE.threads` overrides them. The files are set later.
    ///
    /// Errors: an unknown setting; arguments or a program that no service of the application takes.
    pub fn plan(&self, app: &Arc<App>) -> Result<Plan, app::Error> {
        let target = &self.target;
        let listen = target.listen.unwrap_or(Ipv4Addr::LOCALHOST.into());
        if listen.is_unspecified() {
            let problem = format!("listen={listen}: it is not one address, such as 10.0.0.5");
            return Err(app::Error::Setting { service: app.name.clone(), problem });
        }
        let mut plan = Plan::new(Arc::clone(app), &self.exe);
        plan.place_all(&Placement {
            threads: target.threads as usize,
            memory: target.memory,
            cpus: self.cpus.clone(),
            instances: target.instances.max(1) as usize,
            form: target.form,
            agent: target.agent.clone(),
            ..Placement::default()
        });
        plan.only.clone_from(&self.only);
        plan.called.clone_from(&self.called);
        plan.listen = listen;
        plan.routed = self.routed;
        // Servers count listeners and the like among them.
        plan.connections = (self.connections + 64).max(1024);
        plan.people = self.people;
        plan.program(target.binary.clone(), target.image.clone())?;
        plan.arguments(&target.args)?;
        plan.set(&target.set)?;
        Ok(plan)
    }
}
