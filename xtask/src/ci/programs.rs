//! Test programs that cargo has built, run several at a time.
//!
//! `cargo test` runs one program after the other. Most of them wait, for servers to be ready and for loads to end, so a machine
//! that runs one at a time is idle for half of it.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::tally::Tally;
use crate::command::as_by_hand;

/// How many test programs run at once. A test that measures needs a generator and a server, so each program has two
/// processors. On fewer, two programs still run, since they wait most of the time.
pub(super) fn at_once() -> usize {
    thread::available_parallelism().map_or(2, |processors| (processors.get() / 2).max(2))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Its package and its target.
    pub(super) name: String,
    words: Vec<String>,
    /// Working directory: the folder of its package, as under `cargo test`.
    folder: PathBuf,
    counting: Counting,
    /// Units: bytes.
    size: u64,
}

/// The programs that take longest start first, or the last one would run alone; then larger ones before smaller ones.
const LONGEST: [&str; 15] = [
    "taillight cli",
    "movies",
    "sphinx it",
    "workloads it",
    "app it",
    "taillight agents",
    "openloop ruler",
    "cache-store it",
    "sphinx",
    "report it",
    "accuracy",
    "lab",
    "knobs here",
    "workloads",
    "knobs machines",
];

/// Program, number of drawn inputs in the slow tier, and a part of the names of the tests that draw them.
const MORE_DRAWS: [(&str, &str, &str); 2] =
    [("sphinx", "SPHINX_SEEDS=1000", "simulation::"), ("cache-store it", "PROPTEST_CASES=4000", "model::")];

/// Its tests wait for loads to end: alone on two processors, two at a time, they left 41 % of the processors' time.
const WAITS: &str = "taillight cli";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counting {
    /// From the lines of Rust's harness.
    Harness,
    /// The last line is `N passed, N failed, N skipped`.
    Closing,
}

/// A message of cargo, as far as test programs are concerned. Source: the Cargo book, "JSON messages".
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl Program {
    /// The test program named by a line of `cargo test --no-run --message-format=json`, with its runner and arguments;
    /// `None` if the line names none.
    pub(super) fn read(line: &str, runner: &[String], arguments: &[String]) -> Option<Program> {
        let message: Message = serde_json::from_str(line).ok()?;
        if message.reason != "compiler-artifact" || !message.profile?.test {
            return None;
        }
        let (file, folder) = (message.executable?, message.manifest_path?.parent()?.to_owned());
        let package = folder.file_name()?.to_string_lossy().into_owned();
        let target = message.target?.name;
        let name = if target.replace('_', "-") == package { package } else { format!("{package} {target}") };
        let size = file.metadata().map_or(0, |meta| meta.len());
        let file = [file.display().to_string()];
        let words = runner.iter().chain(&file).chain(arguments).cloned().collect();
        Some(Program { name, words, folder, counting: Counting::Harness, size })
    }

    /// Tests that are a command, counted by its last line.
    pub(super) fn command(name: &str, words: &[&str], folder: &Path) -> Program {
        Program {
            name: name.to_owned(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            folder: folder.to_owned(),
            counting: Counting::Closing,
            size: 0,
        }
    }

    /// The same program with only its ignored tests, which the slow tier runs.
    pub(super) fn slow(&self) -> Program {
        let words = self.words.iter().cloned().chain(["--ignored".to_owned()]).collect();
        Program { words, ..self.clone() }
    }

    /// The program's tests with drawn inputs, with many more of them, which the slow tier runs; `None` if it has none.
    pub(super) fn with_more_draws(&self) -> Option<Program> {
        let (_, variable, tests) = MORE_DRAWS.into_iter().find(|(name, ..)| *name == self.name)?;
        let env = ["env".to_owned(), variable.to_owned()];
        let words = env.into_iter().chain(self.words.iter().cloned()).chain([tests.to_owned()]).collect();
        Some(Program { words, name: format!("{} {variable}", self.name), ..self.clone() })
    }

    /// Only these tests, one after the other.
    fn only(&self, tests: &[String]) -> Program {
        let one = ["--exact".to_owned(), "--test-threads=1".to_owned()];
        let words = self.words.iter().cloned().chain(one).chain(tests.iter().cloned()).collect();
        Program { words, ..self.clone() }
    }

    /// Runs the program to its end. Output and standard error go to a file, since child processes may outlive the
    /// program and would keep a pipe open.
    fn run(&self) -> io::Result<Ended> {
        let start = Instant::now();
        let mut output = tempfile::tempfile()?;
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(&self.folder);
        as_by_hand(&mut command).env("CARGO_MANIFEST_DIR", &self.folder);
        if self.name == WAITS {
            let processors = thread::available_parallelism().map_or(2, |processors| processors.get());
            command.env("RUST_TEST_THREADS", (processors + processors.div_ceil(2)).to_string());
        }
        let status =
            command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?).status()?;
        io::Seek::rewind(&mut output)?;
        let mut tally = Tally::default();
        let shown = count(output, self.counting, &mut tally)?;
        if !status.success() || shown.uncounted {
            tally.failed = tally.failed.max(1);
        }
        let Shown { text, failures, .. } = shown;
        let said = if status.success() && tally.failed == 0 { String::new() } else { text };
        Ok(Ended { status: status.to_string(), tally, said, failures, took: start.elapsed() })
    }
}

struct Ended {
    status: String,
    tally: Tally,
    /// The output, if it failed.
    said: String,
    failures: Vec<String>,
    took: Duration,
}

struct Shown {
    text: String,
    /// Failed tests of the harness by name.
    failures: Vec<String>,
    /// Whether the line that counts is missing.
    uncounted: bool,
}

/// Counts the tests of an output, and keeps the lines worth printing.
fn count(output: impl Read, counting: Counting, tally: &mut Tally) -> io::Result<Shown> {
    let (mut text, mut failures) = (String::new(), Vec::new());
    let mut last = String::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if counting == Counting::Closing || tally.line(&line) {
            text.push_str(&line);
            text.push('\n');
        }
        if counting == Counting::Harness
            && let Some(test) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"))
        {
            failures.push(test.to_owned());
        }
        last = line;
    }
    let uncounted = counting == Counting::Closing && !tally.closing(&last);
    Ok(Shown { text, failures, uncounted })
}

/// Runs all programs, `at_once` at a time, and prints how each ended; true if none failed.
///
/// `again`: a few failed tests run once more, alone, when all programs have ended: programs that run at the same time disturb
/// each other. A test that passes then counts as passed, and is listed as unstable.
///
/// Errors: only that writing to `out` fails. A program that cannot be started has failed.
pub(super) fn run(
    mut programs: Vec<Program>,
    at_once: usize,
    again: bool,
    tally: &mut Tally,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let place =
        |program: &Program| LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len());
    programs.sort_by_key(|program| (place(program), Reverse(program.size), program.name.clone()));
    let waiting = Mutex::new(VecDeque::from(programs));
    let (ended, endings) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..at_once {
            let (waiting, ended) = (&waiting, ended.clone());
            scope.spawn(move || {
                loop {
                    let next = waiting.lock().expect("no thread panics with it").pop_front();
                    let Some(program) = next else { break };
                    let how = program.run();
                    if ended.send((program, how)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(ended);
        let (mut well, mut failed) = (true, Vec::new());
        for (program, how) in endings {
            match how {
                Ok(how) => {
                    let Ended { status, tally: of_it, said, failures, took } = how;
                    let counts = format!("{} passed, {} failed", of_it.passed, of_it.failed);
                    writeln!(out, "{}: {counts} in {:.1} s", program.name, took.as_secs_f64())?;
                    if of_it.failed > 0 {
                        writeln!(out, "{said}{}: {status}: {}", program.name, program.words.join(" "))?;
                        // A program that died has failures without a name.
                        let are_named = failures.len() as u64 == of_it.failed;
                        if again && are_named {
                            failed.push((program, failures, said));
                        } else {
                            tally.failures.push(format!("{}: {}", program.name, excerpt(&said)));
                            well = false;
                        }
                    }
                    tally.add(of_it);
                }
                Err(error) => {
                    writeln!(out, "{}: cannot run {}: {error}", program.name, program.words[0])?;
                    tally.failed += 1;
                    well = false;
                }
            }
        }
        let few = failed.iter().map(|(_, failures, _)| failures.len()).sum::<usize>() <= MOST_AGAIN;
        for (program, failures, said) in failed {
            if few {
                well &= once_more(&program, &failures, tally, out)?;
            } else {
                tally.failures.push(format!("{}: {}", program.name, excerpt(&said)));
                well = false;
            }
        }
        Ok(well)
    })
}

/// More failed tests have a common cause, and do not run once more.
const MOST_AGAIN: usize = 5;

/// Runs the failed tests of a program once more; true if all pass.
fn once_more(
    program: &Program,
    failures: &[String],
    tally: &mut Tally,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let ended = program.only(failures).run()?;
    let count = failures.len() as u64;
    let well = ended.tally.failed == 0 && ended.tally.passed == count;
    let how = if well { "passed" } else { "failed again" };
    writeln!(out, "{}: {} once more, alone: {how}\n{}", program.name, failures.join(", "), ended.said)?;
    if well {
        tally.failed -= count;
        tally.passed += count;
        tally.unstable.extend(failures.iter().map(|test| format!("{}: {test}", program.name)));
    } else {
        tally.failures.push(format!("{}: {}", program.name, excerpt(&ended.said)));
    }
    Ok(well)
}

/// Lines of a failed program's output that are repeated at the end of a run.
const EXCERPT: usize = 30;

/// What failed tests printed, without stack traces; of a program without a harness, its last lines.
fn excerpt(said: &str) -> String {
    let is_traced = |line: &str| {
        let line = line.trim_start();
        line.starts_with("at ")
            || line.split_once(": ").is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    };
    let lines = said.lines().filter(|line| !line.trim().is_empty() && !is_traced(line));
    let mut lines: Vec<&str> = lines.skip_while(|line| !line.starts_with("---- ")).collect();
    if lines.is_empty() {
        lines = said.lines().collect();
        lines.drain(..lines.len().saturating_sub(EXCERPT));
    }
    lines.truncate(EXCERPT);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_cargo_has_built() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///x/crates/null-server#0.1.0",
            "manifest_path":"/x/crates/null-server/Cargo.toml","target":{"kind":["lib"],"name":"NAME"},
            "profile":{"opt_level":"1","test":TEST},"executable":FILE,"fresh":true}"#;
        let check = |name: &str, test: &str, file: &str, expect: Option<&str>| {
            let line = line.replace("NAME", name).replace("TEST", test).replace("FILE", file);
            let program = Program::read(&line, &["env".into()], &["--show-output".into()]);
            assert_eq!(program.as_ref().map(|program| program.name.as_str()), expect, "{line}");
            program
        };
        let program = check("null_server", "true", r#""/x/a""#, Some("null-server")).unwrap();
        assert_eq!(program.words, ["env", "/x/a", "--show-output"]);
        assert_eq!(program.folder, Path::new("/x/crates/null-server"));
        check("udp", "true", r#""/x/b""#, Some("null-server udp"));
        check("null_server", "false", r#""/x/a""#, None);
        check("null_server", "true", "null", None);
        assert_eq!(program.with_more_draws(), None);
        let sphinx = Program { name: "sphinx".to_owned(), ..program };
        let words = sphinx.with_more_draws().unwrap().words;
        assert_eq!(words, ["env", "SPHINX_SEEDS=1000", "env", "/x/a", "--show-output", "simulation::"]);
        assert_eq!(Program::read(r#"{"reason":"build-finished","success":true}"#, &[], &[]), None);
        assert_eq!(Program::read("warning: unused", &[], &[]), None);
    }

    fn shell(name: &str, script: &str) -> Program {
        Program::command(name, &["sh", "-c", script], Path::new("/"))
    }

    #[test]
    fn adds_up_what_runs_at_once() {
        let harness = Program {
            counting: Counting::Harness,
            size: 1,
            ..shell("c", "echo 'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured'")
        };
        let failing = Program {
            counting: Counting::Harness,
            ..shell("d", "echo panicked; echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored'; exit 101")
        };
        let check = |programs: Vec<Program>, expect: (bool, u64, u64), says: &str| {
            let (mut tally, mut out) = (Tally::default(), Vec::new());
            let well = run(programs, 2, true, &mut tally, &mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            assert_eq!((well, tally.passed, tally.failed), expect, "{out}");
            assert!(out.contains(says), "{out}");
        };
        let closing = shell("b", "echo talk; echo '3 passed, 0 failed, 1 skipped'");
        check(vec![harness, closing.clone()], (true, 5, 0), "b: 3 passed, 0 failed in ");
        check(vec![closing, failing], (false, 4, 2), "panicked\n");
        check(vec![shell("e", "echo nothing counted")], (false, 0, 1), "nothing counted\n");
        let died = Program { counting: Counting::Harness, ..shell("f", "echo half done; exit 3") };
        check(vec![died], (false, 0, 1), "half done\nf: exit status: 3");
        let absent = Program::command("g", &["/no/such/program"], Path::new("/"));
        check(vec![absent], (false, 0, 1), "g: cannot run /no/such/program: ");
        check(Vec::new(), (true, 0, 0), "");
    }

    #[test]
    fn few_failed_tests_run_once_more_alone() {
        let check = |tests: usize, second: &str, expect: (bool, u64, u64, usize)| {
            let names: String = (0..tests).map(|n| format!("echo test t{n} ... FAILED; ")).collect();
            let first = format!("{names}echo 'test result: FAILED. 1 passed; {tests} failed'; exit 101");
            let script = format!("if [ \"$0\" = --exact ]; then {second}; else {first}; fi");
            let program = Program { counting: Counting::Harness, ..shell("p", &script) };
            let (mut tally, mut out) = (Tally::default(), Vec::new());
            let well = run(vec![program.clone()], 2, true, &mut tally, &mut out).unwrap();
            let found = (well, tally.passed, tally.failed, tally.unstable.len());
            assert_eq!(found, expect, "{}", String::from_utf8_lossy(&out));
            let mut tally = Tally::default();
            assert!(!run(vec![program], 2, false, &mut tally, &mut out).unwrap());
            assert_eq!((tally.passed, tally.failed), (1, tests as u64), "once");
            assert!(tally.failures[0].starts_with("p: test t0 ... FAILED"), "{:?}", tally.failures);
        };
        let passes = "echo \"test result: ok. $(($# - 1)) passed; 0 failed\"";
        check(1, passes, (true, 2, 0, 1));
        check(2, passes, (true, 3, 0, 2));
        check(2, "echo 'test result: FAILED. 1 passed; 1 failed'; exit 101", (false, 1, 2, 0));
        check(1, "echo 'test result: ok. 0 passed; 0 failed'", (false, 1, 1, 0));
        check(MOST_AGAIN + 1, passes, (false, 1, 6, 0));
    }

    #[test]
    fn an_excerpt_has_what_failed_tests_printed() {
        let said = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nleft: 1\nright: 2\n\
                    stack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/x.rs:1:2\n\n\
                    failures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed\n";
        let expect = "---- b stdout ----\nleft: 1\nright: 2\nstack backtrace:\nfailures:\n    b\n\
                      test result: FAILED. 1 passed; 1 failed";
        assert_eq!(excerpt(said), expect);
        let lines: Vec<String> = (0..2 * EXCERPT).map(|n| format!("line {n}")).collect();
        assert_eq!(excerpt(&lines.join("\n")), lines[EXCERPT..].join("\n"));
    }

    #[test]
    fn two_run_at_a_time() {
        // Each waits for a message of the other, which comes only if both run at once.
        let folder = tempfile::tempdir().unwrap();
        assert!(
            Command::new("mkfifo").args(["a", "b"]).current_dir(folder.path()).status().unwrap().success()
        );
        let meets = |name: &str, script: &str| {
            let script = format!("{script} && echo '1 passed, 0 failed, 0 skipped'");
            Program::command(name, &["timeout", "60", "sh", "-c", &script], folder.path())
        };
        let (mut tally, mut out) = (Tally::default(), Vec::new());
        let pair = vec![
            meets("x", "echo hello > a && read word < b"),
            meets("y", "read word < a && echo hello > b"),
        ];
        assert!(run(pair, 2, true, &mut tally, &mut out).unwrap(), "{}", String::from_utf8_lossy(&out));
        assert_eq!(tally.passed, 2);
    }
}
