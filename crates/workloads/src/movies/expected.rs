//! The correct answers of a site to rentals and reviews, if known.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::movies::config::TitlesError;

/// The films of a data set, from the folder of its catalogue. Source: `apps/movies/data`.
const FILMS: &str = "../movies/movies.tsv";
/// Numbers of reviews that are remembered, each at the place of its hash. Source: ours; 512 KiB, in which a number is found again after
/// 6 500 others with nine in ten, and numbers that are given twice are given within milliseconds.
const REVIEWS: usize = 1 << 16;

/// The clips and prices of films, and the stored reviews; shared by all threads.
///
/// Shape: a word for each film and 65 536 for reviews. Cost: an atomic operation for each answer.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// By film, from the first on: the hash of its clip and price, 0 until a data set or a ticket gives it.
    sold: Arc<[AtomicU64]>,
    /// Numbers of reviews by their hash; 0: none.
    reviews: Arc<[AtomicI64]>,
}

impl Expected {
    /// For `films` films, with no clips or prices known yet.
    pub(super) fn new(films: u32) -> Expected {
        Expected {
            sold: (0..films).map(|_| AtomicU64::new(0)).collect(),
            reviews: (0..REVIEWS).map(|_| AtomicI64::new(0)).collect(),
        }
    }

    /// Whether a film has this clip and price, by the data set, or else by the first ticket for it.
    pub(super) fn is_sold(&self, film: u32, clip: &str, cents: i64) -> bool {
        let Some(sold) = self.sold.get((film as usize).wrapping_sub(1)).filter(|_| cents > 0) else {
            return false;
        };
        let found = xxh3_64_with_seed(clip.as_bytes(), cents as u64).max(1);
        match sold.compare_exchange(0, found, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => true,
            Err(known) => known == found,
        }
    }

    /// Whether no other remembered review was stored under this number.
    pub(super) fn is_new(&self, review: i64) -> bool {
        // Numbers begin with a time and end with a counter. Source: Knuth, TAOCP 3, 6.4: multiplied by the golden ratio of 2^64, the
        // highest bits differ for all of these.
        let place = (review as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - REVIEWS.trailing_zeros());
        review > 0 && self.reviews[place as usize].swap(review, Ordering::Relaxed) != review
    }
}

#[derive(Deserialize)]
struct Film {
    movie: u32,
    clip: String,
    cents: i64,
}

/// Reads clips and prices of the first `films` films of the data set that `catalogue` belongs to into `expected`; does
/// nothing if it is a lone file.
///
/// Errors: the data set's films cannot be read, or are others.
pub(super) fn sold_in(catalogue: &Path, films: u32, expected: &Expected) -> Result<(), TitlesError> {
    let file = catalogue.parent().unwrap_or(Path::new("")).join(FILMS);
    let unread = |source| TitlesError::Unread { file: file.clone(), source };
    let opened = match File::open(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(unread)?,
    };
    let mut lines = BufReader::new(opened).lines();
    for number in 1..=films {
        let unsold = || TitlesError::Unsold { file: file.clone(), line: number as usize };
        let line = lines.next().ok_or_else(unsold)?.map_err(unread)?;
        // A backslash is doubled. Source: PostgreSQL's documentation, COPY, text format.
        let text = line.split_once('\t').ok_or_else(unsold)?.1.replace("\\\\", "\\");
        let film: Film = serde_json::from_str(&text).map_err(|_| unsold())?;
        if film.movie != number || !expected.is_sold(number, &film.clip, film.cents) {
            return Err(unsold());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ticket_says_what_a_film_is_sold_as() {
        let expected = Expected::new(2);
        let check = |film, clip, cents, expect: bool| {
            assert_eq!(expected.is_sold(film, clip, cents), expect, "{film} {clip} {cents}");
        };
        check(1, "clip-1", 0, false);
        check(1, "clip-1", -299, false);
        check(1, "clip-1", 299, true);
        check(1, "clip-1", 299, true);
        check(1, "clip-1", 399, false);
        check(1, "clip-2", 299, false);
        check(2, "clip-2", 399, true);
        check(0, "clip-1", 299, false);
        check(3, "clip-1", 299, false);
    }

    #[test]
    fn a_number_of_a_review_comes_once() {
        let expected = Expected::new(1);
        let of = |counter: i64| (190_000_000_000 << 22) | (3 << 12) | counter;
        assert!((1..1_000).all(|counter| expected.is_new(of(counter))));
        // A few have been forgotten for another.
        let again = (1..1_000).filter(|counter| !expected.is_new(of(*counter))).count();
        assert!(again > 900, "{again}");
        assert!(!expected.is_new(0) && !expected.is_new(-5) && expected.is_new(i64::MAX));
    }

    #[test]
    fn the_data_set_of_a_catalogue_says_what_films_are_sold_as() {
        let root = tempfile::tempdir().unwrap();
        let [files, movies] = ["files", "movies"].map(|name| root.path().join(name));
        std::fs::create_dir_all(&files).unwrap();
        let catalogue = files.join("catalogue.tsv");
        let read = || {
            let expected = Expected::new(2);
            sold_in(&catalogue, 2, &expected).map(|()| expected).map_err(|error| error.to_string())
        };
        let alone = read().unwrap();
        assert!(alone.is_sold(1, "clip-7", 1), "a catalogue by itself says nothing of it");
        std::fs::create_dir_all(&movies).unwrap();
        let film = |number: u32, title: &str| {
            format!(
                r#"{number}	{{"movie":{number},"title":"{title}","clip":"clip-{number}","seconds":9,"cents":{number}99}}"#
            )
        };
        let write = |text: &str| std::fs::write(movies.join("movies.tsv"), text).unwrap();
        write(&format!("{}\n{}\n{}\n", film(1, "M"), film(2, r#"A \\"b\\""#), film(3, "beyond")));
        let expected = read().unwrap();
        assert!(expected.is_sold(1, "clip-1", 199) && !expected.is_sold(1, "clip-1", 299));
        assert!(expected.is_sold(2, "clip-2", 299) && !expected.is_sold(2, "clip-1", 299));
        for (text, line) in [(film(1, "M"), 2), (film(2, "M"), 1), ("1\t{}".into(), 1), ("<html>".into(), 1)]
        {
            write(&text);
            let error = read().unwrap_err();
            assert!(
                error.contains(&format!("movies.tsv, line {line}: it is not NUMBER and a document")),
                "{error}"
            );
        }
    }
}
