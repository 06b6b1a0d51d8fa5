use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::tree::Tree;
use units::CpuList;

/// How the processors' clock and sleep are governed; all `None` in most virtual machines, where the host decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frequency {
    /// What sets the frequency: `intel_pstate`, `acpi-cpufreq`.
    pub driver: Option<String>,
    /// By which rule: `performance`, `powersave`; `a, b` where processors differ.
    pub governor: Option<String>,
    /// Whether the processors may exceed their nominal frequency.
    pub turbo: Option<bool>,
    /// The lowest frequency allowed.
    pub min_khz: Option<u64>,
    /// The highest frequency allowed.
    pub max_khz: Option<u64>,
    /// What puts idle processors to sleep; waking from a deep sleep takes up to some 100 µs.
    pub idle_driver: Option<String>,
    /// By which rule.
    pub idle_governor: Option<String>,
}

impl Frequency {
    pub(crate) fn read(tree: &Tree, online: &CpuList) -> Frequency {
        const CPUS: &str = "sys/devices/system/cpu";
        let each = |file: &str| -> BTreeSet<String> {
            let read = |cpu| tree.text(format!("{CPUS}/cpu{cpu}/cpufreq/{file}"));
            online.as_slice().iter().filter_map(read).collect()
        };
        let words = |file: &str| {
            let values = each(file);
            (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(", "))
        };
        let khz = |file: &str| each(file).into_iter().filter_map(|text| text.parse::<u64>().ok());
        let intel_off: Option<u8> = tree.value(format!("{CPUS}/intel_pstate/no_turbo"));
        let boost: Option<u8> = tree.value(format!("{CPUS}/cpufreq/boost"));
        Frequency {
            driver: words("scaling_driver"),
            governor: words("scaling_governor"),
            turbo: intel_off.map(|off| off == 0).or(boost.map(|on| on == 1)),
            min_khz: khz("scaling_min_freq").min(),
            max_khz: khz("scaling_max_freq").max(),
            idle_driver: tree.text(format!("{CPUS}/cpuidle/current_driver")).filter(|name| name != "none"),
            idle_governor: tree
                .text(format!("{CPUS}/cpuidle/current_governor_ro"))
                .or_else(|| tree.text(format!("{CPUS}/cpuidle/current_governor"))),
        }
    }
}
