//! Servers that are started here: one or several instances of one program, in places of one form.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use launch::memcached::{self, Memcached};
use launch::nginx::{self, Nginx};
use launch::{Instance, OwnFolder, Places, Spec, sphinx};

use super::ServerOptions;
use super::files::Served;
use crate::{Error, TargetName};

/// How long a server may take to accept connections. Those that are started here take some ms; an image that has to
/// be fetched first is not waited for.
const START: Duration = Duration::from_secs(20);
/// How long a server may take to end by itself; it has nothing to save.
const GRACE: Duration = Duration::from_secs(2);
/// Where a server listens that has all ports to itself. Source: memcached's registered port.
const PORT: u16 = 11211;
/// The same of a web server. Source: IANA's `http-alt`, which takes no rights to listen on.
const WEB_PORT: u16 = 8080;
/// What says which files a web server has.
const FILES_LEVER: &str = "a folder by --file-set DIR, or a set that is made for it by --files 100000x4KiB";

/// What is started.
enum Program {
    Sphinx,
    Memcached(Memcached),
    Nginx(Nginx, Web),
}

/// What a web server has beside its program.
struct Web {
    settings: nginx::Settings,
    served: Served,
    /// Each instance's own: its configuration, and what it writes.
    folders: Vec<OwnFolder>,
}

/// Instances that run, and where. Dropping it kills them and removes what they ran in.
pub(super) struct Own {
    // Before the places that they are in.
    instances: Vec<Instance>,
    addresses: Vec<SocketAddr>,
    places: Places,
    // With the folders that they run in, and what they serve.
    program: Program,
    options: ServerOptions,
}

/// How long the two halves of a restart took, over all instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// From the order to stop until the last was gone.
    pub stop: Duration,
    /// From the order to start until the last accepted connections.
    pub start: Duration,
}

impl Restart {
    /// Both halves: how long nobody was served.
    pub fn whole(&self) -> Duration {
        self.stop + self.start
    }
}

impl Program {
    /// Errors: there is no nginx, nothing to serve, or no such setting.
    fn nginx(options: &ServerOptions) -> Result<Program, Error> {
        let files = options
            .files
            .as_ref()
            .ok_or(Error::NothingToServe { server: "nginx".into(), hint: FILES_LEVER })?;
        let settings = nginx::Settings::read(&options.extra)?;
        let nginx = match (&options.binary, &options.image) {
            (Some(binary), _) => nginx::at(binary)?,
            // What the image holds is not known before it answers.
            (None, Some(_)) => Nginx { path: "nginx".into(), version: String::new(), built: Vec::new() },
            (None, None) => nginx::find()?,
        };
        let served = files.have(&options.exe)?;
        let folders = (0..options.instances.max(1))
            .map(|_| OwnFolder::make(&std::env::temp_dir()))
            .collect::<Result<_, _>>()?;
        Ok(Program::Nginx(nginx, Web { settings, served, folders }))
    }
}

impl Own {
    /// Errors: there is no such program or form here, or one does not become ready.
    pub(super) fn start(name: &TargetName, options: &ServerOptions) -> Result<Own, Error> {
        let image = options.image.as_deref();
        let program = match (name, &options.binary) {
            (TargetName::Nginx, _) => Program::nginx(options)?,
            (TargetName::Memcached, Some(binary)) => Program::Memcached(memcached::at(binary)?),
            // What the image holds is not known before it answers.
            (TargetName::Memcached, None) if image.is_some() => {
                Program::Memcached(Memcached { path: "memcached".into(), version: String::new() })
            }
            (TargetName::Memcached, None) => Program::Memcached(memcached::find()?),
            _ => Program::Sphinx,
        };
        let places = {
            let file = match &program {
                Program::Sphinx => sphinx_file(options),
                Program::Memcached(memcached) => &memcached.path,
                Program::Nginx(nginx, _) => &nginx.path,
            };
            Places::prepare(options.form, options.instances.max(1), file, image)?
        };
        let options = options.clone();
        let mut own = Own { instances: Vec::new(), addresses: Vec::new(), places, program, options };
        own.start_all()?;
        Ok(own)
    }

    fn start_all(&mut self) -> Result<(), Error> {
        for place in 0..self.options.instances.max(1) {
            let options = self.options.of_instance(place);
            let (instance, address) = match &self.program {
                Program::Sphinx => self.start_sphinx(place, &options)?,
                Program::Memcached(memcached) => self.start_memcached(memcached, place, &options)?,
                Program::Nginx(nginx, web) => self.start_nginx(nginx, web, place, &options)?,
            };
            self.instances.push(instance);
            self.addresses.push(address);
        }
        Ok(())
    }

    fn start_sphinx(&self, place: usize, options: &ServerOptions) -> Result<(Instance, SocketAddr), Error> {
        if !self.places.has_all_ports() {
            let listen = SocketAddr::new(options.listen, 0);
            let mut instance = self.places.start(place, sphinx_spec(options, listen))?;
            let address = sphinx::await_ready(&mut instance.process, START)?;
            return Ok((instance, address));
        }
        let listen = SocketAddr::new(self.places.listen(place), PORT);
        let mut instance = self.places.start(place, sphinx_spec(options, listen))?;
        sphinx::await_ready(&mut instance.process, START)?;
        let address = SocketAddr::new(self.places.address(place), PORT);
        instance.await_answer(address, START)?;
        Ok((instance, address))
    }

    fn start_memcached(
        &self,
        memcached: &Memcached,
        place: usize,
        options: &ServerOptions,
    ) -> Result<(Instance, SocketAddr), Error> {
        let set_up = memcached::Options {
            threads: options.threads,
            memory: options.memory,
            connections: options.connection_limit(),
            cpus: Some(options.cpus.clone()),
            extra: options.extra.clone(),
        };
        if !self.places.has_all_ports() {
            let (process, address) = memcached.start_at(options.listen, &set_up, START)?;
            return Ok((Instance::bare(process), address));
        }
        let spec = memcached.spec_at(SocketAddr::new(self.places.listen(place), PORT), &set_up);
        let mut instance = self.places.start(place, spec)?;
        let address = SocketAddr::new(self.places.address(place), PORT);
        instance.await_answer(address, START)?;
        Ok((instance, address))
    }

    fn start_nginx(
        &self,
        nginx: &Nginx,
        web: &Web,
        place: usize,
        options: &ServerOptions,
    ) -> Result<(Instance, SocketAddr), Error> {
        let set_up = nginx::Options {
            files: web.served.folder().into(),
            workers: options.threads,
            cpus: options.cpus.clone(),
            connections: options.connection_limit(),
            open_files: nginx::open_file_limit(options.form),
            settings: web.settings.clone(),
        };
        let folder = &web.folders[place];
        Ok(if self.places.has_all_ports() {
            nginx.start_in((&self.places, place), WEB_PORT, folder, &set_up, START)?
        } else {
            nginx.start_at(options.listen, folder, &set_up, START)?
        })
    }

    /// Stops all instances and starts them again in the same places.
    ///
    /// Errors: one does not come back; all are stopped then.
    pub(super) fn restart(&mut self) -> Result<Restart, Error> {
        let begun = Instant::now();
        self.stop();
        let stopped = Instant::now();
        self.start_all()?;
        Ok(Restart { stop: stopped - begun, start: stopped.elapsed() })
    }

    /// Ends all in good order.
    pub(super) fn stop(&mut self) {
        self.addresses.clear();
        for instance in &mut self.instances {
            instance.process.terminate();
        }
        for instance in self.instances.drain(..) {
            // That it had to be killed changes nothing about what was measured.
            let _ = instance.process.stop(GRACE);
        }
    }

    /// What a result records of it.
    pub(super) fn record(&self, name: &TargetName) -> results::Target {
        let version = match &self.program {
            Program::Sphinx if self.options.binary.is_none() && self.options.image.is_none() => {
                format!("sphinx {}", env!("CARGO_PKG_VERSION"))
            }
            // The generator asks it.
            Program::Sphinx => String::new(),
            Program::Memcached(memcached) if memcached.version.is_empty() => String::new(),
            Program::Memcached(memcached) => format!("memcached {}", memcached.version),
            Program::Nginx(nginx, _) if nginx.version.is_empty() => String::new(),
            Program::Nginx(nginx, _) => format!("nginx {}", nginx.version),
        };
        let configuration = match &self.program {
            Program::Nginx(_, web) => web.folders.first().and_then(nginx::configuration_in),
            _ => None,
        };
        let of_each =
            |what: &dyn Fn(&Instance) -> Option<String>| self.instances.iter().filter_map(what).collect();
        results::Target {
            name: name.to_string(),
            version,
            address: self.address(),
            command: self.instances.first().map_or(Vec::new(), |first| first.process.spec().command_line()),
            configuration,
            cpus: self.options.cpus.clone(),
            form: self.options.form.to_string(),
            instances: self.instances.len() as u32,
            binary: self.file().display().to_string(),
            image: self.places.image().map(|image| format!("{} {}", image.name, image.id)),
            engine: self.places.version(),
            containers: of_each(&|instance| instance.container().map(str::to_owned)),
            ..results::Target::default()
        }
    }

    /// The program, as a file of this machine or of the image.
    fn file(&self) -> &Path {
        match &self.program {
            Program::Sphinx => sphinx_file(&self.options),
            Program::Memcached(memcached) => &memcached.path,
            Program::Nginx(nginx, _) => &nginx.path,
        }
    }

    /// Where they listen, as `--target` takes it.
    pub(super) fn address(&self) -> String {
        let addresses: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        addresses.join(",")
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.instances.iter().flat_map(Instance::pids).collect()
    }

    /// The last words of the first that ended; `None` while all run.
    pub(super) fn gone(&mut self) -> Option<Vec<String>> {
        let gone = self.instances.iter_mut().find_map(|one| (!one.process.is_running()).then_some(one))?;
        Some(match gone.process.wait_success(Duration::ZERO) {
            Err(launch::Error::Died { stderr, .. }) => stderr,
            _ => gone.process.stderr_tail(),
        })
    }

    /// The last lines that each wrote to standard error.
    pub(super) fn logs(&self) -> Vec<String> {
        self.instances.iter().flat_map(|instance| instance.process.stderr_tail()).collect()
    }
}

fn sphinx_file(options: &ServerOptions) -> &Path {
    match &options.binary {
        Some(binary) => binary,
        None if options.image.is_some() => Path::new("sphinxd"),
        None => &options.exe,
    }
}

fn sphinx_spec(options: &ServerOptions, listen: SocketAddr) -> Spec {
    let cpus: Vec<String> = options.cpus.iter().map(ToString::to_string).collect();
    let mebibytes = (options.memory.0 >> 20).max(1);
    let mut args = vec!["--port".into(), listen.port().to_string(), "--cpus".into(), cpus.join(",")];
    if listen.ip() != IpAddr::from(Ipv4Addr::LOCALHOST) {
        args.extend(["--listen".into(), listen.ip().to_string()]);
    }
    args.extend(["-t".into(), options.threads.to_string(), "-m".into(), mebibytes.to_string()]);
    args.extend(["-c".into(), options.connection_limit().to_string()]);
    args.extend(options.sharing.iter().flat_map(|sharing| ["--sharing".into(), sharing.clone()]));
    args.extend(options.extra.iter().cloned());
    sphinx::spec(sphinx_file(options), args).cpus(options.cpus.iter().copied())
}
