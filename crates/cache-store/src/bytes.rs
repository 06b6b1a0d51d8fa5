//! Little-endian encoding of numbers for state kept across a restart.

/// The unread remainder; every read reports whether enough bytes were left.
pub struct Rest<'b>(pub &'b [u8]);

impl<'b> Rest<'b> {
    /// The next `length` bytes.
    pub fn take(&mut self, length: u64) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next number.
    pub fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    /// The next number.
    pub fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Reads `count` numbers; `None` if fewer are left.
    pub(crate) fn u64s(&mut self, count: usize) -> Option<Vec<u64>> {
        // Checked before allocating.
        if count > self.0.len() / 8 {
            return None;
        }
        (0..count).map(|_| self.u64()).collect()
    }

    /// Reads `count` numbers; `None` if fewer are left.
    pub(crate) fn u32s(&mut self, count: usize) -> Option<Vec<u32>> {
        if count > self.0.len() / 4 {
            return None;
        }
        (0..count).map(|_| self.u32()).collect()
    }
}

pub(crate) fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_no_more() {
        let mut out = Vec::new();
        put_u32(&mut out, 7);
        put_u64(&mut out, u64::MAX);
        put_u64(&mut out, 9);
        let mut rest = Rest(&out);
        assert_eq!((rest.u32(), rest.u64s(3), rest.u64s(2)), (Some(7), None, Some(vec![u64::MAX, 9])));
        assert_eq!((rest.u32(), rest.u64(), rest.u32s(usize::MAX)), (None, None, None));
    }
}
