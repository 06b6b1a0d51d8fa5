//! Requests to a server before a load: whether it has the videos, and its playlists.

use std::io::{Read, Write};

use proto_http::{ContentRange, Method, Template, Url};
use spec::workload::Header;
use thiserror::Error;

use crate::exchange::{ExchangeError, exchange};
use crate::status::is_redirect;
use crate::video::config::VideoConfig;
use crate::video::library::{Ask, Videos, Watched};
use crate::video::playlist::{ByteRange, LIMIT, PlaylistError};
use crate::video::requests::templates;

/// A server's answer to one request before a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The status of its answer.
    pub status: u16,
    /// The value of `Server`.
    pub server: Option<String>,
}

/// Why a server's videos cannot be watched.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ProbeError {
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(
        "{server} has no {path} (status {status}); serve the videos of this set below the target, as `taillight fileset make \
         FOLDER --video {videos}` makes them, or name the set that is there by --videos and --videos-seed"
    )]
    Missing { server: String, path: String, status: u16, videos: String },
    #[error(
        "{server} answers a request for a part of {path} with the whole (status 200); use a server with HTTP ranges, or a playlist \
         without #EXT-X-BYTERANGE"
    )]
    NoRanges { server: String, path: String },
    #[error(
        "{server} says that {path} has {found} B, and in this set it has {expected}; name the set that is there by --videos \
         and --videos-seed"
    )]
    OtherSet { server: String, path: String, found: u64, expected: u64 },
    #[error(
        "{server} answered with status {status} when asked for the playlist {path}; name one that it has"
    )]
    Status { server: String, path: String, status: u16 },
    #[error("{server} redirects from the playlist {path} to {to} (status {status}); name that instead")]
    Redirect { server: String, path: String, to: String, status: u16 },
    #[error("the playlist {url}: {problem}")]
    Playlist { url: String, problem: PlaylistError },
}

impl Probe {
    /// Asks `server` of the configuration's servers for the first byte of its first video, over a stream that times out
    /// 5 s after its beginning; of listed videos for only their first part.
    ///
    /// Errors: no answer, not HTTP; no video, no ranges, or another set. Another status is not an error: the load
    /// counts them.
    pub fn ask(
        config: &VideoConfig,
        server: usize,
        stream: &mut (impl Read + Write),
    ) -> Result<Probe, ProbeError> {
        let url = &config.urls[server];
        let (library, of, ask) = (&config.library, Watched { video: 0, rung: 0 }, Ask::Chunk(0));
        let path = |out: &mut Vec<u8>| library.append_path(of, ask, out);
        let is_listed = matches!(library.source(), Videos::Listed(_));
        let (mut out, asked) = (Vec::new(), library.part(of, ask).range);
        match asked {
            // A server without ranges has a listed part if that is the whole file.
            Some(range) => {
                let last = if is_listed { range.last } else { range.first };
                templates(config)[server].write_range(path, (range.first, last), &mut out);
            }
            None => templates(config)[server].write(path, &mut out),
        }
        let name = url.authority();
        let answer = exchange((name.as_str(), url.https), &out, 0, stream)?;
        let text = || {
            let mut bytes = Vec::new();
            path(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let status = answer.status;
        if let (Videos::Set(catalog, _), 403 | 404 | 410) = (library.source(), status) {
            let videos = catalog.to_string();
            return Err(ProbeError::Missing { server: name, path: text(), status, videos });
        }
        let is_part = |asked: ByteRange| is_listed && answer.length == Some(asked.length());
        if status == 200 && asked.is_some_and(|asked| !is_part(asked)) {
            return Err(ProbeError::NoRanges { server: name, path: text() });
        }
        let complete = answer.range.and_then(ContentRange::complete);
        if let (206, Some(found), Some(expected)) = (status, complete, library.part(of, ask).complete)
            && found != expected
        {
            return Err(ProbeError::OtherSet { server: name, path: text(), found, expected });
        }
        Ok(Probe { status, server: answer.server })
    }
}

/// Asks for a playlist over such a stream.
///
/// Errors: no answer, not HTTP, a status other than success, or a playlist beyond [`LIMIT`].
pub fn fetch(url: &Url, headers: &[Header], stream: &mut (impl Read + Write)) -> Result<Vec<u8>, ProbeError> {
    let name = url.authority();
    let path = if url.path.is_empty() { "/" } else { &url.path };
    let mut out = Vec::new();
    let template = Template::new(&Method::get(), &url.host_field(), "", headers, None);
    template.write_last(|out| out.extend_from_slice(path.as_bytes()), &mut out);
    let answer = exchange((name.as_str(), url.https), &out, LIMIT, stream).map_err(|error| match error {
        ExchangeError::TooLong { .. } => {
            ProbeError::Playlist { url: url.to_string(), problem: PlaylistError::TooLong }
        }
        error => error.into(),
    })?;
    match (answer.status, answer.location) {
        (200, _) => Ok(answer.body),
        (status, Some(to)) if is_redirect(status) => {
            Err(ProbeError::Redirect { server: name, path: path.into(), to, status })
        }
        (status, _) => Err(ProbeError::Status { server: name, path: path.into(), status }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Said;
    use crate::video::config::tests::{config, listed};

    #[test]
    fn a_server_has_the_set_or_is_told_apart() {
        let first = config().library.part(Watched { video: 0, rung: 0 }, Ask::Chunk(0));
        let size = first.complete.unwrap();
        let check = |says: &str, expect: Result<u16, &str>| {
            let mut stream = Said(says.as_bytes(), Vec::new());
            let found = Probe::ask(&config(), 0, &mut stream);
            match (found, expect) {
                (Ok(found), Ok(status)) => assert_eq!(found.status, status, "{says}"),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (found, expect) => panic!("{found:?} and not {expect:?}"),
            }
            let asked = String::from_utf8(stream.1).unwrap();
            assert!(
                asked.starts_with("GET /v/v000000/240p.bin HTTP/1.1\r\nHost: 10.0.0.1:8080\r\n"),
                "{asked}"
            );
            assert!(asked.ends_with("Range: bytes=0-0\r\n\r\n"), "{asked}");
        };
        let part = |of: u64| format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/{of}\r\n\r\n");
        check(&part(size), Ok(206));
        check(&part(size + 1), Err("in this set it has"));
        check("HTTP/1.1 503 Service Unavailable\r\n\r\n", Ok(503));
        check("HTTP/1.1 404 Not Found\r\n\r\n", Err("fileset make FOLDER --video 40x1/160"));
        check("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Err("with the whole (status 200)"));
        check("SSH-2.0\r\n", Err("is an SSH server"));
    }

    #[test]
    fn of_a_list_the_first_segment_is_asked_for() {
        let config = VideoConfig { library: listed(), ..config() };
        let mut stream = Said(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Vec::new());
        assert_eq!(Probe::ask(&config, 0, &mut stream).unwrap().status, 200, "which is no part of a file");
        assert!(stream.1.starts_with(b"GET /live/a.ts HTTP/1.1\r\n"), "{}", stream.1.escape_ascii());
    }

    #[test]
    fn playlists_are_fetched_up_to_a_limit() {
        let check = |says: &[u8], expect: Result<&[u8], &str>| {
            let mut stream = Said(says, Vec::new());
            let found = fetch(&"http://h/a.m3u8".parse().unwrap(), &[], &mut stream);
            match (found, expect) {
                (Ok(found), Ok(body)) => assert_eq!(found, body),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (found, expect) => panic!("{found:?} and not {expect:?}"),
            }
            assert!(stream.1.starts_with(b"GET /a.m3u8 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"));
        };
        check(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n#EXTM3U\n", Ok(b"#EXTM3U\n"));
        check(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Err("status 404"));
        let moved = b"HTTP/1.1 302 Found\r\nLocation: /b.m3u8\r\nContent-Length: 0\r\n\r\n";
        check(moved, Err("redirects from the playlist /a.m3u8 to /b.m3u8 (status 302)"));
        let long = format!("HTTP/1.0 200 OK\r\n\r\n{}", "#".repeat(LIMIT + 1));
        check(long.as_bytes(), Err("more than 16 MiB (16777216 B)"));
    }
}
