mod access;
mod places;

use anyhow::{Context, Result, bail};
use cache_store::{Policy, Provide};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use host::Limits;
use nix::unistd::{User, geteuid};
use reactor::{Address, Backend, Io, allowed_cpus, may_pin};
use units::Bytes;

use crate::config::GATHERED_MAX;
use crate::extended::Extended;
use crate::flags::{Flags, SteeringOption, UdpPort};
use crate::memcached_flags::no_effect;
use crate::{Config, Sharing, budget, config_file, group_limits, memcached_flags, ports_file};

/// Warning of a server whose threads are not pinned.
const NOT_PINNED: &str = "threads are not pinned, and run on any processor: the system refuses sched_setaffinity, as a container's \
                          seccomp profile does; allow it for a shorter tail";

/// The text printed by `-i`.
const LICENSE: &str = concat!(
    "sphinxd ",
    env!("CARGO_PKG_VERSION"),
    ", under the Apache License, version 2.0\n\n",
    include_str!("../../../LICENSE")
);

/// The options of the server, from its command line and its configuration file, with memcached's flags for the same
/// meaning.
#[derive(Clone, Debug)]
pub struct Options {
    flags: Flags,
    /// Whether it listens on the network although there is a Unix socket.
    network: bool,
    /// Options accepted without effect.
    warnings: Vec<String>,
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        memcached_flags::augment(Flags::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        memcached_flags::augment(Flags::augment_args_for_update(command))
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Options, clap::Error> {
        let options = Options::read(matches)?;
        let Some(file) = &options.flags.config else { return Ok(options) };
        let command = Options::augment_args(Command::new("sphinxd").no_binary_name(true));
        let words = config_file::words(&command, matches, file)?;
        Options::read(&command.try_get_matches_from(words)?)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Options::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Options {
    fn read(matches: &ArgMatches) -> Result<Options, clap::Error> {
        let warnings = memcached_flags::warnings(matches);
        let mut flags = Flags::from_arg_matches(matches)?;
        if flags.as_published {
            flags.sharing = Sharing::Nothing;
            flags.io = Io::Epoll;
            flags.policy = Policy::Fifo;
            flags.no_sampling = true;
        }
        if flags.license {
            // This kind marks requested texts: they go to standard output, and the exit code is 0.
            return Err(clap::Error::raw(ErrorKind::DisplayVersion, LICENSE));
        }
        let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        // As in memcached.
        match flags.udp_port {
            UdpPort::Port(port) if !given("port") => flags.port = port.get(),
            UdpPort::Any if !given("port") => flags.port = 0,
            _ => {}
        }
        let has_port = given("port") && flags.port != 0;
        let network = flags.unix_socket.is_none() || has_port || given("listen");
        Ok(Options { flags, network, warnings })
    }

    /// Fills in the defaults that depend on the machine.
    ///
    /// Errors: options that contradict each other, an unknown name, a value without meaning here; each with a hint.
    pub fn resolve(&self) -> Result<Config> {
        let flags = &self.flags;
        let extended = Extended::read(&flags.extended)?;
        let access = access::of(flags, std::env::var_os(access::PWDB))?;
        let mut warnings = self.warnings.clone();
        warnings.extend(extended.warnings.iter().cloned());
        let places::Places { listen, resp, tls } = places::of(flags, &extended, self.network, &mut warnings)?;
        let cpus = self.cpus()?;
        let limits = Limits::here();
        let quota = limits.processors.as_ref();
        let asked = flags.threads.map(usize::from).or_else(|| flags.cpus.as_ref().map(|_| cpus.len()));
        let threads = asked.unwrap_or_else(|| group_limits::threads(cpus.len(), quota));
        warnings.extend(group_limits::quota_warning(threads, asked.is_some(), cpus.len(), quota));
        let pinned = may_pin();
        if !pinned {
            warnings.push(NOT_PINNED.into());
        }
        let sharing = flags.group.map_or(Some(flags.sharing), |group| flags.sharing.with_group(group.into()));
        let Some(sharing) = sharing else {
            bail!(
                "--group says how many threads share with --sharing something, and this is --sharing {}; leave one of \
                 the two out",
                flags.sharing
            );
        };
        let choice = reactor::choose(flags.io, Backend::FOR_SERVERS)?;
        if flags.io == Io::Auto && choice.backend != Backend::FOR_SERVERS {
            warnings.push(format!("serving with {}, as {}", choice.backend, choice.reason));
        }
        let item_max = item_max(flags.max_item_size, flags.memory_limit)?;
        let user = flags.user.clone().filter(|user| may_become(user, &mut warnings));
        let mut config = Config {
            listen,
            unix_mask: flags.unix_mask,
            resp,
            tls,
            backlog: flags.listen_backlog,
            cpus: cpus.iter().copied().cycle().take(threads).collect(),
            pinned,
            memory: flags.memory_limit,
            memory_file: flags.memory_file.clone(),
            provide: match (flags.lazy_memory, flags.eager_memory) {
                (true, _) => Provide::AsWritten,
                (_, true) => Provide::AtOnce,
                _ => Provide::Behind,
            },
            policy: if flags.disable_evictions { Policy::Never } else { flags.policy },
            item_max,
            connection_memory: flags.connection_memory.map_or_else(
                || budget::default(flags.memory_limit, threads, item_max),
                |memory| memory.0 as usize,
            ),
            connections: flags.conn_limit as usize,
            sharing,
            steer_by_key: flags.steering.contains(&SteeringOption::Key),
            steer_by_cpu: flags.steering.contains(&SteeringOption::Cpu),
            as_published: flags.as_published,
            partition_ports: Vec::new(),
            requests_per_event: flags.max_reqs_per_event,
            queue: flags.queue as usize,
            io: choice.backend,
            io_reason: choice.reason,
            spin: flags.spin,
            auth_file: access.auth_file,
            auth_format: access.auth_format,
            protocol: access.protocol,
            shutdown: flags.enable_shutdown,
            flush_all: !flags.disable_flush_all,
            dump: !flags.disable_dumping,
            watch: !flags.disable_watch,
            watch_buffer: extended.watch_buffer,
            prefix_delimiter: flags.prefix_delimiter,
            daemon: flags.daemon,
            core_dumps: flags.enable_coredumps,
            lock_memory: flags.lock_memory,
            pidfile: flags.pidfile.clone(),
            ports_file: ports_file::path(std::env::var_os(ports_file::VARIABLE)),
            user,
            idle_timeout: extended.idle_timeout,
            reader_timeout: extended.reader_timeout,
            metrics: flags.metrics,
            metrics_hot_keys: flags.metrics_hot_keys,
            sampling: !flags.no_sampling,
            drain: flags.drain,
            verbose: flags.verbose,
            log_format: flags.log_format,
            threads_wanted: threads,
            warnings,
        };
        config.fit_threads();
        config.fit_items();
        if let Some(port) = flags.partition_ports {
            config.partition_ports = places::of_partitions(flags, &config, port)?;
        }
        if config.steer_by_cpu && !pinned {
            config.steer_by_cpu = false;
            config.warnings.push(no_effect("--steering cpu", "threads are not pinned"));
        }
        config.warnings.extend(group_limits::memory_warning(&config, &limits));
        if config.steer_by_key && !config.listen.iter().any(Address::is_datagram) {
            config.warnings.push(no_effect("--steering key", "there are no datagrams without -U"));
        }
        Ok(config)
    }

    fn cpus(&self) -> Result<Vec<usize>> {
        let cpus = match &self.flags.cpus {
            Some(list) => list.as_slice().to_vec(),
            None => allowed_cpus().context("cannot read which processors may be used")?,
        };
        match &self.flags.no_irq_cpus {
            Some(leave) => leave.take_from(&cpus),
            None => Ok(cpus),
        }
    }
}

/// The largest item for a value of `-I`. Units: bytes.
///
/// Errors: it is over half of the memory, as in memcached; but a size that fits into a segment is always accepted.
fn item_max(wanted: Bytes, memory: Bytes) -> Result<usize> {
    if wanted.0 > (memory.0 / 2).max(GATHERED_MAX as u64) {
        bail!(
            "-I {wanted} is over half of the memory of {memory}, the most that an item may have of it; give more with -m, or \
             a smaller -I"
        );
    }
    Ok(wanted.0 as usize)
}

/// Whether the process can become `user`; as in memcached, `-u` is ignored otherwise, since a process without root's
/// privileges has none to give up.
fn may_become(user: &str, warnings: &mut Vec<String>) -> bool {
    let own = geteuid();
    if own.is_root() {
        return true;
    }
    if User::from_name(user).ok().flatten().is_none_or(|user| user.uid != own) {
        warnings.push(no_effect(
            &format!("-u {user}"),
            &format!("only root can change its user, and this is user {own}"),
        ));
    }
    false
}

#[cfg(test)]
mod tests;
