use std::sync::Arc;

use proto_http::check_target;
use units::ParseError;

use crate::web::FileSet;

/// The pages requested, below the URL of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Pages {
    /// Only that URL itself.
    One,
    /// The files of a set, of which sizes and contents are known.
    Files(FileSet),
    /// The paths of a list.
    Listed(Arc<Listed>),
}

impl Pages {
    /// How many there are.
    pub fn count(&self) -> u64 {
        match self {
            Pages::One => 1,
            Pages::Files(files) => files.files(),
            Pages::Listed(listed) => listed.pages.len() as u64,
        }
    }

    /// Appends the path of page `n`.
    #[inline]
    pub(super) fn append_path(&self, n: u64, out: &mut Vec<u8>) {
        match self {
            Pages::One => {}
            Pages::Files(files) => files.append_path(n, out),
            Pages::Listed(listed) => out.extend_from_slice(listed.path(n).as_bytes()),
        }
    }

    /// The length of page `n`, if known. Units: bytes.
    #[inline]
    pub(super) fn length(&self, n: u64) -> Option<u64> {
        match self {
            Pages::One => None,
            Pages::Files(files) => Some(files.size(n)),
            Pages::Listed(listed) => listed.pages[n as usize].1,
        }
    }

    /// The seed that scatters the ranks of popularity: the popular files of a set are the same in every trial.
    pub(super) fn scatter(&self) -> u64 {
        if let Pages::Files(files) = self { files.seed() } else { 0 }
    }

    /// The checksum of each page, if known.
    pub(super) fn checksums(&self) -> Vec<u64> {
        match self {
            Pages::Files(files) => (0..files.files()).map(|n| files.checksum(n)).collect(),
            _ => Vec::new(),
        }
    }
}

/// Paths from a list, one a line, each optionally with the length of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The file's name.
    pub name: String,
    /// All paths, one after the other.
    paths: String,
    /// Where each path ends, and how long its page is.
    pages: Vec<(usize, Option<u64>)>,
}

impl Listed {
    /// Reads a list: on each line a path, optionally followed by a blank and a length in bytes. Empty lines and lines
    /// that begin with `#` are ignored.
    ///
    /// Errors: a line that is not a page, with its number; no line at all.
    pub fn read(name: &str, text: &str) -> Result<Listed, ParseError> {
        let error = |number: usize, problem: String| ParseError {
            what: "list of paths",
            given: if number == 0 { name.into() } else { format!("{name}, line {number}") },
            problem,
            hint: "write on each line a path and maybe a length in bytes, such as '/a/b.html 4096'",
        };
        let mut listed = Listed { name: name.into(), paths: String::new(), pages: Vec::new() };
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split_whitespace();
            let Some(path) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            check_target(path).map_err(|e| error(number, format!("'{path}': {}", e.problem)))?;
            let length = match words.next() {
                None => None,
                Some(word) => {
                    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
                    let length = word.parse().ok().filter(|_| digits);
                    Some(length.ok_or_else(|| error(number, format!("'{word}' is not a length in bytes")))?)
                }
            };
            if let Some(more) = words.next() {
                return Err(error(number, format!("'{more}' follows path and length")));
            }
            listed.paths.push_str(path);
            listed.pages.push((listed.paths.len(), length));
        }
        if listed.pages.is_empty() { Err(error(0, "it has no path".into())) } else { Ok(listed) }
    }

    fn path(&self, n: u64) -> &str {
        let start = n.checked_sub(1).map_or(0, |before| self.pages[before as usize].0);
        &self.paths[start..self.pages[n as usize].0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_paths_and_lengths() {
        let listed = Listed::read("f", "# pages\n/a 10\n\n/b?c=d\n  /e%20f 0\n").unwrap();
        let pages = Pages::Listed(Arc::new(listed));
        let all: Vec<(String, Option<u64>)> = (0..pages.count())
            .map(|n| {
                let mut path = Vec::new();
                pages.append_path(n, &mut path);
                (String::from_utf8(path).unwrap(), pages.length(n))
            })
            .collect();
        let expect = [("/a", Some(10)), ("/b?c=d", None), ("/e%20f", Some(0))];
        assert_eq!(all, expect.map(|(path, length)| (path.to_owned(), length)));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let check = |text: &str, says: &str| {
            let error = Listed::read("f", text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        check("/a\nb\n", "f, line 2");
        check("/a ten", "'ten' is not a length");
        check("/a +1", "'+1' is not a length");
        check("/a 1 2", "'2' follows");
        check("# nothing\n", "it has no path");
    }
}
