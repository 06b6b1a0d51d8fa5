//! The generator as the lab knows it: a program that is given a specification and a file, and fills the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::threads::{self, Thread};
use launch::{Interrupt, Interrupted, OwnFolder, Process};
use results::{ServiceUsage, Trial};
use rustix::process::{Resource, getrlimit};
use serde::Deserialize;
use spec::{Spec, TargetName};
use units::{Rate, Time};

use crate::server::Readings;
use crate::{Error, Request, Server};

/// How often a running generator is looked after; between, this process sleeps and disturbs no measurement.
const LOOK: Duration = Duration::from_millis(200);
/// How long `--resolve` may take; it takes some ms.
const RESOLVE: Duration = Duration::from_secs(30);
/// Time limit for a generator to stop on request before it is killed.
const GRACE: Duration = Duration::from_millis(500);
/// The same for a generator that writes the part of its window that it has recorded, on a busy machine.
const PART_GRACE: Duration = Duration::from_secs(5);
/// Start, connecting, judging and writing, on a machine that is busy with something else.
const ALLOWANCE: Duration = Duration::from_secs(30);
/// For each key that may have to be stored first. Source: 50 times the duration of a store over loopback, in batches.
const ALLOWANCE_PER_KEY: Duration = Duration::from_micros(250);
/// For each user that has to log in first. Source: what the generator gives each at most, 30 s, four at a time: how costly the hashes
/// of a site are is not known here, and a site that does not answer is found by the bound of one.
const ALLOWANCE_PER_LOGIN: Duration = Duration::from_millis(7_500);
/// For each user whose data are read into the cache first. Source: five times the duration measured here (5 ms), one at
/// a time.
const ALLOWANCE_PER_PRIMED: Duration = Duration::from_millis(25);
/// Prefix of the generator's lines that ask for the activity of the server's other machines in its window; the answer
/// goes to its standard input.
const WINDOW: &str = "{\"window\"";

#[derive(Deserialize)]
struct WindowRequest {
    window: Window,
}

/// By `CLOCK_MONOTONIC`. Units: ns.
#[derive(Deserialize)]
struct Window {
    opened_ns: u64,
    length_ns: u64,
}

/// The generator with everything that is the same for all trials.
#[derive(Clone, Debug)]
pub struct Generator {
    exe: PathBuf,
    /// Its specification, with all defaults filled in.
    pub(crate) spec: Spec,
    live: bool,
    /// Folder for each trial's specification.
    folder: Arc<OwnFolder>,
    /// Time that a trial may take in addition to its specified times.
    pub(crate) allowance: Duration,
}

impl Generator {
    /// The generator `exe load --spec …`, after it has accepted the specification. With `live` it prints its progress.
    ///
    /// Errors: it rejects the specification; nothing was started then.
    pub fn new(exe: &Path, spec: Spec, live: bool) -> Result<Generator, Error> {
        let folder = Arc::new(OwnFolder::make(&std::env::temp_dir())?);
        let mut generator = Generator { exe: exe.into(), spec, live, folder, allowance: ALLOWANCE };
        let mut process = Process::spawn(generator.process(&generator.spec)?.arg("--resolve"))?;
        let status = process.wait(RESOLVE)?;
        if !status.success() {
            let message = last_words(&mut process, status);
            return Err(Error::Refused { message, usage: status.code() == Some(2) });
        }
        let lines: Vec<String> = std::iter::from_fn(|| process.next_line(GRACE)).collect();
        let whole = serde_json::from_str(&lines.join("\n")).map_err(|e| e.to_string());
        let read = whole.and_then(|whole| crate::read_spec(whole).map_err(|e| e.to_string()));
        generator.spec = read.map_err(|e| {
            Error::refused(format!("{} load --resolve printed no specification: {e}", exe.display()))
        })?;
        Ok(generator)
    }

    /// Connections that a server makes room for (see [`connections`]).
    pub fn connections(&self) -> usize {
        connections(&self.spec)
    }

    /// Runs the trial `request` on `server`, with `stamps` of the kernel on some of the connections, and returns the
    /// record in `file`. While it runs, `tick` is called periodically with
    /// the lines that the generator has printed since the last call.
    ///
    /// The trial includes the processor time of its services in the window. Its histograms lie next to `file`, with the
    /// extension `hlog`.
    ///
    /// Errors: no trial was possible, it did not end in time, or the run was interrupted and no part of the window is
    /// kept. In each case the generator has ended and its files are removed.
    pub fn run(
        &self,
        server: &mut Server,
        (request, stamps): (&Request, bool),
        file: &Path,
        interrupt: &Interrupt,
        mut tick: impl FnMut(&[String]),
    ) -> Result<Trial, Error> {
        let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let target = server.record().name.clone();
        let process = self.trial(server, (request, stamps), file)?;
        let mut readings = Readings::beside(request.time.window);
        let mut look = |lines: &[String], server: &Server| {
            readings.look(server);
            tick(lines);
        };
        let done = self.watch(process, server, request, interrupt, &mut look, (&id, &target));
        let trial = done.and_then(|()| {
            let failed = |message: String| Error::Trial { id: id.clone(), target: target.clone(), message };
            let text = std::fs::read(file).map_err(|e| {
                failed(format!("the generator ended well and left no {}: {e}", file.display()))
            })?;
            let mut trial: Trial = serde_json::from_slice(&text)
                .map_err(|e| failed(format!("the generator left a damaged {}: {e}", file.display())))?;
            if let Some(spec) = &mut trial.spec {
                // The generator got an address, which changes at the next start.
                spec.target.server = server.name().clone();
            }
            let opened = trial.window_opened_monotonic_ns.map(Time);
            let used = opened.map_or_else(Default::default, |opened| readings.within(opened)).into_iter();
            let usage = |(name, window_cpu_s)| ServiceUsage { name, window_cpu_s, ..ServiceUsage::default() };
            trial.services = used.map(usage).collect();
            Ok(trial)
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
        process: launch::Spec,
        server: &Server,
        request: &Request,
        interrupt: &Interrupt,
        look: &mut impl FnMut(&[String], &Server),
        (id, target): (&str, &str),
    ) -> Result<(), Error> {
        interrupt.check()?;
        let allowed = self.allowance(request);
        let mut process = Process::spawn(process)?;
        let started = Instant::now();
        let status = loop {
            match process.wait(LOOK) {
                Ok(status) => break status,
                Err(launch::Error::StillRunning { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(cause) = interrupt.cause() {
                // It may have recorded a part of its window.
                let ended = process.stop(if request.keeps_part() { PART_GRACE } else { GRACE });
                let is_kept = request.keeps_part() && ended.is_ok_and(|ended| ended.status.success());
                return if is_kept { Ok(()) } else { Err(Interrupted(cause).into()) };
            }
            if started.elapsed() > allowed {
                let (id, target, allowed_s) = (id.into(), target.into(), allowed.as_secs_f64());
                let waited = waited_for_processor(Path::new("/"), process.pid());
                if waited > started.elapsed() / 2 {
                    let waited_s = waited.as_secs_f64();
                    return Err(Error::Starved { id, target, allowed_s, waited_s });
                }
                let last = process.stop(GRACE).map(|ended| ended.stderr).unwrap_or_default();
                let last = (!last.is_empty()).then(|| format!("Its last words: {}", last.join("\n  ")));
                return Err(Error::Stuck { id, target, allowed_s, message: last.unwrap_or_default() });
            }
            let mut lines: Vec<String> = std::iter::from_fn(|| process.next_line(Duration::ZERO)).collect();
            for asked in lines.extract_if(.., |line| line.starts_with(WINDOW)) {
                if let Ok(WindowRequest { window }) = serde_json::from_str(&asked) {
                    // A generator that has just ended reports that by its exit status.
                    let _ = process.write_line(&server.noise_elsewhere(window.opened_ns, window.length_ns));
                }
            }
            look(&lines, server);
        };
        let interrupted = interrupt.cause().filter(|_| !request.keeps_part());
        if status.success() && interrupted.is_none() {
            return Ok(());
        }
        // A generator that was stopped together with this process tells nothing new.
        interrupt.check()?;
        Err(Error::Trial { id: id.into(), target: target.into(), message: last_words(&mut process, status) })
    }

    /// How long a trial may take at most, storing the data set included.
    fn allowance(&self, request: &Request) -> Duration {
        let (workload, generator) = (&self.spec.workload, &self.spec.generator);
        let items = u32::try_from(workload.items()).unwrap_or(u32::MAX);
        let fill = ALLOWANCE_PER_KEY.saturating_mul(items);
        let logins = ALLOWANCE_PER_LOGIN.mul_f64(workload.logins(request.rate_rps, generator));
        let primed = ALLOWANCE_PER_PRIMED.saturating_mul(workload.primed());
        // The results of the last steps are waited for.
        let last = workload.longest_step();
        let times = [request.time.warmup, request.time.window, generator.drain, generator.timeout, last];
        times
            .map(Duration::from)
            .into_iter()
            .chain([fill, logins, primed])
            .fold(self.allowance, Duration::saturating_add)
    }

    /// The process of this specification. It is confined to its processors from its first instruction.
    fn process(&self, spec: &Spec) -> Result<launch::Spec, Error> {
        let file = self.folder.path().join("spec.json").display().to_string();
        std::fs::write(&file, format!("{:#}\n", spec.to_json())).map_err(|e| {
            Error::refused(format!("cannot write {file}: {e}; TMPDIR names a folder with room"))
        })?;
        let process = launch::Spec::new("generator", &self.exe).args(["load", "--spec", &file]);
        Ok(match &spec.generator.cpus {
            Some(cpus) => process.cpus(cpus.as_slice().iter().copied()),
            None => process,
        })
    }

    fn trial(
        &self,
        server: &Server,
        (request, stamps): (&Request, bool),
        file: &Path,
    ) -> Result<launch::Spec, Error> {
        let mut spec = self.spec.clone();
        spec.target.server = TargetName::External(server.address().into());
        if let Some(rps) = request.rate_rps {
            spec.load = spec::Load::Rate(Rate::new(rps).map_err(Error::Target)?);
        }
        spec.seed = request.seed;
        (spec.time.warmup, spec.time.window) = (request.time.warmup, request.time.window);
        if let Some(protocol) = server.protocol() {
            spec.workload.speak(protocol);
        }
        if server.is_started() {
            // It was started for the run, wherever it is: it holds no other items.
            spec.workload.agree();
        }
        let process = self.process(&spec)?.arg("--trial").arg(file.display().to_string());
        let pids: Vec<String> = server.pids().iter().map(ToString::to_string).collect();
        let pids = (!pids.is_empty()).then(|| ["--server-pid".into(), pids.join(",")]);
        let process = process.args(pids.into_iter().flatten());
        let process = match server.is_elsewhere() {
            true => process.arg("--server-elsewhere").input(),
            false => process,
        };
        Ok(process.args(self.live.then_some("--live")).args(stamps.then_some("--stamps")))
    }
}

/// The longest time that a thread of this process was ready to run without a processor; 0 if unknown.
fn waited_for_processor(root: &Path, pid: u32) -> Duration {
    let threads = threads::of(root, &[pid]).into_iter();
    let waited = threads.filter_map(|(pid, tid)| Some(Thread::read(root, pid, tid)?.waiting_ns)).max();
    Duration::from_nanos(waited.unwrap_or(0))
}

/// The error output of a failed generator, without the program's name, which the caller prints again.
fn last_words(process: &mut Process, status: std::process::ExitStatus) -> String {
    let lines = match process.wait_success(Duration::ZERO) {
        Err(launch::Error::Died { stderr, .. }) => stderr,
        _ => process.stderr_tail(),
    };
    let text = lines.join("\n");
    let text = text.trim().trim_start_matches("taillight: ").trim_start_matches("error: ").trim();
    if text.is_empty() { format!("the generator ended with {status} and said nothing") } else { text.into() }
}

/// How many descriptors a program of this account may have.
fn descriptors() -> usize {
    getrlimit(Resource::Nofile).maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// Connections that a server makes room for: those that the generator of `spec` makes at most. Of sessions without a limit of their
/// own half of the descriptors that a program may have here, since a server of this machine needs the others for files.
pub fn connections(spec: &Spec) -> usize {
    let most = spec.connections();
    if spec.workload.is_unlimited() { most.min(descriptors() / 2) } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_waited_longest_counts() {
        let root = tempfile::tempdir().unwrap();
        for (tid, schedstat) in [(7, "1500 20 3"), (8, "9000000000 5000000000 4")] {
            let task = root.path().join(format!("proc/7/task/{tid}"));
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("schedstat"), schedstat).unwrap();
        }
        assert_eq!(waited_for_processor(root.path(), 7), Duration::from_secs(5));
        assert_eq!(waited_for_processor(root.path(), 8), Duration::ZERO);
    }
}
