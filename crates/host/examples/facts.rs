//! Prints what is known about this machine, or about the tree given as the first argument.

use std::path::PathBuf;

fn main() {
    let root = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("/"), PathBuf::from);
    println!("{:#?}", host::Host::read(&root));
}
