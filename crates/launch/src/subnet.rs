use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use units::ParseError;

/// A range of IPv4 addresses, as an address and how many of its first bits are fixed: `10.0.7.0/28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    first: u32,
    bits: u32,
}

/// Where ranges are taken from: addresses for tests of networks, which no Internet host has. Source: RFC 2544,
/// C.2.2.
pub(crate) const POOL: Subnet = Subnet { first: u32::from_be_bytes([198, 19, 0, 0]), bits: 16 };

impl Subnet {
    /// The `n`-th subrange, modulo their number, with room for `hosts` machines and the bridge; `None` if the range is
    /// too small.
    ///
    /// Shape: one host gets a /30: first the network address, second the bridge, last the broadcast address.
    pub(crate) fn part(&self, n: u32, hosts: usize) -> Option<Subnet> {
        let size = (hosts as u32 + 3).next_power_of_two();
        let bits = 32 - size.trailing_zeros();
        let ranges = 1u32 << bits.checked_sub(self.bits)?;
        Some(Subnet { first: self.first + (n % ranges) * size, bits })
    }

    /// Machine number `n` of it; 0 is the bridge.
    pub(crate) fn address(&self, n: usize) -> Ipv4Addr {
        Ipv4Addr::from(self.first + 1 + n as u32)
    }

    /// An address with the length of the range, as `ip` wants it.
    pub(crate) fn with_length(&self, n: usize) -> String {
        format!("{}/{}", self.address(n), self.bits)
    }

    pub(crate) fn overlaps(&self, other: &Subnet) -> bool {
        let bits = self.bits.min(other.bits);
        self.first.checked_shr(32 - bits).unwrap_or(0) == other.first.checked_shr(32 - bits).unwrap_or(0)
    }

    pub(crate) fn contains(&self, ip: IpAddr) -> bool {
        matches!(ip, IpAddr::V4(ip) if self.overlaps(&Subnet { first: u32::from(ip), bits: 32 }))
    }

    /// Reads `10.0.0.1/8`, or one address.
    pub(crate) fn parse(text: &str) -> Option<Subnet> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        let (address, bits) = (address.parse::<Ipv4Addr>().ok()?, bits.parse::<u32>().ok()?);
        (bits <= 32).then(|| Subnet { first: u32::from(address), bits })
    }
}

impl FromStr for Subnet {
    type Err = ParseError;

    /// Reads the first address of a range and how many of its bits are fixed, 8 to 30: fewer leave no room for a server.
    fn from_str(text: &str) -> Result<Subnet, ParseError> {
        let error = |problem: &str| ParseError {
            what: "range of addresses",
            given: text.into(),
            problem: problem.into(),
            hint: "write its first address and its length, such as 10.0.7.0/28",
        };
        let subnet = Subnet::parse(text).filter(|_| text.contains('/'));
        let subnet = subnet.ok_or_else(|| error("it is not a range of IPv4 addresses"))?;
        if !(8..=30).contains(&subnet.bits) {
            return Err(error("its length is not from 8 to 30"));
        }
        match subnet.first.trailing_zeros() >= 32 - subnet.bits {
            true => Ok(subnet),
            false => Err(error("it does not begin at that address")),
        }
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.first), self.bits)
    }
}

/// The ranges that are in use according to what `ip -o -4 addr show` and `ip -4 route show` print, with the interface
/// of each; the default route is none.
pub(crate) fn in_use(addresses: &str, routes: &str) -> Vec<(String, Subnet)> {
    let after = |words: &[&str], word: &str| {
        let at = words.iter().position(|other| *other == word)?;
        words.get(at + 1).map(|next| (*next).to_owned())
    };
    let of_address = addresses.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some((words.get(1)?.trim_end_matches(':').to_owned(), Subnet::parse(&after(&words, "inet")?)?))
    });
    let of_route = routes.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let range = Subnet::parse(words.iter().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?)?;
        (words.first() != Some(&"default")).then(|| (after(&words, "dev").unwrap_or_default(), range))
    });
    of_address.chain(of_route).collect()
}

/// The addresses from which this machine reaches a server that listens at `server`: loopback, the server's own address, the
/// range of the bridges, or `bridge`, its own where others route to it. A container engine gives the address later, and the
/// server listens on all of its own.
pub fn asked_from(server: IpAddr, bridge: Option<IpAddr>) -> Vec<String> {
    let mut all = vec!["127.0.0.0/8".to_owned(), "::1".to_owned()];
    if server.is_unspecified() || POOL.contains(server) {
        all.push(POOL.to_string());
    } else if !server.is_loopback() {
        all.push(server.to_string());
    }
    all.extend(bridge.filter(|bridge| !POOL.contains(*bridge)).map(|bridge| bridge.to_string()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_has_room_for_its_hosts_and_no_more() {
        let check = |n: u32, hosts: usize, range: &str, last: &str| {
            let subnet = POOL.part(n, hosts).unwrap();
            assert_eq!(
                (subnet.to_string().as_str(), subnet.with_length(hosts).as_str()),
                (range, last),
                "{n} {hosts}"
            );
        };
        check(0, 1, "198.19.0.0/30", "198.19.0.2/30");
        check(1, 1, "198.19.0.4/30", "198.19.0.6/30");
        check(16_384, 1, "198.19.0.0/30", "198.19.0.2/30");
        check(1, 2, "198.19.0.8/29", "198.19.0.11/29");
        check(3, 5, "198.19.0.24/29", "198.19.0.30/29");
        check(0, 200, "198.19.0.0/24", "198.19.0.201/24");
    }

    #[test]
    fn knows_what_is_in_use() {
        let addresses = "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever\n\
                         2: eth0    inet 198.19.7.9/24 brd 198.19.7.255 scope global eth0\\       valid_lft\n";
        let routes = "default via 172.20.0.1 dev eth0\n\
                      10.0.0.0/8 dev wg0 scope link\n\
                      blackhole 198.19.128.0/17\n\
                      172.20.0.1 dev eth0 scope link\n";
        let found = in_use(addresses, routes);
        let words: Vec<String> = found.iter().map(|(device, range)| format!("{device} {range}")).collect();
        assert_eq!(
            words,
            [
                "lo 127.0.0.1/8",
                "eth0 198.19.7.9/24",
                "wg0 10.0.0.0/8",
                " 198.19.128.0/17",
                "eth0 172.20.0.1/32"
            ]
        );
        let free = |text: &str| {
            let range = Subnet::parse(text).unwrap();
            !found.iter().any(|(_, other)| other.overlaps(&range))
        };
        assert!(free("198.19.6.252/30") && free("198.19.8.0/24") && !free("198.19.7.0/30"));
        assert!(!free("198.19.200.0/30") && !free("0.0.0.0/0") && !free("10.1.2.3"));
    }

    proptest! {
        #[test]
        fn ranges_of_one_size_are_apart(a in any::<u32>(), b in any::<u32>(), hosts in 1usize..200) {
            let (one, other) = (POOL.part(a, hosts).unwrap(), POOL.part(b, hosts).unwrap());
            prop_assert_eq!(one.overlaps(&other), one == other);
            prop_assert!(POOL.overlaps(&one));
            prop_assert!(u32::from(one.address(hosts)) < one.first + (1 << (32 - one.bits)) - 1);
        }

        #[test]
        fn any_text_is_a_range_or_none(text in any::<String>()) {
            let _ = Subnet::parse(&text);
            let _ = in_use(&text, &text);
        }
    }

    #[test]
    fn only_this_machine_asks_for_the_status() {
        let check = |server: &str, expect: Option<&str>| {
            let found = asked_from(server.parse().unwrap(), None);
            assert_eq!(found[..2], ["127.0.0.0/8", "::1"], "{server}");
            assert_eq!(found.get(2).map(String::as_str), expect, "{server}");
        };
        check("127.0.0.1", None);
        check("::1", None);
        check("198.19.7.2", Some("198.19.0.0/16"));
        check("0.0.0.0", Some("198.19.0.0/16"));
        check("10.0.0.5", Some("10.0.0.5"));
        check("fd00::5", Some("fd00::5"));
        let routed = asked_from("10.0.7.2".parse().unwrap(), Some("10.0.7.1".parse().unwrap()));
        assert_eq!(routed[2..], ["10.0.7.2", "10.0.7.1"]);
        let own = asked_from("198.19.7.2".parse().unwrap(), Some("198.19.7.1".parse().unwrap()));
        assert_eq!(own[2..], ["198.19.0.0/16"]);
    }

    #[test]
    fn a_range_that_others_route_here_is_read_and_cut() {
        let range: Subnet = "10.0.7.0/28".parse().unwrap();
        let part = |n: u32, hosts: usize| range.part(n, hosts).map(|part| part.to_string());
        assert_eq!(part(0, 1).as_deref(), Some("10.0.7.0/30"));
        assert_eq!((part(3, 1), part(4, 1)), (Some("10.0.7.12/30".into()), part(0, 1)));
        assert_eq!((part(9, 13).as_deref(), part(0, 14)), (Some("10.0.7.0/28"), None));
        let check = |text: &str, problem: &str| {
            let error = text.parse::<Subnet>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("10.0.7.0/28"), "{error}");
        };
        check("10.0.7.0", "not a range");
        check("10.0.7.x/28", "not a range");
        check("fd00::/64", "not a range");
        check("10.0.7.0/31", "8 to 30");
        check("0.0.0.0/0", "8 to 30");
        check("10.0.7.1/28", "does not begin");
    }
}
