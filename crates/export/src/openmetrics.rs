use std::fmt::Write;

use crate::metrics::{Kind, Metric, Metrics, Value};

/// The text's `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Metrics {
    /// The text of the OpenMetrics format, version 1.0.0, to the `# EOF` at its end.
    ///
    /// Source: the OpenMetrics specification, version 1.0.0.
    pub fn openmetrics(&self) -> String {
        self.text(true) + "# EOF\n"
    }

    /// The text format of Prometheus, version 0.0.4.
    ///
    /// Source: Prometheus, "Exposition formats": counters are named with their suffix, and units have no line.
    pub fn prometheus(&self) -> String {
        self.text(false)
    }

    fn text(&self, open: bool) -> String {
        let mut text = String::new();
        for family in &self.families {
            let (name, suffix) = (&family.name, family.suffix());
            let kind = match family.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Summary => "summary",
                Kind::Histogram => "histogram",
            };
            let named = if open { "" } else { suffix };
            let _ = writeln!(text, "# TYPE {name}{named} {kind}");
            if open && !family.unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {}", family.unit);
            }
            let _ = writeln!(text, "# HELP {name}{named} {}", escaped(family.help));
            for Series { name, labels, value } in family.series() {
                let _ = writeln!(text, "{name}{} {value}", labels_text(&labels));
            }
        }
        text
    }
}

/// A named number with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// With the suffix of its part of a distribution.
    pub name: String,
    /// Names and values, in order.
    pub labels: Vec<(String, String)>,
    /// The number.
    pub value: f64,
}

impl Metric {
    /// The end of a counter's name.
    fn suffix(&self) -> &'static str {
        if self.kind == Kind::Counter { "_total" } else { "" }
    }

    /// Its series: one of each number, several of each distribution.
    pub fn series(&self) -> Vec<Series> {
        let mut all = Vec::new();
        for point in &self.points {
            let mut add = |end: &str, own: Option<(&str, String)>, value: f64| {
                let own = own.map(|(name, value)| (name.to_owned(), value));
                let labels = point.labels.iter().cloned().chain(own).collect();
                all.push(Series { name: format!("{}{end}", self.name), labels, value });
            };
            match &point.value {
                Value::Number(value) => add(self.suffix(), None, *value),
                Value::Summary { count, sum, quantiles } => {
                    for (quantile, value) in quantiles {
                        add("", Some(("quantile", quantile.to_string())), *value);
                    }
                    add("_count", None, *count as f64);
                    add("_sum", None, *sum);
                }
                Value::Histogram { buckets, above, sum } => {
                    let mut total: u64 = 0;
                    let bounds = buckets.iter().map(|(bound, count)| (bound.to_string(), count));
                    for (bound, count) in bounds.chain([("+Inf".to_owned(), above)]) {
                        total += count;
                        add("_bucket", Some(("le", bound)), total as f64);
                    }
                    add("_count", None, total as f64);
                    add("_sum", None, *sum);
                }
            }
        }
        all
    }
}

fn labels_text(labels: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
