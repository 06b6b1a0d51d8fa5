//! Whether a body is media or the page of a server that answers every address with one.

/// How many bytes are looked at. Source: the WHATWG's MIME Sniffing standard has 1445; any media has a binary byte within its
/// first 16, and 512 random ones are text once in 10²⁴ times.
const LENGTH: usize = 512;
/// What pages, the messages of programs and playlists begin with.
const MARKS: [&[u8]; 4] = [b"<", b"{", b"[", b"#EXTM3U"];
/// How much of a page a message shows. Units: characters.
const SHOWN: usize = 40;

/// The first bytes of a body, up to the first that no text has.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    bytes: Vec<u8>,
    is_binary: bool,
}

impl Beginning {
    /// Takes the next bytes of the body.
    #[inline]
    pub(super) fn take(&mut self, slice: &[u8]) {
        if !self.is_binary && self.bytes.len() < LENGTH {
            let slice = &slice[..slice.len().min(LENGTH - self.bytes.len())];
            self.is_binary = slice.iter().copied().any(is_binary);
            self.bytes.extend_from_slice(slice);
        }
    }

    /// The beginning of the text, if it is a page and not media: text that begins as HTML, XML, JSON or a playlist
    /// does, or that the server declares as text. `WEBVTT` begins a segment of subtitles.
    pub(super) fn page(&self, is_declared: bool) -> Option<String> {
        let text = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes).trim_ascii_start();
        let begins = |mark: &&[u8]| text.starts_with(mark);
        let is_page =
            !self.is_binary && (MARKS.iter().any(begins) || is_declared && !text.starts_with(b"WEBVTT"));
        is_page.then(|| String::from_utf8_lossy(text).chars().take(SHOWN).collect::<String>())
    }
}

/// Whether no text has this byte. Source: the WHATWG's MIME Sniffing standard, binary data bytes.
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// Whether a `Content-Type` says that a body is a page or the message of a program.
pub(super) fn declares_text(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let essence = essence.to_ascii_lowercase();
    let known: [&[u8]; 5] =
        [b"text/html", b"text/plain", b"text/xml", b"application/json", b"application/xml"];
    known.contains(&essence.as_slice()) || essence.ends_with(b"+json") || essence.ends_with(b"+xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_from_media() {
        let check = |body: &[u8], declared: &str, is_page: bool| {
            for step in [1, 3, 1000] {
                let mut beginning = Beginning::default();
                body.chunks(step).for_each(|piece| beginning.take(piece));
                let found = beginning.page(declares_text(declared.as_bytes()));
                assert_eq!(found.is_some(), is_page, "{} as '{declared}'", body.escape_ascii());
            }
        };
        check(b"<!DOCTYPE html><html>", "", true);
        check(b"<!DOCTYPE html><html>", "video/mp2t", true);
        check(b"\xef\xbb\xbf \r\n<html><head>", "text/html; charset=utf-8", true);
        check(b"<?xml version=\"1.0\"?><Error>NoSuchKey</Error>", "application/xml", true);
        check(b"<html lang=de>Nicht verf\xc3\xbcgbar", "", true);
        check(b"{\"error\":\"not found\"}", "application/json", true);
        check(b"{\"title\":\"gone\"}", "application/problem+json", true);
        check(b"{\"error\":\"gone\"}", "", true);
        check(b" [{\"error\":\"gone\"}]", "video/mp2t", true);
        check(b"#EXTM3U\n#EXTINF:2,\ns1.ts\n", "application/vnd.apple.mpegurl", true);
        check(b"404 page not found\n", "text/plain; charset=utf-8", true);
        check(b"404 page not found\n", "TEXT/PLAIN", true);
        // Media under any declared type, and short bodies without a type.
        check(b"G@\x00\x10\x00\x00\xb0\x0d", "text/html", false);
        check(b"\x00\x00\x00\x1cftypiso5", "text/plain", false);
        check(b"\x00\x00\x00\x18styp", "", false);
        check(b"ID3\x04\x00\x00", "text/plain", false);
        check(b"\xff\xf1\x50\x80\x00\x1f", "application/json", false);
        check(b"WEBVTT\n\n00:00.000 --> 00:01.000\nHi", "text/plain", false);
        check(b"WEBVTT\n", "text/vtt", false);
        check(b"xxxxxxxx", "application/octet-stream", false);
        check(b"xxxxxxxx", "", false);
        check(b"G@ the linguist", "text/vnd.trolltech.linguist", false);
        check(b"<\x00\x00\x01moof", "", false);
        check(b"{\x00\x00\x01moof", "", false);
    }
}
