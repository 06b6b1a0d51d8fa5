//! Turns a definition into a plan: every cell with its whole configuration, and the parts left out on this host.

mod candidate;

use results::Purpose;
use results::study::{Effort, PlanRecord, PlannedPoint, Skipped, X};
use spec::{Load, Spec};
use units::Rate;

pub(super) use candidate::resolve;
use candidate::{Candidate, candidate, candidates, chosen, owner, reason_against};

use super::facts::Facts;
use super::variant::SeriesDef;
use super::{Definition, DefinitionError, StudyKind, experiment};
use crate::run::{BenchPlan, Pair, Plan, Point};

impl Plan {
    /// What `study` measures on a host of these facts.
    ///
    /// Errors: the definition is wrong, which [`Definition::read`] has found already.
    pub fn of_study(study: &Definition, effort: Effort, facts: &Facts) -> Result<Plan, DefinitionError> {
        let of_effort = study.effort(effort);
        let mut plan = Plan {
            effort,
            unit: study.axis.axis.unit.clone(),
            blocks: of_effort.blocks,
            references_per_block: of_effort.references,
            tolerance: of_effort.tolerance,
            assumed: of_effort.maximum.map(Rate::rps),
            ..Plan::default()
        };
        if study.kind == StudyKind::Colocation {
            plan.add_pairs(study, effort, facts)?;
            return Ok(plan);
        }
        for candidate in candidates(study, effort)? {
            let owner = owner(study, effort, &candidate)?;
            let lacking = owner.as_ref().map(|owner| reason_against(owner, facts)).transpose()?.flatten();
            let lacking = lacking.map(|lacking| {
                format!("its load refers to a maximum that is not measurable here: {lacking}")
            });
            match reason_against(&candidate, facts)?.or(lacking) {
                Some(reason) => plan.skip(&candidate, reason, study.axis.places(effort).len()),
                None => {
                    let point = plan.point(candidate, owner);
                    plan.points.push(point);
                }
            }
        }
        plan.add_references(study, effort, facts)?;
        Ok(plan)
    }

    /// Every load of the first service, each paired with every load of the second.
    fn add_pairs(
        &mut self,
        study: &Definition,
        effort: Effort,
        facts: &Facts,
    ) -> Result<(), DefinitionError> {
        let places = study.axis.places(effort);
        for series in study.series.iter().filter(|series| chosen(study, effort, series)) {
            for (first, second) in places.iter().flat_map(|a| places.iter().map(move |b| (a, b))) {
                let one = candidate(study, effort, series, first, false)?;
                let two = candidate(study, effort, series, second, true)?;
                if let Some(reason) = reason_against(&one, facts)?.or(reason_against(&two, facts)?) {
                    self.skip(&one, reason, places.len());
                    continue;
                }
                let pair = Pair { first: self.point(one, None), second: self.point(two, None) };
                self.pairs.push(pair);
            }
        }
        Ok(())
    }

    fn add_references(
        &mut self,
        study: &Definition,
        effort: Effort,
        facts: &Facts,
    ) -> Result<(), DefinitionError> {
        let Some(reference) = &study.reference else { return Ok(()) };
        let x = study.axis.x(&reference.at);
        let Some(place) = study.axis.place(effort, &x) else { return Ok(()) };
        let of = |series: &&SeriesDef| match &reference.series {
            Some(name) => series.name == *name,
            None => self.points.iter().any(|point| point.series == series.name),
        };
        for series in study.series.iter().filter(of).collect::<Vec<_>>() {
            let candidate = candidate(study, effort, series, place, false)?;
            if reason_against(&candidate, facts)?.is_some() {
                continue;
            }
            let owner = owner(study, effort, &candidate)?;
            let point = self.point(candidate, owner);
            self.references.push(point);
        }
        Ok(())
    }

    fn point(&mut self, candidate: Candidate, owner: Option<Candidate>) -> Point {
        let bench = self.bench(&candidate.experiment, &format!("{} {}", candidate.series, candidate.x));
        let of = match owner {
            Some(owner) => self.bench(&owner.experiment, &format!("{} {}", owner.series, owner.x)),
            None => bench,
        };
        if matches!(candidate.experiment.load, Load::Share { .. } | Load::Maximum | Load::Peak) {
            self.benches[of].needs_maximum = true;
        }
        Point {
            series: candidate.series,
            x: candidate.x,
            experiment: candidate.experiment,
            purpose: Purpose::LoadPoint,
            bench,
            of,
        }
    }

    fn bench(&mut self, experiment: &Spec, name: &str) -> usize {
        let shares = |bench: &BenchPlan| experiment::share_bench(&bench.experiment, experiment);
        if let Some(place) = self.benches.iter().position(shares) {
            return place;
        }
        let name = format!("{:02}-{}", self.benches.len() + 1, slug(name));
        self.benches.push(BenchPlan {
            name,
            experiment: experiment.clone(),
            targets: 1,
            needs_maximum: false,
        });
        self.benches.len() - 1
    }

    fn skip(&mut self, candidate: &Candidate, reason: String, places: usize) {
        let whole = Skipped { what: candidate.series.clone(), reason: reason.clone() };
        if self.skipped.contains(&whole) {
            return;
        }
        let one = |x: &X| format!("{} at {x}", candidate.series);
        self.skipped.push(Skipped { what: one(&candidate.x), reason });
        // The same reason at every place is one reason for the series.
        let prefix = format!("{} at ", candidate.series);
        let same = |skipped: &&Skipped| skipped.what.starts_with(&prefix) && skipped.reason == whole.reason;
        if self.skipped.iter().filter(same).count() == places {
            self.skipped.retain(|skipped| !same(&skipped));
            self.skipped.push(whole);
        }
    }

    /// Everything about it, for the record and to know whether a part that was measured before belongs to it.
    pub(super) fn record(&self) -> PlanRecord {
        let point = |point: &Point| PlannedPoint {
            series: point.series.clone(),
            x: point.x.clone(),
            spec: point.experiment.clone(),
        };
        PlanRecord {
            blocks: self.blocks,
            until_settled: self.until_settled,
            references_per_block: self.references_per_block,
            tolerance: self.tolerance,
            assumed_maximum_rps: self.assumed,
            points: self.points.iter().map(point).collect(),
            pairs: self.pairs.iter().map(|pair| [point(&pair.first), point(&pair.second)]).collect(),
            references: self.references.iter().map(point).collect(),
        }
    }
}

/// A name that a folder may have.
pub(super) fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = text.chars().map(plain).collect();
    let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-").chars().take(60).collect()
}

#[cfg(test)]
mod tests;
