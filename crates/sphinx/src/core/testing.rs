//! Invariants of a thread's memory between two turns, under any client behaviour; for the simulation.

use reactor::Reactor;

use super::Core;
use crate::client::{ASKS_MAX, OUTPUT_MAX};

/// Most bytes of a request or a reply in addition to its value. Units: bytes.
const LINE: usize = 1 << 10;

impl<R: Reactor> Core<R> {
    /// Whether the memory for items can grow. Memory from the machine's pool of huge pages, which other tests resize, cannot.
    pub(crate) fn memory_may_grow(&mut self) -> bool {
        let share = self.common.memory.bytes().0 as usize / self.partitions.count();
        let mut may = true;
        self.partitions.for_own(|store| may &= store.memory_max() > share);
        may
    }

    /// Walks the thread's own partitions and compares their contents with their counters. Panics if they differ, or
    /// exceed the memory.
    pub(crate) fn audit_partitions(&mut self) {
        self.partitions.for_own(|store| store.audit());
    }

    /// Panics if the charge of the thread's account differs from the sum of its connections, messages and spare buffers.
    pub(crate) fn audit_account(&self) {
        let links: usize = self.links.iter().flatten().map(|link| link.large_bytes()).sum();
        let mut charged = links + self.spare_charged;
        for client in self.clients.iter().flatten() {
            assert_eq!(client.charged[0], client.input_memory(), "the charge of an input");
            charged += client.charged.iter().sum::<usize>();
        }
        assert_eq!(self.account.used(), charged);
        assert_eq!(self.spare_charged, self.large_inputs.bytes());
        self.audit_holders();
    }

    /// Panics if anything is charged although all clients have disconnected.
    pub(crate) fn audit_account_is_empty(&mut self) {
        assert_eq!(self.clients.iter().flatten().count(), 0, "clients are still there");
        self.give_spare_back();
        assert_eq!(self.account.used(), 0);
    }

    /// Panics unless the whole budget is free, once no thread has charges.
    pub(crate) fn audit_budget_is_whole(&self) {
        self.common.budget.audit_is_whole();
    }

    /// How often a connection had to wait for memory.
    pub(crate) fn memory_waits(&self) -> u64 {
        self.stats.connection_memory_waits
    }

    /// Panics if a connection exceeds its memory bounds; `received` is the most bytes of one receive. Units: bytes.
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
