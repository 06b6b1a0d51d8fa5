use proto_memcache::StoreVerb;

/// One operation. Keys are numbers, of which few exist so that they meet.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Looks a key up.
    Get(u8),
    /// Stores a value: made of `seed`, of this length.
    Store {
        /// Which command; `Cas(0)` stands for the item's present number.
        verb: StoreVerb,
        /// Which key.
        key: u8,
        /// Makes values differ.
        seed: u8,
        /// The value's length. Units: bytes.
        length: u16,
        /// As in the protocol.
        exptime: i32,
    },
    /// Stores a number as digits, so that there is something to count.
    SetNumber(u8, u64),
    /// Removes.
    Delete(u8),
    /// Counts up or down.
    Count(u8, bool, u64),
    /// Gives another expiry.
    Touch(u8, i32),
    /// Lets seconds pass.
    Wait(u8),
    /// Flushes, now or later.
    Flush(i32),
    /// Searches for expired items.
    Tend,
    /// Pins a value in the store, as an unsent reply does.
    Pin(u8),
    /// Unpins the value that was pinned first.
    Unpin,
    /// Reserves memory for a value that arrives later: generated from `seed`, of this length.
    Reserve {
        /// Which key.
        key: u8,
        /// Makes values differ.
        seed: u8,
        /// The value's length. Units: bytes.
        length: u16,
        /// As in the protocol.
        exptime: i32,
    },
    /// The value that was reserved first arrives completely, in pieces of that many bytes.
    Commit(u8),
    /// The value that was reserved first does not arrive.
    Abandon,
    /// Requests the segments of a large value that arrives later: generated from `seed`, of this length.
    Claim {
        /// Which key.
        key: u8,
        /// Makes values differ.
        seed: u8,
        /// The value's length. Units: bytes.
        length: u16,
        /// As in the protocol.
        exptime: i32,
    },
    /// Continues to empty the segments of the first request.
    GoOn,
    /// Cancels the request for segments.
    GiveUp,
    /// Gives the store memory for that many segments more than the least.
    Memory(u8),
}

/// As in the protocol: never, over, soon, the longest that counts from now, and a moment.
const EXPTIMES: [i32; 8] = [0, 0, 0, -1, 1, 5, 30 * 86_400, 1_700_000_003];

/// Reads one of six bytes, as a fuzzer makes them.
pub(super) fn decode(chunk: &[u8]) -> Op {
    let [kind, key, a, b, c, d] = *chunk else { unreachable!("chunks of six") };
    let wide = i32::from_le_bytes([b, c, d, a]);
    let wide_length = u16::from_le_bytes([b, c]);
    let length = wide_length % 2400;
    match kind % 16 {
        0..=3 => Op::Get(key),
        4..=9 => Op::Store {
            verb: match kind % 16 {
                4 | 5 => StoreVerb::Set,
                6 => StoreVerb::Add,
                7 => StoreVerb::Replace,
                8 => [StoreVerb::Append, StoreVerb::Prepend][usize::from(a % 2)],
                _ => StoreVerb::Cas(u64::from(a % 2)),
            },
            key,
            seed: a,
            length,
            exptime: EXPTIMES[usize::from(d % 8)],
        },
        10 => Op::SetNumber(key, u64::from(wide as u32) << (c % 33)),
        11 => Op::Delete(key),
        12 => Op::Count(key, a % 2 == 0, u64::from(wide as u32) << (c % 33)),
        13 => Op::Touch(key, wide % 8),
        14 if b % 8 == 7 => Op::Memory(c % 48),
        14 => Op::Wait(a % 4),
        _ if kind >= 0xc0 => {
            Op::Claim { key, seed: a, length: wide_length % 12_000, exptime: EXPTIMES[usize::from(d >> 5)] }
        }
        _ if kind >= 0x80 && d >= 8 => Op::GoOn,
        _ if kind >= 0x80 => Op::GiveUp,
        _ if d % 8 == 0 => Op::Flush(wide % 4),
        _ if d % 8 == 1 => Op::Tend,
        _ if d % 8 < 4 => Op::Pin(key),
        _ if d % 8 == 4 => Op::Unpin,
        _ if d % 8 == 5 => Op::Commit(b),
        _ if d % 8 == 6 && d > 200 => Op::Abandon,
        _ => Op::Reserve { key, seed: a, length, exptime: EXPTIMES[usize::from(d >> 5)] },
    }
}
