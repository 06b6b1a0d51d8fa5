use serde::{Deserialize, Serialize};

use crate::memory::kibibytes;
use crate::tree::Tree;
use units::CpuList;

/// A memory node (NUMA): memory that is near to some of the processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NumaNode {
    /// Its number.
    pub node: usize,
    /// The processors near to it.
    pub cpus: CpuList,
    /// Its memory.
    pub memory_bytes: Option<u64>,
}

impl NumaNode {
    /// All nodes; empty for a kernel without NUMA.
    pub(crate) fn read(tree: &Tree) -> Vec<NumaNode> {
        const NODES: &str = "sys/devices/system/node";
        let read_one = |node| NumaNode {
            node,
            cpus: tree.value(format!("{NODES}/node{node}/cpulist")).unwrap_or_default(),
            memory_bytes: tree
                .field(format!("{NODES}/node{node}/meminfo"), &format!("Node {node} MemTotal"))
                .and_then(|text| kibibytes(&text)),
        };
        tree.numbered(NODES, "node").into_iter().map(read_one).collect()
    }
}
