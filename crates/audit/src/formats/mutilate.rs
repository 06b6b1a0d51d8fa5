//! mutilate, and its descendant mcperf.

use super::{Content, Format};
use crate::number::{number, plain, whole};
use crate::{Failures, Loop, Output, Service};

pub(super) const FORMAT: Format = Format { name: "mutilate", recognises, read };

fn recognises(content: &Content) -> bool {
    content.after("#type").is_some() && content.after("Total QPS =").is_some()
}

fn read(content: &Content) -> Result<Output, String> {
    let heads: Vec<&str> = content.after("#type").unwrap_or_default().split_whitespace().collect();
    let row: Vec<&str> = content.after("read ").unwrap_or_default().split_whitespace().collect();
    let cell = |head: &str| plain(row.get(heads.iter().position(|column| *column == head)?)?);
    // `Total QPS = 1000.1 (5000 / 5.0s)`.
    let total = content.after("Total QPS =").unwrap_or_default();
    let (count, seconds) =
        total.split_once('(').and_then(|(_, rest)| rest.split_once('/')).unwrap_or_default();
    let mut output = Output {
        tool: "mutilate",
        service: Service::Cache,
        // With -q it draws send times, and leaves out those that it misses. The table does not say whether -q was given.
        load: Loop::Unknown,
        achieved_rps: plain(total),
        duration_s: plain(seconds),
        samples: plain(count).map(whole),
        dropped: content.figure("Skipped TXs =").map_or(0, whole),
        failures: Failures::Included,
        mean_us: cell("avg"),
        max_us: cell("max"),
        ..Output::default()
    };
    for (head, cell) in heads.iter().zip(&row) {
        if let Some((at, (us, _))) = percentile(head).zip(number(cell)) {
            output.at(at, us.value, us.step);
        }
    }
    Ok(output)
}

/// The percentile of a column: `99th` of mutilate, and `p99`, `p999` of mcperf, where a third digit is a decimal place.
fn percentile(head: &str) -> Option<f64> {
    let Some(digits) = head.strip_prefix('p') else { return head.strip_suffix("th").and_then(plain) };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (percent, places) = digits.split_at(digits.len().min(2));
    format!("{percent}.{places}0").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_percentiles() {
        let check = |head: &str, expect: Option<f64>| assert_eq!(percentile(head), expect, "{head}");
        check("5th", Some(5.0));
        check("99th", Some(99.0));
        check("p5", Some(5.0));
        check("p99", Some(99.0));
        check("p999", Some(99.9));
        check("p9999", Some(99.99));
        for other in ["avg", "std", "min", "max", "p", "pth", "p9x", "th", ""] {
            check(other, None);
        }
    }

    #[test]
    fn the_table_of_mcperf_is_read() {
        let text = "#type       avg     std     min      p5     p95     p99    p999   p9999\n\
                    read       62.2    24.1    54.7    59.1    63.8    68.8    80.2  1012.5\n\
                    Total QPS = 16082.2 (80411 / 5.0s)\n";
        let output = read(&Content::of(text.as_bytes())).unwrap();
        let found: Vec<(f64, f64)> = output.percentiles.iter().map(|at| (at.percentile, at.us)).collect();
        assert_eq!(found, [(5.0, 59.1), (95.0, 63.8), (99.0, 68.8), (99.9, 80.2), (99.99, 1012.5)]);
    }
}
