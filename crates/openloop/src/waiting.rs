use crate::Arrival;

/// Arrivals looked ahead per connection before the rest of a backlog stays in the schedule.
///
/// With W of them over C connections of equal speed, a connection runs dry while others hold arrivals with
/// a probability of about C / (W + C) (the queues of a closed network are uniform over the compositions of
/// W), so 1024 each blames the generator for one arrival in a thousand, and only in overload.
const PER_CONNECTION: usize = 1024;
/// Never fewer than this, so that few connections see far enough; 1.5 MiB.
const AT_LEAST: usize = 65_536;
/// Never more than this; 96 MiB.
const AT_MOST: usize = 4 << 20;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    arrival: Arrival,
    next: u32,
}

/// One connection's queue within [`Waiting`], first in first out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    head: u32,
    tail: u32,
}

impl Default for Line {
    fn default() -> Line {
        Line { head: NONE, tail: NONE }
    }
}

impl Line {
    pub(crate) fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// The bounded look-ahead: arrivals that are due and bound to a connection that cannot take them yet.
///
/// A backlog is a cursor into the schedule, never a list. An arrival must nevertheless be bound to its
/// connection at its intended time, so the engine looks at most this far past the cursor; beyond, arrivals
/// stay in the schedule, where they cost no memory. All room is taken at the start.
pub(crate) struct Waiting {
    nodes: Vec<Node>,
    free: u32,
    len: usize,
    room: usize,
}

impl Waiting {
    pub(crate) fn for_connections(connections: usize) -> Waiting {
        Waiting::with_room((connections * PER_CONNECTION).clamp(AT_LEAST, AT_MOST))
    }

    fn with_room(room: usize) -> Waiting {
        Waiting { nodes: Vec::with_capacity(room), free: NONE, len: 0, room }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == self.room
    }

    /// Appends to a connection's line. The look-ahead must not be full.
    pub(crate) fn push(&mut self, line: &mut Line, arrival: Arrival) {
        debug_assert!(!self.is_full());
        let node = Node { arrival, next: NONE };
        let at = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            // The place used last is reused first: it is still in the processor's cache.
            let at = self.free;
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
            at
        };
        if line.is_empty() {
            line.head = at;
        } else {
            self.nodes[line.tail as usize].next = at;
        }
        line.tail = at;
        self.len += 1;
    }

    /// Takes the oldest of a connection's line.
    pub(crate) fn pop(&mut self, line: &mut Line) -> Option<Arrival> {
        if line.is_empty() {
            return None;
        }
        let at = line.head;
        let node = self.nodes[at as usize];
        line.head = node.next;
        self.nodes[at as usize].next = self.free;
        self.free = at;
        self.len -= 1;
        Some(node.arrival)
    }

    /// When the oldest of a connection's line was due.
    #[cfg(test)]
    pub(crate) fn oldest(&self, line: Line) -> Option<units::Time> {
        (!line.is_empty()).then(|| self.nodes[line.head as usize].arrival.intended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use units::Time;

    fn arrival(seq: u64) -> Arrival {
        Arrival { seq, intended: Time(seq) }
    }

    proptest! {
        #[test]
        fn behaves_as_a_queue_per_connection(steps in prop::collection::vec((0usize..4, any::<bool>()), 0..400)) {
            let mut waiting = Waiting::with_room(16);
            let mut lines = [Line::default(); 4];
            let mut model: [VecDeque<Arrival>; 4] = Default::default();
            for (seq, (connection, push)) in steps.into_iter().enumerate() {
                if push && !waiting.is_full() {
                    waiting.push(&mut lines[connection], arrival(seq as u64));
                    model[connection].push_back(arrival(seq as u64));
                } else if !push {
                    prop_assert_eq!(waiting.pop(&mut lines[connection]), model[connection].pop_front());
                }
                prop_assert_eq!(waiting.oldest(lines[connection]), model[connection].front().map(|a| a.intended));
                prop_assert_eq!(waiting.len(), model.iter().map(VecDeque::len).sum::<usize>());
                prop_assert!(waiting.nodes.len() <= 16, "no more memory than at the start");
            }
        }
    }
}
