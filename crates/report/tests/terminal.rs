//! The tables as they look on a terminal.

use report::{
    comparison_table, experiment_table, experiment_tables, study_html, study_table, study_tables, unanswered,
};
use results::study::ClaimVerdict;
use results::{ErrorCount, Experiment, Invalid, Operation, Purpose, Quota, Reason, Trial, Verdict};

#[test]
fn a_sweep() {
    insta::assert_snapshot!(experiment_table(&crate::sample::sweep(), 140, false));
}

#[test]
fn a_sweep_on_a_narrow_terminal() {
    insta::assert_snapshot!(experiment_table(&crate::sample::sweep(), 60, false));
}

#[test]
fn a_sweep_beside_a_compiler() {
    insta::assert_snapshot!(experiment_table(&crate::sample::disturbed(), 120, false));
}

#[test]
fn what_was_met_although_the_host_disturbed_it_was_met() {
    let mut experiment = crate::sample::sweep();
    experiment.trials.retain(|trial| trial.purpose == Purpose::LoadPoint);
    experiment.targets[0].peak = None;
    crate::sample::disturb(&mut experiment, |_| true);
    let low = |trial: &&mut Trial| trial.load_share.is_some_and(|share| share < 0.35);
    for trial in experiment.trials.iter_mut().filter(low) {
        trial.all.response_time.p99_us = Some(180.0);
        trial.windowed_p99_us = Some(170.0);
    }
    let table = experiment_table(&experiment, 400, false);
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("host disturbed")).collect();
    let row = |share: &str| {
        *rows
            .iter()
            .find(|row| row.trim_start().starts_with(share))
            .unwrap_or_else(|| panic!("{share}: {table}"))
    };
    for words in ["≤ 180 µs", "≤ 170 µs", "met"] {
        assert!(row("30 %").contains(words), "{words}: {}", row("30 %"));
    }
    for words in ["≤ 5.20 ms", "not measurable"] {
        assert!(row("40 %").contains(words), "{words}: {}", row("40 %"));
    }
    assert!(table.starts_with("sphinx: met the QoS at loads up to"), "{table}");
}

#[test]
fn what_the_host_disturbed_is_no_finding_about_the_server() {
    let sweep = || {
        let mut experiment = crate::sample::sweep();
        experiment.trials.retain(|trial| trial.purpose == Purpose::LoadPoint);
        experiment.targets[0].peak = None;
        experiment
    };
    // Without a disturbance: met up to 70 % of the maximum, missed at 80 %.
    let check = |hit: &dyn Fn(f64) -> bool, measurable: bool, says: &[&str]| {
        let mut experiment = sweep();
        crate::sample::disturb(&mut experiment, |trial| hit(trial.load_share.unwrap()));
        let table = experiment_table(&experiment, 400, false);
        let headline = table.lines().next().unwrap();
        for words in says {
            assert!(headline.contains(words), "no '{words}' in: {headline}");
        }
        assert_eq!(headline.contains("not measurable on this host now"), !measurable, "{headline}");
        assert!(measurable || !headline.contains("from the lowest load"), "{headline}");
        assert_eq!(unanswered(&experiment).is_empty(), measurable);
        assert_eq!(table.contains("what can still be told"), !measurable, "{table}");
        assert_eq!(table.contains("What would help"), !measurable, "{table}");
    };
    check(&|_| false, true, &["met the QoS at loads up to", "and missed it at"]);
    check(&|share| share < 0.45, true, &["met the QoS at loads up to", "and missed it at"]);
    check(&|share| (share - 0.8).abs() < 0.01, true, &["met the QoS", "every trial between"]);
    check(&|share| share > 0.75, true, &["met the QoS", "every trial above"]);
    check(
        &|share| share < 0.75,
        false,
        &["missed the QoS at", "no lower load is known", "disturbed 21 of 30"],
    );
    check(
        &|_| true,
        false,
        &["the host disturbed 30 of 30 trials, and others took up to 52 % of the processors"],
    );
}

#[test]
fn a_search_that_the_host_disturbed_is_no_finding_either() {
    let mut experiment = crate::sample::sweep();
    experiment.trials.truncate(3);
    let target = &mut experiment.targets[0];
    (target.peak, target.max_throughput) = (None, Vec::new());
    crate::sample::disturb(&mut experiment, |_| true);
    let table = experiment_table(&experiment, 400, false);
    assert!(
        table.starts_with("sphinx: not measurable on this host now: the host disturbed 3 of 3 trials"),
        "{table}"
    );
    assert_eq!(unanswered(&experiment).len(), 1);
    // A peak from the remaining trials counts.
    let mut experiment = crate::sample::sweep();
    crate::sample::disturb(&mut experiment, |trial| trial.load_share == Some(1.0));
    let table = experiment_table(&experiment, 400, false);
    assert!(table.starts_with("sphinx: peak throughput under QoS") && unanswered(&experiment).is_empty());
    assert!(table.contains("The host disturbed 3 of 49 trials; what is said"), "{table}");
    // "Every load was missed" is only known if every load was measured.
    experiment.targets[0].peak.as_mut().unwrap().low_rps = 0.0;
    assert_eq!(unanswered(&experiment).len(), 1);
    crate::sample::sweep().trials.iter().for_each(|trial| assert!(!trial.verdict.is_of_host()));
}

#[test]
fn two_targets_in_one_run() {
    insta::assert_snapshot!(experiment_table(&crate::sample::live(3), 120, false));
}

#[test]
fn a_load_with_all_its_parts() {
    insta::assert_snapshot!(experiment_table(&crate::sample::load(), 100, false));
}

/// One load in each situation: a summary without lists.
#[test]
fn one_load_in_every_situation() {
    let situation = |change: &dyn Fn(&mut Experiment)| {
        let mut experiment = crate::sample::load();
        for trial in &mut experiment.trials {
            trial.gates.clear();
            trial.errors.clear();
            (trial.arrivals.errors, trial.arrivals.timeouts) = (0, 0);
        }
        change(&mut experiment);
        experiment
    };
    let invalid = |experiment: &mut Experiment, reason, detail: &str| {
        let detail = detail.into();
        experiment.trials[0].verdict = Verdict::Valid.against(Invalid { reason, detail });
    };
    let situations = [
        ("quiet", situation(&|_| {})),
        ("beside a compiler", situation(&crate::sample::widen)),
        (
            "all errors",
            situation(&|experiment| {
                invalid(
                    experiment,
                    Reason::ErrorRate,
                    "100 % of the requests failed, over the limit of 0.1 %",
                );
                let trial = &mut experiment.trials[0];
                let due = trial.arrivals.intended;
                (trial.arrivals.errors, trial.arrivals.completed) = (due, 0);
                let first_detail = Some("status 404".into());
                trial.errors = vec![ErrorCount {
                    kind: "server_error".into(),
                    count: due,
                    requests: Some(due),
                    first_detail,
                }];
                trial.all = Operation::default();
                trial.windowed_p99_us = None;
            }),
        ),
        (
            "the generator is the limit",
            situation(&|experiment| {
                invalid(experiment, Reason::GeneratorSaturated, "it was busy 99.2 % of the time, over 95 %");
            }),
        ),
        (
            "under a quota",
            situation(&|experiment| {
                let quota = Quota {
                    side: "generator".into(),
                    processors: 0.5,
                    file: "/sys/fs/cgroup/cpu.max".into(),
                    periods: 50,
                    throttled: 48,
                    throttled_s: 2.4,
                };
                let lag = "p99 lag 42 ms, allowed 100 µs";
                invalid(experiment, Reason::GeneratorLag, lag);
                let trial = &mut experiment.trials[0];
                trial.verdict = trial.verdict.clone().caused_by(&quota);
                trial.noise.quotas = vec![quota];
            }),
        ),
        (
            "the server is the limit, three times",
            situation(&|experiment| {
                experiment.trials[0].verdict = Verdict::Overloaded {
                    achieved_share: 0.8,
                    backlog_growth_rps: 9_000.0,
                    timed_out_share: 0.0,
                };
                let trial = experiment.trials[0].clone();
                experiment.trials.extend([trial.clone(), trial]);
                invalid(experiment, Reason::HostDisturbed, "others took 12 % of the time");
                (experiment.complete, experiment.interrupted) = (false, Some("Ctrl-C".into()));
            }),
        ),
    ];
    let tables = situations.map(|(name, experiment)| {
        let table = experiment_table(&experiment, 120, false);
        assert!(table.lines().count() <= 10, "{table}");
        assert_eq!(unanswered(&experiment).is_empty(), !table.contains("no usable figures"), "{table}");
        format!("--- {name}\n{table}")
    });
    insta::assert_snapshot!(tables.join("\n"));
}

#[test]
fn sessions() {
    insta::assert_snapshot!(experiment_table(&crate::sample::viewing(), 160, false));
}

#[test]
fn sessions_on_a_narrow_terminal() {
    insta::assert_snapshot!(experiment_table(&crate::sample::viewing(), 80, false));
}

#[test]
fn a_load_of_sessions() {
    insta::assert_snapshot!(experiment_table(&crate::sample::viewed(), 120, false));
}

#[test]
fn a_load_that_timed_out_says_so() {
    let mut load = crate::sample::viewed();
    load.trials[0].verdict =
        Verdict::Overloaded { achieved_share: 0.2, backlog_growth_rps: 0.0, timed_out_share: 154.0 / 192.0 };
    let said = experiment_table(&load, 200, false);
    assert!(said.contains(", overloaded: 80 % of the requests timed out"), "{said}");
}

#[test]
fn traced_requests() {
    insta::assert_snapshot!(experiment_table(&crate::sample::traced(), 140, false));
}

#[test]
fn a_closed_loop() {
    insta::assert_snapshot!(experiment_table(&crate::sample::closed(), 120, false));
}

#[test]
fn a_study() {
    insta::assert_snapshot!(study_table(&crate::sample::study(), 120, false));
}

#[test]
fn a_claim_that_the_host_kept_from_being_judged_says_so() {
    let mut study = crate::sample::study();
    let at = study.claims.iter().position(|claim| claim.verdict == ClaimVerdict::NotMeasurable).unwrap();
    assert!(!study_table(&study, 120, false).contains("on this host now"));
    study.claims[at].host_disturbed = true;
    assert!(study_table(&study, 120, false).contains("not measurable on this host now: The claim called"));
    assert!(study_html(&study).contains(">not measurable on this host now<"));
}

#[test]
fn a_study_on_a_narrow_terminal() {
    insta::assert_snapshot!(study_table(&crate::sample::study(), 50, false));
}

#[test]
fn studies_in_trouble() {
    let tables: Vec<String> = crate::sample::studies_in_trouble()
        .iter()
        .filter(|(name, _)| *name != "markup in names")
        .map(|(name, study)| format!("--- {name}\n{}", study_table(study, 100, false)))
        .collect();
    insta::assert_snapshot!(tables.join("\n"));
}

#[test]
fn a_comparison_with_few_repeats() {
    let live = crate::sample::live(3);
    insta::assert_snapshot!(comparison_table(&crate::sample::comparison(&live), 120, false));
}

#[test]
fn a_comparison_with_enough_repeats() {
    let live = crate::sample::live(8);
    insta::assert_snapshot!(comparison_table(&crate::sample::comparison(&live), 80, false));
}

#[test]
fn two_results_of_a_study() {
    let a = crate::sample::study();
    let mut b = crate::sample::study();
    b.host = serde_json::json!({"name": "arm"});
    insta::assert_snapshot!(comparison_table(&crate::sample::compared(&a, &b), 120, false));
}

#[test]
fn results_in_trouble() {
    let tables: Vec<String> = crate::sample::degenerate()
        .iter()
        .filter(|(name, _)| {
            *name != "all invalid" && *name != "invalid without a reason" && *name != "targets unknown"
        })
        .map(|(name, experiment)| format!("--- {name}\n{}", experiment_table(experiment, 100, false)))
        .collect();
    insta::assert_snapshot!(tables.join("\n"));
}

#[test]
fn colours_only_where_wanted_and_never_from_a_name() {
    let mut experiment = crate::sample::sweep();
    experiment.notes.push("\x1b[2Jcleared\r\n".into());
    assert!(!experiment_table(&experiment, 100, false).contains(['\x1b', '\r']));
    assert!(experiment_table(&experiment, 100, true).contains("\x1b[1m"));
    for (_, experiment) in crate::sample::degenerate() {
        for width in [0, 1, 20, 80, 500] {
            assert!(!experiment_table(&experiment, width, true).is_empty());
        }
    }
}

#[test]
fn lines_fit_the_terminal() {
    let live = crate::sample::live(8);
    let comparison = crate::sample::comparison(&live);
    for width in [80, 100, 120] {
        for text in [
            experiment_table(&crate::sample::sweep(), width, false),
            experiment_table(&live, width, false),
            experiment_table(&crate::sample::load(), width, false),
            experiment_table(&crate::sample::closed(), width, false),
            experiment_table(&crate::sample::disturbed(), width, false),
            comparison_table(&comparison, width, false),
        ] {
            let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(longest.chars().count() <= width, "{width}: {longest}");
        }
    }
}

/// The tables that `taillight pack --figures-only` adds: the same ones with all their columns.
#[test]
fn tables_as_words() {
    let live = crate::sample::live(8);
    let experiment = experiment_tables(&live, Some(&crate::sample::comparison(&live)));
    let study = study_tables(&crate::sample::study());
    for tables in [&experiment, &study] {
        for table in &tables.tables {
            let wide = table.rows.iter().all(|row| row.len() == table.columns.len());
            assert!(wide && !table.rows.is_empty(), "{table:?}");
        }
    }
    insta::assert_snapshot!(experiment.to_json() + &study.to_json());
}
