//! `stats mrc` and `stats hotkeys`: estimates from [samples](crate::sampling) of the requests.

use proto_memcache::server::reply;
use units::Bytes;

use super::Line;
use crate::sampling::{Hottest, Reading};

/// Appends the answer to `stats mrc`: the hit ratio of an LRU cache by its memory. `None` without samples.
pub(crate) fn curve(reading: Option<&Reading>, out: &mut Vec<u8>) {
    let line: Line<'_> = &mut |name, value| reply::stat(out, &format!("mrc:{name}"), &value.to_string());
    if let Some(reading) = reading {
        for (memory, ratio) in &reading.points {
            line(&size(*memory), &format_args!("{ratio:.4}"));
        }
        if !reading.points.is_empty() {
            line("measured", &format_args!("{:.4}", reading.hit_ratio));
        }
        line("reads", &format_args!("{:.0}", reading.reads));
        line("keys", &reading.keys);
        line("rate", &format_args!("{:.7}", reading.rate));
    }
    out.extend_from_slice(reply::END);
}

/// The same in one word: `32MiB=0.61,64MiB=0.70`, from half to four times the memory.
pub(crate) fn summary(reading: Option<&Reading>) -> String {
    let Some(reading) = reading else { return "off".into() };
    let points = reading.points.iter().skip(1).take(4);
    let points: Vec<String> = points.map(|(memory, ratio)| format!("{}={ratio:.2}", size(*memory))).collect();
    if points.is_empty() { "unknown".into() } else { points.join(",") }
}

/// Appends the answer to `stats hotkeys`, from the lines of all threads.
pub(crate) fn hot_keys(lines: &[u8], out: &mut Vec<u8>) {
    for (rank, (key, share)) in (1..).zip(Hottest::read(lines).0) {
        reply::stat(out, &format!("hotkeys:{rank}:key"), &key);
        reply::stat(out, &format!("hotkeys:{rank}:share"), &format!("{share:.4}"));
    }
    out.extend_from_slice(reply::END);
}

/// A size without a blank, which would end the name of a statistic.
fn size(bytes: u64) -> String {
    Bytes(bytes).to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_told_by_memory() {
        let check = |reading: Option<&Reading>, expect: &str, in_a_word: &str| {
            let mut out = Vec::new();
            curve(reading, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
            assert_eq!(summary(reading), in_a_word);
        };
        check(None, "END\r\n", "off");
        let few = Reading { reads: 12.4, keys: 3, rate: 1.0, ..Reading::default() };
        let end = "STAT mrc:reads 12\r\nSTAT mrc:keys 3\r\nSTAT mrc:rate 1.0000000\r\nEND\r\n";
        check(Some(&few), end, "unknown");
        let points = (0..6).map(|i| (25 << (18 + i), 0.125 * i as f64)).collect();
        check(
            Some(&Reading { points, hit_ratio: 0.25, ..few }),
            &format!(
                "STAT mrc:6.25MiB 0.0000\r\nSTAT mrc:12.50MiB 0.1250\r\nSTAT mrc:25MiB 0.2500\r\n\
                 STAT mrc:50MiB 0.3750\r\nSTAT mrc:100MiB 0.5000\r\nSTAT mrc:200MiB 0.6250\r\n\
                 STAT mrc:measured 0.2500\r\n{end}"
            ),
            "12.50MiB=0.12,25MiB=0.25,50MiB=0.38,100MiB=0.50",
        );
    }

    #[test]
    fn hot_keys_are_told_by_rank() {
        let mut out = Vec::new();
        hot_keys(b"10 \n2.5 a%20b\n5 c\n", &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "STAT hotkeys:1:key c\r\nSTAT hotkeys:1:share 0.5000\r\n\
             STAT hotkeys:2:key a%20b\r\nSTAT hotkeys:2:share 0.2500\r\nEND\r\n"
        );
    }
}
