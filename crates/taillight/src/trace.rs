//! `taillight trace`: recorded requests to caches, described, compiled and made.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use dist::Popularity;
use launch::Interrupt;
use replay::{Format, Progress, Quantiles, Recipe, Replay, Requests, Summary};
use spec::workload::OnMiss;
use spec::{Spec, Workload};
use units::{Bytes, Nanos, Rate};

use crate::args::Typed;
use crate::job::misused;
use crate::shown::{Interruptible, Shown, or_interrupted};
use crate::terminal::{say, say_as};

/// Describe, compile and make traces of requests to caches, for taillight load cache --trace.
#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    what: TraceCommand,
}

#[derive(Subcommand, Debug)]
enum TraceCommand {
    /// Describe a trace: operations, keys and how they are reused, sizes, expiry times, rate over time. A trace that is
    /// not compiled yet is compiled first.
    Info {
        /// The trace, compiled or not.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Compile a trace into the form that is replayed: 24 B for each request, mapped into memory. The load does this by
    /// itself, in the folder of the trace.
    Compile {
        /// The trace.
        file: PathBuf,
        /// The compiled file [default: FILE.replay]. taillight load cache --trace takes it in place of the trace.
        #[arg(long, value_name = "OUT")]
        out: Option<PathBuf>,
        /// How the trace is written: twitter, kvcache, oracle-general, watch or monitor [default: told by its content].
        #[arg(long, value_name = "FORMAT")]
        format: Option<Format>,
    },
    /// Make a small trace, to try things out. The same options give the same trace.
    Make {
        /// How it is written: twitter, kvcache, oracle-general, watch or monitor.
        #[arg(long, default_value_t = Format::Twitter, value_name = "FORMAT")]
        format: Format,
        /// The file.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Requests: 10000, 10k, 1M.
        #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = |text: &str| units::count::<u64>(text, 1..=10_000_000))]
        requests: u64,
        /// Keys: 1000, 100k.
        #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = |text: &str| units::count::<u64>(text, 1..=100_000_000))]
        keys: u64,
        /// How often each key is requested, as for --popularity of taillight load cache.
        #[arg(long, default_value = "zipf:0.99", value_name = "POPULARITY")]
        popularity: Popularity,
        /// The mean rate, of formats that have times.
        #[arg(long, default_value = "1k", value_name = "RATE")]
        rate: Rate,
        /// The seed.
        #[arg(long, default_value_t = 1, value_name = "N")]
        seed: u64,
    },
}

pub(crate) fn run(args: &TraceArgs) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    match &args.what {
        TraceCommand::Info { file, json } => {
            let requests = opened(file, &interrupt)?;
            let mut shown = Shown::new(format!("reading {}", requests.path().display()), &interrupt);
            let of = requests.len();
            let summary =
                replay::describe(&requests, &mut |read| shown.show(&format!("{read} of {of} requests")));
            say_as(*json, &shown.outcome(summary)?, words)
        }
        TraceCommand::Compile { file, out, format } => {
            let to = out.clone().unwrap_or_else(|| replay::beside(file));
            let header =
                with_progress(file, &interrupt, |progress| replay::compile(file, &to, *format, progress))?;
            say(&format!(
                "{}: {} requests of {} ({}), {} lines skipped\n",
                to.display(),
                header.requests,
                header.name,
                header.format,
                header.skipped
            ))
        }
        TraceCommand::Make { format, out, requests, keys, popularity, rate, seed } => {
            let recipe = Recipe {
                format: *format,
                requests: *requests,
                keys: *keys,
                popularity: *popularity,
                rate: *rate,
                seed: *seed,
            };
            make(&recipe, out, &interrupt)
        }
    }
}

/// Writes a trace; of one that was interrupted nothing remains.
fn make(recipe: &Recipe, out: &Path, interrupt: &Interrupt) -> Result<()> {
    let failed = || format!("cannot write the trace {}", out.display());
    let file = File::create(out).with_context(failed)?;
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut to = BufWriter::new(Interruptible { file, interrupt });
    let made = replay::make(recipe, &mut to).and_then(|()| to.flush());
    if made.is_err() && is_file {
        let _ = std::fs::remove_file(out);
    }
    or_interrupted(made.with_context(failed), interrupt)
}

/// The requests of a trace, which is compiled with a line of progress if that was not done before.
fn opened(file: &Path, interrupt: &Interrupt) -> Result<Requests> {
    with_progress(file, interrupt, |progress| replay::open(file, progress))
}

fn with_progress<T>(
    file: &Path,
    interrupt: &Interrupt,
    run: impl FnOnce(&mut dyn FnMut(&Progress) -> bool) -> Result<T, replay::Error>,
) -> Result<T> {
    let mut shown = Shown::new(format!("compiling {}", file.display()), interrupt);
    let done = run(&mut |progress| {
        let share = 100.0 * progress.read as f64 / progress.of.max(1) as f64;
        shown.show(&format!("{share:.0} %, {} requests", progress.requests))
    });
    shown.outcome(done)
}

/// Fits a specification to the trace that it replays, if it does: a trace without stores is read through, unless another
/// reaction to a miss was typed.
///
/// Errors: options that exclude each other; the trace cannot be read.
pub(crate) fn fit(spec: &mut Spec, rate: Option<Rate>, typed: &Typed) -> Result<()> {
    let Workload::Cache(cache) = &mut spec.workload else { return Ok(()) };
    let Some(file) = &cache.replay.trace else { return Ok(()) };
    let excluded =
        |option: &str, why: &str| Err(misused(format!("{option}: {why}; leave out {option} or --trace")));
    if typed.has("arrivals") {
        return excluded("--arrivals", "a trace has arrivals of its own");
    }
    if spec.load == spec::Load::Closed {
        return excluded("--closed", "a trace has times, which a closed loop ignores");
    }
    if typed.has("speed") && rate.is_some() {
        return Err(misused("--speed: --rate decides how fast the trace is replayed; leave out one of both"));
    }
    if cache.replay.is_loop && !typed.has("window") {
        return Err(misused(
            "--loop: the trace has no end then; say how long with --window, such as --window 60s",
        ));
    }
    let requests = opened(file, &Interrupt::signalled())?;
    if !typed.has("on-miss") && !requests.header().stores() {
        cache.on_miss = OnMiss::Set;
    }
    Ok(())
}

/// Makes one load last as long as its trace, unless durations were typed.
///
/// Errors: the trace cannot be read, or has no times.
pub(crate) fn last(spec: &mut Spec, rate: Option<Rate>, typed: &Typed) -> Result<()> {
    let Workload::Cache(cache) = &spec.workload else { return Ok(()) };
    let Some(file) = &cache.replay.trace else { return Ok(()) };
    if !typed.has("warmup") {
        spec.time.warmup = Nanos::ZERO;
    }
    if typed.has("window") {
        return Ok(());
    }
    let requests = Arc::new(opened(file, &Interrupt::signalled())?);
    if rate.is_none() && !requests.header().is_timed {
        return Err(misused(format!(
            "--trace: {} has no times; give the mean rate with --rate, such as --rate 50k",
            file.display()
        )));
    }
    let replay = Replay::new(requests, &trial::selected_requests(&cache.replay))?;
    let factor = rate.map_or(cache.replay.speed.factor(), |rate| rate.rps() / replay.mean_rps());
    // Whole milliseconds, with the last request before the end; the shortest window has 100.
    let last_ms = (replay.last_ns() as f64 / factor / 1e6) as u64 + 1;
    let whole = Nanos::from_millis(last_ms.max(100));
    spec.time.window = Nanos(whole.0.saturating_sub(spec.time.warmup.0).max(100_000_000));
    Ok(())
}

fn words(summary: &Summary) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let row = |name: &str, text: String| format!("{name:<12} {text}\n");
    let mut text = row("trace", format!("{} ({})", summary.source, summary.format));
    let when = match summary.timed {
        true => format!("over {:.1} s, {:.1} rps on average", summary.span_s, summary.mean_rps),
        false => "without times: give a rate to replay them".into(),
    };
    text += &row("requests", format!("{}, {when}", summary.requests));
    let share = |count: u64| percent(count as f64 / summary.requests.max(1) as f64);
    let operations = summary.operations.iter().map(|op| format!("{} {}", op.name, share(op.requests)));
    text += &row("operations", operations.collect::<Vec<_>>().join(", "));
    if summary.stand_ins > 0 {
        text += &row("", format!("{} of them are replayed as set", summary.stand_ins));
    }
    if summary.skipped + summary.reordered > 0 {
        let (skipped, reordered) = (summary.skipped, summary.reordered);
        text += &row("", format!("{skipped} lines skipped, {reordered} requests out of order"));
    }
    let keys = &summary.keys;
    let about = if keys.sample_one_in > 1 {
        format!(", from 1/{} of them", keys.sample_one_in)
    } else {
        String::new()
    };
    text += &row("keys", format!("{:.0}, {} with their values{about}", keys.count, Bytes(keys.bytes as u64)));
    let alpha = keys.zipf_alpha.map_or("–".into(), |alpha| format!("{alpha:.2}"));
    text += &row(
        "popularity",
        format!(
            "Zipf exponent {alpha}; the first key has {} of the requests, the first 1 % have {}",
            percent(keys.top_share),
            percent(keys.top_hundredth_share)
        ),
    );
    text += &row(
        "reuse",
        format!(
            "{} of the requests are for a key seen before; {} of the keys are requested once",
            percent(keys.reused_share),
            percent(keys.one_hit_share)
        ),
    );
    let mut quantiles = |name: &str, found: &Option<Quantiles>, unit: &str| {
        if let Some(Quantiles { mean, p50, p90, p99, max }) = found {
            let figures = [("mean", mean), ("p50", p50), ("p90", p90), ("p99", p99), ("max", max)];
            let figures = figures.map(|(name, figure)| format!("{name} {}", short(*figure)));
            text += &row(name, format!("{} {unit}", figures.join(", ")));
        }
    };
    quantiles("reused after", &keys.reuse_s.filter(|_| summary.timed), "s");
    quantiles("key size", &summary.key_bytes, "B");
    quantiles("value size", &summary.value_bytes, "B");
    quantiles("expiry", &summary.ttl_s, "s");
    if let Some(share) = summary.with_ttl.filter(|_| summary.ttl_s.is_some()) {
        text += &row("", format!("{} of the sets expire", percent(share)));
    }
    if summary.timed {
        let rates = summary.rate.iter().map(|point| short(point.rps));
        text += &row("rate", format!("{} rps in 20 equal parts", rates.collect::<Vec<_>>().join(" ")));
    }
    text
}

/// Three digits, or all before the point.
fn short(figure: f64) -> String {
    match figure {
        _ if figure >= 100.0 || figure == figure.trunc() => format!("{figure:.0}"),
        _ if figure >= 1.0 => format!("{figure:.1}"),
        _ => format!("{figure:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.csv");
        std::fs::write(&file, "0,a,10,0,1,get,0\n2,a,10,100,1,set,60\n4,b,10,100,1,incr,0\n").unwrap();
        let requests = replay::open(&file, &mut |_| true).unwrap();
        let text = words(&replay::describe(&requests, &mut |_| true).unwrap());
        for expect in [
            "trace        t.csv (twitter)\n",
            "operations   get 33.3 %, set 33.3 %, incr 33.3 %\n             1 of them are replayed as set\n",
            "keys         2, 220 B with their values\n",
            "reuse        33.3 % of the requests are for a key seen before; 50.0 % of the keys are requested once\n",
            "expiry       mean 60, p50 60, p90 60, p99 60, max 60 s\n             50.0 % of the sets expire\n",
        ] {
            assert!(text.contains(expect), "{expect}{text}");
        }
    }

    #[test]
    fn an_interrupted_trace_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (out, interrupt) = (folder.path().join("t.csv"), Interrupt::default());
        let recipe = Recipe {
            format: Format::Twitter,
            requests: 1_000,
            keys: 10,
            popularity: "zipf:0.99".parse().unwrap(),
            rate: Rate::new(1e3).unwrap(),
            seed: 1,
        };
        make(&recipe, &out, &interrupt).unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 1_000);
        interrupt.raise();
        let error = make(&recipe, &out, &interrupt).unwrap_err();
        assert!(error.is::<launch::Interrupted>(), "{error:#}");
        assert!(!out.exists());
    }
}
