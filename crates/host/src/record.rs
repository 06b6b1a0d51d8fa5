use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::tree::Tree;
use crate::{
    Cache, Cgroups, Cpu, Frequency, Interrupts, Kernel, Limits, Memory, Network, Nic, NumaNode, Observing,
    Privileges, Resctrl, Software, Storage, Virtualization,
};

/// Facts about a machine, as a result records them.
///
/// Units: in the names of the fields. An unknown fact is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// The machine's name.
    pub name: Option<String>,
    /// The processors.
    pub cpu: Cpu,
    /// Their caches, nearest first.
    pub caches: Vec<Cache>,
    /// Memory nodes.
    pub numa: Vec<NumaNode>,
    /// Clock and sleep of the processors.
    pub frequency: Frequency,
    /// Memory and pages.
    pub memory: Memory,
    /// Room for files.
    pub storage: Storage,
    /// Hypervisor and steal.
    pub virtualization: Virtualization,
    /// The network stack.
    pub network: Network,
    /// Limits of this process.
    pub limits: Limits,
    /// The operating system.
    pub kernel: Kernel,
    /// The network devices.
    pub nics: Vec<Nic>,
    /// The interrupts of devices.
    pub interrupts: Interrupts,
    /// The control groups.
    pub cgroups: Cgroups,
    /// Allocation of caches and memory bandwidth.
    pub resctrl: Resctrl,
    /// Available counters and tracing.
    pub observing: Observing,
    /// The privileges of this process.
    pub privileges: Privileges,
    /// Container engines, servers and tools that are installed.
    pub software: Vec<Software>,
}

impl Host {
    /// The machine whose file tree starts at `root`: `/`, or a test's.
    ///
    /// Cost: some 40 files for each processor, one for each process, and a run of each program of [`Host::software`]
    /// for its version: 0.2 s on a machine of two processors, nearly all of it for those runs.
    pub fn read(root: &Path) -> Host {
        let tree = Tree::new(root);
        let cpu = Cpu::read(&tree);
        let running = running(&tree);
        let interrupts = Interrupts::read(&tree, running.as_ref());
        Host {
            name: tree.text("proc/sys/kernel/hostname"),
            caches: Cache::read(&tree, &cpu.online),
            numa: NumaNode::read(&tree),
            frequency: Frequency::read(&tree, &cpu.online),
            memory: Memory::read(&tree),
            storage: Storage::read(&tree),
            virtualization: Virtualization::read(&tree),
            network: Network::read(&tree),
            limits: Limits::read(&tree),
            kernel: Kernel::read(&tree),
            nics: Nic::read(&tree, &interrupts),
            cgroups: Cgroups::read(&tree),
            resctrl: Resctrl::read(&tree),
            observing: Observing::read(&tree),
            privileges: Privileges::read(&tree),
            software: Software::read(&tree, running.as_ref()),
            interrupts,
            cpu,
        }
    }

    /// This machine.
    pub fn here() -> Host {
        Host::read(Path::new("/"))
    }

    /// The network device called `name`.
    pub fn nic(&self, name: &str) -> Option<&Nic> {
        self.nics.iter().find(|nic| nic.name == name)
    }

    /// The only network device with hardware behind it; `None` if there are several, or none.
    pub fn only_card(&self) -> Option<&Nic> {
        let mut cards = self.nics.iter().filter(|nic| nic.is_hardware());
        let card = cards.next()?;
        cards.next().is_none().then_some(card)
    }

    /// The only network device with hardware behind it or, if there is none, the only one but loopback, as in a network
    /// namespace; `None` if there are several.
    pub fn only_device(&self) -> Option<&Nic> {
        if self.nics.iter().any(Nic::is_hardware) {
            return self.only_card();
        }
        let mut others = self.nics.iter().filter(|nic| nic.name != "lo");
        let other = others.next()?;
        others.next().is_none().then_some(other)
    }

    /// The program called `name`, if it is installed.
    pub fn program(&self, name: &str) -> Option<&Software> {
        self.software.iter().find(|software| software.name == name)
    }
}

impl fmt::Display for Host {
    /// One line: `Intel(R) Xeon(R) Processor, 2 processors, 23.5 GiB, KVM, Linux 6.18.44`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = self.cpu.cores.len();
        let processors = match self.cpu.online.len() {
            1 => "1 processor".to_owned(),
            n if self.cpu.smt_on() => format!("{n} processors on {cores} cores"),
            n => format!("{n} processors"),
        };
        let mut facts =
            vec![self.cpu.model.clone().unwrap_or_else(|| "unknown processor".into()), processors];
        facts.extend(self.memory.total_bytes.map(|b| format!("{:.1} GiB", b as f64 / f64::from(1 << 30))));
        if self.virtualization.hypervisor {
            facts.push(self.virtualization.kind.clone().unwrap_or_else(|| "virtual".into()));
        }
        facts.extend(self.kernel.release.as_ref().map(|release| format!("Linux {release}")));
        f.pad(&facts.join(", "))
    }
}

/// The names of all processes, as the kernel keeps them (15 bytes); `None` if no process is visible.
fn running(tree: &Tree) -> Option<BTreeSet<String>> {
    let names: BTreeSet<String> =
        tree.numbered("proc", "").iter().filter_map(|pid| tree.text(format!("proc/{pid}/comm"))).collect();
    (!names.is_empty()).then_some(names)
}

/// The machine's host name.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
