use std::io::Write;

use spec::workload::{Header, Method};

/// A request that differs from the others of its kind by its path only.
///
/// Cost of writing one: two copies plus the path's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The method, a blank, and the prefix of each path.
    before: Vec<u8>,
    /// The fields that follow the path, without the empty line after them.
    fields: Vec<u8>,
    /// All that follows the path.
    after: Vec<u8>,
    /// The same for the last request on a connection.
    after_last: Vec<u8>,
}

impl Template {
    /// Requests to `host`, as `Host` names it, for paths that begin with `prefix`.
    ///
    /// A `Host` among `headers` replaces `host`. `body` is sent with each, unless `None`.
    pub fn new(
        method: &Method,
        host: &str,
        prefix: &str,
        headers: &[Header],
        body: Option<&[u8]>,
    ) -> Template {
        let mut fields = Vec::new();
        if !headers.iter().any(|header| header.name.eq_ignore_ascii_case("host")) {
            fields.extend_from_slice(format!("Host: {host}\r\n").as_bytes());
        }
        for header in headers {
            fields.extend_from_slice(format!("{header}\r\n").as_bytes());
        }
        if let Some(body) = body {
            fields.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        let after =
            |extra: &[u8]| [b" HTTP/1.1\r\n", &fields[..], extra, b"\r\n", body.unwrap_or(b"")].concat();
        Template {
            before: format!("{method} {prefix}").into_bytes(),
            fields: [b" HTTP/1.1\r\n", &fields[..]].concat(),
            after: after(b""),
            after_last: after(b"Connection: close\r\n"),
        }
    }

    /// Appends the request for a path, which `spec::workload::check_target` has let through.
    #[inline]
    pub fn write(&self, path: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        path(out);
        out.extend_from_slice(&self.after);
    }

    /// The same without a body, for a part of the whole: the bytes from `first` to `last`, both included.
    pub fn write_range(&self, path: impl FnOnce(&mut Vec<u8>), (first, last): (u64, u64), out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        path(out);
        out.extend_from_slice(&self.fields);
        // Writing into a vector cannot fail.
        let _ = write!(out, "Range: bytes={first}-{last}\r\n\r\n");
    }

    /// The same, and asks the server to close the connection after the answer.
    pub fn write_last(&self, path: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        path(out);
        out.extend_from_slice(&self.after_last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request for `/a` of a template, as text.
    fn written(template: &Template, last: bool) -> String {
        let mut out = Vec::new();
        let path = |out: &mut Vec<u8>| out.extend_from_slice(b"/a");
        if last {
            template.write_last(path, &mut out)
        } else {
            template.write(path, &mut out)
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn golden_bytes() {
        let get = Template::new(&Method::get(), "h:8080", "", &[], None);
        assert_eq!(written(&get, false), "GET /a HTTP/1.1\r\nHost: h:8080\r\n\r\n");
        assert_eq!(written(&get, true), "GET /a HTTP/1.1\r\nHost: h:8080\r\nConnection: close\r\n\r\n");
        let headers: Vec<Header> =
            ["host:  other ", "Range: bytes=0-9"].iter().map(|text| text.parse().unwrap()).collect();
        let post = Template::new(&"POST".parse().unwrap(), "h", "/x", &headers, Some(b"body"));
        assert_eq!(
            written(&post, false),
            "POST /x/a HTTP/1.1\r\nhost: other\r\nRange: bytes=0-9\r\nContent-Length: 4\r\n\r\nbody"
        );
        let mut part = Vec::new();
        get.write_range(|out| out.extend_from_slice(b"/a"), (5, 1 << 40), &mut part);
        let range = "GET /a HTTP/1.1\r\nHost: h:8080\r\nRange: bytes=5-1099511627776\r\n\r\n";
        assert_eq!(String::from_utf8(part).unwrap(), range);
        let empty = Template::new(&"PUT".parse().unwrap(), "h", "", &[], Some(b""));
        assert_eq!(written(&empty, false), "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    }
}
