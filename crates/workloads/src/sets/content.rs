use crate::web;

/// The content of a file of a set.
#[derive(Clone, Debug)]
pub enum SetContent {
    /// A file of a web server.
    Text(web::Content),
    /// A file of a set of videos.
    Video(datasets::videos::Body),
}

impl SetContent {
    /// How much is left. Units: bytes.
    pub fn left(&self) -> u64 {
        match self {
            SetContent::Text(content) => content.left(),
            SetContent::Video(body) => body.left(),
        }
    }

    /// Writes the next bytes into `out`; returns how many: less than `out` holds at the end only.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        match self {
            SetContent::Text(content) => content.fill(out),
            SetContent::Video(body) => body.fill(out),
        }
    }

    /// Whether `bytes` are the next ones, which it passes over.
    pub fn matches(&mut self, bytes: &[u8]) -> bool {
        match self {
            SetContent::Text(content) => content.matches(bytes),
            SetContent::Video(body) => body.matches(bytes),
        }
    }

    /// The content from `offset` on, to check any part of a file.
    pub fn starting_at(self, offset: u64) -> SetContent {
        match self {
            SetContent::Text(content) => SetContent::Text(content.starting_at(offset)),
            SetContent::Video(body) => SetContent::Video(body.range(offset..u64::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(mut content: SetContent) -> Vec<u8> {
        let mut out = vec![0; content.left() as usize];
        assert_eq!(content.fill(&mut out), out.len());
        out
    }

    #[test]
    fn what_follows_an_offset_is_the_end_of_the_whole() {
        let files = web::FileSet::read("3x1000", 1).unwrap();
        let catalog = datasets::videos::Catalog::new(&"1x1/4096".parse().unwrap(), 1).unwrap();
        let all = [
            SetContent::Text(files.content(2)),
            SetContent::Video(datasets::videos::Body::Media(catalog.content(0, 0))),
            SetContent::Video(datasets::videos::Body::text(catalog.playlist(0, 0).into_bytes())),
        ];
        for content in all {
            let whole = rest(content.clone());
            for offset in [0, 1, 7, 63, 64, 100, whole.len(), whole.len() + 5] {
                let end = &whole[offset.min(whole.len())..];
                assert_eq!(rest(content.clone().starting_at(offset as u64)), end, "{offset}");
            }
        }
    }
}
