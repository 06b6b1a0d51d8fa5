//! Splits a Rust source into code, comments and string literals, line by line.
//!
//! A check that looks for a word must know where it is: `Instant` in a comment reads no clock, and more people
//! read a banned word in a help text than one in a comment.

/// The code, comments and string contents of one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Code, with string literals emptied to `""`.
    pub(crate) code: String,
    /// Comments of all kinds, without their marks.
    pub(crate) comment: String,
    /// The contents of string literals.
    pub(crate) string: String,
}

enum State {
    Code,
    LineComment,
    /// Nested block comments, and how deep.
    BlockComment(u32),
    /// A string; a raw one ends only at a quote with this many hashes.
    Text {
        hashes: Option<usize>,
    },
}

/// Takes `source` apart. Bounds: text that Rust's own lexer accepts; anything else gives something, never a panic.
pub(crate) fn lines(source: &str) -> Vec<Line> {
    let mut state = State::Code;
    source.lines().map(|text| one_line(text, &mut state)).collect()
}

fn one_line(text: &str, state: &mut State) -> Line {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\n');
    let mut line = Line::default();
    let mut i = 0;
    while i < chars.len() {
        match state {
            State::Code => match (at(i), at(i + 1)) {
                ('/', '/') => {
                    *state = State::LineComment;
                    i += 2;
                }
                ('/', '*') => {
                    *state = State::BlockComment(1);
                    i += 2;
                }
                ('"', _) => {
                    *state = State::Text { hashes: raw_hashes(&line.code) };
                    line.code.push('"');
                    i += 1;
                }
                ('\'', next) => {
                    let length = char_literal(next, at(i + 2), &chars[i..]);
                    line.code.push('\'');
                    i += length;
                }
                (c, _) => {
                    line.code.push(c);
                    i += 1;
                }
            },
            State::LineComment => {
                line.comment.push(at(i));
                i += 1;
            }
            State::BlockComment(depth) => match (at(i), at(i + 1)) {
                ('*', '/') => {
                    *depth -= 1;
                    if *depth == 0 {
                        *state = State::Code;
                    }
                    i += 2;
                }
                ('/', '*') => {
                    *depth += 1;
                    i += 2;
                }
                (c, _) => {
                    line.comment.push(c);
                    i += 1;
                }
            },
            State::Text { hashes } => match (at(i), *hashes) {
                ('\\', None) => {
                    line.string.push(at(i + 1));
                    i += 2;
                }
                ('"', hashes) if (0..hashes.unwrap_or(0)).all(|n| at(i + 1 + n) == '#') => {
                    *state = State::Code;
                    line.code.push('"');
                    line.string.push(' ');
                    i += 1 + hashes.unwrap_or(0);
                }
                (c, _) => {
                    line.string.push(c);
                    i += 1;
                }
            },
        }
    }
    if matches!(state, State::LineComment) {
        *state = State::Code;
    }
    line
}

/// How many hashes end the string whose quote follows `code`; `None` if the string is not raw.
fn raw_hashes(code: &str) -> Option<usize> {
    let before = code.trim_end_matches('#');
    let prefix = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
    matches!(&before[prefix.len()..], "r" | "br" | "cr").then(|| code.len() - before.len())
}

/// How many characters from a quote on to step over: a character literal's, or 1 for a lifetime.
fn char_literal(next: char, after: char, rest: &[char]) -> usize {
    match (next, after) {
        ('\\', _) => rest.iter().skip(3).position(|&c| c == '\'').map_or(rest.len(), |end| end + 4),
        (_, '\'') => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_code_comments_and_strings_apart() {
        let check = |source: &str, code: &str, comment: &str, string: &str| {
            let lines = lines(source);
            let join = |part: fn(&Line) -> &str| lines.iter().map(part).collect::<Vec<_>>().join("|");
            let got = (join(|l| &l.code), join(|l| &l.comment), join(|l| &l.string));
            assert_eq!(got, (code.into(), comment.into(), string.into()), "{source}");
        };
        check("let a = 1; // one", "let a = 1; ", " one", "");
        check("/// doc", "", "/ doc", "");
        check("a(/* x /* y */ z */ b)", "a( b)", " x  y  z ", "");
        check("a /* x\ny */ b", "a | b", " x|y ", "|");
        check(r#"f("a // b", c)"#, r#"f("", c)"#, "", "a // b ");
        check(r#"f("a \" b") // c"#, r#"f("") "#, " c", "a \" b ");
        check("f(\"a\nb\")", "f(\"|\")", "|", "a|b ");
        check(r###"f(r#"a " \"#, b)"###, r###"f(r#"", b)"###, "", "a \" \\ ");
        check(r#"f(br"\", '"', b)"#, r#"f(br"", ', b)"#, "", "\\ ");
        check(r"f('\'', '\\', 'a', x)", "f(', ', ', x)", "", "");
        check("fn f<'a>(x: &'a str) {} // 'b", "fn f<'a>(x: &'a str) {} ", " 'b", "");
        check(r"'\u{1F600}' // c", "' ", " c", "");
    }

    #[test]
    fn never_panics() {
        for source in ["'", "\"", "/*", "r#\"", "'\\", "\\", "*/", "\"\\", "/*/", "r#"] {
            let _ = lines(source);
        }
    }
}
