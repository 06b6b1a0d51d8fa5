//! `taillight compare`: two results, or two servers in one run, side by side.
//!
//! The kind of the results decides where their figures are found; the comparison of the figures is the same.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Command};
use lab::compare::{Choice, results as compare_results, studies as compare_studies};
use lab::{Sweep, TargetName};
use report::Sides;
use results::study::StudyFolder;
use results::{Comparison, Experiment, Kind, ResultFolder, Study, write_whole};
use units::Nanos;

use crate::args::{AnyWorkload, Typed};
use crate::gate;
use crate::job::{self, ProbeArgs, Setting};
use crate::percent::parse_percent;
use crate::sweep::rising;
use crate::terminal::{say, table_width, uses_color};

/// The time limit of a comparison that runs until it is settled.
///
/// Source: on a two-core cloud machine five pairs of 1 s at two loads took three minutes to settle.
const BUDGET: Nanos = Nanos::from_millis(180_000);
/// The window of its trials: many short pairs settle sooner than a few long ones, because disturbances come and go.
const SETTLING_WINDOW: Nanos = Nanos::from_millis(1000);

/// Set two results side by side, or with --live run two servers in turn and compare those.
///
/// A and B are result folders; FOLDER@TARGET chooses one of several targets in it. One folder alone compares the
/// two targets of a live comparison. Two results of one study, from two machines, are compared point by point. With
/// --live, A and B are servers, named as by --target of taillight load. Ratios are B over A.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    typed: Typed,
    /// A folder, or with --live a server.
    #[arg(value_name = "A")]
    a: String,
    /// The other.
    #[arg(value_name = "B", required_if_eq("live", "true"))]
    b: Option<String>,
    /// Run both servers now, trial by trial in turn, so that the machine's drift cancels.
    #[arg(long)]
    live: bool,
    /// Page to write [default: compare-A-B.html here; with --live compare.html in the result's folder].
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// With --live: loads in per cent of the smaller maximum throughput [default: 50,80 until settled, else from 10 to 100].
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = parse_percent)]
    loads: Option<Vec<f64>>,
    /// With --live: go on until the ratio of the p99 is settled at each load: its interval excludes 1, or lies within 5 % of
    /// it. This is done unless --repeats is given or users are in sessions. Windows are 1s then unless --window is given, and
    /// peaks are searched only with --tolerance.
    #[arg(long, value_name = "WHAT", value_parser = ["settled"], conflicts_with = "repeats")]
    until: Option<String>,
    /// With --live: end after about this time; a ratio that is not settled then is open, with an estimate of the pairs
    /// that it still needs [default: 3min until settled, else none].
    #[arg(long, value_name = "TIME")]
    budget: Option<Nanos>,
    /// With --live: blocks, that is pairs at each load. From 6 on differences can be judged [default: 3 unless until
    /// settled].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,
    /// With --live: width of the interval of the peaks, in per cent of the maximum throughput.
    #[arg(long, default_value = "5", value_name = "PERCENT", value_parser = parse_percent)]
    tolerance: f64,
    /// Exit with 99 if B is shown to be more than this much worse than A, at any load, in the windowed p99 (or p99) or in
    /// its server's processor time per request; with 75 if that is neither shown nor excluded. With --live the run goes on
    /// until it is.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    gate: Option<f64>,
    /// Write the ratios as a table in Markdown, for a comment on a merge request.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    setting: Setting,
    #[command(flatten)]
    workload: AnyWorkload,
    #[command(flatten)]
    probe_args: ProbeArgs,
}

pub(crate) fn run(args: CompareArgs, command: Vec<String>) -> Result<ExitCode> {
    if args.live { live(args, command) } else { folders(&args) }
}

fn live(args: CompareArgs, command: Vec<String>) -> Result<ExitCode> {
    let names = [Some(&args.a), args.b.as_ref()];
    let targets: Vec<TargetName> = names
        .into_iter()
        .flatten()
        .map(|text| lab::target_name(text))
        .collect::<Result<_, _>>()
        .map_err(lab::Error::Target)?;
    let mut spec = args.setting.spec(&targets[0], args.workload.0, None, &args.typed)?;
    spec.probes = args.probe_args.probe.unwrap_or_default();
    let until_settled = args.until.is_some() || args.repeats.is_none() && !spec.workload.has_sessions();
    if until_settled && !args.typed.has("window") && !spec.workload.has_sessions() {
        spec.time.window = SETTLING_WINDOW;
    }
    let usual =
        if until_settled { &[0.5, 0.8][..] } else { &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0] };
    let sweep = Sweep {
        loads: rising(args.loads.unwrap_or_else(|| usual.to_vec())),
        repeats: args.repeats.unwrap_or(3),
        max_tolerance: 0.03,
        peak_tolerance: (!until_settled || args.typed.has("tolerance")).then_some(args.tolerance),
        time: args.budget.or(until_settled.then_some(BUDGET)).map(Into::into),
        until_settled,
        margin: args.gate,
    };
    let job = job::of_sweep((Kind::CompareLive, "compare"), targets, spec, &sweep, command, &args.setting);
    let finished = job::run(&job, &args.setting.result)?;
    // The answer of this command is the ratio; the report contains each target's own figures.
    let comparison = tell_of_one(&finished.experiment, &finished.folder, args.html)?;
    match comparison {
        Some(_) => finished.write_report()?,
        None => finished.tell()?,
    }
    let code = finished.code(false);
    let concluded = conclude(&comparison.unwrap_or_default(), args.gate, args.markdown.as_deref())?;
    Ok(if code == ExitCode::SUCCESS { concluded } else { code })
}

/// Judges the gate and writes the table, if asked for. The exit code is 75 where two sides have nothing in common.
fn conclude(comparison: &Comparison, margin: Option<f64>, markdown: Option<&Path>) -> Result<ExitCode> {
    let outcome = margin.map(|margin| comparison.gate(margin));
    if let Some(file) = markdown {
        let table = report::comparison_markdown(comparison, margin.zip(outcome.as_ref()));
        write_whole(file, table.as_bytes()).context("choose another file with --markdown")?;
    }
    let nothing = "the two have no usable figure in common: nothing can be said".to_owned();
    Ok(match outcome {
        _ if !comparison.is_answered() => gate::judge(&[], &[nothing]),
        Some(outcome) => gate::judge(&outcome.worse, &outcome.open),
        None => ExitCode::SUCCESS,
    })
}

/// The comparison of the two targets of one run; `None` unless the run has exactly two.
pub(crate) fn of_one(experiment: &Experiment, folder: &ResultFolder) -> Option<Comparison> {
    let [a, b] = &experiment.targets[..] else { return None };
    let folder = folder.path().display().to_string();
    let side = |target| Choice { experiment, target, folder: &folder };
    Some(compare_results(&side(&a.name), &side(&b.name)))
}

/// Prints the comparison of the two targets of one run and writes it to `page` or into its folder; `None` where the run has other
/// than two targets.
pub(crate) fn tell_of_one(
    experiment: &Experiment,
    folder: &ResultFolder,
    page: Option<PathBuf>,
) -> Result<Option<Comparison>> {
    let Some(comparison) = of_one(experiment, folder) else { return Ok(None) };
    let page = page.unwrap_or_else(|| folder.path().join("compare.html"));
    tell(&comparison, Sides::Results(experiment, experiment), &page)?;
    Ok(Some(comparison))
}

/// Prints `comparison`, writes its page, and writes its record next to the page.
fn tell(comparison: &Comparison, sides: Sides<'_>, page: &Path) -> Result<()> {
    say(&report::comparison_table(comparison, table_width(), uses_color()))?;
    let record = page.with_extension("json");
    let of_a_result = ["result.json", "study.json", "tables.json"];
    if record == page || record.file_name().is_some_and(|name| of_a_result.iter().any(|own| name == *own)) {
        bail!(
            "--html {}: the comparison's record would be {}, which is another file; name the page compare.html",
            page.display(),
            record.display()
        );
    }
    let write = |file: &Path, bytes: &[u8]| {
        write_whole(file, bytes)
            .with_context(|| format!("choose another file than {} with --html", page.display()))
    };
    write(page, report::comparison_html(comparison, sides).as_bytes())?;
    let record = write(&record, &serde_json::to_vec_pretty(comparison)?)?;
    say(&format!("\nComparison: {}, its record: {}\n", page.display(), record.display()))
}

fn folders(args: &CompareArgs) -> Result<ExitCode> {
    let of_live = AnyWorkload::augment_args(Setting::augment_args(Command::new("load")));
    let of_live = ProbeArgs::augment_args(of_live);
    let own =
        || ["loads", "repeats", "until", "budget", "tolerance"].into_iter().find(|name| args.typed.has(name));
    if let Some(option) = args.typed.first_of(&of_live).or_else(own) {
        bail!(
            "--{option} says how to measure, but results that exist are compared; add --live to measure two targets"
        );
    }
    let page = |name: &str| {
        let plain = |c: char| if c.is_alphanumeric() || "-_.@".contains(c) { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        args.html.clone().unwrap_or_else(|| PathBuf::from(format!("compare-{name}.html")))
    };
    if let Some(b) = &args.b
        && [&args.a, b].iter().all(|folder| StudyFolder::is_one(Path::new(folder)))
    {
        let (study_a, study_b) = two_of_one_study(Path::new(&args.a), Path::new(b))?;
        if study_a == study_b {
            bail!("{} and {b} are the same result: there is nothing to compare", args.a);
        }
        let comparison = compare_studies(&study_a, &study_b, [&args.a, b]);
        tell(&comparison, Sides::Studies(&study_a, &study_b), &page(&study_a.name))?;
        return conclude(&comparison, args.gate, args.markdown.as_deref());
    }
    let a = Opened::open(&args.a)?;
    let Some(b) = &args.b else {
        let comparison = of_one(&a.experiment, &a.folder).with_context(|| {
            let targets = a.experiment.targets.len();
            format!("{} has {targets} targets, not two to compare; give a second folder", args.a)
        })?;
        tell(&comparison, Sides::Results(&a.experiment, &a.experiment), &page(&a.name()))?;
        return conclude(&comparison, args.gate, args.markdown.as_deref());
    };
    let b = Opened::open(b)?;
    let (target_a, target_b) = (a.target()?, b.target()?);
    if a.experiment == b.experiment && target_a == target_b {
        let (a, b) = (a.folder.path().display(), b.folder.path().display());
        bail!("{a} and {b} are the same result: there is nothing to compare");
    }
    let (folder_a, folder_b) = (a.folder.path().display().to_string(), b.folder.path().display().to_string());
    let comparison = compare_results(
        &Choice { experiment: &a.experiment, target: &target_a, folder: &folder_a },
        &Choice { experiment: &b.experiment, target: &target_b, folder: &folder_b },
    );
    let page = page(&format!("{}-{}", a.name(), b.name()));
    tell(&comparison, Sides::Results(&a.experiment, &b.experiment), &page)?;
    conclude(&comparison, args.gate, args.markdown.as_deref())
}

/// The results in the folders `a` and `b`.
///
/// Errors: they are not of one study.
pub(crate) fn two_of_one_study(a: &Path, b: &Path) -> Result<(Study, Study)> {
    let (study_a, study_b) = (StudyFolder::open(a)?.load()?, StudyFolder::open(b)?.load()?);
    if study_a.name != study_b.name {
        bail!(
            "{} is of the study {}, {} of {}: two results of one study are compared",
            a.display(),
            study_a.name,
            b.display(),
            study_b.name
        );
    }
    Ok((study_a, study_b))
}

/// A result as it was named: its folder, and which of its targets.
struct Opened {
    folder: ResultFolder,
    experiment: Experiment,
    chosen: Option<String>,
}

impl Opened {
    fn open(text: &str) -> Result<Opened> {
        let whole = Path::new(text);
        // A folder may have an @ in its name.
        let (path, chosen) = match text.rsplit_once('@') {
            Some((path, target)) if !whole.exists() => (Path::new(path), Some(target.to_owned())),
            _ => (whole, None),
        };
        let folder = ResultFolder::open(path)?;
        let experiment = folder.load()?;
        Ok(Opened { folder, experiment, chosen })
    }

    fn name(&self) -> String {
        let target = self.chosen.as_ref().map_or(String::new(), |target| format!("@{target}"));
        format!("{}{target}", self.experiment.name)
    }

    fn target(&self) -> Result<String> {
        let names: Vec<&str> = self.experiment.targets.iter().map(|target| target.name.as_str()).collect();
        let path = self.folder.path().display();
        match (&self.chosen, &names[..]) {
            (Some(chosen), _) if names.contains(&chosen.as_str()) => Ok(chosen.clone()),
            (Some(chosen), _) => bail!("{path} has no target '{chosen}'; it has {}", names.join(", ")),
            (None, [only]) => Ok((*only).to_owned()),
            (None, []) => bail!("{path} has no target: nothing was measured there"),
            (None, [first, ..]) => {
                bail!("{path} has the targets {}; choose one, such as {path}@{first}", names.join(", "))
            }
        }
    }
}
