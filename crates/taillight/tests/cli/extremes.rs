//! Loads at the limits of the permitted range, and servers that come and go: true figures and a clear verdict.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use results::{Trial, Verdict};

use crate::run::{Served, answers, finish, taillight, text};

fn trial(target: &str, options: &[&str]) -> Trial {
    let mut command = taillight(&["load", "cache", "--target", target, "--warmup", "0s", "--json"]);
    let output = finish(command.args(["--pace", "sleep"]).args(options));
    answers(&output);
    let trial: Trial =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    let a = trial.arrivals;
    assert_eq!(a.intended, a.completed + a.errors + a.timeouts + a.unfinished, "{a:?}");
    assert!(a.intended > 0);
    trial
}

#[test]
fn ten_thousand_connections() {
    let server = Served::canned();
    let options =
        ["--fill", "never", "--connections", "10000", "--rate", "5k", "--window", "1s", "--drain", "10s"];
    let trial = trial(&server.address, &options);
    assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
    let spread = trial.connections.unwrap();
    assert_eq!(spread.count, 10_000);
    // 5 000 requests over 10 000 connections: most have none, and none has many (Poisson of mean ½).
    assert!(spread.requests_max < 10, "{spread:?}");
}

#[test]
fn values_of_a_megabyte_and_keys_of_250_bytes() {
    let Ok(memcached) = launch::memcached::find() else {
        return println!("skipped: memcached is not installed (apt-get install memcached)");
    };
    let options = launch::memcached::Options {
        threads: 1,
        memory: units::Bytes(512 << 20),
        connections: 64,
        cpus: None,
        extra: Vec::new(),
    };
    let (_server, address) = memcached.start(&options, Duration::from_secs(10)).unwrap();
    let options = ["--keys", "50", "--key-size", "250", "--value-size", "1000000", "--mix", "get:70,set:30"];
    let options =
        [&options[..], &["--verify", "--rate", "100", "--window", "1s", "--connections", "4"]].concat();
    let trial = trial(&address.to_string(), &options);
    assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
    assert_eq!(trial.counters["verify_failures"], 0.0);
    let received = trial.traffic.unwrap().bytes_received;
    assert!(received > 20_000_000, "some 70 values of 1 MB: {received}");
}

/// A server that calls `answer` for each request that it reads. The first connection only checks that the server is there.
fn server(answer: impl Fn(&mut TcpStream, u64) -> bool + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for (connection, stream) in listener.incoming().enumerate() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || match connection {
                0 => serve(stream.unwrap(), &|stream, _| stream.write_all(b"END\r\n").is_ok()),
                _ => serve(stream.unwrap(), &*answer),
            });
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&mut TcpStream, u64) -> bool) {
    let mut request = [0; 4096];
    for number in 0.. {
        let Ok(n @ 1..) = stream.read(&mut request) else { return };
        if request[..n].starts_with(b"version") {
            let _ = stream.write_all(b"VERSION 1\r\n");
        } else if !answer(&mut stream, number) {
            return;
        }
    }
}

const OPTIONS: [&str; 12] = [
    "--fill",
    "never",
    "--rate",
    "1k",
    "--window",
    "1s",
    "--connections",
    "4",
    "--timeout",
    "100ms",
    "--drain",
    "500ms",
];

fn invalid(trial: &Trial, kind: &str) {
    assert!(matches!(trial.verdict, Verdict::Invalid { .. }), "{}", trial.verdict);
    assert!(trial.errors.iter().any(|error| error.kind == kind), "{kind}: {:?}", trial.errors);
}

#[test]
fn one_that_truncates_its_answers() {
    let address = server(|stream, number| {
        let whole: &[u8] = if number % 8 == 7 { b"VALUE k 0 200\r\nhal" } else { b"END\r\n" };
        stream.write_all(whole).is_ok() && number % 8 != 7
    });
    invalid(&trial(&address, &OPTIONS), "connection_closed");
}

#[test]
fn one_that_answers_late() {
    let (_hold, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let address = server(move |stream, number| {
        if number % 16 == 15 {
            // Later than the time-out: the generator has left by then.
            let waiting: &Receiver<()> = &wait.lock().unwrap();
            let _ = waiting.recv_timeout(Duration::from_millis(150));
        }
        stream.write_all(b"END\r\n").is_ok()
    });
    let trial = trial(&address, &OPTIONS);
    invalid(&trial, "no_answer_in_time");
    assert!(trial.arrivals.timeouts > 0 && trial.arrivals.completed > 0, "{:?}", trial.arrivals);
}

#[test]
fn one_that_answers_twice() {
    let address = server(|stream, number| {
        let answer: &[u8] = if number % 32 == 31 { b"END\r\nEND\r\n" } else { b"END\r\n" };
        stream.write_all(answer).is_ok()
    });
    invalid(&trial(&address, &OPTIONS), "unsolicited_bytes");
}

#[test]
fn one_that_dies_and_comes_back() {
    // An address that no other test uses: another could be given the port while nothing listens on it.
    let first = TcpListener::bind("127.83.7.3:0").unwrap();
    let port = first.local_addr().unwrap();
    thread::spawn(move || mortal(first, port));
    let options = OPTIONS.map(|option| if option == "1s" { "4s" } else { option });
    let trial = trial(&port.to_string(), &options);
    invalid(&trial, "cannot_connect_again");
    let mut windows = trial.windows.iter().map(|window| window.answered.is_some_and(|answered| answered > 0));
    assert!(windows.any(|answers| answers), "it answered before");
    assert!(windows.any(|answers| !answers), "it was down: {:?}", trial.windows);
    assert!(windows.any(|answers| answers), "and it answered after it came back: {:?}", trial.arrivals);
}

/// How long a server that died is down: several windows, also where the generator reads late.
const DOWN: Duration = Duration::from_millis(500);

/// A server that answers for a while, is down, and answers again.
fn mortal(first: TcpListener, address: SocketAddr) {
    // This channel never has a message: a second connection that would make the server die does not shorten its time
    // down.
    let (_hold, wait) = channel::<()>();
    let streams: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let mut first = Some(first);
    for life in 0.. {
        let (die, dies) = channel::<()>();
        let listener = first.take().unwrap_or_else(|| TcpListener::bind(address).unwrap());
        let mut connections = 0;
        listener.set_nonblocking(true).unwrap();
        loop {
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).unwrap();
                streams.lock().unwrap().push(stream.try_clone().unwrap());
                let (die, mortal) = (die.clone(), life == 0 && connections > 0);
                connections += 1;
                thread::spawn(move || {
                    serve(stream, &|stream, number| {
                        if mortal && number == 60 {
                            let _ = die.send(());
                        }
                        stream.write_all(b"END\r\n").is_ok()
                    });
                });
            }
            if dies.recv_timeout(Duration::from_millis(1)).is_ok() {
                break;
            }
        }
        drop(listener);
        for stream in streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _ = wait.recv_timeout(DOWN);
    }
}
