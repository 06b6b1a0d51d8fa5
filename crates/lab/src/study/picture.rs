//! Definitions of the figures and tables of a study.

use results::study::{Axis, FigureKind};
use toml::Value;

use super::DefinitionError;
use super::section::{Section, number};

#[derive(Clone, Debug)]
pub(super) struct FigureDef {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) kind: FigureKind,
    /// The metric of a cell that is drawn.
    pub(super) metric: String,
    /// Whether it is drawn over the same at the block's reference point.
    pub(super) ratio: bool,
    pub(super) y: Axis,
    /// Converts the metric's unit to the axis's.
    pub(super) factor: f64,
    /// Which series; empty: all.
    pub(super) series: Vec<String>,
    /// For percentiles: the place on the study's axis.
    pub(super) at: Option<String>,
    pub(super) qos: bool,
    pub(super) caption: String,
    pub(super) published: Vec<PublishedDef>,
}

/// A published line.
#[derive(Clone, Debug)]
pub(super) struct PublishedDef {
    pub(super) name: String,
    pub(super) source: String,
    pub(super) note: Option<String>,
    /// Place and value. For a matrix: row, column and entry.
    pub(super) points: Vec<Vec<Value>>,
}

#[derive(Clone, Debug)]
pub(super) struct TableDef {
    pub(super) id: String,
    pub(super) title: String,
    /// Whether each row is a series, or each cell of the grid has one.
    pub(super) by_series: bool,
    /// Which series; empty: all.
    pub(super) series: Vec<String>,
    pub(super) columns: Vec<ColumnDef>,
    pub(super) source: String,
    /// As printed, with the head of the row first.
    pub(super) published: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
pub(super) struct ColumnDef {
    pub(super) label: String,
    pub(super) metric: String,
    pub(super) unit: String,
    pub(super) factor: f64,
    /// The place on the axis, in a table by series.
    pub(super) at: Option<String>,
}

impl FigureDef {
    pub(super) fn read(mut section: Section) -> Result<FigureDef, DefinitionError> {
        let kinds = [
            ("lines", FigureKind::Lines),
            ("bars", FigureKind::Bars),
            ("matrix", FigureKind::Matrix),
            ("percentiles", FigureKind::Percentiles),
        ];
        let kind = section.choice("kind", &kinds, "write lines, bars, matrix or percentiles")?;
        let kind = kind.unwrap_or(FigureKind::Lines);
        let mut published = Vec::new();
        for mut one in section.tables("published")? {
            published.push(PublishedDef {
                name: one.needed("name")?,
                source: one.needed("source")?,
                note: one.text("note")?,
                points: points(&mut one)?,
            });
            one.end()?;
        }
        let figure = FigureDef {
            id: section.needed("id")?,
            title: section.needed("title")?,
            kind,
            metric: section.text("metric")?.unwrap_or_default(),
            ratio: section.flag("ratio")?,
            y: section.axis()?,
            factor: section.number("factor")?.unwrap_or(1.0),
            series: section.texts("series")?,
            at: section.text("at")?,
            qos: section.flag("qos")?,
            caption: section.text("caption")?.unwrap_or_default(),
            published,
        };
        section.end()?;
        if figure.metric.is_empty() && matches!(figure.kind, FigureKind::Lines | FigureKind::Bars) {
            return Err(DefinitionError(format!("figure {}: it has no metric", figure.id)));
        }
        Ok(figure)
    }
}

fn points(section: &mut Section) -> Result<Vec<Vec<Value>>, DefinitionError> {
    let hint = "a list of pairs, such as [[10, 1.5], [20, 3]]";
    match section.value("points") {
        Some(Value::Array(points)) => points
            .into_iter()
            .map(|point| match point {
                Value::Array(point) if point.len() >= 2 => Ok(point),
                other => Err(section.wrong("points", &other, hint)),
            })
            .collect(),
        other => Err(section.wrong("points", &other.unwrap_or(Value::Array(Vec::new())), hint)),
    }
}

impl PublishedDef {
    /// Place and value of each point whose value is a number; the place is a number or a name.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (String, f64)> + '_ {
        self.points.iter().filter_map(|point| Some((text(point.first()?), number(point.get(1)?)?)))
    }

    /// Row, column and label of each cell of a matrix.
    pub(super) fn cells(&self) -> impl Iterator<Item = (String, String, String)> + '_ {
        self.points
            .iter()
            .filter_map(|point| Some((text(point.first()?), text(point.get(1)?), text(point.get(2)?))))
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| number(value).map_or_else(String::new, |n| n.to_string()), str::to_owned)
}

impl TableDef {
    pub(super) fn read(mut section: Section) -> Result<TableDef, DefinitionError> {
        let mut columns = Vec::new();
        for mut column in section.tables("column")? {
            columns.push(ColumnDef {
                label: column.needed("label")?,
                metric: column.needed("metric")?,
                unit: column.text("unit")?.unwrap_or_default(),
                factor: column.number("factor")?.unwrap_or(1.0),
                at: column.text("at")?,
            });
            column.end()?;
        }
        let rows = [("series", true), ("cells", false)];
        let by_series = section.choice("rows", &rows, "write \"series\" or \"cells\"")?.unwrap_or(false);
        let published = match section.value("published") {
            None => Vec::new(),
            Some(Value::Array(rows)) => {
                rows.iter().filter_map(Value::as_array).map(|row| row.iter().map(text).collect()).collect()
            }
            Some(other) => return Err(section.wrong("published", &other, "a list of rows")),
        };
        let table = TableDef {
            id: section.needed("id")?,
            title: section.needed("title")?,
            by_series,
            series: section.texts("series")?,
            columns,
            source: section.text("source")?.unwrap_or_default(),
            published,
        };
        section.end()?;
        let heads = table.columns.len() + if table.by_series { 1 } else { 2 };
        if let Some(row) = table.published.iter().find(|row| row.len() != heads) {
            let (id, has) = (&table.id, row.len());
            return Err(DefinitionError(format!(
                "table {id}: a published row has {has} cells for {heads} columns"
            )));
        }
        Ok(table)
    }
}
