use crate::videos::{Body, Catalog, RUNGS};

/// A file of a set, or one computed on the fly.
///
/// ```text
/// videos.json               how many videos there are, for a page that shows them
/// v000000/master.m3u8       the rungs of a video, for HLS
/// v000000/240p.m3u8         the chunks of a rung, as ranges of its file
/// v000000/240p.bin          the rung itself
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Entry {
    /// How many videos there are.
    Index,
    /// The rungs of a video.
    Master { video: u64 },
    /// The chunks of a rung.
    Playlist { video: u64, rung: usize },
    /// A rung.
    Media { video: u64, rung: usize },
}

impl Catalog {
    /// The files in the folder of a video, rungs first.
    pub fn entries(&self, video: u64) -> Vec<Entry> {
        let rungs = 0..self.rungs(video);
        let media = rungs.clone().map(|rung| Entry::Media { video, rung });
        let playlists = rungs.map(|rung| Entry::Playlist { video, rung });
        media.chain(playlists).chain([Entry::Master { video }]).collect()
    }

    /// The path of a file, below the root of the set: `/v000123/720p.bin`.
    pub fn entry_path(&self, entry: Entry) -> String {
        match entry {
            Entry::Index => "/videos.json".into(),
            Entry::Master { video } => format!("{}/master.m3u8", self.folder(video)),
            Entry::Playlist { video, rung } => format!("{}/{}.m3u8", self.folder(video), RUNGS[rung]),
            Entry::Media { video, rung } => self.path(video, rung),
        }
    }

    /// The file of this path; `None` if the set has none.
    pub fn entry_at(&self, path: &str) -> Option<Entry> {
        if path == "/videos.json" {
            return Some(Entry::Index);
        }
        let (folder, name) = path.strip_prefix("/v")?.split_once('/')?;
        let is_number = folder.len() == 6 && folder.bytes().all(|byte| byte.is_ascii_digit());
        let video: u64 = folder.parse().ok().filter(|video| is_number && *video < self.videos())?;
        if name == "master.m3u8" {
            return Some(Entry::Master { video });
        }
        let (rung, kind) = name.split_once('.')?;
        let rung = RUNGS.iter().position(|known| *known == rung).filter(|rung| self.has(video, *rung))?;
        match kind {
            "bin" => Some(Entry::Media { video, rung }),
            "m3u8" => Some(Entry::Playlist { video, rung }),
            _ => None,
        }
    }

    /// The content of a file.
    pub fn body(&self, entry: Entry) -> Body {
        match entry {
            Entry::Index => Body::text(self.index(false).into_bytes()),
            Entry::Master { video } => Body::text(self.master(video).into_bytes()),
            Entry::Playlist { video, rung } => Body::text(self.playlist(video, rung).into_bytes()),
            Entry::Media { video, rung } => Body::Media(self.content(video, rung)),
        }
    }

    /// The set's description for a page, as JSON; `is_real`: whether players can show its videos.
    pub fn index(&self, is_real: bool) -> String {
        format!("{{\"videos\": {}, \"real\": {is_real}}}\n", self.videos())
    }
}

impl Entry {
    /// The type of its content, as HTTP names it. Source of that of playlists: RFC 8216 §4.
    pub fn content_type(self) -> &'static str {
        match self {
            Entry::Index => "application/json",
            Entry::Master { .. } | Entry::Playlist { .. } => "application/vnd.apple.mpegurl",
            Entry::Media { .. } => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        Catalog::new(&"10x1/8".parse().unwrap(), 1).unwrap()
    }

    #[test]
    fn every_file_is_found_by_its_path() {
        let catalog = catalog();
        let all = (0..10).flat_map(|video| catalog.entries(video)).chain([Entry::Index]);
        let mut paths = std::collections::HashSet::new();
        for entry in all {
            let path = catalog.entry_path(entry);
            assert_eq!(catalog.entry_at(&path), Some(entry), "{path}");
            assert!(paths.insert(path));
        }
        // 10 videos of 3 rungs and 2 of 4: a file and a playlist for each, and a master for each video.
        assert_eq!(paths.len(), 1 + 2 * 32 + 10);
    }

    #[test]
    fn other_paths_have_no_file() {
        let catalog = catalog();
        let without = (0..10).find(|video| !catalog.has(*video, 3)).unwrap();
        let absent = format!("/v{without:06}/720p.bin");
        for path in [
            "",
            "/",
            "/videos.json/",
            "/v000010/240p.bin",
            "/v00000/240p.bin",
            "/v0000000/240p.bin",
            "/v+00001/240p.bin",
            "/v000001",
            "/v000001/",
            "/v000001/240p",
            "/v000001/240p.mp4",
            "/v000001/241p.bin",
            "/v000001/../v000002/240p.bin",
            "/v000001//240p.bin",
            "v000001/240p.bin",
            &absent,
        ] {
            assert_eq!(catalog.entry_at(path), None, "{path}");
        }
    }

    #[test]
    fn bodies_are_as_long_as_what_they_hold() {
        let catalog = catalog();
        for entry in (0..10).flat_map(|video| catalog.entries(video)) {
            if let Entry::Media { video, rung } = entry {
                assert_eq!(catalog.body(entry).left(), catalog.size(video, rung));
            }
        }
    }
}
