use serde::{Deserialize, Serialize};

use crate::ethtool::Ethtool;
use crate::interrupts::Interrupts;
use crate::tree::Tree;
use units::CpuList;

/// A network device: hardware, or one that the kernel plays (`lo`, a veth, a bridge).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Nic {
    /// Its name: `eth0`.
    pub name: String,
    /// Its driver; `None` for a device without hardware.
    pub driver: Option<String>,
    /// Whether it is `up`, `down` or `unknown` (`lo` is always unknown).
    pub state: Option<String>,
    /// The speed of its link; virtual ones often have none.
    pub speed_mbps: Option<u64>,
    /// The largest packet.
    pub mtu: Option<u32>,
    /// The memory node that it is near to.
    pub numa_node: Option<usize>,
    /// The queues that packets arrive in.
    pub receive: Vec<ReceiveQueue>,
    /// The queues that they leave by.
    pub transmit: Vec<TransmitQueue>,
    /// Its interrupts.
    pub interrupts: Vec<NicInterrupt>,
    /// The driver's facts about channels and steering.
    pub ethtool: Ethtool,
}

/// A receive queue, and how the kernel spreads its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReceiveQueue {
    /// 0 is the first.
    pub queue: usize,
    /// Receive packet steering (RPS): the processors that share the work after the interrupt; empty if off.
    pub rps: CpuList,
    /// Flows of this queue that receive flow steering (RFS) remembers; 0 is off.
    pub flow_entries: Option<u64>,
}

/// A queue that packets leave by, and which processors use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransmitQueue {
    /// 0 is the first.
    pub queue: usize,
    /// Transmit packet steering (XPS): the processors that send by it; empty if the kernel hashes flows.
    pub xps: CpuList,
}

/// An interrupt of a network device. Its affinity is in [`Interrupts::all`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NicInterrupt {
    /// The interrupt's number.
    pub interrupt: u32,
    /// The cause of the interrupt.
    pub direction: Direction,
    /// The queue; `None` with [`Direction::Other`].
    pub queue: Option<usize>,
}

/// The cause of a network device's interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Packets that arrived.
    Receive,
    /// Packets that left.
    Transmit,
    /// Both, of a pair of queues with one number.
    Both,
    /// The link, the firmware, an error.
    #[default]
    Other,
}

const FOLDER: &str = "sys/class/net";

impl Nic {
    /// All devices, by name.
    pub(crate) fn read(tree: &Tree, interrupts: &Interrupts) -> Vec<Nic> {
        let devices =
            tree.names(FOLDER).into_iter().filter(|name| tree.exists(format!("{FOLDER}/{name}/queues")));
        devices.map(|name| read_one(tree, name, interrupts)).collect()
    }

    /// Whether there is hardware behind it, be it a hypervisor's.
    pub fn is_hardware(&self) -> bool {
        self.driver.is_some()
    }

    /// The interrupts for received packets, by queue.
    pub fn receive_interrupts(&self) -> Vec<(usize, u32)> {
        let mut found: Vec<(usize, u32)> = self
            .interrupts
            .iter()
            .filter(|i| matches!(i.direction, Direction::Receive | Direction::Both))
            .filter_map(|i| Some((i.queue?, i.interrupt)))
            .collect();
        found.sort_unstable();
        found
    }
}

fn read_one(tree: &Tree, name: String, interrupts: &Interrupts) -> Nic {
    let at = format!("{FOLDER}/{name}");
    let queue = |kind: &str| tree.numbered(format!("{at}/queues"), kind).into_iter();
    Nic {
        driver: tree.field(format!("{at}/device/uevent"), "DRIVER"),
        state: tree.text(format!("{at}/operstate")),
        // The kernel reports -1 for a link without a speed.
        speed_mbps: tree.value(format!("{at}/speed")),
        mtu: tree.value(format!("{at}/mtu")),
        // The kernel reports -1 on a machine with one node.
        numa_node: tree.value(format!("{at}/device/numa_node")),
        receive: queue("rx-").map(|queue| receive_queue(tree, &at, queue)).collect(),
        transmit: queue("tx-").map(|queue| transmit_queue(tree, &at, queue)).collect(),
        interrupts: nic_interrupts(tree, &name, interrupts),
        ethtool: tree.ethtool(&name),
        name,
    }
}

fn receive_queue(tree: &Tree, at: &str, queue: usize) -> ReceiveQueue {
    ReceiveQueue {
        queue,
        rps: tree.mask(format!("{at}/queues/rx-{queue}/rps_cpus")).unwrap_or_default(),
        flow_entries: tree.value(format!("{at}/queues/rx-{queue}/rps_flow_cnt")),
    }
}

fn transmit_queue(tree: &Tree, at: &str, queue: usize) -> TransmitQueue {
    TransmitQueue { queue, xps: tree.mask(format!("{at}/queues/tx-{queue}/xps_cpus")).unwrap_or_default() }
}

fn nic_interrupts(tree: &Tree, name: &str, interrupts: &Interrupts) -> Vec<NicInterrupt> {
    // A virtio device is the child of the PCI device that has the interrupts.
    let folders = ["device/msi_irqs", "device/../msi_irqs"].map(|folder| format!("{FOLDER}/{name}/{folder}"));
    let own: Vec<usize> = folders
        .iter()
        .map(|folder| tree.numbered(folder, ""))
        .find(|all| !all.is_empty())
        .unwrap_or_default();
    let belongs = |number: u32, called: &str| {
        if own.is_empty() { names_device(called, name) } else { own.contains(&(number as usize)) }
    };
    let all = interrupts.all.iter().filter(|i| belongs(i.number, &i.name));
    all.map(|i| {
        let (direction, queue) = told(&i.name);
        NicInterrupt { interrupt: i.number, direction, queue }
    })
    .collect()
}

/// Whether an interrupt's name has the device's in it, as a word: `eth1` is not in `eth10-TxRx-0`.
fn names_device(called: &str, device: &str) -> bool {
    called.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == device)
}

/// The cause and queue of an interrupt, by its name: drivers agree on words, not on their order.
///
/// Source: the names that the drivers virtio_net (`virtio2-input.0`), ixgbe and i40e (`eth0-TxRx-3`), mlx5
/// (`mlx5_comp3@pci:0000:03:00.0`), ena (`eth0-Tx-Rx-0`), bnxt (`eth0-TxRx-0`) and nicvf (`eth0-rxtx-0`) request.
fn told(name: &str) -> (Direction, Option<usize>) {
    let name = name.split('@').next().unwrap_or(name).to_ascii_lowercase();
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let Ok(queue) = name[stem.len()..].parse() else { return (Direction::Other, None) };
    // Separators keep the device's own name, which may have any letters, from matching.
    let has = |word: &str| stem.contains(word);
    let direction = if has("txrx") || has("tx-rx") || has("rxtx") || has("_comp") {
        Direction::Both
    } else if has("input") || has("-rx") || has("rx-") {
        Direction::Receive
    } else if has("output") || has("-tx") || has("tx-") {
        Direction::Transmit
    } else {
        Direction::Other
    };
    (direction, (direction != Direction::Other).then_some(queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_interrupts_by_their_names() {
        let check = |name: &str, expect: (Direction, Option<usize>)| assert_eq!(told(name), expect, "{name}");
        check("virtio2-input.0", (Direction::Receive, Some(0)));
        check("virtio2-output.1", (Direction::Transmit, Some(1)));
        check("virtio2-config", (Direction::Other, None));
        check("eth0-TxRx-13", (Direction::Both, Some(13)));
        check("i40e-eth0-TxRx-3", (Direction::Both, Some(3)));
        check("eth0-Tx-Rx-7", (Direction::Both, Some(7)));
        check("ena-mgmnt@pci:0000:00:05.0", (Direction::Other, None));
        check("mlx5_comp3@pci:0000:03:00.0", (Direction::Both, Some(3)));
        check("mlx5_async0@pci:0000:03:00.0", (Direction::Other, None));
        check("eth0-rxtx-5", (Direction::Both, Some(5)));
        check("eth0-rx-2", (Direction::Receive, Some(2)));
        check("eth0-tx-2", (Direction::Transmit, Some(2)));
        check("eth0", (Direction::Other, None));
        check("", (Direction::Other, None));
        check("eth0-TxRx-99999999999999999999999", (Direction::Other, None));
    }

    #[test]
    fn a_name_within_a_name_is_another_device() {
        let check =
            |called: &str, device: &str, expect: bool| assert_eq!(names_device(called, device), expect);
        check("eth1-TxRx-0", "eth1", true);
        check("i40e-eth1-TxRx-0", "eth1", true);
        check("eth10-TxRx-0", "eth1", false);
    }
}
