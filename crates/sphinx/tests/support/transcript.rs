use std::collections::HashMap;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::client::Client;
use super::{PATIENCE, Words};

/// The pieces in which a conversation's bytes are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pieces {
    /// All in one write up to the next answer.
    Whole,
    /// Byte by byte; long data in pieces of a thousandth.
    Bytes,
}

/// How long to wait before something is tried again that only time changes.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs the conversation with a server and panics at a wrong answer.
pub(crate) fn hold(name: &str, text: &str, address: SocketAddr, pieces: Pieces, words: Words) {
    let text = &in_words(text, words);
    let mut talk = Talk { address, pieces, clients: HashMap::new(), current: "first", unsent: Vec::new() };
    talk.connect();
    let lines: Vec<&str> = text.lines().collect();
    let mut i = 0;
    while i < lines.len() {
        let line = lines[i];
        i += 1;
        let at = format!("{name}, line {i}");
        let rest = |mark: &str| line[mark.len()..].strip_prefix(' ').unwrap_or(&line[mark.len()..]);
        if line.is_empty() || line.starts_with('#') {
            continue;
        } else if line.starts_with(">until") {
            let answer = lines[i..].iter().take_while(|line| line.starts_with('<'));
            let answer: Vec<&str> = answer.map(|line| line[1..].trim_start()).collect();
            i += answer.len();
            talk.repeat(rest(">until"), &answer, &at);
        } else if line.starts_with(">>") {
            talk.unsent.extend(bytes_of(rest(">>")));
        } else if line.starts_with('>') {
            talk.unsent.extend(bytes_of(rest(">")));
            talk.unsent.extend_from_slice(b"\r\n");
        } else if line == "<closed" {
            talk.send();
            let got = talk.client().line();
            assert!(got.is_none(), "{}: '{}' instead of a close", at, got.unwrap().escape_ascii());
            talk.clients.remove(talk.current);
        } else if line.starts_with('<') {
            talk.expect(rest("<"), &at);
        } else if line.starts_with('=') {
            talk.send();
            talk.current = rest("=");
            talk.connect();
        } else {
            panic!("{}: what is '{line}'?", at);
        }
    }
    talk.finish(name);
}

/// The conversation with the words of this server; line numbers stay the same.
fn in_words(text: &str, words: Words) -> String {
    let (mine, other) = match words {
        Words::Old => ("<old", "<new"),
        Words::New => ("<new", "<old"),
    };
    let line = |line: &str| match (line.strip_prefix(mine), line.starts_with(other)) {
        (Some(rest), _) => format!("<{rest}\n"),
        (None, true) => "\n".into(),
        (None, false) => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

struct Talk<'t> {
    address: SocketAddr,
    pieces: Pieces,
    clients: HashMap<&'t str, Client>,
    current: &'t str,
    unsent: Vec<u8>,
}

impl Talk<'_> {
    fn connect(&mut self) {
        let address = self.address;
        self.clients.entry(self.current).or_insert_with(|| Client::connect(address));
    }

    fn client(&mut self) -> &mut Client {
        self.clients.get_mut(self.current).expect("the conversation goes on after a close")
    }

    fn send(&mut self) {
        let bytes = std::mem::take(&mut self.unsent);
        let piece = match self.pieces {
            Pieces::Whole => bytes.len(),
            Pieces::Bytes => bytes.len() / 1000 + 1,
        };
        for piece in bytes.chunks(piece.max(1)) {
            self.client().send(piece);
        }
    }

    fn expect(&mut self, pattern: &str, at: &str) {
        self.send();
        let line =
            self.client().line().unwrap_or_else(|| panic!("{at}: closed where '{pattern}' was expected"));
        // A value may hold line ends, and is then written as several lines; one may be a bare newline.
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string().chars().take(200).collect::<String>();
        assert!(matches(pattern, &line), "{at}: '{}' where '{pattern}' was expected", shown(&line));
    }

    /// Asks until the answer is the expected one, since only time makes it so.
    fn repeat(&mut self, text: &str, answer: &[&str], at: &str) {
        self.send();
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.unsent = [&bytes_of(text)[..], b"\r\nversion\r\n"].concat();
            self.send();
            let mut lines = Vec::new();
            loop {
                let line = self.client().text();
                if line.starts_with("VERSION ") {
                    break;
                }
                lines.push(line);
            }
            if lines == answer {
                return;
            }
            assert!(Instant::now() < deadline, "{at}: still {lines:?}");
            thread::sleep(PAUSE);
        }
    }

    /// Nothing may be left over on any connection.
    fn finish(mut self, name: &str) {
        self.send();
        for (connection, mut client) in self.clients {
            client.send("version\r\n");
            let line = client.line().unwrap_or_default();
            let line = line.escape_ascii().to_string();
            assert!(line.starts_with("VERSION "), "{name}: left over on '{connection}': {line}");
        }
    }
}

/// The bytes that a text of a conversation stands for.
pub(crate) fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                bytes.push(match rest.as_bytes()[0] {
                    b'r' => b'\r',
                    b'n' => b'\n',
                    b't' => b'\t',
                    b's' => b' ',
                    b'0' => 0,
                    b'\\' => b'\\',
                    other => panic!("what is \\{}?", char::from(other)),
                });
                rest = &rest[1..];
            }
            '{' => {
                let (inside, after) = rest.split_once('}').expect("a closing brace");
                rest = after;
                if let Some(shift) = inside.strip_prefix("now") {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
                    bytes.extend((now + shift.parse::<i64>().unwrap()).to_string().bytes());
                } else {
                    let (what, times) = inside.rsplit_once('*').expect("a repetition");
                    bytes.extend(what.repeat(times.parse().unwrap()).bytes());
                }
            }
            c => bytes.extend(c.to_string().bytes()),
        }
    }
    bytes
}

/// Whether a received line matches the pattern.
fn matches(pattern: &str, line: &[u8]) -> bool {
    let marks = ["{any}", "{n}"].into_iter().filter_map(|mark| Some((pattern.find(mark)?, mark)));
    let Some((at, mark)) = marks.min() else { return line == bytes_of(pattern) };
    let (before, after) = (&pattern[..at], &pattern[at + mark.len()..]);
    let Some(rest) = line.strip_prefix(&bytes_of(before)[..]) else { return false };
    if mark == "{any}" {
        return (0..=rest.len()).any(|length| matches(after, &rest[length..]));
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && matches(after, &rest[digits..])
}

#[test]
fn each_version_has_its_own_lines() {
    let text = "> a\n<old b\n<new c\n<newclosed\n< d\n";
    assert_eq!(in_words(text, Words::Old), "> a\n< b\n\n\n< d\n");
    assert_eq!(in_words(text, Words::New), "> a\n\n< c\n<closed\n< d\n");
}

#[test]
fn patterns_match_only_what_they_say() {
    let check = |pattern: &str, line: &str, expect: bool| {
        assert_eq!(matches(pattern, line.as_bytes()), expect, "{pattern} {line}");
    };
    check("END", "END", true);
    check("END", "END ", false);
    check("a {n}", "a 17", true);
    check("a {n}", "a ", false);
    check("a {n}", "a x", false);
    check("VERSION {any}", "VERSION 1.6", true);
    check("VERSION {any}", "ERROR", false);
    check("{x*3}\\s", "xxx ", true);
    check("a={n} b={any} c={n}", "a=1 b=x c=y c=23", true);
    check("a={n} b={any} c={n}", "a=1 b=x c=y", false);
}
