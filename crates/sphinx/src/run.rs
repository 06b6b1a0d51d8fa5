use std::io::Write;
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing::{info, warn};

use crate::config::list;
use crate::core::Common;
use crate::metrics;
use crate::server::End;
use crate::{Config, Server, log};

/// Serves until SIGINT or SIGTERM, or until something goes wrong. SIGHUP has the file of users read again.
///
/// Prints one line on standard output once connections are accepted, for launchers to wait for:
/// `sphinxd ready on 127.0.0.1:11211 with 2 threads on cpus 0,1 and 64 MiB`.
pub fn run(config: Config) -> Result<()> {
    log::start(config.verbose, config.log_format);
    // Before anything is started, so that no signal finds the process without a handler.
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("cannot listen for signals")?;
    let exporter = config.metrics.map(metrics::Exporter::bind).transpose()?;
    let server = Server::start(config)?;
    let common = Arc::clone(server.common());
    // It sleeps until there is a signal: a thread that looked now and then would disturb the cores.
    let watch = thread::Builder::new().name("signals".into()).spawn(move || watch(signals, &common));
    watch.context("cannot start a thread")?;
    let metrics = exporter.map(|exporter| exporter.start(server.scraper())).transpose()?;
    // Whoever started it may not be interested and have closed the pipe.
    let mut line = ready_line(server.config());
    if let Some(address) = metrics {
        line += &format!("; metrics on http://{address}/metrics");
    }
    let _ = writeln!(std::io::stdout(), "{line}");
    match server.wait() {
        End::Interrupted => {
            info!("stopping");
            server.stop();
        }
        End::Failed(reason) => bail!(reason),
    }
    Ok(())
}

fn watch(mut signals: Signals, common: &Common) {
    for signal in signals.forever() {
        if signal != SIGHUP {
            let _ = common.end.send(End::Interrupted);
            continue;
        }
        match common.users.as_ref().map(|users| users.read_again()) {
            Some(Ok(())) => info!("SIGHUP: the users were read again"),
            Some(Err(error)) => warn!("SIGHUP: the users stay as they were: {error:#}"),
            None => info!("SIGHUP: there is nothing to read again"),
        }
    }
}

fn ready_line(config: &Config) -> String {
    let Config { listen, cpus, memory, .. } = config;
    let plural = if cpus.len() == 1 { "" } else { "s" };
    let (threads, cpus) = (cpus.len(), list(cpus));
    let encrypted = config.tls.iter().flat_map(|tls| &tls.listen).map(|address| format!("tls://{address}"));
    let mut places = listen.iter().map(ToString::to_string).chain(encrypted);
    let first = places.next().unwrap_or_default();
    let mut line =
        format!("sphinxd ready on {first} with {threads} thread{plural} on cpu{plural} {cpus} and {memory}");
    let others: Vec<String> = places.collect();
    if !others.is_empty() {
        line += &format!("; also on {}", others.join(", "));
    }
    line
}

#[cfg(test)]
mod tests {
    use reactor::Address;

    use super::*;
    use crate::Tls;

    #[test]
    fn the_ready_line_starts_with_the_address() {
        let check = |config: Config, expect: &str| assert_eq!(ready_line(&config), expect);
        let tcp = Address::Tcp("127.0.0.1:4711".parse().unwrap());
        let config = Config { listen: vec![tcp.clone()], cpus: vec![3], ..Config::for_tests() };
        check(config.clone(), "sphinxd ready on 127.0.0.1:4711 with 1 thread on cpu 3 and 64 MiB");
        let config = Config { cpus: vec![0, 1], ..config };
        check(config.clone(), "sphinxd ready on 127.0.0.1:4711 with 2 threads on cpus 0,1 and 64 MiB");
        let tls = Tls {
            listen: vec!["127.0.0.1:9".parse().unwrap()],
            certificates: "c".into(),
            key: "k".into(),
            client_authorities: None,
        };
        let config = Config { listen: vec![tcp, Address::Unix("/a".into())], tls: Some(tls), ..config };
        check(
            config,
            "sphinxd ready on 127.0.0.1:4711 with 2 threads on cpus 0,1 and 64 MiB; also on unix:/a, \
             tls://127.0.0.1:9",
        );
    }
}
