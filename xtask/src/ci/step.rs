use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::Tier;
use super::programs::{self, Program};
use super::tally::Tally;
use super::tools::{BPF_FEATURES, Tools, as_by_hand};

/// The root of this repository, where the commands run.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// One check: a command, and how to read what it says.
pub(super) struct Step {
    pub(super) name: &'static str,
    /// The tier that it belongs to: a step of the slow one is left out of the fast one.
    pub(super) tier: Tier,
    /// The program and its arguments; why it is left out, where it is missing.
    command: Result<Vec<String>, String>,
    /// Variables of its environment.
    env: Vec<(String, String)>,
    reading: Reading,
    pub(super) when: When,
}

/// When a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// In its turn.
    InTurn,
    /// While tools are installed, of which it needs none.
    ToolsAreInstalled,
    /// From its turn on, until test programs are built.
    TestsAreBuilt,
}

#[derive(Clone, Debug)]
enum Reading {
    /// It passes by its exit status.
    Status,
    /// `cargo test`, whose output is counted.
    Tests,
    /// `cargo test` as well, with its programs run several at a time, and others among them.
    Programs(Vec<Program>),
    /// It passes by its exit status, and is left out where it says this.
    Lacking { said: &'static str, why: &'static str },
}

/// How a check went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// A command of cargo, which passes by its exit status.
fn cargo(tier: Tier, name: &'static str, arguments: &str) -> Step {
    let command = ["cargo"].into_iter().chain(arguments.split(' ')).map(str::to_owned).collect();
    Step { name, tier, command: Ok(command), env: Vec::new(), reading: Reading::Status, when: When::InTurn }
}

/// The checks that need nothing but the Rust toolchain, the quick ones first.
pub(super) fn without_tools() -> Vec<Step> {
    let checks = [
        ("format", "fmt --all --check"),
        ("tidy", "xtask tidy"),
        ("clippy", "clippy --workspace --all-targets --locked -- -D warnings"),
    ];
    let step =
        |(name, arguments)| Step { when: When::ToolsAreInstalled, ..cargo(Tier::Fast, name, arguments) };
    checks.map(step).into()
}

/// All other checks of both tiers. With `shuffle`, tests run in the order that this seed gives.
///
/// Nearly all code is compiled twice: by clippy with the features that a build has by default, and by the tests with the
/// programs in the kernel as well where they can be built. Each other set of features compiles most of the
/// workspace again, so the slow tier has those.
pub(super) fn all(tools: &Tools, shuffle: Option<u64>) -> Vec<Step> {
    use Tier::{Fast, Slow};
    let bpf = tools.bpf.is_ok();
    let deny = |name, arguments: &str, reading| {
        let command = tools.deny.as_ref().map_err(String::clone).map(|program: &PathBuf| {
            let program = program.display().to_string();
            [program].into_iter().chain(arguments.split(' ').map(str::to_owned)).collect()
        });
        // It takes longer to compile cargo-deny than to run all other checks but the tests.
        let tier = if tools.deny.is_ok() { Fast } else { Slow };
        Step { name, tier, command, env: Vec::new(), reading, when: When::InTurn }
    };
    let tests = |tier, name, arguments: &str| {
        let mut arguments = format!("test {arguments} --locked --no-fail-fast -- --show-output");
        let mut env = Vec::new();
        if let Some(seed) = shuffle {
            // The harness shuffles for nightly compilers only. That it has one is told to the tests and not to rustc,
            // which would compile everything again; rustdoc, which runs the examples in documentation, is told nothing.
            arguments = arguments.replace("--workspace", "--workspace --lib --bins --tests");
            arguments.push_str(&format!(" -Z unstable-options --shuffle-seed {seed}"));
            env.push((runner_variable(std::env::consts::ARCH), "env RUSTC_BOOTSTRAP=1".into()));
        }
        Step { reading: Reading::Tests, env, ..cargo(tier, name, &arguments) }
    };
    // Those that say why they are left out of the fast tier. They are compiled with the others.
    let slow_tests = |step: Step| {
        let ignored = |words: Vec<String>| words.into_iter().chain(["--ignored".to_owned()]).collect();
        Step { command: step.command.map(ignored), ..step }
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
    let features = if bpf { format!(" --features {BPF_FEATURES}") } else { String::new() };
    // Tests start them; a test run that names its targets does not build them.
    let examples = cargo(Fast, "examples", &format!("build --workspace --examples{features} --locked"));
    // Under QEMU's user mode. Compiled apart from the others, so nothing of them is used again.
    let aarch64 = cargo(Slow, "unit tests for aarch64", "xtask aarch64 --core --no-install");
    // Eight languages with their own builds and tests; what this machine has no tools for is skipped by name. One of cargo's tests
    // starts what was built.
    let movies = |words: &[&'static str]| {
        [&["sh", "apps/movies/test.sh"], words, &["apps/movies", "target/movies"]].concat()
    };
    let movies_tests = Program::command("movies", &movies(&[]), Path::new(ROOT));
    let movies_build = Step {
        command: Ok(movies(&["--build"]).into_iter().map(str::to_owned).collect()),
        when: When::TestsAreBuilt,
        ..cargo(Fast, "build of the movie site", "")
    };
    // After the tests and not beside them: they tell the processor time that others take.
    let documentation = cargo(Fast, "documentation", "doc --workspace --no-deps --locked");
    let documentation = with_env("RUSTDOCFLAGS", "-D warnings", documentation);
    let mut steps: Vec<Step> = shuffle.is_some().then_some(examples).into_iter().collect();
    steps.extend([
        movies_build,
        deny("deny", "check --hide-inclusion-graph bans licenses sources", Reading::Status),
        deny("advisories", "check --hide-inclusion-graph advisories", no_database),
        Step {
            reading: Reading::Programs(vec![movies_tests]),
            ..tests(Fast, "tests", &format!("--workspace{features}"))
        },
        documentation,
        slow_tests(tests(Slow, "slow tests", &format!("--workspace --lib --bins --tests{features}"))),
        // Every order in which threads can meet in the lock-free parts. In a folder of its own, or each run of the
        // others would compile everything again.
        with_env(
            "RUSTFLAGS",
            "--cfg loom",
            tests(Slow, "tests of threads", "-p reactor -p cache-store --lib --target-dir target/loom loom"),
        ),
        // To run them takes a nightly compiler; what they call is checked by any. They are a workspace of their own.
        with_env(
            "RUSTFLAGS",
            "--cfg fuzzing",
            cargo(
                Slow,
                "check of the fuzz targets",
                "check --manifest-path fuzz/Cargo.toml --locked --target-dir target/fuzz",
            ),
        ),
        // What is off by default is compiled nowhere else: parquet, OTLP.
        cargo(
            Slow,
            "clippy of formats",
            "clippy -p export -p taillight --features export/parquet,export/otlp,taillight/parquet,taillight/otlp --all-targets --locked -- -D warnings",
        ),
        tests(Slow, "tests of formats", "-p export --all-features"),
        with_bpf(cargo(
            Slow,
            "clippy of probes in the kernel",
            "clippy -p probes -p taillight --features probes/bpf,taillight/bpf --all-targets --locked -- -D warnings",
        )),
        // With the features of a default build, whose messages about stages differ.
        with_bpf(tests(Slow, "tests of probes without the kernel", "-p probes")),
        with_bpf(tests(
            Slow,
            "tests of probes on the command line without the kernel",
            "-p taillight --test cli probes",
        )),
        Step {
            command: tools.aarch64.clone().and(aarch64.command),
            reading: Reading::Tests,
            ..aarch64
        },
    ]);
    steps
}

/// The variable that names what cargo runs test programs with.
fn runner_variable(arch: &str) -> String {
    format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER", arch.to_uppercase())
}

impl Step {
    /// The command as a reader would type it.
    pub(super) fn shown(&self) -> String {
        let words = self.command.as_ref().map_or_else(|_| "–".into(), |words| words.join(" "));
        let env: String = self.env.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
        format!("{env}{words}")
    }

    /// Runs it; what it says streams to `out`, as far as it does not go to this program's own output. `built` is called when test
    /// programs are built, before they run.
    pub(super) fn run(&self, tally: &mut Tally, out: &mut dyn Write, built: &mut dyn FnMut()) -> Outcome {
        let words = match &self.command {
            Ok(words) => words,
            Err(why) => return Outcome::Skipped(why.clone()),
        };
        self.run_words(words, tally, out, built)
            .unwrap_or_else(|error| Outcome::Failed(format!("cannot run {}: {error}", words[0])))
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(ROOT).envs(self.env.iter().cloned());
        as_by_hand(&mut command);
        command
    }

    /// Builds the programs of a `cargo test`, runs them and `others` several at a time, and then the examples in documentation.
    fn run_programs(
        &self,
        words: &[String],
        others: &[Program],
        tally: &mut Tally,
        out: &mut dyn Write,
        built: &mut dyn FnMut(),
    ) -> io::Result<Outcome> {
        let (cargo, harness) =
            words.split_at(words.iter().position(|word| word == "--").unwrap_or(words.len()));
        let harness = harness.get(1..).unwrap_or_default();
        let runner = self.env.iter().find(|(name, _)| *name == runner_variable(std::env::consts::ARCH));
        let runner: Vec<String> =
            runner.map_or_else(Vec::new, |(_, words)| words.split(' ').map(str::to_owned).collect());
        let start = Instant::now();
        let build = ["--no-run", "--message-format=json-render-diagnostics"].map(str::to_owned);
        let mut child = self.command(&[cargo, &build].concat()).stdout(Stdio::piped()).spawn()?;
        let ours = lines(child.stdout.take()).filter_map(|line| Program::read(&line, &runner, harness));
        let all: Vec<Program> = ours.chain(others.iter().cloned()).collect();
        let status = child.wait()?;
        if !status.success() {
            return Ok(Outcome::Failed(format!("it does not compile: {status}")));
        }
        let at_once = programs::at_once();
        let took = start.elapsed().as_secs_f64();
        writeln!(out, "built in {took:.1} s")?;
        built();
        writeln!(out, "\n{} programs run, {at_once} at a time", all.len())?;
        let mut well = programs::run(all, at_once, tally, out)?;
        // Named targets leave the examples in documentation out.
        if !words.iter().any(|word| word == "--tests") {
            let doc = [&cargo[..2], &["--doc".to_owned()], &cargo[2..], &["--".to_owned()], harness].concat();
            let doc = Step { reading: Reading::Tests, ..self.with(doc) };
            well &= doc.run(tally, out, &mut || ()) == Outcome::Passed;
        }
        Ok(if well { Outcome::Passed } else { Outcome::Failed("a test program failed".into()) })
    }

    /// The same check by another command.
    fn with(&self, words: Vec<String>) -> Step {
        Step {
            name: self.name,
            tier: self.tier,
            command: Ok(words),
            env: self.env.clone(),
            reading: Reading::Status,
            when: When::InTurn,
        }
    }

    fn run_words(
        &self,
        words: &[String],
        tally: &mut Tally,
        out: &mut dyn Write,
        built: &mut dyn FnMut(),
    ) -> io::Result<Outcome> {
        let mut command = self.command(words);
        let (status, lacking) = match &self.reading {
            Reading::Programs(others) => return self.run_programs(words, others, tally, out, built),
            // Beside others its output comes in one piece.
            Reading::Status if self.when != When::InTurn => {
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
                        lacking = Some(*why);
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
        Step {
            name: "x",
            tier: Tier::Fast,
            command: Err("nothing".into()),
            env: Vec::new(),
            reading,
            when: When::InTurn,
        }
    }

    #[test]
    fn reads_how_a_command_went() {
        let check = |command: Result<&str, &str>, reading: Reading, expect: Outcome| {
            let command = command.map(|script| ["sh", "-c", script].map(str::to_owned).to_vec());
            let command = command.map_err(str::to_owned);
            let step = Step { command, env: vec![("A".into(), "b".into())], ..step(reading) };
            assert_eq!(step.run(&mut Tally::default(), &mut Vec::new(), &mut || ()), expect);
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
        assert_eq!(step.run(&mut tally, &mut out, &mut || ()), Outcome::Failed("exit status: 1".into()));
        assert_eq!(tally.passed, 4);
        let expect = "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured\nlast \u{fffd}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn what_runs_beside_others_is_read_in_one_piece() {
        let command = ["sh", "-c", "echo one >&2; echo two"].map(str::to_owned).to_vec();
        let step = Step { command: Ok(command), when: When::ToolsAreInstalled, ..step(Reading::Status) };
        let mut out = Vec::new();
        assert_eq!(step.run(&mut Tally::default(), &mut out, &mut || ()), Outcome::Passed);
        assert_eq!(String::from_utf8(out).unwrap(), "one\ntwo\n");
    }

    /// The commands of a tier, by name.
    fn shown(tools: &Tools, tier: Tier, shuffle: Option<u64>) -> Vec<(&'static str, String)> {
        let steps = without_tools().into_iter().chain(all(tools, shuffle)).filter(|step| step.tier == tier);
        steps.map(|step| (step.name, step.shown())).collect()
    }

    #[test]
    fn shows_what_to_type() {
        let tools = Tools {
            clients: Ok(()),
            deny: Ok("/x/cargo-deny".into()),
            bpf: Ok(()),
            aarch64: Ok(()),
            chart: true,
        };
        let fast = shown(&tools, Tier::Fast, None);
        let names: Vec<&str> = fast.iter().map(|(name, _)| *name).collect();
        let expect = [
            "format",
            "tidy",
            "clippy",
            "build of the movie site",
            "deny",
            "advisories",
            "tests",
            "documentation",
        ];
        assert_eq!(names, expect);
        assert_eq!(fast[0].1, "cargo fmt --all --check");
        assert_eq!(fast[3].1, "sh apps/movies/test.sh --build apps/movies target/movies");
        assert_eq!(fast[4].1, "/x/cargo-deny check --hide-inclusion-graph bans licenses sources");
        let tests = "cargo test --workspace --features probes/bpf,taillight/bpf --locked --no-fail-fast -- --show-output";
        assert_eq!(fast[6].1, tests);
        assert_eq!(fast[7].1, "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked");
        let mut slow = shown(&tools, Tier::Slow, None);
        let ignored = "cargo test --workspace --lib --bins --tests --features probes/bpf,taillight/bpf --locked --no-fail-fast -- --show-output --ignored";
        assert_eq!(slow.remove(0), ("slow tests", ignored.to_owned()));
        assert!(slow[0].1.starts_with("RUSTFLAGS='--cfg loom' cargo test -p reactor -p cache-store --lib"));
        let formats = "cargo test -p export --all-features --locked --no-fail-fast -- --show-output";
        assert_eq!(slow[3].1, formats);
        let fuzz = "RUSTFLAGS='--cfg fuzzing' cargo check --manifest-path fuzz/Cargo.toml --locked --target-dir target/fuzz";
        assert_eq!(slow[1].1, fuzz);
        let aarch64 = ("unit tests for aarch64", "cargo xtask aarch64 --core --no-install".into());
        assert_eq!(slow.last(), Some(&aarch64));
    }

    #[test]
    fn leaves_to_the_slow_tier_what_would_have_to_be_compiled_first() {
        let tools = Tools {
            clients: Ok(()),
            deny: Err("absent".into()),
            bpf: Err("no clang".into()),
            aarch64: Err("no qemu".into()),
            chart: false,
        };
        let names = |tier| shown(&tools, tier, None).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let fast = ["format", "tidy", "clippy", "build of the movie site", "tests", "documentation"];
        assert_eq!(names(Tier::Fast), fast);
        assert_eq!(names(Tier::Slow)[..2], ["deny", "advisories"]);
        // Without clang the tests have the features of a default build.
        assert!(shown(&tools, Tier::Fast, None)[4].1.starts_with("cargo test --workspace --locked"));
    }

    #[test]
    fn shuffles_by_a_seed_that_can_be_given_again() {
        let tools = Tools {
            clients: Ok(()),
            deny: Err("absent".into()),
            bpf: Err("no clang".into()),
            aarch64: Err("no qemu".into()),
            chart: false,
        };
        let steps = shown(&tools, Tier::Fast, Some(7));
        let steps = &steps[without_tools().len()..];
        assert_eq!(steps[0].1, "cargo build --workspace --examples --locked", "the tests start them");
        let tests = &steps[2].1;
        assert!(tests.contains("_UNKNOWN_LINUX_GNU_RUNNER='env RUSTC_BOOTSTRAP=1' cargo test"), "{tests}");
        assert!(tests.ends_with(" -Z unstable-options --shuffle-seed 7"), "{tests}");
        assert_eq!(runner_variable("x86_64"), "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER");
    }
}
