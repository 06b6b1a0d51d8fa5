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
    let cell = |head: &str| {
        heads
            .iter()
            .position(|column| *column == head)
            .and_then(|at| row.get(at))
            .and_then(|cell| plain(cell))
    };
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
        if let Some((at, (us, _))) = head.strip_suffix("th").and_then(plain).zip(number(cell)) {
            output.at(at, us.value, us.step);
        }
    }
    Ok(output)
}
