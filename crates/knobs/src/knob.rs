//! Knobs as a person writes them: `name=value`, with units.

mod about;
mod cpus;
mod parse;
mod quantity;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use units::CpuList;

pub use about::About;
pub use cpus::Cpus;
use quantity::{BITS, BYTES, KILOHERTZ, MICROSECONDS, MICROWATTS, PERCENT};

/// One thing that is set for a measurement, and reverted after it.
///
/// Read from and shown as `name=value`; docs/reference/knobs.md has all names. Stored as that text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Knob {
    /// `cpu.set=0-3`: the processors that the subject's processes may use.
    CpuSet(Cpus),
    /// `cpu.quota=50%`: their processor time; 100 % is one processor. Units: 1/100 %.
    CpuQuota(u64),
    /// `memory.limit=512MiB`: their memory. Units: bytes.
    MemoryLimit(u64),
    /// `disk.read=10MiB`, `disk.read=10MiB@/srv`: the read rate per second from the disk that holds a folder.
    DiskRead {
        /// Units: bytes per second.
        bytes: u64,
        /// The folder; `None`: the subject's.
        at: Option<PathBuf>,
    },
    /// `read-ahead=128KiB`, `read-ahead=128KiB@/srv`: the read-ahead of the disk that holds a folder.
    ReadAhead {
        /// Units: bytes.
        bytes: u64,
        /// The folder; `None`: the subject's.
        at: Option<PathBuf>,
    },
    /// `net.rate=1gbit`, `net.rate=1gbit:tbf`: the bandwidth of the device's egress.
    NetRate {
        /// Units: bits per second.
        bits: u64,
        /// The queueing discipline.
        by: Shaper,
    },
    /// `client.pace=on`: paces connections to clients at the bandwidth that their address encodes.
    ClientPace,
    /// `client.shape=25mbit`: a link for each client address in the range of links, with bandwidths in equal ratios up
    /// to this one.
    /// Units: bits per second.
    ClientShape(u64),
    /// `cache.ways=0-3`, `cache.ways=0-3@2`: the last-level cache's ways that may be filled.
    CacheWays {
        /// The ways.
        ways: CpuList,
        /// For all processes on these processors; `None`: for the subject's processes.
        cpus: Option<Cpus>,
    },
    /// `irq.affinity=0-3`: the device's interrupts, spread over these processors queue by queue.
    IrqAffinity(Cpus),
    /// `irqbalance=off`, `=exclude`: the daemon that moves interrupts; `exclude` lets it have all but the device's.
    Irqbalance(Balancing),
    /// `rps=0-3`, `rps=off`: the processors that take over packets from the interrupt's processor.
    Rps(Option<Cpus>),
    /// `xps=0-3`, `xps=off`: outgoing queues matched to processors, one each.
    Xps(Option<Cpus>),
    /// `rfs=32768`, `rfs=0`: flows that software steering follows to the processor that reads them.
    Rfs(u32),
    /// `nic.queues=8`: combined queues of the card (`ethtool -L`).
    NicQueues(u32),
    /// `nic.spread=8`: the card's hash spreads flows evenly over its first 8 queues (`ethtool -X`).
    NicSpread(u32),
    /// `nic.filters=on`: filters in the card, which accelerated flow steering needs (`ethtool -K ntuple`).
    NicFilters(Switch),
    /// `nic.steer=11211:3`: packets to this TCP port go to this queue (`ethtool -N`).
    NicSteer {
        /// The destination's port.
        port: u16,
        /// The queue.
        queue: u32,
    },
    /// `smt=off`: several logical processors on one core.
    Smt(Switch),
    /// `frequency.governor=performance`.
    Governor(String),
    /// `frequency=2.2GHz`, `frequency=max`: a fixed clock frequency. Units: kHz; `None` is the highest.
    Frequency(Option<u64>),
    /// `turbo=off`: clock frequencies above the nominal one.
    Turbo(Switch),
    /// `power.cap=90W`: the limit of each package (RAPL). Units: µW.
    PowerCap(u64),
    /// `huge-pages=64`: huge pages set apart.
    HugePages(u64),
    /// `huge-pages.transparent=never`.
    TransparentHugePages(String),
    /// `swap=off`.
    SwapOff,
    /// `aslr=off`: addresses drawn at random for each process.
    Aslr(Switch),
    /// `congestion-control=cubic`.
    CongestionControl(String),
    /// `busy-poll=50us`, `busy-poll=0`: how long a read or poll itself polls the device's queue. Units: µs.
    BusyPoll(u64),
    /// `sysctl.net.core.somaxconn=4096`: any other.
    Sysctl {
        /// Its name with dots.
        name: String,
        /// Its value, words separated by one space.
        value: String,
    },
}

/// A queueing discipline that limits a bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shaper {
    /// Hierarchical token bucket, the paper's.
    Htb,
    /// Token bucket filter.
    Tbf,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// The freedom of irqbalance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Balancing {
    /// It runs as the host starts it.
    On,
    /// It does not run.
    Off,
    /// It runs and leaves the device's interrupts alone.
    Exclude,
}

impl Switch {
    /// Whether it is on.
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() { "on" } else { "off" })
    }
}

impl Knob {
    /// The part before the equals sign, as docs/reference/knobs.md lists it.
    pub fn name(&self) -> String {
        let text = self.to_string();
        text.split_once('=').map_or_else(String::new, |(name, _)| name.to_owned())
    }
}

/// The folder suffix of a value.
fn behind(at: &Option<PathBuf>) -> String {
    at.as_ref().map_or_else(String::new, |at| format!("@{}", at.display()))
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_off = |cpus: &Option<Cpus>| cpus.as_ref().map_or("off".to_owned(), Cpus::to_string);
        match self {
            Knob::CpuSet(cpus) => write!(f, "cpu.set={cpus}"),
            Knob::CpuQuota(quota) => write!(f, "cpu.quota={}", quantity::write(*quota, PERCENT)),
            Knob::MemoryLimit(limit) => write!(f, "memory.limit={}", quantity::write(*limit, BYTES)),
            Knob::DiskRead { bytes, at } => {
                write!(f, "disk.read={}{}", quantity::write(*bytes, BYTES), behind(at))
            }
            Knob::ReadAhead { bytes: 0, at } => write!(f, "read-ahead=0{}", behind(at)),
            Knob::ReadAhead { bytes, at } => {
                write!(f, "read-ahead={}{}", quantity::write(*bytes, BYTES), behind(at))
            }
            Knob::NetRate { bits, by } => {
                let by = if *by == Shaper::Tbf { ":tbf" } else { "" };
                write!(f, "net.rate={}{by}", quantity::write(*bits, BITS))
            }
            Knob::ClientPace => f.write_str("client.pace=on"),
            Knob::ClientShape(fastest) => write!(f, "client.shape={}", quantity::write(*fastest, BITS)),
            Knob::CacheWays { ways, cpus: None } => write!(f, "cache.ways={ways}"),
            Knob::CacheWays { ways, cpus: Some(cpus) } => write!(f, "cache.ways={ways}@{cpus}"),
            Knob::IrqAffinity(cpus) => write!(f, "irq.affinity={cpus}"),
            Knob::Irqbalance(Balancing::On) => f.write_str("irqbalance=on"),
            Knob::Irqbalance(Balancing::Off) => f.write_str("irqbalance=off"),
            Knob::Irqbalance(Balancing::Exclude) => f.write_str("irqbalance=exclude"),
            Knob::Rps(cpus) => write!(f, "rps={}", or_off(cpus)),
            Knob::Xps(cpus) => write!(f, "xps={}", or_off(cpus)),
            Knob::Rfs(flows) => write!(f, "rfs={flows}"),
            Knob::NicQueues(queues) => write!(f, "nic.queues={queues}"),
            Knob::NicSpread(queues) => write!(f, "nic.spread={queues}"),
            Knob::NicFilters(switch) => write!(f, "nic.filters={switch}"),
            Knob::NicSteer { port, queue } => write!(f, "nic.steer={port}:{queue}"),
            Knob::Smt(switch) => write!(f, "smt={switch}"),
            Knob::Governor(name) => write!(f, "frequency.governor={name}"),
            Knob::Frequency(None) => f.write_str("frequency=max"),
            Knob::Frequency(Some(khz)) => write!(f, "frequency={}", quantity::write(*khz, KILOHERTZ)),
            Knob::Turbo(switch) => write!(f, "turbo={switch}"),
            Knob::PowerCap(cap) => write!(f, "power.cap={}", quantity::write(*cap, MICROWATTS)),
            Knob::HugePages(pages) => write!(f, "huge-pages={pages}"),
            Knob::TransparentHugePages(word) => write!(f, "huge-pages.transparent={word}"),
            Knob::SwapOff => f.write_str("swap=off"),
            Knob::Aslr(switch) => write!(f, "aslr={switch}"),
            Knob::CongestionControl(name) => write!(f, "congestion-control={name}"),
            Knob::BusyPoll(0) => f.write_str("busy-poll=0"),
            Knob::BusyPoll(us) => write!(f, "busy-poll={}", quantity::write(*us, MICROSECONDS)),
            Knob::Sysctl { name, value } => write!(f, "sysctl.{name}={value}"),
        }
    }
}

impl From<Knob> for String {
    fn from(knob: Knob) -> String {
        knob.to_string()
    }
}
