//! What a person may name as the server under test.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use units::ParseError;

/// A server to measure, as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetName {
    /// The server that this program brings along.
    Sphinx,
    /// A memcached found on this machine.
    Memcached,
    /// One that already runs, at `HOST:PORT`. It is neither started nor stopped, and never flushed.
    Foreign(String),
}

const LEVER: &str = "write sphinx (embedded), memcached (found on this machine), or HOST:PORT of a server that \
                     runs, such as 127.0.0.1:11211";

impl TargetName {
    /// Where a foreign server is.
    ///
    /// Errors: the host is not known.
    pub fn address(host_port: &str) -> Result<SocketAddr, ParseError> {
        let problem = |problem: String| error(host_port, problem);
        let mut found =
            host_port.to_socket_addrs().map_err(|e| problem(format!("its address is not known: {e}")))?;
        found.next().ok_or_else(|| problem("it has no address".into()))
    }
}

fn error(given: &str, problem: String) -> ParseError {
    ParseError { what: "target", given: given.into(), problem, lever: LEVER }
}

impl FromStr for TargetName {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<TargetName, ParseError> {
        match text {
            "sphinx" => return Ok(TargetName::Sphinx),
            "memcached" => return Ok(TargetName::Memcached),
            _ => {}
        }
        let (host, port) = text
            .rsplit_once(':')
            .ok_or_else(|| error(text, "it is neither a known name nor HOST:PORT".into()))?;
        if host.is_empty() {
            return Err(error(text, "it has no host".into()));
        }
        if port.parse::<u16>().ok().is_none_or(|port| port == 0) {
            return Err(error(text, format!("'{port}' is not a port from 1 to 65535")));
        }
        Ok(TargetName::Foreign(text.into()))
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TargetName::Sphinx => "sphinx",
            TargetName::Memcached => "memcached",
            TargetName::Foreign(address) => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_addresses() {
        for text in ["sphinx", "memcached", "127.0.0.1:11211", "[::1]:80", "cache.example:11211"] {
            assert_eq!(text.parse::<TargetName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_others_and_says_what_is_allowed() {
        let check = |text: &str, problem: &str| {
            let error = text.parse::<TargetName>().unwrap_err().to_string();
            assert!(
                error.contains(problem) && error.contains("sphinx (embedded), memcached"),
                "{text}: {error}"
            );
        };
        check("redis", "neither a known name nor HOST:PORT");
        check("Sphinx", "neither a known name");
        check("", "neither");
        check(":80", "no host");
        check("localhost:", "'' is not a port");
        check("localhost:0", "'0' is not a port");
        check("localhost:99999", "'99999' is not a port");
        check("localhost:http", "'http' is not a port");
    }

    #[test]
    fn an_unknown_host_is_named() {
        let error = TargetName::address("no-such-host.invalid:1").unwrap_err().to_string();
        assert!(error.contains("no-such-host.invalid") && error.contains("not known"), "{error}");
        assert_eq!(TargetName::address("127.0.0.1:80").unwrap().port(), 80);
    }
}
