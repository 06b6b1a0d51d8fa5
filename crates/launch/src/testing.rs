//! Functions that tests and benches share: repeated looks, programs that they write, servers of this machine that they
//! start and stop by themselves. The laboratory starts its servers as applications, which are data.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::free_port_at;

/// How long a look is repeated.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first result of `look`, which is called every millisecond for up to a minute, while the kernel or another process goes
/// on. `None`: there was no result.
pub fn found<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begun.elapsed() > PATIENCE {
            return found;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether `holds` becomes true within that time.
pub fn comes_true(mut holds: impl FnMut() -> bool) -> bool {
    found(|| holds().then_some(())).is_some()
}

/// Writes a program of the shell, by another process: a child that this process forks during the write would hold the file
/// open, and a file open for writing cannot be executed.
///
/// Panics if the file cannot be written.
pub fn write_program(file: &Path, script: &str) {
    let write = "printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let written = Command::new("sh").args(["-c", write]).arg(file).arg(script).status();
    assert!(written.is_ok_and(|status| status.success()), "cannot write {}", file.display());
}

/// Copies a program to be started, by another process as [`write_program`] does.
///
/// Panics if it cannot be copied.
pub fn copy_program(from: &str, to: &Path) {
    let copied = Command::new("cp").args([Path::new(from), to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "cannot copy {from} to {}", to.display());
}

/// A TCP port on loopback that no process listens on at this moment; see [`free_port_at`].
pub fn free_port() -> io::Result<u16> {
    free_port_at(Ipv4Addr::LOCALHOST.into())
}

/// memcached as found on this machine: the server that Sphinx is compared with.
pub mod memcached {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use units::Bytes;

    use super::free_port;
    use crate::{Error, Process, Spec, User, find_program};

    /// How long `memcached -V` may take; it takes some ms.
    const VERSION_WAIT: Duration = Duration::from_secs(10);

    /// How often another port is tried because another process took the last between the choice and the start.
    const PORT_TRIES: usize = 5;

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
            hint:
                "install it (`apt-get install memcached`), or measure the embedded server: `--target sphinx`"
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
            let mut tries = 0;
            loop {
                let port = free_port().map_err(Error::os("memcached", "cannot find a free port"))?;
                let mut process = Process::spawn(self.spec(port, options))?;
                let address = (Ipv4Addr::LOCALHOST, port).into();
                match process.await_port(address, within) {
                    Ok(()) => return Ok((process, address)),
                    Err(Error::PortTaken { .. }) if tries < PORT_TRIES => tries += 1,
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

/// Sphinx: this program, started once more as `serve sphinx`, or another build of it.
pub mod sphinx {
    use std::net::SocketAddr;
    use std::path::Path;
    use std::time::Duration;

    use crate::{Error, Process, Spec};

    /// Prefix of the line that announces that Sphinx accepts connections; its address follows.
    pub const READY: &str = "sphinxd ready on ";

    /// `exe serve sphinx args…`; `exe` is this program (`std::env::current_exe`), or another build: of that, or of
    /// `sphinxd`, which is the server alone and takes `args` at once.
    pub fn spec<A: Into<String>>(exe: &Path, args: impl IntoIterator<Item = A>) -> Spec {
        let alone = exe.file_name().is_some_and(|name| name.to_string_lossy().starts_with("sphinxd"));
        let before: &[&str] = if alone { &[] } else { &["serve", "sphinx"] };
        Spec::new("sphinx", exe).args(before.iter().copied()).args(args)
    }

    /// Waits up to `within` for Sphinx to accept connections; returns its address.
    ///
    /// Sphinx prints its address, so it can be started on port 0 and never meets a port that is taken.
    pub fn await_ready(process: &mut Process, within: Duration) -> Result<SocketAddr, Error> {
        let line = process.await_line(READY, within)?;
        // The text after the address is for people.
        let address = line[READY.len()..].split_whitespace().next().and_then(|word| word.parse().ok());
        address.ok_or(Error::Unexpected {
            name: process.spec().name.clone(),
            got: line,
            expected: "'sphinxd ready on ADDRESS:PORT'",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use units::Bytes;

    use super::memcached::{Memcached, Options, at};
    use super::sphinx::{await_ready, spec};
    use super::{comes_true, found};
    use crate::{Process, Spec, User};

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
    fn looks_until_it_finds() {
        let mut looks = 0;
        let third = || {
            looks += 1;
            (looks == 3).then_some("third")
        };
        assert_eq!(found(third), Some("third"));
        assert_eq!(looks, 3);
        assert!(comes_true(|| true));
    }

    #[test]
    fn refuses_what_is_not_memcached() {
        let error = at(Path::new("/bin/echo")).unwrap_err().to_string();
        assert!(error.contains("'-V', which is not 'memcached VERSION'"), "{error}");
    }

    #[test]
    fn reads_the_address_that_the_server_says() {
        let check = |says: &str, expect: Result<&str, &str>| {
            let spec = Spec::new("sphinx", "/bin/sh").args(["-c", &format!("echo '{says}'; exec sleep 60")]);
            let mut process = Process::spawn(spec).unwrap();
            let got = await_ready(&mut process, Duration::from_secs(20));
            match expect {
                Ok(address) => assert_eq!(got.unwrap().to_string(), address),
                Err(part) => assert!(got.unwrap_err().to_string().contains(part)),
            }
        };
        check("sphinxd ready on 127.0.0.1:4711", Ok("127.0.0.1:4711"));
        check("sphinxd ready on [::1]:4711, 2 threads", Err("not 'sphinxd ready on ADDRESS:PORT'"));
        check("sphinxd ready on [::1]:4711 with 2 threads", Ok("[::1]:4711"));
    }

    #[test]
    fn starts_this_program_once_more() {
        let line = |exe: &str| spec(Path::new(exe), ["--threads", "2"]).command_line().join(" ");
        assert_eq!(line("/opt/taillight"), "/opt/taillight serve sphinx --threads 2");
        assert_eq!(line("/opt/taillight-new"), "/opt/taillight-new serve sphinx --threads 2");
        assert_eq!(line("/opt/sphinxd-0.2"), "/opt/sphinxd-0.2 --threads 2");
    }
}
