//! The generator as the lab knows it: a program that is given a rate and a file, and fills the file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use launch::{Process, Spec};
use results::Trial;
use serde_json::Value;

use crate::{Error, Interrupt, Server, Span};

/// How often a running generator is looked after; between, this process sleeps and disturbs nobody.
const LOOK: Duration = Duration::from_millis(200);
/// How long `--resolve` may take; it takes some ms.
const RESOLVE: Duration = Duration::from_secs(30);
/// How long a generator that is asked to stop may take before it is killed.
const GRACE: Duration = Duration::from_millis(500);
/// Start, connecting, judging and writing, on a machine that is busy with something else.
const ALLOWANCE: Duration = Duration::from_secs(30);
/// For each key that may have to be stored first. Source: 50 times what a store takes over loopback, in batches.
const ALLOWANCE_PER_KEY: Duration = Duration::from_micros(250);
/// Agrees to storing items in a server on another machine.
const AGREE: &str = "--yes";
/// What a configuration that does not say so is taken to need for each of drain and time-out, and for its keys.
const UNKNOWN: Duration = Duration::from_secs(10);
const UNKNOWN_KEYS: u64 = 200_000;

/// The generator with everything that is the same for all trials.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The program.
    exe: PathBuf,
    /// `cache`.
    workload: String,
    /// What the user wrote for the generator, handed on as it is.
    options: Vec<String>,
    /// The processors that it is pinned to.
    cpus: Vec<usize>,
    resolved: Value,
    /// What a trial may take beside what it says itself.
    pub(crate) allowance: Duration,
}

/// What differs from trial to trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Requests per second; `None` where the options say a closed loop.
    pub rate_rps: Option<f64>,
    /// Of every random stream.
    pub seed: u64,
    /// Warm-up and window.
    pub span: Span,
    /// Whether the kernel is to stamp some of the connections.
    pub stamps: bool,
}

impl Generator {
    /// The generator `exe load workload options…`, after it agreed to the options and to trials of `span`.
    ///
    /// Errors: it refuses them; nothing was started then.
    pub fn new(
        exe: &Path,
        workload: &str,
        options: &[String],
        cpus: &[usize],
        span: Span,
    ) -> Result<Generator, Error> {
        let mut generator = Generator {
            exe: exe.into(),
            workload: workload.into(),
            options: options.to_vec(),
            cpus: cpus.to_vec(),
            resolved: Value::Null,
            allowance: ALLOWANCE,
        };
        let mut process = Process::spawn(generator.spec().args(of_span(span)).arg("--resolve"))?;
        let status = process.wait(RESOLVE)?;
        if !status.success() {
            return Err(Error::Refused {
                message: last_words(&mut process, status),
                usage: status.code() == Some(2),
            });
        }
        let lines: Vec<String> = std::iter::from_fn(|| process.next_line(GRACE)).collect();
        generator.resolved = serde_json::from_str(&lines.join("\n")).map_err(|e| Error::Refused {
            message: format!("{} {workload} --resolve printed no configuration: {e}", exe.display()),
            usage: false,
        })?;
        Ok(generator)
    }

    /// The configuration with all defaults filled in.
    pub fn resolved(&self) -> &Value {
        &self.resolved
    }

    /// Connections that it makes.
    pub fn connections(&self) -> usize {
        self.resolved["connections"].as_u64().unwrap_or(64) as usize
    }

    /// Runs one trial on `server` and returns what it left in `file`; `tick` is called now and then meanwhile with
    /// the lines that the generator printed since.
    ///
    /// The trial's histograms lie beside, under the extension `hlog`. Errors: no trial was possible, it did not end
    /// in time, or somebody asked to stop; the generator is gone then and its files are removed.
    pub fn run(
        &self,
        server: &mut Server,
        load: Load,
        file: &Path,
        interrupt: &Interrupt,
        mut tick: impl FnMut(&[String]),
    ) -> Result<Trial, Error> {
        let about = || {
            (
                file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                server.record().name.clone(),
            )
        };
        let (id, target) = about();
        let done = self.watch(self.trial_spec(server, load, file), load, interrupt, &mut tick, &id, &target);
        let trial = done.and_then(|()| {
            let failed = |message: String| Error::Trial { id: id.clone(), target: target.clone(), message };
            let text = std::fs::read(file).map_err(|e| {
                failed(format!("the generator ended well and left no {}: {e}", file.display()))
            })?;
            serde_json::from_slice(&text)
                .map_err(|e| failed(format!("the generator left a damaged {}: {e}", file.display())))
        });
        let _ = std::fs::remove_file(file);
        if trial.is_err() {
            let _ = std::fs::remove_file(file.with_extension("hlog"));
        }
        match trial {
            // A server that died is why no trial was possible, not a consequence.
            Err(error @ (Error::Trial { .. } | Error::Stuck { .. })) => Err(server.gone().unwrap_or(error)),
            other => other,
        }
    }

    fn watch(
        &self,
        spec: Spec,
        load: Load,
        interrupt: &Interrupt,
        tick: &mut impl FnMut(&[String]),
        id: &str,
        target: &str,
    ) -> Result<(), Error> {
        if let Some(cause) = interrupt.cause() {
            return Err(Error::Interrupted(cause));
        }
        let allowed = self.allowance(load);
        let mut process = Process::spawn(spec)?;
        let started = Instant::now();
        let status = loop {
            match process.wait(LOOK) {
                Ok(status) => break status,
                Err(launch::Error::StillRunning { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(cause) = interrupt.cause() {
                let _ = process.stop(GRACE);
                return Err(Error::Interrupted(cause));
            }
            if started.elapsed() > allowed {
                let last = process.stop(GRACE).map(|ended| ended.stderr).unwrap_or_default();
                let message = if last.is_empty() {
                    String::new()
                } else {
                    format!("Its last words: {}", last.join("\n  "))
                };
                return Err(Error::Stuck {
                    id: id.into(),
                    target: target.into(),
                    allowed_s: allowed.as_secs_f64(),
                    message,
                });
            }
            let lines: Vec<String> = std::iter::from_fn(|| process.next_line(Duration::ZERO)).collect();
            tick(&lines);
        };
        if status.success() {
            return Ok(());
        }
        // A generator that was stopped together with this process tells nothing new.
        if let Some(cause) = interrupt.cause() {
            return Err(Error::Interrupted(cause));
        }
        Err(Error::Trial { id: id.into(), target: target.into(), message: last_words(&mut process, status) })
    }

    /// How long a trial may take at most, storing the data set included.
    fn allowance(&self, load: Load) -> Duration {
        let config = &self.resolved;
        let seconds = |name: &str| {
            config[name].as_f64().and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or(UNKNOWN)
        };
        let keys = config["cache"]["keys"].as_u64().unwrap_or(UNKNOWN_KEYS);
        let fill = ALLOWANCE_PER_KEY.saturating_mul(u32::try_from(keys).unwrap_or(u32::MAX));
        [load.span.total(), seconds("drain_s"), seconds("timeout_s"), fill]
            .iter()
            .fold(self.allowance, |sum, part| sum.saturating_add(*part))
    }

    /// What all calls have in common. It is confined to its processors from its first instruction.
    fn spec(&self) -> Spec {
        let spec = Spec::new("generator", &self.exe).args(["load", &self.workload]);
        let spec = spec.args(self.options.iter().cloned());
        if self.cpus.is_empty() {
            return spec;
        }
        let cpus: Vec<String> = self.cpus.iter().map(ToString::to_string).collect();
        spec.cpus(self.cpus.iter().copied()).args(["--cpus".into(), cpus.join(",")])
    }

    fn trial_spec(&self, server: &Server, load: Load, file: &Path) -> Spec {
        let spec = self.spec().args(["--target", server.address()]);
        let spec =
            spec.args(load.rate_rps.map(|rate| ["--rate".into(), rate.to_string()]).into_iter().flatten());
        let spec = spec.args(["--seed".into(), load.seed.to_string()]);
        let spec = spec.args(of_span(load.span));
        let pids: Vec<String> = server.pids().iter().map(ToString::to_string).collect();
        let pids = (!pids.is_empty()).then(|| ["--server-pid".into(), pids.join(",")]);
        let spec = spec.args(pids.into_iter().flatten());
        // Wherever it is: started for this, it holds nobody else's items.
        let agreed = self.options.iter().any(|option| option == AGREE);
        let spec = spec.args((server.is_started() && !agreed).then_some(AGREE));
        let spec = spec.args(load.stamps.then_some("--stamps"));
        spec.arg("--trial").arg(file.display().to_string())
    }
}

fn of_span(span: Span) -> [String; 4] {
    let nanos = |time: Duration| format!("{}ns", time.as_nanos());
    ["--warmup".into(), nanos(span.warmup), "--window".into(), nanos(span.window)]
}

/// What a generator that failed said, without the program's name before it, which the caller prints again.
fn last_words(process: &mut Process, status: std::process::ExitStatus) -> String {
    let lines = match process.wait_success(Duration::ZERO) {
        Err(launch::Error::Died { stderr, .. }) => stderr,
        _ => process.stderr_tail(),
    };
    let text = lines.join("\n");
    let text = text.trim().trim_start_matches("taillight: ").trim_start_matches("error: ").trim();
    if text.is_empty() { format!("the generator ended with {status} and said nothing") } else { text.into() }
}
