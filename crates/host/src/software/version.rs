use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The time limit for a program's version: known programs take 5 to 50 ms.
const PATIENCE: Duration = Duration::from_secs(2);

/// The version is in the first lines of the output. Units: bytes.
const ENOUGH: usize = 4096;

/// The output of `program` with `argument`; `None` if it cannot be run.
pub(super) fn ask(program: &Path, argument: &str) -> Option<String> {
    let (mut reader, writer) = io::pipe().ok()?;
    let mut command = Command::new(program);
    // nginx prints its version to standard error.
    command.arg(argument).stdin(Stdio::null()).stdout(writer.try_clone().ok()?).stderr(writer);
    let mut child = command.spawn().ok()?;
    // The command holds the pipe's write end; while that is open, the reader sees no end.
    drop(command);
    let said = read_some(&mut reader, Instant::now() + PATIENCE);
    // It may still run; killing one that has ended does nothing.
    let _ = child.kill();
    let _ = child.wait();
    said.ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads until the end, [`ENOUGH`] or the deadline.
fn read_some(reader: &mut io::PipeReader, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1024];
    while bytes.len() < ENOUGH {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now()))
            .map_err(io::Error::other)?;
        if poll(&mut [PollFd::new(reader, PollFlags::IN)], Some(&left))? == 0 {
            break;
        }
        match reader.read(&mut buffer)? {
            0 => break,
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    }
    Ok(bytes)
}

/// The first word in `said` that starts with a digit and has a dot in it: of `tc utility, iproute2-6.1.0, …`, `6.1.0`.
pub(super) fn parse(said: &str) -> Option<String> {
    let pieces = said.split(|c: char| c.is_whitespace() || "/=-,()".contains(c));
    let is_version = |piece: &&str| piece.starts_with(|c: char| c.is_ascii_digit()) && piece.contains('.');
    pieces.map(|piece| piece.trim_start_matches('v')).find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version() {
        let check = |said: &str, expect: Option<&str>| assert_eq!(parse(said).as_deref(), expect, "{said}");
        check("memcached 1.4.36\n-p <num>      TCP port number to listen on", Some("1.4.36"));
        check("nginx version: nginx/1.22.1\n", Some("1.22.1"));
        check("Docker version 20.10.24+dfsg1, build 297e128\n", Some("20.10.24+dfsg1"));
        check("podman version 4.3.1\n", Some("4.3.1"));
        check("5.0.2\n", Some("5.0.2"));
        check("tc utility, iproute2-6.1.0, libbpf 1.1.0\n", Some("6.1.0"));
        check("bpftrace v0.17.0\n", Some("0.17.0"));
        check("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0\n", Some("7.0.15"));
        check("QEMU emulator version 7.2.9 (Debian 1:7.2+dfsg-7)\n", Some("7.2.9"));
        check("no number here\n", None);
        check("", None);
    }

    #[test]
    fn asks_a_program() {
        let check = |script: &str, expect: Option<&str>| {
            assert_eq!(ask(Path::new(script), "7.5").as_deref(), expect, "{script}");
        };
        check("/bin/echo", Some("7.5\n"));
        check("/no/such/program", None);
    }

    #[test]
    fn a_program_that_prints_without_end_is_stopped() {
        let said = ask(Path::new("/usr/bin/yes"), "1.0").unwrap();
        assert!(said.starts_with("1.0\n1.0\n") && said.len() >= ENOUGH, "{}", said.len());
    }
}
