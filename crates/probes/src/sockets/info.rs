/// TCP's figures of a connection. All but the round trip only grow.
///
/// Source: `struct tcp_info` in `include/uapi/linux/tcp.h`. Older kernels have a shorter one; missing fields are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Info {
    /// TCP's smoothed round trip: from sending a response to its acknowledgement. Units: µs.
    pub round_trip_us: u64,
    pub resent: u64,
    pub received: u64,
    pub sent: u64,
    /// Time with unacknowledged data, and time limited by the client's window or the own send buffer.
    /// Units: µs.
    pub busy_us: u64,
    pub by_window_us: u64,
    pub by_buffer_us: u64,
}

impl Info {
    pub(super) fn read(bytes: &[u8]) -> Info {
        let word = |at: usize| {
            bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |w| u32::from_ne_bytes(*w))
        };
        let long = |at: usize| {
            bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |w| u64::from_ne_bytes(*w))
        };
        Info {
            round_trip_us: word(68).into(),
            resent: word(100).into(),
            received: long(128),
            busy_us: long(168),
            by_window_us: long(176),
            by_buffer_us: long(184),
            sent: long(200),
        }
    }

    /// The increase since `before`; the current round trip.
    pub(super) fn since(self, before: Info) -> Info {
        Info { round_trip_us: self.round_trip_us, ..self.with(before, u64::saturating_sub) }
    }

    pub(super) fn plus(self, other: Info) -> Info {
        self.with(other, u64::saturating_add)
    }

    fn with(self, other: Info, both: impl Fn(u64, u64) -> u64) -> Info {
        Info {
            round_trip_us: both(self.round_trip_us, other.round_trip_us),
            resent: both(self.resent, other.resent),
            received: both(self.received, other.received),
            sent: both(self.sent, other.sent),
            busy_us: both(self.busy_us, other.busy_us),
            by_window_us: both(self.by_window_us, other.by_window_us),
            by_buffer_us: both(self.by_buffer_us, other.by_buffer_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_wrote() {
        let mut bytes = vec![0; 256];
        bytes[68..72].copy_from_slice(&35_u32.to_ne_bytes());
        bytes[100..104].copy_from_slice(&2_u32.to_ne_bytes());
        for (at, value) in [(128, 1000_u64), (168, 70), (176, 20), (184, 10), (200, 5000)] {
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        let info = Info::read(&bytes);
        let expect = Info {
            round_trip_us: 35,
            resent: 2,
            received: 1000,
            sent: 5000,
            busy_us: 70,
            by_window_us: 20,
            by_buffer_us: 10,
        };
        assert_eq!(info, expect);
        assert_eq!(info.since(info), Info { round_trip_us: 35, ..Info::default() });
        let sum = info.since(Info::default()).plus(info);
        assert_eq!((sum.resent, sum.received, sum.sent), (4, 2000, 10_000));
        // An old kernel's structure ends before the bytes sent.
        assert_eq!(
            Info::read(&bytes[..160]),
            Info { round_trip_us: 35, resent: 2, received: 1000, ..Info::default() }
        );
        assert_eq!(Info::read(&[]), Info::default());
    }
}
