use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use units::ParseError;

/// Ports of Jaeger for OTLP over HTTP and for queries. Source: Jaeger's documentation.
const OTLP: u16 = 4318;
const QUERY: u16 = 16_686;

/// A destination of traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A new file, of lines of OTLP's JSON.
    File(PathBuf),
    /// A receiver of OTLP over HTTP, which cannot be queried.
    Otlp(Host),
    /// Jaeger, which takes OTLP at the one port and answers queries at the other.
    Jaeger {
        /// Its OTLP endpoint.
        otlp: Host,
        /// The port for queries.
        query: u16,
    },
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name or address, without brackets.
    pub name: String,
    /// The port.
    pub port: u16,
}

impl Host {
    fn read(text: &str, usual: u16) -> Result<Host, String> {
        let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, "")) => (name, None),
            Some((name, port)) => (name, port.strip_prefix(':').or(Some(""))),
            None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!("'{name}' is not the name or address of a host"));
        }
        let port = port.map_or(Ok(usual), read_port)?;
        Ok(Host { name: name.into(), port })
    }
}

fn read_port(text: &str) -> Result<u16, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| is_plain && *port > 0);
    port.ok_or_else(|| format!("'{text}' is not a port from 1 to 65535"))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Host { name, port } = self;
        if name.contains(':') { write!(f, "[{name}]:{port}") } else { write!(f, "{name}:{port}") }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::File(path) => path.display().fmt(f),
            Destination::Otlp(host) => write!(f, "the receiver of OTLP at {host}"),
            Destination::Jaeger { otlp, .. } => write!(f, "Jaeger at {otlp}"),
        }
    }
}

impl FromStr for Destination {
    type Err = ParseError;

    /// Reads `jaeger://HOST[:PORT][?query=PORT]`, `otlp://HOST[:PORT]` and the path of a file.
    fn from_str(text: &str) -> Result<Destination, ParseError> {
        let error = |problem: String| ParseError {
            what: "sink",
            given: text.into(),
            problem,
            hint: "write jaeger://HOST, jaeger://HOST:4318?query=16686, otlp://HOST:4318, or the path of a file",
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            let is_path = !text.is_empty() && !text.ends_with('/');
            return is_path
                .then(|| Destination::File(text.into()))
                .ok_or_else(|| error("no file is named".into()));
        };
        let host = |text: &str, usual| Host::read(text, usual).map_err(error);
        match scheme {
            "jaeger" => {
                let (otlp, asked) = rest.split_once('?').unwrap_or((rest, ""));
                let query = match asked.strip_prefix("query=") {
                    Some(port) => read_port(port).map_err(error)?,
                    None if asked.is_empty() => QUERY,
                    None => return Err(error(format!("'{asked}' is not query=PORT"))),
                };
                Ok(Destination::Jaeger { otlp: host(otlp.trim_end_matches('/'), OTLP)?, query })
            }
            "otlp" => Ok(Destination::Otlp(host(rest.trim_end_matches('/'), OTLP)?)),
            other => Err(error(format!("'{other}' is not the protocol of a sink"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinks_are_read() {
        let check = |text: &str, expect: &str| {
            let found: Destination = text.parse().unwrap();
            let query = if let Destination::Jaeger { query, .. } = found {
                format!(" {query}")
            } else {
                String::new()
            };
            assert_eq!(format!("{found}{query}"), expect, "{text}");
        };
        check("jaeger://localhost", "Jaeger at localhost:4318 16686");
        check("jaeger://10.0.0.5:40/?query=41", "Jaeger at 10.0.0.5:40 41");
        check("jaeger://[::1]?query=41", "Jaeger at [::1]:4318 41");
        check("otlp://[fe80::1]:9", "the receiver of OTLP at [fe80::1]:9");
        check("/tmp/a.jsonl", "/tmp/a.jsonl");
    }

    #[test]
    fn what_is_none_is_refused_with_the_reason() {
        let check = |text: &str, says: &str| {
            let error = text.parse::<Destination>().unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("write jaeger://HOST"), "{text}: {error}");
        };
        check("", "no file is named");
        check("folder/", "no file is named");
        check("http://host:4318", "'http' is not the protocol of a sink");
        check("jaeger://", "'' is not the name or address of a host");
        check("jaeger://a b", "'a b' is not the name");
        check("jaeger://host:0", "'0' is not a port");
        check("jaeger://host:+1", "'+1' is not a port");
        check("jaeger://host:99999", "'99999' is not a port");
        check("jaeger://[::1]x", "'' is not a port");
        check("jaeger://host?port=1", "'port=1' is not query=PORT");
        check("jaeger://host?query=x", "'x' is not a port");
        check("otlp://host/v1/traces", "is not the name or address");
        check("cassandra://host/traces", "'cassandra' is not the protocol of a sink");
    }
}
