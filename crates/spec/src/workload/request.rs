use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

/// A request's method: a word of its own, in capitals as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method(String);

impl Method {
    /// `GET`.
    pub fn get() -> Method {
        Method("GET".into())
    }

    /// Whether answers have no body, regardless of their head.
    pub fn is_head(&self) -> bool {
        self.0 == "HEAD"
    }

    /// Whether it is `GET`.
    pub fn is_get(&self) -> bool {
        self.0 == "GET"
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Method {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Method, ParseError> {
        let problem = if text.is_empty() || !text.bytes().all(is_token) {
            "it is not a word of letters, digits and !#$%&'*+-.^_`|~"
        } else if text == "CONNECT" {
            // After CONNECT the connection carries another protocol, unknown here.
            "it makes a tunnel of the connection"
        } else {
            return Ok(Method(text.into()));
        };
        Err(ParseError {
            what: "method",
            given: text.into(),
            problem: problem.into(),
            hint: "write GET, HEAD or POST",
        })
    }
}

/// A header field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value, without blanks around it.
    pub value: String,
}

impl FromStr for Header {
    type Err = ParseError;

    /// Reads `Name: value`.
    fn from_str(text: &str) -> Result<Header, ParseError> {
        let error = |problem: &str| ParseError {
            what: "header",
            given: text.into(),
            problem: problem.into(),
            hint: "write NAME: VALUE, such as 'Accept-Encoding: gzip'",
        };
        let (name, value) = text.split_once(':').ok_or_else(|| error("it has no colon"))?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(error("its name is not a word"));
        }
        if value.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
            return Err(error("its value has control characters"));
        }
        // Connections stay anyway, and many command lines say so.
        let stays = value.trim().eq_ignore_ascii_case("keep-alive");
        if name.eq_ignore_ascii_case("connection") && !stays {
            let hint = "leave it out: connections stay; `taillight load web --requests-per-connection 1` ends each \
                         after one request";
            return Err(ParseError { hint, ..error("it is written where it is needed") });
        }
        let framing = ["content-length", "transfer-encoding"];
        if framing.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return Err(error("it is written where it is needed"));
        }
        Ok(Header { name: name.into(), value: value.trim().into() })
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.value)
    }
}

/// Source: `tchar` of RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether a path, with its query, can stand in a request.
///
/// Errors: it does not begin with `/`, or has blanks, control characters or letters that must be written as `%XX`.
pub fn check_target(path: &str) -> Result<(), ParseError> {
    let problem = if !path.starts_with('/') {
        "it does not begin with '/'"
    } else if !path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        "it has blanks, '#' or characters that are not ASCII"
    } else {
        return Ok(());
    };
    Err(ParseError {
        what: "path",
        given: path.into(),
        problem: problem.into(),
        hint: "write it as in an address bar, such as /a%20b?c=d",
    })
}

as_text! { Method; Header; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_smuggled_into_a_request() {
        let check = |text: &str, expect: bool| assert_eq!(text.parse::<Header>().is_ok(), expect, "{text}");
        check("A: b", true);
        check("X-Empty:", true);
        check("no colon", false);
        check(": b", false);
        check("A b: c", false);
        check("A: b\r\nC: d", false);
        check("A: b\n", false);
        check("Content-Length: 5", false);
        check("connection: close", false);
        let error = "Connection: close".parse::<Header>().unwrap_err().to_string();
        assert!(error.contains("--requests-per-connection 1"), "{error}");
        let check = |text: &str, expect: bool| assert_eq!(text.parse::<Method>().is_ok(), expect, "{text}");
        check("GET", true);
        check("PROPFIND", true);
        check("", false);
        check("GET /", false);
        check("CONNECT", false);
        let check = |text: &str, expect: bool| assert_eq!(check_target(text).is_ok(), expect, "{text}");
        check("/", true);
        check("/a%20b?c=d&e", true);
        check("a", false);
        check("/a b", false);
        check("/a\r\nX: y", false);
        check("/ä", false);
        check("/a#b", false);
    }
}
