//! Starts one instance of a service: its addresses, files and arguments, and the wait until it is ready.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use launch::{Instance, Process, Spec, free_port_at};

use crate::context::{Context, Seat, account, tcp};
use crate::description::{Command, Listen, Need, Protocol, Signal};
use crate::elsewhere::Address;
use crate::renderer::Renderer;
use crate::{Error, Running, files, npm, pin, ready};

/// How often other ports are tried because another process took one between the choice and the start.
const PORT_TRIES: usize = 5;
/// How long a program that prepares the folder of an instance may take: a database's first folder takes some s.
const PREPARE: Duration = Duration::from_secs(120);

impl Running {
    /// Starts one instance and waits until it is ready; retries with another port if one has been taken in the
    /// meantime.
    pub(crate) fn start_one(
        &self,
        seat: &Seat<'_>,
        place: usize,
        mut prepare: bool,
    ) -> Result<(Instance, Vec<Address>, Option<String>), Error> {
        let mut tries = 0;
        loop {
            let addresses = self.addresses(seat, place)?;
            let context = self.context(seat, &addresses)?;
            let (spec, configuration) = self.spec(seat, &context)?;
            if prepare {
                self.prepare(seat, &context)?;
                prepare = false;
            }
            let mut instance = self.places.start(place, spec)?;
            match self.await_ready(&mut instance, seat, place, addresses, &context) {
                Ok(addresses) => return Ok((instance, addresses, configuration)),
                Err(Error::Launch(launch::Error::PortTaken { .. })) if tries < PORT_TRIES => tries += 1,
                Err(error) => return Err(self.with_called(error, seat)),
            }
        }
    }

    /// Adds to the error of a service that is not ready the last lines of the services that it calls: a web server knows
    /// only that the application behind it failed.
    fn with_called(&self, mut error: Error, seat: &Seat<'_>) -> Error {
        if let Error::Launch(launch::Error::NotReady { stderr, .. }) = &mut error {
            let called: Vec<&String> = self.plan.app().before(seat.service).collect();
            for one in self.services().filter(|one| called.contains(&&one.service.name)) {
                let lines = one.instances.iter().flat_map(|instance| instance.process.stderr_tail());
                stderr.extend(lines.map(|line| format!("{}: {line}", one.service.name)));
            }
        }
        error
    }

    fn addresses(&self, seat: &Seat<'_>, place: usize) -> Result<Vec<Address>, Error> {
        // Those behind a bridge reach a bare one at the bridge's address, and not at loopback.
        let bridge = self.places.bridge().filter(|_| self.plan.listen.is_loopback());
        let bare = seat.placement.listen.or(bridge).unwrap_or(self.plan.listen);
        let first = seat.service.listens.iter().find(|listen| listen.protocol == Protocol::Tcp);
        let is_first = |listen: &Listen| first.is_some_and(|first| first.name == listen.name);
        let of = |listen: &Listen| match (listen.protocol, seat.folder) {
            (Protocol::Unix, Some(folder)) => {
                Ok(Address::Unix(folder.path().join(format!("{}.sock", listen.name))))
            }
            _ if !self.places.is_bare(place) => {
                Ok(Address::Tcp(SocketAddr::new(self.places.listen(place), listen.port)))
            }
            _ if listen.prints_address => Ok(Address::Tcp(SocketAddr::new(bare, 0))),
            _ if seat.number == 0 && is_first(listen) && seat.placement.port.is_some() => {
                Ok(Address::Tcp(SocketAddr::new(bare, seat.placement.port.unwrap_or_default())))
            }
            _ => {
                let port = free_port_at(bare)
                    .map_err(launch::Error::os(&seat.service.name, "cannot find a free port"))?;
                Ok(Address::Tcp(SocketAddr::new(bare, port)))
            }
        };
        seat.service.listens.iter().map(of).collect()
    }

    /// The specification of an instance, with its files written; and its configuration.
    pub(crate) fn spec(
        &self,
        seat: &Seat<'_>,
        context: &Context<'_>,
    ) -> Result<(Spec, Option<String>), Error> {
        let (service, app) = (seat.service, self.plan.app());
        let renderer = Renderer::new(app, service, seat.found, context);
        renderer.check()?;
        let os =
            |path: &Path, doing| launch::Error::os(format!("{}: {}", service.name, path.display()), doing);
        let mut configuration = None;
        for (file, folder) in service.files.iter().filter_map(|file| Some((file, seat.folder?))) {
            if let Some(name) = &file.folder {
                let to = folder.path().join(&file.path);
                app.copy_folder(name, &to).map_err(os(&to, "cannot copy files of the application to it"))?;
                continue;
            }
            let text = match (&file.template, &file.npm) {
                (Some(name), _) => renderer.template(name)?.into_bytes(),
                // Packages that are not installed are left out: the service reports the effect.
                (None, Some(name)) => {
                    let found = npm::find(name, &self.plan.exe).and_then(|found| fs::read(found).ok());
                    let Some(found) = found else { continue };
                    found
                }
                (None, None) => continue,
            };
            let path = folder.path().join(&file.path);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
                if file.private {
                    files::write_private(&path, &text, account(service).as_ref())
                } else {
                    fs::write(&path, &text)
                }
            });
            written.map_err(os(&path, "cannot write its configuration"))?;
            if file.record {
                configuration = configuration.or(String::from_utf8(text).ok());
            }
        }
        let mut spec = Spec::new(&service.name, &seat.found.path).args(seat.found.before.iter().cloned());
        spec = spec.args(renderer.args()?).args(seat.placement.args.iter().cloned());
        spec.env = renderer.env()?;
        spec.cpus = (!seat.placement.cpus.is_empty()).then(|| seat.placement.cpus.clone());
        spec.user = account(service);
        spec.stop = match service.stop.signal {
            Signal::Term => rustix::process::Signal::TERM,
            Signal::Int => rustix::process::Signal::INT,
            Signal::Quit => rustix::process::Signal::QUIT,
        };
        if let Some(folder) = seat.folder {
            if let Some(user) = &spec.user {
                folder.give_to(user)?;
            }
            spec = spec.dir(folder.path()).mount(folder.path(), true);
        }
        if let (Some(files), Some(_)) = (&self.plan.files, &context.surroundings.files) {
            spec = spec.mount(files, false);
        }
        if let Some(data) = self.plan.data_folder().filter(|_| service.needs.contains(&Need::Data)) {
            spec = spec.mount(data, false);
        }
        if let Some(spans) = self.plan.spans.as_ref().filter(|_| service.written) {
            spec = spec.mount(spans, true);
        }
        Ok((spec, configuration))
    }

    fn prepare(&self, seat: &Seat<'_>, context: &Context<'_>) -> Result<(), Error> {
        for command in &seat.service.prepare {
            let spec = self.command(seat, command, context)?;
            Process::run(spec, PREPARE)?;
        }
        Ok(())
    }

    /// A program of a description, in the folder of an instance and under its account.
    pub(crate) fn command(
        &self,
        seat: &Seat<'_>,
        command: &Command,
        context: &Context<'_>,
    ) -> Result<Spec, Error> {
        let (program, args) =
            Renderer::new(self.plan.app(), seat.service, seat.found, context).command(command)?;
        let mut spec = Spec::new(format!("{}: {program}", seat.service.name), &program).args(args);
        spec.user = account(seat.service);
        spec.dir = seat.folder.map(|folder| folder.path().to_owned());
        Ok(spec)
    }

    /// Runs a command for a running instance, to the command's end; returns the lines that it printed.
    pub(crate) fn run_command(
        &self,
        seat: &Seat<'_>,
        addresses: &[Address],
        command: &Command,
        within: Duration,
    ) -> Result<Vec<String>, Error> {
        let spec = self.command(seat, command, &self.context(seat, addresses)?)?;
        Ok(Process::run(spec, within)?)
    }

    /// Waits until an instance is ready; returns the addresses at which it is reached.
    pub(crate) fn await_ready(
        &self,
        instance: &mut Instance,
        seat: &Seat<'_>,
        place: usize,
        addresses: Vec<Address>,
        context: &Context<'_>,
    ) -> Result<Vec<Address>, Error> {
        let (name, ready) = (&seat.service.name, &seat.service.ready);
        let deadline = Instant::now() + ready.within;
        let left = || deadline.saturating_duration_since(Instant::now());
        let prints = seat.service.listens.iter().any(|listen| listen.prints_address);
        let mut printed = None;
        match &ready.line {
            Some(line) if prints => printed = Some(instance.process.await_address(line, left())?),
            Some(line) => drop(instance.process.await_line(line, left())?),
            None => {}
        }
        if let Some(part) = &ready.error_line {
            ready::await_error_line(instance, part, left())?;
        }
        let mut reached = Vec::new();
        for (address, listen) in addresses.into_iter().zip(&seat.service.listens) {
            reached.push(match address {
                Address::Unix(path) => {
                    ready::await_socket(instance, &path, left())?;
                    Address::Unix(path)
                }
                Address::Tcp(address) if !self.places.is_bare(place) => {
                    let address = SocketAddr::new(self.places.address(place), address.port());
                    instance.await_answer(address, left())?;
                    Address::Tcp(address)
                }
                // The service printed the address itself.
                Address::Tcp(address) if listen.prints_address => Address::Tcp(printed.unwrap_or(address)),
                Address::Tcp(address) => {
                    instance.process.await_port(address, left())?;
                    Address::Tcp(address)
                }
            });
        }
        let renderer = Renderer::new(self.plan.app(), seat.service, seat.found, context);
        if let Some(children) = &ready.children {
            let children = renderer.value(children)?;
            let children = usize::try_from(children).map_err(|e| {
                renderer.wrong(format!("ready: children: it is not a number of processes: {e}"))
            })?;
            ready::await_children(instance, children, left())?;
        }
        if let (Some(path), Some(address)) = (&ready.http, tcp(&reached)) {
            ready::await_http(instance, name, address, &renderer.text(path)?, left())?;
        }
        if let (true, Some(workers)) = (seat.placement.pin, &seat.service.workers) {
            pin::threads(instance, name, workers, seat.placement.threads, &seat.placement.cpus, left())?;
        }
        Ok(reached)
    }
}
