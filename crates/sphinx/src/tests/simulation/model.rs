//! The correct answers to one connection about keys that no other client uses.

use std::collections::HashMap;

/// `length` bytes that repeat after `period`, copied from the first of them: in a value of many bytes each byte shows
/// its position.
pub(super) fn repeated(period: usize, length: usize, byte: impl Fn(usize) -> u8) -> Vec<u8> {
    let first: Vec<u8> = (0..period.min(length)).map(byte).collect();
    let mut all = first.repeat(length.div_ceil(period));
    all.truncate(length);
    all
}

pub(super) const COUNTERS: usize = 3;

/// The keys of one connection, as a plain map.
#[derive(Default)]
pub(super) struct Model {
    items: HashMap<String, Vec<u8>>,
}

impl Model {
    pub(super) fn value(&self, key: &str) -> Option<&[u8]> {
        self.items.get(key).map(Vec::as_slice)
    }

    pub(super) fn set(&mut self, key: &str, value: &[u8]) -> &'static str {
        self.items.insert(key.into(), value.into());
        "STORED\r\n"
    }

    pub(super) fn add(&mut self, key: &str, value: &[u8]) -> &'static str {
        if self.items.contains_key(key) { "NOT_STORED\r\n" } else { self.set(key, value) }
    }

    pub(super) fn append(&mut self, key: &str, value: &[u8]) -> &'static str {
        match self.items.get_mut(key) {
            Some(old) => {
                old.extend_from_slice(value);
                "STORED\r\n"
            }
            None => "NOT_STORED\r\n",
        }
    }

    pub(super) fn delete(&mut self, key: &str) -> &'static str {
        if self.items.remove(key).is_some() { "DELETED\r\n" } else { "NOT_FOUND\r\n" }
    }

    /// `incr` by a number; the items of [`Model::set`] by a customer are digits for the keys that are counted.
    pub(super) fn incr(&mut self, key: &str, by: u64) -> String {
        let Some(value) = self.items.get_mut(key) else { return "NOT_FOUND\r\n".into() };
        let text = std::str::from_utf8(value).expect("digits");
        let number = text.parse::<u64>().expect("digits") + by;
        *value = number.to_string().into_bytes();
        format!("{number}\r\n")
    }

    /// The answer to a `get` of several keys.
    pub(super) fn get(&self, keys: &[String]) -> Vec<u8> {
        let mut answer = Vec::new();
        for key in keys {
            if let Some(value) = self.value(key) {
                answer.extend_from_slice(format!("VALUE {key} 0 {}\r\n", value.len()).as_bytes());
                answer.extend_from_slice(value);
                answer.extend_from_slice(b"\r\n");
            }
        }
        answer.extend_from_slice(b"END\r\n");
        answer
    }
}
