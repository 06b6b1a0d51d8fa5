//! References to URLs. Source: RFC 3986 §4 and §5.

use spec::Url;

/// The whole address that a reference leads to from `path` of a server.
pub(crate) fn absolute(server: &Url, path: &str, reference: &str) -> String {
    let scheme = if server.https { "https" } else { "http" };
    let origin = format!("{scheme}://{}", server.host_field());
    let (file, _) = split_query(path);
    let file = if file.is_empty() { "/" } else { file };
    match reference {
        _ if has_scheme(reference) => reference.to_owned(),
        _ if reference.starts_with("//") => format!("{scheme}:{reference}"),
        _ if reference.starts_with('/') => format!("{origin}{reference}"),
        _ if reference.starts_with('?') => format!("{origin}{file}{reference}"),
        _ => format!("{origin}{}{reference}", &file[..=file.rfind('/').unwrap_or(0)]),
    }
}

/// Whether a reference begins with a scheme, `NAME:`, so that it is a URL of its own.
fn has_scheme(uri: &str) -> bool {
    let end = uri.find([':', '/', '?']);
    end.is_some_and(|end| {
        uri.as_bytes()[end] == b':'
            && uri.starts_with(|c: char| c.is_ascii_alphabetic())
            && uri[..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// A path, and its query with the `?`.
pub(crate) fn split_query(path: &str) -> (&str, &str) {
    path.split_at(path.find('?').unwrap_or(path.len()))
}
