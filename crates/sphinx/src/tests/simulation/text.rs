//! A customer that speaks the text protocol.

use std::collections::VecDeque;
use std::ops::Range;

use rand::RngExt;

use super::customer::{Client, Dialect, OWN};
use super::model::Model;

/// The expected answer to the oldest unanswered request.
enum Expected {
    Exactly(Vec<u8>),
    /// A value of the connection's own key, or nothing if it may have been evicted.
    OwnOrNothing(String, Option<Vec<u8>>),
    /// `DELETED`, or `NOT_FOUND` if it may have been evicted.
    Deleted,
    /// Something that was once written to the shared key.
    Shared(usize),
    /// A count of the shared counter, or that it is not there yet.
    Counted(usize),
}

#[derive(Default)]
pub(super) struct Text {
    model: Model,
    expected: VecDeque<Expected>,
}

impl Dialect for Text {
    const PURPOSE: u32 = 0x6375_7374;

    fn request(&mut self, client: &mut Client, out: &mut Vec<u8>) {
        let me = format!("{}-{}", client.number, client.life);
        let own = |n: usize| format!("own-{me}-{n}");
        let key = own(client.rng.random_range(0..OWN));
        let digits = format!("digits-{me}");
        let value = client.value(|i, start| b'a' + i.wrapping_add(start) % 26);
        let choices = if client.scene.may_forget { 5 } else { 10 };
        let (line, expected) = match client.rng.random_range(0..choices) {
            0 if client.scene.limits && client.rng.random_range(0..4) == 0 => {
                let megabytes = 8 + 4 * client.rng.random_range(0..4);
                (format!("cache_memlimit {megabytes}\r\n").into(), Expected::Exactly(b"OK\r\n".into()))
            }
            0 | 1 => {
                let answer = self.model.set(&key, &value);
                (storage("set", &key, &value), Expected::Exactly(answer.into()))
            }
            2 if client.scene.may_forget => {
                let known = self.model.value(&key).map(<[u8]>::to_vec);
                (format!("get {key}\r\n").into(), Expected::OwnOrNothing(key, known))
            }
            2 => {
                let keys: Vec<String> = (0..client.rng.random_range(1..5)).map(own).collect();
                let expected = Expected::Exactly(self.model.get(&keys));
                (format!("get {}\r\n", keys.join(" ")).into(), expected)
            }
            3 if client.scene.may_forget => {
                self.model.delete(&key);
                (format!("delete {key}\r\n").into(), Expected::Deleted)
            }
            3 => {
                let answer = self.model.delete(&key);
                (format!("delete {key}\r\n").into(), Expected::Exactly(answer.into()))
            }
            4 => match client.shared() {
                (key, None) => (format!("get shared-{key}\r\n").into(), Expected::Shared(key)),
                (key, Some(value)) => {
                    let line = storage("set", &format!("shared-{key}"), value.as_bytes());
                    (line, Expected::Exactly(b"STORED\r\n".into()))
                }
            },
            5 => {
                let answer = self.model.append(&key, &value);
                (storage("append", &key, &value), Expected::Exactly(answer.into()))
            }
            6 => {
                let answer = self.model.add(&digits, b"7");
                (storage("add", &digits, b"7"), Expected::Exactly(answer.into()))
            }
            7 => {
                let by = client.rng.random_range(0..1_000_000);
                let answer = self.model.incr(&digits, by);
                (format!("incr {digits} {by}\r\n").into(), Expected::Exactly(answer.into()))
            }
            8 => {
                let counter = client.counter();
                (format!("incr counter-{counter} 1\r\n").into(), Expected::Counted(counter))
            }
            _ => {
                // It has no answer, but is executed before later requests for this key.
                self.model.set(&key, &value);
                out.extend_from_slice(format!("set {key} 0 0 {} noreply\r\n", value.len()).as_bytes());
                out.extend_from_slice(&value);
                return out.extend_from_slice(b"\r\n");
            }
        };
        self.expected.push_back(expected);
        out.extend_from_slice(&line);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if self.expected.is_empty() {
            // No request so far has an answer, which the next turn waits for.
            out.extend_from_slice(b"get nothing\r\n");
            self.expected.push_back(Expected::Exactly(b"END\r\n".into()));
        }
    }

    fn read(&mut self, client: &mut Client) {
        let mut used = 0;
        while let Some(expected) = self.expected.front() {
            let Some(length) = answer(expected, &client.input[used..]) else { break };
            let answer = used..used + length;
            used += length;
            let expected = self.expected.pop_front().expect("it was just looked at");
            client.board.borrow_mut().answers += 1;
            learn(client, &expected, answer);
        }
        client.input.drain(..used);
        assert!(!self.expected.is_empty() || client.input.is_empty(), "unrequested: {}", show(&client.input));
    }

    fn is_answered(&self) -> bool {
        self.expected.is_empty()
    }
}

/// The length of the answer at the start of `bytes`; `None` if it is incomplete. Panics if it is wrong.
fn answer(expected: &Expected, bytes: &[u8]) -> Option<usize> {
    let line = || {
        let end = bytes.iter().position(|&b| b == b'\n')? + 1;
        Some(std::str::from_utf8(&bytes[..end]).expect("a line is text"))
    };
    match expected {
        Expected::Exactly(whole) => {
            let both = whole.len().min(bytes.len());
            assert!(whole[..both] == bytes[..both], "got {}, not {}", show(bytes), show(whole));
            (bytes.len() >= whole.len()).then_some(whole.len())
        }
        Expected::OwnOrNothing(key, value) => {
            let first = line()?;
            if first == "END\r\n" {
                return Some(5);
            }
            let Some(value) = value else { panic!("{first} has come back") };
            let mut whole = format!("VALUE {key} 0 {}\r\n", value.len()).into_bytes();
            whole.extend_from_slice(value);
            whole.extend_from_slice(b"\r\nEND\r\n");
            answer(&Expected::Exactly(whole), bytes)
        }
        Expected::Deleted => {
            let line = line()?;
            assert!(line == "DELETED\r\n" || line == "NOT_FOUND\r\n", "{line}");
            Some(line.len())
        }
        Expected::Counted(_) => {
            let line = line()?;
            assert!(line.trim_end().parse::<u64>().is_ok(), "{line}");
            Some(line.len())
        }
        Expected::Shared(_) => {
            let first = line()?;
            if first == "END\r\n" {
                return Some(5);
            }
            let length: usize = first.trim_end().rsplit(' ').next()?.parse().expect("a length");
            let whole = first.len() + length + 2 + 5;
            (bytes.len() >= whole).then_some(whole)
        }
    }
}

/// Learns from a complete answer about the other clients.
fn learn(client: &mut Client, expected: &Expected, answer: Range<usize>) {
    let answer = &client.input[answer];
    match expected {
        Expected::Counted(counter) => client.board.borrow_mut().counted[*counter] += 1,
        Expected::Shared(key) if answer != b"END\r\n" => {
            let text = std::str::from_utf8(answer).expect("it was written as text");
            let value = text.lines().nth(1).expect("the line with the value");
            client.board.borrow().check(&mut client.seen, *key, value);
        }
        _ => {}
    }
}

fn storage(verb: &str, key: &str, value: &[u8]) -> Vec<u8> {
    let mut line = format!("{verb} {key} 0 0 {}\r\n", value.len()).into_bytes();
    line.extend_from_slice(value);
    line.extend_from_slice(b"\r\n");
    line
}

fn show(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(200)].escape_ascii().to_string()
}
