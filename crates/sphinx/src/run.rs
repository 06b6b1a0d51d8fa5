use std::io::Write;
use std::thread;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::config::list;
use crate::server::End;
use crate::{Config, Server};

/// Serves until SIGINT or SIGTERM, or until something goes wrong.
///
/// Prints one line on standard output once connections are accepted, for launchers to wait for:
/// `sphinxd ready on 127.0.0.1:11211 with 2 threads on cpus 0,1 and 64 MiB`.
pub fn run(config: Config) -> Result<()> {
    // Before anything is started, so that no signal finds the process without a handler.
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for signals")?;
    let server = Server::start(config)?;
    let interrupter = server.interrupter();
    // It sleeps until there is a signal: a thread that looked now and then would disturb the cores.
    let watch = thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            let _ = interrupter.send(End::Interrupted);
        }
    });
    watch.context("cannot start a thread")?;
    // Whoever started it may not be interested and have closed the pipe.
    let _ = writeln!(std::io::stdout(), "{}", ready_line(server.config()));
    match server.wait() {
        End::Interrupted => server.stop(),
        End::Failed(reason) => bail!(reason),
    }
    Ok(())
}

fn ready_line(config: &Config) -> String {
    let Config { address, cpus, memory, .. } = config;
    let plural = if cpus.len() == 1 { "" } else { "s" };
    let (threads, cpus) = (cpus.len(), list(cpus));
    format!("sphinxd ready on {address} with {threads} thread{plural} on cpu{plural} {cpus} and {memory}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn the_ready_line_starts_with_the_address() {
        let check = |cpus: &[usize], expect: &str| {
            let address = "127.0.0.1:4711".parse().unwrap();
            let memory = Bytes(64 << 20);
            let line = ready_line(&Config { address, cpus: cpus.to_vec(), memory, ..Config::for_tests() });
            assert_eq!(line, expect);
        };
        check(&[3], "sphinxd ready on 127.0.0.1:4711 with 1 thread on cpu 3 and 64 MiB");
        check(&[0, 1], "sphinxd ready on 127.0.0.1:4711 with 2 threads on cpus 0,1 and 64 MiB");
    }
}
