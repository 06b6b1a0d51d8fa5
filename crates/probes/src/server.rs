//! The server's own counters, requested over a connection of the probe at both ends of each slot.
//!
//! They are requested between slots, when no other probe is active: a response costs the server some 50 µs, which no
//! probe should see. So this cost is not part of the probes' overhead in the windows; the time of the responses is in
//! the record.

mod answer;
mod connection;
mod counts;
mod metrics;
mod questioned;

use std::io;
use std::path::Path;

use host::threads::{self, Thread};
use results::probes::Missing;

use crate::instrument::{Instrument, Reading};
use crate::subject::Subject;
use counts::{Moment, ServerCounts};
use questioned::Questioned;
use spec::Probe;

struct Server {
    servers: Vec<Questioned>,
    pids: Vec<u32>,
    before: Option<Moment>,
}

/// Opens the probe; `own_ports` gets its local ports, which are not a client's.
pub(crate) fn open(
    subject: &Subject,
    own_ports: &mut Vec<u16>,
    missing: &mut Vec<Missing>,
) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let lacks = |what: String| {
        let disables = "requests, processor time, yields and evictions as the server counts them".into();
        vec![Missing { probe: Probe::Server.name().into(), what, disables }]
    };
    if subject.servers.is_empty() {
        return Err(lacks("the address of a server".into()));
    }
    let servers: Result<Vec<Questioned>, String> = subject.servers.iter().map(Questioned::open).collect();
    let mut servers = servers.map_err(lacks)?;
    for server in servers.iter_mut().filter(|server| server.is_sphinx()) {
        server.find_metrics(Path::new("/proc"), subject);
    }
    if servers.iter().any(|server| server.is_sphinx() && server.metrics.is_none()) {
        missing.push(Missing {
            probe: format!("{}: service times", Probe::Server.name()),
            what: "the port where Sphinx tells its metrics, on this machine: start it with --metrics 127.0.0.1:0 \
                   (--sphinx-arg=--metrics=127.0.0.1:0), as a user whose /proc/PID/fd may be read"
                .into(),
            disables: "service times by Sphinx's own clock".into(),
        });
    }
    own_ports.extend(servers.iter().filter_map(Questioned::own_port));
    Ok(Box::new(Server { servers, pids: subject.pids.clone(), before: None }))
}

impl Server {
    fn ask(&mut self) -> io::Result<Moment> {
        let said = self.servers.iter_mut().map(Questioned::ask).collect::<io::Result<_>>()?;
        let root = Path::new("/");
        let used = threads::of(root, &self.pids)
            .into_iter()
            .filter_map(|(pid, tid)| Thread::read(root, pid, tid))
            .reduce(Thread::plus);
        Ok(Moment { said, used })
    }
}

impl Instrument for Server {
    fn probe(&self) -> Probe {
        Probe::Server
    }

    fn resume(&mut self) -> io::Result<()> {
        self.before = Some(self.ask()?);
        Ok(())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        // A server that did not respond now will not respond at the next beginning, which reports the reason.
        let both = self.before.take().zip(self.ask().ok());
        let program = self.servers.first().map_or(String::new(), |server| server.program.clone());
        Box::new(both.map_or(ServerCounts::default(), |(before, now)| now.since(&before, program)))
    }
}

#[cfg(test)]
mod tests;
