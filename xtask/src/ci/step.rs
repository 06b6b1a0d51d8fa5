use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Tier;
use super::programs::Program;
use super::tally::Tally;
use super::tools::{BPF_FEATURES, Tools};
use crate::ROOT;
use crate::command::as_by_hand;
use crate::repository::Repository;

/// The compiler of this workspace's crates: clippy, which lints and compiles in one pass.
const COMPILER: (&str, &str) =
    ("RUSTC_WORKSPACE_WRAPPER", concat!(env!("CARGO_MANIFEST_DIR"), "/../.ci/clippy-rustc"));

/// One check: a command and the format of its output.
pub(super) struct Step {
    pub(super) name: &'static str,
    /// The tier that it belongs to: a step of the slow one is left out of the fast one.
    pub(super) tier: Tier,
    /// The program and its arguments; if a tool is missing, the reason for skipping.
    command: Result<Vec<String>, String>,
    env: Vec<(String, String)>,
    reading: Reading,
}

#[derive(Clone, Copy, Debug)]
enum Reading {
    /// It passes by its exit status.
    Status,
    /// `cargo test`, whose output is counted.
    Tests,
    /// It passes by its exit status, and is skipped if it prints `said`.
    Lacking { said: &'static str, why: &'static str },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// A command of cargo, which passes by its exit status.
fn cargo(tier: Tier, name: &'static str, arguments: &str) -> Step {
    let command = Ok(words(&format!("cargo {arguments}")));
    Step { name, tier, command, env: Vec::new(), reading: Reading::Status }
}

/// Checks that compile nothing. `xtask` is the path of this program.
pub(super) fn of_source(xtask: &Path) -> Vec<Step> {
    let tidy = Step {
        command: Ok(vec![xtask.display().to_string(), "tidy".to_owned()]),
        ..cargo(Tier::Fast, "tidy", "")
    };
    // They are a workspace of their own, whose lock file the build of this one does not check.
    let lock = Step {
        reading: Reading::Lacking {
            said: "spurious network error",
            why: "the registry of packages cannot be reached from here",
        },
        ..cargo(
            Tier::Fast,
            "lock file of the fuzz targets",
            "update --workspace --locked --manifest-path fuzz/Cargo.toml",
        )
    };
    vec![cargo(Tier::Fast, "format", "fmt --all --check"), tidy, lock]
}

/// The build of the movie site, in eight languages; languages without tools on this machine are skipped by name.
pub(super) fn movies_build() -> Step {
    let command = Ok(words("sh apps/movies/test.sh --build apps/movies target/movies"));
    Step { command, ..cargo(Tier::Fast, "build of the movie site", "") }
}

/// Contract and unit tests of the movie site; the slow tier tests the data set and the Java twins of services in other languages.
pub(super) fn movies_tests(tier: Tier) -> Program {
    let (name, slow): (_, &[&str]) = match tier {
        Tier::Fast => ("movies", &[]),
        Tier::Slow => ("slow tests of movies", &["--slow"]),
    };
    let words = [&["sh", "apps/movies/test.sh"], slow, &["apps/movies", "target/movies"]].concat();
    Program::command(name, &words, Path::new(ROOT))
}

/// Tests of the Python package, from a wheel.
pub(super) fn python_tests() -> Program {
    let words = ["sh", "python/test.sh", "target/python", "target/tools/python-package"];
    Program::command("python", &words, Path::new(ROOT))
}

fn features(bpf: bool) -> String {
    if bpf { format!(" --features {BPF_FEATURES}") } else { String::new() }
}

/// Compiles and lints all test programs and the programs that tests start.
pub(super) struct TestBuild {
    step: Step,
    /// Command that runs the programs, and their arguments.
    runner: Vec<String>,
    harness: Vec<String>,
}

impl TestBuild {
    pub(super) const NAME: &'static str = "clippy and build of the tests";

    /// `bpf`: with eBPF programs. `shuffle`: the seed of the order of tests.
    pub(super) fn new(bpf: bool, shuffle: Option<u64>) -> TestBuild {
        let arguments = format!("test --workspace{} --locked --no-run", features(bpf));
        let step = Step { env: compiler(), ..cargo(Tier::Fast, TestBuild::NAME, &arguments) };
        // The harness shuffles on nightly compilers only. The variable is set for the tests alone, since rustc would compile
        // everything again.
        let runner = shuffle.map_or_else(Vec::new, |_| words("env RUSTC_BOOTSTRAP=1"));
        let mut harness = words("--show-output");
        if let Some(seed) = shuffle {
            harness.extend(words(&format!("-Z unstable-options --shuffle-seed {seed}")));
        }
        TestBuild { step, runner, harness }
    }

    pub(super) fn shown(&self) -> String {
        self.step.shown()
    }

    /// Builds the test programs. Errors: the exit status of cargo.
    pub(super) fn run(&self) -> Result<Vec<Program>, String> {
        let build = || -> io::Result<_> {
            let mut command =
                self.step.command(self.step.command.as_ref().map_err(|why| io::Error::other(why.clone()))?);
            let command = command.arg("--message-format=json-render-diagnostics");
            let mut child = command.stdout(Stdio::piped()).spawn()?;
            let read = |line: String| Program::read(&line, &self.runner, &self.harness);
            let programs: Vec<Program> = lines(child.stdout.take()).filter_map(read).collect();
            Ok((child.wait()?, programs))
        };
        match build() {
            Ok((status, programs)) if status.success() => Ok(programs),
            Ok((status, _)) => Err(format!("{status}")),
            Err(error) => Err(format!("cannot run cargo: {error}")),
        }
    }
}

fn compiler() -> Vec<(String, String)> {
    vec![(COMPILER.0.to_owned(), COMPILER.1.to_owned())]
}

/// All other checks of both tiers.
///
/// Documentation and other sets of features compile most of the workspace again, so they belong to the slow tier.
pub(super) fn all(tools: &Tools) -> Vec<Step> {
    use Tier::{Fast, Slow};
    let deny = |name, arguments: &str, reading| {
        let command = tools.deny.as_ref().map_err(String::clone).map(|program: &PathBuf| {
            let program = program.display().to_string();
            [program].into_iter().chain(words(arguments)).collect()
        });
        // It takes longer to compile cargo-deny than to run all other checks but the tests.
        let tier = if tools.deny.is_ok() { Fast } else { Slow };
        Step { name, tier, command, env: Vec::new(), reading }
    };
    let tests = |tier, name, arguments: &str| {
        let arguments = format!("test {arguments} --locked --no-fail-fast -- --show-output");
        Step { reading: Reading::Tests, ..cargo(tier, name, &arguments) }
    };
    let with_bpf = |step: Step| Step { command: tools.bpf.clone().and(step.command), ..step };
    let with_env = |name: &str, value: &str, step: Step| {
        let env = step.env.iter().cloned().chain([(name.to_owned(), value.to_owned())]).collect();
        Step { env, ..step }
    };
    let no_database = Reading::Lacking {
        said: "failed to fetch advisory database",
        why: "the database of advisories cannot be reached from here",
    };
    // Under QEMU's user mode. Compiled separately, since no artifact can be shared.
    let aarch64 = cargo(Slow, "unit tests for aarch64", "xtask aarch64 --core --no-install");
    let documentation = cargo(Slow, "documentation", "doc --workspace --no-deps --locked");
    let examples = packages_with_examples().iter().map(|name| format!("-p {name} ")).collect::<String>();
    let examples = tests(Fast, "examples in documentation", &format!("--doc {}", examples.trim_end()));
    vec![
        deny("deny", "check --hide-inclusion-graph bans licenses sources", Reading::Status),
        deny("advisories", "check --hide-inclusion-graph advisories", no_database),
        Step { env: compiler(), ..examples },
        with_env("RUSTDOCFLAGS", "-D warnings", documentation),
        // Every order in which threads can meet in the lock-free parts. In a folder of its own, or each run of the
        // others would compile everything again.
        with_env(
            "RUSTFLAGS",
            "--cfg loom",
            tests(Slow, "tests of threads", "-p reactor -p cache-store --lib --target-dir target/loom loom"),
        ),
        // Running them takes a nightly compiler; any compiler can check the code that they call. They are a workspace
        // of their own.
        with_env(
            "RUSTFLAGS",
            "--cfg fuzzing",
            cargo(
                Slow,
                "check of the fuzz targets",
                "check --manifest-path fuzz/Cargo.toml --locked --target-dir target/fuzz",
            ),
        ),
        // The default features, and benchmarks, which the tests do not compile.
        cargo(
            Slow,
            "clippy of a default build and of benchmarks",
            "clippy --workspace --all-targets --locked -- -D warnings",
        ),
        // A feature that is off by default is compiled only here: parquet.
        cargo(
            Slow,
            "clippy of formats",
            "clippy -p export -p taillight --features export/parquet,taillight/parquet --all-targets --locked -- -D warnings",
        ),
        tests(Slow, "tests of formats", "-p export --all-features"),
        // With the features of a default build, whose messages about stages differ.
        with_bpf(tests(Slow, "tests of probes without the kernel", "-p probes")),
        with_bpf(tests(
            Slow,
            "tests of probes on the command line without the kernel",
            "-p taillight --test cli probes",
        )),
        Step { command: tools.aarch64.clone().and(aarch64.command), reading: Reading::Tests, ..aarch64 },
    ]
}

/// Packages with runnable examples in their documentation: fenced blocks without the language `text`.
fn packages_with_examples() -> BTreeSet<String> {
    let has_example = |text: &str| {
        let fences = text.lines().map(str::trim_start).filter_map(|line| {
            line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?.trim().strip_prefix("```")
        });
        fences.step_by(2).any(|language| language != "text")
    };
    let Ok(repository) = Repository::read() else { return BTreeSet::new() };
    let sources = repository.ending(".rs").filter(|(file, text)| file.contains("/src/") && has_example(text));
    let package = |file: &str| Some(file.strip_prefix("crates/")?.split('/').next()?.to_owned());
    sources.filter_map(|(file, _)| package(file)).collect()
}

impl Step {
    /// The command as a reader would type it.
    pub(super) fn shown(&self) -> String {
        let words = self.command.as_ref().map_or_else(|_| "–".into(), |words| words.join(" "));
        let env: String = self.env.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
        format!("{env}{words}")
    }

    /// Runs the command. `whole`: collects its output and writes it to `out` at the end, for steps that run in parallel
    /// with others.
    pub(super) fn run(&self, tally: &mut Tally, out: &mut dyn Write, whole: bool) -> Outcome {
        let words = match &self.command {
            Ok(words) => words,
            Err(why) => return Outcome::Skipped(why.clone()),
        };
        self.run_words(words, tally, out, whole)
            .unwrap_or_else(|error| Outcome::Failed(format!("cannot run {}: {error}", words[0])))
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(ROOT).envs(self.env.iter().cloned());
        as_by_hand(&mut command);
        command
    }

    fn run_words(
        &self,
        words: &[String],
        tally: &mut Tally,
        out: &mut dyn Write,
        whole: bool,
    ) -> io::Result<Outcome> {
        let mut command = self.command(words);
        let (status, lacking) = match self.reading {
            Reading::Status if whole => {
                let mut said = tempfile::tempfile()?;
                let status = command.stdout(said.try_clone()?).stderr(said.try_clone()?).status()?;
                said.rewind()?;
                io::copy(&mut said, out)?;
                (status, None)
            }
            Reading::Status => (command.status()?, None),
            Reading::Tests => {
                let mut child = command.stdout(Stdio::piped()).spawn()?;
                for line in lines(child.stdout.take()) {
                    if tally.line(&line) {
                        writeln!(out, "{line}")?;
                    }
                }
                (child.wait()?, None)
            }
            Reading::Lacking { said, why } => {
                let mut child = command.stderr(Stdio::piped()).spawn()?;
                let mut lacking = None;
                for line in lines(child.stderr.take()) {
                    if line.contains(said) {
                        lacking = Some(why);
                    }
                    writeln!(out, "{line}")?;
                }
                (child.wait()?, lacking)
            }
        };
        Ok(match (status.success(), lacking) {
            (true, _) => Outcome::Passed,
            (false, Some(why)) => Outcome::Skipped(why.into()),
            (false, None) => Outcome::Failed(status.to_string()),
        })
    }
}

/// The lines of a stream to its end; bytes that are not text are replaced.
fn lines(stream: Option<impl io::Read>) -> impl Iterator<Item = String> {
    let lines =
        stream.into_iter().flat_map(|stream| BufReader::new(stream).split(b'\n').map_while(Result::ok));
    lines.map(|line| String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(reading: Reading) -> Step {
        Step { name: "x", tier: Tier::Fast, command: Err("nothing".into()), env: Vec::new(), reading }
    }

    #[test]
    fn reads_how_a_command_went() {
        let check = |command: Result<&str, &str>, reading: Reading, expect: Outcome| {
            let command = command.map(|script| ["sh", "-c", script].map(str::to_owned).to_vec());
            let command = command.map_err(str::to_owned);
            let step = Step { command, env: vec![("A".into(), "b".into())], ..step(reading) };
            assert_eq!(step.run(&mut Tally::default(), &mut Vec::new(), false), expect);
        };
        let lacking = || Reading::Lacking { said: "no network", why: "offline" };
        let failed = || Outcome::Failed("exit status: 3".into());
        check(Ok("exit 0"), Reading::Status, Outcome::Passed);
        check(Ok("exit 3"), Reading::Status, failed());
        check(Ok("exec >&- 2>&-; [ $A = b ]"), Reading::Status, Outcome::Passed);
        check(Ok("exit 3"), lacking(), failed());
        check(
            Ok("echo there is no network today >&2; exit 3"),
            lacking(),
            Outcome::Skipped("offline".into()),
        );
        check(Ok("echo no network >&2"), lacking(), Outcome::Passed);
        check(Err("not there"), Reading::Status, Outcome::Skipped("not there".into()));
    }

    #[test]
    fn counts_what_tests_say() {
        let mut tally = Tally::default();
        let script =
            "echo 'test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured'; printf 'last \\377'; exit 1";
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let step = Step { command: Ok(command), ..step(Reading::Tests) };
        let mut out = Vec::new();
        assert_eq!(step.run(&mut tally, &mut out, false), Outcome::Failed("exit status: 1".into()));
        assert_eq!(tally.passed, 4);
        let expect = "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured\nlast \u{fffd}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn what_runs_beside_others_is_read_in_one_piece() {
        let command = ["sh", "-c", "echo one >&2; echo two"].map(str::to_owned).to_vec();
        let step = Step { command: Ok(command), ..step(Reading::Status) };
        let mut out = Vec::new();
        assert_eq!(step.run(&mut Tally::default(), &mut out, true), Outcome::Passed);
        assert_eq!(String::from_utf8(out).unwrap(), "one\ntwo\n");
    }

    fn tools(deny: Result<PathBuf, String>) -> Tools {
        Tools { clients: Ok(()), deny, bpf: Ok(()), aarch64: Ok(()), chart: true }
    }

    /// The commands of a tier, by name.
    fn shown(tools: &Tools, tier: Tier) -> Vec<(&'static str, String)> {
        let steps = all(tools).into_iter().filter(|step| step.tier == tier);
        steps.map(|step| (step.name, step.shown())).collect()
    }

    #[test]
    fn what_would_have_to_be_compiled_first_is_left_to_the_slow_tier() {
        let names =
            |tools: &Tools, tier| shown(tools, tier).into_iter().map(|step| step.0).collect::<Vec<_>>();
        let with_deny = tools(Ok("/x/cargo-deny".into()));
        assert_eq!(names(&with_deny, Tier::Fast), ["deny", "advisories", "examples in documentation"]);
        assert!(shown(&with_deny, Tier::Fast)[0].1.starts_with("/x/cargo-deny check --hide-inclusion-graph"));
        let without = tools(Err("absent".into()));
        assert_eq!(names(&without, Tier::Fast), ["examples in documentation"]);
        assert_eq!(names(&without, Tier::Slow)[..3], ["deny", "advisories", "documentation"]);
    }

    #[test]
    fn tests_and_examples_are_compiled_by_clippy() {
        let build = TestBuild::new(true, None).shown();
        let examples = shown(&tools(Err("absent".into())), Tier::Fast).remove(0).1;
        for command in [&build, &examples] {
            assert!(
                command.starts_with(&format!("{}='{}' cargo test ", COMPILER.0, COMPILER.1)),
                "{command}"
            );
        }
        assert!(build.contains(&format!("--workspace --features {BPF_FEATURES} --locked")), "{build}");
        // The examples of the protocols are for users of their API.
        assert!(examples.contains(" --doc -p proto-memcache -p proto-resp --locked"), "{examples}");
        assert!(TestBuild::new(false, None).shown().ends_with("cargo test --workspace --locked --no-run"));
        assert!(Path::new(COMPILER.1).is_file());
    }

    #[test]
    fn shuffles_by_a_seed_that_can_be_given_again() {
        let build = TestBuild::new(false, Some(7));
        assert_eq!(build.runner, ["env", "RUSTC_BOOTSTRAP=1"]);
        assert_eq!(build.harness.join(" "), "--show-output -Z unstable-options --shuffle-seed 7");
    }
}
