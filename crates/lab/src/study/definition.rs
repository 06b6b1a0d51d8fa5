//! The definition of a study: `study.toml` and `claims.toml`.

use results::study::{Effort, Parameter, X};
use toml::Table;

use super::axis::AxisDef;
use super::claim::Claim;
use super::language::Language;
use super::machine::Machine;
use super::parameter::Overrides;
use super::picture::{FigureDef, TableDef};
use super::section::Section;
use super::variant::{EffortDef, ReferenceDef, SeriesDef};
use super::{DefinitionError, expand, experiment, judge, parameter};

/// A study, read and checked: a grid of experiments, the claims about it, and the published values.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name: `latency-vs-load`.
    pub name: String,
    /// Its title on a page.
    pub title: String,
    /// What is asked.
    pub question: String,
    /// What is reproduced.
    pub source: String,
    /// How it is measured.
    pub method: String,
    /// Deviations from the publication.
    pub deviations: Vec<String>,
    /// Effects that a machine such as this one cannot show.
    pub limits: Vec<String>,
    /// The content of a cell.
    pub kind: StudyKind,
    /// Its requirements as a whole.
    pub needs: Vec<String>,
    /// Its parameters derived from the machine.
    pub parameters: Vec<Parameter>,
    /// Keys set by hand in every specification.
    pub(super) by_hand: Table,
    pub(super) axis: AxisDef,
    pub(super) series: Vec<SeriesDef>,
    pub(super) reference: Option<ReferenceDef>,
    pub(super) efforts: [EffortDef; 3],
    pub(super) base: Table,
    /// Differences of the second service from the first, in a study of two.
    pub(super) second: Table,
    pub(super) figures: Vec<FigureDef>,
    pub(super) tables: Vec<TableDef>,
    /// What it claims.
    pub claims: Vec<Claim>,
}

/// Content of a study's cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyKind {
    /// One server under one load.
    Grid,
    /// Two servers under a load each, at once.
    Colocation,
}

impl Definition {
    /// Reads one from its two files for a machine, with what was set by hand; `name` is what its folder is called without
    /// the number.
    ///
    /// Errors: the file, the place in it, and what to write. Every cell of every effort is resolved, so that a mistake
    /// in the last of them is found before the first is measured.
    pub fn read(
        name: &str,
        study: &str,
        claims: &str,
        machine: &Machine,
        overrides: &Overrides,
    ) -> Result<Definition, DefinitionError> {
        let in_file = |file: &str, e: DefinitionError| DefinitionError(format!("{name}/{file}: {}", e.0));
        let by_hand = overrides.iter().rev().find(|(name, _)| name == parameter::IRQ_CORES);
        let kept = by_hand.and_then(|(_, text)| text.parse().ok()).map(|cores| machine.keeping(cores));
        let mut language = Language::of(kept.as_ref().unwrap_or(machine));
        let tables = table(study).and_then(|table| Self::of_tables(name, table, &mut language, overrides));
        let definition = tables.map_err(|e| in_file("study.toml", e))?;
        let claims = table(claims).and_then(|table| expand::table(table, &language, ""));
        let claims = claims.and_then(|table| Claim::read_all(table, &definition));
        let claims = claims.map_err(|e| in_file("claims.toml", e))?;
        let definition = Definition { claims, ..definition };
        judge::check_examples(&definition).map_err(|e| in_file("claims.toml", e))?;
        for effort in [Effort::Smoke, Effort::Quick, Effort::Full] {
            super::plan::resolve(&definition, effort).map_err(|e| in_file("study.toml", e))?;
        }
        Ok(definition)
    }

    /// A single experiment as a study of its own: its loads are the axis.
    ///
    /// Errors: as [`Definition::read`].
    pub fn of_experiment(name: &str, experiment: &str) -> Result<Definition, DefinitionError> {
        let in_file = |e: DefinitionError| DefinitionError(format!("{name}.toml: {}", e.0));
        Self::of_table(name, &format!("{name}.toml"), table(experiment).map_err(in_file)?)
    }

    /// The same of a table that was read already, such as a specification that `taillight load --resolve` printed.
    ///
    /// Errors: as [`Definition::read`].
    pub fn of_table(name: &str, file: &str, table: Table) -> Result<Definition, DefinitionError> {
        let in_file = |e: DefinitionError| DefinitionError(format!("{file}: {}", e.0));
        let definition = Self::single(name, table).map_err(in_file)?;
        super::plan::resolve(&definition, Effort::Full).map_err(in_file)?;
        Ok(definition)
    }

    fn single(name: &str, mut base: Table) -> Result<Definition, DefinitionError> {
        let part = |base: &mut Table, section: &str, key: &str| -> Option<toml::Value> {
            base.get_mut(section).and_then(toml::Value::as_table_mut).and_then(|section| section.remove(key))
        };
        let axis = AxisDef::of_loads(part(&mut base, "load", "loads"))?;
        let mut time = Table::new();
        time.extend(part(&mut base, "time", "repeats").map(|repeats| ("repeats".to_owned(), repeats)));
        let blocks = Section::new("time", time).count("repeats")?.unwrap_or(3);
        let server = experiment::read(base.clone(), "")?.target.server.to_string();
        let shown = Section::new("", table(include_str!("experiment.toml"))?);
        Ok(Definition {
            title: name.into(),
            axis,
            series: vec![SeriesDef { name: server, ..SeriesDef::default() }],
            efforts: [EffortDef::of_blocks(1), EffortDef::of_blocks(blocks), EffortDef::of_blocks(blocks)],
            base,
            ..Self::of_section(name, shown, Vec::new(), Table::new())?
        })
    }

    fn of_tables(
        name: &str,
        table: Table,
        language: &mut Language,
        overrides: &Overrides,
    ) -> Result<Definition, DefinitionError> {
        let mut section = Section::new("", table);
        let parameters = parameter::read_all(section.tables("parameter")?, language, overrides)?;
        let section = Section::new("", expand::table(section.rest(), language, "")?);
        Self::of_section(name, section, parameters, parameter::of_specification(overrides)?)
    }

    /// The definition of a file without expressions.
    fn of_section(
        name: &str,
        mut section: Section,
        parameters: Vec<Parameter>,
        by_hand: Table,
    ) -> Result<Definition, DefinitionError> {
        let kinds = [("grid", StudyKind::Grid), ("colocation", StudyKind::Colocation)];
        let kind = section.choice("kind", &kinds, "write \"grid\" or \"colocation\"")?;
        let kind = kind.unwrap_or(StudyKind::Grid);
        let mut efforts = section.below("effort")?;
        let mut effort = |key| EffortDef::read(efforts.below(key)?);
        let all_efforts = [effort("smoke")?, effort("quick")?, effort("full")?];
        efforts.end()?;
        let definition = Definition {
            name: name.into(),
            title: section.needed("title")?,
            question: section.needed("question")?,
            source: section.needed("source")?,
            method: section.needed("method")?,
            deviations: [parameter::deviations(&parameters), section.texts("deviations")?].concat(),
            limits: section.texts("limits")?,
            kind,
            needs: section.texts("needs")?,
            parameters,
            by_hand,
            axis: AxisDef::read(section.below("x")?)?,
            series: section.tables("series")?.into_iter().map(SeriesDef::read).collect::<Result<_, _>>()?,
            reference: ReferenceDef::read(section.below("reference")?)?,
            efforts: all_efforts,
            base: section.raw_table("experiment")?,
            second: section.raw_table("second")?,
            figures: section.tables("figure")?.into_iter().map(FigureDef::read).collect::<Result<_, _>>()?,
            tables: section.tables("table")?.into_iter().map(TableDef::read).collect::<Result<_, _>>()?,
            claims: Vec::new(),
        };
        section.end()?;
        // Of the base alone, so that a mistake in it is named there and not in the first series.
        experiment::read(definition.base.clone(), "experiment")?;
        if kind != StudyKind::Colocation && !definition.second.is_empty() {
            return Err(DefinitionError(
                "second: only a study of kind \"colocation\" has a second service".into(),
            ));
        }
        definition.check_names()?;
        Ok(definition)
    }

    /// The seed of its experiment; 1 by default.
    pub fn seed(&self) -> u64 {
        let seed = self.base.get("seed").and_then(toml::Value::as_integer);
        seed.and_then(|seed| u64::try_from(seed).ok()).unwrap_or(1)
    }

    /// How many of the deviations, the first ones, are the machine's.
    pub fn from_machine(&self) -> usize {
        parameter::deviations(&self.parameters).len()
    }

    pub(super) fn effort(&self, effort: Effort) -> &EffortDef {
        &self.efforts[effort as usize]
    }

    pub(super) fn series_named(&self, name: &str) -> Option<&SeriesDef> {
        self.series.iter().find(|series| series.name == name)
    }

    /// Whether some run measures at `x`.
    pub(super) fn has(&self, x: &X) -> bool {
        match self.kind {
            StudyKind::Colocation => super::matrix::loads(x)
                .is_some_and(|(first, second)| self.axis.has(&first) && self.axis.has(&second)),
            StudyKind::Grid => self.axis.has(x),
        }
    }

    /// Whether every series that is mentioned is there.
    fn check_names(&self) -> Result<(), DefinitionError> {
        let mentioned = self.figures.iter().flat_map(|figure| &figure.series);
        let mentioned = mentioned.chain(self.tables.iter().flat_map(|table| &table.series));
        let mentioned = mentioned.chain(self.reference.iter().flat_map(|reference| &reference.series));
        for name in mentioned {
            if self.series_named(name).is_none() {
                return Err(DefinitionError(format!("there is no series '{name}'; {}", self.series_names())));
            }
        }
        Ok(())
    }

    /// The names of the series, for an error.
    pub(super) fn series_names(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        format!("there are {}", names.join(", "))
    }
}

fn table(text: &str) -> Result<Table, DefinitionError> {
    text.parse().map_err(|e: toml::de::Error| DefinitionError(e.to_string().trim_end().to_owned()))
}
