//! A server that takes part.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use launch::{Process, Spec};
use rustix::process::{Pid, Signal, kill_process};
use units::{Bytes, CpuList};

use crate::cpu::Cpu;

const PATIENCE: Duration = Duration::from_secs(60);
/// Far more than 100 000 items of 30 B and 200 B take, and room for values of 1 MB.
const MEMORY: Bytes = Bytes(1 << 30);
const CONNECTIONS: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Memcached,
    Sphinx,
    /// Answers a canned value.
    Floor,
}

/// The order of a round: each contestant has another place in every round, since the preceding run may help or harm.
pub(crate) fn turns(round: u32, contestants: usize) -> impl Iterator<Item = usize> {
    (0..contestants).map(move |turn| (round as usize + turn) % contestants)
}

/// A server that runs; it stands still whenever another has its turn.
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) address: SocketAddr,
    process: Process,
}

impl Contestant {
    pub(crate) fn memcached(program: &Path, extra: &str, cpus: &str, threads: usize) -> Contestant {
        let found = launch::memcached::at(program).expect("it is a memcached");
        let cpus: CpuList = cpus.parse().expect("they were read from the system");
        let options = launch::memcached::Options {
            threads,
            memory: MEMORY,
            connections: CONNECTIONS,
            cpus: Some(cpus.as_slice().to_vec()),
            extra: extra.split_whitespace().map(Into::into).collect(),
        };
        let (process, address) = found.start(&options, PATIENCE).expect("memcached starts");
        let words = ["memcached", &found.version].into_iter().chain(extra.split_whitespace());
        let name = words.collect::<Vec<_>>().join(" ");
        Contestant::paused(name, Kind::Memcached, address, process)
    }

    pub(crate) fn sphinx(args: &str, cpus: &str) -> Contestant {
        let sphinxd = Path::new(env!("CARGO_BIN_EXE_taillight")).with_file_name("sphinxd");
        assert!(
            sphinxd.exists(),
            "there is no {}: cargo build --profile bench -p sphinx --bins",
            sphinxd.display()
        );
        let line = format!("-p 0 -m {} --eager-memory --cpus {cpus} {args}", MEMORY.0 >> 20);
        let spec = Spec::new("sphinxd", &sphinxd).args(line.split_whitespace());
        let mut process = Process::spawn(spec).expect("sphinxd starts");
        let address = launch::sphinx::await_ready(&mut process, PATIENCE).expect("sphinxd is ready");
        Contestant::paused(format!("sphinx {args}"), Kind::Sphinx, address, process)
    }

    pub(crate) fn floor(cpus: &str) -> Contestant {
        let line = format!("serve null --dialect memcached --cpus {cpus} --listen 127.0.0.1:0");
        let spec =
            Spec::new("floor", Path::new(env!("CARGO_BIN_EXE_taillight"))).args(line.split_whitespace());
        let mut process = Process::spawn(spec).expect("the floor starts");
        let line = process.next_line(PATIENCE).expect("it says where it listens");
        let address = line.trim().rsplit(' ').next().and_then(|word| word.parse().ok()).expect("an address");
        Contestant::paused("floor".into(), Kind::Floor, address, process)
    }

    fn paused(name: String, kind: Kind, address: SocketAddr, process: Process) -> Contestant {
        let contestant = Contestant { name, kind, address, process };
        contestant.signal(Signal::STOP);
        contestant
    }

    /// Lets it run while `turn` does.
    pub(crate) fn awake<T>(&self, turn: impl FnOnce() -> T) -> T {
        self.signal(Signal::CONT);
        let result = turn();
        self.signal(Signal::STOP);
        result
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process.pid() as i32).expect("a process has a number");
        kill_process(pid, signal).expect("it is a child of ours");
    }

    /// The processor time that it has taken so far. Units: seconds.
    pub(crate) fn cpu_s(&self) -> f64 {
        let cpu = Cpu::of(&self.process.pid().to_string(), false);
        cpu.user + cpu.kernel
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        // One that stands still would not hear that it is to end.
        self.signal(Signal::CONT);
    }
}
