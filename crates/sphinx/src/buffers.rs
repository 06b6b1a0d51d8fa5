/// Empty buffers to be used again, so that messages allocate nothing once traffic has begun.
///
/// A request takes one along to the key's owner and its answer brings one back, so both sides keep theirs.
#[derive(Default)]
pub(crate) struct Buffers {
    spare: Vec<Vec<u8>>,
}

/// Buffers kept: as many as messages are commonly under way.
const KEEP: usize = 1024;
/// Larger ones are freed, or one burst of large values would hold their memory for good. Units: bytes.
const KEEP_LENGTH: usize = 4 << 10;

impl Buffers {
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < KEEP && (1..=KEEP_LENGTH).contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_empty_unless_they_are_large() {
        let mut buffers = Buffers::default();
        let mut buffer = buffers.take();
        buffer.extend_from_slice(b"some bytes");
        let address = buffer.as_ptr();
        buffers.give(buffer);
        buffers.give(Vec::with_capacity(KEEP_LENGTH + 1));
        let again = buffers.take();
        assert!(again.is_empty() && again.as_ptr() == address);
        assert_eq!(buffers.take().capacity(), 0);
    }
}
