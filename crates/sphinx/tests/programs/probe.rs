use std::path::Path;
use std::process::{Command, Stdio};

use super::run::{CLIENTS, TOOLS, end, find, spec};

/// How to find out whether a program is installed.
pub(crate) enum Probe {
    /// A command that succeeds.
    Command(&'static [&'static str]),
    Call(fn() -> Result<(), String>),
}

impl Probe {
    /// Why the program cannot be run.
    pub(crate) fn ready(&self) -> Result<(), String> {
        match self {
            Probe::Command(words) => {
                let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
                match end(spec(&words)?) {
                    ended if ended.status == "0" => Ok(()),
                    ended => {
                        let said = ended.errors.iter().find(|line| line.contains("rror"));
                        let said = said.or(ended.errors.last()).map_or("", |line| line.trim());
                        Err(format!("'{}' fails: {said}", words.join(" ")))
                    }
                }
            }
            Probe::Call(call) => call(),
        }
    }
}

/// spymemcached and a Java that compiles the file that it is given.
pub(crate) fn spymemcached() -> Result<(), String> {
    const JAR: &str = "/usr/share/java/spymemcached.jar";
    if !Path::new(JAR).exists() {
        return Err(format!("{JAR} is not here"));
    }
    compiles()
}

/// Jedis and such a Java.
pub(crate) fn jedis() -> Result<(), String> {
    let jars = Path::new(TOOLS).join("jedis");
    if !jars.join("pom.xml").exists() {
        return Err(format!("its jars are not in {}", jars.display()));
    }
    compiles()
}

/// Whether Java compiles the file that it is given.
fn compiles() -> Result<(), String> {
    let modules = end(spec(&["java".to_owned(), "--list-modules".to_owned()])?).lines;
    let compiles = modules.iter().any(|module| module.starts_with("jdk.compiler"));
    if compiles { Ok(()) } else { Err("java has no compiler here".into()) }
}

/// Builds the client in Go from sources fetched by `cargo xtask ci`: tests use no network.
pub(crate) fn gomemcache() -> Result<(), String> {
    build("go", "gomemcache_client")
}

/// The same of go-redis.
pub(crate) fn go_redis() -> Result<(), String> {
    build("go-redis", "go_redis_client")
}

/// Builds the program in this folder.
fn build(folder: &str, program: &str) -> Result<(), String> {
    let go = find("go").ok_or("go is not here")?;
    let built = Command::new(go)
        .args(["build", "-o", &format!("{}/{program}", env!("CARGO_TARGET_TMPDIR")), "."])
        .envs([("GOPROXY", "off"), ("GOFLAGS", "-mod=readonly"), ("GOTOOLCHAIN", "local")])
        .current_dir(Path::new(CLIENTS).join(folder))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("go build: {error}"))?;
    let said = String::from_utf8_lossy(&built.stderr);
    if built.status.success() { Ok(()) } else { Err(format!("go build: {}", said.trim())) }
}
