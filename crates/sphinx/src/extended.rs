//! memcached's `-o` names and their effect here. `docs/reference/sphinx.md` lists them.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};

use crate::memcached_flags::no_effect;

/// The parsed value of `-o`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extended {
    /// After how long a silence a connection is closed; 0 never. Units: seconds.
    pub(crate) idle_timeout: u32,
    /// Time-out of a client that does not read its replies; 0 for no limit. Units: seconds.
    pub(crate) reader_timeout: u32,
    /// Buffer for a watcher that does not read. Units: bytes.
    pub(crate) watch_buffer: usize,
    /// PEM file of the certificate and its chain.
    pub(crate) chain_cert: Option<PathBuf>,
    /// PEM file of the private key.
    pub(crate) key: Option<PathBuf>,
    /// PEM file of the authorities that issue certificates to clients.
    pub(crate) ca_cert: Option<PathBuf>,
    /// How clients are verified: 0 to 3, as memcached numbers it.
    pub(crate) verify_mode: Option<u32>,
    /// The oldest version of TLS: 0 to 3, as memcached numbers it.
    pub(crate) min_version: Option<u32>,
    /// Options accepted without effect.
    pub(crate) warnings: Vec<String>,
}

impl Default for Extended {
    fn default() -> Extended {
        Extended {
            idle_timeout: 0,
            reader_timeout: 60,
            // Source: memcached.
            watch_buffer: 256 << 10,
            chain_cert: None,
            key: None,
            ca_cert: None,
            verify_mode: None,
            min_version: None,
            warnings: Vec::new(),
        }
    }
}

/// Names of `-o` that are treated alike.
pub(crate) struct Names {
    pub(crate) names: &'static [&'static str],
    value: Value,
    pub(crate) here: Here,
}

/// Whether a name has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Never,
    Optional,
    Always,
}

/// The effect of a name.
pub(crate) enum Here {
    /// It has an effect.
    Effect,
    /// Accepted silently: already the case here, or without effect in memcached as well.
    Nothing,
    /// It is accepted, has no effect, and is answered with a warning that gives this reason.
    NoEffect(&'static str),
    /// It is refused, for this reason.
    Refused(&'static str),
}

use Here::{Effect, NoEffect, Nothing, Refused};
use Value::{Always, Never, Optional};

const fn names(names: &'static [&'static str], value: Value, here: Here) -> Names {
    Names { names, value, here }
}

const NO_SLABS: Here = NoEffect("there are no slabs, items of all sizes lie in the same segments");
const NO_LISTS: Here = NoEffect("there are no LRU lists, memory is reclaimed by segments");
const NO_CRAWLER: Here = NoEffect("expired items are reclaimed with their segments, without a crawler");

/// Source: memcached 1.6.45, the names that its `-o` parses, those of external storage and of the proxy included.
pub(crate) const NAMES: [Names; 25] = [
    names(&["idle_timeout", "reader_timeout", "watcher_logbuf_size"], Always, Effect),
    names(&["ssl_chain_cert", "ssl_key", "ssl_ca_cert", "ssl_keyformat"], Always, Effect),
    names(&["ssl_verify_mode", "ssl_min_version"], Always, Effect),
    names(&["maxconns_fast", "no_drop_privileges"], Never, Nothing),
    names(&["modern", "inline_ascii_resp", "no_inline_ascii_resp"], Never, Nothing),
    names(
        &["drop_privileges"],
        Never,
        NoEffect("no system calls are blocked; have systemd do it by SystemCallFilter="),
    ),
    names(
        &["no_maxconns_fast"],
        Never,
        NoEffect("a connection over the limit of -c gets an error and is closed at once"),
    ),
    names(&["no_modern"], Never, NoEffect("there are no earlier defaults")),
    names(&["track_sizes"], Never, NoEffect("sizes are not tracked")),
    names(&["hashpower"], Always, NoEffect("the index grows by itself, in small steps")),
    names(&["no_hashexpand"], Never, NoEffect("the index grows by itself, in small steps")),
    names(&["hash_algorithm"], Always, NoEffect("keys are hashed by XXH3 with a random seed")),
    names(&["tail_repair_time"], Always, NoEffect("no item can get stuck, so there is nothing to repair")),
    names(&["lru_crawler", "no_lru_crawler"], Never, NO_CRAWLER),
    names(&["lru_crawler_sleep", "lru_crawler_tocrawl"], Always, NO_CRAWLER),
    names(&["lru_maintainer", "no_lru_maintainer"], Never, NO_LISTS),
    names(
        &["hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor", "temporary_ttl"],
        Always,
        NO_LISTS,
    ),
    names(
        &["slab_reassign", "slab_automove", "no_slab_reassign", "no_slab_automove", "no_chunked_items"],
        Optional,
        NO_SLABS,
    ),
    names(
        &[
            "slab_automove_ratio",
            "slab_automove_window",
            "slab_automove_freeratio",
            "slab_sizes",
            "slab_chunk_max",
        ],
        Always,
        NO_SLABS,
    ),
    names(
        &["read_buf_mem_limit", "resp_obj_mem_limit"],
        Optional,
        NoEffect("--connection-memory bounds the buffers of all connections"),
    ),
    names(
        &["worker_logbuf_size"],
        Always,
        NoEffect("lines are put into the buffers of watchers at once, which have watcher_logbuf_size"),
    ),
    names(
        &[
            "ext_path",
            "ext_page_size",
            "ext_wbuf_size",
            "ext_threads",
            "ext_io_depth",
            "ext_item_size",
            "ext_item_age",
            "ext_low_ttl",
            "ext_recache_rate",
            "ext_compact_under",
            "ext_drop_under",
            "ext_max_sleep",
            "ext_max_frag",
            "ext_drop_unread",
        ],
        Optional,
        NoEffect("all items are in memory, and what does not fit into -m is evicted"),
    ),
    names(
        &["ssl_ciphers", "ssl_session_cache", "ssl_kernel_tls", "ssl_wbuf_size"],
        Optional,
        NoEffect("rustls offers its own cipher suites, resumes sessions, and has no buffer to set"),
    ),
    names(
        &["proxy_config", "proxy_arg", "proxy_uring", "proxy_memprofile"],
        Optional,
        Refused("there is no proxy, and the server would answer in place of the pools that it routes to"),
    ),
    names(
        &["sock_cookie_id"],
        Always,
        Refused("sockets bear no cookie, and a firewall's rules may rely on it"),
    ),
];

impl Extended {
    /// Reads the words of `-o`, which may come in several groups; the last of a name counts.
    ///
    /// Errors: a name that is unknown or refused; a value that is missing, not expected or not a number.
    pub(crate) fn read(words: &[String]) -> Result<Extended> {
        let mut extended = Extended::default();
        for word in words.iter().filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
            let Some(row) = NAMES.iter().find(|row| row.names.contains(&name)) else {
                bail!("-o {name} is not known; docs/reference/sphinx.md lists the names that are");
            };
            if let Refused(why) = row.here {
                bail!("-o {name} is refused: {why}; leave it out");
            }
            let value = value.filter(|value| !value.is_empty());
            ensure!(value.is_none() || row.value != Never, "-o {name} takes no value; write {name} alone");
            ensure!(value.is_some() || row.value != Always, "-o {name} needs a value; write {name}=VALUE");
            match row.here {
                Effect => extended.set(name, value.unwrap_or_default())?,
                NoEffect(why) => {
                    let warning = no_effect(&format!("-o {name}"), why);
                    if !extended.warnings.contains(&warning) {
                        extended.warnings.push(warning);
                    }
                }
                Nothing | Refused(_) => {}
            }
        }
        Ok(extended)
    }

    /// Applies a name that has an effect.
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "idle_timeout" => self.idle_timeout = number(name, value, u32::MAX)?,
            "reader_timeout" => self.reader_timeout = number(name, value, u32::MAX)?,
            // In KiB, as in memcached.
            "watcher_logbuf_size" => self.watch_buffer = number(name, value, 1 << 20)?.max(4) as usize * 1024,
            "ssl_chain_cert" => self.chain_cert = Some(value.into()),
            "ssl_key" => self.key = Some(value.into()),
            "ssl_ca_cert" => self.ca_cert = Some(value.into()),
            "ssl_verify_mode" => self.verify_mode = Some(number(name, value, 3)?),
            "ssl_min_version" => self.min_version = Some(number(name, value, 3)?),
            "ssl_keyformat" => ensure!(
                value == "1",
                "-o ssl_keyformat={value} is refused: keys are read as PEM, which is 1; convert the key with \
                 'openssl pkey -inform DER'"
            ),
            _ => unreachable!("the table has no other name with an effect"),
        }
        Ok(())
    }
}

fn number(name: &str, value: &str, max: u32) -> Result<u32> {
    match value.parse() {
        Ok(number) if number <= max => Ok(number),
        _ => bail!("-o {name} needs a number from 0 to {max}, not '{value}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Extended> {
        Extended::read(&line.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_name_of_memcached_is_accepted_or_refused_with_its_reason() {
        for row in &NAMES {
            for name in row.names {
                let with = |value: &str| format!("{name}{value}");
                let one = if row.value == Always { "=1" } else { "" };
                match (&row.here, read(&with(one))) {
                    (Effect | Nothing, Ok(extended)) => assert!(extended.warnings.is_empty(), "{name}"),
                    (NoEffect(why), Ok(extended)) => {
                        assert_eq!(extended.warnings, [format!("-o {name} has no effect: {why}")]);
                    }
                    (Refused(why), Err(error)) => {
                        assert_eq!(error.to_string(), format!("-o {name} is refused: {why}; leave it out"));
                    }
                    (_, got) => panic!("{name}: {got:?}"),
                }
                if row.value == Always && !matches!(row.here, Refused(_)) {
                    let error = read(&with("")).unwrap_err().to_string();
                    assert_eq!(error, format!("-o {name} needs a value; write {name}=VALUE"));
                }
            }
        }
    }

    #[test]
    fn a_name_with_an_effect_has_it() {
        let check = |line: &str, expect: Extended| assert_eq!(read(line).unwrap(), expect, "{line}");
        let default = Extended::default;
        check("", default());
        check("modern,maxconns_fast", default());
        check(
            "idle_timeout=7,reader_timeout=0",
            Extended { idle_timeout: 7, reader_timeout: 0, ..default() },
        );
        check("idle_timeout=7,idle_timeout=8", Extended { idle_timeout: 8, ..default() });
        check("ssl_chain_cert=/c,ssl_keyformat=1", Extended { chain_cert: Some("/c".into()), ..default() });
        check("watcher_logbuf_size=64", Extended { watch_buffer: 64 << 10, ..default() });
        check("ssl_key=/k", Extended { key: Some("/k".into()), ..default() });
        check("ssl_ca_cert=/a", Extended { ca_cert: Some("/a".into()), ..default() });
        let modes = Extended { verify_mode: Some(2), min_version: Some(3), ..default() };
        check("ssl_verify_mode=2,ssl_min_version=3", modes);
    }

    #[test]
    fn a_warning_comes_once() {
        assert_eq!(read("hashpower=20,hashpower=21").unwrap().warnings.len(), 1);
        let warnings = read("ext_path=/data/file:64G,ext_threads=4").unwrap().warnings;
        assert_eq!(
            warnings[0],
            "-o ext_path has no effect: all items are in memory, and what does not fit into -m is evicted"
        );
        assert_eq!(warnings.len(), 2);
    }

    #[test]
    fn refuses_what_it_cannot_read() {
        let check = |line: &str, expect: &str| {
            let error = read(line).unwrap_err().to_string();
            assert!(error.contains(expect), "{line}: {error}");
        };
        check("wat", "-o wat is not known");
        check("modern=1", "takes no value");
        check("idle_timeout=x", "needs a number from 0 to 4294967295, not 'x'");
        check("ssl_verify_mode=4", "needs a number from 0 to 3, not '4'");
        check("ssl_keyformat=2", "keys are read as PEM");
    }
}
