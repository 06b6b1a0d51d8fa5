use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use launch::{Error, Process, Spec, free_port};
use results::Trial;
use rustix::process::{setpriority_process, setsid};
use spec::Workload;

/// Nothing in these tests takes longer, unless it hangs. The longest takes 15 s on two idle processors; others may use them
/// as well.
const LIMIT: Duration = Duration::from_secs(300);

/// How many ports are tried, of which another process may take one between the choice and the start.
const PORTS: usize = 5;

/// The nice value of the highest priority. Source: `setpriority(2)`.
const HIGHEST: i32 = -20;

/// Texts of messages that a measurement has no answer.
const UNKNOWN: [&str; 5] = [
    "not measurable on this host now",
    "no maximum throughput was found",
    "no trial is valid",
    "no request was completed",
    "peak throughput under QoS not known",
];

/// The program with these arguments, in a folder and an environment of its own.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taillight"));
    command.args(arguments).stdin(Stdio::null()).env("NO_COLOR", "1").current_dir(std::env::temp_dir());
    command
}

/// As [`program`], with a nice value of 1, which the program does not raise: its generators and servers would take all
/// processor time from the tests that run at the same time.
pub(crate) fn taillight(arguments: &[&str]) -> Command {
    let mut command = program(arguments);
    let lower = || setpriority_process(None, 1).map_err(std::io::Error::from);
    // SAFETY: between fork and exec it makes one system call.
    unsafe { command.pre_exec(lower) };
    command
}

/// As [`program`], with priority over all other programs if this account may set it, for a server whose capacity is
/// known. A server that waited for a processor answers its backlog at once, which can be more than it serves in a
/// window.
fn before_others(arguments: &[&str]) -> Command {
    let mut command = program(arguments);
    let raise = || {
        // With autogroups (`sched(7)`) the nice value counts only within a session.
        let _ = setsid();
        let _ = setpriority_process(None, HIGHEST);
        let _ = std::fs::write("/proc/self/autogroup", "-20");
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls, and allocates nothing.
    unsafe { command.pre_exec(raise) };
    command
}

/// Runs to the end, which must come.
pub(crate) fn finish(command: &mut Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let pid = rustix::process::Pid::from_child(&child);
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let guard = thread::spawn(move || {
        if waiting.recv_timeout(LIMIT).is_err() {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    });
    let started = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    let _ = done.send(());
    guard.join().unwrap();
    assert!(started.elapsed() < LIMIT, "it hung: {command:?}");
    output
}

/// A server on a free port, which `spec` receives, once it listens there.
pub(crate) fn on_free_port(within: Duration, spec: impl Fn(u16) -> Spec) -> (Process, SocketAddr) {
    let mut tried = 0;
    loop {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        let mut process = Process::spawn(spec(address.port())).unwrap();
        tried += 1;
        match process.await_port(address, within) {
            Ok(()) => return (process, address),
            Err(Error::PortTaken { .. } | Error::Died { .. }) if tried < PORTS => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A counter of memcached's `stats`.
pub(crate) fn counter(address: &str, name: &str) -> u64 {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"stats\r\nquit\r\n").unwrap();
    let lines: Vec<String> = BufReader::new(stream).lines().map(Result::unwrap).collect();
    let start = format!("STAT {name} ");
    let found = lines.iter().find_map(|line| line.strip_prefix(&start));
    found.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("{name}: {lines:?}"))
}

/// The output of both streams.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Whether the host kept a command from an answer: other tests keep the machine busy.
pub(crate) fn is_not_measurable(output: &Output) -> bool {
    output.status.code() == Some(75)
}

/// Whether the host ended a run early, so that its result is partial: the search found no maximum, or the generator had
/// no processor.
pub(crate) fn is_cut_short(output: &Output) -> bool {
    is_not_measurable(output) && text(output).contains("A partial result of ")
}

/// Whether the program ended with an answer, or the host kept it from one.
pub(crate) fn has_ended(output: &Output) -> bool {
    output.status.success() || is_not_measurable(output)
}

/// Asserts that the program ended with an answer, or that the host kept it from one.
#[track_caller]
pub(crate) fn answers(output: &Output) {
    assert!(has_ended(output), "{}", text(output));
}

/// Asserts that a gate is closed, or that the host kept it from being judged.
#[track_caller]
pub(crate) fn closes(output: &Output) {
    let failed = output.status.code() == Some(99) && text(output).contains("gate failed");
    assert!(failed || is_not_measurable(output), "{}", text(output));
}

/// Asserts that the program says these words, or that nothing can be said.
#[track_caller]
pub(crate) fn says(output: &Output, words: &str) {
    let text = text(output);
    assert!(UNKNOWN.iter().chain([&words]).any(|words| text.contains(words)), "{text}");
}

/// Asserts that the program refuses with this exit code and says all of these.
#[track_caller]
pub(crate) fn refuses(command: &mut Command, code: i32, says: &[&str]) {
    let output = finish(command);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in says {
        assert!(text.contains(part), "it does not say '{part}': {text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

/// The web workload of the trial's specification.
pub(crate) fn web(trial: &Trial) -> &spec::workload::Web {
    match &trial.spec.as_ref().unwrap().workload {
        Workload::Web(web) => web,
        other => panic!("{other:?}"),
    }
}

/// A server of this program that runs until it is dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
}

impl Served {
    /// Starts it and waits for the line that ends in its address.
    pub(crate) fn start(arguments: &[&str], ready: &str) -> Served {
        Served::of(&mut taillight(arguments), ready)
    }

    fn of(command: &mut Command, ready: &str) -> Served {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines
            .find_map(|line| line.ok().filter(|line| line.starts_with(ready)))
            .expect("the server says that it is ready");
        let rest = line[ready.len()..].trim();
        let address = rest.split([',', ' ']).next().unwrap().to_owned();
        Served { child, address }
    }

    /// A server that answers every request with a value of this size, one at a time, each after this service time: any machine
    /// is fast enough to offer its maximum load.
    pub(crate) fn slow(dialect: &str, size: &str, service: &str) -> Served {
        let options = ["serve", "null", "--dialect", dialect, "--value-size", size, "--service", service];
        Served::of(&mut before_others(&options), "null server ready on ")
    }

    /// A server that answers every get with a canned value, at once.
    pub(crate) fn canned() -> Served {
        Served::start(&["serve", "null", "--dialect", "memcached"], "null server ready on ")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
