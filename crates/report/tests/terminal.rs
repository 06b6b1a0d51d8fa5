//! The tables as they look on a terminal.

mod sample;

use report::{comparison_table, experiment_table, experiment_tables, study_table, study_tables};

#[test]
fn a_sweep() {
    insta::assert_snapshot!(experiment_table(&sample::sweep(), 140, false));
}

#[test]
fn a_sweep_on_a_narrow_terminal() {
    insta::assert_snapshot!(experiment_table(&sample::sweep(), 60, false));
}

#[test]
fn two_targets_in_one_run() {
    insta::assert_snapshot!(experiment_table(&sample::live(3), 120, false));
}

#[test]
fn a_load_with_all_its_parts() {
    insta::assert_snapshot!(experiment_table(&sample::load(), 100, false));
}

#[test]
fn a_closed_loop() {
    insta::assert_snapshot!(experiment_table(&sample::closed(), 120, false));
}

#[test]
fn a_study() {
    insta::assert_snapshot!(study_table(&sample::study(), 120, false));
}

#[test]
fn a_study_on_a_narrow_terminal() {
    insta::assert_snapshot!(study_table(&sample::study(), 50, false));
}

#[test]
fn studies_in_trouble() {
    let tables: Vec<String> = sample::studies_in_trouble()
        .iter()
        .filter(|(name, _)| *name != "markup in names")
        .map(|(name, study)| format!("--- {name}\n{}", study_table(study, 100, false)))
        .collect();
    insta::assert_snapshot!(tables.join("\n"));
}

#[test]
fn a_comparison_with_few_repeats() {
    let live = sample::live(3);
    insta::assert_snapshot!(comparison_table(&sample::comparison(&live), 120, false));
}

#[test]
fn a_comparison_with_enough_repeats() {
    let live = sample::live(8);
    insta::assert_snapshot!(comparison_table(&sample::comparison(&live), 80, false));
}

#[test]
fn two_results_of_a_study() {
    let a = sample::study();
    let mut b = sample::study();
    b.host = serde_json::json!({"name": "arm"});
    insta::assert_snapshot!(comparison_table(&sample::compared(&a, &b), 120, false));
}

#[test]
fn results_in_trouble() {
    let tables: Vec<String> = sample::degenerate()
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
    let mut experiment = sample::sweep();
    experiment.notes.push("\x1b[2Jcleared\r\n".into());
    assert!(!experiment_table(&experiment, 100, false).contains(['\x1b', '\r']));
    assert!(experiment_table(&experiment, 100, true).contains("\x1b[1m"));
    for (_, experiment) in sample::degenerate() {
        for width in [0, 1, 20, 80, 500] {
            assert!(!experiment_table(&experiment, width, true).is_empty());
        }
    }
}

#[test]
fn lines_fit_the_terminal() {
    let live = sample::live(8);
    let comparison = sample::comparison(&live);
    for width in [80, 100, 120] {
        for text in [
            experiment_table(&sample::sweep(), width, false),
            experiment_table(&live, width, false),
            experiment_table(&sample::load(), width, false),
            experiment_table(&sample::closed(), width, false),
            comparison_table(&comparison, width, false),
        ] {
            let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(longest.chars().count() <= width, "{width}: {longest}");
        }
    }
}

/// What `taillight pack --figures-only` adds: the same tables with all their columns.
#[test]
fn tables_as_words() {
    let live = sample::live(8);
    let experiment = experiment_tables(&live, Some(&sample::comparison(&live)));
    let study = study_tables(&sample::study());
    for tables in [&experiment, &study] {
        for table in &tables.tables {
            let wide = table.rows.iter().all(|row| row.len() == table.columns.len());
            assert!(wide && !table.rows.is_empty(), "{table:?}");
        }
    }
    insta::assert_snapshot!(experiment.to_json() + &study.to_json());
}
