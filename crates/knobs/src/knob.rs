//! Knobs as a person writes them: `name=value`, with units.
//!
//! A knob is a [`Definition`] in a file of this folder, and a line in the list below.

mod cache;
mod cgroup;
mod clients;
mod cpus;
mod disk;
mod frequency;
mod irq;
mod net;
mod nic;
pub(crate) mod quantity;
mod queues;
mod registers;
mod system;
mod value;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::ParseError;

pub use cpus::Cpus;
use value::Switch;

use crate::Error;
use crate::plan::Planner;

/// The description of a knob, as `taillight explain knobs` prints it. docs/reference/knobs.md lists each knob's Linux
/// interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name, before the equals sign; `sysctl.` takes any name behind the dot.
    pub name: &'static str,
    /// What it does.
    pub does: &'static str,
    /// The syntax of its value, with an example.
    pub syntax: &'static str,
    /// The publication that uses it, or the documentation that recommends it.
    pub source: &'static str,
}

/// A knob whose value is a `V`.
struct Definition<V> {
    about: About,
    /// Reads its value; `None` if the syntax is another.
    read: fn(&str) -> Option<V>,
    /// Its value, so that it reads back as the same.
    write: fn(&V) -> String,
    /// Adds its actions to the plan.
    ///
    /// Errors: the host does not support it, or its object is missing.
    plan: fn(&V, &mut Planner<'_>) -> Result<(), Error>,
}

/// Makes [`Knob`] of the definitions of all knobs.
macro_rules! knobs {
    ($($name:ident($value:ty) = $file:ident::$definition:ident,)*) => {
        /// One thing that is set for a measurement, and reverted after it.
        ///
        /// Read from and shown as `name=value`; docs/reference/knobs.md has all names. Stored as that text.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        #[allow(missing_docs)]
        pub enum Knob {
            $($name($value),)*
        }

        impl Knob {
            /// All of them, in the order in which docs/reference/knobs.md lists them.
            pub const ABOUT: &[About] = &[$($file::$definition.about),*];

            /// Its description.
            pub fn about(&self) -> &'static About {
                match self {
                    $(Knob::$name(_) => &$file::$definition.about,)*
                }
            }

            fn value(&self) -> String {
                match self {
                    $(Knob::$name(value) => ($file::$definition.write)(value),)*
                }
            }

            /// Adds its actions to the plan.
            pub(crate) fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
                match self {
                    $(Knob::$name(value) => ($file::$definition.plan)(value, planner),)*
                }
            }
        }

        /// The knob that is described, with this value; `None` if the value's syntax is another.
        fn read(about: &About, value: &str) -> Option<Knob> {
            $(if about.name == $file::$definition.about.name {
                return ($file::$definition.read)(value).map(Knob::$name);
            })*
            None
        }
    };
}

knobs! {
    CpuSet(Cpus) = cgroup::CPU_SET,
    CpuQuota(u64) = cgroup::CPU_QUOTA,
    MemoryLimit(u64) = cgroup::MEMORY_LIMIT,
    DiskRead(disk::DiskRead) = disk::DISK_READ,
    ReadAhead(disk::ReadAhead) = disk::READ_AHEAD,
    NetRate(net::NetRate) = net::NET_RATE,
    ClientPace(()) = clients::CLIENT_PACE,
    ClientShape(u64) = clients::CLIENT_SHAPE,
    CacheWays(cache::CacheWays) = cache::CACHE_WAYS,
    IrqAffinity(Cpus) = irq::IRQ_AFFINITY,
    Irqbalance(irq::Irqbalance) = irq::IRQBALANCE,
    Rps(Option<Cpus>) = queues::RPS,
    Xps(Option<Cpus>) = queues::XPS,
    Rfs(u32) = queues::RFS,
    NicQueues(u32) = nic::NIC_QUEUES,
    NicSpread(u32) = nic::NIC_SPREAD,
    NicFilters(Switch) = nic::NIC_FILTERS,
    NicSteer(nic::NicSteer) = nic::NIC_STEER,
    Smt(Switch) = frequency::SMT,
    Governor(String) = frequency::GOVERNOR,
    Frequency(Option<u64>) = frequency::FREQUENCY,
    Turbo(Switch) = frequency::TURBO,
    PowerCap(u64) = frequency::POWER_CAP,
    HugePages(u32) = system::HUGE_PAGES,
    TransparentHugePages(String) = system::TRANSPARENT_HUGE_PAGES,
    SwapOff(()) = system::SWAP_OFF,
    Aslr(Switch) = system::ASLR,
    CongestionControl(String) = system::CONGESTION_CONTROL,
    BusyPoll(u64) = system::BUSY_POLL,
    Sysctl(system::Sysctl) = system::SYSCTL,
}

/// The prefix of knobs whose names are those of kernel parameters.
const SYSCTL: &str = "sysctl.";

impl Knob {
    /// Whether several knobs of this name may be in force, each for another object.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self, Knob::CacheWays(_) | Knob::NicSteer(_))
    }

    /// The part before the equals sign, as docs/reference/knobs.md lists it.
    pub fn name(&self) -> String {
        let text = self.to_string();
        text.split_once('=').map_or_else(String::new, |(name, _)| name.to_owned())
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.about().name;
        let equals = if name == SYSCTL { "" } else { "=" };
        write!(f, "{name}{equals}{}", self.value())
    }
}

impl FromStr for Knob {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Knob, ParseError> {
        let error = |problem: String| ParseError {
            what: "knob",
            given: text.into(),
            problem,
            hint: "docs/reference/knobs.md lists all",
        };
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| error("write a name and a value, such as cpu.set=0-3".into()))?;
        let (name, value) = (name.trim(), value.trim());
        let parameter = name.strip_prefix(SYSCTL).map(|parameter| format!("{parameter}={value}"));
        let known = if parameter.is_some() { SYSCTL } else { name };
        let Some(about) = Knob::ABOUT.iter().find(|about| about.name == known) else {
            return Err(error(format!("there is no '{name}'; the nearest is '{}'", nearest(name))));
        };
        let wrong = || error(format!("'{value}' cannot be its value; write {}", about.syntax));
        read(about, parameter.as_deref().unwrap_or(value)).ok_or_else(wrong)
    }
}

impl TryFrom<String> for Knob {
    type Error = ParseError;
    fn try_from(text: String) -> Result<Knob, ParseError> {
        text.parse()
    }
}

impl From<Knob> for String {
    fn from(knob: Knob) -> String {
        knob.to_string()
    }
}

fn nearest(name: &str) -> &'static str {
    let names = Knob::ABOUT.iter().map(|about| about.name);
    names.min_by_key(|known| strsim::osa_distance(name, known)).unwrap_or("cpu.set")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_shows() {
        let check = |text: &str, shown: &str| {
            let knob: Knob = text.parse().unwrap();
            assert_eq!(knob.to_string(), shown);
            assert_eq!(shown.parse::<Knob>().unwrap(), knob);
            assert_eq!(knob.name(), shown.split_once('=').unwrap().0);
        };
        let same = |text: &str| check(text, text);
        same("cpu.set=0");
        same("cpu.set=siblings:4");
        same("cpu.quota=50%");
        same("memory.limit=512MiB");
        same("disk.read=10MiB");
        check("disk.read=1024KiB @/srv/my videos", "disk.read=1MiB@/srv/my videos");
        same("disk.read=1000B@/srv/a@b");
        same("read-ahead=128KiB");
        same("read-ahead=0@/srv");
        same("net.rate=1gbit");
        check("net.rate=1000mbit:htb", "net.rate=1gbit");
        same("net.rate=100mbit:tbf");
        same("client.pace=on");
        check("client.shape=25000000bit", "client.shape=25mbit");
        same("cache.ways=0-3");
        same("cache.ways=0-3,8@2-5");
        same("cache.ways=4-19@others");
        same("irq.affinity=0");
        same("irqbalance=off");
        same("irqbalance=exclude");
        same("rps=0");
        same("rps=off");
        same("xps=all");
        same("rfs=32768");
        same("nic.queues=8");
        same("nic.spread=8");
        same("nic.filters=on");
        same("nic.steer=11211:3");
        same("smt=off");
        same("frequency.governor=performance");
        check("frequency=2.2GHz", "frequency=2200MHz");
        same("frequency=max");
        same("turbo=off");
        same("power.cap=90W");
        same("huge-pages=64");
        same("huge-pages.transparent=never");
        same("swap=off");
        same("aslr=off");
        same("congestion-control=cubic");
        same("busy-poll=50us");
        same("busy-poll=0");
        check(
            " sysctl.net.ipv4.ip_local_port_range = 1024  65000 ",
            "sysctl.net.ipv4.ip_local_port_range=1024 65000",
        );
    }

    #[test]
    fn refuses_with_what_to_write() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Knob>().unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check("", "such as cpu.set=0-3");
        check("cpu.sett=1", "there is no 'cpu.sett'; the nearest is 'cpu.set'");
        check("turbo=maybe", "turbo=on or off");
        check("cpu.quota=50", "cpu.quota=50%");
        check("disk.read=10", "disk.read=10MiB@/srv");
        check("disk.read=0B", "disk.read=10MiB@/srv");
        check("disk.read=10MiB@srv", "disk.read=10MiB@/srv");
        check("read-ahead=many", "read-ahead=128KiB");
        check("net.rate=1gbit:fq", "100mbit:tbf");
        check("client.pace=off", "client.pace=on");
        check("client.shape=fast", "client.shape=25mbit");
        check("cache.ways=40", "cache.ways=0-3@2");
        check("swap=on", "swap=off");
        check("sysctl.net/../../etc=1", "sysctl.net.core.somaxconn=4096");
        check("sysctl.kernel=1", "sysctl.net.core.somaxconn=4096");
        check("frequency.governor=a b", "frequency.governor=performance");
    }

    #[test]
    fn what_a_host_is_said_to_show_by_knobs_is_their_names() {
        let abilities = host::Host::default().abilities();
        let shown = abilities.iter().filter_map(|ability| ability.shows.strip_prefix("tune "));
        let names: Vec<&str> = shown.flat_map(|names| names.split(", ")).collect();
        assert!(names.len() > 3, "{names:?}");
        for name in names {
            assert!(Knob::ABOUT.iter().any(|about| about.name == name), "there is no '{name}'");
        }
    }

    #[test]
    fn names_the_nearest() {
        let check = |name: &str, expect: &str| assert_eq!(nearest(name), expect);
        check("irqblance", "irqbalance");
        check("cpu.st", "cpu.set");
        check("", "rps");
    }

    #[test]
    fn every_knob_is_described() {
        for about in Knob::ABOUT {
            assert!(![about.does, about.source, about.syntax].contains(&""), "{about:?}");
            let named = Knob::ABOUT.iter().filter(|other| other.name == about.name);
            assert_eq!(named.count(), 1, "{about:?}");
        }
    }
}
