//! Whether an NGINX serves: all its workers run, and it answers one of its files whole.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::Options;
use crate::web::{first_file, status_of, url_path};
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
                                   for root is `nobody`: look at their permissions (`namei -l`)",
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
