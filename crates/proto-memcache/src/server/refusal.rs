/// Why a request is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No such command.
    Unknown,
    /// Too few words, a key over 250 bytes, or something that should be a number.
    BadFormat,
    /// A value without a line end where it should be over.
    BadChunk,
    /// An expiry time that is not a number.
    BadExptime,
    /// Not a number to count up or down by.
    BadDelta,
    /// `incr` or `decr` of a value that is not a number.
    NonNumeric,
    /// An item over the largest size; its value is skipped.
    TooLarge,
    /// No memory for an item that is to be stored.
    OutOfMemory,
    /// No memory to change an item.
    NoMemory,
    /// No memory for an item that `ma` is to make.
    NoMemoryToCount,
    /// A meta flag that stands twice.
    DuplicateFlag,
    /// A meta flag that there is not.
    InvalidFlag,
    /// What `ma` says of any wrong flag.
    BadFlags,
    /// More flags than a meta command takes.
    FlagsTooLong,
    /// A number of a meta flag that is none.
    BadToken,
    /// A key that is not base 64.
    BadKey,
    /// A mode that `ms` does not know.
    SetMode,
    /// A mode that `ma` does not know.
    CountMode,
    /// A flag `J` that is not a number.
    BadInitial,
    /// A flag `D` that is not a number.
    BadMetaDelta,
    /// A flag `O` of more than 31 bytes.
    OpaqueTooLong,
    /// `stats detail` without one of its words.
    StatsDetail,
    /// `stats detail` where keys may not be listed.
    NoDetail,
    /// `stats cachedump` where keys may not be listed.
    NoCachedump,
    /// `stats cachedump` without a class and a limit.
    BadLine,
    /// `stats cachedump` with a class over 63.
    BadSlab,
    /// `lru_crawler metadump` where keys may not be listed.
    NoMetadump,
    /// `lru_crawler mgdump` where keys may not be listed.
    NoKeyDump,
    /// Classes of sizes that there are not.
    BadClass,
    /// `slabs reassign` with classes that there are not.
    BadMove,
    /// `slabs reassign` of a class to itself.
    SameClass,
    /// `slabs automove window` out of its bounds.
    AutomoveWindow,
    /// `lru_crawler sleep` over a second.
    CrawlerSleep,
    /// `lru tune` with more than 80 %.
    LruShares,
    /// `lru tune` with factors not above 0.
    LruFactors,
    /// `watch`, which there is not.
    NoWatch,
    /// `refresh_certs` without TLS.
    NoTls,
    /// `shutdown` where it is not allowed.
    NoShutdown,
    /// `shutdown` with something unknown.
    ShutdownMode,
    /// `cache_memlimit` with less than 8 MiB.
    MemoryTooSmall,
    /// `cache_memlimit` with what must be meant as bytes.
    MemoryInBytes,
    /// `cache_memlimit` with any other size that is unavailable.
    MemoryOutOfBounds,
}

impl Refusal {
    /// The reply that clients match on. Source: memcached 1.6.45, asked.
    pub fn line(self) -> &'static [u8] {
        match self {
            Refusal::Unknown => b"ERROR\r\n",
            Refusal::BadFormat => b"CLIENT_ERROR bad command line format\r\n",
            Refusal::BadChunk => b"CLIENT_ERROR bad data chunk\r\n",
            Refusal::BadExptime => b"CLIENT_ERROR invalid exptime argument\r\n",
            Refusal::BadDelta => b"CLIENT_ERROR invalid numeric delta argument\r\n",
            Refusal::NonNumeric => b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
            Refusal::TooLarge => b"SERVER_ERROR object too large for cache\r\n",
            Refusal::OutOfMemory => b"SERVER_ERROR out of memory storing object\r\n",
            Refusal::NoMemory => b"SERVER_ERROR out of memory\r\n",
            Refusal::NoMemoryToCount => b"SERVER_ERROR Out of memory allocating new item\r\n",
            Refusal::DuplicateFlag => b"CLIENT_ERROR duplicate flag\r\n",
            Refusal::InvalidFlag => b"CLIENT_ERROR invalid flag\r\n",
            Refusal::BadFlags => b"CLIENT_ERROR invalid or duplicate flag\r\n",
            Refusal::FlagsTooLong => b"CLIENT_ERROR options flags are too long\r\n",
            Refusal::BadToken => b"CLIENT_ERROR bad token in command line format\r\n",
            Refusal::BadKey => b"CLIENT_ERROR error decoding key\r\n",
            Refusal::SetMode => b"CLIENT_ERROR invalid mode for ms M token\r\n",
            Refusal::CountMode => b"CLIENT_ERROR invalid mode for ma M token\r\n",
            Refusal::BadInitial => b"CLIENT_ERROR invalid numeric initial value\r\n",
            Refusal::BadMetaDelta => b"CLIENT_ERROR invalid numeric delta value\r\n",
            Refusal::OpaqueTooLong => b"CLIENT_ERROR opaque token too long\r\n",
            Refusal::StatsDetail => b"CLIENT_ERROR usage: stats detail on|off|dump\r\n",
            Refusal::NoDetail => b"CLIENT_ERROR stats detail not allowed\r\n",
            Refusal::BadLine => b"CLIENT_ERROR bad command line\r\n",
            Refusal::BadSlab => b"CLIENT_ERROR Illegal slab id\r\n",
            Refusal::NoMetadump => b"ERROR metadump not allowed\r\n",
            Refusal::NoKeyDump => b"ERROR key dump not allowed\r\n",
            Refusal::BadClass => b"BADCLASS invalid class id\r\n",
            Refusal::BadMove => b"BADCLASS invalid src or dst class id\r\n",
            Refusal::SameClass => b"SAME src and dst class are identical\r\n",
            Refusal::AutomoveWindow => b"CLIENT_ERROR automove window too low or too high\r\n",
            Refusal::CrawlerSleep => b"CLIENT_ERROR sleep must be one second or less\r\n",
            Refusal::LruShares => b"ERROR hot and warm pcts must not exceed 80\r\n",
            Refusal::LruFactors => b"ERROR hot/warm age factors must be greater than 0\r\n",
            Refusal::NoWatch => b"CLIENT_ERROR watch commands not allowed\r\n",
            Refusal::NoTls => b"Error TLS not enabled\r\n",
            Refusal::NoCachedump => b"CLIENT_ERROR stats cachedump not allowed\r\n",
            Refusal::NoShutdown => b"SERVER_ERROR: shutdown not enabled\r\n",
            Refusal::ShutdownMode => b"CLIENT_ERROR invalid shutdown mode\r\n",
            Refusal::MemoryTooSmall => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
            Refusal::MemoryInBytes => b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n",
            Refusal::MemoryOutOfBounds => b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n",
        }
    }
}
