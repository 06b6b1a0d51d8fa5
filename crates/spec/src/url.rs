use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;
use crate::workload::check_target;

/// The address of requests: `http://HOST[:PORT][/PATH]`, or `https`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whether the connection is encrypted.
    pub https: bool,
    /// A name or an address; an IPv6 address without its brackets, with its zone after a `%`.
    pub host: String,
    /// 80 or 443 if not given.
    pub port: u16,
    /// The path, from the first `/` on; may be empty.
    pub path: String,
}

impl Url {
    /// The host and its port, as a socket address or a look-up takes them.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// The server, as a target: `http://HOST:PORT`.
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.https { "https" } else { "http" }, self.authority())
    }

    /// The host without its zone, which has a meaning on this machine only.
    pub fn name(&self) -> &str {
        self.host.split_once('%').map_or(&self.host, |(name, _)| name)
    }

    /// Whether requests to both go to one server.
    pub fn is_same_server(&self, other: &Url) -> bool {
        (self.https, self.port) == (other.https, other.port) && self.name().eq_ignore_ascii_case(other.name())
    }

    /// The value of `Host`: without the port if it is the scheme's default.
    pub fn host_field(&self) -> String {
        let whole = Url { host: self.name().into(), ..self.clone() }.authority();
        if self.port == own_port(self.https) {
            whole[..whole.rfind(':').unwrap_or(whole.len())].to_owned()
        } else {
            whole
        }
    }
}

fn own_port(https: bool) -> u16 {
    if https { 443 } else { 80 }
}

impl FromStr for Url {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Url, ParseError> {
        let error = |problem: &str| ParseError {
            what: "URL",
            given: text.into(),
            problem: problem.into(),
            hint: "write http://HOST:PORT/PATH, or https",
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| error("it has no http:// before it"))?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(error("it is neither http nor https")),
        };
        // A fragment is the reader's, and is not sent.
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let path = if path.starts_with('?') { format!("/{path}") } else { path.to_owned() };
        let path = if path.is_ascii() { path } else { encoded(&path) };
        if authority.contains('@') {
            return Err(error("it names a user; add a header instead"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(|| error("its '[' is not closed"))?;
                (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some("")))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, Some("")),
            },
        };
        if host.is_empty() || !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:%".contains(&b)) {
            return Err(error("it has no proper host"));
        }
        let port = match port.ok_or_else(|| error("what follows its host is not a port"))? {
            "" => own_port(https),
            digits => {
                let number = digits
                    .bytes()
                    .all(|byte| byte.is_ascii_digit())
                    .then(|| digits.parse::<u16>().ok())
                    .flatten();
                number.filter(|port| *port > 0).ok_or_else(|| error("its port is not from 1 to 65535"))?
            }
        };
        if !path.is_empty() {
            check_target(&path)?;
        }
        // RFC 6874 has %25 before the zone, browsers and curl take the bare sign, too.
        Ok(Url { https, host: host.replacen("%25", "%", 1), port, path })
    }
}

/// A path with its characters beyond ASCII percent-encoded, as browsers send it.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len() * 3);
    for byte in path.bytes() {
        match byte {
            0..0x80 => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

as_text! { Url; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_can_be_reached() {
        let check = |text: &str, expect: &str, host_field: &str| {
            let url: Url = text.parse().unwrap();
            assert_eq!((url.to_string(), url.host_field()), (expect.into(), host_field.into()), "{text}");
            assert_eq!(url.to_string().parse::<Url>(), Ok(url), "what is printed reads back");
        };
        check("http://h", "http://h:80", "h");
        check("http://127.0.0.1:8080/a/b?c=d", "http://127.0.0.1:8080/a/b?c=d", "127.0.0.1:8080");
        check("https://h.example/", "https://h.example:443/", "h.example");
        check("https://h:80", "https://h:80", "h:80");
        check("http://[::1]:8080", "http://[::1]:8080", "[::1]:8080");
        check("http://[::1]/", "http://[::1]:80/", "[::1]");
        check("HTTP://h/", "http://h:80/", "h");
        check("Https://h", "https://h:443", "h");
        check("http://h?k=v", "http://h:80/?k=v", "h");
        check("http://h#top", "http://h:80", "h");
        check("http://h/a?b#top", "http://h:80/a?b", "h");
        check("http://h/#a/?b", "http://h:80/", "h");
        check("http://h/äb?ö", "http://h:80/%C3%A4b?%C3%B6", "h");
        check("http://[fe80::1%eth0]:8080/x", "http://[fe80::1%eth0]:8080/x", "[fe80::1]:8080");
        check("http://[fe80::1%25eth0]", "http://[fe80::1%eth0]:80", "[fe80::1]");
    }

    #[test]
    fn servers_are_told_apart_by_scheme_name_and_port() {
        let check = |a: &str, b: &str, expect: bool| {
            let [a, b] = [a, b].map(|text| text.parse::<Url>().unwrap());
            assert_eq!(a.is_same_server(&b), expect, "{a} {b}");
        };
        check("http://h/a", "http://H:80/b?c", true);
        check("http://h", "https://h", false);
        check("http://h:80", "http://h:81", false);
        check("http://h", "http://i", false);
        // The server knows no zone.
        check("http://[fe80::1%eth0]:8080", "http://[fe80::1]:8080", true);
    }

    #[test]
    fn refuses_the_rest() {
        for wrong in [
            "",
            "h:80",
            "ftp://h",
            "http://",
            "http:///a",
            "http://h:0",
            "http://h:65536",
            "http://h:x",
            "http://h:+5",
            "http://u@h",
            "http://[::1",
            "http://[::1]x",
            "http://h/a b",
            "http://#a",
            "http://?a",
        ] {
            assert!(wrong.parse::<Url>().is_err(), "{wrong}");
        }
    }
}
