use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A line is cut after 64 KiB, so that a process that never ends its line cannot fill the memory.
const LONGEST_LINE: usize = 64 << 10;

/// The lines of one output stream of a process, read by a thread so that the process never blocks on a full pipe.
#[derive(Clone)]
pub(crate) struct Capture {
    shared: Arc<(Mutex<Lines>, Condvar)>,
}

#[derive(Default)]
struct Lines {
    kept: VecDeque<String>,
    /// Number of lines read so far.
    count: u64,
    closed: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next line, without its end.
    Line(String),
    /// The stream ended and all its lines were taken.
    Closed,
    /// Nothing came in time.
    TimedOut,
}

impl Capture {
    /// Reads `stream` to its end in a thread, keeping the last `keep` lines that were not taken.
    pub(crate) fn start(stream: impl Read + Send + 'static, keep: usize) -> std::io::Result<Capture> {
        let capture = Capture { shared: Arc::default() };
        let writer = capture.clone();
        thread::Builder::new().name("capture".into()).spawn(move || {
            let mut stream = BufReader::new(stream);
            while let Some(line) = read_line(&mut stream) {
                writer.push(line, keep);
            }
            writer.lock().closed = true;
            writer.shared.1.notify_all();
        })?;
        Ok(capture)
    }

    /// Takes the oldest line that is kept, waiting up to `within` for one.
    pub(crate) fn next(&self, within: Duration) -> Next {
        let deadline = Instant::now() + within;
        let mut lines = self.lock();
        loop {
            if let Some(line) = lines.kept.pop_front() {
                return Next::Line(line);
            }
            if lines.closed {
                return Next::Closed;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::TimedOut;
            }
            lines = self.wait(lines, left);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.lock().count
    }

    /// A copy of the lines that are kept.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.lock().kept.iter().cloned().collect()
    }

    /// As [`Capture::tail`], after waiting up to `within` for the end of the stream.
    pub(crate) fn tail_at_end(&self, within: Duration) -> Vec<String> {
        let deadline = Instant::now() + within;
        let mut lines = self.lock();
        while !lines.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            lines = self.wait(lines, left);
        }
        lines.kept.iter().cloned().collect()
    }

    fn push(&self, line: String, keep: usize) {
        let mut lines = self.lock();
        if lines.kept.len() == keep {
            lines.kept.pop_front();
        }
        lines.kept.push_back(line);
        lines.count += 1;
        self.shared.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, lines: MutexGuard<'a, Lines>, within: Duration) -> MutexGuard<'a, Lines> {
        self.shared.1.wait_timeout(lines, within).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The next line or the next [`LONGEST_LINE`] bytes of one; `None` at the end or on an error.
fn read_line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = stream.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn keeps_the_last_lines() {
        let check = |text: &str, keep: usize, expect: &[&str]| {
            let capture = Capture::start(Cursor::new(text.to_owned()), keep).unwrap();
            assert_eq!(capture.tail_at_end(LONG), expect, "{text:?}");
        };
        check("", 3, &[]);
        check("a\nb", 3, &["a", "b"]);
        check("a\n\nc\nd\n", 3, &["", "c", "d"]);
    }

    #[test]
    fn lines_are_taken_in_order_until_the_stream_ends() {
        let capture = Capture::start(Cursor::new("a\nb\n"), 9).unwrap();
        let line = |text: &str| Next::Line(text.into());
        assert_eq!(
            [capture.next(LONG), capture.next(LONG), capture.next(LONG)],
            [line("a"), line("b"), Next::Closed]
        );
    }

    #[test]
    fn an_open_stream_without_lines_times_out() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let capture = Capture::start(reader, 9).unwrap();
        assert_eq!(capture.next(Duration::from_millis(2)), Next::TimedOut);
    }

    #[test]
    fn an_endless_line_is_cut() {
        let mut stream = Cursor::new(vec![b'x'; LONGEST_LINE + 3]);
        assert_eq!(read_line(&mut stream).unwrap().len(), LONGEST_LINE);
        assert_eq!(read_line(&mut stream).unwrap(), "xxx");
    }
}
