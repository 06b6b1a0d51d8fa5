use serde::{Deserialize, Serialize};

use crate::mounts::mounts;
use crate::tree::Tree;

/// Resource control: the ways of a cache and the memory bandwidth that a group of processes may use.
///
/// Source: the kernel's `filesystems/resctrl.rst`; Intel calls it RDT, Arm MPAM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resctrl {
    /// Whether the kernel has the file system, which also needs support in the processor.
    pub offered: bool,
    /// Its mount point.
    pub mount: Option<String>,
    /// Allocation of the last-level cache.
    pub l3: Option<CacheAllocation>,
    /// Allocation of the second level.
    pub l2: Option<CacheAllocation>,
    /// Allocation of memory bandwidth.
    pub bandwidth: Option<BandwidthAllocation>,
    /// Counters of a group: `llc_occupancy`, `mbm_total_bytes`.
    pub monitoring: Vec<String>,
    /// The number of groups that can be counted at once.
    pub monitored_groups: Option<u32>,
    /// Whether a model-specific register can be written (`/dev/cpu/0/msr`), a way around a kernel without resctrl.
    pub msr: bool,
}

/// Allocation of a cache's ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheAllocation {
    /// The number of ways: the bits of `cbm_mask`.
    pub ways: u32,
    /// The fewest that a group can have.
    pub min_bits: u32,
    /// The maximum number of groups, including the default group.
    pub closids: u32,
    /// Ways that devices write to as well, as a mask.
    pub shareable_bits: u64,
    /// Whether a group's ways need not lie side by side.
    pub sparse: bool,
    /// The caches, by the number under which `schemata` lists them.
    pub domains: Vec<u32>,
    /// Whether code and data have masks of their own (CDP).
    pub code_and_data: bool,
}

/// Allocation of memory bandwidth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BandwidthAllocation {
    /// The smallest share.
    pub min_percent: u32,
    /// The step between shares.
    pub step_percent: u32,
    /// The maximum number of groups.
    pub closids: u32,
}

const FALLBACK: &str = "/sys/fs/resctrl";

impl Resctrl {
    pub(crate) fn read(tree: &Tree) -> Resctrl {
        let mount = mounts(tree).into_iter().find(|mount| mount.kind == "resctrl").map(|mount| mount.at);
        let at = mount.clone().unwrap_or_else(|| FALLBACK.into());
        let listed = tree.text("proc/filesystems").unwrap_or_default();
        Resctrl {
            offered: mount.is_some() || listed.split_whitespace().any(|word| word == "resctrl"),
            l3: allocation(tree, &at, "L3"),
            l2: allocation(tree, &at, "L2"),
            bandwidth: bandwidth(tree, &at),
            monitoring: tree.words(format!("{at}/info/L3_MON/mon_features")),
            monitored_groups: tree.value(format!("{at}/info/L3_MON/num_rmids")),
            msr: tree.exists("dev/cpu/0/msr"),
            mount,
        }
    }
}

fn allocation(tree: &Tree, at: &str, cache: &str) -> Option<CacheAllocation> {
    let code_and_data = tree.exists(format!("{at}/info/{cache}CODE"));
    let name = if code_and_data { format!("{cache}CODE") } else { cache.to_owned() };
    let info = format!("{at}/info/{name}");
    let hexadecimal = |file: &str| u64::from_str_radix(&tree.text(format!("{info}/{file}"))?, 16).ok();
    Some(CacheAllocation {
        ways: hexadecimal("cbm_mask")?.count_ones(),
        min_bits: tree.value(format!("{info}/min_cbm_bits")).unwrap_or(1),
        closids: tree.value(format!("{info}/num_closids"))?,
        shareable_bits: hexadecimal("shareable_bits").unwrap_or_default(),
        sparse: tree.value(format!("{info}/sparse_masks")) == Some(1),
        domains: domains(&tree.text(format!("{at}/schemata")).unwrap_or_default(), &name),
        code_and_data,
    })
}

fn bandwidth(tree: &Tree, at: &str) -> Option<BandwidthAllocation> {
    let info = |file: &str| tree.value(format!("{at}/info/MB/{file}"));
    Some(BandwidthAllocation {
        min_percent: info("min_bandwidth")?,
        step_percent: info("bandwidth_gran")?,
        closids: info("num_closids")?,
    })
}

/// The numbers before the equals signs of the line `L3:0=fffff;1=fffff`.
fn domains(schemata: &str, name: &str) -> Vec<u32> {
    let values = schemata.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    let number = |entry: &str| entry.split_once('=')?.0.trim().parse().ok();
    values.unwrap_or_default().split(';').filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_caches_of_schemata() {
        let check =
            |text: &str, name: &str, expect: &[u32]| assert_eq!(domains(text, name), expect, "{text}");
        check("    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n", "L3", &[0, 1]);
        check("L3CODE:0=f\nL3DATA:0=f\n", "L3CODE", &[0]);
        check("L3CODE:0=f\n", "L3", &[]);
        check("L3:x=f;2=f", "L3", &[2]);
        check("", "L3", &[]);
    }
}
