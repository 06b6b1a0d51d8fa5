use std::env;
use std::path::PathBuf;
use std::time::Instant;

use launch::{Process, Spec};

use super::pair::Server;
use crate::support::PATIENCE;

/// The folder in which `cargo xtask ci` installs tools that Debian does not package.
pub(crate) const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools");
/// Where Debian puts memcached's scripts.
const SCRIPTS: &str = "/usr/share/memcached/scripts";
pub(crate) const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");

/// A program's exit and output.
pub(crate) struct Ended {
    pub(crate) lines: Vec<String>,
    pub(crate) status: String,
    /// The last lines of standard error.
    pub(crate) errors: Vec<String>,
}

/// The program of this name; daemons and scripts are not in everybody's `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let own = [PathBuf::from(TOOLS).join("bin"), env!("CARGO_TARGET_TMPDIR").into()];
    let more = ["/usr/sbin".into(), SCRIPTS.into()];
    let mut files =
        own.into_iter().chain(env::split_paths(&path)).chain(more).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

/// The process to start for a command line.
pub(crate) fn spec(words: &[String]) -> Result<Spec, String> {
    let program = find(&words[0]).ok_or_else(|| format!("{} is not here", words[0]))?;
    let spec = Spec::new(&words[0], program).args(words[1..].iter().cloned()).dir(CLIENTS);
    let (modules, packages) =
        (format!("{TOOLS}/node/node_modules"), format!("{TOOLS}/clients-python/packages"));
    Ok(spec.env("NODE_PATH", modules).env("PYTHONPATH", packages))
}

/// Runs a command line, with the server's place in it, to its end.
pub(crate) fn run(command: &str, server: &Server) -> Ended {
    let words: Vec<String> = command.split_whitespace().map(|word| server.fill(word)).collect();
    end(spec(&words).unwrap_or_else(|reason| panic!("{reason}")))
}

/// Waits for the end, and kills a program that does not end: waiting forever is an outcome, too.
pub(crate) fn end(spec: Spec) -> Ended {
    let mut process = Process::spawn(spec).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut lines = Vec::new();
    while let Some(line) = process.next_line(deadline.saturating_duration_since(Instant::now())) {
        lines.push(line.trim_end_matches('\r').to_owned());
    }
    let status = match process.wait(deadline.saturating_duration_since(Instant::now())) {
        Ok(status) => status.code().map_or_else(|| status.to_string(), |code| code.to_string()),
        Err(_) => "never".into(),
    };
    Ended { lines, status, errors: process.stderr_tail() }
}
