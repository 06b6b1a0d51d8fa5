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
        }
    }
}
