//! Gates: the exit code that says whether a result is as it should be.

use std::process::ExitCode;

use crate::terminal::tell;

/// A gate failed.
const FAILED: u8 = 99;

/// Says each of `failures` on standard error; the exit code is 99 if there is any.
pub(crate) fn code(failures: &[String]) -> ExitCode {
    for failure in failures {
        tell(&format!("taillight: gate failed: {failure}"));
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
}
