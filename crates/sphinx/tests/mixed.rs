//! Misbehaving clients of every kind at once, for long: the p99 of a well-behaved client does not grow, nor does the process.
//!
//! A quarter of the time in each mode; some seconds by default. `TAILLIGHT_SOAK_SECONDS=600 cargo test -p sphinx --test it
//! mixed -- --ignored --nocapture` takes ten minutes.

#[path = "../benches/fair/rivals.rs"]
mod rivals;
#[path = "../benches/fair/steady.rs"]
mod steady;

use std::sync::Arc;
use std::time::Duration;

use reactor::tls::{Trust, client_config};

use crate::support::certificate::certificate;
use crate::support::client::{Client, await_stat};
use crate::support::{MODES, resident, sphinxd_with_tls};
use rivals::{KINDS, Kind, Place, Rivals};

const MIB: u64 = 1 << 20;
/// Memory of items and of connections, which the process has from the start. Units: MiB.
const MEMORY: u64 = 256;
const CONNECTION_MEMORY: u64 = 16;
/// The rest of the process: code, event loops, TLS, and some per cent of the items' memory. Units: MiB.
const BESIDE: u64 = 96;
/// Clients of each kind without TLS, and as many with it.
const CLIENTS: usize = 4;
/// Measurements in each mode. The first half is compared with the second.
const WINDOWS: usize = 8;
/// Seconds of all modes by default.
const SECONDS: f64 = 16.0;

/// The p99 of the second half may be this factor times the p99 of the first, plus this time, as other programs disturb
/// both.
const GROWTH: f64 = 3.0;
const DISTURBANCE: f64 = 0.05;

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn beside_all_kinds_of_clients_neither_the_p99_nor_the_memory_grows() {
    let seconds =
        std::env::var("TAILLIGHT_SOAK_SECONDS").map_or(SECONDS, |text| text.parse().expect("a number"));
    let window = Duration::from_secs_f64(seconds / (MODES.len() * WINDOWS) as f64);
    let papers = certificate();
    let trust = client_config(Trust::Authorities(&papers.path().join("ca.pem")), None).unwrap();
    for mode in MODES {
        let args = format!(
            "-t 2 -m {MEMORY} --eager-memory --connection-memory {CONNECTION_MEMORY}MiB -c 1024 {mode}"
        );
        let (server, encrypted) = sphinxd_with_tls(&args, &papers);
        rivals::fill(server.address).unwrap();
        let alone = steady::p99(server.address, window).unwrap();
        let plain = Place { address: server.address, tls: None };
        let places = [plain, Place { address: encrypted, tls: Some(Arc::clone(&trust)) }];
        let mut others = Vec::new();
        for kind in KINDS {
            for place in places.iter().filter(|place| place.tls.is_some() || !kind.needs_tls()) {
                others.push(Rivals::start(kind, place, CLIENTS));
            }
        }
        let mut seen = Vec::new();
        for _ in 0..WINDOWS {
            seen.push(steady::p99(server.address, window).unwrap());
            let bound = (MEMORY + CONNECTION_MEMORY + BESIDE) * MIB;
            let taken = resident(&server);
            assert!(taken <= bound, "{mode}: {taken} B resident, over {bound} B");
        }
        let kinds = KINDS.map(Kind::name).join(", ");
        println!("{mode}: {alone} s alone, beside {kinds}: {seen:?}");
        let (early, late) = seen.split_at(WINDOWS / 2);
        let (early, late) = (median(early), median(late));
        assert!(late <= GROWTH * early + DISTURBANCE, "{mode}: {early} s, and {late} s later");
        others.into_iter().for_each(Rivals::stop);
        let mut client = Client::connect(server.address);
        await_stat(&mut client, "curr_connections", |connections| connections == 1);
        await_stat(&mut client, "connection_memory", |bytes| bytes == 0);
    }
}
