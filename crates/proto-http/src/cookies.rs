use crate::date;

/// The most cookies of one user. Source: RFC 2965 §5.3, which has every client hold as many of a host.
pub const COOKIES_MAX: usize = 20;
/// The longest cookie, name, value and path together. Units: bytes. Source: RFC 6265 §6.1.
pub const COOKIE_MAX: usize = 4096;

/// Why a cookie was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crumb {
    /// It is for another host.
    Foreign,
    /// It is longer than [`COOKIE_MAX`].
    Long,
    /// There are [`COOKIES_MAX`] already.
    Full,
    /// It has no name, or bytes that no field can carry.
    Broken,
    /// It is for connections that are encrypted, and this is none.
    Secure,
}

/// The page that sets a cookie, or that one is sent to.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The host, without its port.
    pub host: &'a str,
    /// The path, with or without a query.
    pub path: &'a [u8],
    /// Whether the connection is encrypted.
    pub https: bool,
    /// Seconds on any clock that never goes back.
    pub now: u64,
}

/// The cookies of one user of one site.
///
/// Bounds: at most [`COOKIES_MAX`] of [`COOKIE_MAX`] bytes. Shape: it belongs to one host, so only that host's cookies
/// are kept.
/// Cost: a cookie that is set again takes the place of the one before it.
#[derive(Clone, Debug, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Clone, Debug)]
struct Cookie {
    /// `name=value`, followed by the path.
    text: Vec<u8>,
    name: u16,
    pair: u16,
    secure: bool,
    expires: Option<u64>,
}

/// The attributes of a `Set-Cookie`, without name and value.
#[derive(Default)]
struct Attributes<'a> {
    domain: &'a [u8],
    path: &'a [u8],
    secure: bool,
    /// Seconds that it lives.
    max_age: Option<i64>,
    expires: Option<u64>,
}

impl Jar {
    /// How many there are, those that have expired too.
    pub fn len(&self) -> usize {
        self.cookies.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.cookies.clear();
    }

    /// Whether it has a cookie of this name.
    pub fn has(&self, name: &[u8]) -> bool {
        self.cookies.iter().any(|cookie| cookie.name() == name)
    }

    /// Takes the value of a `Set-Cookie` of an answer with this value of `Date`, by which a date of expiry becomes a time to
    /// live, so that the clocks of both sides need not agree.
    ///
    /// Errors: it was not kept. Source: RFC 6265 §5.3.
    pub fn set(&mut self, value: &[u8], date: Option<&[u8]>, page: Page<'_>) -> Result<(), Crumb> {
        let mut parts = value.split(|byte| *byte == b';');
        let pair = parts.next().unwrap_or_default().trim_ascii();
        let equals = pair.iter().position(|byte| *byte == b'=').ok_or(Crumb::Broken)?;
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) || *byte >= 0x80;
        if name.is_empty() || !pair.iter().all(is_plain) {
            return Err(Crumb::Broken);
        }
        let said = attributes(parts);
        if !said.domain.is_empty() && !covers(said.domain, page.host.as_bytes()) {
            return Err(Crumb::Foreign);
        }
        if said.secure && !page.https {
            return Err(Crumb::Secure);
        }
        let path = if said.path.first() == Some(&b'/') { said.path } else { folder(page.path) };
        if name.len() + value.len() + path.len() > COOKIE_MAX || !path.iter().all(is_plain) {
            return Err(Crumb::Long);
        }
        let lives = said.max_age.or_else(|| {
            // Without the server's clock only long expired dates can be recognised.
            let now = date.and_then(date::read).unwrap_or(LONG_AGO);
            let left = said.expires? as i64 - now as i64;
            (date.is_some() || left <= 0).then_some(left)
        });
        let old = self.cookies.iter().position(|cookie| cookie.name() == name && cookie.path() == path);
        if lives.is_some_and(|lives| lives <= 0) {
            if let Some(old) = old {
                self.cookies.swap_remove(old);
            }
            return Ok(());
        }
        let expires = lives.map(|lives| page.now.saturating_add(lives as u64));
        let place = match old {
            Some(old) => old,
            None => self.room(page.now)?,
        };
        let cookie = &mut self.cookies[place];
        cookie.text.clear();
        cookie.text.extend_from_slice(name);
        cookie.text.push(b'=');
        cookie.text.extend_from_slice(value);
        (cookie.name, cookie.pair) = (name.len() as u16, cookie.text.len() as u16);
        cookie.text.extend_from_slice(path);
        (cookie.secure, cookie.expires) = (said.secure, expires);
        Ok(())
    }

    /// The place of a new cookie.
    ///
    /// Errors: no room, even without expired cookies.
    fn room(&mut self, now: u64) -> Result<usize, Crumb> {
        if self.cookies.len() >= COOKIES_MAX {
            self.cookies.retain(|cookie| cookie.expires.is_none_or(|at| at > now));
        }
        if self.cookies.len() >= COOKIES_MAX {
            return Err(Crumb::Full);
        }
        let empty = Cookie { text: Vec::new(), name: 0, pair: 0, secure: false, expires: None };
        self.cookies.push(empty);
        Ok(self.cookies.len() - 1)
    }

    /// Appends the field `Cookie` of a request for `page`, with its end of line; no field without a matching cookie.
    pub fn append(&self, page: Page<'_>, out: &mut Vec<u8>) {
        let is_for = |cookie: &&Cookie| {
            (page.https || !cookie.secure)
                && cookie.expires.is_none_or(|at| at > page.now)
                && is_below(page.path, cookie.path())
        };
        let mut separator: &[u8] = b"Cookie: ";
        for cookie in self.cookies.iter().filter(is_for) {
            out.extend_from_slice(separator);
            out.extend_from_slice(&cookie.text[..cookie.pair.into()]);
            separator = b"; ";
        }
        if separator.len() == 2 {
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// The middle of the year 2001, before which no site of today has a page expire but to have it forgotten.
const LONG_AGO: u64 = 1_000_000_000;

impl Cookie {
    fn name(&self) -> &[u8] {
        &self.text[..self.name.into()]
    }

    fn path(&self) -> &[u8] {
        &self.text[self.pair.into()..]
    }
}

fn attributes<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Attributes<'a> {
    let mut found = Attributes::default();
    for part in parts {
        let equals = part.iter().position(|byte| *byte == b'=');
        let (name, value) = equals.map_or((part, &b""[..]), |at| (&part[..at], &part[at + 1..]));
        let (name, value) = (name.trim_ascii(), value.trim_ascii());
        if name.eq_ignore_ascii_case(b"domain") {
            found.domain = value.strip_prefix(b".").unwrap_or(value);
        } else if name.eq_ignore_ascii_case(b"path") {
            found.path = value;
        } else if name.eq_ignore_ascii_case(b"secure") {
            found.secure = true;
        } else if name.eq_ignore_ascii_case(b"max-age") {
            found.max_age = seconds(value).or(found.max_age);
        } else if name.eq_ignore_ascii_case(b"expires") {
            found.expires = date::read(value).or(found.expires);
        }
    }
    found
}

/// A whole number of seconds, however large; `None` of anything else.
fn seconds(value: &[u8]) -> Option<i64> {
    let (is_negative, digits) = value.strip_prefix(b"-").map_or((false, value), |digits| (true, digits));
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if is_negative {
        return Some(-1);
    }
    let add = |sum: i64, digit: &u8| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    Some(digits.iter().fold(0, add))
}

/// Whether a domain is the host or a parent domain, except a single label, which unrelated hosts share.
fn covers(domain: &[u8], host: &[u8]) -> bool {
    if domain.eq_ignore_ascii_case(host) {
        return true;
    }
    let above = host.len().checked_sub(domain.len() + 1).and_then(|at| host.get(at..));
    let is_name = host.iter().any(u8::is_ascii_alphabetic);
    let ends = above.is_some_and(|above| above[0] == b'.' && above[1..].eq_ignore_ascii_case(domain));
    ends && is_name && domain.contains(&b'.')
}

/// The folder of a path. Source: RFC 6265 §5.1.4.
fn folder(path: &[u8]) -> &[u8] {
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) if at > 0 && path[0] == b'/' => &path[..at],
        _ => b"/",
    }
}

/// Whether a path equals the cookie's, or is below it. Source: as above.
fn is_below(path: &[u8], of_cookie: &[u8]) -> bool {
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let path = if path.is_empty() { b"/" } else { path };
    path.strip_prefix(of_cookie)
        .is_some_and(|rest| rest.is_empty() || of_cookie.ends_with(b"/") || rest[0] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page<'a>(path: &'a str, now: u64) -> Page<'a> {
        Page { host: "a.example.org", path: path.as_bytes(), https: false, now }
    }

    fn sent(jar: &Jar, page: Page<'_>) -> String {
        let mut out = Vec::new();
        jar.append(page, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_cookie_comes_back_where_it_belongs() {
        let mut jar = Jar::default();
        let mut set = |value: &str| jar.set(value.as_bytes(), None, page("/chat/u1?x=/y", 10));
        assert_eq!(set("sid=abc; HttpOnly; SameSite=Lax; Path=/"), Ok(()));
        assert_eq!(set(" here = 1 "), Ok(()));
        assert_eq!(set("deep=2; path=/chat/u1/"), Ok(()));
        assert_eq!(set("sid=d=f; Path=/"), Ok(()));
        let check = |path: &str, expect: &str| {
            let expect = if expect.is_empty() { String::new() } else { format!("Cookie: {expect}\r\n") };
            assert_eq!(sent(&jar, page(path, 10)), expect, "{path}");
        };
        check("/", "sid=d=f");
        check("/chat", "sid=d=f; here=1");
        check("/chat?a", "sid=d=f; here=1");
        check("/chats", "sid=d=f");
        check("/chat/u1/x", "sid=d=f; here=1; deep=2");
        check("", "sid=d=f");
        assert!(jar.has(b"sid") && !jar.has(b"sid=") && jar.len() == 3);
    }

    #[test]
    fn a_cookie_is_forgotten_when_its_time_is_over() {
        let date = b"Sun, 06 Nov 1994 08:49:37 GMT";
        let check = |value: &str, date: Option<&[u8]>, until: Option<u64>| {
            let mut jar = Jar::default();
            jar.set(b"a=0", None, page("/", 100)).unwrap();
            jar.set(value.as_bytes(), date, page("/", 100)).unwrap();
            let there = |now: u64| sent(&jar, page("/", now)) == "Cookie: a=1\r\n";
            match until {
                Some(until) => assert!(there(until - 1) && !there(until), "{value}"),
                None => assert_eq!(sent(&jar, page("/", u64::MAX)), "", "{value}"),
            }
        };
        check("a=1; Max-Age=5", None, Some(105));
        check("a=1; Max-Age=5; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None, Some(105));
        check("a=1; Max-Age=0", None, None);
        check("a=1; Max-Age=-9999999999999999999999", None, None);
        check("a=1; max-age=99999999999999999999", None, Some(100 + i64::MAX as u64));
        check("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None, None);
        check("a=1; Expires=Sun, 06 Nov 1994 08:49:47 GMT", Some(date), Some(110));
        check("a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT", Some(date), None);
        let forever =
            ["a=1", "a=1; Max-Age=x", "a=1; Expires=never", "a=1; Expires=Sun, 06 Nov 2050 08:49:37 GMT"];
        for value in forever {
            let mut jar = Jar::default();
            jar.set(value.as_bytes(), None, page("/", 100)).unwrap();
            assert_eq!(sent(&jar, page("/", u64::MAX)), "Cookie: a=1\r\n", "{value}");
        }
    }

    #[test]
    fn what_is_not_for_this_site_is_refused() {
        let mut jar = Jar::default();
        let mut check = |value: &str, expect: Result<(), Crumb>| {
            assert_eq!(jar.set(value.as_bytes(), None, page("/", 0)), expect, "{value}");
        };
        check("a=1; Domain=example.org", Ok(()));
        check("a=1; Domain=.A.example.org", Ok(()));
        check("a=1; Domain=org", Err(Crumb::Foreign));
        check("a=1; Domain=b.example.org", Err(Crumb::Foreign));
        check("a=1; Domain=le.org", Err(Crumb::Foreign));
        check("a=1; Domain=x.a.example.org", Err(Crumb::Foreign));
        check("a=1; Secure", Err(Crumb::Secure));
        check("a", Err(Crumb::Broken));
        check("=1", Err(Crumb::Broken));
        check("a=1\r\nX: y", Err(Crumb::Broken));
        check("", Err(Crumb::Broken));
        check(&format!("b={}", "x".repeat(COOKIE_MAX - 2)), Ok(()));
        check(&format!("b={}", "x".repeat(COOKIE_MAX - 1)), Err(Crumb::Long));
        let address = Page { host: "127.0.0.1", ..page("/", 0) };
        assert_eq!(Jar::default().set(b"a=1; Domain=0.0.1", None, address), Err(Crumb::Foreign));
        assert_eq!(Jar::default().set(b"a=1; Domain=127.0.0.1", None, address), Ok(()));
        let mut encrypted = Jar::default();
        encrypted.set(b"a=1; Secure", None, Page { https: true, ..page("/", 0) }).unwrap();
        assert_eq!(sent(&encrypted, page("/", 0)), "");
    }

    #[test]
    fn a_flood_is_bounded() {
        let mut jar = Jar::default();
        let (mut kept, mut full) = (0, 0);
        jar.set(b"sid=1", None, page("/", 0)).unwrap();
        for number in 0..1_000 {
            let value = format!("flood{number}={}", "x".repeat(4_000));
            match jar.set(value.as_bytes(), None, page("/", 0)) {
                Ok(()) => kept += 1,
                Err(crumb) => full += usize::from(crumb == Crumb::Full),
            }
        }
        assert_eq!((kept, full, jar.len()), (COOKIES_MAX - 1, 1_001 - COOKIES_MAX, COOKIES_MAX));
        assert!(jar.has(b"sid") && sent(&jar, page("/", 0)).len() <= COOKIES_MAX * (COOKIE_MAX + 2) + 10);
        // Expired cookies make room.
        let mut jar = Jar::default();
        for number in 0..COOKIES_MAX {
            jar.set(format!("a{number}=1; Max-Age=5").as_bytes(), None, page("/", 0)).unwrap();
        }
        assert_eq!(jar.set(b"b=1", None, page("/", 4)), Err(Crumb::Full));
        assert_eq!((jar.set(b"b=1", None, page("/", 5)), jar.len()), (Ok(()), 1));
        jar.clear();
        assert!(jar.is_empty());
    }
}
