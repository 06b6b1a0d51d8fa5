//! Fuzzing harness: a user's handling of a site's answers.
//!
//! Try it: `cargo test -p proto-http --test corpus`.

use proto_http::{
    Between, COOKIE_MAX, COOKIES_MAX, Jar, LOCATION_MAX, NEEDLE_MAX, Needle, NeedleMatch, Page, TIMINGS_MAX,
    Take, append_field, follow, timings,
};

/// The longest input that is tried. Units: bytes.
const LENGTH_MAX: usize = 16 * 1024;

/// Uses each line as the value of every field that a site may send (cookie, redirect, timings), and puts it into a form.
///
/// Panics if a result exceeds the documented bounds.
pub(crate) fn user_fields(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let mut jar = Jar::default();
    let url = "http://h:8080/".parse().expect("it is an address");
    let (mut sent, mut form) = (Vec::new(), Vec::new());
    let mut date = None;
    // Each is relative to the target of the one before.
    let mut path = b"/a/b?c".to_vec();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let page = Page { host: "h", path: b"/a/b?c", https: false, now: number as u64 };
        let _ = jar.set(line, date, page);
        assert!(jar.len() <= COOKIES_MAX);
        sent.clear();
        jar.append(page, &mut sent);
        assert!(sent.len() <= 10 + COOKIES_MAX * (COOKIE_MAX + 2));
        let ends = sent.is_empty() || sent.starts_with(b"Cookie: ") && sent.ends_with(b"\r\n");
        assert!(ends && sent.iter().filter(|byte| **byte == b'\n').count() <= 1, "{}", sent.escape_ascii());
        if follow(line, &url, &mut path).is_ok() {
            assert!(path.starts_with(b"/") && path.len() <= LOCATION_MAX);
            assert!(path.iter().all(u8::is_ascii_graphic), "{}", path.escape_ascii());
            let segments = path.split(|byte| *byte == b'?').next().expect("it has one");
            assert!(!segments.split(|byte| *byte == b'/').any(|one| matches!(one, b"." | b"..")));
        }
        let found: Vec<_> = timings(line).collect();
        assert!(found.len() <= TIMINGS_MAX);
        assert!(found.iter().all(|one| one.dur.is_none_or(|dur| (0.0..=3.6e6).contains(&dur))));
        form.clear();
        append_field(b"body", line, true, &mut form);
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"*-._+%=".contains(byte);
        assert!(form.len() <= 5 + 3 * line.len() && form.iter().all(is_plain));
        date = Some(line);
    }
}

/// Searches the rest of the input for its first line, and for text between its first and second line, whole and in pieces.
///
/// Panics if the two differ.
pub(crate) fn needles(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let (Some(first), Some(second), Some(text)) = (lines.next(), lines.next(), lines.next()) else { return };
    let (needle, between) = (Needle::new(first), Between::new(first, second));
    let fits = |text: &[u8]| (1..=NEEDLE_MAX).contains(&text.len());
    assert_eq!((needle.is_some(), between.is_some()), (fits(first), fits(first) && fits(second)));
    let Some(needle) = needle else { return };
    let whole = text.windows(first.len()).position(|part| part == first).map(|at| at + first.len());
    for step in [1, 3, 64, text.len().max(1)] {
        let (mut seen, mut found, mut before) = (NeedleMatch::default(), None, 0);
        for piece in text.chunks(step) {
            found = found.or(needle.find(&mut seen, piece).map(|end| before + end));
            before += piece.len();
            if found.is_some() {
                break;
            }
        }
        assert_eq!(found, whole, "in steps of {step}");
    }
    let Some(between) = between else { return };
    let taken = |step: usize| {
        let (mut state, mut seen, mut value) = (Take::default(), NeedleMatch::default(), Vec::new());
        for piece in text.chunks(step) {
            between.take(&mut state, &mut seen, piece, &mut value);
            assert!(value.len() < NEEDLE_MAX + second.len());
        }
        (state == Take::Taken).then_some(value)
    };
    let behind = whole.map(|from| &text[from..]);
    let length = behind.and_then(|rest| rest.windows(second.len()).position(|part| part == second));
    let expect = length.filter(|length| *length <= NEEDLE_MAX).zip(behind);
    for step in [1, 3, 64, text.len().max(1)] {
        assert_eq!(taken(step), expect.map(|(length, rest)| rest[..length].to_vec()), "in steps of {step}");
    }
}
