use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Between an answer and the next request: the client adds next to no load.
const PAUSE: Duration = Duration::from_micros(200);
/// No answer takes as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The p99 of response times in seconds of a client that sends one request at a time, for `span`.
pub(crate) fn p99(address: SocketAddr, span: Duration) -> Result<f64> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let set = |key: &str, length: usize| {
        [format!("set {key} 0 0 {length}\r\n").as_bytes(), &vec![b'v'; length], b"\r\n"].concat()
    };
    let requests = [
        (set("steady-small", 100), b"STORED\r\n".to_vec()),
        (set("steady-middle", 50_000), b"STORED\r\n".to_vec()),
        (
            b"get steady-small\r\n".to_vec(),
            [b"VALUE steady-small 0 100\r\n".as_slice(), &[b'v'; 100], b"\r\nEND\r\n"].concat(),
        ),
    ];
    let (began, mut times, mut said) = (Instant::now(), Vec::new(), vec![0; 256]);
    for (request, answer) in requests.iter().cycle() {
        if began.elapsed() >= span {
            break;
        }
        let at = Instant::now();
        stream.write_all(request)?;
        let said = &mut said[..answer.len()];
        stream.read_exact(said)?;
        times.push(at.elapsed());
        ensure!(said == &answer[..], "another answer: {}", said.escape_ascii());
        std::thread::sleep(PAUSE);
    }
    times.sort_unstable();
    Ok(times[(times.len() - 1) * 99 / 100].as_secs_f64())
}
