//! Variables visible in an instance's templates.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use launch::{Form, OwnFolder, User, asked_from};
use serde::Serialize;

use crate::description::{Account, Need, Service};
use crate::elsewhere::Address;
use crate::filling::TableFields;
use crate::plan::{PeopleSet, Placement, Plan, Videos};
use crate::program::VersionedProgram;
use crate::secret::Secret;
use crate::settings::Value;
use crate::{Error, Running, limits, ready};

/// An address, as visible in templates.
#[derive(Clone, Default, Serialize)]
pub(crate) struct AddressFields {
    pub(crate) ip: String,
    pub(crate) port: u16,
    pub(crate) address: String,
    pub(crate) path: String,
}

/// An instance of a called service, as visible in templates.
#[derive(Clone, Serialize)]
pub(crate) struct Peer {
    pub(crate) ip: String,
    pub(crate) port: u16,
    pub(crate) address: String,
    pub(crate) listen: BTreeMap<String, AddressFields>,
    pub(crate) own: String,
    /// Whether both see the files of this machine.
    pub(crate) near: bool,
}

/// A calling service, as visible in templates.
#[derive(Serialize)]
pub(crate) struct Caller<'a> {
    pub(crate) name: &'a str,
    pub(crate) threads: usize,
    pub(crate) instances: usize,
    pub(crate) settings: BTreeMap<&'a str, &'a Value>,
}

/// The variables of templates. `docs/reference/apps.md` lists them for authors.
#[derive(Serialize)]
pub(crate) struct Context<'a> {
    service: &'a str,
    kind: Option<&'a str>,
    number: Option<u16>,
    calls: &'a [String],
    optional: &'a [String],
    callers: Vec<Caller<'a>>,
    stores: BTreeMap<&'a str, Vec<Peer>>,
    caches: BTreeMap<&'a str, Vec<Peer>>,
    threads: usize,
    memory: u64,
    cpus: &'a [usize],
    connections: usize,
    secret: &'a Secret,
    instance: usize,
    instances: usize,
    settings: BTreeMap<&'a str, &'a Value>,
    settings_line: String,
    services: BTreeMap<String, Vec<Peer>>,
    videos: Option<&'a Videos>,
    people: Option<&'a PeopleSet>,
    /// The table, for a step that reads one.
    pub(crate) table: Option<TableFields>,
    #[serde(flatten)]
    pub(crate) surroundings: Surroundings,
}

/// The variables that depend on whether an instance is a process of this machine or in a pod.
#[derive(Serialize)]
pub(crate) struct Surroundings {
    pub(crate) program: String,
    pub(crate) data: String,
    pub(crate) spans: String,
    pub(crate) out: String,
    pub(crate) own: Option<String>,
    pub(crate) ip: String,
    pub(crate) port: u16,
    pub(crate) address: String,
    pub(crate) listen: BTreeMap<String, AddressFields>,
    pub(crate) files: Option<Files>,
    pub(crate) root: bool,
    pub(crate) user: Option<String>,
    pub(crate) open_files: u64,
    pub(crate) asked_from: Vec<String>,
    /// Whether clients have addresses of a cluster, which are only known there.
    pub(crate) in_cluster: bool,
}

#[derive(Serialize)]
pub(crate) struct Files {
    pub(crate) folder: String,
    pub(crate) one: String,
}

/// One instance that is to be started.
pub(crate) struct Seat<'a> {
    pub(crate) service: &'a Service,
    pub(crate) found: &'a VersionedProgram,
    pub(crate) placement: Placement,
    pub(crate) number: usize,
    pub(crate) folder: Option<&'a OwnFolder>,
}

impl Running {
    pub(crate) fn context<'a>(
        &'a self,
        seat: &'a Seat<'a>,
        addresses: &[Address],
    ) -> Result<Context<'a>, Error> {
        let service = seat.service;
        let tcp = tcp(addresses);
        let files = match &self.plan.files {
            Some(folder) if service.needs.contains(&Need::Files) => Some(Files {
                folder: folder.display().to_string(),
                one: ready::one_of(&service.name, folder)?,
            }),
            _ => None,
        };
        let data = self.plan.data_folder().filter(|_| service.needs.contains(&Need::Data));
        let text = |path: Option<&Path>| path.map_or_else(String::new, |path| path.display().to_string());
        let surroundings = Surroundings {
            program: seat.found.path.display().to_string(),
            data: text(data.as_deref()),
            out: text(self.plan.built.first().map(PathBuf::as_path)),
            spans: text(self.plan.spans.as_deref().filter(|_| service.written)),
            own: seat.folder.map(|folder| folder.path().display().to_string()),
            ip: tcp.map_or_else(String::new, |address| address.ip().to_string()),
            port: tcp.map_or(0, |address| address.port()),
            address: tcp.map_or_else(String::new, |address| address.to_string()),
            listen: listen_fields(service, addresses),
            files,
            root: User::is_root(),
            user: account(service).map(|user| user.name),
            open_files: limits::open_files(seat.placement.form),
            asked_from: tcp.map_or_else(Vec::new, |address| asked_from(address.ip(), self.places.bridge())),
            in_cluster: false,
        };
        let peers = self.peers(seat.placement.form);
        Ok(self.plan.context(service, &seat.placement, seat.number, peers, surroundings))
    }

    /// The instances of all services that run so far, as one in `form` reaches them.
    fn peers(&self, form: Form) -> BTreeMap<String, Vec<Peer>> {
        let near = |name: &str| {
            let there = self.here().any(|started| self.name(started) == name);
            let is_container =
                self.plan.placement(name).is_some_and(|placement| placement.form.is_container());
            there && !is_container && !form.is_container()
        };
        let own = |name: &str, at: usize| {
            let started = self.here().find(|started| self.name(started) == name)?;
            Some(started.folders.get(at)?.path().display().to_string())
        };
        let of = |(name, instances): (String, Vec<Vec<Address>>)| {
            let service = self.plan.app().service(&name)?;
            let of = |(at, addresses): (usize, &Vec<Address>)| {
                peer(service, addresses, own(&name, at).unwrap_or_default(), near(&name))
            };
            let peers = instances.iter().enumerate().map(of).collect();
            Some((name, peers))
        };
        // Services left out by the settings have an empty list, so that templates can test for them.
        let left_out = self.plan.app().services.iter().filter(|service| self.plan.leaves_out(&service.name));
        let left_out = left_out.map(|service| (service.name.clone(), Vec::new()));
        left_out.chain(self.listening().into_iter().filter_map(of)).collect()
    }
}

impl Plan {
    /// The variables of instance `number` of a service, which reaches the other services as `peers` say.
    pub(crate) fn context<'a>(
        &'a self,
        service: &'a Service,
        placement: &'a Placement,
        number: usize,
        peers: BTreeMap<String, Vec<Peer>>,
        surroundings: Surroundings,
    ) -> Context<'a> {
        let app = self.app();
        let values = self.values(&service.name).expect("it has some for each");
        let of = |names: &mut dyn Iterator<Item = &String>| -> Vec<Peer> {
            names.filter_map(|name| peers.get(name)).flatten().cloned().collect()
        };
        let stores = app.stores.iter().filter(|store| service.stores.contains(&store.name));
        let caches = app.caches.iter().filter(|cache| service.caches.contains(&cache.name));
        Context {
            service: &service.name,
            kind: service.kind.as_deref(),
            number: service.number,
            calls: &service.calls,
            optional: &service.optional,
            callers: self.callers(service),
            stores: stores.map(|one| (one.name.as_str(), of(&mut std::iter::once(&one.service)))).collect(),
            caches: caches.map(|one| (one.name.as_str(), of(&mut one.services.iter()))).collect(),
            threads: placement.threads,
            memory: placement.memory.0,
            cpus: &placement.cpus,
            connections: self.connections,
            secret: &self.secret,
            instance: number,
            instances: self.placement(&service.name).map_or(1, |whole| whole.instances.max(1)),
            settings: self.shared().map().into_iter().chain(values.map()).collect(),
            settings_line: values.to_string(),
            videos: self.videos.as_ref().filter(|_| service.needs.contains(&Need::Videos)),
            people: self.people.as_ref(),
            table: None,
            services: peers,
            surroundings,
        }
    }

    fn callers<'a>(&'a self, service: &Service) -> Vec<Caller<'a>> {
        let services = self.app().services.iter().filter(|one| one.calls.contains(&service.name));
        let caller = |one: &'a Service| {
            let placement = self.placement(&one.name).expect("it has one for each");
            let (threads, instances) = (placement.threads, placement.instances.max(1));
            let settings = self.values(&one.name).expect("it has some for each").map();
            Caller { name: &one.name, threads, instances, settings }
        };
        services.map(caller).collect()
    }
}

fn peer(service: &Service, addresses: &[Address], own: String, near: bool) -> Peer {
    let AddressFields { ip, port, address, .. } = addresses.first().map(fields).unwrap_or_default();
    Peer { ip, port, address, listen: listen_fields(service, addresses), own, near }
}

/// The account of a service, if root starts it.
pub(crate) fn account(service: &Service) -> Option<User> {
    match service.account {
        Some(Account::Nobody) if User::is_root() => User::nobody(),
        _ => None,
    }
}

pub(crate) fn tcp(addresses: &[Address]) -> Option<SocketAddr> {
    addresses.iter().find_map(Address::tcp)
}

fn fields(address: &Address) -> AddressFields {
    match address {
        Address::Tcp(tcp) => AddressFields {
            ip: tcp.ip().to_string(),
            port: tcp.port(),
            address: tcp.to_string(),
            ..AddressFields::default()
        },
        Address::Unix(path) => AddressFields {
            address: address.to_string(),
            path: path.display().to_string(),
            ..AddressFields::default()
        },
    }
}

fn listen_fields(service: &Service, addresses: &[Address]) -> BTreeMap<String, AddressFields> {
    service
        .listens
        .iter()
        .zip(addresses)
        .map(|(listen, address)| (listen.name.clone(), fields(address)))
        .collect()
}
