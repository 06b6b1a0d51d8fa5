//! Money and reviews are exact, whichever services and stores are killed while visitors rent and write.

use crate::movies::exact::Visitors;
use crate::movies::site::{Site, until};

/// Requests that are sent while a service is not there.
const WITHOUT: u64 = 40;

/// Who is killed.
#[derive(Clone, Copy)]
enum Victim {
    /// All of its processes; the instance is restarted.
    Whole(&'static str),
    /// Its workers; it has others in their place.
    Workers(&'static str),
}
use Victim::{Whole, Workers};

const FEW: [Victim; 4] = [Whole("user-auth"), Whole("compose-review"), Whole("movie-review"), Workers("php")];

/// Each that money or a review passes, with caches and databases.
const ALL: [Victim; 21] = [
    Workers("php"),
    Whole("user-auth"),
    Whole("rent-movie"),
    Whole("compose-review"),
    Whole("review-storage"),
    Whole("movie-review"),
    Whole("user-review"),
    Whole("update-movie"),
    Whole("users-db"),
    Whole("movies-cache"),
    Workers("user-auth"),
    Whole("reviews-cache"),
    Whole("users-cache"),
    Whole("unique-id"),
    Whole("reviews-db"),
    Whole("movie-id"),
    Whole("text"),
    Whole("review-rating"),
    Whole("user"),
    Whole("movies-db"),
    Whole("php"),
];

/// Kills `victims` in turn, evenly spread over the operations, regardless of restart times.
fn stays_exact(operations: u64, victims: &[Victim]) {
    // On a busy machine advertisements would not come in their 20 ms, and pages are compared whole.
    let Some(mut site) = Site::start(&["web.instances=1", "ads_deadline_ms=500"]) else { return };
    let visitors = Visitors::new(&site, operations);
    let address = site.address.clone();
    let mut killed = 0;
    visitors.run(&address, || {
        for (at, victim) in (1..).zip(victims) {
            let share = |of: u64| operations * of / (victims.len() as u64 + 1);
            let (begin, end) = (share(at), share(at + 1));
            visitors.allow(end);
            until("visitors go on", || visitors.done() >= begin || visitors.is_over());
            if visitors.is_over() {
                return;
            }
            match victim {
                Workers(name) => site.kill_workers(name, 0),
                Whole(name) => {
                    site.kill(name, 0);
                    let enough = visitors.asked() + WITHOUT;
                    let are_enough = || visitors.asked() >= enough || visitors.done() >= end;
                    until("visitors go on asking", || are_enough() || visitors.is_over());
                    site.revive(name, 0);
                }
            }
            killed += 1;
        }
        visitors.allow(operations);
    });
    assert_eq!(killed, victims.len(), "all were killed while visitors were there");
    println!("{} kills: {}", killed, visitors.verify(&site));
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn money_and_reviews_are_exact_whatever_is_killed() {
    stays_exact(400, &FEW);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn ten_thousand_operations_are_exact_whatever_is_killed() {
    stays_exact(10_000, &[ALL, ALL].concat());
}
