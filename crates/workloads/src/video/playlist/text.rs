//! The words of a playlist's lines: attributes, numbers, variables.

use std::borrow::Cow;
use std::collections::HashMap;

use units::Nanos;

/// The longest segment. Source: ours; a day.
const SEGMENT_MAX: f64 = 86_400.0;
/// The duration of a segment of 0 s. Source: FFmpeg's demuxer; players request such segments.
const SEGMENT_MIN: Nanos = Nanos::from_millis(1);

/// The values of `{$NAME}`, by name. Source: the second edition of RFC 8216, §4.3.
pub type Variables = HashMap<String, String>;

/// `NAME=VALUE,…`, where a quoted value may hold commas; the quotation marks are left out. Malformed attributes are
/// skipped, as hls.js skips them. Source: RFC 8216 §4.2.
pub(super) fn attributes(text: &str) -> HashMap<&str, &str> {
    let mut found = HashMap::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let quoted = after.strip_prefix('"').and_then(|after| after.split_once('"'));
        let to_comma = quoted.map_or(after, |(_, next)| next);
        let (unquoted, next) = to_comma.split_once(',').unwrap_or((to_comma, ""));
        let value = quoted.map_or(unquoted.trim().trim_start_matches('"'), |(value, _)| value);
        // An attribute without a value may precede this one.
        found.insert(name.rsplit(',').next().unwrap_or_default().trim(), value);
        rest = next;
    }
    found
}

/// The number at the beginning of a value; `None` for none, or 0.
pub(super) fn positive(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok().filter(|number| *number > 0)
}

/// The seconds of `#EXTINF`: the number at its beginning, behind which hls.js reads nothing (`10s`, `10.5;title`). An exponent is
/// refused, as players differ by it. Bounds: up to a day.
pub(super) fn seconds(text: &str) -> Result<Nanos, &'static str> {
    let text = text.trim_start();
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    let end = if text[whole..].starts_with('.') { whole + 1 + digits(&text[whole + 1..]) } else { whole };
    let is_number = !text[end..].starts_with(['e', 'E']);
    let seconds = is_number.then(|| text[..end].parse::<f64>().ok()).flatten();
    match seconds {
        None => Err("the duration is not a number of seconds; write #EXTINF:SECONDS, such as #EXTINF:10.5,"),
        Some(seconds) if seconds > SEGMENT_MAX => {
            Err("the segment is longer than a day (86400 s); cut it into shorter ones")
        }
        Some(seconds) => Ok(Nanos((seconds * 1e9).round() as u64).max(SEGMENT_MIN)),
    }
}

/// Whether an address holds its object itself, so that no server gets a request for it.
pub(super) fn is_data(uri: &str) -> bool {
    uri.trim_start().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// Whether all codecs of a variant are of sound, by the names of their sample entries. Source: those of hls.js that streams have.
pub(super) fn is_sound(codecs: &str) -> bool {
    const SOUNDS: [&str; 12] =
        ["mp4a", "ac-3", "ec-3", "ac-4", "opus", "flac", "alac", "mha1", "mhm1", "dtsc", "dtse", "dtsx"];
    codecs.split(',').all(|codec| {
        let name = codec.trim().split('.').next().unwrap_or_default();
        SOUNDS.iter().any(|sound| sound.eq_ignore_ascii_case(name))
    })
}

/// `LENGTH` or `LENGTH@OFFSET`.
pub(super) fn byte_range(text: &str) -> Option<(u64, Option<u64>)> {
    let digits = |text: &str| {
        let text = text.trim();
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
    };
    match text.split_once('@') {
        Some((length, offset)) => Some((digits(length)?, Some(digits(offset)?))),
        None => Some((digits(text)?, None)),
    }
}

/// A line with its variables replaced. Errors: the name of a variable that is not defined.
pub(super) fn substituted<'a>(line: &'a str, variables: &Variables) -> Result<Cow<'a, str>, String> {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("{$") {
        let Some((name, after)) = after.split_once('}') else { break };
        let value = variables.get(name).ok_or(name)?;
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    if out.is_empty() && rest.len() == line.len() {
        return Ok(line.into());
    }
    out.push_str(rest);
    Ok(out.into())
}

/// The value of a parameter in a query. It stays percent-encoded, as it becomes part of an address.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
        .map(|(_, value)| value)
}
