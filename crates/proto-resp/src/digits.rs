/// Digits of the longest number: 2⁶⁴ − 1 has 20.
pub(crate) const DIGITS: usize = 20;

/// A number in decimal, at the end of `room`.
#[inline]
pub(crate) fn digits(mut number: u64, room: &mut [u8; DIGITS]) -> &[u8] {
    let mut start = DIGITS;
    loop {
        start -= 1;
        room[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &room[start..];
        }
    }
}
