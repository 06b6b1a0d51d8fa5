//! Sphinx: this program, started once more as `serve sphinx`, or another build of it.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::{Error, Process, Spec};

/// Prefix of the line that announces that Sphinx accepts connections; its address follows.
pub const READY: &str = "sphinxd ready on ";

/// `exe serve sphinx args…`; `exe` is this program (`std::env::current_exe`), or another build: of that, or of
/// `sphinxd`, which is the server alone and takes `args` at once.
pub fn spec<A: Into<String>>(exe: &Path, args: impl IntoIterator<Item = A>) -> Spec {
    let alone = exe.file_name().is_some_and(|name| name.to_string_lossy().starts_with("sphinxd"));
    let before: &[&str] = if alone { &[] } else { &["serve", "sphinx"] };
    Spec::new("sphinx", exe).args(before.iter().copied()).args(args)
}

/// Waits up to `within` for Sphinx to accept connections; returns its address.
///
/// Sphinx prints its address, so it can be started on port 0 and never meets a port that is taken.
pub fn await_ready(process: &mut Process, within: Duration) -> Result<SocketAddr, Error> {
    let line = process.await_line(READY, within)?;
    // The text after the address is for people.
    let address = line[READY.len()..].split_whitespace().next().and_then(|word| word.parse().ok());
    address.ok_or(Error::Unexpected {
        name: process.spec().name.clone(),
        got: line,
        expected: "'sphinxd ready on ADDRESS:PORT'",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_address_that_the_server_says() {
        let check = |says: &str, expect: Result<&str, &str>| {
            let spec = Spec::new("sphinx", "/bin/sh").args(["-c", &format!("echo '{says}'; exec sleep 60")]);
            let mut process = Process::spawn(spec).unwrap();
            let got = await_ready(&mut process, Duration::from_secs(20));
            match expect {
                Ok(address) => assert_eq!(got.unwrap().to_string(), address),
                Err(part) => assert!(got.unwrap_err().to_string().contains(part)),
            }
        };
        check("sphinxd ready on 127.0.0.1:4711", Ok("127.0.0.1:4711"));
        check("sphinxd ready on [::1]:4711, 2 threads", Err("not 'sphinxd ready on ADDRESS:PORT'"));
        check("sphinxd ready on [::1]:4711 with 2 threads", Ok("[::1]:4711"));
    }

    #[test]
    fn starts_this_program_once_more() {
        let line = |exe: &str| spec(Path::new(exe), ["--threads", "2"]).command_line().join(" ");
        assert_eq!(line("/opt/taillight"), "/opt/taillight serve sphinx --threads 2");
        assert_eq!(line("/opt/taillight-new"), "/opt/taillight-new serve sphinx --threads 2");
        assert_eq!(line("/opt/sphinxd-0.2"), "/opt/sphinxd-0.2 --threads 2");
    }
}
