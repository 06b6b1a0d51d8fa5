//! Whether an NGINX serves: all its workers run, and it answers one of its files whole.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::Options;
use crate::{Error, Instance};

/// How often a server that is starting is asked again.
const POLL: Duration = Duration::from_millis(2);
/// The most of an answer's head that is read; NGINX's has about 250 B.
const HEAD: usize = 4096;

/// A file that can be asked for. Errors: there is none in the folder that is to be served.
pub(super) fn file_to_serve(folder: &Path) -> Result<PathBuf, Error> {
    let os = |doing, why: String| Error::Os { name: "nginx".into(), doing, source: io::Error::other(why) };
    let found = first_file(folder).map_err(|e| {
        os("cannot read the folder that it is to serve", format!("{}: {e}", folder.display()))
    })?;
    found.ok_or_else(|| {
        let folder = folder.display();
        let why = format!("there is no file in {folder}; `taillight fileset make {folder}` puts some there");
        os("has nothing to serve", why)
    })
}

/// Waits up to `within` until all workers run and `file` is answered.
///
/// Errors: it ended, with its last words; or it answers otherwise, with what to look at.
pub(super) fn await_file(
    instance: &mut Instance,
    address: SocketAddr,
    options: &Options,
    file: &Path,
    within: Duration,
) -> Result<(), Error> {
    let deadline = Instant::now() + within;
    let path = url_path(&options.files, file);
    loop {
        let said = match instance.children().len() {
            workers if workers < options.workers => format!("{workers} of {} workers run", options.workers),
            _ => match status(address, &path, deadline.saturating_duration_since(Instant::now())) {
                Ok(200) => return Ok(()),
                // It will not change its mind.
                Ok(status @ 400..500) => {
                    return Err(Error::Unexpected {
                        name: "nginx".into(),
                        got: format!("HTTP {status} for {}", file.display()),
                        expected: "200; every folder above the file must be open to the account that it runs as, which \
                                   for root is nobody: look at their permissions (`namei -l`)",
                    });
                }
                Ok(status) => format!("it answers {status}"),
                Err(error) => error.to_string(),
            },
        };
        instance.process.still_runs("before it was ready")?;
        if Instant::now() >= deadline {
            return Err(instance.process.not_ready(format!("serve {} ({said})", file.display()), within));
        }
        thread::sleep(POLL);
    }
}

/// A file of `folder` or of the folders below, dot files apart; `None` where there is none.
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

/// The status that a GET of `path` is answered with, once its head is whole.
fn status(address: SocketAddr, path: &str, within: Duration) -> io::Result<u16> {
    let within = within.max(POLL);
    let mut stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut head = Vec::new();
    let mut buffer = [0; 512];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") && head.len() < HEAD {
        match stream.read(&mut buffer)? {
            0 => break,
            read => head.extend_from_slice(&buffer[..read]),
        }
    }
    status_of(&head).ok_or_else(|| io::Error::other("it does not answer in HTTP"))
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
    use std::ffi::OsStr;

    use super::*;

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
    fn a_file_is_found_wherever_it_lies() {
        let root = tempfile::tempdir().unwrap();
        let of = || first_file(root.path()).unwrap();
        assert_eq!(of(), None);
        fs::create_dir_all(root.path().join("a b/c")).unwrap();
        fs::create_dir_all(root.path().join("empty")).unwrap();
        fs::write(root.path().join(".hidden"), "").unwrap();
        assert_eq!(of(), None);
        let file = root.path().join("a b/c/ü.txt");
        fs::write(&file, "").unwrap();
        assert_eq!(of(), Some(file.clone()));
        assert_eq!(url_path(root.path(), &file), "/a%20b/c/%C3%BC.txt");
        assert!(first_file(Path::new("/no/such")).is_err());
        // A name need not be text.
        let odd = root.path().join(OsStr::from_bytes(b"\xfc"));
        assert_eq!(url_path(root.path(), &odd), "/%FC");
    }
}
