//! A claim as data: the statement on the figures, its source, and the requirements for judging it.

use results::study::{ClaimVerdict, Effort, X};
use toml::Table;

use super::section::Section;
use super::{Definition, DefinitionError};

/// A statement about the figures, and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name within the study.
    pub id: String,
    /// In words.
    pub text: String,
    /// Its source.
    pub source: String,
    /// Its requirements on the host.
    pub needs: Vec<String>,
    /// the runs of the study that can judge it; empty: all but smoke.
    pub(super) efforts: Vec<String>,
    /// The verdict expected here.
    pub expected: ClaimVerdict,
    /// Parts of the claim that this machine does not measure, if the study derives its points from the machine.
    pub(super) absent: Vec<String>,
    pub(super) check: Check,
    /// Made-up figures of its points, the same in all blocks, that show that it can hold; empty if the file has none.
    pub(super) reproduced_by: Vec<f64>,
    /// The same that show that it can fail.
    pub(super) differs_by: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    pub(super) series: String,
    pub(super) x: X,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Check {
    /// The figure at one spot over that at another, block by block, lies within bounds.
    Ratio {
        metric: String,
        of: Spot,
        to: Spot,
        /// The figure at the other spot, if different.
        to_metric: Option<String>,
        /// Two spots whose own ratio the ratio is set against.
        beside: Option<[Spot; 2]>,
        least: Option<f64>,
        most: Option<f64>,
    },
    /// The figure of the series with one more of the first resource to saturate at this spot lies within bounds, block
    /// by block, relative to the mean of the other series or to the value predicted by a figure of the spot.
    Advised { metric: String, from: Spot, predicted: Option<String>, least: Option<f64>, most: Option<f64> },
    /// The figure of one series is below the figure of another at each of these places, block by block.
    Below { metric: String, series: String, than: String, at: Vec<X> },
    /// The figure rises (or falls) from the first to the last place, and no step goes the other way by over 5 %.
    Monotone { metric: String, series: String, rising: bool },
    /// The ratio of any two figures along the axis is at most `most`.
    Flat { metric: String, series: String, most: f64 },
    /// The figure stays within a limit up to a place between two.
    UpTo { metric: String, series: String, limit: f64, from: f64, to: f64 },
    /// The figure itself lies within bounds.
    Within { metric: String, of: Spot, least: Option<f64>, most: Option<f64> },
}

impl Check {
    /// The series that it covers along the whole axis.
    pub(super) fn along(&self) -> Option<&str> {
        match self {
            Check::Monotone { series, .. } | Check::Flat { series, .. } => Some(series),
            _ => None,
        }
    }
}

impl Claim {
    pub(super) fn read_all(table: Table, study: &Definition) -> Result<Vec<Claim>, DefinitionError> {
        let mut file = Section::new("", table);
        let claims = file.tables("claim")?.into_iter().map(|section| Claim::read(section, study));
        let claims: Vec<Claim> = claims.collect::<Result<_, _>>()?;
        file.end()?;
        if let Some((n, twice)) =
            claims.iter().enumerate().find(|(n, claim)| claims[..*n].iter().any(|c| c.id == claim.id))
        {
            return Err(DefinitionError(format!("claim[{n}]: the id '{}' is taken", twice.id)));
        }
        Ok(claims)
    }

    fn read(mut section: Section, study: &Definition) -> Result<Claim, DefinitionError> {
        let verdicts = [
            ("reproduced", ClaimVerdict::Reproduced),
            ("differs", ClaimVerdict::Differs),
            ("open", ClaimVerdict::Open),
            ("not-measurable", ClaimVerdict::NotMeasurable),
        ];
        let expected =
            section.choice("expected", &verdicts, "write reproduced, differs, open or not-measurable")?;
        let expected = expected.unwrap_or(ClaimVerdict::Reproduced);
        let mut points = Points { study, absent: Vec::new() };
        let check = Check::read(&mut section, &mut points)?;
        let claim = Claim {
            id: section.needed("id")?,
            text: section.needed("text")?,
            source: section.needed("source")?,
            needs: section.texts("needs")?,
            efforts: section.texts("efforts")?,
            expected,
            absent: points.absent,
            check,
            reproduced_by: section.numbers("reproduced-by")?,
            differs_by: section.numbers("differs-by")?,
        };
        section.end()?;
        Ok(claim)
    }

    /// Whether such a run can judge it.
    pub(super) fn is_for(&self, effort: Effort) -> bool {
        match self.efforts.is_empty() {
            true => effort != Effort::Smoke,
            false => self.efforts.iter().any(|name| name == effort.words()),
        }
    }
}

impl Check {
    /// The figure that it is about.
    pub(super) fn metric(&self) -> &str {
        match self {
            Check::Ratio { metric, .. }
            | Check::Advised { metric, .. }
            | Check::Below { metric, .. }
            | Check::Monotone { metric, .. }
            | Check::Flat { metric, .. }
            | Check::UpTo { metric, .. }
            | Check::Within { metric, .. } => metric,
        }
    }

    fn read(section: &mut Section, study: &mut Points<'_>) -> Result<Check, DefinitionError> {
        let kind = section.needed("check")?;
        let metric = section.needed("metric")?;
        Ok(match kind.as_str() {
            "ratio" => Check::Ratio {
                metric,
                of: spot(section, "of", study)?,
                to: spot(section, "to", study)?,
                to_metric: section.text("to-metric")?,
                beside: match section.text("beside-of")? {
                    None => None,
                    Some(of) => {
                        Some([spot_of(section, "beside-of", &of, study)?, spot(section, "beside-to", study)?])
                    }
                },
                least: section.number("at-least")?,
                most: section.number("at-most")?,
            },
            "advised" => Check::Advised {
                metric,
                from: spot(section, "from", study)?,
                predicted: section.text("predicted")?,
                least: section.number("at-least")?,
                most: section.number("at-most")?,
            },
            "within" => Check::Within {
                metric,
                of: spot(section, "of", study)?,
                least: section.number("at-least")?,
                most: section.number("at-most")?,
            },
            "below" => {
                let series = series(section, "series", study)?;
                let than = study.series(&section.at("than"), section.needed("than")?)?;
                let at: Vec<X> = section.texts("at")?.iter().map(|text| study.study.axis.x(text)).collect();
                for x in &at {
                    study.place(&section.at("at"), x)?;
                }
                if at.is_empty() {
                    return Err(DefinitionError(format!("{}: it is missing", section.at("at"))));
                }
                Check::Below { metric, series, than, at }
            }
            "rising" | "falling" => Check::Monotone {
                metric,
                series: series(section, "series", study)?,
                rising: kind == "rising",
            },
            "flat" => Check::Flat {
                metric,
                series: series(section, "series", study)?,
                most: needed_number(section, "at-most")?,
            },
            "up-to" => Check::UpTo {
                metric,
                series: series(section, "series", study)?,
                limit: needed_number(section, "limit")?,
                from: needed_number(section, "from")?,
                to: needed_number(section, "to")?,
            },
            other => {
                let hint = "write ratio, advised, within, below, rising, falling, flat or up-to";
                return Err(section.not_known("check", other, hint));
            }
        })
    }
}

fn needed_number(section: &mut Section, key: &'static str) -> Result<f64, DefinitionError> {
    section.number(key)?.ok_or_else(|| DefinitionError(format!("{}: it is missing", section.at(key))))
}

fn series(
    section: &mut Section,
    key: &'static str,
    points: &mut Points<'_>,
) -> Result<String, DefinitionError> {
    let name = section.needed(key)?;
    points.series(&section.at(key), name)
}

/// The points of a study, and those that a claim speaks of and that are not there.
struct Points<'a> {
    study: &'a Definition,
    absent: Vec<String>,
}

impl Points<'_> {
    /// Errors: the series does not exist. In a study that derives its series from the machine it is only absent.
    fn series(&mut self, at: &str, name: String) -> Result<String, DefinitionError> {
        if self.study.series_named(&name).is_none() {
            self.lack(at, &format!("there is no series '{name}'; {}", self.study.series_names()))?;
        }
        Ok(name)
    }

    /// Errors: no run measures the place; otherwise as for a series.
    fn place(&mut self, at: &str, x: &X) -> Result<(), DefinitionError> {
        if self.study.has(x) {
            Ok(())
        } else {
            self.lack(at, &format!("no run of the study measures at {x}"))
        }
    }

    fn lack(&mut self, at: &str, what: &str) -> Result<(), DefinitionError> {
        if self.study.parameters.is_empty() {
            return Err(DefinitionError(format!("{at}: {what}")));
        }
        self.absent.push(what.to_owned());
        Ok(())
    }
}

/// Reads `SERIES @ PLACE`.
fn spot(section: &mut Section, key: &'static str, points: &mut Points<'_>) -> Result<Spot, DefinitionError> {
    let text = section.needed(key)?;
    spot_of(section, key, &text, points)
}

fn spot_of(
    section: &Section,
    key: &'static str,
    text: &str,
    points: &mut Points<'_>,
) -> Result<Spot, DefinitionError> {
    let at = section.at(key);
    let (name, place) = text.rsplit_once(" @ ").ok_or_else(|| {
        DefinitionError(format!("{at}: '{text}' is no 'SERIES @ PLACE', such as 'Sphinx @ 70%'"))
    })?;
    let x = points.study.axis.x(place.trim());
    points.place(&at, &x)?;
    Ok(Spot { series: points.series(&at, name.trim().to_owned())?, x })
}
