/// Arrivals looked ahead per connection before the rest of a backlog stays in the schedule.
///
/// With W of them over C connections of equal speed, a connection runs dry while others hold arrivals with
/// a probability of about C / (W + C) (the queues of a closed network are uniform over the compositions of
/// W), so 1024 each blames the generator for one arrival in a thousand, and only in overload.
const PER_CONNECTION: usize = 1024;
/// Never fewer than this, so that few connections see far enough; some 6 MiB.
const AT_LEAST: usize = 65_536;
/// Never more than this; some 90 MiB, touched in overload only.
const AT_MOST: usize = 1 << 20;

const NONE: u32 = u32::MAX;

struct Node<T> {
    /// `None` while the place is free.
    item: Option<T>,
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

/// The bounded look-ahead: requests that are due and bound to a connection that cannot take them yet.
///
/// A backlog is a cursor into the schedule, never a list. An arrival must nevertheless be bound to its connection at
/// its intended time, so the engine looks at most this far past the cursor; beyond, arrivals stay in the schedule and
/// cost no memory. All room is allocated at the start; only requests that follow from an answer may exceed it, by at
/// most the number of places on the connections.
pub(crate) struct Waiting<T> {
    nodes: Vec<Node<T>>,
    free: u32,
    len: usize,
    room: usize,
}

impl<T> Waiting<T> {
    /// Memory of each item. Units: bytes.
    #[cfg(test)]
    pub(crate) const EACH: usize = size_of::<Node<T>>();

    pub(crate) fn for_connections(connections: usize) -> Waiting<T> {
        Waiting::with_room((connections * PER_CONNECTION).clamp(AT_LEAST, AT_MOST))
    }

    /// A session has one request at a time, so there is always room, and no arrival waits in the schedule.
    pub(crate) fn for_sessions(sessions: usize) -> Waiting<T> {
        Waiting::with_room(sessions + 1)
    }

    fn with_room(room: usize) -> Waiting<T> {
        Waiting { nodes: Vec::with_capacity(room), free: NONE, len: 0, room }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.room
    }

    /// Appends to a connection's line.
    pub(crate) fn push(&mut self, line: &mut Line, item: T) {
        let node = Node { item: Some(item), next: NONE };
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

    /// Returns an item to the front of a connection's line.
    pub(crate) fn push_front(&mut self, line: &mut Line, item: T) {
        let mut alone = Line::default();
        self.push(&mut alone, item);
        self.nodes[alone.head as usize].next = line.head;
        if line.is_empty() {
            line.tail = alone.tail;
        }
        line.head = alone.head;
    }

    /// Takes the oldest of a connection's line.
    pub(crate) fn pop(&mut self, line: &mut Line) -> Option<T> {
        if line.is_empty() {
            return None;
        }
        let at = line.head;
        let node = &mut self.nodes[at as usize];
        line.head = node.next;
        node.next = self.free;
        self.free = at;
        self.len -= 1;
        node.item.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_as_a_queue_per_connection(steps in prop::collection::vec((0usize..4, 0u8..4), 0..400)) {
            let mut waiting = Waiting::with_room(16);
            let mut lines = [Line::default(); 4];
            let mut model: [VecDeque<usize>; 4] = Default::default();
            for (seq, (connection, step)) in steps.into_iter().enumerate() {
                if step == 0 && !waiting.is_full() {
                    waiting.push(&mut lines[connection], seq);
                    model[connection].push_back(seq);
                } else if step == 1 && !waiting.is_full() {
                    waiting.push_front(&mut lines[connection], seq);
                    model[connection].push_front(seq);
                } else if step > 1 {
                    prop_assert_eq!(waiting.pop(&mut lines[connection]), model[connection].pop_front());
                }
                prop_assert_eq!(waiting.oldest(lines[connection]), model[connection].front());
                prop_assert_eq!(waiting.len(), model.iter().map(VecDeque::len).sum::<usize>());
                prop_assert!(waiting.nodes.len() <= 16, "no more memory than at the start");
            }
        }
    }

    impl<T> Waiting<T> {
        /// The oldest of a connection's line.
        pub(crate) fn oldest(&self, line: Line) -> Option<&T> {
            if line.is_empty() { None } else { self.nodes[line.head as usize].item.as_ref() }
        }
    }
}
