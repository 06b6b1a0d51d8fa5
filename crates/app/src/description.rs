//! The content of `app.toml`. The reference for authors of applications is `docs/reference/apps.md`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};
use units::{Bytes, Nanos};

pub use crate::deploy::Image;
use crate::files::Compiled;
pub use crate::parts::{
    Account, Argument, Arguments, Beside, Check, Command, Counters, File, Need, Program, Send, Store,
    StoreAction, Version, WhenArguments,
};
pub use crate::registry::{Build, Cache, DataSet, Member};
pub use crate::seeded::{Seeded, Step};
use crate::settings::Setting;

/// An application: its services, and which workload speaks to which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// Its name: the name of its folder and the value for `--target`.
    pub name: String,
    /// One-line description.
    pub title: String,
    /// The application that it is like, whose programs and data it has.
    pub like: Option<String>,
    /// Which service a workload speaks to.
    pub entrances: Vec<Entrance>,
    /// Its services.
    pub services: Vec<Service>,
    /// Parts of the application that are not started as services.
    pub members: Vec<Member>,
    /// Its stores of data.
    pub stores: Vec<Store>,
    /// The caches in front of its stores.
    pub caches: Vec<Cache>,
    /// Settings of the whole application, visible to all services.
    pub settings: Vec<Setting>,
    /// How its programs are made from source.
    pub builds: Vec<Build>,
    /// How the data set that it begins with is made.
    pub data: Option<DataSet>,
    /// The images of its programs.
    pub images: Vec<Image>,
    /// The templates of its folder, by their path within it.
    pub(crate) templates: BTreeMap<String, String>,
    /// All files of one that was compiled in, by their path within its folder.
    pub(crate) compiled: Compiled,
    /// The folder that it was read from; `None` for one that was compiled in.
    pub(crate) folder: Option<PathBuf>,
}

/// The service that a workload speaks to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entrance {
    /// The workload.
    pub workload: Workload,
    /// The service.
    pub service: String,
    /// Which of its addresses; without it the first.
    pub listen: Option<String>,
    /// The description of a site that the workload takes for this application, by its name; without it the usual one.
    pub site: Option<String>,
    /// The protocol of a cache, for a load that names none.
    pub protocol: Option<spec::workload::Protocol>,
}

/// Kind of requests that an entrance answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Requests of a cache's clients, in memcached's protocol.
    Cache,
    /// Requests of a web server's clients, in HTTP.
    Web,
    /// Requests of video clients, in HTTP.
    Video,
    /// Requests of the users of a social network, in HTTP.
    Social,
    /// Requests of the visitors of a site of films, in HTTP.
    Movies,
}

impl Workload {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Cache => "cache",
            Workload::Web => "web",
            Workload::Video => "video",
            Workload::Social => "social",
            Workload::Movies => "movies",
        }
    }
}

/// One program of an application, run as one or several instances.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Service {
    /// Its name within the application.
    pub name: String,
    /// The kind whose keys it inherits.
    pub kind: Option<String>,
    /// Its number in the application, which identifies it in its request records.
    pub number: Option<u16>,
    /// The language that it is written in.
    #[serde(default)]
    pub language: String,
    /// Its task, in half a line.
    #[serde(default)]
    pub role: String,
    /// Whether its code is a part of the application.
    #[serde(default)]
    pub written: bool,
    /// Its name in the interface definition, if it answers method calls.
    pub interface: Option<String>,
    /// Its methods, in the order of their numbers.
    #[serde(default)]
    pub methods: Vec<String>,
    /// What is started.
    pub program: Program,
    /// Its arguments, in order.
    #[serde(default)]
    pub args: Vec<Argument>,
    /// Variables of its environment, as templates.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether it is started, as an expression over the settings of the application; without it it is.
    pub when: Option<String>,
    /// The account that it runs under where the laboratory runs as root; without it root itself.
    pub account: Option<Account>,
    /// The services that it calls, which are started before it.
    #[serde(default)]
    pub calls: Vec<String>,
    /// The called services that it can do without: their failure reduces its answers without failing them.
    #[serde(default)]
    pub optional: Vec<String>,
    /// The stores that it reads and writes, whose services are started before it.
    #[serde(default)]
    pub stores: Vec<String>,
    /// The caches before them, whose services are started before it.
    #[serde(default)]
    pub caches: Vec<String>,
    /// Its threads, all instances together, where a user does not choose them for it by name.
    pub threads: Option<usize>,
    /// Default memory of all instances together.
    #[serde(default, deserialize_with = "size")]
    pub memory: Option<Bytes>,
    /// Default number of instances.
    pub instances: Option<usize>,
    /// Resources that it must be given.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Whether each instance gets a folder of its own even without a file in it.
    #[serde(default)]
    pub own_folder: bool,
    /// The forms that it can run in; without any, all of them.
    #[serde(default)]
    pub forms: Vec<String>,
    /// Files that are written into the folder of each instance before it starts.
    #[serde(default, rename = "file")]
    pub files: Vec<File>,
    /// Programs that run to their end in that folder before it starts.
    #[serde(default, rename = "prepare")]
    pub prepare: Vec<Command>,
    /// Where it listens.
    #[serde(default, rename = "listen")]
    pub listens: Vec<Listen>,
    /// When it is ready.
    #[serde(default)]
    pub ready: Ready,
    /// Where its files state the number of threads or processes of an instance; by default the placement's threads.
    pub serving: Option<Serving>,
    /// How it is stopped.
    #[serde(default)]
    pub stop: Stop,
    /// Kernel name of its serving threads, unless they choose their processors themselves: with `pin=on` each thread
    /// gets a processor of its own.
    pub workers: Option<String>,
    /// What it counts.
    pub counters: Option<Counters>,
    /// Conditions checked before it is started.
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
    /// Its settings.
    #[serde(default, rename = "setting")]
    pub settings: Vec<Setting>,
    /// Whether a user may give further arguments, and which of them an agent takes.
    pub arguments: Option<Arguments>,
}

/// An address of a service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Listen {
    /// Its name in templates and entrances.
    #[serde(default = "main_address")]
    pub name: String,
    /// TCP, or a socket in the folder of the instance.
    #[serde(default)]
    pub protocol: Protocol,
    /// Its default port, used if the instance has all ports to itself. On loopback a free port is chosen.
    #[serde(default)]
    pub port: u16,
    /// Whether it takes port 0 and prints the address that it got, on the line that says that it is ready.
    #[serde(default)]
    pub prints_address: bool,
}

fn main_address() -> String {
    "main".into()
}

/// The kind of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// An IP address and a port.
    #[default]
    Tcp,
    /// A socket of the file system.
    Unix,
}

/// When a service is ready. All that is given must hold; every TCP address must accept a connection in any case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ready {
    /// The beginning of a line that it prints to standard output.
    pub line: Option<String>,
    /// The same on standard error.
    pub error_line: Option<String>,
    /// How many child processes it has, as an expression.
    pub children: Option<String>,
    /// A path, as a template, that a GET is answered with status 200.
    pub http: Option<String>,
    /// How long it may take.
    #[serde(deserialize_with = "time")]
    pub within: Duration,
}

impl Default for Ready {
    /// Services that need no data are ready within some ms; a busy machine may make them slower.
    fn default() -> Ready {
        let within = Duration::from_secs(20);
        Ready { line: None, error_line: None, children: None, http: None, within }
    }
}

/// Where a written file states how many requests an instance processes at once.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Serving {
    /// The path of the file in the folder of the instance.
    pub path: String,
    /// The text before the number in its line: `threads=`.
    pub line: String,
}

impl Serving {
    /// The number stated in the text of the file.
    pub fn read(&self, text: &str) -> Option<usize> {
        text.lines().find_map(|line| line.strip_prefix(&self.line)?.trim().parse().ok())
    }
}

/// How a service is stopped: SIGTERM, and SIGKILL after a time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stop {
    /// The signal that asks it to end: `TERM`, `INT` or `QUIT`.
    pub signal: Signal,
    /// How long it may take before it is killed.
    #[serde(deserialize_with = "time")]
    pub grace: Duration,
}

/// A signal that asks a service to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
}

impl Default for Stop {
    /// A service without data on a disk has nothing to save.
    fn default() -> Stop {
        Stop { signal: Signal::default(), grace: Duration::from_secs(2) }
    }
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let time: Nanos = text.parse().map_err(de::Error::custom)?;
    Ok(Duration::from_nanos(time.0))
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(de::Error::custom)
}

impl App {
    /// The application whose programs and data it has: itself, or the one that it is like.
    pub fn made_as(&self) -> &str {
        self.like.as_deref().unwrap_or(&self.name)
    }

    /// The workload that it answers; `None` without an entrance.
    pub fn workload(&self) -> Option<Workload> {
        self.entrances.first().map(|entrance| entrance.workload)
    }

    /// The service that `workload` speaks to.
    pub fn entrance(&self, workload: Option<Workload>) -> Option<&Entrance> {
        match workload {
            Some(workload) => self.entrances.iter().find(|entrance| entrance.workload == workload),
            None => self.entrances.first(),
        }
    }

    /// The service called `name`.
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.iter().find(|service| service.name == name)
    }

    /// The service that users reach: the first entrance's, or without an entrance the last to start.
    pub fn front(&self) -> Option<&Service> {
        let of_entrance = self.entrance(None).and_then(|entrance| self.service(&entrance.service));
        of_entrance.or_else(|| self.start_order().ok()?.last().copied())
    }

    /// Whether any service must be given `need`.
    pub fn needs(&self, need: Need) -> bool {
        self.services.iter().any(|service| service.needs.contains(&need))
    }

    /// Path of its description, for messages.
    pub(crate) fn file(&self) -> String {
        match &self.folder {
            Some(folder) => folder.join("app.toml").display().to_string(),
            None => format!("apps/{}/app.toml", self.name),
        }
    }

    /// Whether `service` must be given the data set: it reads it, or its store begins with it.
    pub(crate) fn begins_with_data(&self, service: &Service) -> bool {
        let is_seeded = |store: &Store| {
            store.service == service.name && store.seed.as_ref().is_some_and(Seeded::needs_data)
        };
        service.needs.contains(&Need::Data) || self.stores.iter().any(is_seeded)
    }

    /// The names of the services that `service` depends on: the ones it calls and those that run its stores and caches.
    pub fn before<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = &'a String> {
        let stores = self.stores.iter().filter(|store| service.stores.contains(&store.name));
        let caches = self.caches.iter().filter(|cache| service.caches.contains(&cache.name));
        let caches = caches.flat_map(|cache| &cache.services);
        service.calls.iter().chain(stores.map(|store| &store.service)).chain(caches)
    }

    /// Its services, each behind those that it speaks to.
    ///
    /// Errors: the names of services that call each other in a circle.
    pub(crate) fn start_order(&self) -> Result<Vec<&Service>, Vec<&str>> {
        let mut order: Vec<&Service> = Vec::new();
        let mut left: Vec<&Service> = self.services.iter().collect();
        while !left.is_empty() {
            let before = left.len();
            let has = |order: &[&Service], name: &String| order.iter().any(|service| service.name == *name);
            left.retain(|service| {
                let ready = self.before(service).all(|name| has(&order, name));
                if ready {
                    order.push(service);
                }
                !ready
            });
            if left.len() == before {
                return Err(left.iter().map(|service| service.name.as_str()).collect());
            }
        }
        Ok(order)
    }
}

impl Service {
    pub(crate) fn has_folder(&self) -> bool {
        self.own_folder
            || !self.files.is_empty()
            || !self.prepare.is_empty()
            || self.listens.iter().any(|listen| listen.protocol == Protocol::Unix)
    }
}
