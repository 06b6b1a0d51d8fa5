use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use cache_store::Policy;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use reactor::{Address, Io, allowed_cpus};

use crate::extended::Extended;
use crate::flags::Flags;
use crate::{Config, Tls, config_file, refused};

/// The options of the server, from its command line and its configuration file, with memcached's flags where they
/// mean the same.
#[derive(Clone, Debug)]
pub struct Options {
    flags: Flags,
    /// Whether it listens on the network although there is a Unix socket.
    network: bool,
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        refused::augment(Flags::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        refused::augment(Flags::augment_args_for_update(command))
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Options, clap::Error> {
        refused::check(matches)?;
        let flags = Flags::from_arg_matches(matches)?;
        let Some(file) = &flags.config else { return Ok(Options::new(flags, matches)) };
        let command = Options::augment_args(Command::new("sphinxd").no_binary_name(true));
        let words = config_file::words(&command, matches, file)?;
        let matches = command.try_get_matches_from(words)?;
        refused::check(&matches)?;
        Ok(Options::new(Flags::from_arg_matches(&matches)?, &matches))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Options::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Options {
    fn new(flags: Flags, matches: &ArgMatches) -> Options {
        let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let network = flags.unix_socket.is_none() || given("port") || given("listen");
        Options { flags, network }
    }

    /// Fills in the defaults that depend on the machine.
    ///
    /// Errors: options that contradict each other, a name that is not known, what means nothing here; each with what
    /// to change.
    pub fn resolve(&self) -> Result<Config> {
        let flags = &self.flags;
        let extended = Extended::read(&flags.extended)?;
        ensure!(
            flags.auth_file.is_none() || flags.udp_port == 0,
            "-U and -Y exclude each other: a datagram bears no proof of who sent it; leave out -U"
        );
        let (listen, tls) = self.places()?;
        let cpus = self.cpus()?;
        let threads = flags.threads.map_or(cpus.len(), usize::from);
        let sharing = flags.group.map_or(Some(flags.sharing), |group| flags.sharing.with_group(group.into()));
        let Some(sharing) = sharing else {
            bail!(
                "--group says how many threads share with --sharing something, and this is --sharing {}; leave one of \
                 the two out",
                flags.sharing
            );
        };
        let choice = flags.io.choose(Io::FOR_SERVERS)?;
        Ok(Config {
            listen,
            unix_mask: flags.unix_mask,
            tls,
            backlog: flags.listen_backlog,
            cpus: cpus.iter().copied().cycle().take(threads).collect(),
            memory: flags.memory_limit,
            lazy_memory: flags.lazy_memory,
            policy: if flags.disable_evictions { Policy::Never } else { flags.policy },
            item_max: flags.max_item_size.0 as usize,
            connections: flags.conn_limit as usize,
            sharing,
            requests_per_event: flags.max_reqs_per_event,
            queue: flags.queue as usize,
            io: choice.backend,
            io_reason: choice.reason,
            spin: flags.spin,
            auth_file: flags.auth_file.clone(),
            shutdown: flags.enable_shutdown,
            flush_all: !flags.disable_flush_all,
            pidfile: flags.pidfile.clone(),
            user: flags.user.clone(),
            idle_timeout: extended.idle_timeout,
            reader_timeout: extended.reader_timeout,
            metrics: flags.metrics,
            drain: flags.drain,
            verbose: flags.verbose,
            log_format: flags.log_format,
        })
    }

    /// Where to listen without TLS, and with it.
    fn places(&self) -> Result<(Vec<Address>, Option<Tls>)> {
        let flags = &self.flags;
        let (mut listen, mut encrypted) = (Vec::new(), Vec::new());
        for place in flags.listen.iter().filter(|_| self.network) {
            listen.extend(place.addresses(flags.port)?.into_iter().map(Address::Tcp));
            // As in memcached, a port that stands with an address is for TCP.
            let others = place.addresses(0)?.into_iter().map(|address| address.ip());
            let with = |port: u16, to: &mut Vec<SocketAddr>| {
                to.extend(others.clone().map(|ip| SocketAddr::new(ip, port)))
            };
            if flags.udp_port > 0 {
                let mut datagrams = Vec::new();
                with(flags.udp_port, &mut datagrams);
                listen.extend(datagrams.into_iter().map(Address::Udp));
            }
            if let Some(port) = flags.tls_port {
                with(port, &mut encrypted);
            }
        }
        ensure!(
            self.network || (flags.udp_port == 0 && flags.tls_port.is_none()),
            "with -s alone there is no network for -U and --tls-port; give -l, too"
        );
        listen.extend(flags.unix_socket.clone().map(Address::Unix));
        let tls = match (&flags.tls_cert, &flags.tls_key) {
            (Some(certificates), Some(key)) => Some(Tls {
                listen: encrypted,
                certificates: certificates.clone(),
                key: key.clone(),
                client_authorities: flags.tls_client_ca.clone(),
            }),
            _ => None,
        };
        Ok((listen, tls))
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

#[cfg(test)]
mod tests;
