//! memcached's `-o`: what means something here is taken, everything else is refused with its reason.

use anyhow::{Result, bail, ensure};

/// What `-o` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extended {
    /// After how long a silence a connection is closed; 0 never. Units: seconds.
    pub(crate) idle_timeout: u32,
    /// How long a connection may take nothing of its replies; 0 for ever. Units: seconds.
    pub(crate) reader_timeout: u32,
}

impl Default for Extended {
    fn default() -> Extended {
        Extended { idle_timeout: 0, reader_timeout: 60 }
    }
}

/// Names that are refused, and why.
const REFUSED: [(&[&str], &str); 10] = [
    (&["no_maxconns_fast"], "a connection too many is always told so at once"),
    (&["hashpower", "no_hashexpand"], "the index grows by itself, a piece at a time"),
    (&["hash_algorithm"], "keys are hashed by XXH3 with a seed of their own"),
    (&["tail_repair_time"], "nothing holds on to items, so there is nothing to repair"),
    (
        &["lru_crawler", "no_lru_crawler", "lru_crawler_sleep", "lru_crawler_tocrawl"],
        "there is no crawler: what expires goes with its segment",
    ),
    (
        &[
            "lru_maintainer",
            "no_lru_maintainer",
            "hot_lru_pct",
            "warm_lru_pct",
            "hot_max_factor",
            "warm_max_factor",
            "temporary_ttl",
        ],
        "there are no lists by age: memory is taken back by segments",
    ),
    (
        &["slab_reassign", "no_slab_reassign", "slab_automove", "slab_automove_freeratio", "slab_chunk_max"],
        "there are no slabs: items of all sizes lie in the same segments",
    ),
    (&["read_buf_mem_limit"], "a connection holds at most one request, and 1 MiB and one value of replies"),
    (&["watcher_logbuf_size", "worker_logbuf_size"], "there is no watch command"),
    (&["no_modern", "track_sizes", "sock_cookie_id"], "there is nothing of the kind"),
];

impl Extended {
    /// Reads the words of `-o`, which may come in several groups.
    ///
    /// Errors: a name that means nothing here, with the reason; a value that is no number.
    pub(crate) fn read(words: &[String]) -> Result<Extended> {
        let mut extended = Extended::default();
        for word in words.iter().filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
            match name {
                "idle_timeout" => extended.idle_timeout = seconds(name, value)?,
                "reader_timeout" => extended.reader_timeout = seconds(name, value)?,
                // What they ask for is so already.
                "modern" | "maxconns_fast" => ensure!(value.is_none(), "-o {name} takes no value"),
                _ => refuse(name)?,
            }
        }
        Ok(extended)
    }
}

fn seconds(name: &str, value: Option<&str>) -> Result<u32> {
    match value.map(str::parse) {
        Some(Ok(seconds)) => Ok(seconds),
        _ => {
            bail!("-o {name} needs a number of seconds, not '{}'; write {name}=60", value.unwrap_or_default())
        }
    }
}

fn refuse(name: &str) -> Result<()> {
    if name.starts_with("ssl_") {
        bail!(
            "-o {name} is not for Sphinx: TLS has a port of its own; see --tls-port, --tls-cert and --tls-key"
        );
    }
    if name.starts_with("ext_") {
        bail!("-o {name} is not for Sphinx: everything is in memory; leave it out");
    }
    match REFUSED.iter().find(|(names, _)| names.contains(&name)) {
        Some((_, why)) => bail!("-o {name} is not for Sphinx: {why}; leave it out"),
        None => bail!("-o {name} is not known; there are idle_timeout=S and reader_timeout=S"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Extended> {
        Extended::read(&line.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn takes_what_means_something() {
        let check = |line: &str, idle_timeout: u32, reader_timeout: u32| {
            assert_eq!(read(line).unwrap(), Extended { idle_timeout, reader_timeout }, "{line}");
        };
        check("", 0, 60);
        check("modern,maxconns_fast", 0, 60);
        check("idle_timeout=7", 7, 60);
        check("idle_timeout=7,reader_timeout=0", 7, 0);
    }

    #[test]
    fn refuses_by_name_and_says_why() {
        let check = |line: &str, expect: &str| {
            let error = read(line).unwrap_err().to_string();
            assert!(error.contains(expect), "{line}: {error}");
        };
        check("no_lru_crawler", "-o no_lru_crawler is not for Sphinx: there is no crawler");
        check("modern,slab_automove=1", "there are no slabs");
        check("ssl_key=x", "see --tls-port");
        check("ext_path=/x:1G", "everything is in memory");
        check("wat", "-o wat is not known; there are idle_timeout=S");
        check("idle_timeout", "needs a number of seconds, not ''");
        check("idle_timeout=x", "not 'x'; write idle_timeout=60");
        check("modern=1", "takes no value");
        for (names, _) in REFUSED {
            for name in names {
                check(name, name);
            }
        }
    }
}
