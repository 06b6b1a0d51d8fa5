use maud::{Markup, html};
use results::Experiment;

/// Every gate with its measured figure, trial by trial; empty without gates.
pub(crate) fn gates(experiment: &Experiment) -> Markup {
    let held: Vec<_> = experiment.trials.iter().filter(|trial| !trial.gates.is_empty()).collect();
    html! {
        @if !held.is_empty() {
            div.scroll {
                table {
                    caption { "Gates" }
                    thead { tr { th.text { "trial" } th.text { "target" } th.text { "gate" } th.text { "what was found" } } }
                    tbody {
                        @for trial in held { @for gate in &trial.gates {
                            tr class=[(!gate.passed).then_some("hatched")] {
                                th.text scope="row" { (trial.id) }
                                td.text { (trial.target) }
                                td.text { @if gate.passed { "✓ " } @else { "✗ " } (gate.gate) }
                                td.text.words { (gate.words) }
                            }
                        } }
                    }
                }
            }
        }
    }
}
