//! NGINX as found on this machine: the web server that the laboratory measures.
//!
//! It needs no rights and touches nothing of the machine's own NGINX: its configuration is written for it ([`Options`]),
//! and everything that it writes lies in a folder of its own.

mod answer;
mod config;
mod settings;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use config::configuration;
pub use settings::Settings;

use rustix::process::{Resource, getrlimit};

use crate::port::started_on_free_port;
use crate::{Error, Form, Instance, OwnFolder, Places, Process, Spec, User, find_program};

/// How long `nginx -V` may take; it takes some ms.
const VERSION_WAIT: Duration = Duration::from_secs(10);
/// Enough for the largest file set that is published, three times over, where there is no limit. Each cached file takes
/// about 500 B of a worker's memory.
const MANY_FILES: u64 = 1 << 20;
/// Source: the limit that containers of podman are given; that of docker's daemon is higher by default.
const FILES_IN_ENGINE: u64 = 16_384;
/// Files that a worker has open beside connections and cached files: its own and one for each request at work.
const OTHER_FILES: u64 = 128;
/// The name of the configuration in the server's folder.
const CONFIGURATION: &str = "nginx.conf";

/// An NGINX program and what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nginx {
    /// The program.
    pub path: PathBuf,
    /// Its version: `1.22.1`.
    pub version: String,
    /// What it was built with and without: `--with-threads`, `--without-http_fastcgi_module`.
    pub built: Vec<String>,
}

/// How an NGINX is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The folder whose files it serves.
    pub files: PathBuf,
    /// Worker processes.
    pub workers: usize,
    /// Their processors: one each where there are enough, else all of them for all.
    pub cpus: Vec<usize>,
    /// Connections that each worker takes at once: all of a generator's may reach the same one.
    pub connections: usize,
    /// Files that a worker may have open, of which connections and cached files are a part.
    pub open_files: u64,
    /// What a person may choose.
    pub settings: Settings,
}

impl Options {
    /// How many files a worker can keep open beside its connections.
    fn room(&self) -> u64 {
        self.open_files.saturating_sub(self.connections as u64 + OTHER_FILES)
    }

    /// Errors: files are to be kept open, and there is no room for any.
    fn check(&self) -> Result<(), Error> {
        if self.settings.open_file_cache == Some(0) || self.room() > 0 {
            return Ok(());
        }
        let why = format!(
            "a worker may have {} open, and its {} connections and {OTHER_FILES} others leave none; raise the limit (ulimit \
             -Hn), ask for fewer connections, or set open_file_cache=off",
            self.open_files, self.connections
        );
        let doing = "cannot keep files open, as open_file_cache has it";
        Err(Error::Os { name: "nginx".into(), doing, source: io::Error::other(why) })
    }
}

/// How many files a worker may have open: as many as this process's own limit lets it, and no more than the limit that
/// containers of an engine get (see `engine`).
pub fn open_file_limit(form: Form) -> u64 {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(MANY_FILES).min(MANY_FILES);
    if form.has_images() { most.min(FILES_IN_ENGINE) } else { most }
}

/// The NGINX in `PATH`.
///
/// Errors: there is none, with what to install.
pub fn find() -> Result<Nginx, Error> {
    let path = find_program("nginx").ok_or_else(|| Error::NotFound {
        name: "nginx".into(),
        program: "nginx".into(),
        hint: "install it (`apt-get install nginx`), or measure a web server that runs: `--target HOST:PORT`"
            .into(),
    })?;
    at(&path)
}

/// The NGINX at `path`.
///
/// Errors: it cannot be started, or does not say that it is NGINX.
pub fn at(path: &Path) -> Result<Nginx, Error> {
    let mut process = Process::spawn(Spec::new("nginx -V", path).arg("-V"))?;
    process.wait_success(VERSION_WAIT)?;
    let said = process.stop(VERSION_WAIT)?.stderr;
    let after = |start: &str| said.iter().find_map(|line| line.strip_prefix(start));
    match after("nginx version: nginx/") {
        // Builders add words behind the number: `1.22.1 (Ubuntu)`.
        Some(version) => Ok(Nginx {
            path: path.into(),
            version: version.split_whitespace().next().unwrap_or_default().into(),
            built: after("configure arguments:")
                .map_or_else(Vec::new, |all| all.split_whitespace().map(str::to_owned).collect()),
        }),
        None => Err(Error::Unexpected {
            name: "nginx -V".into(),
            got: said.first().cloned().unwrap_or_default(),
            expected: "'nginx version: nginx/VERSION'",
        }),
    }
}

/// The configuration that was written to a server's folder; `None` before.
pub fn configuration_in(folder: &OwnFolder) -> Option<String> {
    std::fs::read_to_string(folder.path().join(CONFIGURATION)).ok()
}

impl Nginx {
    /// Whether it is this version or a later one; what is not known counts as the latest.
    pub fn is_at_least(&self, version: [u32; 3]) -> bool {
        let number = |text: &str| text.parse::<u32>().ok();
        let own: Option<Vec<u32>> = self.version.split('.').map(number).collect();
        own.is_none_or(|own| own >= version.to_vec())
    }

    /// What to start at `address`, with its configuration in `folder`, where that is written.
    ///
    /// Root's NGINX runs as `nobody` as a whole, which has to change no account itself; see [`crate::memcached`].
    /// Errors: the configuration cannot be written; open files leave no room to keep any.
    pub fn spec_at(&self, address: SocketAddr, folder: &OwnFolder, options: &Options) -> Result<Spec, Error> {
        options.check()?;
        let own = folder.path();
        let file = own.join(CONFIGURATION);
        std::fs::write(&file, configuration(self, address, own, options)).map_err(|source| Error::Os {
            name: "nginx".into(),
            doing: "cannot write its configuration",
            source,
        })?;
        let words = ["-p", &own.display().to_string(), "-c", &file.display().to_string()].map(str::to_owned);
        let mut spec = Spec::new("nginx", &self.path).args(words);
        if self.is_at_least([1, 19, 5]) {
            // What is wrong with a configuration is said before the place for errors in it is read.
            spec = spec.args(["-e", "stderr"]);
        }
        spec.cpus = (!options.cpus.is_empty()).then(|| options.cpus.clone());
        if User::is_root() {
            spec.user = User::nobody();
        }
        if let Some(user) = &spec.user {
            folder.give_to(user)?;
        }
        Ok(spec.dir(own).mount(own, true).mount(&options.files, false))
    }

    /// Starts it on a free port of `ip`, an address of this machine, and waits up to `within` until all workers run and
    /// one of the files is answered; returns where.
    ///
    /// Errors: as those of [`Process::spawn`]; there is no file to serve, or it is not allowed to read it.
    pub fn start_at(
        &self,
        ip: IpAddr,
        folder: &OwnFolder,
        options: &Options,
        within: Duration,
    ) -> Result<(Instance, SocketAddr), Error> {
        let file = answer::file_to_serve(&options.files)?;
        let (process, address) =
            started_on_free_port("nginx", ip, within, |address| self.spec_at(address, folder, options))?;
        let mut instance = Instance::bare(process);
        answer::await_file(&mut instance, address, options, &file, within)?;
        Ok((instance, address))
    }

    /// Starts it on loopback; otherwise as [`Nginx::start_at`].
    pub fn start(
        &self,
        folder: &OwnFolder,
        options: &Options,
        within: Duration,
    ) -> Result<(Instance, SocketAddr), Error> {
        self.start_at(Ipv4Addr::LOCALHOST.into(), folder, options, within)
    }

    /// Starts it in place number `place`, where it has all ports to itself, at `port`; returns where it answers.
    ///
    /// Errors: as those of [`Places::start`] and [`Nginx::start_at`].
    pub fn start_in(
        &self,
        (places, place): (&Places, usize),
        port: u16,
        folder: &OwnFolder,
        options: &Options,
        within: Duration,
    ) -> Result<(Instance, SocketAddr), Error> {
        let file = answer::file_to_serve(&options.files)?;
        let listen = SocketAddr::new(places.listen(place), port);
        let mut instance = places.start(place, self.spec_at(listen, folder, options)?)?;
        let address = SocketAddr::new(places.address(place), port);
        instance.await_answer(address, within)?;
        answer::await_file(&mut instance, address, options, &file, within)?;
        Ok((instance, address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_not_nginx() {
        let error = at(Path::new("/bin/echo")).unwrap_err().to_string();
        assert!(error.contains("which is not 'nginx version: nginx/VERSION'"), "{error}");
    }

    #[test]
    fn compares_versions_by_number() {
        let nginx = |version: &str| Nginx { path: "/n".into(), version: version.into(), built: Vec::new() };
        let check = |version: &str, least: [u32; 3], expect: bool| {
            assert_eq!(nginx(version).is_at_least(least), expect, "{version} {least:?}");
        };
        check("1.22.1", [1, 19, 5], true);
        check("1.9.15", [1, 19, 5], false);
        check("1.19.5", [1, 19, 5], true);
        check("1.27", [1, 19, 5], true);
        check("", [1, 19, 5], true);
    }

    #[test]
    fn a_cache_without_room_is_refused() {
        let found = |open_files: u64, settings: &[&str]| {
            let settings = Settings::read(settings).unwrap();
            let (files, cpus) = ("/srv/a".into(), Vec::new());
            Options { files, workers: 1, cpus, connections: 1024, open_files, settings }.check()
        };
        assert!(found(1153, &[]).is_ok() && found(1152, &["open_file_cache=off"]).is_ok());
        for settings in [&[][..], &["open_file_cache=1000"]] {
            let error = found(1152, settings).unwrap_err().to_string();
            assert!(error.contains("may have 1152 open") && error.contains("open_file_cache=off"), "{error}");
        }
    }
}
