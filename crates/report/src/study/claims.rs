use maud::{Markup, html};
use results::Study;
use results::study::{ClaimResult, ClaimVerdict};

use crate::number;
use crate::page;

/// `4 of 7 claims reproduced, 1 differs, 1 open, 1 not measurable here`.
pub(crate) fn tally_words(study: &Study) -> String {
    if study.claims.is_empty() {
        return "No claim was judged".into();
    }
    let count = |verdict: ClaimVerdict| study.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let words = |verdict: ClaimVerdict| match (verdict, count(verdict)) {
        (ClaimVerdict::Reproduced, n) => {
            Some(format!("{n} of {} reproduced", number::plural(study.claims.len(), "claim")))
        }
        (_, 0) => None,
        (ClaimVerdict::Differs, n) if n > 1 => Some(format!("{n} differ")),
        (verdict, n) => Some(format!("{n} {}", verdict.words())),
    };
    ClaimVerdict::ALL.into_iter().filter_map(words).collect::<Vec<_>>().join(", ")
}

pub(super) fn claims(study: &Study) -> Markup {
    let body = html! {
        div.scroll {
            table.claims {
                thead { tr {
                    th.text { "claim" } th.text { "verdict" } th.text { "measured" } th.text { "why" }
                } }
                tbody { @for claim in &study.claims { (row(claim)) } }
            }
        }
    };
    html! { @if !study.claims.is_empty() { (page::section("claims", "Claims", body)) } }
}

fn row(claim: &ClaimResult) -> Markup {
    html! {
        tr {
            td.text.claim { (claim.text) small { (claim.source) } }
            td.text { span class=(class(claim.verdict)) { (words(claim)) } }
            td.text { (claim.measured) }
            td.text {
                (claim.reason)
                @if let Some(p) = claim.p_value { small { "p = " (number::short(p)) ", corrected for the comparisons" } }
            }
        }
    }
}

/// The verdict in words. Earlier versions recorded disturbed claims as not measurable.
pub(crate) fn words(claim: &ClaimResult) -> &'static str {
    match claim.verdict {
        ClaimVerdict::NotMeasurable if claim.host_disturbed => "not measurable on this host now",
        verdict => verdict.words(),
    }
}

pub(crate) fn class(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Reproduced => "verdict-reproduced",
        ClaimVerdict::Differs => "verdict-differs",
        ClaimVerdict::Open => "verdict-open",
        ClaimVerdict::NotMeasurable => "verdict-not-measurable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted() {
        use ClaimVerdict::{Differs, NotMeasurable, Open, Reproduced};
        let check = |verdicts: &[ClaimVerdict], expect: &str| {
            let claim = |&verdict: &ClaimVerdict| ClaimResult {
                id: String::new(),
                text: String::new(),
                source: String::new(),
                verdict,
                measured: String::new(),
                reason: String::new(),
                p_value: None,
                host_disturbed: false,
                more_blocks: None,
            };
            let study = Study { claims: verdicts.iter().map(claim).collect(), ..Study::default() };
            assert_eq!(tally_words(&study), expect);
        };
        check(&[], "No claim was judged");
        check(&[Reproduced], "1 of 1 claim reproduced");
        check(
            &[Reproduced, Differs, Open, Open, NotMeasurable],
            "1 of 5 claims reproduced, 1 differs, 2 open, 1 not measurable here",
        );
        check(&[Differs, Differs], "0 of 2 claims reproduced, 2 differ");
    }
}
