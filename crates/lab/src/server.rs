//! A server under test: started here, or found running.

mod calls;
mod files;
mod foreign;
mod kept;
mod managed;
mod options;
mod spans;
mod tracing;
mod usage;
mod watching;

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reactor::Address;

use app::{Addresses, Running, RunningPart};
pub use app::{Making, Restart, Seed};
pub(crate) use calls::is_cell;
pub use files::{Files, SetFiles};
use foreign::Foreign;
use managed::ManagedServer;
pub(crate) use options::people_of;
pub(crate) use options::span_bytes;
pub use options::{ServerOptions, is_traced};
pub use spec::FilesPlace;
pub(crate) use usage::{Readings, Usage};
pub use watching::Looks;

use crate::agents::Machines;
use crate::{Error, TargetName, target};

/// How long a server may take to answer a connection before it counts as unreachable.
const REACH: Duration = Duration::from_secs(3);

/// A server under test, or several that share one load. Dropping it ends all processes started for it.
pub struct Server {
    name: TargetName,
    record: results::Target,
    keeper: Keeper,
    /// Whether it has served requests since it began with its data.
    is_used: bool,
}

enum Keeper {
    /// This process, or agents that it asks.
    Managed(Box<ManagedServer>),
    /// Something outside the laboratory.
    External(Foreign),
}

impl Server {
    /// Starts the server `name` on this machine, or checks that it runs.
    ///
    /// Errors: the program or form is unavailable, the server does not become ready, or no server listens at the
    /// address.
    pub fn start(name: &TargetName, options: &ServerOptions) -> Result<Server, Error> {
        Server::start_with(name, options, None)
    }

    /// Like [`Server::start`], with the services that agents run on other `machines`.
    pub fn start_with(
        name: &TargetName,
        options: &ServerOptions,
        machines: Option<&Machines>,
    ) -> Result<Server, Error> {
        match (name, target::application(name)?) {
            (_, Some(app)) => {
                let own = ManagedServer::start(name, &app, options, machines)?;
                let record = own.record(&app.name);
                Ok(Server {
                    name: name.clone(),
                    record,
                    keeper: Keeper::Managed(Box::new(own)),
                    is_used: false,
                })
            }
            (TargetName::App(host_port) | TargetName::External(host_port), None) => {
                if options.traced {
                    let problem = "it was not started for this load".to_owned();
                    return Err(Error::NoSpans { name: host_port.clone(), problem });
                }
                Self::external(host_port)
            }
        }
    }

    /// A server that runs, or several of a cluster.
    fn external(host_port: &str) -> Result<Server, Error> {
        let addresses = target::addresses(host_port)?;
        for address in &addresses {
            let reached = match address {
                Address::Tcp(socket) | Address::Udp(socket) => {
                    TcpStream::connect_timeout(socket, REACH).map(drop)
                }
                Address::Unix(path) => UnixStream::connect(path).map(drop),
            };
            reached.map_err(|source| Error::Unreachable { address: address.to_string(), source })?;
        }
        let record = results::Target {
            name: host_port.into(),
            address: host_port.into(),
            ..results::Target::default()
        };
        let name = TargetName::External(host_port.into());
        Ok(Server { name, record, keeper: Keeper::External(Foreign::at(addresses)), is_used: false })
    }

    /// Renames it, if another target has the same name.
    pub fn rename(&mut self, name: String) {
        self.record.name = name;
    }

    /// Its name in a specification.
    pub(crate) fn name(&self) -> &TargetName {
        &self.name
    }

    /// The managed server, if this process started it.
    fn managed(&self) -> Option<&ManagedServer> {
        if let Keeper::Managed(own) = &self.keeper { Some(own) } else { None }
    }

    /// The protocol that its application names for caches.
    pub fn protocol(&self) -> Option<spec::workload::Protocol> {
        self.managed()?.running.plan().app().entrance(Some(app::Workload::Cache))?.protocol
    }

    /// Its entry in a result.
    pub fn record(&self) -> &results::Target {
        &self.record
    }

    /// Note for the reader about TCP behind its bridge. `here` describes this machine, in the format of `taillight host
    /// --json`.
    pub fn network_note(&self, here: &serde_json::Value) -> Option<String> {
        let machine = self.record.host.as_ref().unwrap_or(here);
        let own = machine.pointer("/network/congestion_control")?.as_str()?;
        launch::network_note(own, self.record.congestion_control.as_deref()?)
    }

    /// Its address, in the format of `--target`: several instances are separated by commas.
    pub fn address(&self) -> &str {
        &self.record.address
    }

    /// Whether it was started for this, here or on another machine.
    pub fn is_started(&self) -> bool {
        self.managed().is_some()
    }

    /// The serving processes, including workers, if they are on this machine: started here, or found by the sockets
    /// that listen at its addresses.
    pub fn pids(&self) -> Vec<u32> {
        match &self.keeper {
            Keeper::Managed(own) => own.running.pids(),
            Keeper::External(foreign) => foreign.pids(),
        }
    }

    /// Those of them that were started here, so that knobs may change how they run.
    pub(crate) fn started_pids(&self) -> Vec<u32> {
        if self.is_started() { self.pids() } else { Vec::new() }
    }

    /// How the processes of one that already ran were found, or why they were not.
    pub fn found_note(&self) -> Option<String> {
        if let Keeper::External(foreign) = &self.keeper { foreign.note() } else { None }
    }

    /// The reason why the processes of an external server on this machine are unknown, the figures that are missing,
    /// and the remedy.
    pub fn missing_note(&self) -> Option<String> {
        if let Keeper::External(foreign) = &self.keeper { foreign.missing() } else { None }
    }

    /// Looks for the processes of an external server, before a load.
    pub(crate) fn look(&mut self) {
        if let Keeper::External(foreign) = &mut self.keeper {
            foreign.look();
        }
    }

    /// Whether an external server was restarted or ended since [`Server::look`], in words.
    pub(crate) fn change(&mut self) -> Option<String> {
        if let Keeper::External(foreign) = &mut self.keeper { foreign.change() } else { None }
    }

    /// Its services that run on this machine, each with its processes.
    fn pids_by_service(&self) -> Vec<(String, Vec<u32>)> {
        let services = self.managed().into_iter().flat_map(|own| own.running.services());
        services.map(|one| (one.service.name.clone(), one.pids())).collect()
    }

    /// The folder of served files on this machine, if it was started here.
    pub fn folder(&self) -> Option<&Path> {
        self.managed()?.folder()
    }

    /// Whether a part of it was started on another machine.
    pub(crate) fn is_elsewhere(&self) -> bool {
        let is_away = |part: RunningPart<'_>| matches!(part, RunningPart::Elsewhere(_));
        self.managed().is_some_and(|own| own.running.parts().any(is_away))
    }

    /// Resource usage of its services so far, as JSON, for a coordinator's query to an agent.
    pub fn usage_json(&self) -> String {
        serde_json::to_string(&self.usage().unwrap_or_default()).unwrap_or_default()
    }

    /// Resource usage of its services so far; `None` if its processes are unknown.
    pub(crate) fn usage(&self) -> Option<Usage> {
        match &self.keeper {
            Keeper::Managed(own) => Some(Usage::of(&own.running)),
            Keeper::External(foreign) => foreign.usage(),
        }
    }

    /// Processor time of its services so far; `None` if its processes are unknown.
    fn processors_used(&self) -> Option<Usage> {
        match &self.keeper {
            Keeper::Managed(own) => Some(Usage::of_processors(&own.running)),
            Keeper::External(foreign) => foreign.usage(),
        }
    }

    /// The error that it ended unexpectedly; `None` while it runs or if its state is unknown here.
    pub fn gone(&mut self) -> Option<Error> {
        let Keeper::Managed(own) = &mut self.keeper else { return None };
        let message = own.gone()?;
        Some(Error::ServerGone { name: self.record.name.clone(), message })
    }

    /// The last lines that it wrote to standard error, if it was started here.
    pub fn logs(&self) -> Vec<String> {
        self.managed().map_or_else(Vec::new, |own| own.running.logs())
    }

    /// Restarts it in the same place; a bare server may get another address, and data in memory are lost.
    ///
    /// Errors: it was not started here, or does not come back.
    pub fn restart(&mut self) -> Result<Restart, Error> {
        let restart = self.ours()?.restart()?;
        self.started_again();
        Ok(restart)
    }

    /// Restores its initial data, if it has any and has served requests since; returns the time that this took.
    ///
    /// Errors: it does not come back.
    pub fn reset(&mut self) -> Result<Option<Restart>, Error> {
        let is_seeded = self.managed().is_some_and(|own| own.running.is_seeded());
        let is_used = std::mem::replace(&mut self.is_used, true);
        if is_seeded && is_used { self.restart().map(Some) } else { Ok(None) }
    }

    /// Stops it and keeps its places; returns how long that took.
    ///
    /// Errors: it is not ours to stop.
    pub fn halt(&mut self) -> Result<Duration, Error> {
        Ok(self.ours()?.halt()?)
    }

    /// Starts one again that is halted; `called` is where services of other machines listen now. Returns how long that took.
    ///
    /// Errors: it is not ours to start, or does not come back.
    pub fn resume(&mut self, called: Addresses) -> Result<Duration, Error> {
        let took = self.ours()?.resume(Some(called))?;
        self.started_again();
        Ok(took)
    }

    fn ours(&mut self) -> Result<&mut Running, Error> {
        match &mut self.keeper {
            Keeper::Managed(own) => Ok(&mut own.running),
            Keeper::External(_) => Err(Error::NotOurs { name: self.record.name.clone() }),
        }
    }

    /// Records changes after a restart.
    fn started_again(&mut self) {
        let Keeper::Managed(own) = &self.keeper else { return };
        self.record.address = own.running.address(None);
        let listening = own.running.listening();
        for service in &mut self.record.services {
            let addresses = listening.get(&service.name).into_iter().flatten().flatten();
            service.addresses = addresses.map(ToString::to_string).collect();
            service.restarts += 1;
        }
        self.record.congestion_control = own.congestion_control().or(self.record.congestion_control.take());
    }

    /// Ends it in good order, if it was started for this.
    pub fn stop(self) {
        if let Keeper::Managed(mut own) = self.keeper {
            own.running.stop();
        }
    }
}

/// The processes of the servers that already run at `addresses`, if these are on this machine; if they are unknown,
/// also the missing information.
pub fn processes_at(addresses: Vec<Address>) -> (Vec<u32>, Option<String>) {
    let foreign = Foreign::at(addresses);
    (foreign.pids(), foreign.missing())
}

/// Makes the initial data of the server `name` on this machine, unless they exist; `tell` receives the progress.
///
/// Errors: they cannot be made, and no partial data remain; the run was interrupted.
pub fn make_data(
    name: &TargetName,
    options: &ServerOptions,
    tell: &mut dyn FnMut(&Making),
) -> Result<Vec<Seed>, Error> {
    let Some(app) = target::application(name)? else { return Ok(Vec::new()) };
    ManagedServer::make_data(&ManagedServer::plan(options, &app)?, tell)
}

/// Starts the server `name` and restarts it the given number of times.
///
/// Errors: as in [`Server::start`] and [`Server::restart`].
pub fn restart_times(
    name: &TargetName,
    options: &ServerOptions,
    times: usize,
) -> Result<Vec<Restart>, Error> {
    let mut server = Server::start(name, options)?;
    let restarts = (0..times).map(|_| server.restart()).collect();
    server.stop();
    restarts
}

/// This program.
///
/// Errors: the system does not tell, or the file was replaced since.
pub fn this_program() -> std::io::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    if exe.exists() {
        return Ok(exe);
    }
    // A rebuild replaces the file of a program that runs; the kernel still knows the old one.
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.into()) } else { Err(std::io::ErrorKind::NotFound.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn options() -> ServerOptions {
        ServerOptions::new(Path::new("/no/such/taillight"))
    }

    #[test]
    fn a_foreign_server_is_reached_and_never_ours_to_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host_port = listener.local_addr().unwrap().to_string();
        let name: TargetName = host_port.parse().unwrap();
        let mut server = Server::start(&name, &options()).unwrap();
        assert_eq!((server.record().name.as_str(), server.started_pids()), (host_port.as_str(), vec![]));
        assert!(server.pids().contains(&std::process::id()) && server.found_note().is_some());
        assert!(server.record().command.is_empty() && server.gone().is_none() && !server.is_started());
        assert!(server.restart().unwrap_err().to_string().contains("not started here"));
        server.stop();
        assert!(listener.accept().is_ok());
    }

    #[test]
    fn a_dead_port_is_named() {
        // No other test is given this port, as one that was free just now could be.
        let address = "127.0.0.1:1";
        let error = Server::start(&address.parse().unwrap(), &options()).err().unwrap().to_string();
        assert!(error.contains(address) && error.contains("start the server"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Server::start(&TargetName::app("sphinx"), &options()).err().unwrap().to_string();
        assert!(error.contains("/no/such/taillight"), "{error}");
    }
}
