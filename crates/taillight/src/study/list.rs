//! `taillight study list` and `show`.

use std::fs;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use host::Host;
use lab::Plan;
use lab::study::{Facts, LoadFrom, Machine, STUDIES, Source, outline};
use results::study::Effort;
use units::clock;

use super::{EffortArgs, SetArgs};

use crate::terminal::{say, uses_color};

pub(crate) fn list() -> Result<()> {
    let host = Host::here();
    let (facts, machine) = (Facts::here(&host), Machine::of(&host, LoadFrom::Here));
    let mut rows = Vec::new();
    for study in STUDIES {
        let definition = study.read(&machine, &[])?;
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
    say("\nRun one: taillight study run NAME --quick. What it measures: taillight study show NAME.\n")
}

/// Show a study: its question, method and claims, its parameters on a machine, and the parts that this machine leaves
/// out.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The study: its name, its number, or a folder.
    name: String,
    /// The machine of the servers instead of this one: a file that 'taillight host --json' wrote, or xeon or thunderx, those
    /// of IISWC'17.
    #[arg(long, value_name = "FILE")]
    host: Option<String>,
    /// Where the load is generated [default: here; elsewhere with --host].
    #[arg(long, value_name = "WHERE")]
    load: Option<LoadPlace>,
    #[command(flatten)]
    effort: EffortArgs,
    #[command(flatten)]
    set: SetArgs,
}

/// Where the load is generated.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LoadPlace {
    /// On the machine of the servers, over loopback.
    Here,
    /// On other machines, by agents.
    Elsewhere,
}

pub(crate) fn show(args: &ShowArgs) -> Result<()> {
    let source = Source::find(&args.name)?;
    let host = args.host.as_deref().map(host_of).transpose()?;
    let load = match (args.load, &host) {
        (Some(LoadPlace::Elsewhere), _) | (None, Some(_)) => LoadFrom::Elsewhere,
        _ => LoadFrom::Here,
    };
    let (machine, facts) = match &host {
        Some(host) => (Machine::of(host, load), Facts::of(host)),
        None => {
            let here = Host::here();
            (Machine::of(&here, load), Facts::here(&here))
        }
    };
    let definition = source.read(&machine, &args.set.set)?;
    for line in source.readme().lines().filter(|line| !line.starts_with("<!--")) {
        say(&format!("{line}\n"))?;
    }
    say("\n")?;
    say("## Claims\n\n")?;
    for claim in &definition.claims {
        say(&format!("- {}: {} ({})\n", claim.id, claim.text, claim.source))?;
    }
    let name =
        host.as_ref().map_or_else(|| "this machine".into(), |host| host.name.clone().unwrap_or_default());
    say(&format!("\n## On {name}\n\n"))?;
    for effort in [Effort::Smoke, Effort::Quick, Effort::Full] {
        let plan = Plan::of_study(&definition, effort, &facts)?;
        let steps = plan.steps();
        say(&format!("- {}: about {}, {steps} steps\n", effort.words(), clock(plan.estimate())))?;
    }
    let effort = args.effort.effort();
    say(&format!("\n### The {} run\n\n", effort.words()))?;
    for line in outline(&definition, effort, &machine, &facts)?.lines() {
        say(&format!("- {line}\n"))?;
    }
    if !definition.deviations.is_empty() {
        say("\n### Deviations\n\n")?;
        for deviation in &definition.deviations {
            say(&format!("- {deviation}\n"))?;
        }
    }
    Ok(())
}

/// The machine of a record.
fn host_of(text: &str) -> Result<Host> {
    let record = match host::records::ALL.iter().find(|(name, _)| *name == text) {
        Some((_, record)) => (*record).to_owned(),
        None => fs::read_to_string(text).with_context(|| {
            let names: Vec<&str> = host::records::ALL.iter().map(|(name, _)| *name).collect();
            format!(
                "cannot read {text}; give a file that 'taillight host --json' wrote, or one of {}",
                names.join(", ")
            )
        })?,
    };
    serde_json::from_str(&record)
        .with_context(|| format!("{text} is not what 'taillight host --json' prints"))
}
