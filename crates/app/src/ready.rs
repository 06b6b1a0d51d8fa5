//! Whether an instance is ready: its line, its addresses, its children, and the answer to a request.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use launch::Instance;

use crate::Error;

/// Interval between readiness checks of a starting service: well below any service's start-up time.
const POLL: Duration = Duration::from_millis(2);
/// The longest answer that is read: counters of a service take some KiB.
const ANSWER: u64 = 4 << 20;

pub(crate) enum Readiness {
    Ready,
    /// Not ready; its current state.
    NotYet(String),
    /// It will not be: why.
    Never(Error),
}

/// Looks at an instance up to `within` until it is ready; `what` completes 'did not …'.
///
/// Errors: it ended, with its last words; it is not ready in time, with the last look.
pub(crate) fn await_look(
    instance: &mut Instance,
    what: &str,
    within: Duration,
    mut look: impl FnMut(&Instance, Duration) -> Readiness,
) -> Result<(), Error> {
    let deadline = Instant::now() + within;
    loop {
        let said = match look(instance, deadline.saturating_duration_since(Instant::now())) {
            Readiness::Ready => return Ok(()),
            Readiness::Never(error) => return Err(error),
            Readiness::NotYet(said) => said,
        };
        instance.process.still_runs("before it was ready")?;
        if Instant::now() >= deadline {
            return Err(instance.process.not_ready(format!("{what} ({said})"), within).into());
        }
        thread::sleep(POLL);
    }
}

pub(crate) fn await_socket(instance: &mut Instance, path: &Path, within: Duration) -> Result<(), Error> {
    await_look(instance, &format!("listen on {}", path.display()), within, |_, _| {
        match UnixStream::connect(path) {
            Ok(_) => Readiness::Ready,
            Err(error) => Readiness::NotYet(error.to_string()),
        }
    })
}

pub(crate) fn await_error_line(instance: &mut Instance, part: &str, within: Duration) -> Result<(), Error> {
    await_look(instance, &format!("print '{part}' to standard error"), within, |instance, _| {
        let said = instance.process.stderr_tail();
        if said.iter().any(|line| line.contains(part)) {
            Readiness::Ready
        } else {
            Readiness::NotYet("not yet".into())
        }
    })
}

pub(crate) fn await_children(
    instance: &mut Instance,
    children: usize,
    within: Duration,
) -> Result<(), Error> {
    let what = format!("have {children} child processes");
    await_look(instance, &what, within, |instance, _| match instance.children().len() {
        there if there < children => Readiness::NotYet(format!("it has {there}")),
        _ => Readiness::Ready,
    })
}

/// Waits until a GET of `path` is answered with status 200; `name` is the service.
///
/// Errors: it answers with a status of 400 to 499, which it will not change.
pub(crate) fn await_http(
    instance: &mut Instance,
    name: &str,
    address: SocketAddr,
    path: &str,
    within: Duration,
) -> Result<(), Error> {
    await_look(instance, &format!("answer GET {path}"), within, |_, left| match get(address, path, left) {
        Ok((200, _)) => Readiness::Ready,
        Ok((status @ 400..500, _)) => Readiness::Never(Error::Answer {
            service: name.into(),
            doing: "become ready".into(),
            problem: format!(
                "it answers HTTP {status} for {path} and not 200; every folder above a file that it serves must be open to \
                 the account that it runs as, which for root is `nobody`: look at their permissions (`namei -l`)"
            ),
        }),
        Ok((status, _)) => Readiness::NotYet(format!("it answers {status}")),
        Err(error) => Readiness::NotYet(error.to_string()),
    })
}

/// The status and the body of the answer to a GET. HTTP/1.0, so that the body ends with the connection.
pub(crate) fn get(address: SocketAddr, path: &str, within: Duration) -> io::Result<(u16, Vec<u8>)> {
    let within = within.max(POLL);
    let mut stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER).read_to_end(&mut answer)?;
    let status = status_of(&answer).ok_or_else(|| io::Error::other("it does not answer in HTTP"))?;
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    Ok((status, answer.split_off(body)))
}

/// URL path of one file in `folder`.
///
/// Errors: the folder has no file.
pub(crate) fn one_of(name: &str, folder: &Path) -> Result<String, Error> {
    let os = |problem: String| Error::Unfit { service: name.into(), problem };
    let found = first_file(folder)
        .map_err(|e| os(format!("cannot read the folder that it is to serve: {}: {e}", folder.display())))?;
    let folder = found.as_deref().map(|file| url_path(folder, file)).ok_or(folder.display());
    folder.map_err(|folder| {
        os(format!("there is no file in {folder}; `taillight fileset make {folder}` puts some there"))
    })
}

/// A file in `folder` or below, except dot files; `None` without such a file.
fn first_file(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_file() {
            return Ok(Some(entry.path()));
        }
        folders.extend(kind.is_dir().then(|| entry.path()));
    }
    for below in folders {
        if let Some(file) = first_file(&below)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// The path of `file` below `root` as a URL has it.
fn url_path(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file).as_os_str();
    let mut path = String::from("/");
    for &byte in below.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                path.push(byte.into())
            }
            other => path += &format!("%{other:02X}"),
        }
    }
    path
}

/// The status in the first line of an answer. Source: RFC 9112, §4.
fn status_of(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let text = std::str::from_utf8(line).ok()?;
    let (version, rest) = text.split_once(' ')?;
    version.starts_with("HTTP/1.").then(|| rest.split(' ').next()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn reads_the_status_and_nothing_else() {
        let check =
            |head: &str, expect: Option<u16>| assert_eq!(status_of(head.as_bytes()), expect, "{head}");
        check("HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\n", Some(200));
        check("HTTP/1.0 404\r\n\r\n", Some(404));
        check("HTTP/2 200\r\n\r\n", None);
        check("ERROR\r\n", None);
        check("HTTP/1.1 \r\n", None);
        check("", None);
    }

    #[test]
    fn a_file_is_found_at_any_depth() {
        let root = tempfile::tempdir().unwrap();
        let of = || first_file(root.path()).unwrap();
        assert_eq!(of(), None);
        fs::create_dir_all(root.path().join("a b/c")).unwrap();
        fs::create_dir_all(root.path().join("empty")).unwrap();
        fs::write(root.path().join(".hidden"), "").unwrap();
        assert_eq!(of(), None);
        let error = one_of("nginx", root.path()).unwrap_err().to_string();
        assert!(error.contains("there is no file in") && error.contains("fileset make"), "{error}");
        let file = root.path().join("a b/c/ü.txt");
        fs::write(&file, "").unwrap();
        assert_eq!(of(), Some(file.clone()));
        assert_eq!(one_of("nginx", root.path()).unwrap(), "/a%20b/c/%C3%BC.txt");
        assert!(first_file(Path::new("/no/such")).is_err());
        // A name need not be text.
        let odd = root.path().join(OsStr::from_bytes(b"\xfc"));
        assert_eq!(url_path(root.path(), &odd), "/%FC");
    }
}
