use std::path::{Path, PathBuf};

use dist::{KeySampler, Purpose, Streams};
use proto_http::Url;
use thiserror::Error;
use units::ParseError;

use crate::movies::expected::{Expected, sold_in};
use crate::movies::login::Member;

/// The purpose of streams: visitors by their number.
pub(super) const ARRIVING: Purpose = Purpose::Other(30);

/// Every parameter of the movies workload.
#[derive(Clone, Debug)]
pub struct MoviesConfig {
    /// The site's URL; `None` until known. Paths are requested from its root.
    pub url: Option<Url>,
    /// The options. If a whole data set surrounds the catalogue, clips and prices are taken from the data set, too.
    pub options: spec::workload::Movies,
    /// The seed of the draws.
    pub seed: u64,
}

/// The data shared by all threads.
#[derive(Clone, Debug)]
pub struct Known {
    pub(super) config: MoviesConfig,
    /// The field `Host`, as a whole line.
    pub(super) host_line: Vec<u8>,
    /// By film, from the first on.
    titles: Vec<String>,
    /// Who writes reviews and rents.
    pub(super) members: Vec<Member>,
    /// The clips and prices, and the stored reviews.
    pub(super) expected: Expected,
    pub(super) films: KeySampler,
    pub(super) streams: Streams,
    /// Distinguishes this run's rentals and reviews from all others'.
    pub(super) run: String,
}

/// The reason why the site's correct answers are unknown.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TitlesError {
    #[error("{}: {source}", file.display())]
    Unread { file: PathBuf, source: std::io::Error },
    #[error("{}, line {line}: it is not NUMBER, TITLE and more with tabs between them, from film 1 on", file.display())]
    Broken { file: PathBuf, line: usize },
    #[error("{}, line {line}: it is not NUMBER and a document with its clip and cents, from film 1 on, as in the data set", file.display())]
    Unsold { file: PathBuf, line: usize },
    #[error(
        "{found} films have titles, and --films asks for {wanted}; use --films {found}, or another data set"
    )]
    Few { found: usize, wanted: u32 },
    #[error("the load of {config} films: {source}", config = .films)]
    Draw { films: u32, source: ParseError },
    #[error("no user is logged in, and reviews and rentals take one; give --logged-in 1 or more")]
    NoMember,
    #[error("the address of the site is not known")]
    NoSite,
}

impl Known {
    /// For a configuration with a known site, with the titles of its films and the logged-in users. `run` distinguishes
    /// the rentals of this run from all others. If the catalogue belongs to a whole data set, clips and prices are
    /// read, too.
    ///
    /// Errors: fewer titles than films; no user; no address; films of the data set that cannot be read.
    pub fn new(
        config: &MoviesConfig,
        titles: Vec<String>,
        members: Vec<Member>,
        run: &str,
    ) -> Result<Known, TitlesError> {
        let url = config.url.as_ref().ok_or(TitlesError::NoSite)?;
        let options = &config.options;
        if titles.len() < options.films as usize {
            return Err(TitlesError::Few { found: titles.len(), wanted: options.films });
        }
        if members.is_empty() {
            return Err(TitlesError::NoMember);
        }
        let expected = Expected::new(options.films);
        if let Some(file) = options.catalogue.as_deref() {
            sold_in(file, options.films, &expected)?;
        }
        let films = KeySampler::new(options.popularity, options.films.into())
            .map_err(|source| TitlesError::Draw { films: options.films, source })?;
        Ok(Known {
            config: config.clone(),
            host_line: format!("Host: {}\r\n", url.host_field()).into_bytes(),
            titles,
            members,
            expected,
            films,
            streams: Streams::new(config.seed),
            run: run.into(),
        })
    }

    /// The title of a film, whose number is from 1 on.
    pub(super) fn title(&self, film: u32) -> &str {
        &self.titles[film as usize - 1]
    }
}

/// The titles of the films in a catalogue: one line for each, in order, with its number and its title first.
///
/// Errors: the file cannot be read, or is another one.
pub fn titles_of(file: &Path) -> Result<Vec<String>, TitlesError> {
    let text =
        std::fs::read_to_string(file).map_err(|source| TitlesError::Unread { file: file.into(), source })?;
    let title = |(place, line): (usize, &str)| {
        let mut parts = line.split('\t');
        let number = parts.next().and_then(|number| number.parse::<usize>().ok());
        let title = parts.next().filter(|title| !title.is_empty() && number == Some(place + 1));
        title.map(str::to_owned).ok_or_else(|| TitlesError::Broken { file: file.into(), line: place + 1 })
    };
    text.lines().enumerate().map(title).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("catalogue.tsv");
        let check = |text: &str, expect: Result<&[&str], &str>| {
            std::fs::write(&file, text).unwrap();
            match (titles_of(&file), expect) {
                (Ok(titles), Ok(expect)) => assert_eq!(titles, expect),
                (Err(error), Err(says)) => assert!(error.to_string().contains(says), "{error}"),
                (other, expect) => panic!("{other:?} instead of {expect:?}"),
            }
        };
        check("1\tThe Godfather\t1972\tDrama\n2\t300\t2006\n", Ok(&["The Godfather", "300"]));
        check("", Ok(&[]));
        check("1\tA\n3\tB\n", Err("line 2: it is not NUMBER, TITLE"));
        check("1\t\t1972\n", Err("line 1"));
        check("<html>", Err("line 1"));
        std::fs::remove_file(&file).unwrap();
        assert!(titles_of(&file).unwrap_err().to_string().contains("catalogue.tsv: No such file"));
    }
}
