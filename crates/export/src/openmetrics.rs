use std::fmt::Write;

use crate::metrics::{Kind, Metrics, Value};

/// The text's `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Metrics {
    /// The text of the OpenMetrics format, version 1.0.0, to the `# EOF` at its end.
    ///
    /// Source: the OpenMetrics specification, version 1.0.0.
    pub fn openmetrics(&self) -> String {
        let mut text = String::new();
        for family in &self.families {
            let (name, suffix) = (&family.name, if family.kind == Kind::Counter { "_total" } else { "" });
            let kind = match family.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Summary => "summary",
            };
            let _ = writeln!(text, "# TYPE {name} {kind}");
            if !family.unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {}", family.unit);
            }
            let _ = writeln!(text, "# HELP {name} {}", escaped(family.help));
            for point in &family.points {
                match &point.value {
                    Value::Number(value) => {
                        let _ = writeln!(text, "{name}{suffix}{} {value}", labels(&point.labels, None));
                    }
                    Value::Summary { count, sum, quantiles } => {
                        for (quantile, value) in quantiles {
                            let labels = labels(&point.labels, Some(*quantile));
                            let _ = writeln!(text, "{name}{labels} {value}");
                        }
                        let labels = labels(&point.labels, None);
                        let _ = writeln!(text, "{name}_count{labels} {count}\n{name}_sum{labels} {sum}");
                    }
                }
            }
        }
        text + "# EOF\n"
    }
}

fn labels(labels: &[(String, String)], quantile: Option<f64>) -> String {
    let quantile = quantile.map(|q| ("quantile".to_owned(), q.to_string()));
    let all = labels.iter().cloned().chain(quantile);
    let pairs: Vec<String> = all.map(|(name, value)| format!("{name}=\"{}\"", escaped(&value))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
