//! `stats conns`: every socket at which clients arrive, and every stream connection.

use proto_memcache::server::reply;
use reactor::Address;

/// A connection or a listening socket, for `stats conns`.
pub(crate) struct Told {
    /// Unique among those that are open now.
    pub(crate) number: usize,
    /// The client's address, or a listening socket's.
    pub(crate) address: Option<Address>,
    /// The server's side of a connection.
    pub(crate) server: Option<Address>,
    /// In memcached's words.
    pub(crate) state: &'static str,
    /// Seconds since the last input.
    pub(crate) silent: u32,
}

impl Told {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut line = |name: &str, value: &str| reply::stat(out, &format!("{}:{name}", self.number), value);
        if let Some(address) = &self.address {
            line("addr", &with_scheme(address));
        }
        if let Some(address) = &self.server {
            line("listen_addr", &with_scheme(address));
        }
        line("state", self.state);
        line("secs_since_last_cmd", &self.silent.to_string());
    }
}

/// Appends the lines in the order of their numbers, as memcached lists descriptors: listening sockets stand first.
pub(crate) fn write_sorted(lines: &[u8], out: &mut Vec<u8>) {
    let number = |line: &[u8]| {
        let digits = line.iter().skip("STAT ".len()).take_while(|byte| byte.is_ascii_digit());
        digits.fold(0_usize, |number, digit| number.wrapping_mul(10).wrapping_add(usize::from(digit - b'0')))
    };
    let mut lines: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_by_key(|line| number(line));
    lines.into_iter().for_each(|line| out.extend_from_slice(line));
}

fn with_scheme(address: &Address) -> String {
    match address {
        Address::Tcp(socket) if socket.is_ipv6() => format!("tcp6:{socket}"),
        Address::Tcp(socket) => format!("tcp:{socket}"),
        Address::Udp(socket) => format!("udp:{socket}"),
        Address::Unix(_) => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_has_memcacheds_lines() {
        let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
        let check = |address, server, state, expect: &str| {
            let mut out = Vec::new();
            Told { number: 7, address, server, state, silent: 3 }.write(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        check(
            Some(tcp("127.0.0.1:4711")),
            Some(tcp("127.0.0.1:11211")),
            "conn_read",
            "STAT 7:addr tcp:127.0.0.1:4711\r\nSTAT 7:listen_addr tcp:127.0.0.1:11211\r\n\
             STAT 7:state conn_read\r\nSTAT 7:secs_since_last_cmd 3\r\n",
        );
        check(
            Some(tcp("127.0.0.1:11211")),
            None,
            "conn_listening",
            "STAT 7:addr tcp:127.0.0.1:11211\r\nSTAT 7:state conn_listening\r\n\
             STAT 7:secs_since_last_cmd 3\r\n",
        );
        check(None, None, "conn_mwrite", "STAT 7:state conn_mwrite\r\nSTAT 7:secs_since_last_cmd 3\r\n");
        let mut out = Vec::new();
        write_sorted(b"STAT 10:b 1\r\nSTAT 10:a 2\r\nSTAT 9:b 3\r\n", &mut out);
        assert_eq!(out, b"STAT 9:b 3\r\nSTAT 10:b 1\r\nSTAT 10:a 2\r\n");
        assert_eq!(with_scheme(&tcp("[::1]:80")), "tcp6:[::1]:80");
        assert_eq!(with_scheme(&Address::Unix("/run/a".into())), "unix:/run/a");
    }
}
