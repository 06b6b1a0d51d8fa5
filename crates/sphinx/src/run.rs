use std::io::Write;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tracing::{info, warn};

use crate::config::list;
use crate::core::Common;
use crate::daemon::Daemon;
use crate::server::End;
use crate::{Config, Server, allocator, log};
use crate::{metrics, process_limits};

/// Serves until SIGINT, SIGTERM, SIGUSR1 (which saves the memory file), or a failure. SIGHUP re-reads the file of
/// users.
///
/// Prints one line on standard output once connections are accepted, for launchers to wait for:
/// `sphinxd ready on 127.0.0.1:11211 with 2 threads on cpus 0,1 and 64 MiB`.
///
/// In the background with [`Config::daemon`]: the process that calls this then ends once connections are accepted, with
/// exit code 0, or with the daemon's if the start fails.
pub fn run(mut config: Config) -> Result<()> {
    allocator::return_large_pieces();
    // First, since only a process with one thread can be duplicated.
    let daemon = config.daemon.then(|| Daemon::start(&mut config)).transpose()?;
    log::start(config.verbose, config.log_format);
    // Before anything is started, so that no signal finds the process without a handler.
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1]).context("cannot listen for signals")?;
    let exporter = config.metrics.map(metrics::Exporter::bind).transpose()?;
    for warning in &config.warnings {
        warn!("{warning}");
    }
    process_limits::raise(&config);
    let (end_at, end) = channel();
    let serving = Arc::new(OnceLock::new());
    let (to, common) = (end_at.clone(), Arc::clone(&serving));
    // It sleeps until there is a signal: a thread that looked now and then would disturb the cores.
    let watch = thread::Builder::new().name("signals".into()).spawn(move || watch(signals, &to, &common));
    watch.context("cannot start a thread")?;
    let Some(server) = Server::start_unless_ended(config, end_at, end)? else {
        info!("stopped by a signal before it was ready");
        return Ok(());
    };
    let _ = serving.set(Arc::clone(server.common()));
    let metrics = exporter.map(|exporter| {
        let scraper = server.scraper();
        exporter.start(move |format| scraper.text(format))
    });
    let metrics = metrics.transpose()?;
    // The parent process may have closed the pipe.
    let mut line = ready_line(server.config());
    if let Some(address) = metrics {
        line += &format!("; metrics on http://{address}/metrics");
    }
    let _ = writeln!(std::io::stdout(), "{line}");
    process_limits::apply(server.config());
    if let Some(daemon) = daemon {
        daemon.ready()?;
    }
    match server.wait() {
        End::Interrupted => {
            info!("stopping");
            server.stop();
        }
        End::Graceful => {
            info!("stopping, and saving what the memory file has");
            server
                .stop_and_save()
                .context("items are not saved, and the next start is one of an empty cache")?;
        }
        End::Failed(reason) => bail!(reason),
    }
    Ok(())
}

/// Passes signals on; `serving` is empty until the server serves.
fn watch(mut signals: Signals, end: &Sender<End>, serving: &OnceLock<Arc<Common>>) {
    for signal in signals.forever() {
        if signal != SIGHUP {
            let how = if signal == SIGUSR1 { End::Graceful } else { End::Interrupted };
            // Where the server has ended already there is nothing to end.
            let _ = end.send(how);
            continue;
        }
        let users = serving.get().and_then(|common| common.users.as_ref());
        match users.map(|users| users.read_again()) {
            Some(Ok(())) => info!("SIGHUP: the users were read again"),
            Some(Err(error)) => warn!("SIGHUP: the users stay as they were: {error:#}"),
            None => {}
        }
        let certificates = serving.get().and_then(|common| common.certificates.as_ref());
        match certificates.map(|certificates| certificates.read_again()) {
            Some(Ok(())) => info!("SIGHUP: the certificates were read again"),
            Some(Err(error)) => warn!("SIGHUP: the certificates stay as they were: {error:#}"),
            None => {}
        }
    }
}

fn ready_line(config: &Config) -> String {
    let Config { listen, cpus, memory, .. } = config;
    let plural = if cpus.len() == 1 { "" } else { "s" };
    let threads = cpus.len();
    let cpus = if config.pinned { format!("cpu{plural} {}", list(cpus)) } else { "any cpu".into() };
    let encrypted = config.tls.iter().flat_map(|tls| &tls.listen).map(|address| format!("tls://{address}"));
    let mut places = listen.iter().map(ToString::to_string).chain(encrypted);
    let first = places.next().unwrap_or_default();
    let mut line = format!("sphinxd ready on {first} with {threads} thread{plural} on {cpus} and {memory}");
    let others: Vec<String> = places.collect();
    if !others.is_empty() {
        line += &format!("; also on {}", others.join(", "));
    }
    let own: Vec<String> = config.partition_ports.iter().flatten().map(ToString::to_string).collect();
    if !own.is_empty() {
        line += &format!("; for the keys of each thread on {}", own.join(", "));
    }
    let resp =
        config.resp_places().map(|(at, encrypted)| format!("{}{at}", if encrypted { "tls://" } else { "" }));
    let resp: Vec<String> = resp.collect();
    if !resp.is_empty() {
        line += &format!("; for RESP on {}", resp.join(", "));
    }
    if threads < config.threads_wanted {
        line += &format!(
            "; {} threads were asked for, and {memory} is too little for them",
            config.threads_wanted
        );
    }
    line
}

#[cfg(test)]
mod tests {
    use reactor::Address;
    use reactor::tls::{Clients, Oldest};

    use super::*;
    use crate::Tls;

    #[test]
    fn the_ready_line_starts_with_the_address() {
        let check = |config: Config, expect: &str| assert_eq!(ready_line(&config), expect);
        let tcp = Address::Tcp("127.0.0.1:4711".parse().unwrap());
        let config = Config { listen: vec![tcp.clone()], cpus: vec![3], ..Config::for_tests() };
        check(config.clone(), "sphinxd ready on 127.0.0.1:4711 with 1 thread on cpu 3 and 64 MiB");
        let unpinned = Config { pinned: false, ..config.clone() };
        check(unpinned, "sphinxd ready on 127.0.0.1:4711 with 1 thread on any cpu and 64 MiB");
        let config = Config { cpus: vec![0, 1], ..config };
        check(config.clone(), "sphinxd ready on 127.0.0.1:4711 with 2 threads on cpus 0,1 and 64 MiB");
        let tls = Tls {
            listen: vec!["127.0.0.1:9".parse().unwrap()],
            resp: Vec::new(),
            certificates: "c".into(),
            key: "k".into(),
            clients: Clients::Any,
            oldest: Oldest::default(),
        };
        let config =
            Config { listen: vec![tcp.clone(), Address::Unix("/a".into())], tls: Some(tls), ..config };
        check(
            config,
            "sphinxd ready on 127.0.0.1:4711 with 2 threads on cpus 0,1 and 64 MiB; also on unix:/a, \
             tls://127.0.0.1:9",
        );
        let config = Config { listen: vec![tcp], cpus: vec![3], threads_wanted: 40, ..Config::for_tests() };
        check(
            config,
            "sphinxd ready on 127.0.0.1:4711 with 1 thread on cpu 3 and 64 MiB; 40 threads were asked for, and 64 MiB \
             is too little for them",
        );
    }
}
