use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::differential::sequence::{Batch, Sequence};
use crate::support::PATIENCE;
use crate::support::client::Client;

/// A server's answers to each batch; the last one is cut short if it closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) batches: Vec<Vec<u8>>,
    pub(crate) closed: bool,
}

/// The end of every batch. A value still being read takes as many of the blanks as it lacks, and is refused for its
/// end; otherwise they are a line without a command. Longer values come whole.
pub(crate) const FILLER: usize = 1000;

/// Placeholder for a unique number that the server has not sent; no item has it.
const UNTOLD: u64 = 1 << 60;

/// Sends a sequence to an empty server, and returns its answers.
pub(crate) fn hold(sequence: &Sequence, address: SocketAddr) -> Answers {
    assert_eq!(Client::connect(address).ask("flush_all"), "OK");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut answers = Answers::default();
    let mut cas = HashMap::new();
    for (number, batch) in sequence.batches.iter().enumerate() {
        let token = format!("end-of-batch-{number}");
        send(&mut stream, batch, &cas, &token);
        let Some(answer) = receive(&mut stream, &token, &mut answers) else { break };
        learn(&answer, &mut cas);
        answers.batches.push(answer);
    }
    if !answers.closed {
        wait_for_all_threads(&mut stream);
    }
    answers
}

/// Requests without a reply may still be under way to other threads, and must not come after the flush of the next
/// sequence. Every thread takes part in this answer, after all of them.
fn wait_for_all_threads(stream: &mut TcpStream) {
    let expect = b"RESET\r\n";
    stream.write_all(b"stats reset\r\n").unwrap();
    let mut answer = [0; 7];
    stream.read_exact(&mut answer).unwrap();
    assert!(answer == *expect, "{}", answer.escape_ascii());
}

fn send(stream: &mut TcpStream, batch: &Batch, cas: &HashMap<String, Vec<u64>>, token: &str) {
    let known = |key: &str, back: usize| -> u64 {
        let told = cas.get(key).and_then(|told| told.iter().rev().nth(back).or(told.first()));
        told.copied().unwrap_or(UNTOLD)
    };
    let mut bytes: Vec<u8> = batch.requests.iter().flat_map(|request| request.bytes(known)).collect();
    let length = bytes.len();
    bytes.extend(std::iter::repeat_n(b' ', FILLER));
    bytes.extend_from_slice(format!("\r\nmg {token} k\r\n").as_bytes());
    let mut cuts: Vec<usize> = batch.cuts.iter().map(|cut| length * cut / 1000).collect();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let mut start = 0;
    for cut in cuts {
        match stream.write_all(&bytes[start..cut]) {
            Ok(()) => {}
            // The server has closed, which reading shows.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                return;
            }
            Err(error) => panic!("{error}"),
        }
        start = cut;
    }
}

/// The answer up to the batch's end; `None` if the server closed, with the bytes so far added to the answers.
fn receive(stream: &mut TcpStream, token: &str, answers: &mut Answers) -> Option<Vec<u8>> {
    let end = format!("EN k{token}\r\n");
    let mut answer = Vec::new();
    let mut room = vec![0; 64 << 10];
    while !answer.ends_with(end.as_bytes()) {
        match stream.read(&mut room) {
            Ok(0) => {
                answers.closed = true;
                answers.batches.push(answer);
                return None;
            }
            Ok(length) => answer.extend_from_slice(&room[..length]),
            // Closed with bytes of ours unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                answers.closed = true;
                answers.batches.push(answer);
                return None;
            }
            Err(error) => panic!("{error} after '{}' and before '{end}'", answer.escape_ascii()),
        }
    }
    Some(answer)
}

/// Takes the unique numbers from the answers to `gets`.
fn learn(answer: &[u8], cas: &mut HashMap<String, Vec<u64>>) {
    for line in answer.split(|&byte| byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["VALUE", key, _, _, number] = words[..]
            && let Ok(number) = number.parse()
        {
            cas.entry(key.into()).or_default().push(number);
        }
    }
}
