use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kernel_options::kernel_options;
use crate::tree::Tree;

/// The operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// The kernel's release: `6.1.0-18-amd64`.
    pub release: Option<String>,
    /// The distribution: `Debian GNU/Linux 12 (bookworm)`.
    pub distribution: Option<String>,
    /// The kernel's clock source; with `hpet` or `acpi_pm` each reading takes over 1 µs.
    pub clock_source: Option<String>,
    /// The clocks that it could read.
    pub clock_sources: Vec<String>,
    /// The build options that abilities depend on: `y`, `m` (a module), `n` or a number. Empty if the kernel does not
    /// publish them.
    pub options: BTreeMap<String, String>,
    /// Whether addresses of programs are drawn at random (ASLR): 0 not, 1 in part, 2 all.
    pub aslr: Option<u8>,
}

impl Kernel {
    pub(crate) fn read(tree: &Tree) -> Kernel {
        const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
        let distribution = |path: &str| tree.field(path, "PRETTY_NAME");
        let release = tree.text("proc/sys/kernel/osrelease");
        Kernel {
            options: kernel_options(tree, release.as_deref()),
            aslr: tree.value("proc/sys/kernel/randomize_va_space"),
            release,
            distribution: distribution("etc/os-release")
                .or_else(|| distribution("usr/lib/os-release"))
                .map(|name| name.trim_matches(['"', '\'']).to_owned()),
            clock_source: tree.text(format!("{CLOCK}/current_clocksource")),
            clock_sources: tree.words(format!("{CLOCK}/available_clocksource")),
        }
    }

    /// Whether the kernel was built with `option`, including as a module; `None` if unknown.
    pub fn built_with(&self, option: &str) -> Option<bool> {
        self.options.get(option).map(|value| value != "n")
    }
}
