//! `taillight movies analytics` over the databases of a running site: the site recommends films by the learnt model.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{finish, taillight, text};

/// Where `cargo xtask ci` makes the programs.
const MADE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/movies");
/// The sources of the services.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/movies");
/// A data set that other tests use as well.
const SMALL: [&str; 3] = ["users=200", "movies=30", "clips=1"];
const USER: u64 = 7;
const FILM: u64 = 5;
/// How many similar films and how many advertisements a page has.
const SIMILAR: usize = 10;
const ADS: usize = 3;
/// The weight of a user's taste among similar films. Source: apps/movies/services/movie-recommender/Factors.scala.
const TASTE: f64 = 0.25;
/// The weight of a film's genre. Source: apps/movies/services/ads/handler.py.
const GENRE: f64 = 2.0;

/// A site that `up` has started, with a copy of the data set; it ends with this.
struct Site {
    root: TempDir,
    address: String,
}

impl Site {
    fn command(root: &Path, words: &[&str]) -> Command {
        let mut command = taillight(&["movies"]);
        command.args(words).env("TAILLIGHT_CACHE", root.join("cache"));
        command
    }

    /// `None`, and says why, where the programs are not made.
    fn start() -> Option<Site> {
        if !Path::new(MADE).join("bin/movies-plot").is_file() {
            println!(
                "skipped: the services are not built; `taillight movies build --out target/movies` does"
            );
            return None;
        }
        // Spark takes longer than others are given, the first time.
        let words = ["movies", "build", "--source", SOURCE, "--only", "analytics", "--out", MADE];
        let built = taillight(&words).output().unwrap();
        if text(&built).contains("missing packages") {
            println!("skipped: {}", text(&built));
            return None;
        }
        assert!(text(&built).contains("all programs are in"), "{}", text(&built));
        let set = |words: &mut Command| {
            for word in SMALL {
                words.args(["--set", word]);
            }
        };
        let mut data = taillight(&["movies", "data"]);
        set(&mut data);
        let said = text(&finish(&mut data));
        let Some(folder) = said.split("the data set is ").nth(1) else {
            println!("skipped: {said}");
            return None;
        };
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let copied = Command::new("cp").arg("-r").arg(folder.trim()).arg(root.path().join("data")).status();
        assert!(copied.unwrap().success());
        let mut site = Site { root, address: String::new() };
        let data = site.root.path().join("data").display().to_string();
        let mut up = Site::command(site.root.path(), &["up", "--detach", "--built", MADE, "--data", &data]);
        // Advertisements have time also on a busy machine.
        set(up.args(["--set", "ads_deadline_ms=2000"]));
        let said = text(&finish(&mut up));
        if said.contains("there is no program") {
            println!("skipped: {said}");
            return None;
        }
        let address = said.split("is ready at http://").nth(1).unwrap_or_else(|| panic!("{said}"));
        address.split('/').next().unwrap().clone_into(&mut site.address);
        Some(site)
    }

    fn run(&self, words: &[&str]) -> String {
        text(&finish(&mut Site::command(self.root.path(), words)))
    }

    fn files(&self) -> PathBuf {
        self.root.path().join("data/files")
    }

    fn ask(&self, method: &str, path: &str, token: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let token =
            if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: site\r\nConnection: close\r\n{token}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        serde_json::from_str(body).unwrap()
    }

    /// The films and the advertisements that the page of a film has for a user.
    fn picked(&self, token: &str) -> (Vec<u64>, Vec<u64>) {
        let page = self.ask("GET", &format!("/api/movie/{FILM}"), token, &Value::Null);
        assert_eq!(page["missing"], json!([]), "{page}");
        let numbers =
            |list: &Value, of: &dyn Fn(&Value) -> u64| list.as_array().unwrap().iter().map(of).collect();
        let similar = numbers(&page["similar"], &|one| one.as_u64().unwrap());
        (similar, numbers(&page["ads"], &|one| one["ad"].as_u64().unwrap()))
    }

    /// The films that a user has rented or reviewed.
    fn seen(&self, token: &str) -> BTreeSet<u64> {
        let films = |path: &str, list: &str| -> Vec<u64> {
            let answer = self.ask("GET", path, token, &Value::Null);
            answer[list].as_array().unwrap().iter().map(|one| one["movie"].as_u64().unwrap()).collect()
        };
        let rented = films("/api/rentals?n=100", "rentals");
        rented.into_iter().chain(films("/api/my-reviews?n=100", "reviews")).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = finish(&mut Site::command(self.root.path(), &["down"]));
    }
}

/// Factors of users and films, from 0 on. Source of the format: apps/movies/services/analytics.
struct Factors {
    users: Vec<Vec<f64>>,
    films: Vec<Vec<f64>>,
}

impl Factors {
    fn read(file: &Path) -> Factors {
        let bytes = fs::read(file).unwrap();
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let (rank, users) = (number(4), number(8));
        let values: Vec<f64> = bytes[16..]
            .chunks_exact(4)
            .map(|one| f32::from_le_bytes(one.try_into().unwrap()).into())
            .collect();
        let mut rows: Vec<Vec<f64>> = values.chunks_exact(rank).map(<[f64]>::to_vec).collect();
        let films = rows.split_off(users);
        assert_eq!(films.len(), number(12));
        Factors { users: rows, films }
    }

    /// The films most like the film, without itself and those that the user has seen.
    fn similar(&self, seen: &BTreeSet<u64>) -> Vec<u64> {
        let (user, own) = (&self.users[USER as usize - 1], &self.films[FILM as usize - 1]);
        let others = (1..).zip(&self.films).filter(|(film, _)| *film != FILM && !seen.contains(film));
        best(others.map(|(film, row)| (film, cosine(own, row) + TASTE * cosine(user, row))), SIMILAR)
    }

    fn ads(&self, file: &Path, genre: &str) -> Vec<u64> {
        let model: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let user = &self.users[USER as usize - 1];
        let score = |ad: &Value| {
            let weights: Vec<f64> =
                ad["weights"].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
            product(user, &weights) + if ad["genre"] == genre { GENRE } else { 0.0 }
        };
        let ads = model["ads"].as_array().unwrap();
        // Ads of one genre have the same weights, except for rounding errors: the sums are added in another order.
        let rounded = |score: f64| (score * 1e4).round();
        best(ads.iter().map(|ad| (ad["ad"].as_u64().unwrap(), rounded(score(ad)))), ADS)
    }
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn cosine(one: &[f64], other: &[f64]) -> f64 {
    product(one, other)
        / (product(one, one).sqrt() * product(other, other).sqrt()).max(f32::MIN_POSITIVE.into())
}

/// The numbers of the `n` highest scores; equal scores are ordered by number, the lowest first.
fn best(scores: impl Iterator<Item = (u64, f64)>, n: usize) -> Vec<u64> {
    let mut all: Vec<(u64, f64)> = scores.collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.into_iter().take(n).map(|(number, _)| number).collect()
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn pages_recommend_by_what_was_learnt_from_reviews_and_rentals() {
    let Some(site) = Site::start() else { return };
    let name = json!({"name": format!("user{USER}"), "password": format!("password-{USER}")});
    let login = site.ask("POST", "/api/login", "", &name);
    let token = login["token"].as_str().unwrap();
    let catalogue = fs::read_to_string(site.files().join("catalogue.tsv")).unwrap();
    let genres: BTreeMap<u64, &str> = catalogue
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|parts| (parts[0].parse().unwrap(), parts[3]))
        .collect();
    let expect = |version: &str| {
        let factors = Factors::read(&site.files().join(format!("{version}.factors")));
        (
            factors.similar(&site.seen(token)),
            factors.ads(&site.files().join(format!("{version}.ads")), genres[&FILM]),
        )
    };
    let before = site.picked(token);
    assert_eq!(before, expect("00000001"));
    // Films that were not recommended before, which this user rents.
    for film in (1..=30).filter(|film| !before.0.contains(film)).take(8) {
        site.ask("POST", "/api/rent", token, &json!({"movie": film, "key": format!("rented-{film}")}));
    }
    let said = site.run(&["analytics", "--built", MADE]);
    assert!(said.contains("wrote 00000002.factors and 00000002.ads to "), "{said}");
    let wanted = expect("00000002");
    assert_ne!(wanted.0, before.0, "something was learnt");
    let begun = Instant::now();
    while site.picked(token) != wanted {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}, and not {wanted:?}", site.picked(token));
        std::thread::sleep(Duration::from_millis(100));
    }
    // Once more from the same rows: the same model, as another version.
    let said = site.run(&["analytics", "--built", MADE]);
    assert!(said.contains("wrote 00000003.factors"), "{said}");
    let bytes = |version: u32| fs::read(site.files().join(format!("0000000{version}.factors"))).unwrap();
    assert!(bytes(2) == bytes(3), "the same rows make the same model");
}
