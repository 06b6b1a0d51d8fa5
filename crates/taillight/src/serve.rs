//! The servers that the laboratory brings along, and memcached and NGINX as found on this machine, in any form.

mod application;
mod around;
mod video_server;

use std::net::SocketAddr;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use dist::Gap;
use lab::TargetName;
use launch::Interrupt;
use reactor::{Address, Epoll, Reactor, pin_to};
use reference_servers::Stalls;
use reference_servers::null::{Dialect, NullServer, Service};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use units::{Bytes, CpuList, Nanos, Time};

use crate::args::Typed;

pub(crate) use application::other;

/// Run a server, bare, behind a bridge or in a container: Sphinx, memcached, NGINX, or any other application by its
/// name, such as lighttpd, or by the path of a folder with an app.toml.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    server: Subject,
}

#[derive(Subcommand, Debug)]
enum Subject {
    /// The cache, a memcached-compatible server with a thread per core; the same as sphinxd.
    Sphinx(Box<SphinxArgs>),
    /// The memcached of this machine, of an image, or of your own build.
    Memcached(Box<application::ApplicationArgs>),
    /// The NGINX of this machine, of an image, or of your own build, over a set of files.
    Nginx(Box<application::ApplicationArgs>),
    /// NGINX over a set of videos, with a page that plays them.
    Video(Box<application::ApplicationArgs>),
    /// A social network: NGINX, PHP, MariaDB, and a cache; log in as u0000001 with the password taillight.
    Social(Box<application::ApplicationArgs>),
    /// The embedded video server: videos that are computed instead of read, with faults to plant, for a demo and for tests.
    VideoServer(video_server::VideoServerArgs),
    /// The null server: known service times and scheduled stalls, to test a load generator.
    Null(NullArgs),
    /// Remove bridges, containers and images that a killed run has left.
    CleanUp,
    /// Another application by its name, such as lighttpd, or by the path of a folder that describes it.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

#[derive(Args, Debug)]
struct SphinxArgs {
    #[command(flatten)]
    typed: Typed,
    #[command(flatten)]
    options: sphinx::Options,
    #[command(flatten)]
    around: around::Around,
}

#[derive(Args, Debug)]
struct NullArgs {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    listen: SocketAddr,
    /// Processor to pin the server to [default: not pinned].
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// What to speak: lines (any line is answered 'ok'), memcached (every get hits, also by the binary protocol and by
    /// RESP) or http (every page is there, by HTTP/1.1 or 2).
    #[arg(long, default_value = "lines", value_name = "DIALECT", value_parser = ["lines", "memcached", "http"])]
    dialect: String,
    /// Answer memcached over UDP, too, on the same port.
    #[arg(long)]
    udp: bool,
    /// Size of the value that every get hits, or of every page.
    #[arg(long, default_value = "200", value_name = "SIZE")]
    value_size: Bytes,
    /// Service time: none, constant:300us or exponential:300us; one request after the other.
    #[arg(long, default_value = "none", value_name = "TIME", value_parser = parse_service)]
    service: ServiceTime,
    /// Stall for TIME after every EVERY: 1s:100ms.
    #[arg(long, value_name = "EVERY:TIME", value_parser = parse_stalls)]
    stall: Option<(Nanos, Nanos)>,
    /// Delay each answer by this time, during which the server is free.
    #[arg(long, value_name = "TIME", requires = "service")]
    delay: Option<Nanos>,
    /// Seed of the service times.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Wait by spinning, for service times exact to a µs; takes the whole core.
    #[arg(long)]
    spin: bool,
}

#[derive(Clone, Copy, Debug)]
enum ServiceTime {
    None,
    Drawn(Gap),
}

fn parse_service(text: &str) -> Result<ServiceTime, String> {
    let (form, time) = match text.split_once(':') {
        None if text == "none" => return Ok(ServiceTime::None),
        None => return Err("write none, constant:300us or exponential:300us".into()),
        Some(parts) => parts,
    };
    let ns = time.parse::<Nanos>().map_err(|e| e.to_string())?.0 as f64;
    match form {
        "constant" => Ok(ServiceTime::Drawn(Gap::Constant(ns))),
        "exponential" => Ok(ServiceTime::Drawn(Gap::Exponential(ns))),
        _ => Err(format!("'{form}' is not a form; write none, constant:300us or exponential:300us")),
    }
}

fn parse_stalls(text: &str) -> Result<(Nanos, Nanos), String> {
    let (every, time) = text.split_once(':').ok_or("write EVERY:TIME, such as 1s:100ms")?;
    let every: Nanos = every.parse().map_err(|e: units::ParseError| e.to_string())?;
    let time: Nanos = time.parse().map_err(|e: units::ParseError| e.to_string())?;
    if time >= every {
        return Err(format!("a stall of {time} every {every} never ends; write for example 1s:100ms"));
    }
    Ok((every, time))
}

/// A server's stalls from `now` on, as [`parse_stalls`] reads them.
fn stalls(given: Option<(Nanos, Nanos)>, now: Time) -> Stalls {
    given.map_or_else(Stalls::default, |(every, time)| Stalls::periodic(now, every, time, u64::MAX))
}

pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    match &args.server {
        Subject::Sphinx(args) if args.around.is_given() => {
            around::sphinx(&args.options, &args.typed, &args.around)
        }
        Subject::Sphinx(args) => sphinx::run(args.options.resolve()?),
        Subject::Memcached(args) => application::run(&TargetName::app("memcached"), args),
        Subject::Nginx(args) => application::run(&TargetName::app("nginx"), args),
        Subject::Video(args) => application::run(&TargetName::app("video"), args),
        Subject::Social(args) => application::run(&TargetName::app("social"), args),
        Subject::VideoServer(args) => video_server::run(args),
        Subject::Other(words) => other(words),
        Subject::CleanUp => clean_up(),
        Subject::Null(null) => serve_null(null),
    }
}

fn clean_up() -> Result<()> {
    if !launch::User::is_root() {
        println!("bridges and containers are removed by root alone; looking for folders of this user's");
    }
    let removed = launch::clean_up(&[launch::Form::Podman, launch::Form::Docker]);
    for name in &removed {
        println!("removed {name}");
    }
    if removed.is_empty() {
        println!("nothing was left here");
    }
    Ok(())
}

/// Raises this process's limit of open files to the maximum, for as many clients as possible. If this fails, the current limit stays.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Says that `--cpus` has no effect where the system refuses to pin threads.
fn warn_unpinned() {
    if !reactor::may_pin() {
        eprintln!(
            "taillight: --cpus has no effect: the system refuses sched_setaffinity, as a container's seccomp profile does"
        );
    }
}

fn serve_null(args: &NullArgs) -> Result<()> {
    if let Some(cpu) = args.cpus.as_ref().and_then(|cpus| cpus.as_slice().first()) {
        warn_unpinned();
        pin_to(*cpu)?;
    }
    raise_limit();
    let mut reactor = Epoll::new().context("cannot set up the event loop")?;
    let address = reactor
        .listen(&args.listen.into())
        .with_context(|| format!("cannot listen on {}; choose another address with --listen", args.listen))?;
    if let (true, Address::Tcp(socket)) = (args.udp, &address) {
        let udp = Address::Udp(*socket);
        reactor
            .listen(&udp)
            .with_context(|| format!("cannot listen on {udp}; choose another port with --listen"))?;
    }
    let dialect = match args.dialect.as_str() {
        "http" => Dialect::http(args.value_size.0 as usize),
        "memcached" => Dialect::memcached(args.value_size.0 as usize),
        _ => Dialect::Lines,
    };
    let stalls = stalls(args.stall, reactor.now());
    let service = match (args.service, args.stall) {
        (ServiceTime::None, None) => Service::Instant,
        (ServiceTime::None, Some(_)) => Service::Queue { time: Gap::Constant(0.0), stalls, seed: args.seed },
        (ServiceTime::Drawn(time), _) => Service::Queue { time, stalls, seed: args.seed },
    };
    let interrupt = Interrupt::on_signals()?;
    let mut server = NullServer::new(dialect, service, args.spin).delayed(args.delay.unwrap_or_default());
    println!("null server ready on {address}");
    while interrupt.cause().is_none() {
        server.step(&mut reactor)?;
    }
    eprintln!("null server stopped after {} requests", server.served());
    Ok(())
}
