//! Where servers run: bare, behind a bridge, or in containers behind the same bridge.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::engine::{self, Engine, From};
use crate::guardian::Guardian;
use crate::network::Network;
use crate::{Error, Form, ImageRoot, Process, ProcessEnd, Spec, Subnet, clean, lxc, netspace, owner, tool};

/// How long a container may take until its first process is there. An engine takes up to 2 s on a busy machine.
const CONTAINER_WAIT: Duration = Duration::from_secs(30);
/// How long an engine may take to end after its container has.
const GONE_WAIT: Duration = Duration::from_secs(5);
/// How often each is checked for.
const LOOK: Duration = Duration::from_millis(2);

/// Request for one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceRequest<'a> {
    /// The form around the server.
    pub form: Form,
    /// Its program, which a container finds at the path that it has here.
    pub program: &'a Path,
    /// The user's image that podman or docker runs it from.
    pub image: Option<&'a str>,
}

/// Places for the servers of a target, each with its own form; all but the bare ones share one bridge. Dropping it
/// removes everything made for them; drop the servers in them first.
///
/// The same is removed if this process is killed (see `guardian`). After a guardian that was killed itself, the next
/// one prepared here, or [`crate::clean_up`], removes the rest.
pub struct Places {
    /// The form of each place, and which workshop its container is made in.
    seats: Vec<(Form, Option<usize>)>,
    // Before the network: containers go before their links.
    workshops: Vec<Workshop>,
    network: Option<Network>,
}

/// The common parts of containers of one form and one image.
struct Workshop {
    form: Form,
    /// Name or prefix of everything made in it.
    name: String,
    folder: PathBuf,
    engine: Option<Engine>,
    image: Option<Image>,
    /// Locked until this process ends, even for processes that cannot see it.
    _lock: fs::File,
    _guardian: Guardian,
}

/// The image of an engine's containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its name.
    pub name: String,
    /// Its id, as the engine tells.
    pub id: String,
}

/// A server in a place. Dropping it kills it.
pub struct Instance {
    /// The process started here: the server, or the one that supervises its container.
    pub process: Process,
    /// The server itself, as this machine counts.
    pid: u32,
    /// The name of its container.
    container: Option<String>,
    /// The engine that runs it and its container name; killing the process started here does not kill the container.
    of_engine: Option<(Engine, String)>,
    /// TCP's congestion control in its network namespace.
    control: Option<String>,
}

impl Places {
    /// Prepares the requested places; all but the bare ones are reachable from this machine only.
    ///
    /// Errors: a form is unavailable here, with a hint on how to change that.
    pub fn prepare(wanted: &[PlaceRequest<'_>]) -> Result<Places, Error> {
        Places::prepare_on(wanted, None)
    }

    /// The same, with addresses of a range that other machines route to this one, at which those reach them.
    ///
    /// Errors: as those of [`Places::prepare`]; this machine does not forward to the range, or it has no room for all.
    pub fn prepare_on(wanted: &[PlaceRequest<'_>], routed: Option<Subnet>) -> Result<Places, Error> {
        if let Some((form, image)) = wanted
            .iter()
            .find_map(|place| Some((place.form, place.image?)).filter(|(form, _)| !form.has_images()))
        {
            let why = format!("there is no image in it, and '{image}' was given");
            return Err(Error::NoForm {
                form,
                why,
                remedy: "use --form podman or docker, or leave the image out",
            });
        }
        let forms: Vec<Form> = wanted.iter().map(|place| place.form).collect();
        let mut places = Places {
            seats: forms.iter().map(|form| (*form, None)).collect(),
            workshops: Vec::new(),
            network: None,
        };
        clean::clean_up(&forms);
        if forms.iter().all(|form| *form == Form::Bare) {
            return Ok(places);
        }
        let network = Network::new(&forms, routed)?;
        let mut kinds: Vec<(Form, Option<&str>)> = Vec::new();
        for (place, (_, workshop)) in wanted.iter().zip(&mut places.seats) {
            let kind = (place.form, place.image);
            if place.form.is_container() {
                *workshop = kinds.iter().position(|known| *known == kind).or_else(|| {
                    kinds.push(kind);
                    Some(kinds.len() - 1)
                });
            }
        }
        for (form, image) in kinds {
            let mut programs: Vec<&Path> = wanted
                .iter()
                .filter(|place| (place.form, place.image) == (form, image))
                .map(|place| place.program)
                .collect();
            programs.dedup();
            let name = if places.workshops.is_empty() { network.name().to_owned() } else { owner::fresh() };
            places.workshops.push(Workshop::new(form, name, &programs, image)?);
        }
        Ok(Places { network: Some(network), ..places })
    }

    /// Names or prefixes of everything made for them; empty if all are bare.
    pub fn names(&self) -> Vec<&str> {
        let network = self.network.as_ref().map(Network::name);
        network.into_iter().chain(self.workshops.iter().skip(1).map(|one| one.name.as_str())).collect()
    }

    /// The bridge's address, at which servers behind it reach bare ones; `None` if all are bare.
    pub fn bridge(&self) -> Option<IpAddr> {
        Some(self.network.as_ref()?.bridge_address().into())
    }

    /// The address that the server in place number `place` is reached at. A bare one is reached at loopback, or at the
    /// bridge's address where others are behind it.
    pub fn address(&self, place: usize) -> IpAddr {
        match &self.network {
            None => Ipv4Addr::LOCALHOST.into(),
            Some(network) if self.is_bare(place) => network.bridge_address().into(),
            Some(network) => network.address(place).into(),
        }
    }

    /// The address that it is to listen on. docker makes the namespace itself, and the address comes later.
    pub fn listen(&self, place: usize) -> IpAddr {
        if self.seats[place].0 == Form::Docker { Ipv4Addr::UNSPECIFIED.into() } else { self.address(place) }
    }

    /// Whether the server in place number `place` has this machine's network, and must look for a free port.
    pub fn is_bare(&self, place: usize) -> bool {
        self.seats[place].0 == Form::Bare
    }

    /// The images that containers run from.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.workshops.iter().filter_map(|workshop| workshop.image.as_ref())
    }

    /// The versions of those of LXC, podman and docker that are used.
    pub fn versions(&self) -> Vec<String> {
        let mut versions: Vec<String> = self.workshops.iter().filter_map(Workshop::version).collect();
        versions.dedup();
        versions
    }

    /// Starts `spec` in place number `place`, which is free.
    ///
    /// Errors: as those of [`Process::spawn`], or the container did not come to be, with its last words.
    pub fn start(&self, place: usize, spec: Spec) -> Result<Instance, Error> {
        let network = match &self.network {
            Some(network) if !self.is_bare(place) => network,
            _ => return Ok(Instance::bare(Process::spawn(spec)?)),
        };
        let space = network.space(place);
        let control = network.control(place).map(str::to_owned);
        let Some(workshop) = self.seats[place].1.map(|at| &self.workshops[at]) else {
            let instance = Instance::bare(Process::spawn(Spec { net: space, ..spec })?);
            return Ok(Instance { control, ..instance });
        };
        let name = format!("{}-{place}", workshop.name);
        let Some(engine) = &workshop.engine else {
            let root = workshop.folder.join("root");
            let space = space.unwrap_or_default();
            let container =
                lxc::Container { name: &name, root: &root, folder: &workshop.folder, space: &space };
            let mut process = tool::start(lxc::wrap(&spec, &container)?, lxc::PACKAGE)?;
            let pid = first_process(&mut process, |process| first_inside(process.pid()))?;
            return Ok(Instance { process, pid, container: Some(name), of_engine: None, control });
        };
        let root = workshop.folder.join("root");
        let from = workshop.image.as_ref().map_or(From::Folder(&root), |image| From::Image(&image.name));
        let container = engine::Container { name: &name, from, space: space.as_deref() };
        let mut process = tool::start(engine.wrap(&spec, &container), workshop.form.name())?;
        let of_engine = Some((engine.clone(), name.clone()));
        let pid = first_process(&mut process, |_| engine.pid(&name)).inspect_err(|_| engine.remove(&name))?;
        match self.joined(network, engine, place, &name, space.is_none().then_some(pid)) {
            Ok((id, joined)) => {
                Ok(Instance { process, pid, container: Some(id), of_engine, control: control.or(joined) })
            }
            // The removed container is the consequence, not the cause.
            Err(error) => {
                let gone = process.wait(GONE_WAIT);
                engine.remove(&name);
                match gone {
                    Ok(_) => process.still_runs("before it was ready").and(Err(error)),
                    Err(_) => Err(error),
                }
            }
        }
    }

    /// The id of a running container and the congestion control of its namespace, after its process `pid` was linked to
    /// the bridge if necessary.
    fn joined(
        &self,
        network: &Network,
        engine: &Engine,
        place: usize,
        name: &str,
        pid: Option<u32>,
    ) -> Result<(String, Option<String>), Error> {
        let mut control = None;
        if let Some(pid) = pid {
            let space = PathBuf::from(format!("/proc/{pid}/ns/net"));
            control = netspace::take_over_settings(&space)
                .map_err(Error::os(name, "cannot set up the container's network"))?;
            network.join(place, &space)?;
        }
        Ok((engine.id(name)?, control))
    }
}

impl Workshop {
    fn new(form: Form, name: String, programs: &[&Path], users: Option<&str>) -> Result<Workshop, Error> {
        let os = |doing| Error::os(&name, doing);
        let folder = clean::folder(&name);
        let engine =
            if form.has_images() { Some(Engine::find(form, &folder, users.is_some())?) } else { None };
        // Started before anything is made, so that nothing remains even if this process ends at any moment.
        let undo = clean::containers(&name, engine.as_ref());
        let guardian = Guardian::start(&undo).map_err(os("cannot start what removes containers"))?;
        let root = folder.join("root");
        fs::create_dir_all(&root).map_err(os("cannot make a folder for containers"))?;
        let lock = owner::lock(&folder).map_err(os("cannot lock the folder for containers"))?;
        if users.is_none() {
            let made = ImageRoot::make(&root)?;
            programs.iter().try_for_each(|program| made.copy(program, program))?;
            made.open_to_all()?;
        }
        let mut image = None;
        if let Some(engine) = &engine {
            engine.set_up()?;
            image = match users {
                Some(name) => {
                    let id = engine
                        .image_id(name)
                        .or_else(|_| engine.pull(name).and_then(|()| engine.image_id(name)))?;
                    Some(Image { name: name.into(), id })
                }
                None if engine.runs_folders() => None,
                None => {
                    let name = format!("localhost/{name}:1");
                    engine.import(&root, &folder.join("image.tar"), &name)?;
                    let id = engine.image_id(&name)?;
                    Some(Image { name, id })
                }
            };
        }
        Ok(Workshop { form, name, folder, engine, image, _lock: lock, _guardian: guardian })
    }

    fn version(&self) -> Option<String> {
        match &self.engine {
            Some(engine) => engine.version().ok(),
            None => tool::run(Spec::new("lxc-start", "lxc-start").arg("--version"), lxc::PACKAGE).ok(),
        }
    }
}

impl Instance {
    /// A server without anything around it.
    pub fn bare(process: Process) -> Instance {
        let pid = process.pid();
        Instance { process, pid, container: None, of_engine: None, control: None }
    }

    /// Ends it as [`Process::stop`] does, and removes its container if that did not end in time.
    ///
    /// Errors: as in [`Process::stop`].
    pub fn stop(self, grace: Duration) -> Result<ProcessEnd, Error> {
        let ended = self.process.stop(grace);
        if !ended.as_ref().is_ok_and(|ended| !ended.killed)
            && let Some((engine, name)) = &self.of_engine
        {
            engine.remove(name);
        }
        ended
    }

    /// The server's process id in this machine's numbering, not its supervisor's.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its own child processes, as this machine counts: the workers of a server that has any.
    pub fn children(&self) -> Vec<u32> {
        children(self.pid).unwrap_or_default()
    }

    /// All processes that serve: itself and its children.
    pub fn pids(&self) -> Vec<u32> {
        std::iter::once(self.pid).chain(self.children()).collect()
    }

    /// The name of its container, or the id given by the engine.
    pub fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// TCP's congestion control in its network namespace; `None` if it uses this machine's network, or the kernel does
    /// not report it.
    pub fn congestion_control(&self) -> Option<&str> {
        self.control.as_deref()
    }

    /// Waits up to `within` until it accepts connections at `address`, which no other process can have.
    ///
    /// Errors: it ended, with its last words; or it does not answer in time.
    pub fn await_answer(&mut self, address: SocketAddr, within: Duration) -> Result<(), Error> {
        self.process.await_answer(address, within)
    }
}

/// The first process of a container that `process` keeps, once it is there.
fn first_process(process: &mut Process, mut find: impl FnMut(&Process) -> Option<u32>) -> Result<u32, Error> {
    let deadline = Instant::now() + CONTAINER_WAIT;
    loop {
        if let Some(pid) = find(process) {
            return Ok(pid);
        }
        process.still_runs("before its container was there")?;
        if Instant::now() >= deadline {
            return Err(process.not_ready("start its container".into(), CONTAINER_WAIT));
        }
        thread::sleep(LOOK);
    }
}

/// The child of process `pid` that has process ids of its own; `lxc-start` has another for a moment before it, which
/// brings it into its network.
fn first_inside(pid: u32) -> Option<u32> {
    let space = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let own = space("self")?;
    children(pid)?.into_iter().find(|child| space(&child.to_string()).is_some_and(|other| other != own))
}

/// The children of the first thread of process `pid`; `None` if it has ended. Source: `proc_pid_task(5)`.
fn children(pid: u32) -> Option<Vec<u32>> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    Some(text.split_whitespace().filter_map(|child| child.parse().ok()).collect())
}
