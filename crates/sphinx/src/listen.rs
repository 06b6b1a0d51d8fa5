use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use anyhow::{Context, Result};

/// One word of `-l`: an address or the name of one, with a port or without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A number, and the port if one was given.
    Number(IpAddr, Option<u16>),
    /// A name to be looked up.
    Name(String, Option<u16>),
}

impl Place {
    /// All addresses that it stands for, with `port` where it has none.
    ///
    /// Errors: the name is not known.
    pub(crate) fn addresses(&self, port: u16) -> Result<Vec<SocketAddr>> {
        match self {
            Place::Number(address, own) => Ok(vec![SocketAddr::new(*address, own.unwrap_or(port))]),
            Place::Name(name, own) => {
                let found = (name.as_str(), own.unwrap_or(port)).to_socket_addrs();
                let found = found
                    .with_context(|| format!("cannot find the address of '{name}'; give another with -l"))?;
                let mut addresses: Vec<SocketAddr> = found.collect();
                // One name may be told once per protocol.
                addresses.sort();
                addresses.dedup();
                Ok(addresses)
            }
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Place::Number(address, None));
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Place::Number(address.ip(), Some(address.port())));
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
            && let Ok(address) = inner.parse()
        {
            return Ok(Place::Number(IpAddr::V6(address), None));
        }
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port.parse().map_err(|_| complaint())?)),
            None => (text, None),
        };
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
        // Names of hosts do not end in a number: that is a mistyped address, which nobody should look up.
        let ends_in_number =
            name.rsplit('.').next().is_none_or(|label| label.bytes().all(|b| b.is_ascii_digit()));
        if !is_name || ends_in_number {
            return Err(complaint());
        }
        Ok(Place::Name(name.into(), port))
    }
}

fn complaint() -> String {
    "it is no address; write for example 127.0.0.1, 0.0.0.0:11211, [::1]:11211 or localhost".into()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Number(address, None) => address.fmt(f),
            Place::Number(address, Some(port)) => SocketAddr::new(*address, *port).fmt(f),
            Place::Name(name, None) => f.write_str(name),
            Place::Name(name, Some(port)) => write!(f, "{name}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_addresses_with_and_without_ports() {
        let check = |text: &str, expect: &[&str]| {
            let place: Place = text.parse().unwrap();
            let addresses = place.addresses(11211).unwrap();
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            assert_eq!(addresses, expect, "{text}");
        };
        check("127.0.0.1", &["127.0.0.1:11211"]);
        check("0.0.0.0:7", &["0.0.0.0:7"]);
        check("::1", &["[::1]:11211"]);
        check("[::1]", &["[::1]:11211"]);
        check("[::1]:7", &["[::1]:7"]);
        let local: Place = "localhost:7".parse().unwrap();
        let found = local.addresses(1).unwrap();
        assert!(!found.is_empty());
        assert!(found.iter().all(|a| a.ip().is_loopback() && a.port() == 7), "{found:?}");
    }

    #[test]
    fn refuses_what_is_none() {
        let check = |text: &str| {
            let error = text.parse::<Place>().unwrap_err();
            assert!(error.contains("write for example"), "{text}: {error}");
        };
        for text in ["", "somewhere!", "127.0.0.1:x", "300.1.1.1", "127.0.0.1:70000", "a:b:c", "[::1"] {
            check(text);
        }
    }
}
