use std::fmt::{self, Display, Formatter};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;

use cache_store::Policy;
use clap::builder::{PathBufValueParser, StringValueParser};
use clap::{ArgAction, Args, ValueEnum, value_parser};
use reactor::Io;
use units::{Bytes, CpuList, Nanos};

use crate::irq::Leave;
use crate::listen::Listeners;
use crate::trimmed::Trimmed;
use crate::{Sharing, Spin};

/// The command line as it is written; a configuration file has the same names.
#[derive(Args, Clone, Debug)]
pub(crate) struct Flags {
    /// TCP port; 0 takes a free one and prints it.
    #[arg(short, long, default_value_t = 11211, value_name = "PORT", allow_negative_numbers = true, value_parser = Trimmed(parse_port))]
    pub(crate) port: u16,
    /// UDP port, and without -p the TCP port, too; 0 is none, tcp the TCP port. A datagram of some bytes is answered
    /// with up to a MiB to the sender's address, which may be forged, so never open it to strangers.
    #[arg(short = 'U', long, default_value_t = UdpPort::None, value_name = "PORT", allow_negative_numbers = true, value_parser = Trimmed(str::parse::<UdpPort>))]
    pub(crate) udp_port: UdpPort,
    /// Addresses to listen on, each with its own port if a port follows: 127.0.0.1,host:11212 (IPv6 in brackets, :: is
    /// IPv6 alone), or * for every address. Every client that can reach one can read and write everything. With -Z,
    /// notls:ADDRESS is not encrypted.
    #[arg(short, long, default_value = "127.0.0.1", value_name = "ADDRESS", action = ArgAction::Append,
          value_parser = str::parse::<Listeners>)]
    pub(crate) listen: Vec<Listeners>,
    /// Unix socket to listen on; without -p and -l on this alone.
    #[arg(short = 's', long, value_name = "FILE", value_parser = Trimmed(PathBufValueParser::new()))]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Who may open the Unix socket, as its mode in octal.
    #[arg(short = 'a', long, default_value = "700", value_name = "MODE", value_parser = Trimmed(parse_mode))]
    pub(crate) unix_mask: u32,
    /// Speak TLS on the port of -p, with the certificate of --tls-cert or -o ssl_chain_cert.
    #[arg(short = 'Z', long)]
    pub(crate) enable_ssl: bool,
    /// Additional TCP port for TLS; 0 takes a free one.
    #[arg(long, value_name = "PORT")]
    pub(crate) tls_port: Option<u16>,
    /// Additional TCP port for RESP, the protocol of Redis and Valkey, on the addresses of -l, with TLS where -p has it; 0
    /// takes a free one.
    #[arg(long, value_name = "PORT")]
    pub(crate) resp_port: Option<u16>,
    /// PEM file of the certificate for TLS and its issuers. SIGHUP and refresh_certs reload it.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// PEM file of the certificate's private key [default: the file of the certificate].
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// PEM file of the authorities whose certificates clients must show.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// Clients that may wait to be accepted, per thread and address; the kernel caps it at net.core.somaxconn.
    #[arg(short = 'b', long, default_value_t = 4096, value_name = "N", value_parser = Trimmed(value_parser!(u32).range(1..)))]
    pub(crate) listen_backlog: u32,
    /// Threads, each pinned to a processor of its own while there are enough [default: one per processor]. Fewer start
    /// where -m is too little for all.
    #[arg(short, long, value_name = "N", value_parser = Trimmed(value_parser!(u16).range(1..=256)))]
    pub(crate) threads: Option<u16>,
    /// Processors to run on, such as 0,2 or 0-3 [default: all that this process may use].
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuList>,
    /// Leave out processors that serve interrupts: those that took 5 % or more of the interrupts of devices since the
    /// start of the machine, or the LIST.
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(crate) no_irq_cpus: Option<Leave>,
    /// Memory for items and their index: a number of MiB, or a size such as 2GiB.
    #[arg(short, long, visible_alias = "memory", default_value = "64", value_name = "SIZE", value_parser = Trimmed(parse_memory))]
    pub(crate) memory_limit: Bytes,
    /// File on tmpfs, such as /dev/shm/sphinx, in which items lie. A stop by SIGUSR1 or shutdown graceful saves what there is
    /// to know of them beside it, in FILE.meta, and the next start with the same settings has them. After any other
    /// end the cache starts empty.
    #[arg(short = 'e', long, value_name = "FILE", value_parser = Trimmed(PathBufValueParser::new()))]
    pub(crate) memory_file: Option<PathBuf>,
    /// Take memory as it fills. By default all of it is taken behind the first requests, by threads that mostly pause, so that
    /// later ones do not wait for the system to clear a page.
    #[arg(long)]
    pub(crate) lazy_memory: bool,
    /// Take all memory before the first request, which takes a second for some GiB (a virtual machine longer): for
    /// measurements.
    #[arg(long, overrides_with = "lazy_memory")]
    pub(crate) eager_memory: bool,
    /// Which items go when memory is full: the oldest (fifo), the oldest that were not read (second-chance), first
    /// those that were stored and never read (two-queues), or none (never).
    #[arg(long, default_value_t, value_name = "NAME")]
    pub(crate) policy: Policy,
    /// Answer with an error when memory is full instead of letting an item go: --policy never.
    #[arg(short = 'M', long, conflicts_with = "policy")]
    pub(crate) disable_evictions: bool,
    /// The largest item with its key and 59 B, from 1k to 1g, and at most half of -m. One of over 2 MiB may have
    /// half of its partition: a larger size is lowered to that, with a warning.
    #[arg(short = 'I', long, default_value = "1m", value_name = "SIZE", value_parser = Trimmed(parse_item_size))]
    pub(crate) max_item_size: Bytes,
    /// Memory for connections' buffers, over all threads: large requests that are not whole, and replies that are not read.
    /// A connection that needs more waits; requests and replies of up to 16 KiB never do [default: a sixteenth of -m,
    /// at least 32 MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub(crate) connection_memory: Option<Bytes>,
    /// Connections at once, over all threads; further ones get an error and are closed. Datagrams do not count.
    #[arg(short, long, visible_alias = "connections", default_value_t = 1024, value_name = "N", value_parser = Trimmed(value_parser!(u32).range(1..)))]
    pub(crate) conn_limit: u32,
    /// Requests of one connection that are served before the others have their turn; 0 is 1024, or 512 KiB of replies.
    #[arg(short = 'R', long, default_value_t = 0, value_name = "N", value_parser = Trimmed(value_parser!(u32)))]
    pub(crate) max_reqs_per_event: u32,
    /// Which threads work on which keys. nothing: each key's owner, which others ask by a message. read: any thread
    /// reads any key, without a lock, and owners write; while an owner sleeps, others write for it. something: threads in groups, under short locks; other groups
    /// are asked. everything: any thread does anything, under short locks.
    #[arg(long, default_value_t = Sharing::Read, value_name = "WHAT")]
    pub(crate) sharing: Sharing,
    /// Threads in a group of --sharing something [default: 2].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=256))]
    pub(crate) group: Option<u16>,
    /// Steer input to the thread that should handle it: key has the kernel give each datagram of -U to the owner of its
    /// key (takes root or CAP_BPF), cpu each TCP connection to the thread on whose processor its packets arrive.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) steering: Vec<SteeringOption>,
    /// Have each thread listen on a TCP port of its own, too: thread N on PORT + N, on 0 a free one. Clients that know
    /// which thread owns which key reach it there without a message; stats partitions tells them.
    #[arg(long, value_name = "PORT")]
    pub(crate) partition_ports: Option<u16>,
    /// Serve as the Sphinx of ANCS'19: --sharing nothing, --io epoll, --policy fifo, segments of 2 MiB for any number of
    /// threads, a key's owner by MurmurHash3 without a secret, no sampling. For comparisons with the paper.
    #[arg(long, conflicts_with_all = ["sharing", "group", "io", "policy", "disable_evictions", "steering", "spin"])]
    pub(crate) as_published: bool,
    /// Requests that may be under way from one thread to another.
    #[arg(long, default_value_t = 1024, value_name = "N", hide = true, value_parser = value_parser!(u32).range(1..=1 << 20))]
    pub(crate) queue: u32,
    /// The event loops' kernel interface: auto, epoll or uring. auto takes io_uring if it is available.
    #[arg(long, default_value_t = Io::Auto, value_name = "IO")]
    pub(crate) io: Io,
    /// How long a thread without work looks for some before it sleeps: auto, off, or µs. It shortens the median on
    /// virtual machines by half, and takes up to a whole processor per thread; auto looks, for at most 50 µs, only
    /// while most pauses are shorter.
    #[arg(long, default_value_t = Spin::Off, value_name = "SPIN")]
    pub(crate) spin: Spin,
    /// File of "user:password" lines: a connection's first request must be a set whose value is "user password", and in the
    /// binary protocol SASL PLAIN. Read again on SIGHUP. Not with -U.
    #[arg(short = 'Y', long, value_name = "FILE", value_parser = Trimmed(PathBufValueParser::new()))]
    pub(crate) auth_file: Option<PathBuf>,
    /// Have the command shutdown end the server.
    #[arg(short = 'A', long)]
    pub(crate) enable_shutdown: bool,
    /// Refuse flush_all.
    #[arg(short = 'F', long)]
    pub(crate) disable_flush_all: bool,
    /// Refuse the commands that list keys: stats cachedump, stats detail, lru_crawler metadump.
    #[arg(short = 'X', long)]
    pub(crate) disable_dumping: bool,
    /// Refuse the command watch.
    #[arg(short = 'W', long)]
    pub(crate) disable_watch: bool,
    /// Count operations by the part of the key before this character from the start on, as stats detail on does
    /// [default: ':', once a client asks].
    #[arg(short = 'D', long, value_name = "CHAR", value_parser = Trimmed(parse_delimiter))]
    pub(crate) prefix_delimiter: Option<u8>,
    /// Protocol: ascii, binary, or auto, which tells them apart by a connection's first byte [default: auto, with -S
    /// binary].
    #[arg(short = 'B', long, value_name = "NAME", value_parser = Trimmed(parse_protocol))]
    pub(crate) protocol: Option<Protocol>,
    /// Have each client authenticate by SASL PLAIN, with the users of -Y or of the file that MEMCACHED_SASL_PWDB names. Not
    /// with -U.
    #[arg(short = 'S', long)]
    pub(crate) enable_sasl: bool,
    /// Run in the background. The command returns when the server answers, or with the reason why it cannot start. The
    /// server works in /, unless -r is given.
    #[arg(short, long)]
    pub(crate) daemon: bool,
    /// Let the system write a core file if the server crashes.
    #[arg(short = 'r', long)]
    pub(crate) enable_coredumps: bool,
    /// Lock the server's memory so that it is never swapped.
    #[arg(short = 'k', long)]
    pub(crate) lock_memory: bool,
    /// File to write the number of the process to.
    #[arg(short = 'P', long, value_name = "FILE", value_parser = Trimmed(PathBufValueParser::new()))]
    pub(crate) pidfile: Option<PathBuf>,
    /// User to become once every port is open; ignored with a warning unless root starts the server.
    #[arg(short, long, value_name = "USER", value_parser = Trimmed(StringValueParser::new()))]
    pub(crate) user: Option<String>,
    /// Print the licence and exit.
    #[arg(short = 'i', long, exclusive = true)]
    pub(crate) license: bool,
    /// memcached's extended options, such as idle_timeout=S, which closes connections that are silent for S seconds,
    /// and Sphinx's reader_timeout=S, by default 60, which closes connections that take no byte of their replies for S
    /// seconds; 0 is never. Names without an effect are accepted with a warning.
    #[arg(short = 'o', long, value_name = "NAME[=VALUE]", value_delimiter = ',', action = ArgAction::Append,
          value_parser = Trimmed(StringValueParser::new()))]
    pub(crate) extended: Vec<String>,
    /// Where to answer GET /metrics for Prometheus, such as 127.0.0.1:9150; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_socket)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Give the hottest keys in the metrics, too: everyone who may read the metrics then sees them.
    #[arg(long, requires = "metrics")]
    pub(crate) metrics_hot_keys: bool,
    /// Do not sample requests. stats mrc (the hit ratio by memory), stats hotkeys and their metrics are then empty; serving
    /// takes up to 1 % less time.
    #[arg(long)]
    pub(crate) no_sampling: bool,
    /// How long SIGTERM, SIGINT and SIGUSR1 let replies leave before connections are cut.
    #[arg(long, default_value = "5s", value_name = "TIME")]
    pub(crate) drain: Nanos,
    /// Log what happens to connections and at the start; twice: more.
    #[arg(short, long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// How log lines are written, on standard error.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
    /// TOML file with these options under their long names, such as port = 11211 or listen = ["127.0.0.1"]. The
    /// command line takes precedence.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Where datagrams are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UdpPort {
    /// Nowhere.
    None,
    /// On the port of TCP, also if that port was chosen by the kernel.
    OfTcp,
    /// On any: that of TCP, which is a free one unless `-p` says otherwise.
    Any,
    /// On this one.
    Port(NonZero<u16>),
}

impl Display for UdpPort {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            UdpPort::None => f.pad("0"),
            UdpPort::OfTcp => f.pad("tcp"),
            UdpPort::Any => f.pad("-1"),
            UdpPort::Port(port) => port.fmt(f),
        }
    }
}

impl FromStr for UdpPort {
    type Err = String;

    fn from_str(text: &str) -> Result<UdpPort, String> {
        match text {
            "tcp" => Ok(UdpPort::OfTcp),
            "-1" => Ok(UdpPort::Any),
            _ => match text.parse::<u16>() {
                Ok(number) => Ok(NonZero::new(number).map_or(UdpPort::None, UdpPort::Port)),
                Err(_) => {
                    Err("write a port from 1 to 65535, 0 for none, -1 for any, or tcp for the port of TCP"
                        .into())
                }
            },
        }
    }
}

/// The input to steer to the thread that should handle it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SteeringOption {
    /// Datagrams, by their key.
    Key,
    /// Connections, by the processor that receives their packets.
    Cpu,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The protocols that clients may use: `-B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Text, classic and meta.
    Ascii,
    /// The binary protocol.
    Binary,
    /// Either, by the first byte of a connection or a datagram.
    Auto,
}

impl Protocol {
    /// Whether text is spoken.
    #[inline]
    pub(crate) fn has_text(self) -> bool {
        self != Protocol::Binary
    }

    /// Whether the binary protocol is spoken.
    #[inline]
    pub(crate) fn has_binary(self) -> bool {
        self != Protocol::Ascii
    }

    /// As `stats settings` names it. Source: memcached's `prot_text`.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Protocol::Ascii => "ascii",
            Protocol::Binary => "binary",
            Protocol::Auto => "auto-negotiate",
        }
    }

    /// As logs name it.
    pub(crate) fn spoken(self) -> &'static str {
        match self {
            Protocol::Ascii => "text protocol",
            Protocol::Binary => "binary protocol",
            Protocol::Auto => "text and binary protocols",
        }
    }
}

impl Display for Protocol {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Ascii => "ascii",
            Protocol::Binary => "binary",
            Protocol::Auto => "auto",
        })
    }
}

fn parse_protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "ascii" => Ok(Protocol::Ascii),
        "binary" => Ok(Protocol::Binary),
        "auto" => Ok(Protocol::Auto),
        _ => Err("write ascii, binary or auto".into()),
    }
}

/// memcached's `-p -1` is any free port, as 0 is here.
fn parse_port(text: &str) -> Result<u16, String> {
    match text.parse::<i32>() {
        Ok(-1) => Ok(0),
        Ok(port) => port.try_into().map_err(|_| format!("{port} is not in 0..=65535")),
        Err(_) => Err("write a port from 1 to 65535, or 0 for a free one".into()),
    }
}

/// An address or the name of one, with its port. Of several the first counts.
fn parse_socket(text: &str) -> Result<SocketAddr, String> {
    let found = text.trim().to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| {
        "write an address of this machine and a port, such as 127.0.0.1:9150, [::1]:9150 or localhost:9150".into()
    })
}

/// Of several bytes the first counts, as in memcached.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    text.bytes().next().ok_or_else(|| "write one character, such as ':'".into())
}

fn parse_memory(text: &str) -> Result<Bytes, String> {
    // memcached's -m counts in megabytes.
    if let Ok(mebibytes) = text.parse::<u32>() {
        return Ok(Bytes(u64::from(mebibytes) << 20));
    }
    text.parse().map_err(|error: units::ParseError| error.to_string())
}

/// The least that memcached takes for `-I`. Units: bytes.
const ITEM_MIN: u64 = 1 << 10;
/// The most that memcached takes for `-I`. Units: bytes.
const ITEM_MAX: u64 = 1 << 30;

fn parse_item_size(text: &str) -> Result<Bytes, String> {
    // memcached writes 1m and 512k.
    let size = match text.strip_suffix(['g', 'G', 'm', 'M', 'k', 'K']).map(str::parse::<u32>) {
        Some(Ok(number)) => {
            let shift = match text.as_bytes().last() {
                Some(b'g' | b'G') => 30,
                Some(b'm' | b'M') => 20,
                _ => 10,
            };
            Bytes(u64::from(number) << shift)
        }
        _ => text.parse().map_err(|error: units::ParseError| error.to_string())?,
    };
    match size.0 {
        ITEM_MIN..=ITEM_MAX => Ok(size),
        0..ITEM_MIN => Err(format!("{size} is under the least of {}", Bytes(ITEM_MIN))),
        _ => Err(format!("{size} is over {}, the most that an item may have", Bytes(ITEM_MAX))),
    }
}

fn parse_mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode @ 0..=0o777) => Ok(mode),
        _ => Err("write a mode in octal, from 000 to 777".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_items_are_read_as_memcached_writes_them() {
        let check = |text: &str, expect: Result<u64, &str>| match (parse_item_size(text), expect) {
            (Ok(size), Ok(expect)) => assert_eq!(size.0, expect, "{text}"),
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{text}: {error}"),
            (got, _) => panic!("{text}: {got:?}"),
        };
        check("1m", Ok(1 << 20));
        check("2M", Ok(2 << 20));
        check("512k", Ok(512 << 10));
        check("1024", Ok(1024));
        check("1MiB", Ok(1 << 20));
        check("1023", Err("under the least"));
        check("128m", Ok(128 << 20));
        check("1g", Ok(1 << 30));
        check("1G", Ok(1 << 30));
        check("1025m", Err("over 1 GiB, the most"));
        check("2g", Err("over 1 GiB, the most"));
        check("x", Err("write bytes"));
    }

    #[test]
    fn metrics_have_an_address_or_a_name() {
        let check = |text: &str, expect: Option<&str>| {
            let found = parse_socket(text);
            assert_eq!(found.clone().ok(), expect.map(|socket| socket.parse().unwrap()), "{text}");
            assert!(found.is_ok() || found.unwrap_err().contains("such as 127.0.0.1:9150"));
        };
        check("127.0.0.1:9150", Some("127.0.0.1:9150"));
        check("[::1]:0", Some("[::1]:0"));
        check(" 0.0.0.0:1 ", Some("0.0.0.0:1"));
        assert!(parse_socket("localhost:9150").unwrap().ip().is_loopback());
        for wrong in ["9150", ":", "127.0.0.1", "127.0.0.1:x", "unix:/tmp/x"] {
            check(wrong, None);
        }
    }

    #[test]
    fn ports_are_numbers() {
        let check = |text: &str, expect: Result<u16, &str>| match (parse_port(text), expect) {
            (Ok(port), Ok(expect)) => assert_eq!(port, expect, "{text}"),
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{text}: {error}"),
            (got, _) => panic!("{text}: {got:?}"),
        };
        check("11211", Ok(11211));
        check("-1", Ok(0));
        check("65536", Err("65536 is not in 0..=65535"));
        check("11211x", Err("write a port from 1 to 65535"));
        check("", Err("write a port from 1 to 65535"));
    }

    #[test]
    fn modes_are_octal() {
        let check = |text: &str, expect: Option<u32>| assert_eq!(parse_mode(text).ok(), expect, "{text}");
        check("700", Some(0o700));
        check("0777", Some(0o777));
        check("1000", None);
        check("8", None);
        check("", None);
    }
}
