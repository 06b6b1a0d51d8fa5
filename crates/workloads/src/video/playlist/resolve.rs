use std::fmt::Write as _;

use spec::Url;

use super::PlaylistError;
use crate::reference::{absolute, split_query};

/// Where an address in the playlist at `base` leads, by RFC 3986 §5, percent-encoded as browsers do.
///
/// Errors: to another server, which no connection of the session reaches; no address.
pub fn resolve(base: &Url, uri: &str) -> Result<Url, PlaylistError> {
    let wrong = |problem: &'static str| PlaylistError::Address { uri: shortened(uri), problem };
    let reference = encoded(uri.split('#').next().unwrap_or_default().trim());
    let reference = reference.as_str();
    if reference.is_empty() {
        return Err(wrong("it is empty"));
    }
    let problem = match reference.starts_with("//") {
        true => "it cannot be read; write //HOST/PATH",
        false => "it is neither http nor https, or cannot be read",
    };
    let url: Url = absolute(base, &base.path, reference).parse().map_err(|_| wrong(problem))?;
    if !url.is_same_server(base) {
        return Err(PlaylistError::OtherHost { uri: shortened(uri), server: base.authority() });
    }
    let path = if url.path.starts_with('/') { without_dots(&url.path) } else { "/".to_owned() };
    Ok(Url { path, ..base.clone() })
}

/// A reference as browsers send it: characters that an address may not have are percent-encoded, `\` is `/`, and
/// tabs are left out. Percent-encoded characters stay. Source: the WHATWG's URL standard, path and special-query sets.
fn encoded(reference: &str) -> String {
    let (path, query) = split_query(reference);
    let mut out = String::with_capacity(reference.len());
    let mut append = |text: &str, also: &[u8]| {
        for byte in text.bytes() {
            match byte {
                b'\t' | b'\n' | b'\r' => {}
                b'"' | b'<' | b'>' => drop(write!(out, "%{byte:02X}")),
                _ if !byte.is_ascii_graphic() || also.contains(&byte) => drop(write!(out, "%{byte:02X}")),
                _ => out.push(char::from(byte)),
            }
        }
    };
    append(&path.replace('\\', "/"), b"^`{}");
    append(query, b"'");
    out
}

/// A path without `.` and `..`, its query as it was. Source: RFC 3986 §5.2.4; a dot may be percent-encoded, as the WHATWG's
/// URL standard says.
fn without_dots(whole: &str) -> String {
    let (path, query) = split_query(whole);
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment.to_ascii_lowercase().replace("%2e", ".").as_str() {
            dots @ ("." | "..") => {
                if dots == ".." {
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
