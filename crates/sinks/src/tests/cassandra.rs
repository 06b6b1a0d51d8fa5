//! A stand-in for Cassandra that keeps rows by their keys, and fails on command.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::{LIMIT, hasty, sent};
use crate::sample;
use crate::{Error, Exported};

/// A failure at one of the executed statements, counted from 0 over all connections.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// The answer is this error.
    Error(usize, i32),
    /// The connection is closed instead.
    Drops(usize),
    /// No answer comes until the client has gone.
    Stalls(usize),
    /// Half of an answer comes, and the connection is closed.
    Cuts(usize),
    /// The answer has the id of another stream.
    OtherStream(usize),
    /// The row is forgotten.
    Loses(usize),
    /// The server requires a login.
    Login,
    /// The server speaks another protocol.
    Http,
}

/// Its counts and rows.
#[derive(Default)]
struct State {
    executed: usize,
    connections: usize,
    statements: Vec<String>,
    /// Keys of the rows of spans, by trace.
    spans: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    requests: BTreeSet<Vec<u8>>,
}

fn stand_in(wrong: Wrong) -> (u16, Arc<Mutex<State>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let state = Arc::new(Mutex::new(State::default()));
    let kept = Arc::clone(&state);
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            kept.lock().unwrap().connections += 1;
            // It ends with its client.
            let _ = serve(stream, wrong, &kept);
        }
    });
    (port, state)
}

fn serve(mut stream: TcpStream, wrong: Wrong, state: &Mutex<State>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(LIMIT))?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes(head[5..].try_into().unwrap()) as usize];
        stream.read_exact(&mut body)?;
        let mut answer = |kind: u8, stream_id: [u8; 2], body: &[u8]| {
            let head = [0x84, 0, stream_id[0], stream_id[1], kind];
            stream.write_all(&[&head[..], &(body.len() as u32).to_be_bytes(), body].concat())
        };
        let id = [head[2], head[3]];
        let void = 1i32.to_be_bytes();
        let mut state = state.lock().unwrap();
        match head[4] {
            0x01 if wrong == Wrong::Http => return stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            0x01 if wrong == Wrong::Login => answer(0x03, id, b"\0\x05Plain")?,
            0x01 => answer(0x02, id, b"")?,
            0x07 => {
                state.statements.push(text(&body));
                answer(0x08, id, &void)?;
            }
            // A statement's identity is its text.
            0x09 => {
                let statement = text(&body);
                let length = (statement.len() as u16).to_be_bytes();
                answer(0x08, id, &[&4i32.to_be_bytes()[..], &length, statement.as_bytes()].concat())?;
            }
            0x0a => {
                let at = state.executed;
                state.executed += 1;
                match wrong {
                    Wrong::Error(place, code) if place == at => {
                        answer(0x00, id, &[&code.to_be_bytes()[..], b"\0\x04oops"].concat())?;
                        continue;
                    }
                    Wrong::Drops(place) if place == at => return Ok(()),
                    Wrong::Stalls(place) if place == at => {
                        drop(state);
                        // Reads all that follows and never answers.
                        return std::io::copy(&mut stream, &mut std::io::sink()).map(drop);
                    }
                    Wrong::Cuts(place) if place == at => return stream.write_all(&[0x84, 0, id[0]]),
                    Wrong::OtherStream(place) if place == at => {
                        answer(0x08, [0x7f, 0], &void)?;
                        continue;
                    }
                    _ => {}
                }
                let (statement, values) = executed(&body);
                if statement.starts_with("SELECT COUNT") {
                    let count = state.spans.get(&values[0]).map_or(0, BTreeSet::len) as i64;
                    let rows = [
                        &2i32.to_be_bytes()[..],
                        &4i32.to_be_bytes(),
                        &1i32.to_be_bytes(),
                        &1i32.to_be_bytes(),
                    ];
                    answer(
                        0x08,
                        id,
                        &[&rows.concat()[..], &8i32.to_be_bytes(), &count.to_be_bytes()].concat(),
                    )?;
                    continue;
                }
                if statement.contains(".spans ") && wrong != Wrong::Loses(at) {
                    state.spans.entry(values[0].clone()).or_default().insert(values[1].clone());
                } else if statement.contains(".requests ") {
                    state.requests.insert(values[..3].concat());
                }
                answer(0x08, id, &void)?;
            }
            other => panic!("a frame of kind {other}"),
        }
    }
}

fn text(body: &[u8]) -> String {
    let length = u32::from_be_bytes(body[..4].try_into().unwrap()) as usize;
    String::from_utf8(body[4..4 + length].to_vec()).unwrap()
}

/// The statement and the values.
fn executed(body: &[u8]) -> (String, Vec<Vec<u8>>) {
    let length = usize::from(u16::from_be_bytes([body[0], body[1]]));
    let statement = String::from_utf8(body[2..2 + length].to_vec()).unwrap();
    let mut rest = &body[2 + length + 3..];
    let count = u16::from_be_bytes([rest[0], rest[1]]);
    rest = &rest[2..];
    let values = (0..count).map(|_| {
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let value = rest[4..4 + length].to_vec();
        rest = &rest[4 + length..];
        value
    });
    (statement, values.collect())
}

fn came(pages: u8, wrong: Wrong) -> (Result<Exported, Error>, Arc<Mutex<State>>) {
    let folder = tempfile::tempdir().unwrap();
    let kept = [sample::kept(folder.path(), pages)];
    let (port, state) = stand_in(wrong);
    (sent(&kept, &format!("cassandra://127.0.0.1:{port}/movies"), &hasty()), state)
}

#[test]
fn rows_are_written_once_and_counted() {
    let (came, state) = came(100, Wrong::Nothing);
    let came = came.unwrap();
    assert!((came.traces, came.spans) == (100, 500) && came.is_counted, "{came:?}");
    let state = state.lock().unwrap();
    assert_eq!((state.spans.len(), state.requests.len(), state.connections), (100, 100, 1));
    assert!(
        state.statements[0].starts_with("CREATE KEYSPACE IF NOT EXISTS movies"),
        "{:?}",
        state.statements
    );
    // Each span, each request and each count once.
    assert_eq!(state.executed, 700);
}

#[test]
fn what_may_pass_is_done_again_on_a_new_connection() {
    for wrong in [
        Wrong::Drops(3),
        Wrong::Cuts(130),
        Wrong::Error(7, 0x1001),
        Wrong::Error(601, 0x1200),
        Wrong::Error(0, 0x2500),
    ] {
        let (came, state) = came(100, wrong);
        let came = came.unwrap();
        assert!((came.traces, came.spans) == (100, 500) && came.is_counted, "{wrong:?}: {came:?}");
        let state = state.lock().unwrap();
        assert_eq!((state.spans.len(), state.connections), (100, 2), "{wrong:?}");
    }
}

#[test]
fn what_does_not_pass_is_said() {
    let check = |wrong: Wrong, says: &str| {
        let error = came(1, wrong).0.unwrap_err().to_string();
        assert!(error.starts_with("Cassandra at 127.0.0.1:") && error.contains(says), "{wrong:?}: {error}");
    };
    check(Wrong::Error(2, 0x2100), "keyspace movies: it answers error 0x2100: oops");
    check(Wrong::OtherStream(1), "it answers what was not asked");
    check(Wrong::Login, "it asks for a name and a password (Plain), which are not sent");
    check(Wrong::Http, "name the port for CQL");
    check(Wrong::Loses(1), "holds 4 of the 5 spans that it took: of 1 traces not all");
}

#[test]
fn one_that_says_nothing_is_given_up_and_asked_again() {
    // The second connection is one that answers.
    let (came, state) = came(1, Wrong::Stalls(1));
    assert!(came.unwrap().is_counted && state.lock().unwrap().connections == 2);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let kept = [sample::kept(folder.path(), 1)];
    let error = sent(&kept, &format!("cassandra://127.0.0.1:{port}/movies"), &hasty()).unwrap_err();
    assert!(matches!(error, Error::NoAnswer { tries: 3, .. }), "{error}");
    // A server that accepts and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let error =
        sent(&kept, &format!("cassandra://127.0.0.1:{port}/movies"), &hasty()).unwrap_err().to_string();
    assert!(error.contains("no answer within 500 ms (3 tries)"), "{error}");
}
