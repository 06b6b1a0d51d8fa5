use serde::{Deserialize, Serialize};

use super::Span;

/// How the server's threads were scheduled, and the interrupts of the processors during that time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Scheduling {
    /// Time of observation.
    pub observed_s: f64,
    /// From ready to running, over all the server's threads; `None` if only means per thread are known.
    pub run_queue: Option<Span>,
    /// Each thread of the server that ran.
    pub threads: Vec<ThreadScheduling>,
    /// Waits for a futex: for locks held by other threads, and idle threads waiting for work; `None` if they cannot be
    /// observed.
    pub futex_waits: Option<u64>,
    /// Time of these waits.
    pub futex_wait: Option<Span>,
    /// Each processor.
    pub cores: Vec<CoreActivity>,
}

/// One thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ThreadScheduling {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Share of the time that it ran, 0 to 1.
    pub running_share: f64,
    /// The mean wait in the run queue before it ran.
    pub run_queue_us_mean: Option<f64>,
    /// Times that it was scheduled on a processor, per second.
    pub switches_per_s: f64,
    /// Voluntary switches: it had nothing to do.
    pub voluntary_per_s: f64,
    /// Involuntary switches: it was preempted.
    pub involuntary_per_s: f64,
    /// Moves to another processor, per second; `None` if the kernel does not report them.
    pub migrations_per_s: Option<f64>,
}

/// One processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CoreActivity {
    /// Its number.
    pub cpu: u32,
    /// Interrupts of the processor, per second.
    pub interrupts_per_s: f64,
    /// Soft interrupts of received packets, per second.
    pub net_rx_per_s: f64,
    /// All other soft interrupts, per second.
    pub other_soft_per_s: f64,
    /// Share of its time in hard and soft interrupts, 0 to 1.
    pub interrupt_share: f64,
    /// Share of its time that the hypervisor gave to others, 0 to 1.
    pub steal_share: f64,
}
