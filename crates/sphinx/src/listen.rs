use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::str::FromStr;

use anyhow::{Context, Result};

/// One word of `-l`: an address, and optionally the encryption of its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) layer: Layer,
    pub(crate) place: Place,
}

/// The addresses of one `-l`, as memcached separates them; empty ones are skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listeners(pub(crate) Vec<Listener>);

impl FromStr for Listeners {
    type Err = String;

    fn from_str(text: &str) -> Result<Listeners, String> {
        let all = text.split([',', ';']).map(str::trim).filter(|one| !one.is_empty());
        let all = all.map(str::parse).collect::<Result<Vec<Listener>, String>>()?;
        if all.is_empty() { Err(complaint()) } else { Ok(Listeners(all)) }
    }
}

/// How the connections of a listener are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// As for the other listeners: TLS with `-Z`.
    Usual,
    /// Not at all: `notls:`.
    Plain,
    /// By TLS without certificates of clients: `btls:`.
    Tls,
    /// By TLS, and clients show a certificate: `mtls:`.
    MutualTls,
}

impl Layer {
    const PREFIXES: [(&str, Layer); 3] =
        [("notls:", Layer::Plain), ("btls:", Layer::Tls), ("mtls:", Layer::MutualTls)];

    /// The prefix of the address: `notls:`.
    pub(crate) fn prefix(self) -> &'static str {
        Layer::PREFIXES.iter().find(|(_, layer)| *layer == self).map_or("", |(prefix, _)| prefix)
    }
}

impl FromStr for Listener {
    type Err = String;

    /// `[notls:|btls:|mtls:][proto[NAME]:][tag[NAME]:]ADDRESS`, as memcached reads it.
    fn from_str(text: &str) -> Result<Listener, String> {
        let found = Layer::PREFIXES
            .iter()
            .find_map(|(prefix, layer)| text.strip_prefix(prefix).map(|rest| (*layer, rest)));
        let (layer, rest) = found.unwrap_or((Layer::Usual, text));
        let rest = match rest.strip_prefix("proto[").and_then(|rest| rest.split_once("]:")) {
            Some(("ascii" | "negotiating", rest)) => rest,
            Some((name, _)) => {
                return Err(format!(
                    "proto[{name}] is refused: which protocol is spoken is one choice for all addresses; make it with -B"
                ));
            }
            None => rest,
        };
        Ok(Listener { layer, place: without_tag(rest).parse()? })
    }
}

/// `text` without a leading `tag[NAME]:` or `tag_NAME_:`, by which memcached distinguishes its proxy's listeners.
fn without_tag(text: &str) -> &str {
    let tagged = match text.strip_prefix("tag") {
        Some(rest) if rest.starts_with('[') => rest.split_once("]:"),
        Some(rest) if rest.starts_with('_') => rest[1..].split_once("_:"),
        _ => None,
    };
    tagged.map_or(text, |(_, rest)| rest)
}

/// An address or the name of one, with a port or without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// `*`: every address of the machine.
    Every(Option<u16>),
    /// A number, and the port if one was given.
    Number(IpAddr, Option<u16>),
    /// A name to be looked up.
    Name(String, Option<u16>),
}

impl Place {
    /// All addresses that the text stands for, with `port` as the default.
    ///
    /// Errors: the name is not known.
    pub(crate) fn addresses(&self, port: u16) -> Result<Vec<SocketAddr>> {
        match self {
            Place::Every(own) => {
                Ok(every_address().map(|every| SocketAddr::new(every, own.unwrap_or(port))).collect())
            }
            Place::Number(address, own) => Ok(vec![SocketAddr::new(*address, own.unwrap_or(port))]),
            Place::Name(name, own) => {
                let found = (name.as_str(), own.unwrap_or(port)).to_socket_addrs();
                let found = found
                    .with_context(|| format!("cannot find the address of '{name}'; give another with -l"))?;
                let mut addresses: Vec<SocketAddr> = found.collect();
                // One name may be resolved once per protocol.
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
        if let Some(place) = with_zone(text) {
            return place;
        }
        // memcached takes brackets around every address.
        if let Some((inner, rest)) = text.strip_prefix('[').and_then(|inner| inner.split_once(']'))
            && !inner.contains(['[', ':'])
            && (rest.is_empty() || rest.starts_with(':'))
        {
            return format!("{inner}{rest}").parse();
        }
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port.parse().map_err(|_| complaint())?)),
            None => (text, None),
        };
        if name == "*" {
            return Ok(Place::Every(port));
        }
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
        // Names of hosts do not end in a number: that is a mistyped address, which should not be looked up.
        let ends_in_number =
            name.rsplit('.').next().is_none_or(|label| label.bytes().all(|b| b.is_ascii_digit()));
        if !is_name || ends_in_number {
            return Err(complaint());
        }
        Ok(Place::Name(name.into(), port))
    }
}

fn complaint() -> String {
    "it is not an address; write for example 127.0.0.1, 0.0.0.0:11211, [::1]:11211 or localhost".into()
}

/// The addresses that stand for all: of each protocol that this machine has.
fn every_address() -> impl Iterator<Item = IpAddr> {
    let all = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    all.into_iter().filter(|every| UdpSocket::bind((*every, 0)).is_ok())
}

/// A link-local address with its zone, as the resolver takes it: `fe80::1%eth0`, in brackets before a port. `None`: no zone.
fn with_zone(text: &str) -> Option<Result<Place, String>> {
    let (address, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => (text, ""),
    };
    let (number, zone) = address.split_once('%')?;
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().ok().map(Some),
        None => rest.is_empty().then_some(None),
    };
    let is_zone = !zone.is_empty() && zone.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    let place = port.filter(|_| is_zone && number.parse::<Ipv6Addr>().is_ok());
    Some(place.map(|port| Place::Name(address.into(), port)).ok_or_else(complaint))
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
        check("[127.0.0.1]", &["127.0.0.1:11211"]);
        check("[127.0.0.1]:7", &["127.0.0.1:7"]);
        let local: Place = "localhost:7".parse().unwrap();
        let found = local.addresses(1).unwrap();
        assert!(!found.is_empty());
        assert!(found.iter().all(|a| a.ip().is_loopback() && a.port() == 7), "{found:?}");
    }

    #[test]
    fn a_zone_is_the_resolvers() {
        let check = |text: &str, expect: Option<(&str, Option<u16>)>| {
            let found = text.parse::<Place>().ok();
            assert_eq!(found, expect.map(|(name, port)| Place::Name(name.into(), port)), "{text}");
        };
        check("fe80::1%eth0", Some(("fe80::1%eth0", None)));
        check("[fe80::1%eth0]", Some(("fe80::1%eth0", None)));
        check("[fe80::1%eth0.7]:9", Some(("fe80::1%eth0.7", Some(9))));
        check("fe80::1%", None);
        check("fe80::x%eth0", None);
        check("[fe80::1%eth0]x", None);
        check("[fe80::1%eth0]:x", None);
        // The zone becomes a part of the address.
        let addresses = "fe80::1%lo".parse::<Place>().unwrap().addresses(7).unwrap();
        assert!(
            matches!(addresses[..], [SocketAddr::V6(one)] if one.scope_id() == 1 && one.port() == 7),
            "{addresses:?}"
        );
    }

    #[test]
    fn addresses_are_separated_as_memcached_does() {
        let check = |text: &str, expect: Option<usize>| {
            let found = text.parse::<Listeners>().ok();
            assert_eq!(found.map(|found| found.0.len()), expect, "{text}");
        };
        check("127.0.0.1", Some(1));
        check("127.0.0.1, ::1", Some(2));
        check("127.0.0.1;::1", Some(2));
        check("127.0.0.1,", Some(1));
        check(",;[::1]:7;,localhost", Some(2));
        check("", None);
        check(" , ", None);
        check("127.0.0.1,a b", None);
    }

    #[test]
    fn reads_what_memcached_writes_before_an_address() {
        let check = |text: &str, layer: Layer, address: &str| {
            let listener: Listener = text.parse().unwrap();
            let addresses = listener.place.addresses(11211).unwrap();
            assert_eq!((listener.layer, addresses[0].to_string().as_str()), (layer, address), "{text}");
        };
        check("127.0.0.1", Layer::Usual, "127.0.0.1:11211");
        check("notls:127.0.0.1:7", Layer::Plain, "127.0.0.1:7");
        check("btls:[::1]:7", Layer::Tls, "[::1]:7");
        check("mtls:proto[ascii]:tag_tools_:127.0.0.1:9", Layer::MutualTls, "127.0.0.1:9");
        check("proto[negotiating]:127.0.0.1", Layer::Usual, "127.0.0.1:11211");
        check("tag[a]:127.0.0.1", Layer::Usual, "127.0.0.1:11211");
        let error = "proto[binary]:127.0.0.1".parse::<Listener>().unwrap_err();
        assert!(error.contains("make it with -B"), "{error}");
        assert!("notls:".parse::<Listener>().unwrap_err().contains("write for example"));
    }

    #[test]
    fn a_star_is_every_address() {
        for (text, port) in [("*", 11211), ("*:7", 7)] {
            let addresses = text.parse::<Place>().unwrap().addresses(11211).unwrap();
            assert!(addresses.iter().all(|a| a.ip().is_unspecified() && a.port() == port), "{addresses:?}");
        }
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
