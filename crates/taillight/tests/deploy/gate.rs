//! `deploy/ci/gate.sh`, which a job of CI runs: two servers are started, compared and stopped. The action and the job around it
//! are run by their shell steps, with stand-ins for the programs that compare and that send the comment.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use launch::testing::write_program;
use tempfile::TempDir;

use crate::documents::yaml;
use crate::tools::deploy;

/// Two ports that were free just now.
fn ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn script() -> PathBuf {
    deploy().join("ci/gate.sh")
}

/// The command of a server that takes this long for each request.
fn server(service: &str) -> String {
    let program = env!("CARGO_BIN_EXE_taillight");
    format!(
        "exec '{program}' serve null --dialect memcached --listen 127.0.0.1:$PORT --service constant:{service}"
    )
}

/// Runs the script in `folder`, and checks that it leaves no server.
fn gate(folder: &Path, servers: [&str; 2], env: &[(&str, &str)], options: &[&str]) -> Output {
    let ports = ports();
    let mut command = Command::new(script());
    command.args(servers).args(options).current_dir(folder).env("TAILLIGHT", env!("CARGO_BIN_EXE_taillight"));
    command.env("BASE_PORT", ports[0].to_string()).env("HEAD_PORT", ports[1].to_string());
    let output = command.envs(env.iter().copied()).output().unwrap();
    for port in ports {
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "a server is left on port {port}");
    }
    output
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_job_ends_as_the_comparison_does() {
    let folder = TempDir::new().unwrap();
    // A stand-in for the comparison, which takes minutes: it prints its arguments and ends with a chosen code.
    let compares = folder.path().join("compares");
    write_program(&compares, "echo \"asked for: $*\"\nexit \"$ENDS\"");
    let program = compares.display().to_string();
    let server = server("1us");
    let check = |ends: &str, open: &str, expect: i32| {
        let env = [("TAILLIGHT", &*program), ("ENDS", ends), ("OPEN", open), ("GATE", "3")];
        let output = gate(folder.path(), [&server, &server], &env, &["--loads", "50"]);
        assert_eq!(output.status.code(), Some(expect), "{}", said(&output));
        let options = "--gate 3 --markdown taillight-gate.md --out taillight-gate --no-live --loads 50";
        assert!(said(&output).contains("asked for: compare --live 127.0.0.1:"), "{}", said(&output));
        assert!(said(&output).contains(options), "{}", said(&output));
    };
    check("0", "pass", 0);
    check("99", "pass", 99);
    check("75", "pass", 0);
    check("75", "fail", 75);
    check("1", "pass", 1);
}

#[test]
fn a_server_that_does_not_start_is_named_with_what_it_said() {
    let folder = TempDir::new().unwrap();
    let output = gate(folder.path(), [&server("1us"), "echo no such option; exit 2"], &[], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("the head server does not answer on port"), "{}", said(&output));
    assert!(said(&output).contains("no such option"), "{}", said(&output));
    assert_eq!(Command::new(script()).output().unwrap().status.code(), Some(2));
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_build_that_takes_half_as_long_again_is_found_and_a_like_one_is_not() {
    let options = ["--keys", "1000", "--connections", "4", "--budget", "90s"];
    for (service, expect) in [("400us", Some("**127.0.0.1:")), ("250us", None)] {
        let folder = TempDir::new().unwrap();
        let output = gate(folder.path(), [&server("250us"), &server(service)], &[("GATE", "20")], &options);
        let comment = fs::read_to_string(folder.path().join("taillight-gate.md")).unwrap();
        println!("{}{comment}", said(&output));
        // A machine that is too restless says nothing, and the job passes.
        assert!(matches!(output.status.code(), Some(0 | 99)), "{}", said(&output));
        match expect {
            Some(words) if output.status.code() == Some(99) => {
                assert!(
                    comment.starts_with(words) && comment.contains("is more than 20 % worse than"),
                    "{comment}"
                );
            }
            Some(_) => assert!(comment.starts_with("**It is open whether"), "{comment}"),
            None => assert_eq!(output.status.code(), Some(0), "{comment}"),
        }
    }
}

/// A checkout whose newest commit changes the server, and the stand-ins: a comparison that finds the second side worse, and
/// programs that keep their arguments and their input instead of sending a comment.
struct Job {
    place: TempDir,
    /// Base and head.
    commits: [String; 2],
}

impl Job {
    /// `depth`: of the checkout, as options of `git clone`.
    fn new(depth: &[&str]) -> Job {
        let place = TempDir::new().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("repo")).unwrap();
        fs::create_dir(at("bin")).unwrap();
        let compares = "echo \"asked for: $*\"\nwhile [ $# -gt 0 ]; do\n\
                        [ \"$1\" != --markdown ] || echo worse >\"$2\"\nshift\ndone\nexit 99";
        write_program(&at("bin/taillight"), compares);
        for sends in ["bin/gh", "bin/curl"] {
            write_program(&at(sends), "{ echo \"$*\"; cat; } >\"$SENT\"");
        }
        let server = format!(
            "cat built\nexec '{}' serve null --dialect memcached --listen \"127.0.0.1:$1\"",
            env!("CARGO_BIN_EXE_taillight")
        );
        write_program(&at("repo/server.sh"), &server);
        git(&at("repo"), &["init", "--quiet"]);
        let commits = ["base", "head"].map(|version| {
            fs::write(at("repo/version"), format!("{version}\n")).unwrap();
            git(&at("repo"), &["add", "."]);
            git(&at("repo"), &["commit", "--quiet", "--message", version]);
            git(&at("repo"), &["rev-parse", "HEAD"])
        });
        let origin = format!("file://{}", at("repo").display());
        git(place.path(), &[&["clone", "--quiet"][..], depth, &[origin.as_str(), "work"]].concat());
        Job { place, commits }
    }

    fn at(&self, name: &str) -> String {
        self.place.path().join(name).display().to_string()
    }

    /// Runs a script as CI does.
    fn run(&self, script: &str, env: &[(String, String)]) -> Output {
        let ports = ports();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(self.at("work"));
        bash.env("PATH", format!("{}:{path}", self.at("bin"))).env("SENT", self.at("sent"));
        bash.env("BASE_PORT", ports[0].to_string()).env("HEAD_PORT", ports[1].to_string());
        bash.envs(env.iter().map(|(name, value)| (name, value))).output().unwrap()
    }

    /// Checks that each server was built of its commit, and that the comparison had these options.
    fn check(&self, compared: &Output, options: &str) {
        assert_eq!(compared.status.code(), Some(99), "{}", said(compared));
        assert!(said(compared).contains(options), "{}", said(compared));
        for version in ["base", "head"] {
            let log = fs::read_to_string(self.at(&format!("work/taillight-gate/{version}.log"))).unwrap();
            assert!(log.starts_with(version), "{version}: {log}");
        }
    }

    /// The arguments of the program that sent the comment, and its input below them.
    fn sent(&self) -> String {
        fs::read_to_string(self.at("sent")).unwrap()
    }
}

/// The output of git, which must succeed.
fn git(folder: &Path, words: &[&str]) -> String {
    // Without the settings of who runs the tests, such as hooks.
    let own = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.hooksPath=/dev/null"];
    let output = Command::new("git").args(own).args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The text with the values of GitHub's expressions in it.
fn expanded(text: &str, known: &[(String, String)]) -> String {
    let text = known
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{{ {name} }}}}"), value));
    assert!(!text.contains("${{"), "an expression without a value: {text}");
    text
}

fn pairs<const N: usize>(of: [(&str, &str); N]) -> Vec<(String, String)> {
    of.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[test]
fn the_action_builds_base_and_head_and_comments() {
    let job = Job::new(&["--depth", "1"]);
    let action = yaml("ci/action.yml");
    let mut known = pairs([
        ("inputs.build", "cp version built"),
        ("inputs.server", "./server.sh $PORT"),
        ("inputs.options", "--loads 50"),
        ("runner.temp", &job.at("")),
        ("github.token", "secret"),
        ("github.event.pull_request.number", "7"),
    ]);
    for (name, input) in action["inputs"].as_mapping().unwrap() {
        let default = input["default"].as_str().unwrap().to_owned();
        known.push((format!("inputs.{}", name.as_str().unwrap()), default));
    }
    let own = pairs([
        ("GITHUB_SHA", &job.commits[1]),
        ("GITHUB_REPOSITORY", "lab/server"),
        ("GITHUB_STEP_SUMMARY", &job.at("summary")),
        ("GITHUB_ACTION_PATH", &deploy().join("ci").display().to_string()),
    ]);
    let steps = action["runs"]["steps"].as_sequence().unwrap().iter().map(|step| {
        assert_eq!(step["shell"].as_str(), Some("bash"));
        let mut env = own.clone();
        for (name, value) in step["env"].as_mapping().unwrap() {
            env.push((name.as_str().unwrap().to_owned(), expanded(value.as_str().unwrap(), &known)));
        }
        job.run(step["run"].as_str().unwrap(), &env)
    });
    let outputs: Vec<Output> = steps.collect();
    let [built, compared, commented] = &outputs[..] else { panic!("{} steps", outputs.len()) };
    assert!(built.status.success(), "{}", said(built));
    job.check(compared, "--gate 5 --markdown");
    assert!(said(compared).contains("--loads 50"), "{}", said(compared));
    assert!(commented.status.success(), "{}", said(commented));
    assert!(job.sent().starts_with("pr comment 7 --repo lab/server "), "{}", job.sent());
    assert_eq!(fs::read_to_string(job.at("summary")).unwrap(), "worse\n");
}

#[test]
fn the_job_of_gitlab_builds_base_and_head_and_comments() {
    let job = Job::new(&[]);
    fs::create_dir_all(job.at("work/deploy/ci")).unwrap();
    fs::copy(script(), job.at("work/deploy/ci/gate.sh")).unwrap();
    let file = yaml("ci/gitlab.yml");
    let gate = &file[".taillight-gate"];
    let lines = |name: &str| {
        let lines = gate[name].as_sequence().unwrap().iter().map(|line| line.as_str().unwrap());
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut env = pairs([
        ("BUILD", "cp version built"),
        ("SERVER", "./server.sh $PORT"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &job.commits[0]),
        ("GATE_TOKEN", "secret"),
        ("CI_API_V4_URL", "https://lab.example/api/v4"),
        ("CI_PROJECT_ID", "3"),
        ("CI_MERGE_REQUEST_IID", "7"),
    ]);
    for (name, value) in gate["variables"].as_mapping().unwrap() {
        // Numbers are for GitLab itself.
        if let Some(value) = value.as_str() {
            env.push((name.as_str().unwrap().to_owned(), value.to_owned()));
        }
    }
    let compared = job.run(&lines("script"), &env);
    job.check(&compared, "--gate 5 --markdown taillight-gate.md");
    let commented = job.run(&lines("after_script"), &env);
    assert!(commented.status.success(), "{}", said(&commented));
    let notes = "body@taillight-gate.md https://lab.example/api/v4/projects/3/merge_requests/7/notes";
    let sent = job.sent();
    let (arguments, input) = sent.split_once('\n').unwrap();
    assert!(arguments.contains(notes) && !arguments.contains("secret"), "{sent}");
    assert_eq!(input, "header = \"PRIVATE-TOKEN: secret\"\n");
}
