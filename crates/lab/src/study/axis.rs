//! The quantity varied along the horizontal axis.

use results::study::{Axis, Effort, X};
use spec::percent;
use toml::{Table, Value};
use units::Bytes;

use super::DefinitionError;
use super::section::Section;

/// The axis: places, and the keys that each of them sets.
#[derive(Clone, Debug, Default)]
pub(super) struct AxisDef {
    pub(super) axis: Axis,
    /// The keys that a value sets, unless a series overrides them.
    pub(super) sets: Vec<String>,
    /// By effort, in the order of [`Effort`].
    places: [Vec<AxisPoint>; 3],
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AxisPoint {
    pub(super) x: X,
    value: Option<Value>,
    /// Changes to the experiment in addition to the axis keys.
    set: Table,
    pub(super) needs: Vec<String>,
}

impl AxisDef {
    pub(super) fn read(mut section: Section) -> Result<AxisDef, DefinitionError> {
        let mut axis = section.axis()?;
        let sets = section.texts("sets")?;
        let mut by_form = section.below("values")?;
        let mut values = |key| -> Result<Vec<AxisPoint>, DefinitionError> {
            let Some(value) = by_form.value(key) else { return Ok(Vec::new()) };
            let Value::Array(values) = value else {
                return Err(by_form.wrong(key, &value, "a list"));
            };
            values.iter().map(|value| place(value, &axis.unit)).collect()
        };
        let mut places = [values("smoke")?, values("quick")?, values("full")?];
        by_form.end()?;
        for mut point in section.tables("point")? {
            let x = match point.number("number")? {
                Some(number) => X::Number(number),
                None => X::Category(point.needed("name")?),
            };
            let named = AxisPoint {
                x,
                value: point.value("value"),
                set: point.raw_table("set")?,
                needs: point.texts("needs")?,
            };
            let efforts = point.texts("efforts")?;
            point.end()?;
            for (effort, places) in [Effort::Smoke, Effort::Quick, Effort::Full].into_iter().zip(&mut places)
            {
                if efforts.is_empty() || efforts.iter().any(|name| name == effort.words()) {
                    places.push(named.clone());
                }
            }
        }
        section.end()?;
        for place in places.iter().rev().flatten() {
            if let X::Category(name) = &place.x
                && !axis.categories.contains(name)
            {
                axis.categories.push(name.clone());
            }
        }
        Ok(AxisDef { axis, sets, places })
    }

    /// The loads of an experiment; `None` for the one load that it has.
    pub(super) fn of_loads(loads: Option<Value>) -> Result<AxisDef, DefinitionError> {
        let mut places = vec![AxisPoint { x: X::Number(0.0), ..AxisPoint::default() }];
        let mut axis = Axis { label: "load".into(), ..Axis::default() };
        if let Some(loads) = loads {
            let Value::Array(loads) = &loads else {
                return Err(DefinitionError("load.loads: write a list, such as [\"10%\", \"70%\"]".into()));
            };
            axis.unit = "%".into();
            places = loads.iter().map(|load| place(load, "%")).collect::<Result<_, _>>()?;
        }
        let sets = vec!["load.share".to_owned()];
        Ok(AxisDef { axis, sets, places: [places.clone(), places.clone(), places] })
    }

    pub(super) fn places(&self, effort: Effort) -> &[AxisPoint] {
        &self.places[effort as usize]
    }

    /// The place at `x`: of this effort, or of another one.
    pub(super) fn place(&self, effort: Effort, x: &X) -> Option<&AxisPoint> {
        let all = [effort, Effort::Full, Effort::Quick, Effort::Smoke];
        all.into_iter().flat_map(|effort| self.places(effort)).find(|place| place.x == *x)
    }

    /// The place that a text denotes, at any effort; for claims and references.
    pub(super) fn x(&self, text: &str) -> X {
        // A place with a name keeps it, though it may read like a number.
        if self.axis.categories.iter().any(|name| name == text) {
            return text.into();
        }
        as_x(text, &self.axis.unit)
    }

    /// Whether `x` is measured in any run.
    pub(super) fn has(&self, x: &X) -> bool {
        self.places.iter().flatten().any(|place| place.x == *x)
    }
}

impl AxisPoint {
    /// Its changes to the experiment, with its value assigned to these paths.
    pub(super) fn changes(&self, sets: &[String]) -> Result<Table, DefinitionError> {
        let mut table = self.set.clone();
        for (path, value) in sets.iter().zip(self.value.iter().cycle()) {
            assign(&mut table, path, value.clone())?;
        }
        Ok(table)
    }
}

fn place(value: &Value, unit: &str) -> Result<AxisPoint, DefinitionError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => return Err(DefinitionError("x.values: write texts or numbers".into())),
    };
    Ok(AxisPoint { x: as_x(&text, unit), value: Some(value.clone()), ..AxisPoint::default() })
}

/// A text as a number in the unit of the axis, if it is one.
fn as_x(text: &str, unit: &str) -> X {
    let number = match unit {
        _ if text.ends_with('%') => percent(text).map(|share| (1e6 * share).round() / 1e4),
        "B" => text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
        _ => text.parse::<f64>().ok().filter(|number| number.is_finite()),
    };
    number.map_or_else(|| X::Category(text.to_owned()), X::Number)
}

/// Sets the key at `path`, such as `target.threads`.
pub(super) fn assign(table: &mut Table, path: &str, value: Value) -> Result<(), DefinitionError> {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
            Ok(())
        }
        Some((first, rest)) => {
            let below = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            match below {
                Value::Table(below) => assign(below, rest, value),
                _ => Err(DefinitionError(format!("{path}: it leads through a value"))),
            }
        }
    }
}

/// Merges `over` into `table`: values of `over` win, missing ones keep their old value.
pub(super) fn merge(table: &mut Table, over: &Table) {
    for (key, value) in over {
        match (table.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(over)) => merge(below, over),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers_in_the_unit_of_the_axis() {
        let check = |text: &str, unit: &str, expect: X| assert_eq!(as_x(text, unit), expect, "{text}");
        check("70%", "%", 70.0.into());
        check("12.5%", "%", 12.5.into());
        check("2KiB", "B", 2048.0.into());
        check("2B", "B", 2.0.into());
        check("24", "", 24.0.into());
        check("4-7", "", "4-7".into());
        check("NaN", "", "NaN".into());
    }

    #[test]
    fn a_place_sets_what_the_axis_names() {
        let text =
            "label = 'threads'\nsets = ['target.threads', 'generator.connections']\nvalues.quick = [1, 2]";
        let axis = AxisDef::read(Section::new("x", text.parse().unwrap())).unwrap();
        let places = axis.places(Effort::Quick);
        assert_eq!(places.len(), 2);
        assert_eq!(places[1].x, 2.0.into());
        let expect: Table = "target.threads = 2\ngenerator.connections = 2".parse().unwrap();
        assert_eq!(places[1].changes(&axis.sets).unwrap(), expect);
        let other = places[1].changes(&["target.instances".to_owned()]).unwrap();
        assert_eq!(other, "target.instances = 2".parse::<Table>().unwrap());
        assert!(axis.places(Effort::Full).is_empty() && axis.has(&1.0.into()) && !axis.has(&3.0.into()));
    }

    #[test]
    fn named_points_belong_to_the_efforts_that_they_name() {
        let text = "[[point]]\nname = '4-7'\nneeds = ['smt']\nset.target.threads = 7\n\
                    [[point]]\nname = '7-7'\nefforts = ['full']";
        let axis = AxisDef::read(Section::new("x", text.parse().unwrap())).unwrap();
        let lengths: Vec<usize> =
            [Effort::Smoke, Effort::Quick, Effort::Full].map(|effort| axis.places(effort).len()).to_vec();
        assert_eq!(lengths, [1, 1, 2]);
        assert_eq!(axis.axis.categories, ["4-7", "7-7"]);
        assert_eq!(axis.places(Effort::Full)[0].needs, ["smt"]);
        assert_eq!((axis.x("4-7"), axis.x("7")), ("4-7".into(), 7.0.into()));
    }

    #[test]
    fn points_with_a_number_stand_in_its_order() {
        let text = "unit = '%'\n[[point]]\nnumber = 5\nset.knobs = ['memory.limit=1MiB']\n[[point]]\nnumber = 12.5\n\
                    [[point]]\nname = 'all'";
        let axis = AxisDef::read(Section::new("x", text.parse().unwrap())).unwrap();
        let places: Vec<X> = axis.places(Effort::Quick).iter().map(|place| place.x.clone()).collect();
        assert_eq!(places, [5.0.into(), 12.5.into(), "all".into()]);
        assert_eq!((axis.x("5%"), axis.x("12.5 %"), axis.x("all")), (5.0.into(), 12.5.into(), "all".into()));
        assert_eq!(axis.axis.categories, ["all"]);
        let wrong =
            |text: &str| AxisDef::read(Section::new("x", text.parse().unwrap())).unwrap_err().to_string();
        let error = wrong("[[point]]\nnumber = 5\nname = 'five'");
        assert!(error.contains("x.point[0].name: this key is not known"), "{error}");
        let error = wrong("[[point]]\nset.knobs = []");
        assert!(error.contains("x.point[0].name: it is missing"), "{error}");
        let error = wrong("[[point]]\nnumber = '5'");
        assert!(error.contains("write a number"), "{error}");
    }

    #[test]
    fn what_lies_over_counts() {
        let mut table: Table = "a = 1\n[b]\nc = 2\nd = 3".parse().unwrap();
        merge(&mut table, &"e = 5\n[b]\nc = 4".parse().unwrap());
        assert_eq!(table, "a = 1\ne = 5\n[b]\nc = 4\nd = 3".parse::<Table>().unwrap());
    }
}
