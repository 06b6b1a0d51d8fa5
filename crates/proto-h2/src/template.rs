use spec::workload::{Header, Method};

use crate::hpack::{write_field, write_integer, write_name};

/// Fields that HTTP/2 has no use for, and forbids. Source: RFC 9113 §8.2.2.
pub(crate) const OF_CONNECTIONS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// The fields of a request that differs from the others of its kind by its path only.
///
/// Cost of writing them: two copies plus the path's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Those before the path.
    before: Vec<u8>,
    /// The beginning of each path.
    prefix: Vec<u8>,
    /// Those after it.
    after: Vec<u8>,
}

impl Template {
    /// Requests to `host` for paths that begin with `prefix`.
    ///
    /// A `Host` among `headers` replaces `host`, and fields about an HTTP/1.1 connection are left out. `length`: of the
    /// body.
    pub fn new(
        method: &Method,
        (host, https): (&str, bool),
        prefix: &str,
        headers: &[Header],
        length: Option<usize>,
    ) -> Template {
        let own_host = headers.iter().find(|header| header.name.eq_ignore_ascii_case("host"));
        let host = own_host.map_or(host, |header| &header.value);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        write_field(":method", method.to_string().as_bytes(), &mut before);
        write_field(":scheme", if https { b"https" } else { b"http" }, &mut before);
        write_field(":authority", host.as_bytes(), &mut before);
        write_name(":path", &mut before);
        for header in headers {
            let name = header.name.to_ascii_lowercase();
            if name != "host" && !OF_CONNECTIONS.contains(&&*name) {
                write_field(&name, header.value.as_bytes(), &mut after);
            }
        }
        if let Some(length) = length {
            write_field("content-length", length.to_string().as_bytes(), &mut after);
        }
        Template { before, prefix: prefix.into(), after }
    }

    /// Appends the fields of the request for a path, which `spec::workload::check_target` has let through.
    #[inline]
    pub fn write(&self, path: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        let length_at = out.len();
        out.push(0);
        out.extend_from_slice(&self.prefix);
        path(out);
        let length = out.len() - length_at - 1;
        if length < 127 {
            out[length_at] = length as u8;
        } else {
            let mut longer = Vec::new();
            write_integer(length, 7, 0, &mut longer);
            out.splice(length_at..=length_at, longer);
        }
        out.extend_from_slice(&self.after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::Decoder;

    #[test]
    fn fields_as_a_server_reads_them() {
        let check = |template: &Template, path: &str, expect: &str| {
            let (mut out, mut seen) = (Vec::new(), Vec::new());
            template.write(|out| out.extend_from_slice(path.as_bytes()), &mut out);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            Decoder::default()
                .decode(&out, |name, value| seen.push(format!("{}={}", text(name), text(value))))
                .unwrap();
            assert_eq!(seen.join(" "), expect);
        };
        let get = Template::new(&Method::get(), ("h:8080", false), "", &[], None);
        check(&get, "/a", ":method=GET :scheme=http :authority=h:8080 :path=/a");
        for length in [126, 127, 128, 5000] {
            let path = format!("/{}", "p".repeat(length - 1));
            check(&get, &path, &format!(":method=GET :scheme=http :authority=h:8080 :path={path}"));
        }
        let headers = ["host: other", "Range: bytes=0-9", "Keep-Alive: timeout=5", "TE: trailers"];
        let headers: Vec<Header> = headers.iter().map(|text| text.parse().unwrap()).collect();
        let post = Template::new(&"POST".parse().unwrap(), ("h", true), "/x", &headers, Some(4));
        let expect = ":method=POST :scheme=https :authority=other :path=/x/a range=bytes=0-9 te=trailers content-length=4";
        check(&post, "/a", expect);
    }
}
