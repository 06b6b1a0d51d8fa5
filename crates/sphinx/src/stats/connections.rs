//! `stats conns`: every stream connection of the server.

use proto_memcache::server::reply;
use reactor::Address;

use crate::client::State;

/// A connection, as it is told about.
pub(crate) struct Told {
    /// Unique among those that are open now.
    pub(crate) number: usize,
    /// Of the client, and of the server's side.
    pub(crate) addresses: Option<(Address, Address)>,
    pub(crate) state: State,
    /// Seconds since anything came.
    pub(crate) silent: u32,
}

impl Told {
    /// Appends its lines, with memcached's names of states where they mean the same.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut line = |name: &str, value: &str| reply::stat(out, &format!("{}:{name}", self.number), value);
        if let Some((client, server)) = &self.addresses {
            line("addr", &with_scheme(client));
            line("listen_addr", &with_scheme(server));
        }
        let state = match self.state {
            State::Open => "conn_read",
            State::Held => "conn_mwrite",
            State::Closing => "conn_closing",
        };
        line("state", state);
        line("secs_since_last_cmd", &self.silent.to_string());
    }
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
        let check = |addresses, state, expect: &str| {
            let mut out = Vec::new();
            Told { number: 7, addresses, state, silent: 3 }.write(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        check(
            Some((tcp("127.0.0.1:4711"), tcp("127.0.0.1:11211"))),
            State::Open,
            "STAT 7:addr tcp:127.0.0.1:4711\r\nSTAT 7:listen_addr tcp:127.0.0.1:11211\r\n\
             STAT 7:state conn_read\r\nSTAT 7:secs_since_last_cmd 3\r\n",
        );
        check(None, State::Held, "STAT 7:state conn_mwrite\r\nSTAT 7:secs_since_last_cmd 3\r\n");
        assert_eq!(with_scheme(&tcp("[::1]:80")), "tcp6:[::1]:80");
        assert_eq!(with_scheme(&Address::Unix("/run/a".into())), "unix:/run/a");
    }
}
