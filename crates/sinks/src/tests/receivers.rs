//! Receivers of OTLP that refuse, stall, drop the connection or answer in part.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::{LIMIT, hasty, sent};
use crate::otlp::TracesRequest;
use crate::testing;
use crate::{Error, Patience};

/// A stand-in's reaction to a request.
#[derive(Clone, Debug)]
enum Does {
    Answer(&'static str, String),
    /// Closes the connection in place of an answer.
    Drops,
    /// Answers with less than it announces, and closes the connection.
    Cuts,
    /// Reads the request and sends nothing until the client has gone.
    Stalls,
}

fn ok() -> Does {
    Does::Answer("200 OK", "{}".into())
}

/// A server that does these in turn, one for each request, and reports each request. It ends after the last.
fn stand_in(does: Vec<Does>) -> (u16, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    thread::spawn(move || {
        for one in does {
            let (stream, _) = listener.accept().unwrap();
            serve(stream, &one, &tell);
        }
    });
    (port, told)
}

fn serve(stream: TcpStream, does: &Does, tell: &Sender<(String, Vec<u8>)>) {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        length = line.strip_prefix("content-length: ").map_or(length, |text| text.parse().unwrap());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let _ = tell.send((first.trim().to_owned(), body));
    let stream = reader.get_mut();
    let _ = match does {
        Does::Answer(status, body) => {
            let length = body.len();
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        }
        Does::Cuts => write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{{}}"),
        Does::Drops => Ok(()),
        Does::Stalls => stream.read(&mut [0]).map(drop),
    };
}

/// The result of sending one page to a stand-in that does these, and the number of requests that it got.
fn received(does: Vec<Does>, patience: &Patience) -> (Result<(), String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let kept = [testing::kept(folder.path(), 1)];
    let (port, told) = stand_in(does);
    let came = sent(&kept, &format!("otlp://127.0.0.1:{port}"), patience);
    (came.map(|came| assert!(!came.is_counted)).map_err(|e| e.to_string()), told.try_iter().count())
}

#[test]
fn what_may_pass_is_sent_again_and_a_refusal_is_not() {
    let busy = || Does::Answer("503 Service Unavailable", "full".into());
    assert_eq!(received(vec![ok()], &hasty()), (Ok(()), 1));
    assert_eq!(received(vec![busy(), Does::Drops, ok()], &hasty()), (Ok(()), 3));
    assert_eq!(received(vec![Does::Cuts, ok()], &hasty()), (Ok(()), 2));
    let check = |does: Vec<Does>, asked: usize, says: &[&str]| {
        let (came, times) = received(does.clone(), &hasty());
        let error = came.unwrap_err();
        assert!(says.iter().all(|words| error.contains(words)), "{does:?}: {error}");
        assert!(error.starts_with("the receiver of OTLP at 127.0.0.1:") && times == asked, "{error}");
    };
    check(vec![busy(); 3], 3, &["HTTP 503 to /v1/traces: full (3 tries)", "see that it runs"]);
    check(vec![Does::Drops; 3], 3, &["(3 tries)"]);
    check(vec![Does::Cuts; 3], 3, &["(3 tries)"]);
    check(
        vec![Does::Answer("400 Bad Request", "what is this".into()), ok()],
        1,
        &["HTTP 400", "what is this"],
    );
    let part = r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#;
    check(vec![Does::Answer("200 OK", part.into()), ok()], 1, &["rejected 2: too old"]);
    check(vec![Does::Answer("302 Found", String::new()), ok()], 1, &["HTTP 302"]);
}

#[test]
fn one_that_says_nothing_is_given_up() {
    // Long enough that the stand-in has read each request.
    let patience = Patience { answer: Duration::from_secs(2), ..hasty() };
    let (came, times) = received(vec![Does::Stalls; 3], &patience);
    assert!(times == 3 && came.as_ref().unwrap_err().contains("timeout"), "{came:?}");
    // No one listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let kept = [testing::kept(folder.path(), 1)];
    let error = sent(&kept, &format!("jaeger://127.0.0.1:{port}"), &hasty()).unwrap_err();
    assert!(matches!(error, Error::NoAnswer { tries: 3, .. }), "{error}");
}

/// Jaeger's answer for a trace of `spans` spans.
fn of_trace(spans: u64) -> Does {
    let spans: Vec<String> = (0..spans).map(|span| format!(r#"{{"spanID":"{span}"}}"#)).collect();
    Does::Answer("200 OK", format!(r#"{{"data":[{{"spans":[{}]}}]}}"#, spans.join(",")))
}

#[test]
fn what_jaeger_does_not_hold_is_an_error() {
    let check = |pages: u8, answers: Vec<Does>, patience: Patience| {
        let folder = tempfile::tempdir().unwrap();
        let kept = [testing::kept(folder.path(), pages)];
        let ((takes, took), (query, asked)) = (stand_in(vec![ok()]), stand_in(answers));
        let came = sent(&kept, &format!("jaeger://127.0.0.1:{takes}?query={query}"), &patience);
        let (first, body) = took.recv_timeout(LIMIT).unwrap();
        assert_eq!(first, "POST /v1/traces HTTP/1.1");
        let request: TracesRequest = serde_json::from_slice(&body).unwrap();
        let ids: Vec<String> =
            request.identities().keys().map(|id| format!("GET /api/traces/{id} HTTP/1.1")).collect();
        assert!(asked.try_iter().all(|(first, _)| ids.contains(&first)));
        came
    };
    let came = check(2, vec![of_trace(5), of_trace(5)], hasty()).unwrap();
    assert!((came.traces, came.spans) == (2, 10) && came.is_counted);
    let error = check(2, vec![of_trace(5), of_trace(4)], hasty()).unwrap_err();
    let Error::Differs { sent: 10, held: 9, traces: 1, first, .. } = &error else { panic!("{error}") };
    assert!(first.ends_with(", 4 of 5 spans"), "{first}");
    // The sink has stored no span yet, then some of them.
    let none = || Does::Answer("404 Not Found", String::new());
    let patient = Patience { settle: LIMIT, ..hasty() };
    assert!(check(1, vec![none(), of_trace(3), of_trace(5)], patient).unwrap().is_counted);
    assert!(matches!(check(1, vec![none()], hasty()).unwrap_err(), Error::Differs { held: 0, .. }));
    let page = Does::Answer("200 OK", "<!doctype html>".into());
    assert!(check(1, vec![page], hasty()).unwrap_err().to_string().contains("?query=PORT"));
}

#[test]
fn it_ends_when_it_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let kept = [testing::kept(folder.path(), 1)];
    let (port, _told) = stand_in(vec![ok()]);
    let to = format!("otlp://127.0.0.1:{port}").parse().unwrap();
    let mut seen = Vec::new();
    let came = crate::export(&kept, &to, &hasty(), &mut |progress| {
        seen.push(*progress);
        false
    });
    assert!(matches!(came, Err(Error::Stopped)));
    assert_eq!(seen, [crate::Progress { sent: 1, counted: 0, of: 1 }]);
}

#[test]
fn a_file_takes_all_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    let kept = [testing::kept(folder.path(), 255)];
    let file = folder.path().join("traces.jsonl");
    let came = sent(&kept, file.to_str().unwrap(), &hasty()).unwrap();
    assert_eq!((came.traces, came.spans, came.without_moments, came.is_counted), (255, 1275, 0, true));
    // 103 pages have 515 spans.
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 3);
}
