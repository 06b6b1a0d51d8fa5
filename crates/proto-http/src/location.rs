use std::ops::Range;

use spec::Url;

/// The most redirects that are followed for one request. Source: RFC 9110 §15.4: clients should detect loops; five is what
/// its predecessor RFC 2068 §10.3 allowed.
pub const HOPS_MAX: usize = 5;
/// The longest target of a redirect. Units: bytes. Source: ours; a path of a site is far shorter, and RFC 9110 §4.1 has
/// every server take 8000 bytes of a whole line.
pub const LOCATION_MAX: usize = 2048;

/// Why a redirect is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// To another server, scheme or port.
    Foreign,
    /// It is empty, too long, or has bytes that no request line can carry.
    Broken,
}

/// Where in the value of a `Location` the path and query lie that are asked for next, of a site at `of`; a relative one is
/// looked for from the site's root.
///
/// Errors: it leads to another origin, or nowhere. Cost: no allocation.
/// Source: RFC 9110 §10.2.2, and RFC 3986 §4.2 for what begins with two strokes.
pub fn path_of(value: &[u8], of: &Url) -> Result<Range<usize>, Stray> {
    let start = value.len() - value.trim_ascii_start().len();
    let end = start + value.trim_ascii().len();
    let text = &value[start..end];
    let whole = text.iter().position(|byte| *byte == b'#').unwrap_or(text.len());
    let text = &text[..whole];
    // No scheme behind `//`; else one that must be the same.
    let is_plain = |byte: &u8| byte.is_ascii_graphic();
    if text.is_empty() || text.len() > LOCATION_MAX || !text.iter().all(is_plain) {
        return Err(Stray::Broken);
    }
    let own: &[u8] = if of.https { b"https://" } else { b"http://" };
    let behind = match text {
        [b'/', b'/', ..] => 2,
        [b'/', ..] => return Ok(start..start + whole),
        _ if text.len() >= own.len() && text[..own.len()].eq_ignore_ascii_case(own) => own.len(),
        _ if text.iter().take_while(|byte| !matches!(byte, b'/' | b'?')).any(|byte| *byte == b':') => {
            return Err(Stray::Foreign);
        }
        _ => return Err(Stray::Broken),
    };
    let rest = &text[behind..];
    let authority = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    if !is_same(&rest[..authority], of) {
        return Err(Stray::Foreign);
    }
    match rest.get(authority) {
        Some(b'/') => Ok(start + behind + authority..start + whole),
        // A server alone, or with a query, which has no path to put before it.
        _ => Err(Stray::Broken),
    }
}

/// Whether `HOST`, or `HOST:PORT`, is that of the URL.
fn is_same(authority: &[u8], of: &Url) -> bool {
    let field = of.host_field();
    let usual: &[u8] = if of.https { b":443" } else { b":80" };
    let without = |text: &[u8]| text.strip_suffix(usual).map_or(text.to_vec(), <[u8]>::to_vec);
    without(authority).eq_ignore_ascii_case(&without(field.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_origin_is_followed() {
        let at = |url: &str, value: &str| {
            let found = path_of(value.as_bytes(), &url.parse().unwrap());
            found.map(|range| value[range].to_owned())
        };
        let check = |value: &str, expect: Result<&str, Stray>| {
            assert_eq!(at("http://h:8080/", value), expect.map(str::to_owned), "{value}");
        };
        check("/", Ok("/"));
        check(" /chat/u0000001?a=b#c ", Ok("/chat/u0000001?a=b"));
        check("http://h:8080/a", Ok("/a"));
        check("HTTP://H:8080/a", Ok("/a"));
        check("//h:8080/a", Ok("/a"));
        check("//h/a", Err(Stray::Foreign));
        check("http://h:8081/a", Err(Stray::Foreign));
        check("http://h:80800/a", Err(Stray::Foreign));
        check("http://evil/", Err(Stray::Foreign));
        check("http://h:8080@evil/", Err(Stray::Foreign));
        check("https://h:8080/a", Err(Stray::Foreign));
        check("javascript:alert(1)", Err(Stray::Foreign));
        check("", Err(Stray::Broken));
        check("#top", Err(Stray::Broken));
        check("login", Err(Stray::Broken));
        check("http://h:8080", Err(Stray::Broken));
        check("/a b", Err(Stray::Broken));
        check("/a\r\nX: y", Err(Stray::Broken));
        check(&format!("/{}", "a".repeat(LOCATION_MAX)), Err(Stray::Broken));
        assert_eq!(at("http://h/", "http://h:80/a"), Ok("/a".into()));
        assert_eq!(at("https://h/", "https://h/a"), Ok("/a".into()));
        assert_eq!(at("https://h/", "http://h/a"), Err(Stray::Foreign));
    }
}
