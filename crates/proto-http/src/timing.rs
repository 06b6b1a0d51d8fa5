/// The most metrics that are read of one answer. Source: ours; a site has one for each of its tiers.
pub const TIMINGS_MAX: usize = 16;
/// The longest duration that is believed. Units: ms. Source: ours; an hour, beyond any time-out.
const LONGEST: f64 = 3_600_000.0;

/// One metric of `Server-Timing`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// How long. Units: ms. Bounds: finite, 0 to an hour.
    pub dur: Option<f64>,
    /// Its description, without quotation marks.
    pub desc: &'a [u8],
}

/// The metrics in the value of a `Server-Timing`; those that are damaged are left out.
///
/// Bounds: [`TIMINGS_MAX`]. Cost: no allocation. Source: <https://www.w3.org/TR/server-timing/>, the header field.
pub fn timings(value: &[u8]) -> impl Iterator<Item = Metric<'_>> {
    split(value, b',').take(TIMINGS_MAX).filter_map(metric)
}

fn metric(text: &[u8]) -> Option<Metric<'_>> {
    let mut parts = split(text, b';');
    let name = parts.next()?.trim_ascii();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.is_empty() || !name.iter().all(is_token) {
        return None;
    }
    let mut found = Metric { name, dur: None, desc: b"" };
    for part in parts {
        let Some(at) = part.iter().position(|byte| *byte == b'=') else { continue };
        let (key, value) = (part[..at].trim_ascii(), unquoted(part[at + 1..].trim_ascii()));
        if key.eq_ignore_ascii_case(b"dur") {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            found.dur = found.dur.or(number.filter(|dur| (0.0..=LONGEST).contains(dur)));
        } else if key.eq_ignore_ascii_case(b"desc") {
            found.desc = value;
        }
    }
    Some(found)
}

fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// The parts between separators outside quotation marks.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    text.split(move |byte| {
        quoted ^= *byte == b'"';
        *byte == separator && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Option<f64>, String)> {
        let text_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        timings(text.as_bytes()).map(|m| (text_of(m.name), m.dur, text_of(m.desc))).collect()
    }

    #[test]
    fn reads_durations_and_descriptions() {
        let check = |text: &str, expect: &[(&str, Option<f64>, &str)]| {
            let expect: Vec<_> = expect.iter().map(|(n, d, t)| (n.to_string(), *d, t.to_string())).collect();
            assert_eq!(read(text), expect, "{text}");
        };
        let three = "php;dur=1.5, db;dur=2;desc=\"12\", cache;desc=3;dur=0.25";
        check(three, &[("php", Some(1.5), ""), ("db", Some(2.0), "12"), ("cache", Some(0.25), "3")]);
        check("a;desc=\"x, y; dur=9\";dur=1", &[("a", Some(1.0), "x, y; dur=9")]);
        check("a", &[("a", None, "")]);
        check("a;dur;x=1; dur = 4", &[("a", Some(4.0), "")]);
        check(
            "a;dur=-1, b;dur=NaN, c;dur=inf, d;dur=1e99, e;dur=x",
            &[("a", None, ""), ("b", None, ""), ("c", None, ""), ("d", None, ""), ("e", None, "")],
        );
        check(", ;dur=1, a b;dur=1", &[]);
        assert_eq!(read(&"a,".repeat(1_000)).len(), TIMINGS_MAX);
    }
}
