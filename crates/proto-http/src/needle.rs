use memchr::memmem::Finder;

/// The longest text that is looked for. Units: bytes. Source: ours; a form's hidden field with its name is some 50.
pub const NEEDLE_MAX: usize = 256;

/// A text to find in bodies that arrive in pieces.
///
/// Shape: the text with the table of Knuth, Morris and Pratt, so that the state between two pieces is a number.
/// Bounds: 1 to [`NEEDLE_MAX`] bytes. Cost: within a piece as `memmem`; no allocation while searching.
#[derive(Clone, Debug)]
pub struct Needle {
    finder: Finder<'static>,
    /// How long the longest border of each prefix is: how much of the text stays matched when the next byte does not fit.
    borders: Box<[u8]>,
}

/// How far a needle was found at the end of the last piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeedleMatch {
    matched: u8,
}

impl Needle {
    /// A text; `None` if it is empty or too long.
    pub fn new(text: &[u8]) -> Option<Needle> {
        if text.is_empty() || text.len() > NEEDLE_MAX {
            return None;
        }
        let mut borders = vec![0u8; text.len()].into_boxed_slice();
        let mut border = 0usize;
        for at in 1..text.len() {
            while border > 0 && text[at] != text[border] {
                border = borders[border - 1].into();
            }
            border += usize::from(text[at] == text[border]);
            // The border of the whole text is shorter than it.
            borders[at] = border as u8;
        }
        Some(Needle { finder: Finder::new(text).into_owned(), borders })
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        self.finder.needle()
    }

    /// Searches the next piece; returns the number of its bytes up to the end of the first occurrence. The state is
    /// then reset.
    pub fn find(&self, seen: &mut NeedleMatch, piece: &[u8]) -> Option<usize> {
        let text = self.text();
        // First a match begun in an earlier piece: until it is complete, or fails.
        let mut at = 0;
        let mut matched = usize::from(seen.matched);
        while matched > 0 && at < piece.len() {
            matched = self.step(matched, piece[at]);
            at += 1;
            if matched == text.len() {
                *seen = NeedleMatch::default();
                return Some(at);
            }
            // The match began in this piece, so the quick search finds it, too.
            if matched <= at {
                at -= matched;
                matched = 0;
            }
        }
        if matched > 0 {
            seen.matched = matched as u8;
            return None;
        }
        if let Some(found) = self.finder.find(&piece[at..]) {
            *seen = NeedleMatch::default();
            return Some(at + found + text.len());
        }
        // How much of it the piece ends with.
        let from = at.max((piece.len() + 1).saturating_sub(text.len()));
        let end = piece[from..].iter().fold(0, |matched, byte| self.step(matched, *byte));
        seen.matched = end as u8;
        None
    }

    /// How much is matched after one more byte.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        let text = self.text();
        while matched > 0 && text[matched] != byte {
            matched = self.borders[matched - 1].into();
        }
        matched + usize::from(text[matched] == byte)
    }
}

/// The text between two others.
///
/// Shape: the first occurrence counts. Bounds: the value has at most [`NEEDLE_MAX`] bytes; a longer one is
/// [`Take::Long`], with or without an end.
#[derive(Clone, Debug)]
pub struct Between {
    before: Needle,
    behind: Needle,
}

/// How far such a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Take {
    /// The text before was not there yet.
    #[default]
    Sought,
    /// The text before was found, the text behind not yet.
    Begun,
    /// Both were.
    Taken,
    /// More than the bound lies between.
    Long,
}

impl Between {
    /// The text after `before` and up to `behind`; `None` if one of them is not a valid needle.
    pub fn new(before: &[u8], behind: &[u8]) -> Option<Between> {
        Some(Between { before: Needle::new(before)?, behind: Needle::new(behind)? })
    }

    /// The text before.
    pub fn before(&self) -> &[u8] {
        self.before.text()
    }

    /// The text behind.
    pub fn behind(&self) -> &[u8] {
        self.behind.text()
    }

    /// Searches the next piece, and appends the value to `value`, which is empty at the beginning. [`Take::Taken`] and
    /// [`Take::Long`] are final.
    ///
    /// Cost: allocates at most [`NEEDLE_MAX`] bytes plus the length of the text behind in `value`.
    pub fn take(&self, state: &mut Take, seen: &mut NeedleMatch, piece: &[u8], value: &mut Vec<u8>) {
        let mut piece = piece;
        if *state == Take::Sought {
            let Some(end) = self.before.find(seen, piece) else { return };
            *state = Take::Begun;
            piece = &piece[end..];
        }
        if *state != Take::Begun {
            return;
        }
        let behind = self.behind.text().len();
        let most = NEEDLE_MAX + behind;
        match self.behind.find(seen, piece) {
            Some(end) if value.len() + end <= most => {
                value.extend_from_slice(&piece[..end]);
                value.truncate(value.len() - behind);
                *state = Take::Taken;
            }
            None if value.len() + piece.len() < most => value.extend_from_slice(piece),
            _ => {
                value.clear();
                *state = Take::Long;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Where the needle ends that is found in pieces.
    fn found(needle: &[u8], pieces: &[&[u8]]) -> Option<usize> {
        let needle = Needle::new(needle).unwrap();
        let (mut seen, mut before) = (NeedleMatch::default(), 0);
        for piece in pieces {
            if let Some(end) = needle.find(&mut seen, piece) {
                return Some(before + end);
            }
            before += piece.len();
        }
        None
    }

    fn taken(pieces: &[&[u8]]) -> (Take, Vec<u8>) {
        let between = Between::new(b"csrf=\"", b"\"").unwrap();
        let (mut state, mut seen, mut value) = (Take::default(), NeedleMatch::default(), Vec::new());
        for piece in pieces {
            between.take(&mut state, &mut seen, piece, &mut value);
        }
        (state, value)
    }

    #[test]
    fn a_text_is_found_across_pieces() {
        assert_eq!(found(b"abab", &[b"xab", b"a", b"bab"]), Some(5));
        assert_eq!(found(b"aab", &[b"a", b"a", b"a", b"b"]), Some(4));
        assert_eq!(found(b"aab", &[b"aa", b"", b"aab"]), Some(5));
        assert_eq!(found(b"abc", &[b"ab", b"d", b"abc"]), Some(6));
        assert_eq!(found(b"a", &[b"", b"b"]), None);
        assert!(Needle::new(b"").is_none() && Needle::new(&[b'a'; NEEDLE_MAX + 1]).is_none());
        let long = [b'a'; NEEDLE_MAX];
        assert_eq!(found(&long, &[&long[1..], b"a"]), Some(NEEDLE_MAX));
        assert_eq!(found(&long, &[b"b", &long[1..], b"b", &long]), Some(2 * NEEDLE_MAX + 1));
    }

    #[test]
    fn what_lies_between_is_taken_once() {
        let check = |pieces: &[&[u8]], state: Take, value: &[u8]| {
            assert_eq!(taken(pieces), (state, value.to_vec()));
        };
        check(&[b"<a csrf=\"t0k\">csrf=\"other\""], Take::Taken, b"t0k");
        check(&[b"<a csrf", b"=", b"\"t", b"0k", b"\"", b"x"], Take::Taken, b"t0k");
        check(&[b"csrf=\"\""], Take::Taken, b"");
        check(&[b"csrf=\"t0k"], Take::Begun, b"t0k");
        check(&[b"csrf='t0k'"], Take::Sought, b"");
        let most = [b'x'; NEEDLE_MAX];
        check(&[b"csrf=\"", &most, b"\""], Take::Taken, &most);
        check(&[b"csrf=\"", &most, b"x\""], Take::Long, b"");
        check(&[b"csrf=\"x", &most, b"\""], Take::Long, b"");
        check(&[b"csrf=\"", &most, &most, &most, b"\" csrf=\"a\""], Take::Long, b"");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            needle in "[ab]{1,6}",
            text in "[abc]{0,60}",
            cuts in proptest::collection::vec(0usize..60, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|two| &text.as_bytes()[two[0]..two[1]]).collect();
            let whole = text.find(&needle).map(|at| at + needle.len());
            prop_assert_eq!(found(needle.as_bytes(), &pieces), whole);
        }
    }
}
