//! The dimensions of a study apart from the axis: the series, the efforts, and the reference point.

use toml::Table;
use units::Rate;

use super::DefinitionError;
use super::section::Section;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeriesDef {
    pub(super) name: String,
    pub(super) set: Table,
    /// Its changes to the second service's experiment, in a study of two.
    pub(super) set_second: Table,
    /// The keys that the axis sets in it; empty: the axis's own.
    pub(super) sets: Vec<String>,
    /// Its requirements on the host.
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
}

/// The point that is measured again in each block, and that all others are set in relation to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReferenceDef {
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
    /// The maximum assumed instead of searched, for runs whose figures are meaningless anyway.
    pub(super) maximum: Option<Rate>,
    /// Its changes to every experiment.
    pub(super) set: Table,
    /// Its changes to the second service's experiment, in a study of two; `None` for the same.
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

    /// The given number of blocks of the unchanged experiment. A maximum is measured to 3 %, the width at which a later
    /// block confirms it by two trials.
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
