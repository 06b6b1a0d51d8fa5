//! The output on a machine whose processors are all busy with other work. A separate test program, because it would disturb other tests
//! that run at the same time.

// Other test programs use functions that this one does not.
#[allow(dead_code)]
#[path = "../cli/run.rs"]
mod run;

use launch::{Process, Spec};
use results::{Experiment, ResultFolder};
use tempfile::TempDir;

use run::{finish, is_cut_short, program, taillight, text};

/// Endless loops, one on each processor that this program may use, until they are dropped.
fn hogs() -> Vec<Process> {
    let hog = |cpu| {
        let spec = Spec::new("hog", "sh").args(["-c", "while :; do :; done"]).cpus([cpu]);
        Process::spawn(spec).expect("sh starts")
    };
    lab::allowed_cpus().into_iter().map(hog).collect()
}

/// Phrases that only appear in statements about a server.
const CLAIMS: [&str; 5] =
    ["missed the QoS", "met the QoS", "sustained no load", "peak throughput under QoS", "p99 ≤"];

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_demo_beside_busy_loops_answers_or_claims_nothing_of_the_server() {
    let out = TempDir::new().unwrap();
    let mut demo = program(&["demo", "--quick", "--name", "demo", "--out"]);
    let hogs = hogs();
    let output = finish(demo.arg(out.path()));
    drop(hogs);
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let headline = answer.lines().next().unwrap_or_default();
    let claims: Vec<&str> = CLAIMS.into_iter().filter(|claim| headline.contains(claim)).collect();
    // It is a result as any other, whose every trial is kept.
    let result: Experiment = ResultFolder::open(&out.path().join("demo")).unwrap().load().unwrap();
    assert!(result.complete != is_cut_short(&output) && !result.trials.is_empty());
    // With a higher priority than the loops the server and the generator lose little to them.
    match output.status.code() {
        Some(0) => assert!(!claims.is_empty(), "{}", text(&output)),
        Some(75) if is_cut_short(&output) => {
            assert!(claims.is_empty(), "{claims:?} in: {answer}");
            assert!(result.targets[0].peak.is_none(), "{:?}", result.targets[0].peak);
        }
        Some(75) => {
            assert!(headline.starts_with("sphinx: not measurable on this host now: "), "{answer}");
            assert!(claims.is_empty(), "{claims:?} in: {answer}");
            assert!(
                answer.contains("what can still be told") && answer.contains("What would help"),
                "{answer}"
            );
            assert!(result.targets[0].peak.is_none(), "{:?}", result.targets[0].peak);
        }
        _ => panic!("{}", text(&output)),
    }
    // The report made later from the result alone has the same headline.
    let again = finish(taillight(&["report"]).arg(out.path().join("demo")));
    assert!(String::from_utf8_lossy(&again.stdout).starts_with(headline), "{}", text(&again));
}
