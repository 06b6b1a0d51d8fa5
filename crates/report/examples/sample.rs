//! Renders made-up results into `/tmp/taillight-sample` (or the folder given) to look at in a browser.
//!
//! Try it: `cargo run -p report --example sample`.

use std::path::PathBuf;
use std::{env, fs, io};

use report::{
    Found, IndexEntry, Sides, comparison_html, comparison_table, experiment_html, experiment_table,
    index_html, study_html, study_table,
};

#[path = "../tests/sample/mod.rs"]
mod sample;

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).map_or_else(|| env::temp_dir().join("taillight-sample"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    let (sweep, live, long) = (sample::sweep(), sample::live(3), sample::live(8));
    fs::write(folder.join("sweep.html"), experiment_html(&sweep))?;
    fs::write(folder.join("live.html"), experiment_html(&live))?;
    fs::write(
        folder.join("compare.html"),
        comparison_html(&sample::comparison(&live), Sides::Results(&live, &live)),
    )?;
    fs::write(
        folder.join("compare-8.html"),
        comparison_html(&sample::comparison(&long), Sides::Results(&long, &long)),
    )?;
    for (name, experiment) in sample::degenerate() {
        fs::write(folder.join(format!("{}.html", name.replace(' ', "-"))), experiment_html(&experiment))?;
    }
    fs::write(folder.join("disturbed.html"), experiment_html(&sample::disturbed()))?;
    let (load, closed) = (sample::load(), sample::closed());
    fs::write(folder.join("load.html"), experiment_html(&load))?;
    fs::write(folder.join("closed.html"), experiment_html(&closed))?;
    let (viewing, viewed) = (sample::viewing(), sample::viewed());
    fs::write(folder.join("viewing.html"), experiment_html(&viewing))?;
    fs::write(folder.join("viewed.html"), experiment_html(&viewed))?;
    let traced = sample::traced();
    fs::write(folder.join("traced.html"), experiment_html(&traced))?;
    let study = sample::study();
    fs::write(folder.join("study.html"), study_html(&study))?;
    for (name, study) in sample::studies_in_trouble() {
        fs::write(folder.join(format!("study-{}.html", name.replace(' ', "-"))), study_html(&study))?;
    }
    let mut other = sample::study();
    other.host = serde_json::json!({"name": "other"});
    let figures = other.figures.iter_mut().flat_map(|figure| &mut figure.series);
    for point in figures.flat_map(|series| &mut series.points) {
        for value in [&mut point.y, &mut point.low, &mut point.high].into_iter().flatten() {
            *value *= 1.7;
        }
    }
    let page = comparison_html(&sample::compared(&study, &other), Sides::Studies(&study, &other));
    fs::write(folder.join("study-compare.html"), page)?;
    let entry = |folder: &str, found| IndexEntry { folder: folder.into(), has_page: true, found };
    let entries = [
        entry("study", Found::Study(Box::new(study.clone()))),
        entry("sweep", Found::Experiment(Box::new(sweep.clone()))),
        entry("live", Found::Experiment(Box::new(live.clone()))),
        entry("broken", Found::Damaged("it has no schema number".into())),
    ];
    fs::write(folder.join("index.html"), index_html("results", &entries))?;
    println!("{}", study_table(&study, 120, true));
    println!("{}", experiment_table(&sweep, 140, true));
    println!("{}", experiment_table(&load, 120, true));
    println!("{}", experiment_table(&closed, 140, true));
    println!("{}", experiment_table(&viewing, 140, true));
    println!("{}", experiment_table(&viewed, 120, true));
    println!("{}", experiment_table(&traced, 140, true));
    println!("{}", comparison_table(&sample::comparison(&long), 120, true));
    println!("pages in {}", folder.display());
    Ok(())
}
