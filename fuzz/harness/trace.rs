//! Fuzzing harness: reads arbitrary lines and records as traces of requests.
//!
//! Try it: `cargo test -p replay --test corpus`.

use replay::formats::{Line, Parser, Seen};
use replay::{Format, Record};

/// The longest input that is tried. Units: bytes.
const LENGTH_MAX: usize = 16 * 1024;

/// Recognises a trace, and reads its lines by every format of lines.
///
/// Panics if a request is out of the documented bounds, or comes without being told.
pub(crate) fn traces(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let recognised = Format::recognise(bytes);
    for format in Format::ALL {
        let Some(mut parser) = Parser::of(format) else { continue };
        let mut requests = 0;
        for line in bytes.split(|byte| *byte == b'\n') {
            let mut seen: Vec<Seen> = Vec::new();
            match parser.line(line.trim_ascii(), &mut |one| seen.push(one)) {
                Ok(Line::Requests) => assert!(!seen.is_empty()),
                Ok(Line::Nothing | Line::Skipped) => assert!(seen.is_empty()),
                Err(problem) => assert!(!problem.is_empty()),
            }
            for one in &seen {
                assert!(one.key_size <= 250 && one.ttl_s <= Record::TTL_MAX);
                assert!(one.size.is_none_or(|size| size <= Record::SIZE_MAX));
            }
            requests += seen.len();
        }
        assert!(recognised != Some(format) || requests > 0, "{format} is recognised by a request");
    }
}
