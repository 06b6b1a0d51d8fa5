/// Why a request is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No such command, or not with so many words.
    Unknown,
    /// A key over 250 bytes, or something that should be a number.
    BadFormat,
    /// `delete` with something that is neither `0` nor `noreply`.
    BadDelete,
    /// A value without a line end where it should be over.
    BadChunk,
    /// An expiry time that is not a number.
    BadExptime,
    /// Not a number to count up or down by.
    BadDelta,
    /// `incr` or `decr` of a value that is no number.
    NonNumeric,
    /// An item over the largest size; its value is skipped.
    TooLarge,
    /// No memory for an item.
    OutOfMemory,
    /// A meta flag that stands twice.
    DuplicateFlag,
    /// A meta flag that there is not.
    InvalidFlag,
    /// What `md` and `ma` say of any wrong flag.
    BadFlags,
    /// More flags than `mg` takes.
    FlagsAreTooLong,
    /// More flags than the other meta commands take.
    FlagsTooLong,
    /// A number of a meta flag that is none.
    BadToken,
    /// A key that is no base 64.
    BadKey,
    /// A flag `M` of another length than one letter.
    ModeLength,
    /// A mode that `ms` does not know.
    SetMode,
    /// A mode that `ma` does not know.
    CountMode,
    /// A flag `J` that is no number.
    BadInitial,
    /// A flag `D` that is no number.
    BadMetaDelta,
    /// A flag `O` of more than 31 bytes.
    OpaqueTooLong,
    /// `stats detail` without one of its words.
    StatsDetail,
    /// `stats cachedump`, which lists keys.
    NoCachedump,
    /// `shutdown` where it is not allowed.
    NoShutdown,
    /// `shutdown` with something unknown.
    ShutdownMode,
    /// `cache_memlimit` with less than 8 MiB.
    MemoryTooSmall,
    /// `cache_memlimit` with what must be meant as bytes.
    MemoryInBytes,
    /// `cache_memlimit` with anything else that cannot be had.
    MemoryOutOfBounds,
}

impl Refusal {
    /// The reply that clients match on. Source: memcached 1.6.18, asked.
    pub fn line(self) -> &'static [u8] {
        match self {
            Refusal::Unknown => b"ERROR\r\n",
            Refusal::BadFormat => b"CLIENT_ERROR bad command line format\r\n",
            Refusal::BadDelete => b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n",
            Refusal::BadChunk => b"CLIENT_ERROR bad data chunk\r\n",
            Refusal::BadExptime => b"CLIENT_ERROR invalid exptime argument\r\n",
            Refusal::BadDelta => b"CLIENT_ERROR invalid numeric delta argument\r\n",
            Refusal::NonNumeric => b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
            Refusal::TooLarge => b"SERVER_ERROR object too large for cache\r\n",
            Refusal::OutOfMemory => b"SERVER_ERROR out of memory storing object\r\n",
            Refusal::DuplicateFlag => b"CLIENT_ERROR duplicate flag\r\n",
            Refusal::InvalidFlag => b"CLIENT_ERROR invalid flag\r\n",
            Refusal::BadFlags => b"CLIENT_ERROR invalid or duplicate flag\r\n",
            Refusal::FlagsAreTooLong => b"CLIENT_ERROR options flags are too long\r\n",
            Refusal::FlagsTooLong => b"CLIENT_ERROR options flags too long\r\n",
            Refusal::BadToken => b"CLIENT_ERROR bad token in command line format\r\n",
            Refusal::BadKey => b"CLIENT_ERROR error decoding key\r\n",
            Refusal::ModeLength => b"CLIENT_ERROR incorrect length for M token\r\n",
            Refusal::SetMode => b"CLIENT_ERROR invalid mode for ms M token\r\n",
            Refusal::CountMode => b"CLIENT_ERROR invalid mode for ma M token\r\n",
            Refusal::BadInitial => b"CLIENT_ERROR invalid numeric initial value\r\n",
            Refusal::BadMetaDelta => b"CLIENT_ERROR invalid numeric delta value\r\n",
            Refusal::OpaqueTooLong => b"CLIENT_ERROR opaque token too long\r\n",
            Refusal::StatsDetail => b"CLIENT_ERROR usage: stats detail on|off|dump\r\n",
            Refusal::NoCachedump => b"CLIENT_ERROR stats cachedump not allowed\r\n",
            Refusal::NoShutdown => b"ERROR: shutdown not enabled\r\n",
            Refusal::ShutdownMode => b"CLIENT_ERROR invalid shutdown mode\r\n",
            Refusal::MemoryTooSmall => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
            Refusal::MemoryInBytes => b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n",
            Refusal::MemoryOutOfBounds => b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n",
        }
    }
}
