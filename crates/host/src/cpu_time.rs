//! Processor time by use: our processes, others, interrupts, and the hypervisor's other guests.
//!
//! Time in interrupts is separate from the time of processes: packets over loopback are delivered in a soft interrupt
//! inside the sender's own system call, which `/proc/stat` counts as interrupt. Counted as another process's, it would
//! be "foreign load" in every measurement.

mod process;
mod sample;
mod shares;

pub use process::ProcessTicks;
pub use sample::{Sample, Ticks};
pub use shares::Shares;

/// Ticks per second of the kernel's counters; 100 on every Linux in use.
pub fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}
