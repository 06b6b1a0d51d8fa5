//! From a definition to what is measured: every cell with its whole configuration, and what this host leaves out.

mod candidate;

use results::study::{Form as StudyForm, Skipped, X};
use serde_json::{Value, json};
use spec::{Load, Spec};
use units::Rate;

pub(super) use candidate::resolve;
use candidate::{Candidate, candidates, chosen, first_candidate, owner, reason_against, second_candidate};

use super::facts::Facts;
use super::variant::SeriesDef;
use super::{Definition, DefinitionError, StudyKind, experiment};

/// One place of one series with everything filled in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) series: String,
    pub(super) x: X,
    pub(super) experiment: Spec,
    /// The bench that it is measured on.
    pub(super) bench: usize,
    /// The bench whose maximum its load is a share of.
    pub(super) of: usize,
}

/// Two services under a load each, at once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) first: Point,
    pub(super) second: Point,
}

/// A server, its generator and the state of the host: what is set up once and measured often.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BenchPlan {
    pub(super) name: String,
    pub(super) experiment: Spec,
    /// Whether its maximum throughput must be known.
    pub(super) needs_maximum: bool,
}

/// What a study measures on this host in one of its forms.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) form: StudyForm,
    /// The unit of the axis.
    pub(super) unit: String,
    pub(super) blocks: u32,
    pub(super) references_per_block: u32,
    pub(super) tolerance: f64,
    /// The maximum of every bench where none is searched. Units: rps.
    pub(super) assumed: Option<f64>,
    pub(super) benches: Vec<BenchPlan>,
    pub(super) points: Vec<Point>,
    /// Of a study of two services.
    pub(super) pairs: Vec<Pair>,
    /// Measured again in each block; a series without one of its own takes the only one.
    pub(super) references: Vec<Point>,
    /// What is left out, and why.
    pub skipped: Vec<Skipped>,
}

impl Plan {
    /// What `study` measures on a host of these facts.
    ///
    /// Errors: the definition is wrong, which [`Definition::read`] has found already.
    pub fn new(study: &Definition, form: StudyForm, facts: &Facts) -> Result<Plan, DefinitionError> {
        let of_form = study.form(form);
        let mut plan = Plan {
            form,
            unit: study.axis.axis.unit.clone(),
            blocks: of_form.blocks,
            references_per_block: of_form.references,
            tolerance: of_form.tolerance,
            assumed: of_form.maximum.map(Rate::rps),
            benches: Vec::new(),
            points: Vec::new(),
            pairs: Vec::new(),
            references: Vec::new(),
            skipped: Vec::new(),
        };
        if study.kind == StudyKind::Colocation {
            plan.add_pairs(study, form, facts)?;
            return Ok(plan);
        }
        for candidate in candidates(study, form)? {
            if let Some(reason) = reason_against(&candidate, facts)? {
                plan.skip(&candidate, reason, study.axis.places(form).len());
                continue;
            }
            let owner = match &candidate.experiment.load {
                Load::Share { of: Some(of), .. } => Some(owner(study, form, &candidate, of)?),
                _ => None,
            };
            if let Some(lacking) =
                owner.as_ref().map(|owner| reason_against(owner, facts)).transpose()?.flatten()
            {
                let reason = format!("its load refers to a maximum that is not measurable here: {lacking}");
                plan.skip(&candidate, reason, study.axis.places(form).len());
                continue;
            }
            let point = plan.point(candidate, owner);
            plan.points.push(point);
        }
        plan.add_references(study, form, facts)?;
        Ok(plan)
    }

    /// Every load of the first service beside every load of the second.
    fn add_pairs(
        &mut self,
        study: &Definition,
        form: StudyForm,
        facts: &Facts,
    ) -> Result<(), DefinitionError> {
        let places = study.axis.places(form);
        for series in study.series.iter().filter(|series| chosen(study, form, series)) {
            for (first, second) in places.iter().flat_map(|a| places.iter().map(move |b| (a, b))) {
                let one = first_candidate(study, form, series, first)?;
                let two = second_candidate(study, form, series, second)?;
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
        form: StudyForm,
        facts: &Facts,
    ) -> Result<(), DefinitionError> {
        let Some(reference) = &study.reference else { return Ok(()) };
        let x = study.axis.x(&reference.at);
        let all = [form, StudyForm::Full, StudyForm::Quick, StudyForm::Smoke];
        let Some(place) = all.into_iter().flat_map(|form| study.axis.places(form)).find(|place| place.x == x)
        else {
            return Ok(());
        };
        let of = |series: &&SeriesDef| match &reference.series {
            Some(name) => series.name == *name,
            None => self.points.iter().any(|point| point.series == series.name),
        };
        for series in study.series.iter().filter(of).collect::<Vec<_>>() {
            let candidate = first_candidate(study, form, series, place)?;
            if reason_against(&candidate, facts)?.is_some() {
                continue;
            }
            let owner = match &candidate.experiment.load {
                Load::Share { of: Some(of), .. } => Some(owner(study, form, &candidate, of)?),
                _ => None,
            };
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
        Point { series: candidate.series, x: candidate.x, experiment: candidate.experiment, bench, of }
    }

    fn bench(&mut self, experiment: &Spec, name: &str) -> usize {
        let key = experiment::bench_key(experiment);
        if let Some(place) =
            self.benches.iter().position(|bench| experiment::bench_key(&bench.experiment) == key)
        {
            return place;
        }
        let name = format!("{:02}-{}", self.benches.len() + 1, slug(name));
        self.benches.push(BenchPlan { name, experiment: experiment.clone(), needs_maximum: false });
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

    /// Whether nothing of it can be measured.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.pairs.is_empty()
    }

    /// The reference point of a series.
    pub(super) fn reference_of(&self, series: &str) -> Option<usize> {
        let own = self.references.iter().position(|point| point.series == series);
        own.or(if self.references.len() == 1 { Some(0) } else { None })
    }

    /// A point in words: `memcached at 50 %`.
    pub(super) fn place_of(&self, point: &Point) -> String {
        match &point.x {
            X::Number(x) if !self.unit.is_empty() => format!("{} at {x} {}", point.series, self.unit),
            x => format!("{} at {x}", point.series),
        }
    }

    /// What is measured on a bench, in words: a series, or its points.
    pub(super) fn users_of(&self, bench: usize) -> String {
        let pairs = self.pairs.iter().flat_map(|pair| [&pair.first, &pair.second]);
        let all: Vec<&Point> = self.points.iter().chain(pairs).chain(&self.references).collect();
        let mut words: Vec<String> = Vec::new();
        for point in all.iter().filter(|point| point.bench == bench || point.of == bench) {
            let alone = all.iter().any(|other| other.series == point.series && other.bench != bench);
            let word = if alone { self.place_of(point) } else { point.series.clone() };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(", ")
    }

    /// Everything about it, for the record and to know whether a part that was measured before belongs to it.
    pub(super) fn to_json(&self) -> Value {
        let point = |point: &Point| json!({ "series": point.series, "x": point.x, "experiment": point.experiment.to_json() });
        json!({
            "form": self.form.words(),
            "blocks": self.blocks,
            "references_per_block": self.references_per_block,
            "tolerance": self.tolerance,
            "assumed_maximum_rps": self.assumed,
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
            "pairs": self.pairs.iter().map(|pair| [point(&pair.first), point(&pair.second)]).collect::<Vec<_>>(),
            "references": self.references.iter().map(point).collect::<Vec<_>>(),
        })
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
