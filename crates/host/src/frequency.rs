use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::tree::Tree;
use units::CpuList;

/// Frequency and idle control of the processors; all `None` in most virtual machines, which leave it to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frequency {
    /// The driver that sets the frequency: `intel_pstate`, `acpi-cpufreq`.
    pub driver: Option<String>,
    /// The governor: `performance`, `powersave`; `a, b` if processors differ.
    pub governor: Option<String>,
    /// Whether the processors may exceed their nominal frequency.
    pub turbo: Option<bool>,
    /// The lowest frequency allowed.
    pub min_khz: Option<u64>,
    /// The highest frequency allowed.
    pub max_khz: Option<u64>,
    /// The driver of idle states; waking from a deep one takes up to some 100 µs.
    pub idle_driver: Option<String>,
    /// By which rule.
    pub idle_governor: Option<String>,
    /// The rules that can be chosen.
    pub governors: Vec<String>,
    /// The lowest frequency that the processor can run at.
    pub hardware_min_khz: Option<u64>,
    /// The highest.
    pub hardware_max_khz: Option<u64>,
    /// The frequencies that can be set, if the driver lists them; `intel_pstate` takes any between the two.
    pub frequencies_khz: Vec<u64>,
    /// The preference between energy and performance: `performance`, `balance_power`.
    pub preference: Option<String>,
    /// Domains whose power the processor can hold below a limit (RAPL).
    pub power_zones: Vec<PowerZone>,
}

/// A part of the machine whose power can be capped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PowerZone {
    /// Its folder's name below `/sys/class/powercap`: `intel-rapl:0`.
    pub zone: String,
    /// The domain: `package-0`, `dram`.
    pub name: Option<String>,
    /// The long-term limit.
    pub limit_uw: Option<u64>,
    /// The highest useful limit, as the processor reports it.
    pub most_uw: Option<u64>,
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
            governors: first(tree, online, "scaling_available_governors"),
            hardware_min_khz: khz("cpuinfo_min_freq").min(),
            hardware_max_khz: khz("cpuinfo_max_freq").max(),
            frequencies_khz: first(tree, online, "scaling_available_frequencies")
                .iter()
                .filter_map(|text| text.parse().ok())
                .collect(),
            preference: words("energy_performance_preference"),
            power_zones: power_zones(tree),
        }
    }
}

/// The words of `file` for the first processor that has it.
fn first(tree: &Tree, online: &CpuList, file: &str) -> Vec<String> {
    let read = |cpu| tree.words(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"));
    online.as_slice().iter().map(read).find(|words| !words.is_empty()).unwrap_or_default()
}

fn power_zones(tree: &Tree) -> Vec<PowerZone> {
    const ZONES: &str = "sys/class/powercap";
    let read_one = |zone: String| PowerZone {
        name: tree.text(format!("{ZONES}/{zone}/name")),
        limit_uw: tree.value(format!("{ZONES}/{zone}/constraint_0_power_limit_uw")),
        most_uw: tree.value(format!("{ZONES}/{zone}/constraint_0_max_power_uw")),
        zone,
    };
    // `intel-rapl` without a colon is the folder of all zones, not one of them.
    tree.names(ZONES).into_iter().filter(|zone| zone.contains(':')).map(read_one).collect()
}
