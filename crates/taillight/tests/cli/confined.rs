//! Trials under the limits of a container or of a unit.

use results::{Experiment, Invalid, Reason, ResultFolder, Verdict};

use crate::confine::{Confined, Group};
use crate::run::{finish, taillight, text};

/// A short load on a server that is started here. The machine may be busy, so only the records are certain.
fn loaded(rate: &str, confined: &Confined<'_>) -> (Experiment, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = taillight(&["load", "cache", "--target", "sphinx", "--keys", "1000", "--rate", rate]);
    command.args(["--warmup", "100ms", "--window", "2s", "--name", "c", "--out"]).arg(folder.path());
    confined.apply(&mut command);
    let output = finish(&mut command);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 75)), "{}", text(&output));
    (ResultFolder::open(&folder.path().join("c")).unwrap().load().unwrap(), text(&output))
}

#[test]
fn a_quota_that_holds_a_trial_back_is_named() {
    let Some(group) = Group::new("cpu") else { return };
    // Server and generator take more than the quota for this rate, and with this weight a busy machine gives them as much.
    let (text, weight) = if group.version == 1 { ("25000", "262144") } else { ("25000 100000", "10000") };
    group.set(["cpu.shares", "cpu.weight"], weight);
    let file = group.set(["cpu.cfs_quota_us", "cpu.max"], text).display().to_string();
    let (experiment, said) = loaded("30k", &Confined { group: Some(&group), ..Confined::default() });
    let trial = &experiment.trials[0];
    let [quota] = &trial.noise.quotas[..] else { panic!("{:?}", trial.noise) };
    assert_eq!((quota.side.as_str(), quota.processors, &quota.file), ("server and generator", 0.25, &file));
    assert!(quota.throttled > 0 && quota.throttled <= quota.periods && quota.throttled_s > 0.0, "{quota:?}");
    let words = format!("a quota of 0.25 processors ({file}) held the server and generator back in ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    // If other programs run, they may determine the verdict; the advice names the quota all the same.
    let advice = format!("raise the quota of 0.25 processors in {file}");
    assert!(said.contains(&words) || said.contains(&advice), "{said}");
    // The time that other programs took is found afterwards, and precedes the reasons that the quota explains.
    let by_quota = |reason: &&Invalid| reason.reason.is_of_time() && reason.reason != Reason::HostDisturbed;
    if let Verdict::Invalid { reasons } = &trial.verdict
        && let Some(reason) = reasons.iter().find(by_quota)
    {
        assert!(reason.detail.starts_with(&words), "{reasons:?}");
    }
    let notes = experiment.notes.join("\n");
    assert!(notes.contains(&format!("may use the time of 0.25 processors ({file})")), "{notes}");
}

#[test]
fn processes_that_may_not_pin_measure_unpinned() {
    let filter = Some((nix::libc::SYS_sched_setaffinity, nix::libc::EPERM));
    let (experiment, _) = loaded("2k", &Confined { filter, ..Confined::default() });
    let trial = &experiment.trials[0];
    assert!(trial.arrivals.completed > 0 && trial.generator.cpus.is_empty(), "{:?}", trial.generator);
    assert!(experiment.notes.join("\n").contains("Nothing was pinned"), "{:?}", experiment.notes);
}
