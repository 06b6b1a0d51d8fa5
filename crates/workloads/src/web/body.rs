use std::io::Read;
use std::sync::Arc;

use units::{Bytes, ParseError};
use xxhash_rust::xxh3::xxh3_64;

use crate::web::FileSet;

/// The body of every request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    content: Arc<[u8]>,
}

impl Body {
    /// The longest body: sixteen times nginx's default (`client_max_body_size`, 1 MiB). Each request being sent has a
    /// copy.
    pub const MAX: Bytes = Bytes(16 << 20);

    /// These bytes, which errors call `source`.
    ///
    /// Errors: more than [`Body::MAX`].
    pub fn new(source: &str, content: Vec<u8>) -> Result<Body, ParseError> {
        if content.len() as u64 > Body::MAX.0 {
            return Err(too_long(source, content.len() as u64));
        }
        Ok(Body { content: content.into() })
    }

    /// `length` bytes of text: the content of a file of that size in a set of seed 1.
    ///
    /// Errors: more than [`Body::MAX`].
    pub fn of_size(size: Bytes) -> Result<Body, ParseError> {
        let source = size.to_string();
        if size > Body::MAX {
            return Err(too_long(&source, size.0));
        }
        let mut content = Vec::new();
        let mut text = FileSet::new(1, size.0.to_string().parse()?, 1)?.content(0);
        // A reader made of arithmetic does not fail.
        let _ = text.read_to_end(&mut content);
        Body::new(&source, content)
    }

    /// The bytes.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// The same, to be shared by requests whose bodies have to wait.
    pub(super) fn shared(&self) -> Arc<[u8]> {
        Arc::clone(&self.content)
    }

    /// Its xxh3, in hexadecimal digits, by which two results are known to have sent the same.
    pub fn xxh3(&self) -> String {
        format!("{:016x}", xxh3_64(&self.content))
    }
}

fn too_long(given: &str, length: u64) -> ParseError {
    ParseError {
        what: "body of requests",
        given: given.into(),
        problem: format!("it has {length} B, and a request carries up to {}", Body::MAX),
        hint: "send a shorter one",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_text_of_its_size() {
        let check = |size: u64| {
            let body = Body::of_size(Bytes(size)).unwrap();
            assert_eq!(body.content().len() as u64, size);
            assert!(body.content().iter().all(|b| b.is_ascii_lowercase() || *b == b' '));
            assert_eq!(body, Body::of_size(Bytes(size)).unwrap(), "the same every time");
        };
        [0, 1, 1000, 1 << 20].into_iter().for_each(check);
        assert!(Body::of_size(Bytes(Body::MAX.0 + 1)).unwrap_err().to_string().contains("up to 16 MiB"));
        assert!(Body::new("f", vec![0; (Body::MAX.0 + 1) as usize]).is_err());
    }

    #[test]
    fn a_body_is_known_by_its_content() {
        let body = |content: &[u8]| Body::new("f", content.to_vec()).unwrap();
        assert_eq!(body(b"a=b").xxh3(), body(b"a=b").xxh3());
        assert_ne!(body(b"a=b").xxh3(), body(b"a=c").xxh3());
        assert_eq!(body(b"").xxh3().len(), 16);
    }
}
