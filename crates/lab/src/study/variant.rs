//! What is varied beside the axis: the series, the efforts, and the point that all others are set against.

use toml::Table;
use units::Rate;

use super::DefinitionError;
use super::section::Section;

/// A line of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeriesDef {
    pub(super) name: String,
    /// What it changes of the experiment.
    pub(super) set: Table,
    /// What it changes of the second service's, in a study of two.
    pub(super) set_second: Table,
    /// What the axis sets in it; empty: what it says itself.
    pub(super) sets: Vec<String>,
    /// What it needs of the host.
    pub(super) needs: Vec<String>,
}

impl SeriesDef {
    pub(super) fn read(mut section: Section) -> Result<SeriesDef, DefinitionError> {
        let series = SeriesDef {
            name: section.needed("name")?,
            set: section.raw_table("set")?,
            set_second: section.raw_table("set-second")?,
            sets: section.texts("sets")?,
            needs: section.texts("needs")?,
        };
        section.end()?;
        Ok(series)
    }

    pub(super) fn plain(name: &str) -> SeriesDef {
        SeriesDef {
            name: name.into(),
            set: Table::new(),
            set_second: Table::new(),
            sets: Vec::new(),
            needs: Vec::new(),
        }
    }
}

/// The point that is measured again in each block, and that all others are set in relation to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReferenceDef {
    /// Its place on the axis.
    pub(super) at: String,
    /// Its series; `None`: each series has its own.
    pub(super) series: Option<String>,
}

impl ReferenceDef {
    pub(super) fn read(mut section: Section) -> Result<Option<ReferenceDef>, DefinitionError> {
        let (at, series) = (section.text("at")?, section.text("series")?);
        section.end()?;
        match (at, series) {
            (Some(at), series) => Ok(Some(ReferenceDef { at, series })),
            (None, Some(_)) => Err(DefinitionError("reference.at: it is missing".into())),
            (None, None) => Ok(None),
        }
    }
}

/// how much of a study a run measures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EffortDef {
    /// Passes through all cells.
    pub(super) blocks: u32,
    /// How often the reference is measured in each.
    pub(super) references: u32,
    /// The width of the interval of a maximum throughput, as a share of it.
    pub(super) tolerance: f64,
    /// The maximum that is taken for granted instead of searched, where the figures mean nothing anyway.
    pub(super) maximum: Option<Rate>,
    /// What it changes of every experiment.
    pub(super) set: Table,
    /// What it changes of the second service's instead, in a study of two; `None` for the same.
    pub(super) set_second: Option<Table>,
    /// Its series; empty: all.
    pub(super) series: Vec<String>,
}

impl EffortDef {
    pub(super) fn read(mut section: Section) -> Result<EffortDef, DefinitionError> {
        let usual = EffortDef::of_blocks(3);
        let effort = EffortDef {
            blocks: section.count("blocks")?.unwrap_or(usual.blocks),
            references: section.count("references")?.unwrap_or(usual.references),
            tolerance: section.share("tolerance")?.unwrap_or(usual.tolerance),
            maximum: section.quantity("maximum", "5krps")?,
            set: section.raw_table("set")?,
            set_second: section
                .value("set-second")
                .map(|value| match value {
                    toml::Value::Table(table) => Ok(table),
                    other => Err(section.wrong("set-second", &other, "a table")),
                })
                .transpose()?,
            series: section.texts("series")?,
        };
        section.end()?;
        Ok(effort)
    }

    /// So many blocks of the experiment as it stands. A maximum is wanted to 3 %, the width at which a later block
    /// confirms it by two trials.
    pub(super) fn of_blocks(blocks: u32) -> EffortDef {
        EffortDef {
            blocks,
            references: 2,
            tolerance: 0.03,
            maximum: None,
            set: Table::new(),
            set_second: None,
            series: Vec::new(),
        }
    }
}
