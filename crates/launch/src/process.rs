use std::io::{self, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reactor::CpuMask;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, pidfd_send_signal, waitid,
};

use crate::capture::{Capture, Next};
use crate::spawner::{self, Group};
use crate::{Error, Spec, find_program};

/// Lines of standard output that are kept for the reader unless its [`Spec`] says otherwise; the oldest go first. Results travel
/// in files.
pub(crate) const STDOUT_LINES: usize = 10_000;
/// Lines of standard error that are kept for messages.
const STDERR_LINES: usize = 20;
/// How long a killed process may take to end. Only one that is stuck in the kernel takes over some ms.
const KILL_WAIT: Duration = Duration::from_secs(5);
/// Time-out for the last words of a process that has ended: they are in the pipe already.
pub(crate) const LAST_WORDS_WAIT: Duration = Duration::from_millis(500);
/// Time-out for each line of a process that has ended, if all lines are wanted: the thread that reads the pipe may have
/// no processor.
const REST_WAIT: Duration = Duration::from_secs(10);

const NOT_FOUND_HINT: &str = "check the path, or that its folder is in PATH";

/// A process started here. Dropping it kills its whole process group.
pub struct Process {
    spec: Spec,
    child: Child,
    pid: Pid,
    pidfd: OwnedFd,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    status: Option<ExitStatus>,
    input: Option<PipeWriter>,
}

/// How a process that was stopped ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessEnd {
    /// Its exit status.
    pub status: ExitStatus,
    /// Whether it ignored SIGTERM and had to be killed.
    pub killed: bool,
    /// The last lines that it wrote to standard error.
    pub stderr: Vec<String>,
}

impl Process {
    /// Starts `spec`.
    ///
    /// Errors: the program is missing or cannot run, or not all processors are available.
    pub fn spawn(spec: Spec) -> Result<Process, Error> {
        let cpus = wanted_cpus(&spec)?;
        let program = program_file(&spec)?;
        let mut command = Command::new(program);
        command
            .args(&spec.args)
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(dir) = &spec.dir {
            command.current_dir(dir);
        }
        if let Some(user) = &spec.user {
            command.uid(user.uid).gid(user.gid);
        }
        let (read, input) = input(&spec).map_err(Error::os(&spec.name, "cannot make its input"))?;
        command.stdin(read);
        let mut child = spawner::spawn(command, cpus, spec.net.as_deref(), Group::Own)
            .map_err(|source| spawn_error(&spec, source))?;
        match watch(&mut child, spec.lines) {
            Ok((pid, pidfd, stdout, stderr)) => {
                Ok(Process { spec, child, pid, pidfd, stdout, stderr, status: None, input })
            }
            Err(source) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(Error::os(spec.name, "cannot watch it")(source))
            }
        }
    }

    /// Runs `spec` to its end, up to `within`; returns the lines that it printed.
    ///
    /// Errors: as those of [`Process::spawn`] and [`Process::wait_success`].
    pub fn run(spec: Spec, within: Duration) -> Result<Vec<String>, Error> {
        let mut process = Process::spawn(spec)?;
        process.wait_success(within)?;
        Ok(process.rest())
    }

    /// The lines of its standard output that were not taken, once it has ended.
    pub fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next_line(REST_WAIT)).collect()
    }

    /// The specification that it was started with.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.poll_end(Duration::ZERO), Ok(None))
    }

    /// The last lines that it wrote to standard error; complete once it has ended.
    pub fn stderr_tail(&self) -> Vec<String> {
        match self.status {
            Some(_) => self.stderr.tail_at_end(LAST_WORDS_WAIT),
            None => self.stderr.tail(),
        }
    }

    /// The next line of its standard output; `None` when it has closed that, or nothing comes `within`.
    pub fn next_line(&mut self, within: Duration) -> Option<String> {
        match self.stdout.next(within) {
            Next::Line(line) => Some(line),
            Next::Closed | Next::TimedOut => None,
        }
    }

    /// Writes `line` and a line break to its standard input, which its [`Spec`] must have asked for.
    ///
    /// Bounds: a process that does not read blocks the caller after 64 KiB, the size of a pipe.
    /// Errors: it has ended, has closed its input, or has none.
    pub fn write_line(&mut self, line: &str) -> Result<(), Error> {
        let written = match &mut self.input {
            Some(input) => input.write_all(format!("{line}\n").as_bytes()),
            None => Err(io::Error::other("its standard input is empty; start it with Spec::input")),
        };
        written.map_err(self.os("cannot write to its standard input"))
    }

    /// Its standard input, which its [`Spec`] must have asked for; once: dropping it is the end of the input.
    pub fn take_input(&mut self) -> Option<PipeWriter> {
        self.input.take()
    }

    /// Waits up to `within` for it to end by itself. Cost: sleeps in the kernel, no polling.
    ///
    /// Errors: [`Error::StillRunning`]; it goes on running.
    pub fn wait(&mut self, within: Duration) -> Result<ExitStatus, Error> {
        self.poll_end(within)?.ok_or_else(|| Error::StillRunning {
            name: self.spec.name.clone(),
            within,
            stderr: self.stderr_tail(),
        })
    }

    /// As [`Process::wait`], and anything but exit status 0 is an error that holds its last words.
    pub fn wait_success(&mut self, within: Duration) -> Result<(), Error> {
        let status = self.wait(within)?;
        if status.success() { Ok(()) } else { Err(self.died("with a failure", status)) }
    }

    /// Asks it to end, by SIGTERM or the signal of its [`Spec`], and returns at once.
    pub fn terminate(&mut self) {
        if self.status.is_none() {
            // It may already have ended, which is fine.
            let _ = pidfd_send_signal(&self.pidfd, self.spec.stop);
        }
    }

    /// Ends it: SIGTERM, up to `grace` of patience, then SIGKILL to its whole process group.
    ///
    /// Errors: it is stuck in the kernel and did not end 5 s after SIGKILL.
    pub fn stop(mut self, grace: Duration) -> Result<ProcessEnd, Error> {
        self.terminate();
        let (status, killed) = match self.poll_end(grace)? {
            Some(status) => (status, false),
            None => (self.kill()?, true),
        };
        Ok(ProcessEnd { status, killed, stderr: self.stderr.tail_at_end(LAST_WORDS_WAIT) })
    }

    /// The error that it `ended when` it should not have, with its last words.
    pub(crate) fn died(&self, when: &'static str, status: ExitStatus) -> Error {
        let stderr = self.stderr.tail_at_end(LAST_WORDS_WAIT);
        Error::Died { name: self.spec.name.clone(), when, status, stderr }
    }

    fn kill(&mut self) -> Result<ExitStatus, Error> {
        // Cannot hit another process: until it is reaped, its id and its group's are not reused.
        if self.status.is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
        self.wait(KILL_WAIT)
    }

    /// Its exit status, waiting up to `within` for it. The rest of its group is killed before it is reaped.
    pub(crate) fn poll_end(&mut self, within: Duration) -> Result<Option<ExitStatus>, Error> {
        if self.status.is_none() && self.has_ended(within).map_err(self.os("cannot wait for it"))? {
            let _ = kill_process_group(self.pid, Signal::KILL);
            let status = self.child.wait();
            self.status = Some(status.map_err(self.os("cannot reap it"))?);
        }
        Ok(self.status)
    }

    /// Whether it ends `within`; it is not reaped here.
    fn has_ended(&self, within: Duration) -> io::Result<bool> {
        await_end(&self.pidfd, within)?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.pid), look)?.is_some())
    }

    pub(crate) fn os(&self, doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        Error::os(self.spec.name.clone(), doing)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Whether the process of `pidfd` ends `within`. Cost: sleeps in the kernel, no polling.
pub(crate) fn await_end(pidfd: &OwnedFd, within: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + within;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)) {
            // A signal handler ran here; the time that is left is computed again.
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(ready) => return Ok(ready > 0),
        }
    }
}

/// The standard input of the process, and the pipe's end to write to if `spec` wants a pipe. The pipe belongs to the
/// process's account, so that it can open `/dev/stdin`.
fn input(spec: &Spec) -> io::Result<(Stdio, Option<PipeWriter>)> {
    if !spec.input {
        return Ok((Stdio::null(), None));
    }
    let (read, write) = io::pipe()?;
    if let Some(user) = &spec.user {
        fchown(&read, Some(user.uid), Some(user.gid))?;
    }
    Ok((read.into(), Some(write)))
}

fn watch(child: &mut Child, lines: usize) -> io::Result<(Pid, OwnedFd, Capture, Capture)> {
    let pid = Pid::from_child(child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let missing = || io::Error::other("its output is not a pipe");
    let stdout = Capture::start(child.stdout.take().ok_or_else(missing)?, lines)?;
    let stderr = Capture::start(child.stderr.take().ok_or_else(missing)?, STDERR_LINES)?;
    Ok((pid, pidfd, stdout, stderr))
}

/// The file to execute. A bare name is looked up here, since `execvp` stops at a folder it may not read.
fn program_file(spec: &Spec) -> Result<PathBuf, Error> {
    match spec.program.to_str() {
        Some(name) if !name.contains('/') => find_program(name).ok_or_else(|| Error::NotFound {
            name: spec.name.clone(),
            program: spec.program.clone(),
            hint: NOT_FOUND_HINT.into(),
        }),
        _ => Ok(spec.program.clone()),
    }
}

fn wanted_cpus(spec: &Spec) -> Result<CpuMask, Error> {
    let Some(cpus) = &spec.cpus else {
        return CpuMask::of(None)
            .map_err(Error::os(&spec.name, "cannot read the processors that may be used"));
    };
    if cpus.is_empty() || cpus.iter().any(|&cpu| cpu >= CpuMask::MAX_CPU) {
        return Err(cpus_error(spec, cpus));
    }
    Ok(cpus.iter().copied().collect())
}

fn cpus_error(spec: &Spec, cpus: &[usize]) -> Error {
    let allowed = reactor::allowed_cpus().unwrap_or_default();
    Error::Cpus { name: spec.name.clone(), cpus: cpus.to_vec(), allowed }
}

fn spawn_error(spec: &Spec, source: io::Error) -> Error {
    let (name, program) = (spec.name.clone(), spec.program.clone());
    match (source.kind(), &spec.cpus) {
        (io::ErrorKind::NotFound, _) => Error::NotFound { name, program, hint: NOT_FOUND_HINT.into() },
        // `prepare` in the spawner reports unavailable processors so; exec itself hardly ever does.
        (io::ErrorKind::InvalidInput, Some(cpus)) => cpus_error(spec, cpus),
        _ => Error::Spawn { name, program, source },
    }
}
