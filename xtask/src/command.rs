//! Programs of this machine: found, run, and asked for their output.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file of a program in `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_executable(file))
}

pub(crate) fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Prints and runs a command; true if it succeeds.
pub(crate) fn run(command: &mut Command) -> bool {
    println!("{} {}", command.get_program().display(), arguments(command));
    command.status().is_ok_and(|status| status.success())
}

/// Runs a command and drops its output; true if it succeeds.
pub(crate) fn quiet(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Standard output of a command that must succeed, without the end of its last line.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{} {}", command.get_program().display(), arguments(command));
    let output = command.output().map_err(|error| format!("cannot run {shown}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown}: {}: {}", output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// A command as if typed by hand, without the variables that `cargo xtask` sets for this package: build scripts that
/// read them, such as ring's, would run again after a `cargo` of the user's, and all their dependents would be compiled
/// again.
pub(crate) fn as_by_hand(command: &mut Command) -> &mut Command {
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name.as_ref());
        }
    }
    // Incremental data takes gigabytes and helps only a next build of the same tree, which does not come. With one code generation
    // unit, generic functions are compiled once for a crate, not once for each of 16 units. Panics name their lines without debug
    // information.
    command
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
}

fn arguments(command: &Command) -> String {
    command.get_args().map(|argument| argument.display().to_string()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_programs_and_only_those() {
        let check = |program: &str, expect: bool| assert_eq!(find(program).is_some(), expect, "{program}");
        check("sh", true);
        check("no-such-program-here", false);
        assert!(!is_executable(Path::new("/etc/passwd")));
    }

    #[test]
    fn tells_how_a_command_ended() {
        let check =
            |script: &str, expect: bool| assert_eq!(quiet(Command::new("sh").args(["-c", script])), expect);
        check("exit 0", true);
        check("exit 1", false);
        assert!(!quiet(&mut Command::new("no-such-program-here")));
    }
}
