use std::fmt;

/// The requests of one connection, in batches: the next begins when the one before is answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) batches: Vec<Batch>,
}

/// Requests that are sent without waiting in between.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) requests: Vec<Request>,
    /// Where the bytes are cut, in thousandths of their length.
    pub(crate) cuts: Vec<usize>,
}

/// One request, or something like it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) parts: Vec<Part>,
}

/// A piece of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Bytes(Vec<u8>),
    /// A unique number that this server has sent for the key: the last one, or an earlier one.
    Cas {
        key: &'static str,
        back: usize,
    },
}

impl Request {
    pub(crate) fn new(text: &str) -> Request {
        let mut request = Request::default();
        request.push(text);
        request
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        if let Some(Part::Bytes(last)) = self.parts.last_mut() {
            last.extend_from_slice(bytes);
        } else {
            self.parts.push(Part::Bytes(bytes.to_vec()));
        }
    }

    pub(crate) fn push_cas(&mut self, key: &'static str, back: usize) {
        self.parts.push(Part::Cas { key, back });
    }

    /// The bytes, with unique numbers from `cas`.
    pub(crate) fn bytes(&self, mut cas: impl FnMut(&str, usize) -> u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            match part {
                Part::Bytes(part) => bytes.extend_from_slice(part),
                Part::Cas { key, back } => bytes.extend(cas(key, *back).to_string().bytes()),
            }
        }
        bytes
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, batch) in self.batches.iter().enumerate() {
            writeln!(f, "batch {number}, cut at {:?} thousandths:", batch.cuts)?;
            for request in &batch.requests {
                write!(f, "  ")?;
                for part in &request.parts {
                    match part {
                        Part::Bytes(bytes) if bytes.len() > 400 => {
                            write!(f, "{}… ({} B)", bytes[..200].escape_ascii(), bytes.len())?;
                        }
                        Part::Bytes(bytes) => write!(f, "{}", bytes.escape_ascii())?,
                        Part::Cas { key, back } => write!(f, "{{cas of {key}, {back} back}}")?,
                    }
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}
