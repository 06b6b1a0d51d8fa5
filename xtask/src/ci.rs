//! All checks in one command, from an empty machine, with one last line that counts the tests.

mod deploy_tools;
mod step;
mod tally;
pub(crate) mod tools;

use std::time::{Duration, Instant};

use step::{Outcome, Step};
use tally::Tally;

/// Runs every check up to the first that fails; true where none does. With `install`, fetches what is missing.
///
/// The last line of its output is `N passed, N failed, N skipped`, of tests; a check that fails otherwise counts
/// as one failed.
pub(crate) fn run(install: bool) -> Result<bool, String> {
    let mut tally = Tally::default();
    let mut times: Vec<(&str, Duration)> = Vec::new();
    let start = Instant::now();
    let tools = tools::prepare(install);
    times.push(("tools", start.elapsed()));
    let steps = step::all(&tools);
    let mut left = steps.iter();
    for step in left.by_ref() {
        println!("\n== {}: {}", step.name, step.shown());
        let start = Instant::now();
        let outcome = step.run(&mut tally, &mut std::io::stdout());
        times.push((step.name, start.elapsed()));
        match outcome {
            Outcome::Passed => println!("== {}: passed in {:.1} s", step.name, start.elapsed().as_secs_f64()),
            Outcome::Skipped(why) => {
                println!("== {}: skipped: {why}", step.name);
                tally.skip(format!("{}: {why}", step.name));
            }
            Outcome::Failed(why) => {
                println!("== {}: FAILED after {:.1} s: {why}", step.name, start.elapsed().as_secs_f64());
                tally.fail_at_least_once();
                break;
            }
        }
    }
    let not_run: Vec<&str> = left.map(|step: &Step| step.name).collect();
    print!("{}", summary(&times, &not_run, &tally));
    Ok(tally.failed == 0)
}

fn summary(times: &[(&str, Duration)], not_run: &[&str], tally: &Tally) -> String {
    let times: Vec<String> =
        times.iter().map(|(name, time)| format!("{name} {:.1} s", time.as_secs_f64())).collect();
    let mut lines = vec![String::new(), format!("times: {}", times.join(", "))];
    if !not_run.is_empty() {
        lines.push(format!("not run: {}", not_run.join(", ")));
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
        let check = |not_run: &[&str], tally: &Tally, expect: &str| {
            assert_eq!(summary(&times, not_run, tally), expect)
        };
        check(&[], &tally, "\ntimes: format 1.2 s\n7 passed, 0 failed, 0 skipped\n");
        tally.fail_at_least_once();
        tally.skip("browser: no chromium".into());
        let expect = "\ntimes: format 1.2 s\nnot run: clippy, tests\nskipped: browser: no chromium\n\
                      7 passed, 1 failed, 1 skipped\n";
        check(&["clippy", "tests"], &tally, expect);
    }
}
