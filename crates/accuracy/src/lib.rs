//! Validates the accuracy of the figures, and compares other generators on the same servers.
//!
//! Three tables: the engine's service times against the same requests' packets, as the kernel stamps them for a packet
//! socket; its response times against servers of known times; and its figures next to the figures of each other
//! installed generator, for one server at one load, without and with a planted stall. [`selftest`] is a short run of
//! the second. [`calibration()`] compares identical servers, and servers with a known difference. [`faults()`] plants
//! faults around a measurement, and compares each verdict with the right one.
//!
//! Null servers and Taillight's own generator are started as `taillight`, which the program that calls must be.
//!
//! Try it: `cargo run --release -- accuracy --only servers`.

mod calibration;
mod faults;
mod kernel;
mod known;
mod now;
mod origin;
mod peers;
mod selftest;
mod servers;
mod stalls;
mod table;

use anyhow::Result;
use clap::ValueEnum;
use reactor::allowed_cpus;
use results::Noise;
use serde::Serialize;
use units::Nanos;

use origin::Origin;
use table::Table;

pub use calibration::{Calibration, CalibrationRun, calibration};
pub use faults::{FaultRun, Faults, faults};
pub use now::{Now, look};
pub use origin::Report;
pub use selftest::selftest;

/// A table of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// The engine against the kernel's timestamps of packets.
    Kernel,
    /// The engine against servers with known times.
    Servers,
    /// Comparison with other generators.
    Peers,
    /// The engine against the kernel's timestamps of packets, with HTTP.
    WebKernel,
    /// Comparison with other HTTP generators.
    WebPeers,
    /// The engine against the kernel's timestamps of packets, with HTTP/2.
    Http2Kernel,
    /// The engine against the kernel's timestamps of packets, with RESP.
    RespKernel,
}

/// Common settings of all rows of a run.
struct Setting {
    /// The permitted processors: servers on the first, generators on the last.
    cpus: Vec<usize>,
    window: Nanos,
    seed: u64,
}

impl Setting {
    fn server(&self) -> usize {
        *self.cpus.first().expect("there are two at least")
    }

    fn generator(&self) -> usize {
        *self.cpus.last().expect("there are two at least")
    }
}

/// Results of all tables.
#[derive(Serialize)]
pub struct Accuracy {
    #[serde(flatten)]
    origin: Origin,
    window_s: f64,
    seed: u64,
    kernel: Vec<kernel::KernelRow>,
    servers: Vec<servers::ServerRow>,
    peers: Option<peers::Comparison>,
    web_kernel: Vec<kernel::KernelRow>,
    web_peers: Option<peers::Comparison>,
    http2_kernel: Vec<kernel::KernelRow>,
    resp_kernel: Vec<kernel::KernelRow>,
}

/// Whether a bar is met, as table text; `None` for unknown.
fn met(within: Option<bool>) -> String {
    within.map_or("—", |within| if within { "yes" } else { "NO" }).into()
}

impl Accuracy {
    /// Number of missed bars.
    pub fn missed(&self) -> usize {
        let kernel = [&self.kernel, &self.web_kernel, &self.http2_kernel, &self.resp_kernel];
        kernel.into_iter().flatten().filter(|row| row.within == Some(false)).count()
            + self.servers.iter().filter(|row| row.within == Some(false)).count()
    }

    /// The tables.
    pub fn report(&self) -> Report<'_> {
        let how = format!(
            "each row over {} s after its warm-up; seed {}; server and generator pinned to a processor each",
            self.window_s, self.seed
        );
        Report { origin: &self.origin, title: "Accuracy", how, tables: self.tables() }
    }

    /// Table of the number of figures within their bounds.
    fn bars(&self) -> Table {
        let count = |known: Vec<bool>| (known.iter().filter(|within| **within).count(), known.len());
        let kernel = |rows: &[kernel::KernelRow]| count(rows.iter().filter_map(|row| row.within).collect());
        let servers = count(self.servers.iter().filter_map(|row| row.within).collect());
        let bars = [
            ("service times, lines", kernel::bar(), kernel(&self.kernel)),
            ("response times", servers::bar(), servers),
            ("service times, HTTP", kernel::bar(), kernel(&self.web_kernel)),
            ("service times, HTTP/2", kernel::bar(), kernel(&self.http2_kernel)),
            ("service times, RESP", kernel::bar(), kernel(&self.resp_kernel)),
        ];
        let row = |(what, bar, (within, of)): &(&str, String, (usize, usize))| {
            vec![(*what).into(), bar.clone(), format!("{within} of {of}")]
        };
        Table {
            title: "Bars".into(),
            about: Vec::new(),
            columns: vec!["figures", "bar", "within"],
            rows: bars.iter().filter(|(.., (_, of))| *of > 0).map(row).collect(),
            notes: Vec::new(),
        }
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::from_iter(Some(self.bars()).filter(|bars| !bars.rows.is_empty()));
        tables.extend(kernel::table(&self.kernel, kernel::Traffic::Lines));
        tables.extend(servers::table(&self.servers));
        tables.extend(self.peers.iter().flat_map(peers::Comparison::tables));
        tables.extend(kernel::table(&self.web_kernel, kernel::Traffic::Pages));
        tables.extend(self.web_peers.iter().flat_map(peers::Comparison::tables));
        tables.extend(kernel::table(&self.http2_kernel, kernel::Traffic::Streams));
        tables.extend(kernel::table(&self.resp_kernel, kernel::Traffic::Resp));
        tables
    }
}

/// Makes the tables of these parts; empty: of all. `command` is printed as their origin.
///
/// Errors: fewer than two processors; a server or generator that does not run.
pub fn measure(parts: &[Part], window: Nanos, seed: u64, command: Vec<String>) -> Result<Accuracy> {
    let cpus = allowed_cpus()?;
    if cpus.len() < 2 {
        anyhow::bail!(
            "this process may use one processor, and a server and a generator that both spin need one each; allow it two"
        );
    }
    let setting = Setting { cpus, window, seed };
    let wants = |part| parts.is_empty() || parts.contains(&part);
    let kernel = |part, sent| if wants(part) { kernel::run(&setting, sent) } else { Ok(Vec::new()) };
    let peers = |part, field| wants(part).then(|| peers::run(&setting, field)).transpose();
    Ok(Accuracy {
        origin: Origin::here(command),
        window_s: window.as_secs_f64(),
        seed,
        kernel: kernel(Part::Kernel, kernel::Traffic::Lines)?,
        servers: if wants(Part::Servers) { servers::run(&setting)? } else { Vec::new() },
        peers: peers(Part::Peers, &peers::CACHES)?,
        web_kernel: kernel(Part::WebKernel, kernel::Traffic::Pages)?,
        web_peers: peers(Part::WebPeers, &peers::WEB)?,
        http2_kernel: kernel(Part::Http2Kernel, kernel::Traffic::Streams)?,
        resp_kernel: kernel(Part::RespKernel, kernel::Traffic::Resp)?,
    })
}

/// Disturbance by the machine, in a few words.
fn noise_words(noise: &Noise) -> String {
    let share = |share: Option<f64>| share.map_or("?".into(), |share| format!("{:.1} %", 100.0 * share));
    let mut words = format!("steal {}, foreign {}", share(noise.steal_share), share(noise.foreign_cpu_share));
    if noise.stalls > 0 {
        words += &format!(", {} stalls to {:.1} ms", noise.stalls, noise.longest_stall_us / 1e3);
    }
    words
}

/// µs with a useful number of digits; `—` for a missing figure.
fn us(value: Option<f64>) -> String {
    match value {
        None => "—".into(),
        Some(us) if us < 9.995 => format!("{us:.2}"),
        Some(us) if us < 99.95 => format!("{us:.1}"),
        Some(us) => format!("{us:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_that_are_of_use() {
        let check = |value: Option<f64>, expect: &str| assert_eq!(us(value), expect);
        check(None, "—");
        check(Some(0.123), "0.12");
        check(Some(9.996), "10.0");
        check(Some(99.96), "100");
        check(Some(90_000.4), "90000");
    }
}
