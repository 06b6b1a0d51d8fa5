//! A network device's queues and packet steering, as reported by its driver.
//!
//! These facts are in no file: they are read by the call that the program `ethtool` uses (`SIOCETHTOOL`). A tree that
//! is not this machine has them planted as JSON in `ethtool/DEVICE.json`.

mod ask;
mod request;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// The driver's answers; unknown facts are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ethtool {
    /// The number of queues, and its maximum (`ethtool -l`).
    pub channels: Option<Channels>,
    /// Receive side scaling (RSS): the queue of each hash of a flow (`ethtool -x`).
    pub indirection: Vec<u32>,
    /// The device's offloads of interest here, by the kernel's name (`ethtool -k`).
    pub features: BTreeMap<String, Feature>,
    /// Rules by which single flows are steered, also called flow director or ntuple filters (`ethtool -n`).
    pub rules: Option<Rules>,
    /// The delay before an interrupt (`ethtool -c`).
    pub coalescing: Option<Coalescing>,
    /// The number of packets that a queue holds (`ethtool -g`).
    pub rings: Option<Rings>,
}

/// Numbers of queues, or of pairs of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Channels {
    /// Queues that receive only.
    pub receive: u32,
    /// The most there can be.
    pub receive_most: u32,
    /// Queues that transmit only.
    pub transmit: u32,
    /// The most there can be.
    pub transmit_most: u32,
    /// Pairs with one interrupt.
    pub combined: u32,
    /// The most there can be.
    pub combined_most: u32,
}

/// The state of an offload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Feature {
    /// It does now.
    pub on: bool,
    /// It can be switched.
    pub can_change: bool,
}

/// The table of rules for single flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// Rules set.
    pub used: u32,
    /// The maximum number of rules; 0 if unknown.
    pub most: u32,
}

/// How long the device collects packets before it interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Coalescing {
    /// After the first packet that arrived.
    pub receive_us: u32,
    /// Or after this number of packets; 0 means no limit.
    pub receive_packets: u32,
    /// After the first packet that left.
    pub transmit_us: u32,
    /// Whether the driver changes the waits with the load.
    pub adaptive_receive: bool,
}

/// The capacities of each queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rings {
    /// For received packets.
    pub receive: u32,
    /// The most there can be.
    pub receive_most: u32,
    /// For sent packets.
    pub transmit: u32,
    /// The most there can be.
    pub transmit_most: u32,
}

impl Ethtool {
    /// Whether the feature is on, or could be: `rx-ntuple-filter`, `rx-hashing`.
    pub fn offers(&self, feature: &str) -> bool {
        self.features.get(feature).is_some_and(|f| f.on || f.can_change)
    }

    /// Whether the feature is on.
    pub fn has_on(&self, feature: &str) -> bool {
        self.features.get(feature).is_some_and(|f| f.on)
    }

    /// The number of queues that the indirection table uses.
    pub fn queues_used(&self) -> usize {
        let queues: std::collections::BTreeSet<u32> = self.indirection.iter().copied().collect();
        queues.len()
    }
}

impl Tree {
    /// The facts from `device`'s driver; empty if it cannot be queried.
    pub(crate) fn ethtool(&self, device: &str) -> Ethtool {
        if self.is_here() {
            return ask::ethtool(device).unwrap_or_default();
        }
        let planted = self.text(format!("ethtool/{device}.json"));
        planted.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }
}
