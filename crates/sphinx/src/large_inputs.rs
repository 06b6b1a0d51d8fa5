use crate::budget::FREE;

/// Input buffers of requests with large values, to be used again.
///
/// A new buffer of 1 MB is expensive: the system clears it page by page as it fills, and a growing vector copies its
/// content at every doubling. Together that was a quarter of a set of 1 MB (measured).
#[derive(Default)]
pub(crate) struct LargeInputs {
    /// Empty ones.
    spare: Vec<Vec<u8>>,
    /// Total size of the spare buffers. Units: bytes.
    bytes: usize,
    /// Whether to keep no spare buffers, since memory is short.
    pub(crate) frugal: bool,
    /// Whether a large request has taken or left one in the present second.
    in_use: bool,
    /// The second that [`LargeInputs::are_unused`] was last asked in.
    second: u32,
}

/// Larger buffers leave their connection when they are empty, or each would keep one value's memory for good. Units: bytes.
const LARGE: usize = FREE;
/// Capacities are multiples of this, so that one serves requests of about the same size. Units: bytes.
const ROUND: usize = 64 << 10;
/// Spare ones that a thread keeps: of the values that arrive at the same moment, a few of the largest size. Units: bytes.
const KEEP: usize = 8 << 20;

impl LargeInputs {
    /// Makes room in `input` for a request of `length` bytes, if that is large; the content stays.
    #[inline]
    pub(crate) fn reserve(&mut self, input: &mut Vec<u8>, length: usize) {
        if length > LARGE && length > input.capacity() {
            self.exchange(input, length);
        }
    }

    #[cold]
    fn exchange(&mut self, input: &mut Vec<u8>, length: usize) {
        self.in_use = true;
        let fits = |capacity: usize| (length..=2 * length).contains(&capacity);
        let fits = self.spare.iter().rposition(|spare| fits(spare.capacity()));
        let mut larger = match fits {
            Some(spare) => self.spare.swap_remove(spare),
            // A vector that is longer than asked for is charged in full.
            None => Vec::with_capacity(length.next_multiple_of(ROUND)),
        };
        self.bytes -= if fits.is_some() { larger.capacity() } else { 0 };
        larger.extend_from_slice(input);
        self.give(std::mem::replace(input, larger));
    }

    /// Total size of the spare buffers. Units: bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there are spare ones that no request has taken or left for a second, `now` being the present one.
    pub(crate) fn are_unused(&mut self, now: u32) -> bool {
        if now == self.second {
            return false;
        }
        self.second = now;
        !std::mem::take(&mut self.in_use) && self.bytes > 0
    }

    pub(crate) fn clear(&mut self) {
        self.spare.clear();
        self.bytes = 0;
    }

    /// Drops the first `n` bytes of an input buffer, and takes its memory if that is large and not needed.
    pub(crate) fn trim(&mut self, input: &mut Vec<u8>, n: usize) {
        if n == input.len() && input.capacity() > LARGE {
            self.give(std::mem::take(input));
        } else {
            input.drain(..n);
        }
    }

    fn give(&mut self, mut buffer: Vec<u8>) {
        self.in_use |= buffer.capacity() > LARGE;
        if !self.frugal && buffer.capacity() > LARGE && self.bytes + buffer.capacity() <= KEEP {
            buffer.clear();
            self.bytes += buffer.capacity();
            self.spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_keeps_the_rest_and_takes_large_buffers() {
        let mut inputs = LargeInputs::default();
        let mut input = b"get a\r\nget b".to_vec();
        inputs.trim(&mut input, 7);
        assert_eq!(input, b"get b");
        input.reserve(LARGE);
        inputs.trim(&mut input, 2);
        assert_eq!(input, b"t b");
        inputs.trim(&mut input, 3);
        assert_eq!((input.capacity(), inputs.spare.len()), (0, 1));
    }

    #[test]
    fn a_large_buffer_serves_the_next_large_request() {
        let mut inputs = LargeInputs::default();
        let mut input = b"set a 0 0 100000\r\n".to_vec();
        inputs.reserve(&mut input, 1000);
        assert!(input.capacity() < 1000, "a small one grows by itself");
        inputs.reserve(&mut input, 100_020);
        assert!(input == b"set a 0 0 100000\r\n" && input.capacity() == 1 << 17);
        let address = input.as_ptr();
        let length = input.len();
        inputs.trim(&mut input, length);
        let mut other = b"set b".to_vec();
        inputs.reserve(&mut other, 200_000);
        assert_eq!((other.capacity(), inputs.bytes), (1 << 18, 1 << 17), "what is too small is left");
        inputs.reserve(&mut input, 90_000);
        assert_eq!((input.as_ptr(), inputs.bytes), (address, 0));
    }

    #[test]
    fn spare_ones_are_unused_after_a_second_without_large_requests() {
        let mut inputs = LargeInputs::default();
        assert!(!inputs.are_unused(1), "there are none");
        inputs.give(Vec::with_capacity(1 << 17));
        assert!(!inputs.are_unused(1) && !inputs.are_unused(2), "left in the second before");
        let mut input = b"set a 0 0 100000\r\n".to_vec();
        inputs.give(Vec::with_capacity(1 << 20));
        inputs.reserve(&mut input, 100_020);
        assert!(!inputs.are_unused(3), "taken in the second before");
        inputs.give(Vec::with_capacity(100));
        assert!(!inputs.are_unused(3) && inputs.are_unused(4), "small ones are nobody's");
    }

    #[test]
    fn only_so_much_is_kept() {
        let mut inputs = LargeInputs::default();
        for _ in 0..20 {
            inputs.give(Vec::with_capacity(1 << 20));
        }
        assert_eq!((inputs.spare.len(), inputs.bytes), (8, KEEP));
        inputs.give(Vec::with_capacity(100));
        assert_eq!(inputs.spare.len(), 8, "small ones are not worth it");
    }
}
