//! A pretended generator for the tests of this crate: it speaks a real generator's protocol but sends no load.
//! It is an example because `cargo test` builds examples and nothing installs them.
//!
//! `pretend_generator FILE WORD…`: each word is an instruction: `live=TEXT` prints this live line after the start,
//! `size=N` makes its recording N bytes long, `for=MS` runs this long after the start, `hang` runs until it is stopped,
//! `deaf` until it is killed, `fail-early` and `fail-late` exit with 3 before and after it was ready. The recording is
//! `PID START NOW done|stopped`, in ns of `CLOCK_MONOTONIC`.

use std::process::ExitCode;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let file = words.next().expect("a file comes first");
    let words: Vec<String> = words.collect();
    let has = |word: &str| words.iter().any(|w| w == word);
    let value = |name: &str| words.iter().find_map(|w| w.strip_prefix(name));
    let number = |name: &str| value(name).map_or(0, |text| text.parse::<u64>().expect("a number"));
    let mut term = signal(SignalKind::terminate()).expect("a handler");
    if has("fail-early") {
        eprintln!("the server refuses");
        return ExitCode::from(3);
    }
    println!("connecting\nready");
    let mut line = String::new();
    let mut input = BufReader::new(tokio::io::stdin());
    let _ = input.read_line(&mut line).await;
    let Some(at_ns) = line.trim().strip_prefix("start ").and_then(|ns| ns.parse::<u64>().ok()) else {
        return ExitCode::SUCCESS;
    };
    let now = || agent::Clock::monotonic().now_ns();
    sleep(Duration::from_nanos(at_ns.saturating_sub(now()))).await;
    if let Some(text) = value("live=") {
        println!("{{\"live\":\"{text}\"}}");
    }
    if has("fail-late") {
        eprintln!("the server went away");
        return ExitCode::from(3);
    }
    if has("deaf") {
        std::future::pending::<()>().await;
    }
    let load = async {
        if has("hang") {
            std::future::pending::<()>().await;
        }
        sleep(Duration::from_millis(number("for="))).await;
    };
    let end = tokio::select! { _ = term.recv() => "stopped", () = load => "done" };
    let mut text = format!("{} {at_ns} {} {end}\n", std::process::id(), now());
    text.extend(std::iter::repeat_n('x', (number("size=") as usize).saturating_sub(text.len())));
    std::fs::write(file, text).expect("room for the recording");
    ExitCode::SUCCESS
}
