use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::tree::Tree;
use units::CpuList;

/// The processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// The model, as the processor names itself.
    pub model: Option<String>,
    /// Logical processors that are switched on.
    pub online: CpuList,
    /// The processors that this process may use.
    pub allowed: CpuList,
    /// Logical processors that the kernel's scheduler leaves alone (`isolcpus`).
    pub isolated: CpuList,
    /// The logical processors of each physical core; more than one if SMT is on.
    pub cores: Vec<CpuList>,
    /// Sockets.
    pub packages: usize,
    /// Whether simultaneous multithreading (SMT) is on: `on`, `off`, `forceoff`, `notsupported`.
    pub smt_control: Option<String>,
    /// Logical processors that are there but switched off.
    pub offline: CpuList,
    /// The processor's features of interest here, by the kernel's names: `cat_l3`, `constant_tsc`, `rdt_a`.
    pub features: Vec<String>,
}

/// Features that an ability depends on: the clock, cache allocation and its monitoring, huge pages of 1 GiB.
const FEATURES: [&str; 13] = [
    "constant_tsc",
    "nonstop_tsc",
    "rdt_a",
    "cat_l2",
    "cat_l3",
    "cdp_l3",
    "mba",
    "cqm_llc",
    "cqm_mbm_total",
    "pdpe1gb",
    "arch_perfmon",
    "hypervisor",
    "atomics",
];

impl Cpu {
    /// The processors of this machine. Cost: three files for each processor.
    pub fn here() -> Cpu {
        Cpu::read(&Tree::new(Path::new("/")))
    }

    pub(crate) fn read(tree: &Tree) -> Cpu {
        const CPUS: &str = "sys/devices/system/cpu";
        let listed: Option<CpuList> = tree.value(format!("{CPUS}/online"));
        let online = listed.unwrap_or_else(|| in_cpuinfo(&tree.text("proc/cpuinfo").unwrap_or_default()));
        let mut cores = BTreeSet::new();
        let mut packages = BTreeSet::new();
        for cpu in online.as_slice() {
            let topology = format!("{CPUS}/cpu{cpu}/topology");
            cores.extend(tree.value::<CpuList>(format!("{topology}/thread_siblings_list")));
            packages.extend(tree.value::<i64>(format!("{topology}/physical_package_id")));
        }
        let allowed = tree.field("proc/self/status", "Cpus_allowed_list").and_then(|list| list.parse().ok());
        let allowed: CpuList = allowed.unwrap_or_else(|| online.clone());
        Cpu {
            model: model(tree),
            // The mask of a process may name processors that do not exist.
            allowed: allowed.as_slice().iter().copied().filter(|&cpu| online.contains(cpu)).collect(),
            isolated: tree.value(format!("{CPUS}/isolated")).unwrap_or_default(),
            cores: cores.into_iter().collect(),
            packages: packages.len(),
            smt_control: tree.text(format!("{CPUS}/smt/control")),
            offline: tree.value(format!("{CPUS}/offline")).unwrap_or_default(),
            features: features(tree),
            online,
        }
    }

    /// The logical processors that share a physical core with `cpu`, itself included.
    pub fn siblings(&self, cpu: usize) -> Option<&CpuList> {
        self.cores.iter().find(|core| core.contains(cpu))
    }

    /// Whether the processor offers `feature`, as the kernel names it.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|name| name == feature)
    }

    /// Whether any physical core shows more than one logical processor.
    pub fn smt_on(&self) -> bool {
        self.cores.iter().any(|core| core.len() > 1)
    }
}

fn features(tree: &Tree) -> Vec<String> {
    const CPUINFO: &str = "proc/cpuinfo";
    // Arm kernels write `Features`, x86 kernels `flags`.
    let flags = tree.field(CPUINFO, "flags").or_else(|| tree.field(CPUINFO, "Features")).unwrap_or_default();
    flags.split_whitespace().filter(|flag| FEATURES.contains(flag)).map(str::to_owned).collect()
}

fn model(tree: &Tree) -> Option<String> {
    const CPUINFO: &str = "proc/cpuinfo";
    tree.field(CPUINFO, "model name").or_else(|| {
        // 64-bit Arm kernels print no name but the fields of the main ID register.
        let implementer = tree.field(CPUINFO, "CPU implementer")?;
        Some(format!("Arm, implementer {implementer}, part {}", tree.field(CPUINFO, "CPU part")?))
    })
}

fn in_cpuinfo(cpuinfo: &str) -> CpuList {
    let number =
        |line: &str| line.strip_prefix("processor")?.trim_start().strip_prefix(':')?.trim().parse().ok();
    cpuinfo.lines().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_processors_of_cpuinfo() {
        let check = |text: &str, expect: &str| assert_eq!(in_cpuinfo(text).to_string(), expect);
        check("processor\t: 0\nvendor_id\t: X\n\nprocessor\t: 1\n", "0-1");
        check("", "");
    }

    #[test]
    fn knows_siblings() {
        let cores = vec!["0,2".parse().unwrap(), "1,3".parse().unwrap()];
        let cpu = Cpu { cores, ..Cpu::default() };
        assert_eq!(cpu.siblings(3).unwrap().to_string(), "1,3");
        assert_eq!(cpu.siblings(4), None);
        assert!(cpu.smt_on());
        assert!(!Cpu { cores: vec!["0".parse().unwrap()], ..Cpu::default() }.smt_on());
    }
}
