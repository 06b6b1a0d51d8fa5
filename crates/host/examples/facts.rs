//! Prints the screen about this machine, or about the tree given as the first argument; all facts with `--all` before it.

use std::path::PathBuf;

use host::{Host, Screen};

fn main() {
    let mut words = std::env::args_os().skip(1).peekable();
    let all = words.next_if(|word| word == "--all").is_some();
    let host = Host::read(&words.next().map_or_else(|| PathBuf::from("/"), PathBuf::from));
    if all {
        println!("{host:#?}");
    } else {
        print!("{}", Screen(&host));
    }
}
