//! `taillight study list` and `show`.

use std::process::ExitCode;

use anyhow::Result;
use lab::Plan;
use lab::study::{Facts, STUDIES, Source};
use results::study::Effort;

use crate::progress::clock;
use crate::terminal::{say, uses_color};

pub(crate) fn list() -> Result<ExitCode> {
    let facts = Facts::here();
    let mut rows = Vec::new();
    for study in STUDIES {
        let definition = study.read()?;
        let time = |effort| -> Result<String> {
            let plan = Plan::of_study(&definition, effort, &facts)?;
            Ok(if plan.is_empty() { "not here".into() } else { clock(plan.estimate()) })
        };
        rows.push(vec![
            study.name().to_owned(),
            definition.source.clone(),
            time(Effort::Quick)?,
            time(Effort::Full)?,
            definition.title.clone(),
        ]);
    }
    say(&::report::words_table(&["study", "reproduces", "quick", "full", ""], &rows, uses_color()))?;
    say("\nRun one: taillight study run NAME --quick. What it measures: taillight study show NAME.\n")?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn show(name: &str) -> Result<ExitCode> {
    let source = Source::find(name)?;
    let facts = Facts::here();
    let definition = source.read()?;
    for line in source.readme().lines().filter(|line| !line.starts_with("<!--")) {
        say(&format!("{line}\n"))?;
    }
    say("\n")?;
    say("## Claims\n\n")?;
    for claim in &definition.claims {
        say(&format!("- {}: {} ({})\n", claim.id, claim.text, claim.source))?;
    }
    say("\n## On this machine\n\n")?;
    for effort in [Effort::Smoke, Effort::Quick, Effort::Full] {
        let plan = Plan::of_study(&definition, effort, &facts)?;
        let steps = plan.steps();
        say(&format!("- {}: about {}, {steps} steps\n", effort.words(), clock(plan.estimate())))?;
        if effort == Effort::Full {
            for skipped in &plan.skipped {
                say(&format!("- left out: {}: {}\n", skipped.what, skipped.reason))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
