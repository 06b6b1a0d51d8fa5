use spec::Url;

/// The most redirects followed for one request. Source: RFC 9110 §15.4: clients should detect loops; its predecessor
/// RFC 2068 §10.3 allowed five.
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

/// Changes the path and query `asked` into those that the value of a `Location` leads to, of a site at `of`; after an error it is
/// as before.
///
/// Errors: it leads to another origin, or is invalid. Bounds: at most [`LOCATION_MAX`] bytes. Cost: no allocation
/// except when `asked` grows. Source: RFC 9110 §10.2.2, and RFC 3986 §5.2 for references relative to the requested
/// page.
pub fn follow(value: &[u8], of: &Url, asked: &mut Vec<u8>) -> Result<(), Stray> {
    let value = value.trim_ascii();
    let whole = value.iter().position(|byte| *byte == b'#').unwrap_or(value.len());
    let text = &value[..whole];
    if value.is_empty() || text.len() > LOCATION_MAX || !text.iter().all(u8::is_ascii_graphic) {
        return Err(Stray::Broken);
    }
    let query = asked.iter().position(|byte| *byte == b'?').unwrap_or(asked.len());
    // The length of the requested path to keep before it.
    let (stays, text) = match text {
        [] => (asked.len(), text),
        [b'?', ..] => (query, text),
        [b'/', rest @ ..] if !rest.starts_with(b"/") => (0, text),
        _ => match behind_origin(text, of)? {
            Some(path) => (0, path),
            None => (asked[..query].iter().rposition(|byte| *byte == b'/').map_or(0, |last| last + 1), text),
        },
    };
    // The path of a server alone is `/`.
    let root: &[u8] = if stays == 0 && !text.starts_with(b"/") { b"/" } else { b"" };
    if stays + root.len() + text.len() > LOCATION_MAX {
        return Err(Stray::Broken);
    }
    asked.truncate(stays);
    asked.extend_from_slice(root);
    asked.extend_from_slice(text);
    remove_dots(asked);
    Ok(())
}

/// The text after scheme and authority; `None` without these.
///
/// Errors: they are another origin's.
fn behind_origin<'a>(text: &'a [u8], of: &Url) -> Result<Option<&'a [u8]>, Stray> {
    let own: &[u8] = if of.https { b"https://" } else { b"http://" };
    let rest = match text {
        [b'/', b'/', rest @ ..] => rest,
        _ if text.len() >= own.len() && text[..own.len()].eq_ignore_ascii_case(own) => &text[own.len()..],
        // No first segment of a relative path has a colon.
        _ if text.iter().take_while(|byte| !matches!(byte, b'/' | b'?')).any(|byte| *byte == b':') => {
            return Err(Stray::Foreign);
        }
        _ => return Ok(None),
    };
    let authority = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    if is_same(&rest[..authority], of) { Ok(Some(&rest[authority..])) } else { Err(Stray::Foreign) }
}

/// Takes `.` and `..` out of a path that begins with a stroke; its query stays.
///
/// Source: RFC 3986 §5.2.4.
fn remove_dots(path: &mut Vec<u8>) {
    let end = path.iter().position(|byte| *byte == b'?').unwrap_or(path.len());
    let (mut from, mut to) = (0, 0);
    while from < end {
        let next = path[from + 1..end].iter().position(|byte| *byte == b'/').map_or(end, |at| from + 1 + at);
        let is_dots = match &path[from + 1..next] {
            b"." => true,
            b".." => {
                to = path[..to].iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                true
            }
            _ => false,
        };
        if !is_dots {
            path.copy_within(from..next, to);
            to += next - from;
        } else if next == end {
            // Their target is a folder.
            path[to] = b'/';
            to += 1;
        }
        from = next;
    }
    path.drain(to..end);
}

/// Whether `HOST`, or `HOST:PORT`, matches the URL.
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
        let at = |url: &str, asked: &str, value: &str| {
            let mut path = asked.as_bytes().to_vec();
            let found = follow(value.as_bytes(), &url.parse().unwrap(), &mut path);
            let path = String::from_utf8(path).unwrap();
            assert!(found.is_ok() || path == asked, "{path}");
            found.map(|()| path)
        };
        let check = |value: &str, expect: Result<&str, Stray>| {
            assert_eq!(at("http://h:8080/", "/b/c/d;p?q", value), expect.map(str::to_owned), "{value}");
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
        check("http://h:8080", Ok("/"));
        check("http://h:8080?a=b", Ok("/?a=b"));
        check("//h:8080#top", Ok("/"));
        check("http:g", Err(Stray::Foreign));
        check("/a b", Err(Stray::Broken));
        check("/a\r\nX: y", Err(Stray::Broken));
        check(&format!("/{}", "a".repeat(LOCATION_MAX)), Err(Stray::Broken));
        // The examples of RFC 3986 §5.4.
        check("g", Ok("/b/c/g"));
        check("./g", Ok("/b/c/g"));
        check("g/", Ok("/b/c/g/"));
        check("/g", Ok("/g"));
        check("?y", Ok("/b/c/d;p?y"));
        check("g?y", Ok("/b/c/g?y"));
        check("#s", Ok("/b/c/d;p?q"));
        check("g#s", Ok("/b/c/g"));
        check(";x", Ok("/b/c/;x"));
        check(".", Ok("/b/c/"));
        check("./", Ok("/b/c/"));
        check("..", Ok("/b/"));
        check("../", Ok("/b/"));
        check("../g", Ok("/b/g"));
        check("../..", Ok("/"));
        check("../../g", Ok("/g"));
        check("../../../../g", Ok("/g"));
        check("/./g", Ok("/g"));
        check("/../g", Ok("/g"));
        check("g.", Ok("/b/c/g."));
        check("..g", Ok("/b/c/..g"));
        check("./../g", Ok("/b/g"));
        check("./g/.", Ok("/b/c/g/"));
        check("g/../h", Ok("/b/c/h"));
        check("g;x=1/../y", Ok("/b/c/y"));
        check("g?y/../x", Ok("/b/c/g?y/../x"));
        check("http://h:8080/a//../b/..", Ok("/a/"));
        check(&"a".repeat(LOCATION_MAX - 4), Err(Stray::Broken));
        assert_eq!(at("http://h/", "/", "http://h:80/a"), Ok("/a".into()));
        assert_eq!(at("https://h/", "/", "https://h/a"), Ok("/a".into()));
        assert_eq!(at("https://h/", "/", "http://h/a"), Err(Stray::Foreign));
        assert_eq!(at("http://h/", "/?from=/a/b", "login"), Ok("/login".into()));
    }
}
