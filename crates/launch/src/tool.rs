//! Other programs that are run to their end: `ip`, `lxc-info`, `podman`.

use std::time::Duration;

use crate::{Error, Process, Spec, find_program};

/// How long a tool may take. Source: the slowest, an engine that imports an image of 200 MB, takes some seconds.
const TOOL_WAIT: Duration = Duration::from_secs(60);

/// Runs `spec` to its end and returns its output.
///
/// Errors: the program is missing, with a hint to install `package`; or it failed, with its last words.
pub(crate) fn run(spec: Spec, package: &str) -> Result<String, Error> {
    run_within(spec, package, TOOL_WAIT)
}

/// The same with a time limit of its own.
pub(crate) fn run_within(spec: Spec, package: &str, within: Duration) -> Result<String, Error> {
    // Every line of a tool's output counts.
    let mut process = start(Spec { lines: usize::MAX, ..spec }, package)?;
    process.wait_success(within)?;
    Ok(process.rest().join("\n"))
}

/// Starts `spec`. Errors: as in [`run`] at the start.
pub(crate) fn start(spec: Spec, package: &str) -> Result<Process, Error> {
    let missing =
        spec.program.to_str().is_some_and(|name| !name.contains('/') && find_program(name).is_none());
    if missing {
        return Err(lacking(&spec.name, &spec.program.display().to_string(), package));
    }
    Process::spawn(spec)
}

pub(crate) fn lacking(name: &str, program: &str, package: &str) -> Error {
    let hint = format!("install it (`apt-get install {package}`), or choose another --form");
    Error::NotFound { name: name.into(), program: program.into(), hint }
}

pub(crate) fn ip(words: &[&str]) -> Result<String, Error> {
    run(ip_spec(words), IPROUTE)
}

/// The command `ip words…`, to be run elsewhere.
pub(crate) fn ip_spec(words: &[&str]) -> Spec {
    Spec::new(format!("ip {}", words.join(" ")), "ip").args(words.iter().copied())
}

pub(crate) const IPROUTE: &str = "iproute2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_what_was_printed_or_says_what_is_wrong() {
        let sh = |script: &str| run(Spec::new("tool", "sh").args(["-c", script]), "dash");
        assert_eq!(sh("echo a; echo b").unwrap(), "a\nb");
        let many = sh("seq 25000").unwrap();
        assert_eq!((many.lines().count(), many.lines().next()), (25_000, Some("1")));
        assert!(sh("echo no >&2; exit 1").unwrap_err().to_string().ends_with("its last words: no"));
        let error = run(Spec::new("tool", "no-such-tool"), "toolbox").unwrap_err().to_string();
        assert!(error.contains("no-such-tool") && error.contains("apt-get install toolbox"), "{error}");
    }
}
