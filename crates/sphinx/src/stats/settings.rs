//! `stats settings`: how the server is set up, under memcached's names.
//!
//! Settings of features that Sphinx lacks have the value that memcached has without the feature, as documented in
//! docs/reference/sphinx.md.

use std::net::SocketAddr;

use cache_store::Policy;
use proto_memcache::server::reply;
use reactor::Address;
use units::Bytes;

use crate::config::{Config, Tls};

/// Appends the answer to `stats settings`; `memory` is the current limit for items, `detail` is whether `stats detail`
/// is on.
pub(crate) fn write(config: &Config, memory: Bytes, detail: bool, out: &mut Vec<u8>) {
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
    let threads = config.cpus.len().to_string();
    let certificate = |of: fn(&Tls) -> String| config.tls.as_ref().map_or("(null)".into(), of);
    let lines = [
        ("maxbytes", memory.0.to_string()),
        ("maxconns", config.connections.to_string()),
        ("tcpport", port(tcp)),
        ("udpport", port(udp)),
        ("inter", null(hosts.join(","))),
        ("verbosity", config.verbose.to_string()),
        ("oldest", "0".into()),
        ("evictions", if config.policy == Policy::Never { "off" } else { "on" }.into()),
        ("domain_socket", null(path.unwrap_or_default())),
        ("umask", format!("{:o}", config.unix_mask)),
        ("shutdown_command", yes(config.shutdown)),
        ("growth_factor", "1.25".into()),
        ("chunk_size", "48".into()),
        ("num_threads", threads.clone()),
        ("num_threads_per_udp", threads),
        ("stat_key_prefix", char::from(config.prefix_delimiter.unwrap_or(b':')).into()),
        ("detail_enabled", yes(detail)),
        ("reqs_per_event", config.requests_per_event.to_string()),
        ("cas_enabled", yes(true)),
        ("tcp_backlog", config.backlog.to_string()),
        ("binding_protocol", config.protocol.setting().into()),
        ("auth_enabled_sasl", yes(config.auth_file.is_some() && config.protocol.has_binary())),
        ("auth_enabled_ascii", auth),
        ("item_size_max", config.item_max.to_string()),
        ("maxconns_fast", yes(true)),
        ("hashpower_init", "0".into()),
        ("slab_reassign", yes(false)),
        ("slab_automove", "0".into()),
        ("slab_automove_ratio", "0.80".into()),
        ("slab_automove_window", "10".into()),
        ("slab_automove_freeratio", "0.010".into()),
        ("slab_chunk_max", config.store(0, 0).segment.to_string()),
        ("lru_crawler", yes(false)),
        ("lru_crawler_sleep", "100".into()),
        ("lru_crawler_tocrawl", "0".into()),
        ("tail_repair_time", "0".into()),
        ("flush_enabled", yes(config.flush_all)),
        ("dump_enabled", yes(config.dump)),
        ("hash_algorithm", "xxh3".into()),
        ("lru_maintainer_thread", yes(false)),
        ("lru_segmented", yes(false)),
        ("hot_lru_pct", "20".into()),
        ("warm_lru_pct", "40".into()),
        ("hot_max_factor", "0.20".into()),
        ("warm_max_factor", "2.00".into()),
        ("temp_lru", yes(false)),
        ("temporary_ttl", "61".into()),
        ("idle_timeout", config.idle_timeout.to_string()),
        ("watcher_logbuf_size", config.watch_buffer.to_string()),
        ("worker_logbuf_size", "0".into()),
        ("read_buf_mem_limit", "0".into()),
        ("track_sizes", yes(false)),
        ("inline_ascii_response", yes(false)),
        ("ssl_enabled", yes(config.tls.is_some())),
        ("ssl_chain_cert", certificate(|tls| tls.certificates.display().to_string())),
        ("ssl_key", certificate(|tls| tls.key.display().to_string())),
        ("num_napi_ids", "0".into()),
        (
            "memory_file",
            config.memory_file.as_ref().map_or("(null)".into(), |path| path.display().to_string()),
        ),
        ("client_flags_size", "4".into()),
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
