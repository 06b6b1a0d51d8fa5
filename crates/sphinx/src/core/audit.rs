//! What must hold of a thread's memory between two turns, whatever clients do; for the simulation.

use reactor::Reactor;

use super::Core;
use crate::client::{ASKS_MAX, OUTPUT_MAX};

/// What a request or a reply has beside its value, at most. Units: bytes.
const LINE: usize = 1 << 10;

impl<R: Reactor> Core<R> {
    /// Walks the thread's own partitions and compares what is there with what they count. Panics where it differs, or
    /// is more than the memory.
    pub(crate) fn audit_partitions(&mut self) {
        self.partitions.for_own(|store| store.audit());
    }

    /// Panics where a connection holds more than it may, if `received` is the most that comes at once. Units: bytes.
    pub(crate) fn audit_connections(&self, reactor: &R, received: usize) {
        let item = self.common.config.item_max + LINE;
        // Other threads may each be making a reply when the output reaches its limit, and this one makes the last.
        let under_way = if self.links.len() > 1 { ASKS_MAX } else { 0 };
        let output_max = OUTPUT_MAX + (under_way + 1) * item;
        for client in self.clients.iter().flatten() {
            let output = reactor.unsent(client.conn) + client.replies.bytes();
            assert!(output <= output_max, "{output} B of output, over {output_max} B");
            let (input, input_max) = (client.input.len(), item + received);
            assert!(input <= input_max, "{input} B of input, over {input_max} B");
        }
    }
}
