//! Renders made-up results into `/tmp/taillight-sample` (or the folder given) to look at in a browser.
//!
//! Try it: `cargo run -p report --example sample`.

use std::path::PathBuf;
use std::{env, fs, io};

use report::{comparison_html, comparison_table, experiment_html, experiment_table};

#[path = "../tests/sample/mod.rs"]
mod sample;

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).map_or_else(|| env::temp_dir().join("taillight-sample"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    let (sweep, live, long) = (sample::sweep(), sample::live(3), sample::live(8));
    fs::write(folder.join("sweep.html"), experiment_html(&sweep))?;
    fs::write(folder.join("live.html"), experiment_html(&live))?;
    fs::write(folder.join("compare.html"), comparison_html(&sample::comparison(&live), &live, &live))?;
    fs::write(folder.join("compare-8.html"), comparison_html(&sample::comparison(&long), &long, &long))?;
    for (name, experiment) in sample::degenerate() {
        fs::write(folder.join(format!("{}.html", name.replace(' ', "-"))), experiment_html(&experiment))?;
    }
    let (load, closed) = (sample::load(), sample::closed());
    fs::write(folder.join("load.html"), experiment_html(&load))?;
    fs::write(folder.join("closed.html"), experiment_html(&closed))?;
    println!("{}", experiment_table(&sweep, 140, true));
    println!("{}", experiment_table(&load, 120, true));
    println!("{}", experiment_table(&closed, 140, true));
    println!("{}", comparison_table(&sample::comparison(&long), &long, &long, 120, true));
    println!("pages in {}", folder.display());
    Ok(())
}
