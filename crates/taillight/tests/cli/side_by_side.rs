//! The comparison that `docs/reference/sphinx.md` recommends before moving from memcached, run as it is written there.

use std::fs;
use std::time::Duration;

use launch::memcached::Options;
use results::{Kind, ResultFolder};
use tempfile::TempDir;
use units::Bytes;

use crate::run::{Served, answers, finish, taillight, text};

/// The words of the documented command that begins so.
fn documented(start: &str) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/sphinx.md");
    let page = fs::read_to_string(page).unwrap();
    let line = page.lines().find(|line| line.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("no line that begins with '{start}'"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn memcached_and_sphinx_are_compared_as_documented() {
    let Ok(memcached) = launch::memcached::find() else {
        return println!("skipped: memcached is not installed (apt-get install memcached)");
    };
    let options =
        Options { threads: 1, memory: Bytes(64 << 20), connections: 1024, cpus: None, extra: Vec::new() };
    let (_process, address) = memcached.start(&options, Duration::from_secs(30)).unwrap();
    let sphinx = Served::start(&["serve", "sphinx", "-p", "0", "-m", "64", "-t", "1"], launch::sphinx::READY);
    let places = [address.to_string(), sphinx.address.clone()];
    let mut words = documented("taillight compare --live ");
    for word in &mut words {
        match word.as_str() {
            "127.0.0.1:11211" => *word = places[0].clone(),
            "127.0.0.1:11212" => *word = places[1].clone(),
            // One block is enough to see the way.
            "6" => *word = "1".to_owned(),
            _ => {}
        }
    }
    let out = TempDir::new().unwrap();
    let mut command = taillight(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
    let short = "--loads 20 --tolerance 50 --window 100ms --warmup 20ms --drain 20ms --keys 500 --qos p50<1s --pace sleep \
                 --connections 4 --no-live --name c --out";
    let output = finish(command.args(short.split_whitespace()).arg(out.path()));
    // A machine that is too busy for a maximum ends with a partial result; the test covers the steps, not the figures.
    answers(&output);
    let busy = text(&output).contains("no maximum throughput was found");
    let result = ResultFolder::open(&out.path().join("c")).unwrap().load().unwrap();
    assert_eq!(result.kind, Kind::CompareLive);
    let names: Vec<&str> = result.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, places);
    for place in places {
        let answered: u64 = result.trials_of(&place).map(|trial| trial.arrivals.completed).sum();
        assert!(busy || answered > 0, "{place} answered nothing: {}", text(&output));
        assert!(result.trials_of(&place).next().is_some(), "{place} was not asked: {}", text(&output));
    }
}
