use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// The operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// The kernel's release: `6.1.0-18-amd64`.
    pub release: Option<String>,
    /// The distribution: `Debian GNU/Linux 12 (bookworm)`.
    pub distribution: Option<String>,
    /// The clock that the kernel reads the time from; with `hpet` or `acpi_pm` each reading takes over 1 µs.
    pub clock_source: Option<String>,
    /// The clocks that it could read.
    pub clock_sources: Vec<String>,
}

impl Kernel {
    pub(crate) fn read(tree: &Tree) -> Kernel {
        const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
        let distribution = |path: &str| tree.field(path, "PRETTY_NAME");
        let sources = tree.text(format!("{CLOCK}/available_clocksource")).unwrap_or_default();
        Kernel {
            release: tree.text("proc/sys/kernel/osrelease"),
            distribution: distribution("etc/os-release")
                .or_else(|| distribution("usr/lib/os-release"))
                .map(|name| name.trim_matches(['"', '\'']).to_owned()),
            clock_source: tree.text(format!("{CLOCK}/current_clocksource")),
            clock_sources: sources.split_whitespace().map(str::to_owned).collect(),
        }
    }
}
