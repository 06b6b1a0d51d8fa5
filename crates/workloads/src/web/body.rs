use std::io::Read;
use std::sync::Arc;

use serde::Serialize;
use units::{Bytes, ParseError};
use xxhash_rust::xxh3::xxh3_64;

use crate::web::FileSet;

/// What every request carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Body {
    /// Where it comes from: a file's name, or a size.
    source: String,
    /// Its length. Units: bytes.
    length: usize,
    /// Its xxh3, in hexadecimal digits, by which two results are known to have sent the same.
    xxh3: String,
    #[serde(skip)]
    content: Arc<[u8]>,
}

impl Body {
    /// The longest: sixteen times what nginx takes by default (`client_max_body_size`, 1 MiB). Each request that is being
    /// sent has a copy.
    pub const MAX: Bytes = Bytes(16 << 20);

    /// These bytes, which are called `source` in results.
    ///
    /// Errors: more than [`Body::MAX`].
    pub fn new(source: &str, content: Vec<u8>) -> Result<Body, ParseError> {
        if content.len() as u64 > Body::MAX.0 {
            return Err(too_long(source, content.len() as u64));
        }
        let xxh3 = format!("{:016x}", xxh3_64(&content));
        Ok(Body { source: source.into(), length: content.len(), xxh3, content: content.into() })
    }

    /// So many bytes of text: those of a file of that size in a set of seed 1.
    ///
    /// Errors: more than [`Body::MAX`].
    pub fn of_size(size: Bytes) -> Result<Body, ParseError> {
        let source = size.to_string();
        if size > Body::MAX {
            return Err(too_long(&source, size.0));
        }
        let mut content = Vec::new();
        let mut text = FileSet::new(1, size.0.to_string().parse()?, 1)?.content(0);
        // A reader that is made of arithmetic does not fail.
        let _ = text.read_to_end(&mut content);
        Body::new(&source, content)
    }

    /// The bytes.
    pub fn content(&self) -> &[u8] {
        &self.content
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
    fn a_result_records_which_it_was() {
        let recorded = serde_json::to_value(Body::new("/srv/form", b"a=b".to_vec()).unwrap()).unwrap();
        assert_eq!((&recorded["source"], &recorded["length"]), (&"/srv/form".into(), &3.into()));
        assert!(
            recorded["xxh3"].as_str().is_some_and(|hex| hex.len() == 16) && recorded.get("content").is_none()
        );
    }
}
