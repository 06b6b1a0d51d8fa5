//! Integration tests of `app`, as one program to save linking.
//!
//! Try it: `cargo test -p app --test it`, or with the name of a module behind it.

#[path = "../../taillight/tests/browser/run.rs"]
mod browser;
mod deployment;
mod descriptions;
mod each_value;
mod made;
mod mariadb;
mod movies;
mod nginx;
mod registry;
mod seeds;
mod services;
mod social;
mod video;
mod web;

/// Writes a program of the shell.
///
/// By another process: a child that this process forks during the write would hold the file open, and a file open for
/// writing cannot be executed.
fn write_program(file: &std::path::Path, script: &str) {
    let write = "printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let written = std::process::Command::new("sh").args(["-c", write]).arg(file).arg(script).status();
    assert!(written.is_ok_and(|status| status.success()), "cannot write {}", file.display());
}
