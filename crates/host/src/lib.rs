//! Read-only facts about the machine, recorded with every result.
//!
//! [`Host::read`] takes the root of the tree that it reads, `/` for this machine, so that a test can show it a machine
//! that we lack: the kernel describes itself in files (`/proc`, `/sys`). A missing file leaves its fact out (`None`),
//! since no two kernels offer the same ones; reading never fails. Facts that are in no file are planted in a test's
//! tree, too: see [`ethtool`] and [`Software`]. [`Host::abilities`] lists the experiments that the machine supports,
//! those that it does not, and how to change that. [`cpu_time`] computes, from two readings of the kernel's counters,
//! the shares of the processors' time that went to the hypervisor's other guests (steal) and to other processes;
//! [`threads`] reads scheduling counters of a process's threads; [`listening`] finds the processes that listen at an
//! address; [`census`] finds the processes that use the processors.
//!
//! Try it: `cargo run -p host --example facts`.

mod ability;
mod cache;
pub mod census;
mod cgroups;
mod cpu;
pub mod cpu_time;
pub mod ethtool;
mod frequency;
mod groups;
mod interrupts;
mod kernel;
mod kernel_options;
mod limits;
pub mod listening;
mod memory;
mod mounts;
mod network;
mod nic;
mod numa;
pub mod observation;
mod observing;
mod privileges;
mod quota;
mod record;
pub mod records;
mod resctrl;
mod screen;
mod software;
mod storage;
pub mod threads;
mod tree;
mod virtualization;

pub use ability::{Ability, Answer};
pub use cache::Cache;
pub use cgroups::{Cgroups, Hierarchy};
pub use cpu::Cpu;
pub use frequency::{Frequency, PowerZone};
pub use interrupts::{Interrupt, Interrupts};
pub use kernel::Kernel;
pub use limits::{Limit, Limits};
pub use memory::{HugePagePool, Memory};
pub use mounts::{MountPoint, mount_points};
pub use network::Network;
pub use nic::{Direction, Nic, NicInterrupt, ReceiveQueue, TransmitQueue};
pub use numa::NumaNode;
pub use observation::{HostObservation, Watcher};
pub use observing::Observing;
pub use privileges::Privileges;
pub use quota::{Quota, Throttling};
pub use record::{Host, name};
pub use resctrl::{BandwidthAllocation, CacheAllocation, Resctrl};
pub use screen::Screen;
pub use software::{Role, Software};
pub use storage::Storage;
pub use tree::read_lossy;
pub use units::CpuList;
pub use virtualization::Virtualization;
