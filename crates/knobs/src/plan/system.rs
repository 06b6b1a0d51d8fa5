//! Kernel parameters, huge pages and swap.

use std::path::PathBuf;

use super::Planner;
use crate::action::Step;
use crate::{Error, Reading, Syntax};

/// Network parameters that only the first namespace has, for all namespaces. Source: `net/core/sysctl_net_core.c`.
const OF_ALL_NAMESPACES: [&str; 3] =
    ["net.core.busy_poll", "net.core.busy_read", "net.core.rps_sock_flow_entries"];

impl Planner<'_> {
    /// A kernel parameter by its name with dots.
    pub(super) fn sysctl(&mut self, name: &str, value: &str, syntax: Syntax) -> Result<(), Error> {
        let file = PathBuf::from(format!("/proc/sys/{}", name.replace('.', "/")));
        let of_namespace = name.starts_with("net.") && !OF_ALL_NAMESPACES.contains(&name);
        let namespace = if of_namespace { self.namespace()? } else { None };
        self.write_in(file, value, syntax, namespace)
    }

    pub(super) fn transparent_huge_pages(&mut self, word: &str) -> Result<(), Error> {
        const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
        let Some(offered) = self.text(FILE) else {
            return Err(self.unsupported("the kernel has none", "leave it out"));
        };
        let mut words = offered.split_whitespace().map(|word| word.trim_matches(['[', ']']));
        if !words.any(|offered| offered == word) {
            return Err(self.usage(format!("the kernel takes {offered}"), "choose one of those"));
        }
        self.write(FILE.into(), word, Syntax::Choice)
    }

    pub(super) fn swap_off(&mut self) -> Result<(), Error> {
        let table = self.text("/proc/swaps").unwrap_or_default();
        for line in table.lines().skip(1) {
            let Some(device) = line.split_whitespace().next() else { continue };
            let step = Step::Tool {
                show: ["cat", "/proc/swaps"].map(str::to_owned).into(),
                reading: Reading::Swap { device: device.into() },
                set: ["swapon", "{priority}", device].map(str::to_owned).into(),
                unset: ["swapoff", device].map(str::to_owned).into(),
                want: None,
                namespace: None,
            };
            self.push(step);
        }
        Ok(())
    }

    pub(super) fn congestion_control(&mut self, name: &str) -> Result<(), Error> {
        let offered = &self.host.network.congestion_controls;
        if !offered.iter().any(|control| control == name) {
            let limit = format!("the kernel offers {}", offered.join(", "));
            let hint = format!("choose one of those, or load it: modprobe tcp_{name}");
            return Err(self.unsupported(limit, hint));
        }
        self.sysctl("net.ipv4.tcp_congestion_control", name, Syntax::Text)
    }

    pub(super) fn busy_poll(&mut self, us: u64) -> Result<(), Error> {
        // One for poll and select, one for reads that block.
        for name in ["net.core.busy_poll", "net.core.busy_read"] {
            self.sysctl(name, &us.to_string(), Syntax::Text)?;
        }
        Ok(())
    }
}
