use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use proptest::prelude::*;
use reactor::{Address, Epoll, Reactor, Waker};
use reference_servers::Stalls;
use reference_servers::video::{Limits, ServerCounters, VideoServer};

use crate::{answers, bytes, catalog, part};

/// A bound on waiting, so that a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(60);
const FILE: &str = "/v000003/480p.bin";

/// A server on a thread of its own, which ends with this.
struct Serving {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: <Epoll as Reactor>::Waker,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    fn new(faults: &str) -> Serving {
        Serving::beside(faults, Arc::default())
    }

    /// One of the threads that count together.
    fn beside(faults: &str, counts: Arc<ServerCounters>) -> Serving {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn({
            let (stop, faults) = (Arc::clone(&stop), faults.to_owned());
            move || {
                let mut reactor = Epoll::new().unwrap();
                let address = reactor.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
                let faults = faults.parse().unwrap();
                let mut server =
                    VideoServer::new(catalog(), faults, Stalls::default(), Limits::default(), counts);
                tell.send((address, reactor.waker())).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    server.step(&mut reactor).unwrap();
                }
            }
        });
        let (Address::Tcp(address), waker) = told.recv().unwrap() else { unreachable!("it listens on TCP") };
        Serving { address, stop, waker, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// All that a connection brings that asks so and then sends no more.
    fn all(&self, request: &[u8]) -> (Vec<u8>, io::Result<usize>) {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut received = Vec::new();
        let outcome = stream.read_to_end(&mut received);
        (received, outcome)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_some_and(|ended| ended.is_ok()));
    }
}

fn last(request: Vec<u8>) -> Vec<u8> {
    String::from_utf8(request)
        .unwrap()
        .replace("Host: h\r\n", "Host: h\r\nConnection: close\r\n")
        .into_bytes()
}

#[test]
fn a_large_file_comes_whole_to_a_reader_that_takes_its_time() {
    let serving = Serving::new("");
    let size = catalog().size(3, 2);
    let mut stream = serving.connect();
    stream.write_all(&last(part(FILE, 0, size - 1))).unwrap();
    let mut received = Vec::new();
    let mut piece = [0; 7_000];
    loop {
        match stream.read(&mut piece).unwrap() {
            0 => break,
            read => received.extend_from_slice(&piece[..read]),
        }
        thread::yield_now();
    }
    let all = answers(&received);
    assert!(all.len() == 1 && all[0].status == 206 && all[0].body == bytes(3, 2, 0, size - 1));
}

#[test]
fn many_clients_at_once_get_what_each_asked_for() {
    let serving = Serving::new("");
    thread::scope(|scope| {
        for client in 0..8u64 {
            let serving = &serving;
            scope.spawn(move || {
                let requests: Vec<Vec<u8>> =
                    (0..20).map(|n| part(FILE, client * 5_000 + n, client * 5_000 + 4_999)).collect();
                let (head, end) = requests.split_at(19);
                let (received, outcome) = serving.all(&[head.concat(), last(end[0].clone())].concat());
                outcome.unwrap();
                let all = answers(&received);
                assert_eq!(all.len(), 20);
                for (n, answer) in (0..).zip(all) {
                    assert!(answer.body == bytes(3, 2, client * 5_000 + n, client * 5_000 + 4_999));
                }
            });
        }
    });
}

#[test]
fn a_reset_is_one_and_a_cut_is_an_end() {
    let check = |fault: &str, expect: Result<(), ErrorKind>| {
        let serving = Serving::new(fault);
        let (received, outcome) = serving.all(&part(FILE, 0, 99_999));
        assert_eq!(outcome.map(drop).map_err(|error| error.kind()), expect, "{fault}");
        // A reset may overtake earlier bytes.
        assert!(answers(&received).iter().all(|answer| answer.body.len() <= 50_000), "{fault}");
    };
    check("reset:1", Err(ErrorKind::ConnectionReset));
    check("cut:1", Ok(()));
}

#[test]
fn every_nth_chunk_is_counted_over_all_threads() {
    let counts = Arc::new(ServerCounters::default());
    let threads = [0; 2].map(|_| Serving::beside("gone:3", Arc::clone(&counts)));
    let status = |n: usize| {
        let (received, outcome) = threads[n % 2].all(&last(part(FILE, 0, 9)));
        outcome.unwrap();
        answers(&received)[0].status
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(status), [206, 206, 404, 206, 206, 404]);
}

#[test]
fn one_that_leaves_in_the_middle_hurts_no_other() {
    let serving = Serving::new("");
    let size = catalog().size(3, 2);
    for _ in 0..20 {
        let mut stream = serving.connect();
        stream.write_all(&part(FILE, 0, size - 1)).unwrap();
        stream.read_exact(&mut [0; 100]).unwrap();
    }
    let (received, outcome) = serving.all(&last(part(FILE, 0, 9)));
    outcome.unwrap();
    assert!(answers(&received)[0].body == bytes(3, 2, 0, 9));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_break_the_server(junk in prop::collection::vec(any::<u8>(), 0..400), near in "(GET|HEAD|PUT) [/v0-9.a-z*%?]{0,30} HTTP/1.[01]\r\n(Range: bytes=[0-9,-]{0,12}\r\n)?\r\n") {
        static SERVING: std::sync::OnceLock<Serving> = std::sync::OnceLock::new();
        let serving = SERVING.get_or_init(|| Serving::new(""));
        for bytes in [&junk[..], near.as_bytes()] {
            let mut stream = serving.connect();
            // It may have closed before all was written.
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
        let (received, outcome) = serving.all(&last(part(FILE, 0, 9)));
        prop_assert!(outcome.is_ok());
        prop_assert_eq!(&answers(&received)[0].body, &bytes(3, 2, 0, 9));
    }
}
