//! Read-only facts about the machine, recorded with every result.
//!
//! [`Host::read`] takes the root of the tree that it reads, `/` for this machine, so that a test can show it a
//! machine that we do not have: the kernel describes itself in files (`/proc`, `/sys`). A file that is missing
//! leaves its fact out (`None`), since no two kernels offer the same ones; reading never fails.
//! [`cpu_time`] tells, from two readings of the kernel's counters, how much of the processors' time went to the
//! hypervisor's other guests (steal) and to other processes.
//!
//! Try it: `cargo run -p host --example facts`.

mod cache;
mod cpu;
pub mod cpu_time;
mod frequency;
mod kernel;
mod limits;
mod memory;
mod network;
mod numa;
mod record;
mod tree;
mod virtualization;

pub use cache::Cache;
pub use cpu::Cpu;
pub use frequency::Frequency;
pub use kernel::Kernel;
pub use limits::Limits;
pub use memory::Memory;
pub use network::Network;
pub use numa::NumaNode;
pub use record::Host;
pub use units::CpuList;
pub use virtualization::Virtualization;
