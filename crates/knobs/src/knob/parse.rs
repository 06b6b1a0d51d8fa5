use std::path::PathBuf;
use std::str::FromStr;

use units::{CpuList, ParseError};

use super::quantity::{self, BITS, BYTES, KILOHERTZ, MICROSECONDS, MICROWATTS, PERCENT};
use super::{Balancing, Cpus, Knob, Shaper, Switch};

/// Every name with the syntax of its value; `sysctl.` takes any name after the dot.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("cpu.set", "processors, such as cpu.set=0-3 or cpu.set=cores:4"),
    ("cpu.quota", "a share of one processor, such as cpu.quota=50%"),
    ("memory.limit", "a size, such as memory.limit=512MiB"),
    (
        "disk.read",
        "a size in a second, and a folder on the disk if it is another than what is served: disk.read=10MiB@/srv",
    ),
    (
        "read-ahead",
        "a size or 0, and a folder as of disk.read, such as read-ahead=128KiB or read-ahead=128KiB@/srv",
    ),
    ("net.rate", "bits per second, such as net.rate=1gbit or net.rate=100mbit:tbf"),
    ("client.pace", "client.pace=on"),
    ("client.shape", "bits per second of the fastest client, such as client.shape=25mbit"),
    ("cache.ways", "ways, and processors if not the subject's processes: cache.ways=0-3 or cache.ways=0-3@2"),
    ("irq.affinity", "processors, such as irq.affinity=0-3"),
    ("irqbalance", "irqbalance=on, off or exclude"),
    ("rps", "processors or off, such as rps=0-3"),
    ("xps", "processors or off, such as xps=0-3"),
    ("rfs", "a number of flows, such as rfs=32768"),
    ("nic.queues", "a number of queues, such as nic.queues=8"),
    ("nic.spread", "a number of queues, such as nic.spread=8"),
    ("nic.filters", "nic.filters=on or off"),
    ("nic.steer", "a TCP port and a queue, such as nic.steer=11211:3"),
    ("smt", "smt=on or off"),
    ("frequency.governor", "a name, such as frequency.governor=performance"),
    ("frequency", "a clock frequency or max, such as frequency=2.2GHz"),
    ("turbo", "turbo=on or off"),
    ("power.cap", "watts, such as power.cap=90W"),
    ("huge-pages", "a number, such as huge-pages=64"),
    ("huge-pages.transparent", "huge-pages.transparent=always, madvise or never"),
    ("swap", "swap=off; which space to switch on again is the journal's affair"),
    ("aslr", "aslr=on or off"),
    ("congestion-control", "a name, such as congestion-control=cubic"),
    ("busy-poll", "a time, such as busy-poll=50us or busy-poll=0"),
    ("sysctl.", "a name and a value, such as sysctl.net.core.somaxconn=4096"),
];

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
        read(name, value).ok_or_else(|| {
            let known = NAMES.iter().find(|(known, _)| *known == name || is_sysctl(known, name));
            match known {
                Some((_, syntax)) => error(format!("'{value}' cannot be its value; write {syntax}")),
                None => error(format!("there is no '{name}'; the nearest is '{}'", nearest(name))),
            }
        })
    }
}

impl TryFrom<String> for Knob {
    type Error = ParseError;
    fn try_from(text: String) -> Result<Knob, ParseError> {
        text.parse()
    }
}

fn is_sysctl(known: &str, name: &str) -> bool {
    known == "sysctl." && name.starts_with(known)
}

fn read(name: &str, value: &str) -> Option<Knob> {
    let cpus = || Cpus::read(value).ok();
    let cpus_or_off = || if value == "off" { Some(None) } else { cpus().map(Some) };
    let count = || value.parse::<u32>().ok();
    Some(match name {
        "cpu.set" => Knob::CpuSet(cpus()?),
        "cpu.quota" => Knob::CpuQuota(quantity::read(value, PERCENT)?),
        "memory.limit" => Knob::MemoryLimit(quantity::read(value, BYTES)?),
        "disk.read" => {
            let (size, at) = at_folder(value)?;
            Knob::DiskRead { bytes: quantity::read(size, BYTES)?, at }
        }
        "read-ahead" => {
            let (size, at) = at_folder(value)?;
            Knob::ReadAhead { bytes: if size == "0" { 0 } else { quantity::read(size, BYTES)? }, at }
        }
        "net.rate" => {
            let (rate, by) = match value.split_once(':') {
                None => (value, Shaper::Htb),
                Some((rate, "htb")) => (rate, Shaper::Htb),
                Some((rate, "tbf")) => (rate, Shaper::Tbf),
                Some(_) => return None,
            };
            Knob::NetRate { bits: quantity::read(rate, BITS)?, by }
        }
        "client.pace" if value == "on" => Knob::ClientPace,
        "client.shape" => Knob::ClientShape(quantity::read(value, BITS)?),
        "cache.ways" => {
            let (ways, cpus) = match value.split_once('@') {
                None => (value, None),
                Some((ways, cpus)) => (ways, Some(Cpus::read(cpus).ok()?)),
            };
            let ways: CpuList = ways.parse().ok()?;
            // Masks are 32 bits wide in the register, and 64 in no machine so far. Source: Intel SDM 3B, 17.19.4.
            ways.as_slice().iter().all(|way| *way < 32).then_some(Knob::CacheWays { ways, cpus })?
        }
        "irq.affinity" => Knob::IrqAffinity(cpus()?),
        "irqbalance" => Knob::Irqbalance(match value {
            "on" => Balancing::On,
            "off" => Balancing::Off,
            "exclude" => Balancing::Exclude,
            _ => return None,
        }),
        "rps" => Knob::Rps(cpus_or_off()?),
        "xps" => Knob::Xps(cpus_or_off()?),
        "rfs" => Knob::Rfs(count()?),
        "nic.queues" => Knob::NicQueues(count().filter(|n| *n > 0)?),
        "nic.spread" => Knob::NicSpread(count().filter(|n| *n > 0)?),
        "nic.filters" => Knob::NicFilters(switch(value)?),
        "nic.steer" => {
            let (port, queue) = value.split_once(':')?;
            Knob::NicSteer { port: port.parse().ok()?, queue: queue.parse().ok()? }
        }
        "smt" => Knob::Smt(switch(value)?),
        "frequency.governor" => Knob::Governor(word(value)?),
        "frequency" if value == "max" => Knob::Frequency(None),
        "frequency" => Knob::Frequency(Some(quantity::read(value, KILOHERTZ)?)),
        "turbo" => Knob::Turbo(switch(value)?),
        "power.cap" => Knob::PowerCap(quantity::read(value, MICROWATTS)?),
        "huge-pages" => Knob::HugePages(count()?.into()),
        "huge-pages.transparent" => Knob::TransparentHugePages(word(value)?),
        "swap" if value == "off" => Knob::SwapOff,
        "aslr" => Knob::Aslr(switch(value)?),
        "congestion-control" => Knob::CongestionControl(word(value)?),
        "busy-poll" if value == "0" => Knob::BusyPoll(0),
        "busy-poll" => Knob::BusyPoll(quantity::read(value, MICROSECONDS)?),
        _ => {
            let name = name.strip_prefix("sysctl.")?;
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            // The name becomes a path: nothing in it may lead elsewhere.
            let plain = |part: &str| !part.is_empty() && part.chars().all(is_plain);
            let good = name.contains('.') && name.split('.').all(plain) && !value.is_empty();
            good.then(|| Knob::Sysctl { name: name.into(), value })?
        }
    })
}

/// A value, and the folder behind it, which is a whole path.
fn at_folder(value: &str) -> Option<(&str, Option<PathBuf>)> {
    match value.split_once('@') {
        None => Some((value, None)),
        Some((value, folder)) => folder.starts_with('/').then(|| (value.trim(), Some(folder.into()))),
    }
}

fn switch(text: &str) -> Option<Switch> {
    match text {
        "on" => Some(Switch::On),
        "off" => Some(Switch::Off),
        _ => None,
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn word(text: &str) -> Option<String> {
    (!text.is_empty() && text.chars().all(is_plain)).then(|| text.to_owned())
}

fn nearest(name: &str) -> &'static str {
    NAMES
        .iter()
        .map(|(known, _)| *known)
        .min_by_key(|known| strsim::osa_distance(name, known))
        .unwrap_or("cpu.set")
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
            assert!(NAMES.iter().any(|(known, _)| *known == name), "there is no '{name}'");
        }
    }

    #[test]
    fn names_the_nearest() {
        let check = |name: &str, expect: &str| assert_eq!(nearest(name), expect);
        check("irqblance", "irqbalance");
        check("cpu.st", "cpu.set");
        check("", "rps");
    }
}
