//! Sphinx's defaults, as its own configuration resolves them on this machine.

use anyhow::Result;
use clap::{Args, Command, FromArgMatches};
use spec::{Chapter, Entry, Section};
use units::Bytes;

use crate::{Config, Options, Provide};

/// What `sphinxd` does without options, with the reasons.
///
/// Errors: it cannot run on this machine.
pub fn explain() -> Result<Chapter> {
    let command = Options::augment_args(Command::new("sphinxd").no_binary_name(true));
    let matches = command.clone().try_get_matches_from(Vec::<String>::new())?;
    let config = Options::from_arg_matches(&matches)?.resolve()?;
    let entries = values(&config).into_iter().map(|value| entry(&command, value));
    Ok(Chapter::of([
        Section::new("What sphinxd does here without options", entries),
        Section::of_limits("How Sphinx divides its memory", "sphinx", crate::limits()),
    ]))
}

/// A resolved default: the long name of its flag, or its name of `-o`; the value; the source.
type Resolved = (&'static str, String, &'static str);

fn resolved(flag: &'static str, value: impl ToString, source: &'static str) -> Resolved {
    (flag, value.to_string(), source)
}

/// The defaults of the flags that have one.
fn values(config: &Config) -> Vec<Resolved> {
    let places: Vec<String> = config.listen.iter().map(ToString::to_string).collect();
    let seconds = |seconds: u32| if seconds == 0 { "never".into() } else { format!("{seconds} s") };
    let on = |on: bool| if on { "on" } else { "off" };
    vec![
        resolved(
            "listen",
            places.join(", "),
            "ours, because any client that reaches it can read and write everything; memcached listens on every address, on this port",
        ),
        resolved(
            "protocol",
            config.protocol,
            "memcached's default: text and the binary protocol, by a connection's first byte",
        ),
        resolved("unix-mask", format!("{:o}", config.unix_mask), "memcached's default"),
        resolved(
            "listen-backlog",
            config.backlog,
            "ours, because Linux caps it there since 5.4 (net.core.somaxconn); memcached's default is 1024",
        ),
        resolved(
            "threads",
            config.cpus.len(),
            "ANCS'19 §IV-A: a thread on each core; memcached's default is 4",
        ),
        resolved("memory-limit", config.memory, "memcached's default"),
        resolved(
            "lazy-memory",
            on(config.provide == Provide::AsWritten),
            "ours, because few requests then wait for the system to clear a page",
        ),
        resolved(
            "eager-memory",
            on(config.provide == Provide::AtOnce),
            "ours, because the server then serves at once",
        ),
        resolved(
            "policy",
            config.policy,
            "docs/decisions/0012-items-that-were-read-are-kept.md; ANCS'19 §IV-A has fifo",
        ),
        resolved("max-item-size", Bytes(config.item_max as u64), "memcached's default"),
        resolved(
            "connection-memory",
            Bytes(config.connection_memory as u64),
            "ours, because it is a sixteenth of the memory, and at least what 1024 connections have free",
        ),
        resolved("conn-limit", config.connections, "memcached's default"),
        resolved(
            "sharing",
            config.sharing,
            "docs/decisions/0011-any-thread-reads-by-default.md; ANCS'19 §IV-A has nothing",
        ),
        resolved(
            "steering",
            if config.steer_by_key || config.steer_by_cpu { "on" } else { "none" },
            "ours, because which thread has a key is then no secret, and it takes a privilege; ANCS'19 §V has it as future work",
        ),
        resolved(
            "as-published",
            on(config.as_published),
            "docs/decisions/0011-any-thread-reads-by-default.md; on, it is ANCS'19 §IV-A",
        ),
        resolved(
            "max-reqs-per-event",
            config.requests_per_event,
            "ours, because 1024 requests and 512 KiB of replies bound a turn; memcached's default is 20",
        ),
        resolved("queue", config.queue, "ours, because ANCS'19 §IV-A has bounded queues and names no length"),
        resolved(
            "io",
            config.io,
            "ours, because io_uring takes less processor time where it is available; ANCS'19 §IV-A has epoll",
        ),
        resolved(
            "spin",
            config.spin,
            "docs/decisions/0010-threads-sleep-at-once-by-default.md: off, as it takes whole processors",
        ),
        resolved("enable-shutdown", on(config.shutdown), "memcached's default"),
        resolved("disable-flush-all", on(!config.flush_all), "memcached's default"),
        resolved("disable-dumping", on(!config.dump), "memcached's default"),
        resolved("disable-watch", on(!config.watch), "memcached's default"),
        resolved("watcher_logbuf_size", Bytes(config.watch_buffer as u64), "memcached's default"),
        resolved("daemon", on(config.daemon), "memcached's default"),
        resolved("enable-coredumps", on(config.core_dumps), "memcached's default"),
        resolved("lock-memory", on(config.lock_memory), "memcached's default"),
        resolved("idle_timeout", seconds(config.idle_timeout), "memcached's default"),
        resolved(
            "reader_timeout",
            seconds(config.reader_timeout),
            "ours, because a client that takes nothing for a minute has gone, and others may wait for what it holds",
        ),
        resolved(
            "metrics-hot-keys",
            on(config.metrics_hot_keys),
            "ours, because keys may be secret, and many people read metrics",
        ),
        resolved(
            "no-sampling",
            on(!config.sampling),
            "ours, because an operator asks how much memory is enough when the load is there",
        ),
        resolved(
            "drain",
            config.drain,
            "ours, because replies that have not left by then are those of a client that does not read",
        ),
        resolved("verbose", config.verbose, "memcached's default"),
        resolved(
            "log-format",
            format!("{:?}", config.log_format).to_lowercase(),
            "ours, because a person reads the start of a server first",
        ),
    ]
}

/// The default with what its flag means, as its help says.
fn entry(command: &Command, (flag, value, source): Resolved) -> Entry {
    let find = |name: &str| command.get_arguments().find(|arg| arg.get_long() == Some(name));
    let own = find(flag);
    let option = Some(if own.is_some() { format!("--{flag}") } else { format!("-o {flag}") });
    let help = own.or_else(|| find("extended")).and_then(|arg| arg.get_help());
    let meaning = help.map(ToString::to_string).unwrap_or_default().replace('\n', " ");
    Entry { option, ..Entry::of_value(format!("sphinx.{flag}"), value, meaning, source) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags without a default, or with the meaning of another flag.
    const OTHERS: [&str; 24] = [
        "port",
        "udp-port",
        "unix-socket",
        "enable-ssl",
        "tls-port",
        "resp-port",
        "tls-cert",
        "tls-key",
        "tls-client-ca",
        "cpus",
        "no-irq-cpus",
        "memory-file",
        "disable-evictions",
        "group",
        "partition-ports",
        "auth-file",
        "prefix-delimiter",
        "enable-sasl",
        "pidfile",
        "user",
        "license",
        "extended",
        "metrics",
        "config",
    ];

    #[test]
    fn every_default_is_a_flags_and_has_its_source() {
        let chapter = explain().unwrap();
        for arg in Options::augment_args(Command::new("sphinxd")).get_arguments() {
            let flag = arg.get_long().unwrap();
            // Those of memcached without an effect are hidden.
            let has_none = OTHERS.contains(&flag) || arg.is_hide_set() && flag != "queue";
            let option = Some(format!("--{flag}"));
            assert_ne!(chapter.entries().any(|entry| entry.option == option), has_none, "--{flag}");
        }
        let check = |name: &str, expect: &str| {
            let found = chapter.entries().find(|entry| entry.name == name);
            assert_eq!(found.and_then(|entry| entry.value.as_deref()), Some(expect), "{name}");
        };
        check("sphinx.memory-limit", "64 MiB");
        check("sphinx.max-item-size", "1 MiB");
        check("sphinx.conn-limit", "1024");
        check("sphinx.segments", "64");
        check("sphinx.unix-mask", "700");
        check("sphinx.reader_timeout", "60 s");
        check("sphinx.idle_timeout", "never");
        for entry in chapter.entries() {
            assert!(!entry.meaning.is_empty() && spec::is_source(&entry.source), "{entry:?}");
        }
    }
}
