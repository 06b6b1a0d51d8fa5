//! The known outputs: a file for each form, and a line in [`ALL`].

mod ab;
mod hey;
mod k6;
mod memtier_json;
mod memtier_text;
mod mutilate;
mod oha_json;
mod vegeta;
mod wrk;

use serde_json::Value;

use crate::number::{number, plain};
use crate::{Error, Output};

/// Formats in the order in which they are tried.
const ALL: [Format; 10] = [
    wrk::FORMAT,
    ab::FORMAT,
    hey::HEY,
    hey::OHA,
    memtier_text::FORMAT,
    mutilate::FORMAT,
    k6::FORMAT,
    memtier_json::FORMAT,
    oha_json::FORMAT,
    vegeta::FORMAT,
];

/// How one output is recognised and read.
struct Format {
    /// The program and the form, for errors.
    name: &'static str,
    /// Whether the content is of this program. Bounds: of at most one format.
    recognises: fn(&Content) -> bool,
    /// Errors: the missing figure, as the end of a sentence.
    read: fn(&Content) -> Result<Output, String>,
}

/// An output as text, and as JSON if it is an object.
pub(crate) struct Content {
    text: String,
    json: Option<Value>,
}

impl Content {
    /// Text that is not UTF-8 is read with replacements.
    pub(crate) fn of(text: &[u8]) -> Content {
        // A file from Windows has CRLF at the ends of its lines.
        let text = String::from_utf8_lossy(text).replace('\r', "");
        let json = serde_json::from_str(&text).ok().filter(Value::is_object);
        Content { text, json }
    }

    /// The rest of the first line that starts with `label`, without the space around it.
    fn after(&self, label: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim)
    }

    /// The number after `label`.
    fn figure(&self, label: &str) -> Option<f64> {
        plain(self.after(label)?)
    }

    /// The number at a place in the JSON, such as `/summary/total`.
    fn json_figure(&self, pointer: &str) -> Option<f64> {
        let value = self.json.as_ref()?.pointer(pointer)?.as_f64()?;
        (0.0..=1e18).contains(&value).then_some(value)
    }

    /// Names and numbers of the object at a place in the JSON.
    fn json_figures<'a>(&'a self, pointer: &str) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        let object = self.json.as_ref().and_then(|json| json.pointer(pointer)).and_then(Value::as_object);
        object.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)))
    }

    fn has_json(&self, pointers: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|json| pointers.iter().all(|pointer| json.pointer(pointer).is_some()))
    }

    /// Processors that `time` says the generator used, if its lines are in the output: `real 0m1.5s`, `user` and `sys`.
    fn busy_processors(&self) -> Option<f64> {
        let seconds = |label: &str| {
            let text = self
                .text
                .lines()
                .find_map(|line| line.strip_prefix(label).filter(|rest| rest.starts_with(['\t', ' '])))?;
            let (first, rest) = number(text)?;
            match rest.strip_prefix('m') {
                Some(rest) => Some(60.0 * first.value + plain(rest)?),
                None => Some(first.value),
            }
        };
        let (real, user, sys) = (seconds("real")?, seconds("user")?, seconds("sys")?);
        (real > 0.0).then(|| (user + sys) / real)
    }
}

/// Names of all formats.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|format| format.name).collect()
}

/// Reads `content` by the format that recognises it.
pub(crate) fn read(content: &Content) -> Result<Output, Error> {
    let format = ALL.iter().find(|format| (format.recognises)(content)).ok_or(Error::Unknown)?;
    let damaged = |problem: String| Error::Damaged { format: format.name, problem };
    let mut output = (format.read)(content).map_err(damaged)?;
    output.busy_processors = output.busy_processors.or_else(|| content.busy_processors());
    output.percentiles.sort_by(|a, b| a.percentile.total_cmp(&b.percentile));
    if output.samples.is_none() && output.achieved_rps.is_none() {
        return Err(damaged("it has neither a number of requests nor a rate".into()));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_from_time() {
        let busy = |text: &str| Content::of(text.as_bytes()).busy_processors();
        assert_eq!(busy("x\nreal\t0m2.000s\nuser\t0m1.000s\nsys\t0m2.000s\n"), Some(1.5));
        assert_eq!(busy("real 2.00\nuser 1.00\nsys 0.50\n"), Some(0.75));
        assert_eq!(busy("really 2\nuser 1\nsys 1"), None);
        assert_eq!(busy("real 0m0.000s\nuser 0\nsys 0"), None);
    }
}
