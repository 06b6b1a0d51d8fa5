/// Colours of a terminal, or none.
#[derive(Clone, Copy)]
pub(crate) struct Ink {
    pub color: bool,
}

impl Ink {
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
}

/// `text` without control characters: a server's name must not move the cursor.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `text` in lines of at most `width`, the later ones indented by `indent`. A longer word gets its own line.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let used = line.chars().count();
        if used > 0 && used + 1 + word.chars().count() > width && !line.trim().is_empty() {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if used > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_and_indents() {
        let check = |text: &str, width: usize, expect: &str| assert_eq!(wrapped(text, width, 2), expect);
        check("one two three", 80, "one two three");
        check("one two three", 8, "one two\n  three");
        check("extraordinarily long", 5, "extraordinarily\n  long");
        check("", 5, "");
    }

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(harmless("a\x1b[31mb\nc"), "a [31mb c");
    }
}
