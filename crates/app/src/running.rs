//! A running application: its services in the order in which they started.

use std::iter;
use std::time::{Duration, Instant};

use launch::{Instance, OwnFolder, Place, Places, Restart};

use crate::Error;
use crate::context::{Address, Seat};
use crate::description::{Entrance, Listen, Need, Service, Workload};
use crate::plan::{Placement, Plan};
use crate::program::Found;

/// What to do where a service has nothing to serve.
const FILES: &str = "name a folder by --file-set DIR, or a set that is made for it by --files 100000x4KiB";

/// An application that runs. Dropping it ends all of its processes and removes what they wrote.
pub struct Running {
    pub(crate) services: Vec<Started>,
    // Behind the services that are in them.
    pub(crate) places: Places,
    pub(crate) plan: Plan,
}

/// A service whose instances run.
pub(crate) struct Started {
    /// Its place in [`crate::App::services`].
    pub(crate) at: usize,
    pub(crate) found: Found,
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
    /// What each of its instances runs in.
    fn places<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = Place<'a>> {
        let placement = plan.placement(&plan.app().services[self.at].name).expect("it has one for each");
        let place =
            Place { form: placement.form, program: &self.found.path, image: placement.image.as_deref() };
        iter::repeat_n(place, placement.instances.max(1))
    }
}

impl Running {
    pub(crate) fn start(plan: Plan) -> Result<Running, Error> {
        let (mut services, mut places) = (Vec::new(), 0);
        let order = plan.app().start_order().expect("a description is checked");
        for service in order {
            let at = plan.app().services.iter().position(|one| one.name == service.name);
            let placement = plan.placement(&service.name).expect("it has one for each");
            fits(service, placement, &plan)?;
            let instances = placement.instances.max(1);
            let folder = || OwnFolder::make(&std::env::temp_dir());
            services.push(Started {
                at: at.expect("it is one of them"),
                found: service.program.find(placement, &plan.exe)?,
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
            });
            places += instances;
        }
        let wanted: Vec<Place<'_>> = services.iter().flat_map(|one| one.places(&plan)).collect();
        let places = Places::prepare(&wanted)?;
        let mut running = Running { services, places, plan };
        running.start_all()?;
        running.fill()?;
        Ok(running)
    }

    pub(crate) fn name(&self, started: &Started) -> &str {
        &self.plan.app().services[started.at].name
    }

    /// Starts each service once those before it are ready.
    fn start_all(&mut self) -> Result<(), Error> {
        for place in 0..self.services.len() {
            let service = self.plan.app().services[self.services[place].at].clone();
            let whole = self.plan.placement(&service.name).expect("it has one").clone();
            for number in 0..whole.instances.max(1) {
                let started = &self.services[place];
                let seat = Seat {
                    service: &service,
                    found: &started.found,
                    placement: whole.of_instance(number),
                    number,
                    folder: started.folders.get(number),
                };
                let prepare = started.prepared <= number;
                let (instance, addresses, configuration) =
                    self.start_one(&seat, started.first_place + number, prepare)?;
                let started = &mut self.services[place];
                started.prepared = started.prepared.max(number + 1);
                started.instances.push(instance);
                started.addresses.push(addresses);
                started.configuration = started.configuration.take().or(configuration);
            }
        }
        Ok(())
    }

    /// Stops all services and starts them again in the same places; what they hold in memory is lost.
    ///
    /// Errors: one does not come back; all are stopped then.
    pub fn restart(&mut self) -> Result<Restart, Error> {
        let begun = Instant::now();
        self.stop();
        let stopped = Instant::now();
        if let Err(error) = self.start_all() {
            self.stop();
            return Err(error);
        }
        Ok(Restart { stop: stopped - begun, start: stopped.elapsed() })
    }

    /// Ends all services, each before those that it calls.
    pub fn stop(&mut self) {
        let Running { services, plan, .. } = self;
        for started in services.iter_mut().rev() {
            let grace = plan.app().services[started.at].stop.grace;
            started.addresses.clear();
            started.instances.iter_mut().for_each(|instance| instance.process.terminate());
            for instance in started.instances.drain(..) {
                // That it had to be killed changes nothing about what was measured.
                let _ = instance.process.stop(grace);
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

    /// Where `workload` is sent, or the first entrance, as `--target` takes it: with commas between instances.
    pub fn address(&self, workload: Option<Workload>) -> String {
        let Some(entrance) = self.plan.app().entrance(workload) else { return String::new() };
        self.addresses_of(entrance).join(",")
    }

    fn addresses_of(&self, entrance: &Entrance) -> Vec<String> {
        let Some(started) = self.services.iter().find(|one| self.name(one) == entrance.service) else {
            return Vec::new();
        };
        let listens = &self.plan.app().services[started.at].listens;
        let named = |listen: &Listen| entrance.listen.as_ref().is_none_or(|name| *name == listen.name);
        let at = listens.iter().position(named).unwrap_or(0);
        started.addresses.iter().filter_map(|all| all.get(at)).map(Address::text).collect()
    }

    /// The services, in the order in which they started.
    pub fn services(&self) -> impl Iterator<Item = RunningService<'_>> {
        self.services.iter().map(|started| RunningService {
            service: &self.plan.app().services[started.at],
            found: &started.found,
            instances: &started.instances,
            addresses: started.addresses.iter().flatten().map(Address::text).collect(),
            configuration: started.configuration.as_deref(),
        })
    }

    /// The processes of all services on this machine, workers included.
    pub fn pids(&self) -> Vec<u32> {
        self.services().flat_map(|service| service.pids()).collect()
    }

    /// The first service that ended without being told to, with the last lines that it wrote; `None` while all run.
    pub fn gone(&mut self) -> Option<(String, Vec<String>)> {
        let Running { services, plan, .. } = self;
        for started in services {
            let gone =
                started.instances.iter_mut().find_map(|one| (!one.process.is_running()).then_some(one));
            if let Some(instance) = gone {
                let last = match instance.process.wait_success(Duration::ZERO) {
                    Err(launch::Error::Died { stderr, .. }) => stderr,
                    _ => instance.process.stderr_tail(),
                };
                return Some((plan.app().services[started.at].name.clone(), last));
            }
        }
        None
    }

    /// The last lines that each instance wrote to standard error; behind the name of its service where there are several.
    pub fn logs(&self) -> Vec<String> {
        let several = self.services.len() > 1;
        let of = |service: RunningService<'_>| -> Vec<String> {
            let before = if several { format!("{}: ", service.service.name) } else { String::new() };
            let lines = service.instances.iter().flat_map(|instance| instance.process.stderr_tail());
            lines.map(|line| format!("{before}{line}")).collect()
        };
        self.services().flat_map(of).collect()
    }
}

impl Drop for Running {
    /// Those that call go before those that are called; what they ran in goes last.
    fn drop(&mut self) {
        while self.services.pop().is_some() {}
    }
}

/// A service of a running application.
pub struct RunningService<'a> {
    /// Its description.
    pub service: &'a Service,
    /// Its program.
    pub found: &'a Found,
    /// Its processes.
    pub instances: &'a [Instance],
    /// Where they listen.
    pub addresses: Vec<String>,
    /// The configuration of the first instance, where the description has it recorded.
    pub configuration: Option<&'a str>,
}

impl RunningService<'_> {
    /// The processes that serve, workers included.
    pub fn pids(&self) -> Vec<u32> {
        self.instances.iter().flat_map(Instance::pids).collect()
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

/// Whether a service can be started as it is placed.
fn fits(service: &Service, placement: &Placement, plan: &Plan) -> Result<(), Error> {
    let form = placement.form.to_string();
    if !service.forms.is_empty() && !service.forms.contains(&form) {
        let problem =
            format!("it does not run in the form {form}; use --form {}", service.forms.join(" or "));
        return Err(Error::Unfit { service: service.name.clone(), problem });
    }
    if plan.files.is_none() && service.needs.contains(&Need::Files) {
        return Err(Error::NothingToServe { service: service.name.clone(), remedy: FILES });
    }
    if !placement.args.is_empty() && service.arguments.is_none() {
        let problem = format!("it takes no further arguments, and '{}' was given", placement.args.join(" "));
        return Err(Error::Unfit { service: service.name.clone(), problem });
    }
    Ok(())
}
