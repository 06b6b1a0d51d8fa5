use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::tally::Tally;
use super::tools::Tools;

/// One check: a command, and how to read what it says.
pub(super) struct Step {
    pub(super) name: &'static str,
    /// The program and its arguments; why it is left out, where it is missing.
    command: Result<Vec<String>, String>,
    /// A variable of its environment.
    env: Option<(&'static str, &'static str)>,
    reading: Reading,
}

#[derive(Clone, Copy)]
enum Reading {
    /// It passes by its exit status.
    Status,
    /// `cargo test`, whose output is counted.
    Tests,
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

/// All checks, the quick ones first.
pub(super) fn all(tools: &Tools) -> Vec<Step> {
    let cargo = |name, arguments: &str| {
        let command = ["cargo"].into_iter().chain(arguments.split(' ')).map(str::to_owned).collect();
        Step { name, command: Ok(command), env: None, reading: Reading::Status }
    };
    let deny = |name, arguments: &str, reading| {
        let command = tools.deny.as_ref().map_err(String::clone).map(|program: &PathBuf| {
            let program = program.display().to_string();
            [program].into_iter().chain(arguments.split(' ').map(str::to_owned)).collect()
        });
        Step { name, command, env: None, reading }
    };
    let with_bpf = |arguments: &str| {
        let words = ["cargo"].into_iter().chain(arguments.split(' ')).map(str::to_owned).collect();
        tools.bpf.clone().map(|()| words)
    };
    let no_database = Reading::Lacking {
        said: "failed to fetch advisory database",
        why: "the database of advisories cannot be reached from here",
    };
    vec![
        cargo("format", "fmt --all --check"),
        cargo("tidy", "xtask tidy"),
        cargo("clippy", "clippy --workspace --all-targets --locked -- -D warnings"),
        deny("deny", "check --hide-inclusion-graph bans licenses sources", Reading::Status),
        deny("advisories", "check --hide-inclusion-graph advisories", no_database),
        Step {
            reading: Reading::Tests,
            ..cargo("tests", "test --workspace --locked --no-fail-fast -- --show-output")
        },
        // What is off by default is compiled nowhere else: parquet, OTLP.
        cargo("clippy of formats", "clippy -p export --all-features --all-targets --locked -- -D warnings"),
        Step {
            reading: Reading::Tests,
            ..cargo(
                "tests of formats",
                "test -p export --all-features --locked --no-fail-fast -- --show-output",
            )
        },
        Step {
            command: with_bpf("clippy -p probes --features bpf --all-targets --locked -- -D warnings"),
            ..cargo("clippy of probes in the kernel", "")
        },
        Step {
            command: with_bpf("test -p probes --features bpf --locked --no-fail-fast -- --show-output"),
            reading: Reading::Tests,
            ..cargo("tests of probes in the kernel", "")
        },
        // Those of the command line are compiled without the feature above, so no stages are seen there.
        Step {
            command: with_bpf(
                "test -p taillight --features bpf --locked --test cli --no-fail-fast probes -- --show-output",
            ),
            reading: Reading::Tests,
            ..cargo("tests of probes on the command line", "")
        },
        Step {
            env: Some(("RUSTDOCFLAGS", "-D warnings")),
            ..cargo("documentation", "doc --workspace --no-deps --locked")
        },
        // Every order in which threads can meet in the lock-free parts. In a folder of its own, or each run of the
        // others would compile everything again.
        Step {
            env: Some(("RUSTFLAGS", "--cfg loom")),
            reading: Reading::Tests,
            ..cargo(
                "tests of threads",
                "test -p reactor -p cache-store --lib --locked --no-fail-fast --target-dir target/loom loom -- --show-output",
            )
        },
    ]
}

impl Step {
    /// The command as a reader would type it.
    pub(super) fn shown(&self) -> String {
        let words = self.command.as_ref().map_or_else(|_| "–".into(), |words| words.join(" "));
        match self.env {
            Some((name, value)) => format!("{name}='{value}' {words}"),
            None => words,
        }
    }

    /// Runs it; what it says streams to `out`, as far as it does not go to this program's own output.
    pub(super) fn run(&self, tally: &mut Tally, out: &mut dyn Write) -> Outcome {
        let words = match &self.command {
            Ok(words) => words,
            Err(why) => return Outcome::Skipped(why.clone()),
        };
        self.run_words(words, tally, out)
            .unwrap_or_else(|error| Outcome::Failed(format!("cannot run {}: {error}", words[0])))
    }

    fn run_words(&self, words: &[String], tally: &mut Tally, out: &mut dyn Write) -> io::Result<Outcome> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).envs(self.env);
        // What only the next build of the same tree would use takes gigabytes, and there is no next one.
        command.env("CARGO_INCREMENTAL", "0");
        let (status, lacking) = match self.reading {
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

/// The lines of a stream to its end; bytes that are no text are replaced.
fn lines(stream: Option<impl io::Read>) -> impl Iterator<Item = String> {
    let lines =
        stream.into_iter().flat_map(|stream| BufReader::new(stream).split(b'\n').map_while(Result::ok));
    lines.map(|line| String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_a_command_went() {
        let check = |command: Result<&str, &str>, reading: Reading, expect: Outcome| {
            let command = command.map(|script| ["sh", "-c", script].map(str::to_owned).to_vec());
            let step =
                Step { name: "x", command: command.map_err(str::to_owned), env: Some(("A", "b")), reading };
            assert_eq!(step.run(&mut Tally::default(), &mut Vec::new()), expect);
        };
        let lacking = Reading::Lacking { said: "no network", why: "offline" };
        let failed = || Outcome::Failed("exit status: 3".into());
        check(Ok("exit 0"), Reading::Status, Outcome::Passed);
        check(Ok("exit 3"), Reading::Status, failed());
        check(Ok("exec >&- 2>&-; [ $A = b ]"), Reading::Status, Outcome::Passed);
        check(Ok("exit 3"), lacking, failed());
        check(Ok("echo there is no network today >&2; exit 3"), lacking, Outcome::Skipped("offline".into()));
        check(Ok("echo no network >&2"), lacking, Outcome::Passed);
        check(Err("not there"), Reading::Status, Outcome::Skipped("not there".into()));
    }

    #[test]
    fn counts_what_tests_say() {
        let mut tally = Tally::default();
        let script =
            "echo 'test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured'; printf 'last \\377'; exit 1";
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let step = Step { name: "x", command: Ok(command), env: None, reading: Reading::Tests };
        let mut out = Vec::new();
        assert_eq!(step.run(&mut tally, &mut out), Outcome::Failed("exit status: 1".into()));
        assert_eq!(tally.passed, 4);
        let expect = "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured\nlast \u{fffd}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn shows_what_to_type() {
        let tools = Tools { deny: Ok("/x/cargo-deny".into()), bpf: Ok(()) };
        let shown: Vec<String> = all(&tools).iter().map(Step::shown).collect();
        assert_eq!(shown[0], "cargo fmt --all --check");
        assert_eq!(shown[3], "/x/cargo-deny check --hide-inclusion-graph bans licenses sources");
        assert_eq!(shown[9], "cargo test -p probes --features bpf --locked --no-fail-fast -- --show-output");
        let with_bpf = "cargo test -p taillight --features bpf --locked --test cli --no-fail-fast probes";
        assert!(shown[10].starts_with(with_bpf));
        assert_eq!(shown[11], "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked");
        assert!(shown[12].starts_with("RUSTFLAGS='--cfg loom' cargo test -p reactor -p cache-store --lib"));
    }
}
