//! All checks in one command, from an empty machine, with one last line that counts the tests.

mod client_tools;
mod deploy_tools;
mod programs;
mod services;
mod step;
mod tally;
pub(crate) mod tools;

use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant, SystemTime};

use step::{Outcome, Step};
use tally::Tally;

/// Which checks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Those of every change.
    Fast,
    /// The others too: what takes long, to compile or to run, and rarely breaks.
    Slow,
}

/// What `cargo xtask ci` is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Whether to fetch what is missing.
    install: bool,
    tier: Tier,
    /// The seed of the order of the tests; `None` leaves them the harness's.
    shuffle: Option<u64>,
}

impl Request {
    /// Reads the words after `ci`; `None` where one of them is unknown.
    pub(crate) fn read(words: &[&str]) -> Option<Request> {
        let mut request = Request { install: true, tier: Tier::Fast, shuffle: None };
        for word in words {
            match *word {
                "--all" => request.tier = Tier::Slow,
                "--no-install" | "--offline" => request.install = false,
                "--shuffle" => request.shuffle = Some(any_seed()),
                _ => request.shuffle = Some(word.strip_prefix("--shuffle=")?.parse().ok()?),
            }
        }
        Some(request)
    }
}

/// Another one each second.
fn any_seed() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |since| since.as_secs())
}

/// Installs what the tests of this tier need, and says what is still missing. What Debian does not have is not a failure;
/// what its lock file names and npm could not install is.
pub(crate) fn tools_for(tier: Tier) -> bool {
    let clients = tools::prepare(true, tier).clients;
    clients.inspect_err(|why| println!("FAILED: {why}")).is_ok()
}

/// Runs every check, also after one that fails; true where none does.
///
/// The last line of its output is `N passed, N failed, N skipped`, of tests; a check that fails otherwise counts
/// as one failed.
pub(crate) fn run(request: Request) -> Result<bool, String> {
    let mut tally = Tally::default();
    let mut times: Vec<(&str, Duration)> = Vec::new();
    let begin = Instant::now();
    let tools = tools::prepare(request.install, request.tier);
    times.push(("tools", begin.elapsed()));
    let (steps, left): (Vec<_>, Vec<_>) = step::all(&tools, request.shuffle)
        .into_iter()
        .partition(|step| step.tier == Tier::Fast || request.tier == Tier::Slow);
    let mut failed = Vec::new();
    if let Err(why) = &tools.clients {
        println!("== tools: FAILED: {why}");
        failed.push("tools");
        tally.fail_beyond(tally.failed);
    }
    std::thread::scope(|scope| {
        let mut beside: Vec<ScopedJoinHandle<'_, Ended>> = Vec::new();
        for step in &steps {
            if step.beside {
                println!("\n== {}: {} (beside the next steps)", step.name, step.shown());
                beside.push(scope.spawn(|| Ended::of(step)));
                continue;
            }
            if step.waits() {
                for ended in beside.drain(..) {
                    let Ended { name, outcome, took, tally: of_it, said } =
                        ended.join().expect("a step returns what failed");
                    println!(
                        "\n== {name}, which ran beside others:\n{}",
                        String::from_utf8_lossy(&said).trim_end()
                    );
                    let before = tally.failed;
                    tally.add(of_it);
                    note(name, outcome, took, before, &mut tally, &mut failed);
                    times.push((name, took));
                }
            }
            println!("\n== {}: {}", step.name, step.shown());
            let (start, before) = (Instant::now(), tally.failed);
            let outcome = step.run(&mut tally, &mut std::io::stdout());
            note(step.name, outcome, start.elapsed(), before, &mut tally, &mut failed);
            times.push((step.name, start.elapsed()));
        }
    });
    let mut left: Vec<&str> = left.iter().map(|step| step.name).collect();
    if !tools.chart && request.tier == Tier::Fast {
        left.push("tests of the Helm chart");
    }
    print!("{}", summary(&times, begin.elapsed(), &failed, &left, &tally));
    Ok(tally.failed == 0)
}

/// How a step ended that ran beside others.
struct Ended {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
    tally: Tally,
    said: Vec<u8>,
}

impl Ended {
    fn of(step: &Step) -> Ended {
        let (start, mut tally, mut said) = (Instant::now(), Tally::default(), Vec::new());
        let outcome = step.run(&mut tally, &mut said);
        Ended { name: step.name, outcome, took: start.elapsed(), tally, said }
    }
}

/// Says how a step ended, and counts one that failed as a failed test at least, where `before` it so many had failed.
fn note(
    name: &'static str,
    outcome: Outcome,
    took: Duration,
    before: u64,
    tally: &mut Tally,
    failed: &mut Vec<&'static str>,
) {
    let took = took.as_secs_f64();
    match outcome {
        Outcome::Passed => println!("== {name}: passed in {took:.1} s"),
        Outcome::Skipped(why) => {
            println!("== {name}: skipped: {why}");
            tally.skip(format!("{name}: {why}"));
        }
        Outcome::Failed(why) => {
            println!("== {name}: FAILED after {took:.1} s: {why}");
            failed.push(name);
            tally.fail_beyond(before);
        }
    }
}

/// The last lines: how long each step took and all `together`, of which some ran beside others, and what became of the tests.
fn summary(
    times: &[(&str, Duration)],
    together: Duration,
    failed: &[&str],
    left: &[&str],
    tally: &Tally,
) -> String {
    let times: Vec<String> =
        times.iter().map(|(name, time)| format!("{name} {:.1} s", time.as_secs_f64())).collect();
    let mut lines =
        vec![String::new(), format!("times: {}; together {:.0} s", times.join(", "), together.as_secs_f64())];
    if !failed.is_empty() {
        lines.push(format!("failed: {}", failed.join(", ")));
    }
    if !left.is_empty() {
        lines.push(format!("left to `cargo xtask ci --all`: {}", left.join(", ")));
    }
    lines.extend(tally.skipped.iter().map(|what| format!("skipped: {what}")));
    lines.push(format!(
        "{} passed, {} failed, {} skipped\n",
        tally.passed,
        tally.failed,
        tally.skipped_count()
    ));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_with_the_count() {
        let mut tally = Tally::default();
        tally.passed = 7;
        let times = [("format", Duration::from_millis(1234))];
        let check = |failed: &[&str], left: &[&str], tally: &Tally, expect: &str| {
            assert_eq!(summary(&times, Duration::from_secs(1), failed, left, tally), expect)
        };
        check(&[], &[], &tally, "\ntimes: format 1.2 s; together 1 s\n7 passed, 0 failed, 0 skipped\n");
        tally.fail_beyond(0);
        tally.skip("browser: no chromium".into());
        let expect = "\ntimes: format 1.2 s; together 1 s\nfailed: clippy\n\
                      left to `cargo xtask ci --all`: deny, advisories\n\
                      skipped: browser: no chromium\n7 passed, 1 failed, 1 skipped\n";
        check(&["clippy"], &["deny", "advisories"], &tally, expect);
    }

    #[test]
    fn reads_what_it_is_asked_for() {
        let check = |words: &[&str], expect: Option<(bool, Tier, Option<u64>)>| {
            let request = Request::read(words).map(|r| (r.install, r.tier, r.shuffle));
            assert_eq!(request, expect, "{words:?}");
        };
        check(&[], Some((true, Tier::Fast, None)));
        check(&["--all", "--no-install"], Some((false, Tier::Slow, None)));
        check(&["--shuffle=42"], Some((true, Tier::Fast, Some(42))));
        check(&["--shuffle=soon"], None);
        check(&["--al"], None);
        assert!(Request::read(&["--shuffle"]).unwrap().shuffle.is_some());
    }
}
