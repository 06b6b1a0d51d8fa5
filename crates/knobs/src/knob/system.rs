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
pub(super) const HUGE_PAGES: Definition<u32> = Definition {
    about: About {
        name: "huge-pages",
        does: "huge pages set apart",
        syntax: "a number, such as huge-pages=64",
        source: "ANCS'19 §IV-A: segments of a large page",
    },
    read: |value| value.parse().ok(),
    write: u32::to_string,
    plan: |pages, planner| planner.sysctl("vm.nr_hugepages", &pages.to_string(), Syntax::Count),
};

/// `huge-pages.transparent=never`.
pub(super) const TRANSPARENT_HUGE_PAGES: Definition<String> = Definition {
    about: About {
        name: "huge-pages.transparent",
        does: "when the kernel makes huge pages by itself",
        syntax: "huge-pages.transparent=always, madvise or never",
        source: "Linux, transhuge.rst: always, madvise, never",
    },
    read: word,
    write: String::clone,
    plan: |choice, planner| {
        const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
        let Some(offered) = planner.text(FILE) else {
            return Err(planner.unsupported("the kernel has none", "leave it out"));
        };
        let mut words = offered.split_whitespace().map(|word| word.trim_matches(['[', ']']));
        if !words.any(|offered| offered == choice) {
            return Err(planner.usage(format!("the kernel takes {offered}"), "choose one of those"));
        }
        planner.write(FILE.into(), choice, Syntax::Choice)
    },
};

/// `swap=off`.
pub(super) const SWAP_OFF: Definition<()> = Definition {
    about: About {
        name: "swap",
        does: "swap space",
        syntax: "swap=off; which space to switch on again is the journal's affair",
        source: "memcached's own advice (-k): the data set is meant to be in memory",
    },
    read: |value| (value == "off").then_some(()),
    write: |()| "off".into(),
    plan: |(), planner| {
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
    },
};

/// `aslr=off`: addresses drawn at random for each process.
pub(super) const ASLR: Definition<Switch> = Definition {
    about: About {
        name: "aslr",
        does: "addresses drawn at random for each process",
        syntax: "aslr=on or off",
        source: "ours, because they change from start to start what meets in the caches",
    },
    read: Switch::named,
    write: Switch::write,
    plan: |switch, planner| {
        // 2 draws stack, mappings and heap; 1, without the heap, is of the year 2005. Source: proc(5).
        let value = if switch.is_on() { "2" } else { "0" };
        planner.sysctl("kernel.randomize_va_space", value, Syntax::Text)
    },
};

/// `congestion-control=cubic`.
pub(super) const CONGESTION_CONTROL: Definition<String> = Definition {
    about: About {
        name: "congestion-control",
        does: "TCP's rule for how fast to send",
        syntax: "a name, such as congestion-control=cubic",
        source: "docs/decisions/0022-no-bbr-behind-the-bridge.md: BBR paces by timers",
    },
    read: word,
    write: String::clone,
    plan: |rule, planner| {
        let offered = &planner.host.network.congestion_controls;
        if !offered.contains(rule) {
            let limit = format!("the kernel offers {}", offered.join(", "));
            let hint = format!("choose one of those, or load it: modprobe tcp_{rule}");
            return Err(planner.unsupported(limit, hint));
        }
        planner.sysctl("net.ipv4.tcp_congestion_control", rule, Syntax::Text)
    },
};

/// `busy-poll=50us`, `busy-poll=0`: how long a read or poll itself polls the device's queue. Units: µs.
pub(super) const BUSY_POLL: Definition<u64> = Definition {
    about: About {
        name: "busy-poll",
        does: "how long reads and polls look at the device's queue themselves",
        syntax: "a time, such as busy-poll=50us or busy-poll=0",
        source: "Linux, sysctl/net.rst: busy_poll and busy_read, 50 µs for several sockets",
    },
    read: |value| quantity::read_or_0(value, MICROSECONDS),
    write: |time| quantity::write_or_0(*time, MICROSECONDS),
    plan: |time, planner| {
        // One for poll and select, one for reads that block.
        for name in ["net.core.busy_poll", "net.core.busy_read"] {
            planner.sysctl(name, &time.to_string(), Syntax::Text)?;
        }
        Ok(())
    },
};

/// `sysctl.net.core.somaxconn=4096`: any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Its name with dots.
    pub name: String,
    /// Its value, words separated by one space.
    pub value: String,
}

pub(super) const SYSCTL: Definition<Sysctl> = Definition {
    about: About {
        name: "sysctl.",
        does: "any other kernel parameter",
        syntax: "a name and a value, such as sysctl.net.core.somaxconn=4096",
        source: "Linux, Documentation/admin-guide/sysctl",
    },
    read: |value| {
        let (name, value) = value.split_once('=')?;
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        // The name becomes a path: nothing in it may lead elsewhere.
        let good = name.contains('.') && name.split('.').all(is_word) && !value.is_empty();
        good.then(|| Sysctl { name: name.into(), value })
    },
    write: |sysctl| format!("{}={}", sysctl.name, sysctl.value),
    plan: |sysctl, planner| planner.sysctl(&sysctl.name, &sysctl.value, Syntax::Text),
};

impl Planner<'_> {
    /// A kernel parameter by its name with dots.
    pub(super) fn sysctl(&mut self, name: &str, value: &str, syntax: Syntax) -> Result<(), Error> {
        let file = PathBuf::from(format!("/proc/sys/{}", name.replace('.', "/")));
        let of_namespace = name.starts_with("net.") && !OF_ALL_NAMESPACES.contains(&name);
        let namespace = if of_namespace { self.namespace()? } else { None };
        self.write_in(file, value, syntax, namespace)
    }
}
