//! The parts of an application that differ from run to run: settings, and the place and size of each service.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use launch::share::{part, part_of_cpus};
use launch::{Form, Subnet};
use serde::Serialize;
use units::{Bytes, CpuList};

use crate::check::near;
use crate::description::{App, Service};
use crate::elsewhere::{Addresses, Machines};
use crate::program::VersionedProgram;
use crate::running::TellStart;
use crate::secret::Secret;
use crate::settings::Values;
use crate::{Error, Running, template};

/// The fields of a [`Placement`] that `SERVICE.FIELD=VALUE` sets.
pub(crate) const FIELDS: [&str; 11] =
    ["threads", "memory", "cpus", "pin", "instances", "form", "binary", "image", "agent", "listen", "port"];
/// The name of this machine among agents.
const HERE: &str = "here";

/// Place and size of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Threads or worker processes that serve, of all instances together.
    pub threads: usize,
    /// Memory for its data, of all instances together.
    pub memory: Bytes,
    /// The processors that it may run on; if empty, this process's.
    pub cpus: Vec<usize>,
    /// Whether each thread gets a processor of its own, unless the service sees to that itself.
    pub pin: bool,
    /// Processes among which threads, memory and processors are divided.
    pub instances: usize,
    /// The form that it runs in.
    pub form: Form,
    /// The agent that runs it on another machine, as `HOST:PORT`; `None`: it runs here.
    pub agent: Option<String>,
    /// The address of this machine that a bare one listens on, in place of that of [`Plan::listen`].
    pub listen: Option<IpAddr>,
    /// The port of the first TCP address of its first instance on this machine, in place of a free one.
    pub port: Option<u16>,
    /// A build of the user's in place of the program that is found.
    pub binary: Option<PathBuf>,
    /// An image that podman or docker runs in its place.
    pub image: Option<String>,
    /// Further arguments.
    pub args: Vec<String>,
}

impl Default for Placement {
    fn default() -> Placement {
        Placement {
            threads: 1,
            memory: Bytes(1 << 30),
            cpus: Vec::new(),
            pin: false,
            instances: 1,
            form: Form::Bare,
            agent: None,
            listen: None,
            port: None,
            binary: None,
            image: None,
            args: Vec::new(),
        }
    }
}

/// A set of videos, in the words that describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Videos {
    /// How many, and the share of their bytes: `1000x1/160`.
    pub set: String,
    /// The seed of lengths and contents.
    pub seed: u64,
}

/// The users of a social network, in the words that describe them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PeopleSet {
    /// How many.
    pub users: u32,
    /// The seed of friendships and texts.
    pub seed: u64,
}

/// An application to start.
#[derive(Clone, Debug)]
pub struct Plan {
    app: Arc<App>,
    /// Settings of the application.
    shared: Values,
    /// In the order of [`App::services`].
    services: Vec<(Placement, Values)>,
    /// This program, which is started once more as an embedded server.
    pub exe: PathBuf,
    /// The address that bare services listen on; services in other forms have their own addresses.
    pub listen: IpAddr,
    /// The range for addresses of services in other forms, routed by other machines to this one; `None`: they are
    /// reachable from this machine only.
    pub routed: Option<Subnet>,
    /// Connections that each service must take at once.
    pub connections: usize,
    /// The secret by which its services authenticate each other.
    pub(crate) secret: Secret,
    /// The folder of the files that are to be served.
    pub files: Option<PathBuf>,
    /// The videos that are to be served without files.
    pub videos: Option<Videos>,
    /// The users whose data fill its stores.
    pub people: Option<PeopleSet>,
    /// Where programs that are made from source are looked for, in this order: folders that hold `bin`.
    pub built: Vec<PathBuf>,
    /// The folder of the data set; `None`: the one that is made for the settings.
    pub data: Option<PathBuf>,
    /// The folder that services write files about traced requests to; `None`: they write none.
    pub spans: Option<PathBuf>,
    /// Folder of data that are made once; `None`: [`crate::cache_folder`].
    pub cache: Option<PathBuf>,
    /// Folder in which services keep their initial data and later writes, so that the next start continues with them;
    /// `None`: each start begins with fresh data.
    pub kept: Option<PathBuf>,
    /// The services to start; empty means all. The others run elsewhere.
    pub only: Vec<String>,
    /// Addresses of services elsewhere that are called from here.
    pub called: Addresses,
}

impl Plan {
    /// `app` on loopback, each service bare, as large as its description says or with one thread and one instance, and with its
    /// usual settings; `exe` is this program.
    pub fn new(app: Arc<App>, exe: &Path) -> Plan {
        let values = |service: &Service| Values::usual(&service.settings).expect("a description is checked");
        let usual = |service: &Service| placed(service, &Placement::default());
        let services = app.services.iter().map(|service| (usual(service), values(service))).collect();
        Plan {
            built: vec![app.built_folder()],
            data: None,
            spans: None,
            shared: Values::usual(&app.settings).expect("a description is checked"),
            app,
            services,
            exe: exe.into(),
            listen: Ipv4Addr::LOCALHOST.into(),
            routed: None,
            connections: 1024,
            secret: Secret::draw().expect("the kernel gives random bytes"),
            files: None,
            videos: None,
            people: None,
            cache: None,
            kept: None,
            only: Vec::new(),
            called: Addresses::new(),
        }
    }

    /// The application.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Whether the service `name` is to be started, here or by an agent.
    pub fn starts(&self, name: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|one| one == name)) && !self.leaves_out(name)
    }

    /// Whether the settings leave the service `name` out.
    pub(crate) fn leaves_out(&self, name: &str) -> bool {
        let when = self.app.service(name).and_then(|service| service.when.as_ref());
        // With the default settings it could be evaluated, as was checked.
        when.is_some_and(|when| !template::holds(when, &self.shared).unwrap_or(true))
    }

    /// The settings of the application, which all services see.
    pub fn shared(&self) -> &Values {
        &self.shared
    }

    /// The services that are to be started on this machine.
    pub fn here(&self) -> impl Iterator<Item = &Service> {
        let services = self.app.services.iter().zip(&self.services);
        let here = services
            .filter(|(service, (placement, _))| self.starts(&service.name) && placement.agent.is_none());
        here.map(|(service, _)| service)
    }

    /// Gives every service the same placement, with sizes from its description if stated there.
    pub fn place_all(&mut self, placement: &Placement) {
        let services = self.app.services.iter().zip(&mut self.services);
        services.for_each(|(service, (old, _))| *old = placed(service, placement));
    }

    /// The program of a service according to its placement.
    ///
    /// Errors: as in [`crate::Program::find`].
    pub(crate) fn find(&self, service: &Service) -> Result<VersionedProgram, Error> {
        let placement = self.placement(&service.name).expect("it has one for each");
        service.program.find(placement, &self.exe, &self.built)
    }

    /// The placement of the service `name`.
    pub fn placement(&self, name: &str) -> Option<&Placement> {
        self.at(name).map(|at| &self.services[at].0)
    }

    /// Changes it.
    pub fn placement_mut(&mut self, name: &str) -> Option<&mut Placement> {
        self.at(name).map(|at| &mut self.services[at].0)
    }

    /// The settings of the service `name`.
    pub fn values(&self, name: &str) -> Option<&Values> {
        self.at(name).map(|at| &self.services[at].1)
    }

    /// Gives further arguments to the one service that takes any.
    ///
    /// Errors: no service takes any, or several do.
    pub fn arguments(&mut self, args: &[String]) -> Result<(), Error> {
        if args.is_empty() {
            return Ok(());
        }
        let problem = |problem: String| Error::Unfit { service: self.app.name.clone(), problem };
        let takes: Vec<usize> =
            (0..self.services.len()).filter(|at| self.app.services[*at].arguments.is_some()).collect();
        match takes[..] {
            [at] => {
                self.services[at].0.args.extend_from_slice(args);
                Ok(())
            }
            [] => Err(problem(format!(
                "it takes no further arguments, and '{}' was given; settings: {}",
                args.join(" "),
                usage(&self.app)
            ))),
            _ => {
                Err(problem(format!("several services take arguments, and '{}' is for one", args.join(" "))))
            }
        }
    }

    /// Has a build of the user's, or an image, run in place of the program of its only service.
    ///
    /// Errors: it has several services.
    pub fn program(&mut self, binary: Option<PathBuf>, image: Option<String>) -> Result<(), Error> {
        if binary.is_none() && image.is_none() {
            return Ok(());
        }
        let [(placement, _)] = &mut self.services[..] else {
            let names: Vec<&str> = self.app.services.iter().map(|service| service.name.as_str()).collect();
            let problem = format!(
                "a program or an image stands in for one service, and it has {}: {}; write --server-set SERVICE.binary=FILE or SERVICE.image=IMAGE",
                names.len(),
                names.join(", ")
            );
            return Err(Error::Unfit { service: self.app.name.clone(), problem });
        };
        (placement.binary, placement.image) = (binary, image);
        Ok(())
    }

    /// Whether a coordinator may give these arguments to the services through an agent: those that change how a service
    /// serves and touch no file, port or account.
    ///
    /// Errors: the first that it may not.
    pub fn check_arguments(&self) -> Result<(), Error> {
        for (service, (placement, _)) in self.app.services.iter().zip(&self.services) {
            let allowed = service.arguments.clone().unwrap_or_default();
            if let Some(refused) = allowed.first_harmful(&placement.args) {
                return Err(Error::Unfit {
                    service: service.name.clone(),
                    problem: format!(
                        "'{refused}' is not an option that a coordinator may give; start the server by hand for that"
                    ),
                });
            }
        }
        Ok(())
    }

    fn at(&self, name: &str) -> Option<usize> {
        self.app.services.iter().position(|service| service.name == name)
    }

    /// Changes settings, each `NAME=VALUE` or `SERVICE.NAME=VALUE`, the later ones over the earlier. `SERVICE.` may be left
    /// out where one service has the setting. `SERVICE.threads` and the other fields of a [`Placement`] are set alike.
    ///
    /// Errors: the first that is not one, with those that there are.
    pub fn set<S: AsRef<str>>(&mut self, words: &[S]) -> Result<(), Error> {
        words.iter().try_for_each(|word| self.set_one(word.as_ref()))
    }

    fn set_one(&mut self, word: &str) -> Result<(), Error> {
        let app = Arc::clone(&self.app);
        let error = |service: &str, problem: String| Error::Setting { service: service.into(), problem };
        let (name, value) = word.split_once('=').ok_or_else(|| {
            error(&app.name, format!("'{word}' is not NAME=VALUE; settings: {}", usage(&app)))
        })?;
        let (service, name) = match name.split_once('.') {
            Some((service, name)) => (Some(service), name),
            None => (None, name),
        };
        let all: Vec<&str> = app.services.iter().map(|service| service.name.as_str()).collect();
        if let Some(unknown) = service.filter(|service| !all.contains(service)) {
            return Err(error(&app.name, format!("there is no service '{unknown}'{}", near(unknown, &all))));
        }
        let of = |at: &usize| service.is_none_or(|service| service == app.services[*at].name);
        let has = |at: &usize| app.services[*at].settings.iter().any(|setting| setting.name == name);
        let chosen: Vec<usize> = (0..all.len()).filter(of).collect();
        if FIELDS.contains(&name) {
            return chosen.iter().try_for_each(|at| self.place_one(*at, name, value));
        }
        if let (None, Some(setting)) = (service, app.settings.iter().find(|setting| setting.name == name)) {
            let value = setting.read(value).map_err(|problem| error(&app.name, problem))?;
            self.shared.set(name, value);
            return Ok(());
        }
        let having: Vec<usize> = chosen.into_iter().filter(has).collect();
        match having[..] {
            [at] => {
                let found = app.services[at].settings.iter().find(|setting| setting.name == name);
                let value = found.expect("it has it").read(value);
                let value = value.map_err(|problem| error(&app.services[at].name, problem))?;
                self.services[at].1.set(name, value);
                Ok(())
            }
            [] => {
                let all = app.settings.iter().chain(app.services.iter().flat_map(|one| &one.settings));
                let of: Vec<&str> = all.map(|one| one.name.as_str()).collect();
                let near = crate::check::nearest(name, of.into_iter());
                let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
                Err(error(
                    service.unwrap_or(&app.name),
                    format!("there is no setting '{name}'{near}; settings: {}", usage(&app)),
                ))
            }
            _ => Err(error(
                &app.name,
                format!("several services have a setting '{name}'; write SERVICE.{name}={value}"),
            )),
        }
    }

    fn place_one(&mut self, at: usize, field: &str, value: &str) -> Result<(), Error> {
        let name = &self.app.services[at].name;
        let placement = &mut self.services[at].0;
        let wrong = |problem: &str| Error::Setting {
            service: name.clone(),
            problem: format!("{field}={value}: {problem}"),
        };
        let count = || match value.parse::<usize>() {
            Ok(number @ 1..=256) => Ok(number),
            _ => Err(wrong("it is not a number from 1 to 256")),
        };
        match field {
            "threads" => placement.threads = count()?,
            "instances" => placement.instances = count()?,
            "memory" => placement.memory = value.parse()?,
            "cpus" => placement.cpus = value.parse::<CpuList>()?.as_slice().to_vec(),
            "pin" => {
                placement.pin = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(wrong("write on or off")),
                }
            }
            "form" => placement.form = value.parse()?,
            "agent" => placement.agent = (value != HERE).then(|| value.into()),
            "listen" => match value.parse::<IpAddr>() {
                Ok(ip) if !ip.is_unspecified() => placement.listen = Some(ip),
                _ => return Err(wrong("it is not one address, such as 10.0.0.5")),
            },
            "port" => match value.parse::<u16>() {
                Ok(port @ 1..) => placement.port = Some(port),
                _ => return Err(wrong("it is not a number from 1 to 65535")),
            },
            "binary" => placement.binary = Some(value.into()),
            _ => placement.image = Some(value.into()),
        }
        Ok(())
    }

    /// Starts it on this machine: each service once those that it calls are ready.
    ///
    /// Errors: the first that cannot be started, by name; nothing runs then.
    pub fn start(self) -> Result<Running, Error> {
        self.start_with(None)
    }

    /// As [`Plan::start`], with those services that an agent is to run on other machines.
    pub fn start_with(self, machines: Option<&dyn Machines>) -> Result<Running, Error> {
        Running::start(self, machines, &mut |_| true)
    }

    /// Like [`Plan::start`]; `tell` receives the progress.
    ///
    /// Errors: as in [`Plan::start`]; it was stopped.
    pub fn start_telling(self, tell: TellStart<'_>) -> Result<Running, Error> {
        Running::start(self, None, tell)
    }
}

/// `placement` with the sizes that the description of `service` states.
fn placed(service: &Service, placement: &Placement) -> Placement {
    Placement {
        threads: service.threads.unwrap_or(placement.threads),
        memory: service.memory.unwrap_or(placement.memory),
        instances: service.instances.unwrap_or(placement.instances),
        ..placement.clone()
    }
}

/// All settings of an application, in the form in which they are given.
fn usage(app: &App) -> String {
    let several = app.services.len() > 1;
    let of = |service: &Service| -> Vec<String> {
        let before = if several { format!("{}.", service.name) } else { String::new() };
        service.settings.iter().map(|setting| format!("{before}{}", setting.usage())).collect()
    };
    let shared = app.settings.iter().map(crate::Setting::usage);
    let all: Vec<String> = shared.chain(app.services.iter().flat_map(of)).collect();
    if all.is_empty() { "it has none".into() } else { all.join("; ") }
}

impl Placement {
    /// The part of instance number `number`, for it alone.
    pub(crate) fn of_instance(&self, number: usize) -> Placement {
        let instances = self.instances.max(1);
        Placement {
            instances: 1,
            threads: part(self.threads, number, instances).max(1),
            memory: Bytes(self.memory.0 / instances as u64),
            cpus: part_of_cpus(&self.cpus, number, instances),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn instances_share_what_there_is() {
        let check = |threads: usize, cpus: &[usize], instances: usize, expect: &[(usize, &[usize])]| {
            let (memory, cpus) = (Bytes(64 << 20), cpus.to_vec());
            let whole = Placement { instances, threads, memory, cpus, ..Placement::default() };
            let parts: Vec<Placement> = (0..instances).map(|number| whole.of_instance(number)).collect();
            let found: Vec<(usize, &[usize])> =
                parts.iter().map(|part| (part.threads, &part.cpus[..])).collect();
            assert_eq!(found, expect);
            assert!(parts.iter().all(|part| part.memory.0 == (64 << 20) / instances as u64));
            assert!(parts.iter().all(|part| part.instances == 1));
        };
        check(4, &[0, 1, 2, 3], 1, &[(4, &[0, 1, 2, 3])]);
        check(4, &[0, 1, 2, 3], 2, &[(2, &[0, 1]), (2, &[2, 3])]);
        check(4, &[5], 2, &[(2, &[5]), (2, &[5])]);
        check(1, &[0, 1], 3, &[(1, &[0]), (1, &[1]), (1, &[0])]);
        check(5, &[0, 1, 2], 2, &[(3, &[0, 1]), (2, &[2])]);
    }

    proptest! {
        #[test]
        fn no_processor_is_forgotten(count in 1usize..40, instances in 1usize..40) {
            let cpus: Vec<usize> = (0..count).collect();
            let mut given: Vec<usize> = (0..instances).flat_map(|p| part_of_cpus(&cpus, p, instances)).collect();
            prop_assert_eq!(given.len(), count.max(instances));
            given.sort_unstable();
            given.dedup();
            prop_assert_eq!(given, cpus);
        }
    }

    #[test]
    fn settings_and_fields_are_set_by_name() {
        let plan = || Plan::new(Arc::new(crate::of_name("nginx").unwrap()), Path::new("/x"));
        let check = |words: &[&str], expect: &str| {
            let mut plan = plan();
            plan.set(words).unwrap();
            assert_eq!(plan.values("nginx").unwrap().to_string(), expect, "{words:?}");
        };
        check(&[], "open_file_cache=auto gzip=off access_log=off reuseport=off sendfile=on");
        check(
            &["open_file_cache=off", "nginx.gzip=6", "access_log=on", "sendfile=off"],
            "open_file_cache=off gzip=6 access_log=on reuseport=off sendfile=off",
        );
        check(
            &["gzip=3", "gzip=off"],
            "open_file_cache=auto gzip=off access_log=off reuseport=off sendfile=on",
        );
        let mut placed = plan();
        placed
            .set(&["nginx.threads=3", "nginx.cpus=0,2-3", "nginx.pin=on", "form=lxc", "nginx.memory=64MiB"])
            .unwrap();
        let found = placed.placement("nginx").unwrap();
        assert!(found.pin);
        assert_eq!((found.threads, &found.cpus[..], found.form), (3, &[0, 2, 3][..], Form::Lxc));
        assert_eq!((found.memory, &found.agent), (Bytes(64 << 20), &None));
        assert_eq!(placed.here().count(), 1);
        placed.set(&["nginx.agent=10.0.0.5:7070"]).unwrap();
        assert_eq!(placed.placement("nginx").unwrap().agent.as_deref(), Some("10.0.0.5:7070"));
        assert_eq!(placed.here().count(), 0);
        placed.set(&["agent=here", "listen=::1"]).unwrap();
        let found = placed.placement("nginx").unwrap();
        assert_eq!((&found.agent, found.listen), (&None, Some("::1".parse().unwrap())));
        let refused = |word: &str, says: &str| {
            let error = plan().set(&[word]).unwrap_err().to_string();
            assert!(error.contains(says), "{word}: {error}");
        };
        refused("gzip", "'gzip' is not NAME=VALUE; settings: open_file_cache=");
        refused("gzip=0", "0 is out of its bounds; write gzip=a number from 1 to 9|off");
        refused("access_log=yes", "neither on nor off");
        refused("open_file_cache=-1", "not a whole number");
        refused("workers=4", "there is no setting 'workers'; settings: open_file_cache=");
        refused("gzp=4", "did you mean 'gzip'?");
        refused("ngnix.gzip=4", "there is no service 'ngnix'; did you mean 'nginx'?");
        refused("threads=0", "not a number from 1 to 256");
        refused("listen=0.0.0.0", "not one address");
        refused("nginx.listen=here", "not one address");
        refused("port=0", "not a number from 1 to 65535");
    }
}
