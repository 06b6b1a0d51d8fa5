//! Gates: the exit code that says whether a result is as it should be.

use std::process::ExitCode;

use crate::terminal::tell;

const FAILED: u8 = 99;
/// Nothing can be said: neither passed nor failed.
///
/// Source: EX_TEMPFAIL of `sysexits.h`, "temporary failure; user is invited to retry".
pub(crate) const NOT_MEASURABLE: u8 = 75;

/// Prints each of `failures` and each `unknown` condition on standard error. The exit code is 99 if there is a failure, and 75 if a
/// condition is unknown.
pub(crate) fn judge(failures: &[String], unknown: &[String]) -> ExitCode {
    for failure in failures {
        tell(&format!("taillight: gate failed: {failure}"));
    }
    for words in unknown {
        tell(&format!("taillight: {words}"));
    }
    match (failures, unknown) {
        ([], []) => ExitCode::SUCCESS,
        ([], _) => ExitCode::from(NOT_MEASURABLE),
        _ => ExitCode::from(FAILED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_outweighs_what_is_unknown() {
        let check = |failures: &[&str], unknown: &[&str], expect: u8| {
            let words = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let code = judge(&words(failures), &words(unknown));
            assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(expect)));
        };
        check(&[], &[], 0);
        check(&["p99"], &[], 99);
        check(&[], &["p99"], 75);
        check(&["errors"], &["p99"], 99);
    }
}
