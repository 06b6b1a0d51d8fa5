use std::sync::Arc;

use dist::Process;
use openloop::{Binding, Endpoint, Load, Pace, Plan, Recording, Tally, WhenAbsent};
use reactor::Address;
use reference_servers::Stalls;
use reference_servers::video::{Limits, ServerCounters, VideoServer};
use spec::workload::{self, Bandwidth, Delivery};
use units::{Nanos, Rate};
use workloads::video::{Catalog, Known, Library, Verify, Video, VideoConfig, Videos};

use crate::simulated::counter;

/// The set of all simulations: 50 videos of 1/640 of the bytes, so that a chunk of 480p has 5 KiB.
pub(crate) fn catalog() -> Catalog {
    Catalog::new(&"50x1/640".parse().unwrap(), 1).unwrap()
}

/// A simulated experiment; a test changes the fields that it is about.
pub(crate) struct Setup {
    pub(crate) config: VideoConfig,
    pub(crate) plan: Plan,
    /// The faults that the server plants.
    pub(crate) faults: String,
    pub(crate) stalls: Stalls,
    pub(crate) delay: Nanos,
}

impl Setup {
    /// `viewers_per_s` viewers a second at ten times the speed for 20 s without a warm-up, with unlimited bandwidth.
    pub(crate) fn new(viewers_per_s: f64, seed: u64) -> Setup {
        println!("seed {seed}");
        let library = Library::new(Videos::Set(catalog(), Delivery::Ranges), 10);
        let rate = Rate::new(viewers_per_s).unwrap();
        let config = VideoConfig {
            urls: vec!["http://10.0.0.1:80".parse().unwrap()],
            library,
            options: workload::Video {
                bandwidth: Bandwidth::Off,
                verify: Some(Verify::Checksum),
                speed: 10,
                ..Default::default()
            },
            viewers_per_s,
            window: Nanos::from_secs(20),
            seed,
        };
        Setup {
            plan: Plan {
                endpoints: vec![Endpoint {
                    address: Address::Tcp("10.0.0.1:80".parse().unwrap()),
                    connections: 0,
                }],
                load: Load::steady(Process::Poisson, rate),
                clients: None,
                seed,
                share: 0,
                shares: 1,
                sessions: Some(10_000),
                depth: 1,
                per_connection: None,
                binding: Binding::Random,
                pace: Pace::Sleep,
                when_absent: WhenAbsent::Send,
                warmup: Nanos::ZERO,
                window: Nanos::from_secs(20),
                // As a trial has it.
                drain: config.options.longest_chunk(),
                timeout: Nanos::from_secs(10),
            },
            config,
            faults: String::new(),
            stalls: Stalls::default(),
            delay: Nanos::ZERO,
        }
    }

    /// Sets the form in which videos are requested.
    pub(crate) fn deliver(&mut self, delivery: Delivery) {
        self.config.library = Library::new(Videos::Set(catalog(), delivery), 10);
    }

    /// Runs it to the end.
    pub(crate) fn run(&self) -> Recording {
        let faults = self.faults.parse().unwrap();
        let counts = Arc::new(ServerCounters::default());
        let mut server = VideoServer::new(catalog(), faults, self.stalls.clone(), Limits::default(), counts);
        let known = Arc::new(Known::new(&self.config).unwrap());
        let video = Video::new(&known, (0, 1)).unwrap();
        crate::simulated::run(&self.plan, video, &mut server, self.delay)
    }
}

/// Asserts that every step that was due ended as one of the four, and every session as one of its own.
#[track_caller]
pub(crate) fn assert_accounted(recording: &Recording) {
    let Tally { intended, completed, errors, timeouts, unfinished } = recording.tally;
    assert_eq!(completed + errors + timeouts + unfinished, intended, "{:?}", recording.tally);
    let of_operations: u64 = recording.operations.iter().map(|one| one.tally.intended).sum();
    assert_eq!(of_operations, intended, "each step has its operation");
    let offered: u64 = recording.intervals.iter().map(|interval| interval.offered).sum();
    assert_eq!(offered, intended, "offered over the window");
    let sessions = recording.sessions;
    assert_eq!(sessions.begun + sessions.underway, sessions.ended + sessions.cut, "{sessions:?}");
    for (name, count, of) in &recording.counters {
        // Stalls are counted by the time that was watched, and the ratio to that may exceed 1.
        let is_share = !["rebuffer_of_media", "stalls"].contains(&name.as_str());
        assert!(!is_share || count <= of, "{name}: {count} of {of}");
    }
    let (missed, due) = counter(recording, "misses");
    let chunks = || recording.operations.iter().filter(|one| one.name != "index").map(|one| one.tally);
    let ended: u64 = chunks().map(|tally| tally.completed + tally.errors + tally.timeouts).sum();
    let failed: u64 = chunks().map(|tally| tally.errors + tally.timeouts).sum();
    assert!(due >= ended && due <= intended, "{due} of {ended} that ended and {intended} that were due");
    assert!(missed >= failed, "{missed} misses, and {failed} chunks did not come");
}
