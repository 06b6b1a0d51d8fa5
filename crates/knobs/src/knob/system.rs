//! Kernel parameters, huge pages and swap.

use std::path::PathBuf;

use super::quantity::{self, MICROSECONDS};
use super::value::{Switch, is_word, word, words};
use super::{About, Definition};
use crate::action::Step;
use crate::plan::Planner;
use crate::{Error, Reading, Syntax};

/// Network parameters that only the first namespace has, for all namespaces. Source: `net/core/sysctl_net_core.c`.
const OF_ALL_NAMESPACES: [&str; 3] =
    ["net.core.busy_poll", "net.core.busy_read", "net.core.rps_sock_flow_entries"];

/// `huge-pages=64`: huge pages set apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HugePages(pub u32);

impl Definition for HugePages {
    const ABOUT: About = About {
        name: "huge-pages",
        does: "huge pages set apart",
        syntax: "a number, such as huge-pages=64",
        source: "ANCS'19 §IV-A: segments of a large page",
    };

    fn read(value: &str) -> Option<HugePages> {
        value.parse().ok().map(HugePages)
    }

    fn write(&self) -> String {
        self.0.to_string()
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        planner.sysctl("vm.nr_hugepages", &self.0.to_string(), Syntax::Count)
    }
}

/// `huge-pages.transparent=never`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransparentHugePages(pub String);

impl Definition for TransparentHugePages {
    const ABOUT: About = About {
        name: "huge-pages.transparent",
        does: "when the kernel makes huge pages by itself",
        syntax: "huge-pages.transparent=always, madvise or never",
        source: "Linux, transhuge.rst: always, madvise, never",
    };

    fn read(value: &str) -> Option<TransparentHugePages> {
        word(value).map(TransparentHugePages)
    }

    fn write(&self) -> String {
        self.0.clone()
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
        let Some(offered) = planner.text(FILE) else {
            return Err(planner.unsupported("the kernel has none", "leave it out"));
        };
        let mut words = offered.split_whitespace().map(|word| word.trim_matches(['[', ']']));
        if !words.any(|offered| offered == self.0) {
            return Err(planner.usage(format!("the kernel takes {offered}"), "choose one of those"));
        }
        planner.write(FILE.into(), &self.0, Syntax::Choice)
    }
}

/// `swap=off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapOff;

impl Definition for SwapOff {
    const ABOUT: About = About {
        name: "swap",
        does: "swap space",
        syntax: "swap=off; which space to switch on again is the journal's affair",
        source: "memcached's own advice (-k): the data set is meant to be in memory",
    };

    fn read(value: &str) -> Option<SwapOff> {
        (value == "off").then_some(SwapOff)
    }

    fn write(&self) -> String {
        "off".into()
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        let table = planner.text("/proc/swaps").unwrap_or_default();
        for line in table.lines().skip(1) {
            let Some(device) = line.split_whitespace().next() else { continue };
            let step = Step::Tool {
                show: words("cat /proc/swaps"),
                reading: Reading::Swap { device: device.into() },
                set: ["swapon", "{priority}", device].map(str::to_owned).into(),
                unset: ["swapoff", device].map(str::to_owned).into(),
                want: None,
                namespace: None,
            };
            planner.push(step);
        }
        Ok(())
    }
}

/// `aslr=off`: addresses drawn at random for each process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aslr(pub Switch);

impl Definition for Aslr {
    const ABOUT: About = About {
        name: "aslr",
        does: "addresses drawn at random for each process",
        syntax: "aslr=on or off",
        source: "ours, because they change from start to start what meets in the caches",
    };

    fn read(value: &str) -> Option<Aslr> {
        Switch::named(value).map(Aslr)
    }

    fn write(&self) -> String {
        self.0.name().into()
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        // 2 draws stack, mappings and heap; 1, without the heap, is of the year 2005. Source: proc(5).
        let value = if self.0.is_on() { "2" } else { "0" };
        planner.sysctl("kernel.randomize_va_space", value, Syntax::Text)
    }
}

/// `congestion-control=cubic`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CongestionControl(pub String);

impl Definition for CongestionControl {
    const ABOUT: About = About {
        name: "congestion-control",
        does: "TCP's rule for how fast to send",
        syntax: "a name, such as congestion-control=cubic",
        source: "docs/decisions/0022-no-bbr-behind-the-bridge.md: BBR paces by timers",
    };

    fn read(value: &str) -> Option<CongestionControl> {
        word(value).map(CongestionControl)
    }

    fn write(&self) -> String {
        self.0.clone()
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        let offered = &planner.host.network.congestion_controls;
        if !offered.contains(&self.0) {
            let limit = format!("the kernel offers {}", offered.join(", "));
            let hint = format!("choose one of those, or load it: modprobe tcp_{}", self.0);
            return Err(planner.unsupported(limit, hint));
        }
        planner.sysctl("net.ipv4.tcp_congestion_control", &self.0, Syntax::Text)
    }
}

/// `busy-poll=50us`, `busy-poll=0`: how long a read or poll itself polls the device's queue. Units: µs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyPoll(pub u64);

impl Definition for BusyPoll {
    const ABOUT: About = About {
        name: "busy-poll",
        does: "how long reads and polls look at the device's queue themselves",
        syntax: "a time, such as busy-poll=50us or busy-poll=0",
        source: "Linux, sysctl/net.rst: busy_poll and busy_read, 50 µs for several sockets",
    };

    fn read(value: &str) -> Option<BusyPoll> {
        quantity::read_or_0(value, MICROSECONDS).map(BusyPoll)
    }

    fn write(&self) -> String {
        quantity::write_or_0(self.0, MICROSECONDS)
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        // One for poll and select, one for reads that block.
        for name in ["net.core.busy_poll", "net.core.busy_read"] {
            planner.sysctl(name, &self.0.to_string(), Syntax::Text)?;
        }
        Ok(())
    }
}

/// `sysctl.net.core.somaxconn=4096`: any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Its name with dots.
    pub name: String,
    /// Its value, words separated by one space.
    pub value: String,
}

impl Definition for Sysctl {
    const ABOUT: About = About {
        name: "sysctl.",
        does: "any other kernel parameter",
        syntax: "a name and a value, such as sysctl.net.core.somaxconn=4096",
        source: "Linux, Documentation/admin-guide/sysctl",
    };

    fn read(value: &str) -> Option<Sysctl> {
        let (name, value) = value.split_once('=')?;
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        // The name becomes a path: nothing in it may lead elsewhere.
        let good = name.contains('.') && name.split('.').all(is_word) && !value.is_empty();
        good.then(|| Sysctl { name: name.into(), value })
    }

    fn write(&self) -> String {
        format!("{}={}", self.name, self.value)
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        planner.sysctl(&self.name, &self.value, Syntax::Text)
    }
}

impl Planner<'_> {
    /// A kernel parameter by its name with dots.
    pub(super) fn sysctl(&mut self, name: &str, value: &str, syntax: Syntax) -> Result<(), Error> {
        let file = PathBuf::from(format!("/proc/sys/{}", name.replace('.', "/")));
        let of_namespace = name.starts_with("net.") && !OF_ALL_NAMESPACES.contains(&name);
        let namespace = if of_namespace { self.namespace()? } else { None };
        self.write_in(file, value, syntax, namespace)
    }
}
