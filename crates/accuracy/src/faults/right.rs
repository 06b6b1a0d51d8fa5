use results::{Reason, Verdict};

/// A usable verdict may be off by this share of the true p99. Source: issue 17, "The fault list".
pub(crate) const ALLOWED: f64 = 0.10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// Valid, with true figures: the system has no fault, or the fault is the server's own.
    Valid,
    /// Overloaded: the server cannot keep up, also if it has a further fault.
    Overloaded,
    /// Either is right: the server is near its limit.
    ValidOrOverloaded,
    /// Invalid for one of these reasons, or valid if the figures are still true.
    TrueOrInvalid(&'static [Reason]),
    /// Invalid for one of these reasons; the figures do not matter.
    Invalid(&'static [Reason]),
    /// No verdict, but an error that names the problem.
    Refused,
}

/// Actual result of a dose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DoseResult {
    Verdict(Verdict),
    Refused(String),
}

impl DoseResult {
    /// One or two words, by which verdicts are counted.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            DoseResult::Verdict(verdict) => verdict.label(),
            DoseResult::Refused(_) => "refused",
        }
    }

    pub(crate) fn words(&self) -> String {
        match self {
            DoseResult::Verdict(verdict) => verdict.to_string(),
            DoseResult::Refused(error) => format!("refused: {error}"),
        }
    }

    /// Whether the verdict claims that the figures describe the server.
    pub(crate) fn is_usable(&self) -> bool {
        matches!(self, DoseResult::Verdict(verdict) if verdict.is_usable())
    }
}

/// Comparison of a verdict with the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assessment {
    Right,
    /// Passes wrong figures off as the server's: it is usable, and p99 is off by more than [`ALLOWED`], or the
    /// measurement differs from the specification.
    FalseValid,
    /// Rejects true figures.
    FalseInvalid,
    /// A different verdict from the right one, but no false figure passes for a true one: another reason, or an
    /// overload of a server that kept up.
    Other,
}

/// Compares the given result with the right one.
///
/// `p99_error` is measured over true less 1; `None` if the truth has no figure.
pub(crate) fn compare(right: Right, given: &DoseResult, p99_error: Option<f64>) -> Assessment {
    let off = p99_error.is_some_and(|error| error.abs() > ALLOWED);
    match (given, right) {
        (DoseResult::Refused(_), Right::Refused) => Assessment::Right,
        (DoseResult::Refused(_), Right::Invalid(_) | Right::TrueOrInvalid(_)) => Assessment::Other,
        (DoseResult::Refused(_), _) => Assessment::FalseInvalid,
        (
            DoseResult::Verdict(Verdict::Invalid { reasons }),
            Right::Invalid(named) | Right::TrueOrInvalid(named),
        ) => {
            let is_named = reasons.iter().any(|invalid| named.contains(&invalid.reason));
            if is_named { Assessment::Right } else { Assessment::Other }
        }
        (DoseResult::Verdict(Verdict::Invalid { .. }), Right::Refused) => Assessment::Other,
        (DoseResult::Verdict(Verdict::Invalid { .. }), _) => Assessment::FalseInvalid,
        // From here on the verdict claims that the figures describe the server.
        (_, Right::Invalid(_) | Right::Refused) => Assessment::FalseValid,
        _ if off => Assessment::FalseValid,
        // Response times of an overload grow with the window.
        (DoseResult::Verdict(Verdict::Valid), Right::Overloaded) => Assessment::FalseValid,
        (DoseResult::Verdict(Verdict::Overloaded { .. }), Right::Valid | Right::TrueOrInvalid(_)) => {
            Assessment::Other
        }
        _ => Assessment::Right,
    }
}

#[cfg(test)]
mod tests {
    use results::Invalid;

    use super::*;

    #[test]
    fn each_verdict_is_compared_with_each_right_one() {
        const LAG: &[Reason] = &[Reason::GeneratorLag, Reason::ReceiveLag];
        let invalid = |reason| {
            let reasons = vec![Invalid { reason, detail: String::new() }];
            DoseResult::Verdict(Verdict::Invalid { reasons })
        };
        let (valid, refused) = (DoseResult::Verdict(Verdict::Valid), DoseResult::Refused("full".into()));
        let overloaded = DoseResult::Verdict(Verdict::Overloaded {
            achieved_share: 0.9,
            backlog_growth_rps: 100.0,
            timed_out_share: 0.0,
        });
        let (lag, drift) = (invalid(Reason::ReceiveLag), invalid(Reason::KnobDrift));
        let check = |right: Right, error: Option<f64>, expect: [Assessment; 5]| {
            let found =
                [&valid, &overloaded, &lag, &drift, &refused].map(|given| compare(right, given, error));
            assert_eq!(found, expect, "{right:?} at {error:?}");
        };
        use Assessment::{FalseInvalid as Fi, FalseValid as Fv, Other as O, Right as R};
        check(Right::Valid, Some(0.09), [R, O, Fi, Fi, Fi]);
        check(Right::Valid, Some(-0.11), [Fv, Fv, Fi, Fi, Fi]);
        check(Right::Overloaded, Some(0.0), [Fv, R, Fi, Fi, Fi]);
        check(Right::Overloaded, Some(0.2), [Fv, Fv, Fi, Fi, Fi]);
        check(Right::ValidOrOverloaded, Some(0.1), [R, R, Fi, Fi, Fi]);
        check(Right::TrueOrInvalid(LAG), Some(0.05), [R, O, R, O, O]);
        check(Right::TrueOrInvalid(LAG), Some(1.0), [Fv, Fv, R, O, O]);
        check(Right::TrueOrInvalid(LAG), None, [R, O, R, O, O]);
        check(Right::Invalid(LAG), Some(0.0), [Fv, Fv, R, O, O]);
        check(Right::Refused, None, [Fv, Fv, O, O, R]);
    }

    #[test]
    fn one_reason_of_several_suffices() {
        let reasons = [Reason::ErrorRate, Reason::GeneratorLag];
        let reasons = reasons.map(|reason| Invalid { reason, detail: String::new() }).to_vec();
        let given = DoseResult::Verdict(Verdict::Invalid { reasons });
        assert_eq!(compare(Right::Invalid(&[Reason::GeneratorLag]), &given, None), Assessment::Right);
        assert_eq!(compare(Right::Invalid(&[Reason::FillFailed]), &given, None), Assessment::Other);
    }
}
