//! The groups of `stats` that say how the server is set up and what it holds, with memcached's names where they mean
//! the same. What has no counterpart here is left out, so that no number is made up.

use std::net::SocketAddr;

use cache_store::Policy;
use proto_memcache::server::reply;
use reactor::Address;

use crate::config::Config;

/// Appends the answer to `stats settings`; `detail` is whether `stats detail` is on.
pub(crate) fn settings(config: &Config, detail: bool, out: &mut Vec<u8>) {
    let port = |of: fn(&Address) -> Option<SocketAddr>| {
        config.listen.iter().find_map(of).map_or(0, |socket| socket.port()).to_string()
    };
    let path = config.listen.iter().find_map(|address| match address {
        Address::Unix(path) => Some(path.display().to_string()),
        _ => None,
    });
    let hosts: Vec<String> =
        config.listen.iter().filter_map(tcp).map(|socket| socket.ip().to_string()).collect();
    let null = |text: String| if text.is_empty() { "NULL".into() } else { text };
    let auth = config.auth_file.as_ref().map_or("no".into(), |path| path.display().to_string());
    let lines = [
        ("maxbytes", config.memory.0.to_string()),
        ("maxconns", config.connections.to_string()),
        ("tcpport", port(tcp)),
        ("udpport", port(udp)),
        ("inter", null(hosts.join(","))),
        ("verbosity", config.verbose.to_string()),
        ("evictions", if config.policy == Policy::Never { "off" } else { "on" }.into()),
        ("domain_socket", null(path.unwrap_or_default())),
        ("umask", format!("{:o}", config.unix_mask)),
        ("shutdown_command", yes(config.shutdown)),
        ("num_threads", config.cpus.len().to_string()),
        ("detail_enabled", yes(detail)),
        ("reqs_per_event", config.requests_per_event.to_string()),
        ("cas_enabled", yes(true)),
        ("tcp_backlog", config.backlog.to_string()),
        ("binding_protocol", "ascii".into()),
        ("auth_enabled_sasl", yes(false)),
        ("auth_enabled_ascii", auth),
        ("item_size_max", config.item_max.to_string()),
        ("maxconns_fast", yes(true)),
        ("flush_enabled", yes(config.flush_all)),
        ("dump_enabled", yes(false)),
        ("hash_algorithm", "xxh3".into()),
        ("idle_timeout", config.idle_timeout.to_string()),
        ("track_sizes", yes(false)),
        ("inline_ascii_response", yes(false)),
        ("ssl_enabled", yes(config.tls.is_some())),
        ("io", config.io.to_string()),
        ("sharing", config.sharing.to_string()),
        ("policy", config.policy.to_string()),
        ("reader_timeout", config.reader_timeout.to_string()),
    ];
    for (name, value) in lines {
        reply::stat(out, name, &value);
    }
    out.extend_from_slice(reply::END);
}

fn tcp(address: &Address) -> Option<SocketAddr> {
    if let Address::Tcp(socket) = address { Some(*socket) } else { None }
}

fn udp(address: &Address) -> Option<SocketAddr> {
    if let Address::Udp(socket) = address { Some(*socket) } else { None }
}

fn yes(what: bool) -> String {
    if what { "yes" } else { "no" }.into()
}

/// Appends the answer to `stats items`: all items are of one class.
pub(crate) fn items(store: &cache_store::Stats, out: &mut Vec<u8>) {
    if store.items > 0 {
        let lines = [
            ("items:1:number", store.items),
            ("items:1:mem_requested", store.bytes),
            ("items:1:evicted", store.evictions),
            ("items:1:reclaimed", store.expired),
        ];
        for (name, number) in lines {
            reply::stat(out, name, &number.to_string());
        }
    }
    out.extend_from_slice(reply::END);
}

/// Appends the answer to `stats sizes`: as in memcached by default, sizes are not kept track of, since walking all items
/// would hold up the clients.
pub(crate) fn sizes(out: &mut Vec<u8>) {
    reply::stat(out, "sizes_status", "disabled");
    out.extend_from_slice(reply::END);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cache_has_no_class_of_items() {
        let check = |stats: cache_store::Stats, expect: &str| {
            let mut out = Vec::new();
            items(&stats, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        check(cache_store::Stats::default(), "END\r\n");
        let some = cache_store::Stats { items: 3, bytes: 99, evictions: 2, expired: 1, ..Default::default() };
        check(
            some,
            "STAT items:1:number 3\r\nSTAT items:1:mem_requested 99\r\nSTAT items:1:evicted 2\r\n\
             STAT items:1:reclaimed 1\r\nEND\r\n",
        );
    }
}
