//! Parts of references to URLs. Source: RFC 3986 §4.

/// Whether a reference begins with a scheme, `NAME:`, so that it is a URL of its own.
pub(crate) fn has_scheme(uri: &str) -> bool {
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
