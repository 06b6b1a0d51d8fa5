//! Addresses of clients that say their bandwidth, so that a server's side can keep it without a list of them.

use core::net::Ipv4Addr;

/// The first two bytes of the addresses of clients whose server paces them. Source: ours; they are loopback's, which every
/// Linux machine has without being set up, and no program takes them by itself.
pub const PACED: [u8; 2] = [127, 77];
/// The first two bytes of the addresses of clients with a link of their own. Source: RFC 2544 sets 198.18.0.0/15 apart for
/// measurements; servers behind a bridge have the second half.
pub const LINKED: [u8; 2] = [198, 18];

/// Bits of the part of a paced address that is multiplied, and of what its least value is. Source: 11 bits are a step of
/// 1/2048 at most, and leave 5 of the 16 for the power.
const DIGITS: u32 = 11;
/// Resolution of the rate of a paced address: this part of a bit per second, so that a thousandth of the slowest
/// clients' rate is still encoded.
const FRACTION: u32 = 4;

/// The address of a paced client with a bandwidth. Units: bits per second.
///
/// Bounds: 128 bit/s to 550 Gbit/s; bandwidths beyond are clamped. The encoded rate is at most 0.05 % lower.
pub fn paced_address(bits_per_s: u64) -> Ipv4Addr {
    let most = ((2u64 << DIGITS) - 1) << 31;
    let scaled = bits_per_s.saturating_mul(1 << FRACTION).clamp(1 << DIGITS, most);
    let power = scaled.ilog2() - DIGITS;
    let digits = (scaled >> power) as u16 & ((1 << DIGITS) - 1);
    let code = (power as u16) << DIGITS | digits;
    Ipv4Addr::new(PACED[0], PACED[1], (code >> 8) as u8, code as u8)
}

/// The bandwidth that the address of a paced client says; `None`: it is another's. Units: bits per second.
pub fn paced_rate(address: Ipv4Addr) -> Option<u64> {
    let [a, b, high, low] = address.octets();
    let code = u64::from(high) << 8 | u64::from(low);
    let digits = code & ((1 << DIGITS) - 1) | 1 << DIGITS;
    ([a, b] == PACED).then_some((digits << (code >> DIGITS)) >> FRACTION)
}

/// Links of clients, each with an address and a bandwidth, in equal ratios up to the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLinks {
    /// The bandwidth of the last. Units: bits per second.
    pub fastest: u64,
}

impl ClientLinks {
    /// How many there are, numbered from 1. Source: ours; as many more make setting them up by `tc` take ten times as long (3 s),
    /// and each has neighbours that differ by 0.3 %.
    pub const COUNT: u16 = 1023;
    /// The fastest over the slowest. Source: ISPASS'16, Table I, from 1 to over 15 Mbps, which 25 end.
    pub const SPAN: f64 = 25.0;
    /// The bits of their addresses that are the same.
    pub const PREFIX: u8 = 22;

    /// The bandwidth of one. Units: bits per second.
    pub fn rate(self, link: u16) -> u64 {
        let below = f64::from(Self::COUNT - link.min(Self::COUNT)) / f64::from(Self::COUNT);
        ((self.fastest as f64 * Self::SPAN.powf(-below)) as u64).max(1)
    }

    /// The one whose bandwidth is the nearest.
    pub fn nearest(self, bits_per_s: u64) -> u16 {
        let ratio = bits_per_s.max(1) as f64 / self.fastest.max(1) as f64;
        let place = f64::from(Self::COUNT) * (1.0 + ratio.ln() / Self::SPAN.ln());
        place.round().clamp(1.0, f64::from(Self::COUNT)) as u16
    }

    /// The address of one.
    pub fn address(link: u16) -> Ipv4Addr {
        Ipv4Addr::new(LINKED[0], LINKED[1], (link >> 8) as u8, link as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_address_says_its_rate() {
        let check = |bits: u64, expect: &str, rate: u64| {
            let address = paced_address(bits);
            assert_eq!((address.to_string().as_str(), paced_rate(address)), (expect, Some(rate)), "{bits}");
        };
        check(0, "127.77.0.0", 128);
        check(128, "127.77.0.0", 128);
        check(1_000_000, "127.77.103.66", 999_936);
        check(u64::MAX, "127.77.255.255", (4095u64 << 31) >> 4);
        let mut bits = 128;
        while bits < 500_000_000_000 {
            let rate = paced_rate(paced_address(bits)).unwrap();
            assert!(rate <= bits && (bits - rate) as f64 <= bits as f64 / 2048.0 + 1.0, "{bits} {rate}");
            bits += bits / 7 + 1;
        }
        assert_eq!(paced_rate("127.0.0.1".parse().unwrap()), None);
    }

    #[test]
    fn links_are_in_equal_ratios() {
        let links = ClientLinks { fastest: 25_000_000 };
        assert_eq!((links.rate(1023), links.nearest(25_000_000)), (25_000_000, 1023));
        assert!((1_000_000..1_010_000).contains(&links.rate(1)));
        for bits in [1_000_000u64, 1_234_567, 4_000_000, 9_999_999, 24_000_000] {
            let rate = links.rate(links.nearest(bits));
            assert!(rate.abs_diff(bits) as f64 <= bits as f64 * 0.004, "{bits} {rate}");
        }
        // Numbers beyond are clamped.
        assert_eq!((links.nearest(1), links.nearest(u64::MAX)), (1, 1023));
        assert_eq!(ClientLinks::address(1023).to_string(), "198.18.3.255");
        assert_eq!(ClientLinks::address(1).to_string(), "198.18.0.1");
    }
}
