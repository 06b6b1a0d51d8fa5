/// Whether a text fits a pattern of Redis: `*`, `?`, `[a-c]`, `[^x]`, and `\` before a character that means itself.
///
/// Cost: pattern times text at most, since a `*` is tried again at one place only, the last one.
/// Source: the documentation of Redis' command `KEYS`.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut of) = (0, 0);
    // The pattern behind the last `*`, and the text that it has not swallowed.
    let mut again = None;
    loop {
        if pattern.get(at) == Some(&b'*') {
            again = Some((at + 1, of));
            at += 1;
            continue;
        }
        let Some(&byte) = text.get(of) else {
            return at == pattern.len();
        };
        if let Some(length) = one(&pattern[at..], byte) {
            (at, of) = (at + length, of + 1);
            continue;
        }
        let Some((behind, from)) = again else { return false };
        again = Some((behind, from + 1));
        (at, of) = (behind, from + 1);
    }
}

/// The length of the first part of a pattern, if it stands for this byte; none at the end of a pattern.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', set @ ..] => {
            let (fits, length) = class(set, byte);
            fits.then_some(1 + length)
        }
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [own, ..] => (*own == byte).then_some(1),
    }
}

/// Whether a class of characters has this byte, and its length up to the `]`, or to the end if that is missing.
fn class(set: &[u8], byte: u8) -> (bool, usize) {
    let (negated, mut at) = if set.first() == Some(&b'^') { (true, 1) } else { (false, 0) };
    let mut has = false;
    loop {
        match &set[at..] {
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', escaped, ..] => {
                has |= *escaped == byte;
                at += 2;
            }
            [from, b'-', to, ..] => {
                has |= (*from.min(to)..=*from.max(to)).contains(&byte);
                at += 3;
            }
            [own, ..] => {
                has |= *own == byte;
                at += 1;
            }
        }
    }
    (has != negated, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_redis() {
        let check = |pattern: &str, text: &str, expect: bool| {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expect, "{pattern} {text}");
        };
        check("", "", true);
        check("", "a", false);
        check("*", "", true);
        check("*", "anything", true);
        check("h?llo", "hello", true);
        check("h?llo", "hllo", false);
        check("h*llo", "heeeello", true);
        check("h*llo", "heeeell", false);
        check("h[ae]llo", "hallo", true);
        check("h[ae]llo", "hillo", false);
        check("h[^e]llo", "hallo", true);
        check("h[^e]llo", "hello", false);
        check("h[a-b]llo", "hbllo", true);
        check("h[b-a]llo", "hallo", true);
        check("h\\*llo", "h*llo", true);
        check("h\\*llo", "hxllo", false);
        check("a*b*c", "a1b2b3c", true);
        check("a*b*c", "a1c2b3", false);
        check("user:*:name", "user:1:2:name", true);
        check("[a", "a", true);
        check("[\\]]", "]", true);
        check("a\\", "a\\", true);
        check("*a*a*a*a*a*a*a*a*b", &"a".repeat(200), false);
    }
}
