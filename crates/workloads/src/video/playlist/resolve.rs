use spec::Url;

use super::PlaylistError;

/// Where an address in the playlist at `base` leads, by RFC 3986 §5.
///
/// Errors: to another server, which no connection of the session reaches; an address that is invalid in a request.
pub fn resolve(base: &Url, uri: &str) -> Result<Url, PlaylistError> {
    let wrong = |problem: &'static str| PlaylistError::Address { uri: shortened(uri), problem };
    let uri_without_mark = uri.split('#').next().unwrap_or_default();
    if uri_without_mark.is_empty() {
        return Err(wrong("it is empty"));
    }
    let here = |path: String| Url { path, ..base.clone() };
    let url = if let Some(rest) = uri_without_mark.strip_prefix("//") {
        let scheme = if base.https { "https" } else { "http" };
        parsed(&format!("{scheme}://{rest}")).ok_or_else(|| wrong("it cannot be read"))?
    } else if has_scheme(uri_without_mark) {
        parsed(uri_without_mark).ok_or_else(|| wrong("it is neither http nor https, or cannot be read"))?
    } else if uri_without_mark.starts_with('/') {
        here(uri_without_mark.to_owned())
    } else {
        let (path, _) = split_query(&base.path);
        if uri_without_mark.starts_with('?') {
            here(format!("{}{uri_without_mark}", if path.is_empty() { "/" } else { path }))
        } else {
            let folder = path.rfind('/').map_or("/", |end| &path[..=end]);
            here(format!("{folder}{uri_without_mark}"))
        }
    };
    if (url.https, &url.host, url.port) != (base.https, &base.host, base.port) {
        return Err(PlaylistError::OtherHost { uri: shortened(uri), server: base.authority() });
    }
    let path = if url.path.starts_with('/') { without_dots(&url.path) } else { "/".to_owned() };
    match spec::workload::check_target(&path) {
        Ok(()) => Ok(Url { path, ..url }),
        Err(_) => Err(wrong("it has blanks or characters that are not ASCII")),
    }
}

fn parsed(text: &str) -> Option<Url> {
    text.parse().ok()
}

/// Whether it begins with `NAME:`, as an address of its own does.
fn has_scheme(uri: &str) -> bool {
    let end = uri.find([':', '/', '?']);
    end.is_some_and(|end| {
        uri.as_bytes()[end] == b':'
            && uri.starts_with(|c: char| c.is_ascii_alphabetic())
            && uri[..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

fn split_query(path: &str) -> (&str, &str) {
    path.split_at(path.find('?').unwrap_or(path.len()))
}

/// A path without `.` and `..`, its query as it was. Source: RFC 3986 §5.2.4.
fn without_dots(whole: &str) -> String {
    let (path, query) = split_query(whole);
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

/// An address as shown in a message.
fn shortened(uri: &str) -> String {
    const MOST: usize = 200;
    match uri.char_indices().nth(MOST) {
        None => uri.to_owned(),
        Some((end, _)) => format!("{}…", &uri[..end]),
    }
}
