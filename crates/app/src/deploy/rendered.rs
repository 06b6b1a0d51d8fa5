//! Rendered configurations and arguments of an instance in its container.

use std::collections::BTreeMap;

use super::layout::{Instance, Pod, has_socket};
use super::{APP, DATA, Deployment, FILES, Layout, OWN};
use crate::context::{AddressFields, Context, Files, Peer};
use crate::description::{Argument, Command, Need, Protocol};
use crate::program::VersionedProgram;
use crate::{Error, limits, template};

/// Client addresses of this machine itself.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];
/// Addresses of pods and nodes in a cluster. Source: RFC 1918 and RFC 6598, which contain the defaults of all common
/// pod networks.
const CLUSTER: [&str; 4] = ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16"];

/// Start parameters of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// Configurations by their path in its folder; whether no other account may read them.
    pub(crate) files: Vec<(String, String, bool)>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Programs that run before it, with their arguments.
    pub(crate) prepare: Vec<(String, Vec<String>)>,
}

impl Instance<'_> {
    /// Its folder in a container.
    pub(crate) fn own(&self) -> String {
        format!("{OWN}/{}", self.name)
    }

    /// Its program in a container.
    pub(crate) fn program(&self) -> String {
        let program = &self.service.program;
        let name = if program.embedded.is_some() { "taillight" } else { &program.name };
        format!("{APP}/bin/{name}")
    }

    /// Arguments that precede the described ones.
    fn before(&self) -> Vec<String> {
        let embedded = self.service.program.embedded.as_ref();
        embedded.map_or_else(Vec::new, |server| vec!["serve".into(), server.clone()])
    }
}

impl Deployment {
    /// What `instance` of `pod` is started with, among all `pods`.
    ///
    /// Errors: a template fails, or a condition of its description does not hold.
    pub(crate) fn start(
        &self,
        pods: &[Pod<'_>],
        pod: &Pod<'_>,
        instance: &Instance<'_>,
    ) -> Result<Start, Error> {
        let service = instance.service;
        let context = self.context(pods, pod, instance);
        // The installed version is unknown here; the latest is assumed.
        let environment = template::environment(&VersionedProgram::default());
        let app = self.plan.app();
        let wrong =
            |file: String, problem: String| Error::Template { file, service: service.name.clone(), problem };
        let render =
            |text: &str| template::render(&environment, text, &context).map_err(|e| wrong(app.file(), e));
        let holds = |text: &str| {
            template::value(&environment, text, &context)
                .map(|value| value.is_true())
                .map_err(|e| wrong(app.file(), e))
        };
        for check in &service.checks {
            if !holds(&check.holds)? {
                return Err(Error::Unfit { service: service.name.clone(), problem: render(&check.message)? });
            }
        }
        let mut start = Start { args: instance.before(), ..Start::default() };
        for file in &service.files {
            let Some(name) = &file.template else { continue };
            let text = app.templates.get(name).map_or("", String::as_str);
            let text = template::render(&environment, text, &context)
                .map_err(|e| wrong(app.file().replace("app.toml", name), e))?;
            start.files.push((file.path.clone(), text, file.private));
        }
        for argument in &service.args {
            match argument {
                Argument::One(text) => start.args.push(render(text)?),
                Argument::When(several) if holds(&several.when)? => {
                    for text in &several.args {
                        start.args.push(render(text)?);
                    }
                }
                Argument::When(_) => {}
            }
        }
        start.args.extend(instance.placement.args.iter().cloned());
        for (name, value) in &service.env {
            start.env.push((name.clone(), render(value)?));
        }
        // A store that begins with data has been prepared when they were made.
        if self.seed(service).is_none() {
            let of = |command: &Command| {
                let args = command.args.iter().map(|text| render(text)).collect::<Result<_, Error>>()?;
                Ok((render(&command.program)?, args))
            };
            start.prepare = service.prepare.iter().map(of).collect::<Result<_, Error>>()?;
        }
        Ok(start)
    }

    /// Variables visible in an instance's templates.
    fn context<'a>(&'a self, pods: &[Pod<'_>], pod: &Pod<'_>, instance: &'a Instance<'a>) -> Context<'a> {
        let (app, service) = (self.plan.app(), instance.service);
        let values = self.plan.values(&service.name).expect("it has some for each");
        let ip = match self.layout {
            Layout::Together if !self.is_front(instance) => "127.0.0.1",
            // The address of a pod is only known at run time.
            _ => "0.0.0.0",
        };
        let peers = self.peers(pods, pod);
        let of = |names: &mut dyn Iterator<Item = &String>| -> Vec<Peer> {
            names.filter_map(|name| peers.get(name)).flatten().cloned().collect()
        };
        let stores = app.stores.iter().filter(|store| service.stores.contains(&store.name));
        let caches = app.caches.iter().filter(|cache| service.caches.contains(&cache.name));
        let needs = |need: Need| service.needs.contains(&need);
        let listen = listening(instance, ip);
        let first = instance.tcp().next().map_or(0, |(_, port)| port);
        Context {
            service: &service.name,
            kind: service.kind.as_deref(),
            number: service.number,
            program: instance.program(),
            calls: &service.calls,
            optional: &service.optional,
            callers: self.plan.callers(service),
            stores: stores.map(|one| (one.name.as_str(), of(&mut std::iter::once(&one.service)))).collect(),
            caches: caches.map(|one| (one.name.as_str(), of(&mut one.services.iter()))).collect(),
            data: if self.reads_data(service) { DATA.into() } else { String::new() },
            spans: String::new(),
            out: APP.into(),
            own: service.has_folder().then(|| instance.own()),
            ip: if first == 0 { String::new() } else { ip.into() },
            port: first,
            address: if first == 0 { String::new() } else { format!("{ip}:{first}") },
            listen,
            threads: instance.placement.threads,
            memory: instance.placement.memory.0,
            cpus: &instance.placement.cpus,
            connections: self.plan.connections,
            secret: &self.plan.secret,
            instance: instance.number,
            instances: self.plan.placement(&service.name).map_or(1, |whole| whole.instances.max(1)),
            settings: self.plan.shared().map().into_iter().chain(values.map()).collect(),
            settings_line: values.to_string(),
            services: peers,
            files: needs(Need::Files).then(|| Files { folder: FILES.into(), one: "/".into() }),
            videos: self.plan.videos.as_ref().filter(|_| needs(Need::Videos)),
            people: self.plan.people.as_ref(),
            table: None,
            root: false,
            user: Some("nobody".into()),
            open_files: limits::FILES_IN_ENGINE,
            asked_from: self.asked_from(instance),
            in_cluster: self.layout == Layout::Apart,
        }
    }

    /// Addresses that may use the local-only pages; for the front, only its own container.
    fn asked_from(&self, instance: &Instance<'_>) -> Vec<String> {
        let cluster = CLUSTER.iter().filter(|_| self.layout == Layout::Apart && !self.is_front(instance));
        LOOPBACK.iter().chain(cluster).map(|range| (*range).to_owned()).collect()
    }

    /// The instances of all services, as one in `pod` reaches them; of those that the settings leave out there are none.
    fn peers(&self, pods: &[Pod<'_>], pod: &Pod<'_>) -> BTreeMap<String, Vec<Peer>> {
        let mut all: BTreeMap<String, Vec<Peer>> =
            self.plan.app().services.iter().map(|service| (service.name.clone(), Vec::new())).collect();
        for other in pods {
            let host = if other.name == pod.name { "127.0.0.1" } else { other.name.as_str() };
            for instance in &other.instances {
                let listen = listening(instance, host);
                let first =
                    instance.service.listens.first().and_then(|first| listen.get(&first.name)).cloned();
                let tcp = instance.tcp().next().and_then(|(first, _)| listen.get(&first.name)).cloned();
                let tcp = tcp.or(first).unwrap_or_else(nowhere);
                let peer = Peer {
                    ip: tcp.ip,
                    port: tcp.port,
                    address: tcp.address,
                    own: if has_socket(instance.service) { instance.own() } else { String::new() },
                    // Each has files of its own.
                    near: false,
                    listen,
                };
                all.entry(instance.service.name.clone()).or_default().push(peer);
            }
        }
        all
    }
}

fn nowhere() -> AddressFields {
    AddressFields { ip: String::new(), port: 0, address: String::new(), path: String::new() }
}

/// The addresses of an instance by name, as seen by clients that reach it at `host`.
fn listening(instance: &Instance<'_>, host: &str) -> BTreeMap<String, AddressFields> {
    let all = instance.service.listens.iter().zip(&instance.ports);
    let of = |(listen, port): (&crate::description::Listen, &u16)| {
        let fields = match listen.protocol {
            Protocol::Unix => {
                let path = format!("{}/{}.sock", instance.own(), listen.name);
                AddressFields { address: format!("unix:{path}"), path, ..nowhere() }
            }
            Protocol::Tcp => AddressFields {
                ip: host.into(),
                port: *port,
                address: format!("{host}:{port}"),
                path: String::new(),
            },
        };
        (listen.name.clone(), fields)
    };
    all.map(of).collect()
}
