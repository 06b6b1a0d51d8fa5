//! memcached as found on this machine: the server that Sphinx is measured against.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use units::Bytes;

use crate::port::started_on_free_port;
use crate::{Error, Process, Spec, User, find_program};

/// How long `memcached -V` may take; it takes some ms.
const VERSION_WAIT: Duration = Duration::from_secs(10);

/// A memcached program and its version output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memcached {
    /// The program.
    pub path: PathBuf,
    /// Its version: `1.6.18`.
    pub version: String,
}

/// How a memcached is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Worker threads (`-t`).
    pub threads: usize,
    /// Memory for items (`-m`), counted in whole MiB and at least one.
    pub memory: Bytes,
    /// Connections that it takes at once (`-c`).
    pub connections: usize,
    /// The processors that it may run on; `None` leaves it the caller's.
    pub cpus: Option<Vec<usize>>,
    /// Further arguments, such as `-o no_lru_maintainer`.
    pub extra: Vec<String>,
}

/// The memcached in `PATH`.
///
/// Errors: it is not installed, with the package to install.
pub fn find() -> Result<Memcached, Error> {
    let path = find_program("memcached").ok_or_else(|| Error::NotFound {
        name: "memcached".into(),
        program: "memcached".into(),
        hint: "install it (`apt-get install memcached`), or measure the embedded server: `--target sphinx`"
            .into(),
    })?;
    at(&path)
}

/// The memcached at `path`.
///
/// Errors: it cannot be started, or does not say that it is memcached.
pub fn at(path: &Path) -> Result<Memcached, Error> {
    let mut process = Process::spawn(Spec::new("memcached -V", path).arg("-V"))?;
    process.wait_success(VERSION_WAIT)?;
    let line = process.next_line(VERSION_WAIT).unwrap_or_default();
    match line.strip_prefix("memcached ") {
        Some(version) => Ok(Memcached { path: path.into(), version: version.trim().into() }),
        None => Err(Error::Unexpected {
            name: process.spec().name.clone(),
            got: line,
            expected: "'memcached VERSION'",
        }),
    }
}

impl Memcached {
    /// The specification for TCP on loopback at `port` only; otherwise as [`Memcached::spec_at`].
    pub fn spec(&self, port: u16, options: &Options) -> Spec {
        self.spec_at((Ipv4Addr::LOCALHOST, port).into(), options)
    }

    /// What to start: TCP at `address` only.
    ///
    /// Root's memcached runs as `nobody`. The change of user happens before it is executed, since a process that
    /// changes its user itself would outlive this one (`prctl(2)`, PR_SET_PDEATHSIG); the `-u` is then without
    /// effect and kept so that a reader can repeat the command as root.
    pub fn spec_at(&self, address: SocketAddr, options: &Options) -> Spec {
        let mebibytes = (options.memory.0 >> 20).max(1);
        let mut spec = Spec::new("memcached", &self.path);
        spec = spec.args(["-l".into(), address.ip().to_string(), "-U".into(), "0".into()]);
        spec = spec.args(["-p".into(), address.port().to_string(), "-m".into(), mebibytes.to_string()]);
        spec = spec.args(["-t".into(), options.threads.to_string()]);
        spec = spec.args(["-c".into(), options.connections.to_string()]);
        spec.cpus = options.cpus.clone();
        if User::is_root() {
            let user = User::nobody();
            // memcached refuses to run as root without `-u`.
            spec = spec.args(["-u", user.as_ref().map_or("root", |user| &user.name)]);
            spec.user = user;
        }
        spec.args(options.extra.iter().cloned())
    }

    /// Starts it on a free port of loopback and waits up to `within` until it accepts connections; returns where.
    pub fn start(&self, options: &Options, within: Duration) -> Result<(Process, SocketAddr), Error> {
        self.start_at(Ipv4Addr::LOCALHOST.into(), options, within)
    }

    /// Starts it on a free port of `ip`, an address of this machine, and waits up to `within` until it accepts
    /// connections; returns where.
    pub fn start_at(
        &self,
        ip: IpAddr,
        options: &Options,
        within: Duration,
    ) -> Result<(Process, SocketAddr), Error> {
        started_on_free_port("memcached", ip, within, |address| Ok(self.spec_at(address, options)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listens_where_it_is_told_only_and_never_as_root() {
        let memcached = Memcached { path: "/usr/bin/memcached".into(), version: "1".into() };
        let options = Options {
            threads: 2,
            memory: Bytes(64 << 20),
            connections: 100,
            cpus: Some(vec![0]),
            extra: vec!["-o".into(), "no_lru_maintainer".into()],
        };
        let spec = memcached.spec(4711, &options);
        let line = spec.command_line().join(" ");
        let expect = "/usr/bin/memcached -l 127.0.0.1 -U 0 -p 4711 -m 64 -t 2 -c 100";
        assert!(line.starts_with(expect), "{line}");
        assert!(line.ends_with("-o no_lru_maintainer"), "{line}");
        assert_eq!(spec.cpus, Some(vec![0]));
        assert_eq!(line.contains(" -u "), User::is_root());
    }

    #[test]
    fn refuses_what_is_not_memcached() {
        let error = at(Path::new("/bin/echo")).unwrap_err().to_string();
        assert!(error.contains("'-V', which is not 'memcached VERSION'"), "{error}");
    }
}
