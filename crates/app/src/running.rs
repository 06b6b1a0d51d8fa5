//! A running application: its services in the order in which they started.

use std::collections::BTreeMap;
use std::iter;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use launch::{Form, Instance, OwnFolder, PlaceRequest, Places, Restart};

use crate::description::{Listen, Need, Seeded, Service, Store, Workload};
use crate::elsewhere::{Address, Addresses, Away, Machines};
use crate::plan::{Placement, Plan};
use crate::program::VersionedProgram;
use crate::seed::{self, Making, Seed};
use crate::{Error, filling, reach};

mod revive;

/// A running application. Dropping it ends all of its processes and removes the files that they wrote.
pub struct Running {
    /// In the order in which they started.
    parts: Vec<Part>,
    // Behind the services that are in them.
    pub(crate) places: Places,
    pub(crate) plan: Plan,
    /// The data that a service of this machine begins with at each start, by its name.
    seeds: BTreeMap<String, Arc<Seed>>,
}

/// How far a start is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Starting<'a> {
    /// The data that services begin with are made.
    Making(&'a Making),
    /// An instance, numbered from 0, is started now.
    Begun { service: &'a str, instance: usize },
    /// It is ready: the time this took, its process, and the addresses on which it listens.
    Ready { service: &'a str, instance: usize, took: Duration, pid: u32, addresses: &'a [Address] },
}

/// Receives the progress of a start; returning `false` stops it.
pub type TellStart<'a> = &'a mut dyn FnMut(&Starting<'_>) -> bool;

/// A unit of starting.
enum Part {
    Here(Started),
    Elsewhere(Away),
}

/// A service whose instances run.
pub(crate) struct Started {
    /// Its place in [`crate::App::services`].
    pub(crate) at: usize,
    pub(crate) found: VersionedProgram,
    /// The first of its places; instances take one each.
    first_place: usize,
    pub(crate) instances: Vec<Instance>,
    /// The addresses of each instance, in the order of the description.
    pub(crate) addresses: Vec<Vec<Address>>,
    /// The configuration of the first instance.
    configuration: Option<String>,
    // Behind the instances, which run in them.
    pub(crate) folders: Vec<OwnFolder>,
    /// How many of the folders were prepared.
    prepared: usize,
}

impl Started {
    fn places<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = PlaceRequest<'a>> {
        let placement = plan.placement(&plan.app().services[self.at].name).expect("it has one for each");
        let place = PlaceRequest {
            form: placement.form,
            program: &self.found.path,
            image: placement.image.as_deref(),
        };
        iter::repeat_n(place, placement.instances.max(1))
    }

    /// Ends its instances. Servers that wait for open requests may take up to `grace`.
    fn stop(&mut self, grace: Duration) {
        self.addresses.clear();
        self.instances.iter_mut().for_each(|instance| instance.process.terminate());
        for instance in self.instances.drain(..) {
            // Having to kill it does not affect the measurement.
            let _ = instance.stop(grace);
        }
    }
}

impl Running {
    pub(crate) fn start(
        plan: Plan,
        machines: Option<&dyn Machines>,
        tell: TellStart<'_>,
    ) -> Result<Running, Error> {
        let seeds = seed::by_service(&plan, &mut |making| tell(&Starting::Making(making)))?;
        Running::begin(plan, machines, seeds, tell)
    }

    /// As [`Running::start`], with these data of services and no others.
    pub(crate) fn begin(
        plan: Plan,
        machines: Option<&dyn Machines>,
        seeds: BTreeMap<String, Arc<Seed>>,
        tell: TellStart<'_>,
    ) -> Result<Running, Error> {
        reach::check(&plan)?;
        let (mut parts, mut places) = (Vec::new(), 0);
        let placement = |service: &Service| plan.placement(&service.name).expect("it has one for each");
        let agent = |service: &Service| placement(service).agent.as_deref();
        let mut order = plan.app().start_order().expect("a description is checked");
        order.retain(|service| plan.starts(&service.name));
        for group in order.chunk_by(|one, next| agent(one).is_some() && agent(one) == agent(next)) {
            if let Some(agent) = agent(group[0]) {
                parts.push(Part::Elsewhere(Away::open(agent, group, machines)?));
                continue;
            }
            let service = group[0];
            let at = plan.app().services.iter().position(|one| one.name == service.name);
            fits(service, placement(service), &plan)?;
            let instances = placement(service).instances.max(1);
            let folder = || OwnFolder::make(&std::env::temp_dir());
            parts.push(Part::Here(Started {
                at: at.expect("it is one of them"),
                found: plan.find(service)?,
                first_place: places,
                instances: Vec::new(),
                addresses: Vec::new(),
                configuration: None,
                folders: if service.has_folder() {
                    iter::repeat_with(folder).take(instances).collect::<Result<_, _>>()?
                } else {
                    Vec::new()
                },
                prepared: 0,
            }));
            places += instances;
        }
        let wanted: Vec<PlaceRequest<'_>> = here(&parts).flat_map(|one| one.places(&plan)).collect();
        let places = Places::prepare_on(&wanted, plan.routed)?;
        let mut running = Running { parts, places, plan, seeds };
        running.start_all(tell)?;
        running.fill()?;
        Ok(running)
    }

    pub(crate) fn name(&self, started: &Started) -> &str {
        &self.plan.app().services[started.at].name
    }

    /// The services that run on this machine.
    pub(crate) fn here(&self) -> impl Iterator<Item = &Started> {
        here(&self.parts)
    }

    /// Starts each part once those before it are ready; returns how long they took, each by the clock of its machine.
    fn start_all(&mut self, tell: TellStart<'_>) -> Result<Duration, Error> {
        let mut took = Duration::ZERO;
        for at in 0..self.parts.len() {
            let mut called = self.listening();
            if let Part::Elsewhere(away) = &mut self.parts[at] {
                // A socket of the file system is nothing on another machine.
                called
                    .retain(|_, all| !all.is_empty() && all.iter().flatten().all(|one| one.tcp().is_some()));
                took += away.start(&called)?;
                continue;
            }
            let begun = Instant::now();
            self.start_here(at, tell)?;
            took += begun.elapsed();
        }
        Ok(took)
    }

    /// Starts the instances of a service on this machine, one after the other.
    fn start_here(&mut self, at: usize, tell: TellStart<'_>) -> Result<(), Error> {
        let mut number = 0;
        while let Part::Here(started) = &self.parts[at] {
            let service = &self.plan.app().services[started.at];
            if number == self.plan.placement(&service.name).map_or(1, |whole| whole.instances.max(1)) {
                break;
            }
            if !tell(&Starting::Begun { service: &service.name, instance: number }) {
                return Err(Error::Stopped);
            }
            let begun = Instant::now();
            let seat = self.seat(started, number);
            let seed = self.seeded(service);
            let prepare = started.prepared <= number && seed.is_none();
            let mut is_fresh = true;
            if let (Some((seed, _, seeded)), Some(folder)) = (seed, seat.folder) {
                is_fresh = match &self.plan.kept {
                    Some(kept) => {
                        let kept = kept.join(format!("{}-{number}", service.name));
                        seed.restore_once(service, seeded, &kept, folder.path())?
                    }
                    None => seed.restore(service, seeded, folder.path()).map(|()| true)?,
                };
            }
            let (instance, addresses, configuration) =
                self.start_one(&seat, started.first_place + number, prepare)?;
            if let Some((seed, store, seeded)) = seed.filter(|_| is_fresh) {
                seed.verify(store, &filling::checked(self, &seat, &addresses, seeded)?)?;
            }
            let ready = Starting::Ready {
                service: &service.name,
                instance: number,
                took: begun.elapsed(),
                pid: instance.pid(),
                addresses: &addresses,
            };
            if !tell(&ready) {
                return Err(Error::Stopped);
            }
            let Part::Here(started) = &mut self.parts[at] else { break };
            number += 1;
            started.prepared = started.prepared.max(number);
            started.instances.push(instance);
            started.addresses.push(addresses);
            started.configuration = started.configuration.take().or(configuration);
        }
        Ok(())
    }

    /// The data that a service begins with, and the store that holds them.
    fn seeded(&self, service: &Service) -> Option<(&Seed, &Store, &Seeded)> {
        let seed = self.seeds.get(&service.name)?;
        let (store, seeded) = self.plan.seeded().find(|(store, _)| store.service == service.name)?;
        Some((&**seed, store, seeded))
    }

    /// Whether services of this machine or another begin with data at each start that were made before.
    pub fn is_seeded(&self) -> bool {
        self.plan.seeded().next().is_some()
    }

    /// The folder of the first instance of the service `name` of this machine.
    pub(crate) fn folder_of(&self, name: &str) -> Option<PathBuf> {
        let started = self.here().find(|started| self.name(started) == name)?;
        started.folders.first().map(|folder| folder.path().to_owned())
    }

    /// The addresses of all services that run so far, on any machine; services not yet running have no instances.
    pub fn listening(&self) -> Addresses {
        let mut all = self.plan.called.clone();
        for part in &self.parts {
            match part {
                Part::Here(started) => {
                    all.insert(self.name(started).to_owned(), started.addresses.clone());
                }
                Part::Elsewhere(away) => all.extend(away.told().addresses.clone()),
            }
        }
        all
    }

    /// Restarts all services in the same places; data in memory are lost.
    ///
    /// Errors: one does not come back; then all are stopped.
    pub fn restart(&mut self) -> Result<Restart, Error> {
        let stop = self.halt()?;
        Ok(Restart { stop, start: self.resume(None)? })
    }

    /// Stops all services, each before those that it calls, and keeps their places; returns how long they took.
    ///
    /// Errors: a machine was lost; all are stopped then.
    pub fn halt(&mut self) -> Result<Duration, Error> {
        let mut took = Duration::ZERO;
        for at in (0..self.parts.len()).rev() {
            match &mut self.parts[at] {
                Part::Here(started) => {
                    let begun = Instant::now();
                    started.stop(self.plan.app().services[started.at].stop.grace);
                    took += begun.elapsed();
                }
                Part::Elsewhere(away) => match away.halt() {
                    Ok(there) => took += there,
                    Err(error) => {
                        self.stop();
                        return Err(error);
                    }
                },
            }
        }
        Ok(took)
    }

    /// Starts all halted services again; `called` holds the current addresses of services on other machines. Returns
    /// the time that the start took.
    ///
    /// Errors: one does not come back; then all are stopped.
    pub fn resume(&mut self, called: Option<Addresses>) -> Result<Duration, Error> {
        self.plan.called = called.unwrap_or_else(|| self.plan.called.clone());
        let started = self.start_all(&mut |_| true);
        if started.is_err() {
            self.stop();
        }
        started
    }

    /// Ends all services, callers before the services that they call.
    pub fn stop(&mut self) {
        let Running { parts, plan, .. } = self;
        for part in parts.iter_mut().rev() {
            match part {
                Part::Here(started) => started.stop(plan.app().services[started.at].stop.grace),
                Part::Elsewhere(away) => away.link.stop(),
            }
        }
    }

    /// What was started.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where it runs.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The address for `workload`, in the format of `--target`, instances separated by commas. Without a matching
    /// entrance, the first entrance; without any, the service that starts last.
    pub fn address(&self, workload: Option<Workload>) -> String {
        let app = self.plan.app();
        match (app.entrance(workload), app.front()) {
            (Some(entrance), _) => self.addresses_of(&entrance.service, entrance.listen.as_deref()),
            (None, Some(front)) if workload.is_none() => self.addresses_of(&front.name, None),
            _ => Vec::new(),
        }
        .join(",")
    }

    /// Where the instances of a service listen, at its address `name` or its first.
    fn addresses_of(&self, service: &str, name: Option<&str>) -> Vec<String> {
        let Some(service) = self.plan.app().service(service) else { return Vec::new() };
        let named = |listen: &Listen| name.is_none_or(|name| name == listen.name);
        let at = service.listens.iter().position(named).unwrap_or(0);
        let listening = self.listening();
        let instances = listening.get(&service.name).into_iter().flatten();
        instances.filter_map(|all| all.get(at)).map(Address::to_string).collect()
    }

    /// All parts, in the order in which they started.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = RunningPart<'_>> {
        self.parts.iter().map(|part| match part {
            Part::Here(started) => RunningPart::Here(RunningService {
                service: &self.plan.app().services[started.at],
                found: &started.found,
                instances: &started.instances,
                addresses: started.addresses.iter().flatten().map(Address::to_string).collect(),
                configuration: started.configuration.as_deref(),
                folders: &started.folders,
            }),
            Part::Elsewhere(away) => RunningPart::Elsewhere(away),
        })
    }

    /// The services of this machine, in the order in which they started.
    pub fn services(&self) -> impl DoubleEndedIterator<Item = RunningService<'_>> {
        self.parts().filter_map(|part| match part {
            RunningPart::Here(service) => Some(service),
            RunningPart::Elsewhere(_) => None,
        })
    }

    /// The processes of all services on this machine, workers included.
    pub fn pids(&self) -> Vec<u32> {
        self.services().flat_map(|service| service.pids()).collect()
    }

    /// The first part that ended unexpectedly; `None` while all run.
    pub fn gone(&mut self) -> Option<EndedPart> {
        self.ended().into_iter().next()
    }

    /// All parts that ended unexpectedly.
    pub fn ended(&mut self) -> Vec<EndedPart> {
        let Running { parts, plan, .. } = self;
        let mut ended = Vec::new();
        for part in parts {
            match part {
                Part::Here(started) => {
                    let name = &plan.app().services[started.at].name;
                    for (number, instance) in started.instances.iter_mut().enumerate() {
                        if !instance.process.is_running() {
                            ended.push(EndedPart::of(name, number, instance));
                        }
                    }
                }
                Part::Elsewhere(away) => {
                    let gone = away.link.gone();
                    ended.extend(gone.map(|why| EndedPart::Elsewhere { name: away.name().into(), why }));
                }
            }
        }
        ended
    }

    /// The last lines that each instance wrote to standard error, prefixed by the service's name if there are several.
    pub fn logs(&self) -> Vec<String> {
        let several = self.plan.app().services.len() > 1;
        let of = |service: RunningService<'_>| -> Vec<String> {
            let before = if several { format!("{}: ", service.service.name) } else { String::new() };
            let lines = service.instances.iter().flat_map(|instance| instance.process.stderr_tail());
            lines.map(|line| format!("{before}{line}")).collect()
        };
        self.services().flat_map(of).collect()
    }
}

impl Drop for Running {
    /// Callers are dropped before the services that they call; the places go last.
    fn drop(&mut self) {
        while self.parts.pop().is_some() {}
    }
}

fn here(parts: &[Part]) -> impl Iterator<Item = &Started> {
    parts.iter().filter_map(|part| if let Part::Here(started) = part { Some(started) } else { None })
}

/// A part that ended unexpectedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndedPart {
    /// A service of this machine.
    Service {
        /// Its name.
        name: String,
        /// Which of its instances, from 0 on.
        instance: usize,
        /// How it ended: `exit status: 1`, `signal: 9 (SIGKILL)`.
        how: String,
        /// The last lines that it wrote to standard error.
        last: Vec<String>,
    },
    /// Services of another machine.
    Elsewhere {
        /// The name of the machine.
        name: String,
        /// Its message, or that it was lost.
        why: String,
    },
}

impl EndedPart {
    /// An instance that has ended.
    fn of(name: &str, number: usize, instance: &mut Instance) -> EndedPart {
        let how = instance.process.wait(Duration::ZERO).map_or_else(|e| e.to_string(), |s| s.to_string());
        let last = match instance.process.wait_success(Duration::ZERO) {
            Err(launch::Error::Died { stderr, .. }) => stderr,
            _ => instance.process.stderr_tail(),
        };
        EndedPart::Service { name: name.into(), instance: number, how, last }
    }
}

/// A part of a running application.
pub enum RunningPart<'a> {
    /// A service of this machine.
    Here(RunningService<'a>),
    /// Services of another one.
    Elsewhere(&'a Away),
}

/// A service of a running application.
pub struct RunningService<'a> {
    /// Its description.
    pub service: &'a Service,
    /// Its program.
    pub found: &'a VersionedProgram,
    /// Its processes.
    pub instances: &'a [Instance],
    /// Where they listen.
    pub addresses: Vec<String>,
    /// The configuration of the first instance, if the description has it recorded.
    pub configuration: Option<&'a str>,
    folders: &'a [OwnFolder],
}

impl RunningService<'_> {
    /// The processes that serve, workers included.
    pub fn pids(&self) -> Vec<u32> {
        self.instances.iter().flat_map(Instance::pids).collect()
    }

    /// The number of threads or processes that serve in all instances, according to their files; `None` if unstated.
    pub fn serving(&self) -> Option<usize> {
        let serving = self.service.serving.as_ref()?;
        let of = |folder: &OwnFolder| {
            serving.read(&std::fs::read_to_string(folder.path().join(&serving.path)).ok()?)
        };
        let each: Option<Vec<usize>> = self.folders.iter().map(of).collect();
        each.filter(|each| !each.is_empty()).map(|each| each.iter().sum())
    }

    /// The name of its program and its version; empty where the version is not known before it answers.
    pub fn version(&self) -> String {
        match self.found.version.as_str() {
            "" => String::new(),
            version => format!(
                "{} {version}",
                self.service.program.embedded.as_ref().unwrap_or(&self.service.program.name)
            ),
        }
    }
}

fn fits(service: &Service, placement: &Placement, plan: &Plan) -> Result<(), Error> {
    let form = placement.form.to_string();
    let unfit = |problem| Err(Error::Unfit { service: service.name.clone(), problem });
    if !service.forms.is_empty() && !service.forms.contains(&form) {
        let problem =
            format!("it does not run in the form {form}; use --form {}", service.forms.join(" or "));
        return unfit(problem);
    }
    if let (Some(ip), true) = (placement.listen, placement.form != Form::Bare) {
        let problem =
            format!("in the form {form} it has an address of its own, and not {ip}; leave its listen out");
        return unfit(problem);
    }
    for need in &service.needs {
        let remedy = match need {
            Need::Files if plan.files.is_none() => {
                "name a folder by --file-set DIR, or a set that is made for it by --files 100000x4KiB"
            }
            Need::Videos if plan.videos.is_none() => {
                "name a set of videos by --videos 1000x1/160; a folder is served by another application, such as video"
            }
            Need::People if plan.people.is_none() => "name the users of a social network by --users 1k",
            Need::Data if plan.app().data.is_none() => {
                return unfit("it needs a data set, and the application has no [data]".into());
            }
            _ => continue,
        };
        return Err(Error::NothingToServe { service: service.name.clone(), remedy });
    }
    if !placement.args.is_empty() && service.arguments.is_none() {
        return unfit(format!("it takes no further arguments, and '{}' was given", placement.args.join(" ")));
    }
    Ok(())
}
