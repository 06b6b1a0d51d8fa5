use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a server; shared by its threads.
#[derive(Debug, Default)]
pub struct ServerCounters {
    /// Answers that were begun.
    pub answers: AtomicU64,
    /// Of those, answers with parts of videos.
    pub media: AtomicU64,
    /// Bytes of bodies that were handed to the kernel.
    pub bytes: AtomicU64,
    /// Connections that were accepted.
    pub accepted: AtomicU64,
    /// Connections that were turned away, as too many were open.
    pub refused: AtomicU64,
    /// Answers with a fault.
    pub faults: AtomicU64,
}

impl ServerCounters {
    /// All of them as JSON.
    pub fn text(&self) -> String {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        format!(
            "{{\"answers\": {}, \"media\": {}, \"bytes\": {}, \"accepted\": {}, \"refused\": {}, \"faults\": {}}}\n",
            of(&self.answers),
            of(&self.media),
            of(&self.bytes),
            of(&self.accepted),
            of(&self.refused),
            of(&self.faults)
        )
    }
}

/// Counts `n` more; returns how many there were.
pub(crate) fn add(count: &AtomicU64, n: u64) -> u64 {
    count.fetch_add(n, Ordering::Relaxed)
}
