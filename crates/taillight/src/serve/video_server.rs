//! `taillight serve video-server`: the video server that comes along, over videos that it computes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use datasets::videos::Catalog;
use launch::Interrupt;
use reactor::{Address, Epoll, Reactor, Waker, pin_to};
use reference_servers::video::{Faults, Limits, ServerCounters, VideoServer};
use spec::workload::VideoSet;
use units::{CpuList, Nanos};

use super::{parse_stalls, raise_limit, stalls};

/// How often a request to stop is checked for.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Args, Debug)]
pub(super) struct VideoServerArgs {
    /// Address to listen on, one of this machine's own (127.0.0.0/8, ::1); port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    listen: SocketAddr,
    /// How many videos, x, and the share of their bytes, as taillight fileset make --video has them.
    #[arg(long, default_value_t = VideoSet::default(), value_name = "VIDEOS")]
    videos: VideoSet,
    /// Seed of lengths and contents.
    #[arg(long, default_value_t = 1, value_name = "N")]
    videos_seed: u64,
    /// Threads that serve.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Connections at once, to each thread; those beyond are turned away.
    #[arg(short, long, default_value_t = Limits::default().connections, value_name = "N")]
    connections: usize,
    /// Processors, one for each thread in turn [default: not pinned].
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Faults of every N-th chunk, counted over all threads, as NAME:N separated by commas: delay:N:3s, trickle:N:16KiB
    /// (in a second), reset:N, cut:N, unavailable:N, gone:N, wrong-range:N, whole:N, garbled:N.
    #[arg(long, default_value = "", value_name = "FAULTS")]
    faults: Faults,
    /// Send nothing for TIME after every EVERY: 30s:3s.
    #[arg(long, value_name = "EVERY:TIME", value_parser = parse_stalls)]
    stall: Option<(Nanos, Nanos)>,
}

pub(super) fn run(args: &VideoServerArgs) -> Result<()> {
    if !args.listen.ip().is_loopback() {
        bail!(
            "{} is not an address of this machine's own: the embedded video server answers no other machine; give \
             --listen 127.0.0.1:PORT, or serve a folder by `taillight serve video`",
            args.listen
        );
    }
    if args.cpus.is_some() {
        super::warn_unpinned();
    }
    let catalog = Catalog::new(&args.videos, args.videos_seed)?;
    raise_limit();
    let interrupt = Interrupt::on_signals()?;
    let (stop, counts) = (AtomicBool::new(false), Arc::new(ServerCounters::default()));
    // An event loop belongs to the thread that made it.
    let serve = |address: Address, cpu: Option<usize>, told: mpsc::Sender<_>| -> Result<()> {
        if let Some(cpu) = cpu {
            pin_to(cpu)?;
        }
        let (mut reactor, address) = listening(&address)?;
        // Its receiver waits for it.
        let _ = told.send((address, reactor.waker()));
        drop(told);
        let stalls = stalls(args.stall, reactor.now());
        let limits = Limits { connections: args.connections, ..Limits::default() };
        let counts = Arc::clone(&counts);
        let mut server = VideoServer::new(catalog.clone(), args.faults.clone(), stalls, limits, counts);
        while !stop.load(Ordering::Relaxed) {
            server.step(&mut reactor)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let cpus = args.cpus.as_ref().map_or(&[][..], CpuList::as_slice);
        let cpu = |at: usize| (!cpus.is_empty()).then(|| cpus[at % cpus.len()]);
        let (mut threads, mut wakers, mut address) = (Vec::new(), Vec::new(), Address::Tcp(args.listen));
        // The first one takes the port that the others share.
        for at in 0..args.threads as usize {
            let (serve, cpu, wanted) = (&serve, cpu(at), address.clone());
            let (tell, told) = mpsc::channel();
            threads.push(scope.spawn(move || serve(wanted, cpu, tell)));
            let Ok((taken, waker)) = told.recv() else { break };
            address = taken;
            wakers.push(waker);
        }
        if wakers.len() < args.threads as usize {
            stop.store(true, Ordering::Relaxed);
        } else {
            println!("video server ready on {address}");
        }
        while interrupt.cause().is_none() && threads.iter().all(|thread| !thread.is_finished()) {
            thread::park_timeout(LOOK);
        }
        stop.store(true, Ordering::Relaxed);
        wakers.iter().for_each(Waker::wake);
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("a thread ended unexpectedly"))??;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    eprint!("video server stopped after {}", counts.text());
    Ok(())
}

/// An event loop of this thread that listens on an address, and the address that it took.
fn listening(address: &Address) -> Result<(Epoll, Address)> {
    let mut reactor = Epoll::new().context("cannot set up the event loop")?;
    // Viewers may come all at once.
    reactor.set_backlog(65_535);
    let taken = reactor
        .listen(address)
        .with_context(|| format!("cannot listen on {address}; choose another address with --listen"))?;
    Ok((reactor, taken))
}
