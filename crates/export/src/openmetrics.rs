use std::fmt::Write;

use crate::metrics::{Kind, Metrics, Point, Value};

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
            let (name, suffix) = (&family.name, if family.kind == Kind::Counter { "_total" } else { "" });
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
            for point in &family.points {
                point_text(&mut text, name, suffix, point);
            }
        }
        text
    }
}

fn point_text(text: &mut String, name: &str, suffix: &str, point: &Point) {
    let own = labels(&point.labels, None);
    let _ = match &point.value {
        Value::Number(value) => writeln!(text, "{name}{suffix}{own} {value}"),
        Value::Summary { count, sum, quantiles } => {
            for (quantile, value) in quantiles {
                let labels = labels(&point.labels, Some(("quantile", quantile.to_string())));
                let _ = writeln!(text, "{name}{labels} {value}");
            }
            writeln!(text, "{name}_count{own} {count}\n{name}_sum{own} {sum}")
        }
        Value::Histogram { buckets, above, sum } => {
            let mut total = 0;
            let bounds = buckets.iter().map(|(bound, count)| (bound.to_string(), count));
            for (bound, count) in bounds.chain([("+Inf".to_owned(), above)]) {
                total += count;
                let labels = labels(&point.labels, Some(("le", bound)));
                let _ = writeln!(text, "{name}_bucket{labels} {total}");
            }
            writeln!(text, "{name}_count{own} {total}\n{name}_sum{own} {sum}")
        }
    };
}

fn labels(labels: &[(String, String)], own: Option<(&str, String)>) -> String {
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let all = labels.iter().cloned().chain(own);
    let pairs: Vec<String> = all.map(|(name, value)| format!("{name}=\"{}\"", escaped(&value))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
