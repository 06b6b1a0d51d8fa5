//! The view on a terminal while a trial runs: the test reads the other end of a pseudo-terminal as a terminal does.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use tempfile::TempDir;

use crate::run::{Served, taillight};

/// Nothing in these tests takes longer, unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Something that the view has and the line of progress has not.
const OF_THE_VIEW: [&str; 5] = ["offered", "achieved", "outstanding", "errors", "window so far"];

/// A terminal on which a program runs.
struct Terminal {
    ours: OwnedFd,
    bytes: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// All that came, escape sequences and all.
    raw: Vec<u8>,
    child: Child,
}

impl Terminal {
    /// Runs the command with its standard error, as a shell has it with `> file`, on a terminal of this size.
    fn run(command: &mut Command, rows: u16, columns: u16) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        tcsetwinsize(&ours, size(rows, columns)).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = OpenOptions::new()
            .read(true)
            .write(true)
            .open(Path::new(std::ffi::OsStr::from_bytes(name.as_bytes())))
            .unwrap();
        let child = command.stdout(Stdio::null()).stderr(theirs).spawn().unwrap();
        // The command still holds their end open, and the output ends when all copies of it are closed.
        command.stderr(Stdio::null());
        let (send, bytes) = channel();
        let mut from = File::from(ours.try_clone().unwrap());
        thread::spawn(move || {
            let mut block = [0; 4096];
            loop {
                match from.read(&mut block) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // Linux says so when the last one has closed the other end.
                    Err(_) | Ok(0) => return,
                    Ok(n) if send.send(block[..n].to_vec()).is_err() => return,
                    Ok(_) => {}
                }
            }
        });
        let parser = vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 0);
        Terminal { ours, bytes, parser, raw: Vec::new(), child }
    }

    fn shows(&self) -> String {
        self.parser.screen().contents()
    }

    /// Reads until the screen is as wanted, or the program has closed the terminal where `None` is.
    #[track_caller]
    fn until(&mut self, what: &str, wanted: Option<&dyn Fn(&str) -> bool>) {
        let started = Instant::now();
        let mut is_there = wanted.is_some_and(|wanted| wanted(&self.shows()));
        while !is_there {
            let left = LIMIT.saturating_sub(started.elapsed());
            match self.bytes.recv_timeout(left) {
                Ok(bytes) => {
                    // A block that was read late holds several pictures, each of which was shown.
                    for piece in bytes.split_inclusive(|byte| *byte == b'\r') {
                        self.parser.process(piece);
                        is_there |= wanted.is_some_and(|wanted| wanted(&self.shows()));
                    }
                    self.raw.extend(bytes);
                }
                Err(_) if wanted.is_none() && started.elapsed() < LIMIT => return,
                Err(error) => panic!("waited in vain ({error}): {what}; the screen:\n{}", self.shows()),
            }
        }
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        let (to_rows, to_columns) = (NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap());
        self.parser.screen_mut().set_size(to_rows, to_columns);
        tcsetwinsize(&self.ours, size(rows, columns)).unwrap();
    }

    fn settings(&self) -> Termios {
        tcgetattr(&self.ours).unwrap()
    }

    /// Reads to the end, which must come, and returns the exit code.
    #[track_caller]
    fn end(&mut self) -> Option<i32> {
        self.until("the end", None);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn load(server: &Served, out: &TempDir, window: &str, options: &[&str]) -> Command {
    let mut command = taillight(&["load", "cache", "--target", &server.address, "--rate", "2k"]);
    command.args(["--window", window, "--warmup", "50ms", "--fill", "never", "--pace", "sleep"]);
    command
        .env("TERM", "xterm-256color")
        .args(["--connections", "8"])
        .args(options)
        .arg("--out")
        .arg(out.path());
    command
}

fn is_view(shown: &str) -> bool {
    OF_THE_VIEW.iter().all(|words| shown.contains(words))
}

fn is_line(shown: &str) -> bool {
    shown.contains(" left · ") && !OF_THE_VIEW.iter().any(|words| shown.contains(words))
}

#[test]
fn the_view_follows_the_terminal_and_leaves_it_as_it_was() {
    let (server, out) = (Served::canned(), TempDir::new().unwrap());
    let mut terminal = Terminal::run(&mut load(&server, &out, "10m", &[]), 24, 100);
    let before = terminal.settings();
    let measures = |shown: &str| {
        is_view(shown) && shown.contains("krps") && shown.contains("p99 ≤ ") && shown.contains("░")
    };
    terminal.until("the view shows figures and heat", Some(&measures));
    let titled = |shown: &str| shown.contains(&format!("{} · cache · 2.00 krps", server.address));
    assert!(titled(&terminal.shows()), "{}", terminal.shows());
    assert!(terminal.parser.screen().hide_cursor());

    terminal.resize(24, 50);
    terminal.until("a line where the terminal is too narrow", Some(&is_line));
    terminal.resize(24, 160);
    terminal.until("the view again", Some(&is_view));
    terminal.resize(10, 160);
    terminal.until("a line where the terminal is too low", Some(&is_line));
    terminal.resize(40, 160);
    terminal.until("the view once more", Some(&is_view));

    kill_process(Pid::from_child(&terminal.child), Signal::INT).unwrap();
    assert_eq!(terminal.end(), Some(130), "{}", terminal.shows());
    let shown = terminal.shows();
    assert!(shown.contains("Ctrl-C") && !OF_THE_VIEW.iter().any(|words| shown.contains(words)), "{shown}");
    assert!(!terminal.parser.screen().hide_cursor(), "the cursor is back");
    let after = terminal.settings();
    assert!(after.local_modes == before.local_modes && after.input_modes == before.input_modes);
    assert!(!terminal.raw.windows(5).any(|bytes| bytes == b"\x1b[38;"), "NO_COLOR is set");
}

#[test]
fn at_the_end_the_view_is_erased() {
    let (server, out) = (Served::canned(), TempDir::new().unwrap());
    let mut command = load(&server, &out, "2s", &[]);
    let mut terminal = Terminal::run(command.env_remove("NO_COLOR"), 24, 80);
    terminal.until("the view", Some(&is_view));
    let code = terminal.end();
    // If other programs run, the answer may be missing; the reason is then an error message, in lines after each other.
    let shown = terminal.shows().trim().replace('\n', " ");
    match code {
        Some(0) => assert_eq!(shown, "", "the answer went to standard output, and nothing else stays"),
        Some(75) => {
            let reason = format!("taillight: {}: ", server.address);
            assert!(shown.starts_with(&reason) && !shown.contains("window so far"), "{shown}");
        }
        _ => panic!("{code:?}: {shown}"),
    }
    assert!(!terminal.parser.screen().hide_cursor());
    assert!(terminal.raw.windows(7).any(|bytes| bytes == b"\x1b[38;5;"), "colours are used");
}

#[test]
fn without_a_view_there_is_a_line_or_lines() {
    let (server, out) = (Served::canned(), TempDir::new().unwrap());
    let mut terminal = Terminal::run(&mut load(&server, &out, "2s", &["--no-live"]), 24, 100);
    terminal.until("a line", Some(&is_line));
    assert!(matches!(terminal.end(), Some(0 | 75)), "{}", terminal.shows());
    let raw = String::from_utf8_lossy(&terminal.raw).into_owned();
    assert!(!raw.contains("achieved"), "{raw}");

    // A terminal that cannot move its cursor gets lines, as a pipe does.
    let mut command = load(&server, &out, "300ms", &["--name", "dumb"]);
    let mut terminal = Terminal::run(command.env("TERM", "dumb"), 24, 100);
    assert!(matches!(terminal.end(), Some(0 | 75)), "{}", terminal.shows());
    let raw = String::from_utf8_lossy(&terminal.raw).into_owned();
    assert!(raw.contains("trial 1 of about") && !raw.contains('\x1b'), "{raw}");
}

/// The text of a scrape, in the format that `accept` prefers.
fn scrape(address: &str, accept: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nAccept: {accept}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The value of the only series of this name, if it is there.
fn series(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.split(['{', ' ']).next() == Some(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn prometheus_sees_a_run_while_it_lasts() {
    let (server, out) = (Served::canned(), TempDir::new().unwrap());
    let mut command = load(&server, &out, "10m", &["--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = lines
        .find_map(|line| Some(line.strip_prefix("metrics on http://")?.strip_suffix("/metrics")?.to_owned()));
    let address = address.expect("it says where the metrics are");
    let rest = thread::spawn(move || lines.count());
    let answered = |text: &str| series(text, "taillight_run_answered_arrivals_total").unwrap_or(0.0);
    let started = Instant::now();
    let mut rising = 0.0;
    // Twice, so that the counter is seen to rise.
    for _ in 0..2 {
        loop {
            let text = scrape(&address, "text/plain");
            assert!(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{text}");
            if answered(&text) > rising {
                rising = answered(&text);
                break;
            }
            assert!(started.elapsed() < LIMIT, "waited in vain for {rising} to rise: {text}");
            thread::sleep(Duration::from_millis(20));
        }
    }
    let text = scrape(&address, "application/openmetrics-text");
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert_eq!(series(&text, "taillight_run_offered_arrivals_per_second"), Some(2000.0), "{text}");
    let counted = series(&text, "taillight_run_response_time_seconds_count").unwrap();
    assert!(counted >= rising, "{counted} of {rising}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    rest.join().unwrap();
}
