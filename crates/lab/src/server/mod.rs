//! A server under test: started here, or found running.

mod files;
mod options;
mod own;

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reactor::Address;

pub use files::{Files, FilesPlace};
pub use options::ServerOptions;
use own::Own;
pub use own::Restart;

use crate::{Error, TargetName};

/// How long a server may take to answer a connection before it counts as unreachable.
const REACH: Duration = Duration::from_secs(3);

/// A server under test, or several that share one load. Dropping it ends what was started for it.
pub struct Server {
    record: results::Target,
    keeper: Keeper,
}

/// Who keeps it.
enum Keeper {
    /// This process.
    Own(Box<Own>),
    /// Somebody on another machine.
    Remote(Box<dyn Remote>),
    /// Nobody that is known here.
    Foreign,
}

/// A server that was started on another machine. Dropping it ends it.
pub trait Remote: Send {
    /// Why it ended although nobody asked it to; `None` while it runs.
    fn gone(&mut self) -> Option<String>;

    /// Stops it and starts it again in the same place; what a result records of it then.
    fn restart(&mut self) -> Result<(results::Target, Restart), String>;

    /// Ends it in good order; returns the last lines that it wrote.
    fn stop(self: Box<Self>) -> Vec<String>;
}

impl Server {
    /// Starts the server `name`, or looks whether it runs.
    ///
    /// Errors: there is no such program or form, it does not become ready, or nobody listens at the address.
    pub fn start(name: &TargetName, options: &ServerOptions) -> Result<Server, Error> {
        if let TargetName::Foreign(host_port) = name {
            return Self::foreign(host_port);
        }
        let own = Own::start(name, options)?;
        Ok(Server { record: own.record(name), keeper: Keeper::Own(Box::new(own)) })
    }

    /// One that somebody has started on another machine.
    pub fn remote(record: results::Target, remote: Box<dyn Remote>) -> Server {
        Server { record, keeper: Keeper::Remote(remote) }
    }

    /// A server that runs, or several of a cluster.
    fn foreign(host_port: &str) -> Result<Server, Error> {
        for address in TargetName::addresses(host_port)? {
            let reached = match &address {
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
        Ok(Server { record, keeper: Keeper::Foreign })
    }

    /// Calls it otherwise, where another target has the same name.
    pub fn rename(&mut self, name: String) {
        self.record.name = name;
    }

    /// What a result records of it.
    pub fn record(&self) -> &results::Target {
        &self.record
    }

    /// Where it listens, as `--target` takes it: with commas between, where there are several instances.
    pub fn address(&self) -> &str {
        &self.record.address
    }

    /// Whether it was started here and may use the same processors as its neighbour.
    pub fn is_embedded(&self) -> bool {
        matches!(self.keeper, Keeper::Own(_))
    }

    /// Whether it was started for this, here or on another machine.
    pub fn is_started(&self) -> bool {
        !matches!(self.keeper, Keeper::Foreign)
    }

    /// The processes that serve, workers included, where they are on this machine and were started here.
    pub fn pids(&self) -> Vec<u32> {
        if let Keeper::Own(own) = &self.keeper { own.pids() } else { Vec::new() }
    }

    /// That it ended although nobody asked it to; `None` while it runs or is not ours to know.
    pub fn gone(&mut self) -> Option<Error> {
        let message = match &mut self.keeper {
            Keeper::Own(own) => match own.gone()? {
                last if last.is_empty() => String::new(),
                last => format!("; its last words: {}", last.join("\n  ")),
            },
            Keeper::Remote(remote) => format!(": {}", remote.gone()?),
            Keeper::Foreign => return None,
        };
        Some(Error::ServerGone { name: self.record.name.clone(), message })
    }

    /// The last lines that it wrote to standard error, where it was started here.
    pub fn logs(&self) -> Vec<String> {
        if let Keeper::Own(own) = &self.keeper { own.logs() } else { Vec::new() }
    }

    /// Stops it and starts it again in the same place; a bare one may have another address then, and what it held is
    /// gone.
    ///
    /// Errors: it is not ours to restart, or does not come back.
    pub fn restart(&mut self) -> Result<Restart, Error> {
        let name = self.record.name.clone();
        match &mut self.keeper {
            Keeper::Own(own) => {
                let restart = own.restart()?;
                self.record.address = own.address();
                Ok(restart)
            }
            Keeper::Remote(remote) => {
                let (record, restart) = remote
                    .restart()
                    .map_err(|why| Error::ServerGone { name, message: format!(": {why}") })?;
                self.record.address = record.address;
                Ok(restart)
            }
            Keeper::Foreign => Err(Error::NotOurs { name }),
        }
    }

    /// Ends it in good order, if it was started for this.
    pub fn stop(self) {
        match self.keeper {
            Keeper::Own(mut own) => own.stop(),
            Keeper::Remote(remote) => drop(remote.stop()),
            Keeper::Foreign => {}
        }
    }
}

/// Starts the server `name` and restarts it so many times.
///
/// Errors: as those of [`Server::start`] and [`Server::restart`].
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
        assert_eq!((server.record().name.as_str(), server.pids()), (host_port.as_str(), vec![]));
        assert!(server.record().command.is_empty() && server.gone().is_none() && !server.is_embedded());
        assert!(server.restart().unwrap_err().to_string().contains("not started here"));
        server.stop();
        assert!(listener.accept().is_ok());
    }

    #[test]
    fn a_dead_port_is_named() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error =
            Server::start(&address.to_string().parse().unwrap(), &options()).err().unwrap().to_string();
        assert!(error.contains(&address.to_string()) && error.contains("start the server"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Server::start(&TargetName::Sphinx, &options()).err().unwrap().to_string();
        assert!(error.contains("/no/such/taillight"), "{error}");
    }
}
