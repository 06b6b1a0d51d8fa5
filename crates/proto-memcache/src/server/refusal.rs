macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident = $line:literal,)*) => {
        /// Why a request is not carried out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Refusal {
            $($(#[$doc])* $name,)*
        }

        impl Refusal {
            /// The reply that clients match on. Source: memcached 1.6.45, asked.
            pub fn line(self) -> &'static [u8] {
                match self {
                    $(Refusal::$name => $line,)*
                }
            }
        }
    };
}

refusals! {
    /// No such command.
    Unknown = b"ERROR\r\n",
    /// Too few words, a key over 250 bytes, or something that should be a number.
    BadFormat = b"CLIENT_ERROR bad command line format\r\n",
    /// A value without a line end at its announced length.
    BadChunk = b"CLIENT_ERROR bad data chunk\r\n",
    /// An expiry time that is not a number.
    BadExptime = b"CLIENT_ERROR invalid exptime argument\r\n",
    /// Not a number to count up or down by.
    BadDelta = b"CLIENT_ERROR invalid numeric delta argument\r\n",
    /// `incr` or `decr` of a value that is not a number.
    NonNumeric = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
    /// An item over the largest size; its value is skipped.
    TooLarge = b"SERVER_ERROR object too large for cache\r\n",
    /// No memory for an item that is to be stored.
    OutOfMemory = b"SERVER_ERROR out of memory storing object\r\n",
    /// No memory to change an item.
    NoMemory = b"SERVER_ERROR out of memory\r\n",
    /// No memory for an item that `ma` is to make.
    NoMemoryToCount = b"SERVER_ERROR Out of memory allocating new item\r\n",
    /// A duplicate meta flag.
    DuplicateFlag = b"CLIENT_ERROR duplicate flag\r\n",
    /// A meta flag that there is not.
    InvalidFlag = b"CLIENT_ERROR invalid flag\r\n",
    /// The reply of `ma` to any wrong flag.
    BadFlags = b"CLIENT_ERROR invalid or duplicate flag\r\n",
    /// More flags than a meta command takes.
    FlagsTooLong = b"CLIENT_ERROR options flags are too long\r\n",
    /// A number of a meta flag that is none.
    BadToken = b"CLIENT_ERROR bad token in command line format\r\n",
    /// A key that is not base 64.
    BadKey = b"CLIENT_ERROR error decoding key\r\n",
    /// A mode that `ms` does not know.
    SetMode = b"CLIENT_ERROR invalid mode for ms M token\r\n",
    /// A mode that `ma` does not know.
    CountMode = b"CLIENT_ERROR invalid mode for ma M token\r\n",
    /// A flag `J` that is not a number.
    BadInitial = b"CLIENT_ERROR invalid numeric initial value\r\n",
    /// A flag `D` that is not a number.
    BadMetaDelta = b"CLIENT_ERROR invalid numeric delta value\r\n",
    /// A flag `O` of more than 31 bytes.
    OpaqueTooLong = b"CLIENT_ERROR opaque token too long\r\n",
    /// `stats detail` without one of its words.
    StatsDetail = b"CLIENT_ERROR usage: stats detail on|off|dump\r\n",
    /// `stats detail` if keys may not be listed.
    NoDetail = b"CLIENT_ERROR stats detail not allowed\r\n",
    /// `stats hotkeys` if keys may not be listed.
    NoHotKeys = b"CLIENT_ERROR stats hotkeys not allowed\r\n",
    /// `stats cachedump` if keys may not be listed.
    NoCachedump = b"CLIENT_ERROR stats cachedump not allowed\r\n",
    /// `stats cachedump` without a class and a limit.
    BadLine = b"CLIENT_ERROR bad command line\r\n",
    /// `stats cachedump` with a class over 63.
    BadSlab = b"CLIENT_ERROR Illegal slab id\r\n",
    /// `lru_crawler metadump` if keys may not be listed.
    NoMetadump = b"ERROR metadump not allowed\r\n",
    /// `lru_crawler mgdump` if keys may not be listed.
    NoKeyDump = b"ERROR key dump not allowed\r\n",
    /// Classes of sizes that there are not.
    BadClass = b"BADCLASS invalid class id\r\n",
    /// `slabs reassign` with classes that there are not.
    BadMove = b"BADCLASS invalid src or dst class id\r\n",
    /// `slabs reassign` of a class to itself.
    SameClass = b"SAME src and dst class are identical\r\n",
    /// `slabs automove window` out of its bounds.
    AutomoveWindow = b"CLIENT_ERROR automove window too low or too high\r\n",
    /// `lru_crawler sleep` over a second.
    CrawlerSleep = b"CLIENT_ERROR sleep must be one second or less\r\n",
    /// `lru tune` with more than 80 %.
    LruShares = b"ERROR hot and warm pcts must not exceed 80\r\n",
    /// `lru tune` with factors not above 0.
    LruFactors = b"ERROR hot/warm age factors must be greater than 0\r\n",
    /// `watch`, if not allowed.
    NoWatch = b"CLIENT_ERROR watch commands not allowed\r\n",
    /// `watch`, if the maximum number of watchers is reached.
    TooManyWatchers = b"WATCHER_TOO_MANY log watcher limit reached\r\n",
    /// `refresh_certs` without TLS.
    NoTls = b"Error TLS not enabled\r\n",
    /// `shutdown`, if not allowed.
    NoShutdown = b"SERVER_ERROR: shutdown not enabled\r\n",
    /// `shutdown` with something unknown.
    ShutdownMode = b"CLIENT_ERROR invalid shutdown mode\r\n",
    /// `cache_memlimit` with less than 8 MiB.
    MemoryTooSmall = b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
    /// `cache_memlimit` with a number so large that it must be in bytes.
    MemoryInBytes = b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n",
    /// `cache_memlimit` with any other size that is unavailable.
    MemoryOutOfBounds = b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n",
}
