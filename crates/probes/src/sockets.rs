//! TCP's figures of the server's connections, without privilege.
//!
//! The wait of a request before the server reads it follows from the unread bytes and their arrival rate (Little's
//! law), so the stage that grows under load is visible even without programs in the kernel, but only as a mean.

mod diag;
mod info;
mod sampler;

use std::collections::HashMap;
use std::io;

use results::Probes;
use results::probes::{Missing, Sockets as Record};

use crate::instrument::{Instrument, Reading, Summed};
use crate::subject::Subject;
use diag::{Connection, Diag, Id};
use info::Info;
use sampler::{Queues, Sampler};
use spec::Probe;

struct Sockets {
    diag: Diag,
    ports: Vec<u16>,
    /// Local ports of the probes' own requests, which are not a client's.
    own_ports: Vec<u16>,
    before: Vec<Connection>,
    sampler: Option<Sampler>,
}

/// Counts of one slot or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SocketCounts {
    /// Connections that lasted throughout a slot, summed over slots.
    connections: u64,
    slots: u64,
    /// Summed over them.
    sum: Info,
    queues: Queues,
}

pub(crate) fn open(subject: &Subject, own_ports: &[u16]) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let opened = Diag::open().and_then(|mut diag| diag.connections(&subject.ports).map(|_| diag));
    match opened {
        Ok(diag) => {
            let (ports, own_ports) = (subject.ports.clone(), own_ports.to_vec());
            Ok(Box::new(Sockets { diag, ports, own_ports, before: Vec::new(), sampler: None }))
        }
        Err(error) => {
            Err(vec![missing(&format!("a kernel that tells of its sockets (CONFIG_INET_DIAG): {error}"))])
        }
    }
}

fn missing(what: &str) -> Missing {
    Missing {
        probe: Probe::Sockets.name().into(),
        what: what.into(),
        disables: "waits before the read, round trips and what held answers back, as TCP sees them".into(),
    }
}

/// Removes the time unread, with a note, if it exceeds the mean service time that contains it.
/// Units: µs.
pub(crate) fn hold_against(service_us: Option<f64>, record: &mut Probes) {
    let Some(sockets) = &mut record.sockets else { return };
    if sockets.read_wait_us_mean.zip(service_us).is_some_and(|(wait, service)| wait > service) {
        sockets.read_wait_us_mean = None;
        record.missing.push(Missing {
            probe: format!("{}: unread", Probe::Sockets.name()),
            what: "more moments in which a request waits, or a processor that neither server nor client needs: the time \
                   that was found is longer than the mean service time, which contains it"
                .into(),
            disables: "how long requests stood unread at the socket".into(),
        });
    }
}

impl Sockets {
    /// The clients' connections.
    fn connections(&mut self) -> io::Result<Vec<Connection>> {
        let mut found = self.diag.connections(&self.ports)?;
        found.retain(|connection| !self.own_ports.contains(&connection.client_port()));
        Ok(found)
    }
}

impl Instrument for Sockets {
    fn probe(&self) -> Probe {
        Probe::Sockets
    }

    fn resume(&mut self) -> io::Result<()> {
        self.before = self.connections()?;
        self.sampler = Some(Sampler::start(&self.before)?);
        Ok(())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        let queues = self.sampler.take().map_or(Queues::default(), Sampler::finish);
        let now = self.connections().unwrap_or_default();
        let now: HashMap<Id, Info> = now.iter().map(|connection| (connection.id, connection.info)).collect();
        let since = |connection: &Connection| Some(now.get(&connection.id)?.since(connection.info));
        let lasting: Vec<Info> = self.before.iter().filter_map(since).collect();
        let sum = lasting.iter().copied().fold(Info::default(), Info::plus);
        Box::new(SocketCounts { connections: lasting.len() as u64, slots: 1, sum, queues })
    }
}

impl Summed for SocketCounts {
    fn merge(&mut self, other: &SocketCounts) {
        self.connections += other.connections;
        self.slots += other.slots;
        self.sum = self.sum.plus(other.sum);
        self.queues.add(&other.queues);
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        if self.connections == 0 {
            into.missing.push(missing(
                "connections over TCP in this process's own network: the server has none, or runs behind a bridge or in a \
                 container, whose network is another",
            ));
            return None;
        }
        let (connections, sum) = (self.connections as f64, &self.sum);
        let per_s = |count: u64| count as f64 / observed_s;
        let slots = self.slots as f64;
        // Total time of all connections in all slots, the denominator of shares.
        let share = |us: u64| us as f64 / 1e6 / (observed_s * connections / slots);
        let moments = self.queues.moments;
        // For one connection: its mean unread bytes over the bytes that arrive per second.
        let wait = (moments > 0 && sum.received > 0).then(|| {
            let arrive = sum.received as f64 / (observed_s * connections / slots);
            1e6 * self.queues.unread as f64 / moments as f64 / arrive
        });
        into.sockets = Some(Record {
            observed_s,
            connections: (connections / slots).round() as u64,
            read_wait_us_mean: wait,
            moments,
            round_trip_us_mean: sum.round_trip_us as f64 / connections,
            received_bytes_per_s: per_s(sum.received),
            sent_bytes_per_s: per_s(sum.sent),
            resent_per_s: per_s(sum.resent),
            busy_share: share(sum.busy_us),
            held_by_window_share: share(sum.by_window_us),
            held_by_buffer_share: share(sum.by_buffer_us),
        });
        None
    }
}

#[cfg(test)]
mod tests;
