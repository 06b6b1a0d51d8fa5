//! All checks in one command, from an empty machine, with one last line that counts the tests.

mod client_tools;
mod deploy_tools;
mod programs;
mod services;
mod step;
mod tally;
pub(crate) mod tools;

use std::io::Write;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant, SystemTime};

use programs::Program;
use step::{Outcome, Step, TestBuild};
use tally::Tally;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Checks of every change.
    Fast,
    /// Every check, including slow ones that rarely break.
    Slow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CiOptions {
    /// Whether to fetch missing tools.
    install: bool,
    tier: Tier,
    /// The seed of the order of the tests; `None` for the harness's order.
    shuffle: Option<u64>,
    /// Whether a few failed tests run once more, alone.
    again: bool,
}

impl CiOptions {
    /// Parses the words after `ci`; `None` if one of them is unknown.
    pub(crate) fn read(words: &[&str]) -> Option<CiOptions> {
        let mut request = CiOptions { install: true, tier: Tier::Fast, shuffle: None, again: true };
        for word in words {
            match *word {
                "--all" => request.tier = Tier::Slow,
                "--no-install" | "--offline" => request.install = false,
                "--once" => request.again = false,
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

/// Installs the tools that this tier's tests need, and prints those still missing. A package that Debian lacks is not a
/// failure; a package of a lock file that npm could not install is one.
pub(crate) fn tools_for(tier: Tier) -> bool {
    tools::components(true);
    tools::prepare_compilers(true);
    let clients = tools::prepare(true, tier).clients;
    clients.inspect_err(|why| println!("FAILED: {why}")).is_ok()
}

/// Runs every check, even after a failure; true if all pass.
///
/// Packages are installed while the tests are compiled. Test programs run alone, since they measure.
///
/// The last line of its output is `N passed, N failed, N skipped`, of tests; a check that fails otherwise counts as one
/// failed.
pub(crate) fn run(request: CiOptions) -> Result<bool, String> {
    let begin = Instant::now();
    let mut sum = Sum { again: request.again, ..Sum::default() };
    let xtask =
        std::env::current_exe().map_err(|error| format!("this program's file is not known: {error}"))?;
    tools::components(request.install);
    tools::prepare_compilers(request.install);
    let build = TestBuild::new(tools::bpf().is_ok(), request.shuffle);
    let (tools, programs) = std::thread::scope(|scope| {
        let source = start(scope, step::of_source(&xtask));
        println!("\n== {}: {} (beside what follows)", TestBuild::NAME, build.shown());
        let building = scope.spawn(|| {
            let start = Instant::now();
            (build.run(), start.elapsed())
        });
        let tools = tools::prepare(request.install, request.tier);
        sum.times.push(("tools", begin.elapsed()));
        if let Err(why) = &tools.clients {
            println!("== tools: FAILED: {why}");
            sum.failed.push("tools");
            sum.tally.failed += 1;
        }
        let movies = start(scope, vec![step::movies_build()]);
        let (programs, took) = building.join().expect("a build returns what failed");
        [source, movies].into_iter().for_each(|thread| sum.join(thread));
        let outcome = programs.as_ref().map_or_else(|why| Outcome::Failed(why.clone()), |_| Outcome::Passed);
        sum.add(Ended { name: TestBuild::NAME, outcome, took, tally: Tally::default(), said: Vec::new() });
        (tools, programs.unwrap_or_default())
    });
    let (fast, slow): (Vec<_>, Vec<_>) =
        step::all(&tools).into_iter().partition(|step| step.tier == Tier::Fast);
    sum.run_steps(&fast);
    if !programs.is_empty() {
        let all =
            programs.iter().cloned().chain([step::movies_tests(Tier::Fast), step::python_tests()]).collect();
        sum.run_programs("tests", all)?;
    }
    if request.tier == Tier::Slow {
        let more = programs.iter().filter_map(Program::with_more_draws);
        let ignored = programs.iter().map(Program::slow);
        let all = more.chain(ignored).chain([step::movies_tests(Tier::Slow)]).collect();
        sum.run_programs("slow tests", all)?;
        sum.run_steps(&slow);
    } else {
        sum.left.push("slow tests");
        sum.left.extend(slow.iter().map(|step| step.name));
        if !tools.chart {
            sum.left.push("tests of the Helm chart");
        }
    }
    print!("{}", sum.closing(begin.elapsed()));
    Ok(sum.tally.failed == 0)
}

/// Starts steps in a thread, one after the other.
fn start<'scope>(scope: &'scope Scope<'scope, '_>, steps: Vec<Step>) -> ScopedJoinHandle<'scope, Vec<Ended>> {
    for step in &steps {
        println!("\n== {}: {} (beside what follows)", step.name, step.shown());
    }
    scope.spawn(move || steps.iter().map(Ended::beside).collect())
}

struct Ended {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
    tally: Tally,
    /// The output of a step that ran in parallel with others, in one piece.
    said: Vec<u8>,
}

impl Ended {
    fn of(step: &Step, out: &mut dyn Write, whole: bool) -> Ended {
        let (start, mut tally) = (Instant::now(), Tally::default());
        let outcome = step.run(&mut tally, out, whole);
        Ended { name: step.name, outcome, took: start.elapsed(), tally, said: Vec::new() }
    }

    fn beside(step: &Step) -> Ended {
        let mut said = Vec::new();
        let ended = Ended::of(step, &mut said, true);
        Ended { said, ..ended }
    }
}

#[derive(Default)]
struct Sum {
    tally: Tally,
    times: Vec<(&'static str, Duration)>,
    failed: Vec<&'static str>,
    again: bool,
    /// Steps that only the slow tier runs.
    left: Vec<&'static str>,
}

impl Sum {
    /// Waits for the steps of a thread, and adds them.
    fn join(&mut self, thread: ScopedJoinHandle<'_, Vec<Ended>>) {
        for ended in thread.join().expect("a step returns what failed") {
            println!(
                "\n== {}, which ran beside others:\n{}",
                ended.name,
                String::from_utf8_lossy(&ended.said).trim_end()
            );
            self.add(ended);
        }
    }

    fn run_steps(&mut self, steps: &[Step]) {
        for step in steps {
            println!("\n== {}: {}", step.name, step.shown());
            self.add(Ended::of(step, &mut std::io::stdout(), false));
        }
    }

    /// Runs test programs several at a time.
    ///
    /// Errors: standard output cannot be written to.
    fn run_programs(&mut self, name: &'static str, all: Vec<Program>) -> Result<(), String> {
        let (start, mut tally, at_once) = (Instant::now(), Tally::default(), programs::at_once());
        println!("\n== {name}: {} programs, {at_once} at a time", all.len());
        let well = programs::run(all, at_once, self.again, &mut tally, &mut std::io::stdout())
            .map_err(|error| format!("cannot write to standard output: {error}"))?;
        let outcome = if well { Outcome::Passed } else { Outcome::Failed("a test program failed".into()) };
        self.add(Ended { name, outcome, took: start.elapsed(), tally, said: Vec::new() });
        Ok(())
    }

    /// Prints how a step ended, and counts a failed step as one failed test at least.
    fn add(&mut self, ended: Ended) {
        let Ended { name, outcome, took, mut tally, said: _ } = ended;
        self.times.push((name, took));
        let took = took.as_secs_f64();
        match outcome {
            Outcome::Passed => println!("== {name}: passed in {took:.1} s"),
            Outcome::Skipped(why) => {
                println!("== {name}: skipped: {why}");
                tally.skipped.push(format!("{name}: {why}"));
            }
            Outcome::Failed(why) => {
                println!("== {name}: FAILED after {took:.1} s: {why}");
                self.failed.push(name);
                // A step that fails without a failed test, such as a build, counts as one failure.
                tally.failed = tally.failed.max(1);
            }
        }
        self.tally.add(tally);
    }

    /// The last lines: the time of each step, the time of the whole run (steps may overlap), and the test results, with what
    /// failed tests printed.
    fn closing(&self, together: Duration) -> String {
        let times: Vec<String> =
            self.times.iter().map(|(name, time)| format!("{name} {:.1} s", time.as_secs_f64())).collect();
        let mut lines = vec![
            String::new(),
            format!("times: {}; together {:.0} s", times.join(", "), together.as_secs_f64()),
        ];
        if !self.failed.is_empty() {
            lines.push(format!("failed: {}", self.failed.join(", ")));
        }
        if !self.left.is_empty() {
            lines.push(format!("left to `cargo xtask ci --all`: {}", self.left.join(", ")));
        }
        let unstable = self.tally.unstable.iter();
        lines.extend(unstable.map(|test| format!("unstable (failed beside others, passed alone): {test}")));
        lines.extend(self.tally.skipped.iter().map(|what| format!("skipped: {what}")));
        lines.extend(self.tally.failures.iter().map(|what| format!("failed: {what}")));
        lines.push(format!(
            "{} passed, {} failed, {} skipped\n",
            self.tally.passed,
            self.tally.failed,
            self.tally.skipped_count()
        ));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_with_the_count() {
        let ended = |name, outcome, passed, failed| Ended {
            name,
            outcome,
            took: Duration::from_millis(1234),
            tally: Tally::of(passed, failed),
            said: Vec::new(),
        };
        let check = |sum: &Sum, expect: &str| assert_eq!(sum.closing(Duration::from_secs(1)), expect);
        let mut sum = Sum::default();
        sum.add(ended("format", Outcome::Passed, 7, 0));
        check(&sum, "\ntimes: format 1.2 s; together 1 s\n7 passed, 0 failed, 0 skipped\n");
        // One that fails counts at least once; tests that it counted are not counted again.
        sum.add(ended("clippy", Outcome::Failed("3".into()), 0, 0));
        sum.add(ended("tests", Outcome::Failed("1".into()), 1, 2));
        sum.add(ended("browser", Outcome::Skipped("no chromium".into()), 0, 0));
        sum.left = vec!["deny", "advisories"];
        sum.tally.unstable.push("taillight cli: load::it".into());
        let expect = "\ntimes: format 1.2 s, clippy 1.2 s, tests 1.2 s, browser 1.2 s; together 1 s\nfailed: clippy, tests\n\
                      left to `cargo xtask ci --all`: deny, advisories\n\
                      unstable (failed beside others, passed alone): taillight cli: load::it\n\
                      skipped: browser: no chromium\n8 passed, 3 failed, 1 skipped\n";
        check(&sum, expect);
    }

    #[test]
    fn reads_what_it_is_asked_for() {
        let check = |words: &[&str], expect: Option<(bool, Tier, Option<u64>)>| {
            let request = CiOptions::read(words).map(|r| (r.install, r.tier, r.shuffle));
            assert_eq!(request, expect, "{words:?}");
        };
        check(&[], Some((true, Tier::Fast, None)));
        check(&["--all", "--no-install"], Some((false, Tier::Slow, None)));
        check(&["--shuffle=42"], Some((true, Tier::Fast, Some(42))));
        assert!(!CiOptions::read(&["--once"]).unwrap().again);
        check(&["--shuffle=soon"], None);
        check(&["--al"], None);
        assert!(CiOptions::read(&["--shuffle"]).unwrap().shuffle.is_some());
    }
}
