use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result, ensure};
use cache_store::Policy;
use clap::Args;
use reactor::{Io, allowed_cpus};
use units::{Bytes, CpuList};

use crate::{Config, Sharing, Spin};

/// The command line of the server, with memcached's flags where they mean the same.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Port to listen on; 0 takes a free one and prints it.
    #[arg(short, long, default_value_t = 11211, value_name = "PORT")]
    pub port: u16,
    /// Address to listen on. Anybody who can reach it can read and write everything.
    #[arg(short, long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub listen: IpAddr,
    /// Threads, each pinned to a processor of its own while there are enough [default: one per processor].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Processors to run on, such as 0,2 or 0-3 [default: all that this process may use].
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    /// Memory for items and their index: a number of MiB, or a size such as 2GiB.
    #[arg(short, long, default_value = "64", value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Bytes,
    /// Take memory as it fills. By default all of it is taken at the start, which takes a second for some
    /// GiB (a virtual machine longer), so that no request ever waits for the system to clear a page.
    #[arg(long)]
    pub lazy_memory: bool,
    /// Which items go when memory is full: the oldest (fifo), the oldest that were not read (second-chance), or
    /// first those that were stored and never read (two-queues).
    #[arg(long, default_value_t, value_name = "NAME")]
    pub policy: Policy,
    /// Connections at once.
    #[arg(short, long, default_value_t = 1024, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,
    /// Which threads work on which keys. nothing: each key's owner, which others ask by a message. read: any thread
    /// reads any key, without a lock, and owners write. something: threads in groups, under short locks; other groups
    /// are asked. everything: any thread does anything, under short locks.
    #[arg(long, default_value_t = Sharing::Nothing, value_name = "WHAT")]
    pub sharing: Sharing,
    /// Threads in a group of --sharing something [default: 2].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub group: Option<u16>,
    /// Requests that may be under way from one thread to another.
    #[arg(long, default_value_t = 1024, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub queue: u32,
    /// How the event loops reach the kernel: auto, epoll or uring. auto takes io_uring where it can be had.
    #[arg(long, default_value_t = Io::Auto, value_name = "IO")]
    pub io: Io,
    /// How long a thread without work looks for some before it sleeps: auto, off, or µs. It shortens the median on
    /// virtual machines by half, and takes up to a whole processor per thread; auto looks, for at most 50 µs, only
    /// while most pauses are shorter.
    #[arg(long, default_value_t = Spin::Off, value_name = "SPIN")]
    pub spin: Spin,
}

fn parse_memory(text: &str) -> Result<Bytes, String> {
    // memcached's -m counts in megabytes.
    if let Ok(mebibytes) = text.parse::<u32>() {
        return Ok(Bytes(u64::from(mebibytes) << 20));
    }
    text.parse().map_err(|error: units::ParseError| error.to_string())
}

impl Options {
    /// Fills in the defaults that depend on the machine.
    pub fn resolve(&self) -> Result<Config> {
        let cpus = match &self.cpus {
            Some(list) => list.as_slice().to_vec(),
            None => allowed_cpus().context("cannot read which processors may be used")?,
        };
        let threads = self.threads.map_or(cpus.len(), usize::from);
        let sharing = self.group.map_or(Some(self.sharing), |group| self.sharing.with_group(group.into()));
        ensure!(
            sharing.is_some(),
            "--group says how many threads share with --sharing something, and this is --sharing {}; leave one of the two out",
            self.sharing
        );
        Ok(Config {
            address: SocketAddr::new(self.listen, self.port),
            cpus: cpus.iter().copied().cycle().take(threads).collect(),
            memory: self.memory,
            lazy_memory: self.lazy_memory,
            policy: self.policy,
            connections: self.connections as usize,
            sharing: sharing.expect("it was just looked at"),
            queue: self.queue as usize,
            io: self.io.choose(Io::FOR_SERVERS)?.backend,
            spin: self.spin,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    fn parse(line: &str) -> Result<Config, String> {
        let words = ["sphinxd"].into_iter().chain(line.split_whitespace());
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(cli.options.resolve().unwrap())
    }

    #[test]
    fn memcacheds_flags_mean_the_same() {
        let config = parse("-p 0 -l ::1 -t 3 -m 100 --lazy-memory --policy fifo -c 7 --cpus 0").unwrap();
        let expect = Config {
            address: "[::1]:0".parse().unwrap(),
            cpus: vec![0, 0, 0],
            memory: Bytes(100 << 20),
            lazy_memory: true,
            policy: Policy::Fifo,
            connections: 7,
            sharing: Sharing::Nothing,
            queue: 1024,
            io: Io::Auto.choose(Io::FOR_SERVERS).unwrap().backend,
            spin: Spin::Off,
        };
        assert_eq!(config, expect);
        let default = parse("").unwrap();
        assert_eq!(default.address.to_string(), "127.0.0.1:11211");
        assert_eq!((default.memory, default.connections), (Bytes(64 << 20), 1024));
        assert!(!default.lazy_memory);
        assert_eq!(default.policy, Policy::TwoQueues);
        assert_eq!(default.cpus, allowed_cpus().unwrap());
    }

    #[test]
    fn only_something_has_groups() {
        let check = |line: &str, expect| assert_eq!(parse(line).unwrap().sharing, expect, "{line}");
        check("--sharing read", Sharing::Read);
        check("--sharing everything", Sharing::Everything);
        check("--sharing something", Sharing::Something(2));
        check("--sharing something --group 3", Sharing::Something(3));
        for line in ["--group 3", "--sharing read --group 2"] {
            let words = ["sphinxd"].into_iter().chain(line.split_whitespace());
            let error = Cli::try_parse_from(words).unwrap().options.resolve().unwrap_err();
            assert!(error.to_string().contains("leave one of the two out"), "{line}: {error}");
        }
    }

    #[test]
    fn threads_share_processors_only_when_there_are_too_few() {
        let check = |line: &str, expect: &[usize]| assert_eq!(parse(line).unwrap().cpus, expect, "{line}");
        check("--cpus 4,2", &[2, 4]);
        check("--cpus 1-3,7", &[1, 2, 3, 7]);
        check("--cpus 1-3 -t 2", &[1, 2]);
        check("--cpus 1,5 -t 5", &[1, 5, 1, 5, 1]);
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |line: &str, expect: &str| {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expect), "{line}: {error}");
        };
        check("-p 70000", "70000");
        check("-l nowhere", "invalid IP address");
        check("-t 0", "0 is not in 1..=256");
        check("-m lots", "write bytes, or a number with KiB");
        check("-m -5", "unexpected argument");
        check("--sharing all", "write nothing, read, something or everything");
        check("--sharing something --group 0", "0 is not in 1..=256");
        check("--spin 1s", "the longest is 10 ms");
        check("--io poll", "write auto, epoll or uring");
        check("--policy lru", "write one of fifo, second-chance, two-queues");
        check("-c 0", "0 is not in 1..");
        check("--cpus x", "'x' is not a number");
        check("--cpus 3-1", "runs backwards");
        check("--cpus 0-99999", "'0-99999' is not a number");
    }
}
