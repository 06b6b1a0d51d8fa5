use crate::Conn;

/// The purpose of an operation in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    /// A multishot receive of a connection.
    Receive,
    /// Waits for input of a connection that is then received by a system call, into the handler's place.
    Room,
    /// A send of a connection.
    Send,
    /// A connect.
    Connect,
    /// Waits for the end of a connection that is not read from.
    Watch,
    /// A multishot accept of a listener.
    Accept,
    /// Waits for a client at a listener, to accept it by a system call.
    Backlog,
    /// Waits for datagrams of a connection.
    Datagrams,
    /// Waits for datagrams at a listener.
    Serve,
    /// A read of the wake-up counter.
    Wake,
    /// The cancellation of another.
    Cancel,
    /// A message to another ring.
    Message,
    /// A message of another ring.
    Rung,
}

const OPS: [Op; 13] = [
    Op::Receive,
    Op::Room,
    Op::Send,
    Op::Connect,
    Op::Watch,
    Op::Accept,
    Op::Backlog,
    Op::Datagrams,
    Op::Serve,
    Op::Wake,
    Op::Cancel,
    Op::Message,
    Op::Rung,
];

/// The generations that fit next to operation and slot.
pub(super) const GENERATIONS: u32 = 1 << 28;

/// Tells, in the 64 bits that the kernel hands back with a completion, what completed: the operation in the upper
/// 4 bits, then 28 of generation and 32 of slot. The generation keeps the completion of an operation that outlived
/// its connection from being taken for one of the connection that has the slot now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) op: Op,
    pub(super) conn: Conn,
}

impl Token {
    /// An operation on a connection.
    #[inline]
    pub(super) fn of(op: Op, conn: Conn) -> Token {
        Token { op, conn }
    }

    /// An operation on something else, by its index.
    pub(super) fn indexed(op: Op, index: usize) -> Token {
        Token { op, conn: Conn { slot: index as u32, generation: 0 } }
    }

    #[inline]
    pub(super) fn pack(self) -> u64 {
        let generation = u64::from(self.conn.generation % GENERATIONS);
        (self.op as u64) << 60 | generation << 32 | u64::from(self.conn.slot)
    }

    /// Bounds: `data` is what [`Token::pack`] gave.
    #[inline]
    pub(super) fn unpack(data: u64) -> Token {
        let generation = (data >> 32) as u32 % GENERATIONS;
        Token { op: OPS[(data >> 60) as usize % OPS.len()], conn: Conn { slot: data as u32, generation } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_the_kernel() {
        for op in OPS {
            for (slot, generation) in [(0, 0), (u32::MAX, 1), (7, GENERATIONS - 1)] {
                let token = Token::of(op, Conn { slot, generation });
                assert_eq!(Token::unpack(token.pack()), token);
            }
        }
        assert_eq!(Token::indexed(Op::Accept, 3).conn.slot, 3);
    }
}
