/// The offset of the first `byte` in `bytes`.
///
/// Cost: about one nanosecond per 8 bytes; a byte-wise loop took a third of the time of a whole parse.
#[inline]
pub(crate) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let pattern = LOW * u64::from(byte);
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        // A byte of `difference` is zero at an occurrence of `byte`; the subtraction borrows into its high bit. A
        // borrow can mark bytes above the first match wrongly, never below it.
        let difference = u64::from_le_bytes(*word) ^ pattern;
        let marks = difference.wrapping_sub(LOW) & !difference & HIGH;
        if marks != 0 {
            return Some(i * 8 + (marks.trailing_zeros() / 8) as usize);
        }
    }
    let start = bytes.len() - rest.len();
    rest.iter().position(|&b| b == byte).map(|i| start + i)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_plain_loop_finds(bytes in prop::collection::vec(0u8..4, 0..40), byte in 0u8..4) {
            prop_assert_eq!(find(byte, &bytes), bytes.iter().position(|&b| b == byte));
        }

        #[test]
        fn finds_among_all_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40), byte: u8) {
            prop_assert_eq!(find(byte, &bytes), bytes.iter().position(|&b| b == byte));
        }
    }
}
