use serde::{Deserialize, Serialize};

use crate::cpu_time::{Sample, ticks_per_second};
use crate::mounts::mounts;
use crate::tree::Tree;

/// Whether the machine is virtual, and its steal so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Virtualization {
    /// Whether the processor reports a hypervisor.
    pub hypervisor: bool,
    /// Its name, if the kernel's clocks or the firmware reveal it: `KVM`, `Xen`, `Hyper-V`, …
    pub kind: Option<String>,
    /// Processor time that the hypervisor gave to others since the start, summed over processors.
    pub steal_s: Option<f64>,
    /// The same as a share of all processor time since the start, 0 to 1.
    pub steal_share: Option<f64>,
    /// The container that this process runs in: `docker`, `podman`, `lxc`; `None` outside of one.
    pub container: Option<String>,
}

impl Virtualization {
    pub(crate) fn read(tree: &Tree) -> Virtualization {
        let flags = tree.field("proc/cpuinfo", "flags").unwrap_or_default();
        let kind = kind(tree);
        let sample = tree.text("proc/stat").map(|stat| Sample::parse(&stat));
        let ticks = sample.map(|sample| sample.total());
        Virtualization {
            hypervisor: kind.is_some() || flags.split_whitespace().any(|flag| flag == "hypervisor"),
            kind,
            container: container(tree),
            steal_s: ticks.map(|ticks| ticks.steal as f64 / ticks_per_second()),
            steal_share: ticks.filter(|t| t.all() > 0).map(|ticks| ticks.steal as f64 / ticks.all() as f64),
        }
    }
}

/// Each engine leaves a file. Source: systemd's "container interface" and the engines' own habits.
fn container(tree: &Tree) -> Option<String> {
    let said = tree.text("run/systemd/container");
    // A virtual machine whose disk was made from an image has the engine's file, too, but no layers below its root.
    let layered = || mounts(tree).iter().any(|mount| mount.at == "/" && mount.kind.contains("overlay"));
    let left = |file: &str, engine: &str| (tree.exists(file) && layered()).then(|| engine.to_owned());
    said.or_else(|| left("run/.containerenv", "podman")).or_else(|| left(".dockerenv", "docker"))
}

/// Names that hypervisors leave in the firmware's tables (vendor or product) or in the list of clocks.
const TRACES: [(&str, &str); 12] = [
    ("kvm-clock", "KVM"),
    ("xen", "Xen"),
    ("hyperv", "Hyper-V"),
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
    ("Amazon EC2", "KVM (Amazon EC2)"),
    ("Google", "KVM (Google Compute Engine)"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Xen", "Xen"),
    ("Virtual Machine", "Hyper-V"),
    ("Parallels", "Parallels"),
];

fn kind(tree: &Tree) -> Option<String> {
    let clocks = tree.text("sys/devices/system/clocksource/clocksource0/available_clocksource");
    let vendor = tree.text("sys/class/dmi/id/sys_vendor");
    let product = tree.text("sys/class/dmi/id/product_name").unwrap_or_default();
    // EC2 also rents whole machines; only the product name distinguishes them.
    let metal = product.ends_with(".metal");
    let texts = [clocks, vendor, Some(product)].map(Option::unwrap_or_default);
    let found = TRACES.iter().find(|(trace, _)| texts.iter().any(|text| text.contains(trace)))?;
    (!metal).then(|| found.1.to_owned())
}
