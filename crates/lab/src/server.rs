//! A server under test: started here, or found running.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use launch::{Process, memcached, sphinx};
use reactor::Address;
use units::Bytes;

use crate::{Error, TargetName};

/// How long a server may take to accept connections. Those that are started here take some ms.
const START: Duration = Duration::from_secs(20);
/// How long a server may take to answer a connection before it counts as unreachable.
const REACH: Duration = Duration::from_secs(3);
/// How long a server may take to end by itself; it has nothing to save.
const GRACE: Duration = Duration::from_secs(2);

/// How a server that is started here is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// This program, which is started once more as the embedded server.
    pub exe: PathBuf,
    /// Threads that serve.
    pub threads: usize,
    /// Memory for items.
    pub memory: Bytes,
    /// Connections that will be made.
    pub connections: usize,
    /// The processors that it may run on.
    pub cpus: Vec<usize>,
    /// Further arguments, such as `-o no_lru_maintainer`.
    pub extra: Vec<String>,
}

impl ServerOptions {
    /// The connections that it must take at once: servers count listeners and the like among them.
    fn connection_limit(&self) -> usize {
        (self.connections + 64).max(1024)
    }
}

/// A server under test. Dropping it ends the process, if it was started here.
pub struct Server {
    record: results::Target,
    address: String,
    process: Option<Process>,
}

impl Server {
    /// Starts the server `name`, or looks whether it runs.
    ///
    /// Errors: there is no such program, it does not become ready, or nobody listens at the address.
    pub fn start(name: &TargetName, options: &ServerOptions) -> Result<Server, Error> {
        match name {
            TargetName::Sphinx => Self::sphinx(options),
            TargetName::Memcached => Self::memcached(options),
            TargetName::Foreign(host_port) => Self::foreign(host_port),
        }
    }

    fn sphinx(options: &ServerOptions) -> Result<Server, Error> {
        let cpus: Vec<String> = options.cpus.iter().map(ToString::to_string).collect();
        let mebibytes = (options.memory.0 >> 20).max(1);
        let mut args = vec!["--port".into(), "0".into(), "--cpus".into(), cpus.join(",")];
        args.extend(["-t".into(), options.threads.to_string(), "-m".into(), mebibytes.to_string()]);
        args.extend(["-c".into(), options.connection_limit().to_string()]);
        args.extend(options.extra.iter().cloned());
        let spec = sphinx::spec(&options.exe, args).cpus(options.cpus.iter().copied());
        let mut process = Process::spawn(spec)?;
        let address = sphinx::await_ready(&mut process, START)?;
        let version = format!("sphinx {}", env!("CARGO_PKG_VERSION"));
        Ok(Self::started("sphinx", version, address, process, options))
    }

    fn memcached(options: &ServerOptions) -> Result<Server, Error> {
        let found = memcached::find()?;
        let set_up = memcached::Options {
            threads: options.threads,
            memory: options.memory,
            connections: options.connection_limit(),
            cpus: Some(options.cpus.clone()),
            extra: options.extra.clone(),
        };
        let (process, address) = found.start(&set_up, START)?;
        Ok(Self::started("memcached", format!("memcached {}", found.version), address, process, options))
    }

    fn started(
        name: &str,
        version: String,
        address: SocketAddr,
        process: Process,
        options: &ServerOptions,
    ) -> Server {
        let record = results::Target {
            name: name.into(),
            version,
            address: address.to_string(),
            command: process.spec().command_line(),
            cpus: options.cpus.clone(),
            ..results::Target::default()
        };
        Server { record, address: address.to_string(), process: Some(process) }
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
        Ok(Server { record, address: host_port.into(), process: None })
    }

    /// Calls it otherwise, where another target has the same name.
    pub fn rename(&mut self, name: String) {
        self.record.name = name;
    }

    /// What a result records of it.
    pub fn record(&self) -> &results::Target {
        &self.record
    }

    /// Where it listens, as `--target` takes it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether it was started here and may use the same processors as its neighbour.
    pub fn is_embedded(&self) -> bool {
        self.process.is_some()
    }

    /// Its process, where it was started here.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// That it ended although nobody asked it to; `None` while it runs or is not ours to know.
    pub fn gone(&mut self) -> Option<Error> {
        let process = self.process.as_mut()?;
        if process.is_running() {
            return None;
        }
        let last = match process.wait_success(Duration::ZERO) {
            Err(launch::Error::Died { stderr, .. }) => stderr,
            _ => process.stderr_tail(),
        };
        let message =
            if last.is_empty() { String::new() } else { format!("; its last words: {}", last.join("\n  ")) };
        Some(Error::ServerGone { name: self.record.name.clone(), message })
    }

    /// Ends it in good order, if it was started here.
    pub fn stop(self) {
        if let Some(process) = self.process {
            // That it had to be killed changes nothing about what was measured.
            let _ = process.stop(GRACE);
        }
    }
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
        ServerOptions {
            exe: "/no/such/taillight".into(),
            threads: 1,
            memory: Bytes(64 << 20),
            connections: 10,
            cpus: crate::allowed_cpus()[..1].to_vec(),
            extra: Vec::new(),
        }
    }

    #[test]
    fn a_foreign_server_is_reached_and_never_ours_to_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host_port = listener.local_addr().unwrap().to_string();
        let name: TargetName = host_port.parse().unwrap();
        let mut server = Server::start(&name, &options()).unwrap();
        assert_eq!((server.record().name.as_str(), server.pid()), (host_port.as_str(), None));
        assert!(server.record().command.is_empty() && server.gone().is_none() && !server.is_embedded());
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
