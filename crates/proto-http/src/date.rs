/// Reads a date of a cookie, in seconds after 1970, 0 for earlier ones: `Thu, 01 Jan 1970 00:00:00 GMT`, or with
/// hyphens between day, month and year as older programs write it.
///
/// Source: RFC 6265 §5.1.1, whose parts may come in any order.
pub(crate) fn read(text: &[u8]) -> Option<u64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b':';
    for part in text.split(|byte| !is_part(byte)).filter(|part| !part.is_empty()) {
        if time.is_none()
            && let Some(found) = clock(part)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(part, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(part)
        {
            month = Some(found);
        } else if year.is_none() {
            year = number(part, 4..=4).or_else(|| number(part, 2..=2).map(century));
        }
    }
    let (day, month, year) = (day?, month?, year?);
    if !(1..=31).contains(&day) || !(1601..=9999).contains(&year) {
        return None;
    }
    Some((days(year as i64, month as i64, day as i64) * 86_400 + time? as i64).max(0) as u64)
}

fn number(part: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let text = std::str::from_utf8(part).ok()?;
    (digits.contains(&part.len()) && part.iter().all(u8::is_ascii_digit)).then(|| text.parse().ok())?
}

/// Source: RFC 6265 §5.1.1, points 3 and 4.
fn century(year: u32) -> u32 {
    if year < 70 { 2000 + year } else { 1900 + year }
}

/// `hh:mm:ss`, in seconds.
fn clock(part: &[u8]) -> Option<u32> {
    let mut parts = part.split(|byte| *byte == b':').map(|part| number(part, 1..=2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = parts.next().is_none() && hour < 24 && minute < 60 && second < 60;
    fits.then_some(3600 * hour + 60 * minute + second)
}

fn month_of(part: &[u8]) -> Option<u32> {
    const MONTHS: &[u8; 36] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let name = part.get(..3)?;
    let found = MONTHS.chunks(3).position(|month| month.eq_ignore_ascii_case(name))?;
    Some(found as u32 + 1)
}

/// Days after 1970. Source: Howard Hinnant, *chrono-compatible low-level date algorithms*, `days_from_civil`.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_servers_write() {
        let check = |text: &str, expect: Option<u64>| assert_eq!(read(text.as_bytes()), expect, "{text}");
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Thu, 01-Jan-1970 00:00:01 GMT", Some(1));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
        check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777));
        check("Tue, 29 Feb 2028 23:59:59 GMT", Some(1_835_481_599));
        check("Fri, 13 Dec 1901 20:45:52 GMT", Some(0));
        check("1 jan 2000 1:2:3", Some(946_688_523));
        for none in
            ["", "tomorrow", "32 Jan 2000 00:00:00", "1 Jan 2000", "1 Jan 2000 24:00:00", "1 Jan 200 1:1:1"]
        {
            check(none, None);
        }
    }
}
