use crate::auth::{Attempt, attempt};

/// A line without an end is awaited up to this length, in any pieces. Units: bytes.
const LINE_MAX: usize = 2048;
/// A client that has not logged in may not have the server keep more than this, however slowly it comes. Units: bytes.
const KEPT_MAX: usize = 20 << 10;

/// Reads first requests in three ways, whole and in steps, which must give the same result.
///
/// Panics if they differ, or if an invariant does not hold.
pub fn first_requests(bytes: &[u8]) {
    let short = &bytes[..bytes.len().min(LINE_MAX)];
    let whole = attempts(short, LINE_MAX);
    for step in [1, 3] {
        assert_eq!(attempts(short, step), whole, "in steps of {step}");
    }
    attempts(&bytes[..bytes.len().min(4 * KEPT_MAX)], 16);
}

/// Every attempt, as text, when the bytes come `step` at a time, and the number of bytes left over.
fn attempts(bytes: &[u8], step: usize) -> (Vec<String>, usize) {
    let (mut seen, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        let shown = &bytes[start..end];
        let found = attempt(shown);
        let used = match found {
            Attempt::NeedMore => {
                assert!(shown.len() < KEPT_MAX, "{} bytes of an unknown client are kept", shown.len());
                if end == bytes.len() {
                    return (seen, bytes.len() - start);
                }
                end = (end + step).min(bytes.len());
                continue;
            }
            Attempt::Close => {
                seen.push("closed".into());
                return (seen, 0);
            }
            Attempt::Refused(used, reply) => {
                assert!(reply.starts_with(b"CLIENT_ERROR ") && reply.ends_with(b"\r\n"));
                used
            }
            Attempt::Words(used, user, password) => {
                assert!(!user.contains(&b' ') && user.len() + password.len() < used);
                assert!(shown[..used].ends_with(b"\r\n"));
                used
            }
        };
        assert!((1..=shown.len()).contains(&used));
        seen.push(format!("{found:?}"));
        start += used;
    }
}
