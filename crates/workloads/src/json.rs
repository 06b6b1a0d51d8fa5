/// Whether a JSON text is complete, from its brackets and quotation marks, while it arrives in pieces.
///
/// Bounds: brackets up to 64 deep; deeper ones count as broken. The text between them is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Json {
    /// The kinds of the brackets that are open, the innermost in the lowest bit.
    kinds: u64,
    depth: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before its first bracket.
    #[default]
    Before,
    Between,
    InText,
    Escaped,
    Whole,
    Broken,
}

impl Json {
    /// Looks at the next piece.
    pub(crate) fn take(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.state = match (self.state, byte) {
                (State::InText, b'"') => State::Between,
                (State::InText, b'\\') => State::Escaped,
                (State::InText | State::Escaped, _) => State::InText,
                (State::Between, b'"') => State::InText,
                (State::Before | State::Between, b'{' | b'[') if self.depth < 64 => {
                    self.kinds = self.kinds << 1 | u64::from(byte == b'[');
                    self.depth += 1;
                    State::Between
                }
                (State::Between, b'}' | b']') if self.kinds & 1 == u64::from(byte == b']') => {
                    self.kinds >>= 1;
                    self.depth -= 1;
                    if self.depth == 0 { State::Whole } else { State::Between }
                }
                (State::Between, b'}' | b']' | b'{' | b'[') => State::Broken,
                (State::Before | State::Whole, b' ' | b'\t' | b'\r' | b'\n') | (State::Between, _) => {
                    self.state
                }
                _ => State::Broken,
            };
        }
    }

    /// Whether it was complete at the end of the last piece.
    pub(crate) fn is_whole(&self) -> bool {
        self.state == State::Whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_not_whole() {
        let whole = |text: &str| {
            for cut in 0..=text.len() {
                let mut json = Json::default();
                json.take(&text.as_bytes()[..cut]);
                json.take(&text.as_bytes()[cut..]);
                let mut at_once = Json::default();
                at_once.take(text.as_bytes());
                assert_eq!(json, at_once, "{text} cut at {cut}");
            }
            let mut json = Json::default();
            json.take(text.as_bytes());
            json.is_whole()
        };
        let text = r#"{"last":7,"posts":[{"id":1,"body":"a \"]} b\\"},{}]}"#;
        assert!(whole(text));
        for cut in 0..text.len() {
            assert!(!whole(&text[..cut]), "{}", &text[..cut]);
        }
        assert!(whole(" [1] \r\n"));
        for broken in ["", "1", "{]", "[}", "{}{}", "{} x", "]", "<html>", &"[".repeat(65)] {
            assert!(!whole(broken), "{broken}");
        }
        assert!(whole(&format!("{}{}", "[".repeat(64), "]".repeat(64))));
    }
}
