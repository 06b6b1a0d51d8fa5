use std::fmt::Write as _;
use std::io::Write;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::style::{Color, Modifier};
use ratatui_core::text::Span;

const HIDE_CURSOR: &str = "\x1b[?25l";
/// From the left of the line on which the cursor rests, which is the picture's first, all is blank again.
const RESTORE: &str = "\r\x1b[J\x1b[?25h";

/// An area of a terminal that is redrawn in place, below earlier output.
///
/// The cursor rests on the first column of the first line, hidden. A terminal that wraps lines again when it gets narrower therefore
/// leaves the cursor where the next picture begins. The program never queries the terminal, whose answer would arrive on standard input.
/// Ratatui's own inline viewport does query it.
pub struct Screen<W: Write> {
    to: W,
    last: Option<Buffer>,
    /// Whether there is something to restore; shared with the panic hook.
    shown: Arc<AtomicBool>,
}

impl<W: Write> Screen<W> {
    /// A screen of the terminal `to`, which shows nothing yet.
    pub fn new(to: W) -> Screen<W> {
        Screen { to, last: None, shown: Arc::new(AtomicBool::new(false)) }
    }

    /// Shows a picture in place of the last one, in one write. It must be narrower than the terminal by a column, and
    /// no higher. A terminal that cannot be written to does not stop the measurement.
    pub fn show(&mut self, picture: Buffer) {
        if self.last.as_ref() == Some(&picture) {
            return;
        }
        let mut bytes = String::with_capacity(picture.content.len() * 4);
        if !self.shown.swap(true, Ordering::Relaxed) {
            bytes.push_str(HIDE_CURSOR);
        }
        bytes.push('\r');
        write_rows(&picture, &mut bytes);
        let _ = self.to.write_all(bytes.as_bytes()).and_then(|()| self.to.flush());
        self.last = Some(picture);
    }

    /// Leaves the terminal as if nothing had been shown.
    pub fn clear(&mut self) {
        self.last = None;
        restore(&self.shown, &mut self.to);
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Makes a panic restore the terminal before it says anything, rather than write into the picture.
pub fn restore_on_panic<W: Write>(screen: &Screen<W>, to: impl Fn() -> W + Send + Sync + 'static) {
    let (shown, before) = (Arc::clone(&screen.shown), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        restore(&shown, &mut to());
        before(info);
    }));
}

fn restore(shown: &AtomicBool, to: &mut impl Write) {
    if shown.swap(false, Ordering::Relaxed) {
        let _ = to.write_all(RESTORE.as_bytes()).and_then(|()| to.flush());
    }
}

/// Writes the rows from the cursor on, clears the rows below, and returns to the first row.
fn write_rows(picture: &Buffer, to: &mut String) {
    let blank = Buffer::empty(picture.area);
    let mut drawn = blank.diff(picture).into_iter().peekable();
    for y in 0..picture.area.height {
        let (mut column, mut style) = (0, String::new());
        while let Some((x, _, cell)) = drawn.next_if(|(_, row, _)| *row == y) {
            if x > column && !style.is_empty() {
                to.push_str("\x1b[0m");
                style.clear();
            }
            to.extend((column..x).map(|_| ' '));
            let wanted = attributes(cell);
            if wanted != style {
                to.push_str("\x1b[0m");
                to.push_str(&wanted);
                style = wanted;
            }
            to.push_str(cell.symbol());
            column = x + Span::raw(cell.symbol()).width() as u16;
        }
        to.push_str(if style.is_empty() { "\x1b[K" } else { "\x1b[0m\x1b[K" });
        to.push_str(if y + 1 < picture.area.height { "\r\n" } else { "\x1b[J\r" });
    }
    if picture.area.height > 1 {
        let _ = write!(to, "\x1b[{}A", picture.area.height - 1);
    }
}

/// The escape sequences of the few attributes that the picture uses; empty: the terminal's own.
fn attributes(cell: &Cell) -> String {
    let mut text = String::new();
    for (modifier, sequence) in [(Modifier::BOLD, "\x1b[1m"), (Modifier::DIM, "\x1b[2m")] {
        if cell.modifier.contains(modifier) {
            text.push_str(sequence);
        }
    }
    if let Color::Indexed(index) = cell.fg {
        let _ = write!(text, "\x1b[38;5;{index}m");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    use super::*;

    /// A terminal that several hands write to.
    #[derive(Clone)]
    struct Terminal(Arc<Mutex<vt100::Parser>>);

    impl Terminal {
        fn new(rows: u16, columns: u16) -> Terminal {
            let mut parser = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 100);
            parser.process(b"$ taillight load\r\n");
            Terminal(Arc::new(Mutex::new(parser)))
        }

        /// The content of the terminal, the place of the cursor, and whether the cursor is visible.
        fn shows(&self) -> (String, (u16, u16), bool) {
            let parser = self.0.lock().unwrap();
            let screen = parser.screen();
            (screen.contents(), screen.cursor_position(), !screen.hide_cursor())
        }
    }

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().process(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn picture(rows: &[&str]) -> Buffer {
        Buffer::with_lines(rows.iter().copied())
    }

    #[test]
    fn pictures_replace_each_other_and_leave_nothing() {
        let terminal = Terminal::new(8, 20);
        let mut screen = Screen::new(terminal.clone());
        let mut check = |rows: &[&str], expect: &str| {
            screen.show(picture(rows));
            assert_eq!(terminal.shows(), (format!("$ taillight load\n{expect}"), (1, 0), false));
        };
        check(&["one", "two", "three"], "one\ntwo\nthree");
        check(&["1", "  2"], "1\n  2");
        check(&["老虎 x"], "老虎 x");
        drop(screen);
        assert_eq!(terminal.shows(), ("$ taillight load".into(), (1, 0), true));
    }

    #[test]
    fn at_the_bottom_the_terminal_scrolls_once() {
        let terminal = Terminal::new(3, 20);
        let mut screen = Screen::new(terminal.clone());
        for rows in [["a", "b", "c"], ["d", "e", "f"]] {
            screen.show(picture(&rows));
            assert_eq!(terminal.shows(), (rows.join("\n"), (0, 0), false));
        }
    }

    #[test]
    fn the_same_picture_is_not_written_again() {
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes);
        screen.show(picture(&["same"]));
        screen.show(picture(&["same"]));
        drop(screen);
        assert_eq!(String::from_utf8(bytes).unwrap(), "\x1b[?25l\rsame\x1b[K\x1b[J\r\r\x1b[J\x1b[?25h");
    }

    #[test]
    fn attributes_end_where_their_cells_do() {
        let mut picture = picture(&["ab  c"]);
        picture.set_style(Rect::new(1, 0, 1, 1), Style::new().fg(Color::Indexed(54)));
        picture.set_style(Rect::new(4, 0, 1, 1), Style::new().add_modifier(Modifier::BOLD | Modifier::DIM));
        let mut text = String::new();
        write_rows(&picture, &mut text);
        assert_eq!(text, "a\x1b[0m\x1b[38;5;54mb\x1b[0m  \x1b[0m\x1b[1m\x1b[2mc\x1b[0m\x1b[K\x1b[J\r");
    }

    #[test]
    fn a_panic_is_read_on_a_restored_terminal() {
        let terminal = Terminal::new(8, 40);
        let mut screen = Screen::new(terminal.clone());
        let (before, at) = (panic::take_hook(), terminal.clone());
        // Prints like the default hook, but into the test's terminal.
        panic::set_hook(Box::new(move |_| {
            let _ = at.clone().write_all(b"panicked\r\n");
        }));
        let hand = terminal.clone();
        restore_on_panic(&screen, move || hand.clone());
        let caught = panic::catch_unwind(panic::AssertUnwindSafe(move || {
            screen.show(picture(&["a picture", "of two lines"]));
            panic!("on purpose");
        }));
        panic::set_hook(before);
        assert!(caught.is_err());
        assert_eq!(terminal.shows(), ("$ taillight load\npanicked".into(), (2, 0), true));
    }
}
