//! Rendered configurations and arguments of an instance in its container.

use std::collections::BTreeMap;

use super::layout::{Instance, Pod, has_socket};
use super::{APP, DATA, Deployment, FILES, Layout, OWN};
use crate::context::{AddressFields, Context, Files, Peer, Surroundings};
use crate::description::{File, Need, Protocol};
use crate::program::VersionedProgram;
use crate::renderer::Renderer;
use crate::{Error, limits};

/// Client addresses of this machine itself.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];
/// Addresses of pods and nodes in a cluster. Source: RFC 1918 and RFC 6598, which contain the defaults of all common
/// pod networks.
const CLUSTER: [&str; 4] = ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16"];

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

    pub(crate) fn program(&self) -> String {
        let program = &self.service.program;
        let name = if program.embedded.is_some() { "taillight" } else { &program.name };
        format!("{APP}/bin/{name}")
    }

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
        let renderer = Renderer::new(self.plan.app(), service, &VersionedProgram::default(), &context);
        renderer.check()?;
        let template = |file: &File| {
            let text = renderer.template(file.template.as_ref()?);
            Some(text.map(|text| (file.path.clone(), text, file.private)))
        };
        let own = instance.placement.args.iter().cloned();
        // A store that begins with data has been prepared when they were made.
        let prepare = service.prepare.iter().filter(|_| self.seed(service).is_none());
        Ok(Start {
            files: service.files.iter().filter_map(template).collect::<Result<_, _>>()?,
            args: instance.before().into_iter().chain(renderer.args()?).chain(own).collect(),
            env: renderer.env()?,
            prepare: prepare.map(|command| renderer.command(command)).collect::<Result<_, _>>()?,
        })
    }

    fn context<'a>(&'a self, pods: &[Pod<'_>], pod: &Pod<'_>, instance: &'a Instance<'a>) -> Context<'a> {
        let service = instance.service;
        let ip = match self.layout {
            Layout::Together if !self.is_front(instance) => "127.0.0.1",
            // The address of a pod is only known at run time.
            _ => "0.0.0.0",
        };
        let first = instance.tcp().next().map_or(0, |(_, port)| port);
        let files = || Files { folder: FILES.into(), one: "/".into() };
        let surroundings = Surroundings {
            program: instance.program(),
            data: if self.reads_data(service) { DATA.into() } else { String::new() },
            spans: String::new(),
            out: APP.into(),
            own: service.has_folder().then(|| instance.own()),
            ip: if first == 0 { String::new() } else { ip.into() },
            port: first,
            address: if first == 0 { String::new() } else { format!("{ip}:{first}") },
            listen: listening(instance, ip),
            files: service.needs.contains(&Need::Files).then(files),
            root: false,
            user: Some("nobody".into()),
            open_files: limits::FILES_IN_ENGINE,
            asked_from: self.asked_from(instance),
            in_cluster: self.layout == Layout::Apart,
        };
        let peers = self.peers(pods, pod);
        self.plan.context(service, &instance.placement, instance.number, peers, surroundings)
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
                let tcp = tcp.or(first).unwrap_or_default();
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

/// The addresses of an instance by name, as seen by clients that reach it at `host`.
fn listening(instance: &Instance<'_>, host: &str) -> BTreeMap<String, AddressFields> {
    let all = instance.service.listens.iter().zip(&instance.ports);
    let of = |(listen, port): (&crate::description::Listen, &u16)| {
        let fields = match listen.protocol {
            Protocol::Unix => {
                let path = format!("{}/{}.sock", instance.own(), listen.name);
                AddressFields { address: format!("unix:{path}"), path, ..AddressFields::default() }
            }
            Protocol::Tcp => AddressFields {
                ip: host.into(),
                port: *port,
                address: format!("{host}:{port}"),
                ..AddressFields::default()
            },
        };
        (listen.name.clone(), fields)
    };
    all.map(of).collect()
}
