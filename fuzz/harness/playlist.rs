//! Fuzzing harness: parses arbitrary playlists and follows them.
//!
//! Try it: `cargo test -p workloads --test it corpus`.

use workloads::video::playlist::{Loader, Playlist, Variant, parse, resolve};

/// The longest input that is tried. Units: bytes.
const LENGTH_MAX: usize = 16 * 1024;

/// Parses a playlist, and follows it on a server that answers every request with that playlist.
///
/// Panics if the result exceeds the documented bounds, or if following does not end.
pub(crate) fn playlists(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let found = parse(bytes);
    match &found {
        Ok(Playlist::Master(master)) => {
            assert!(!master.variants.is_empty());
            let known = |variant: &Variant| variant.bandwidth.is_some_and(|bits| bits > 0);
            assert!(master.variants.len() == 1 || master.variants.iter().all(known));
        }
        Ok(Playlist::Media(media)) => {
            assert!(!media.segments.is_empty());
            for segment in &media.segments {
                assert!(segment.duration.0 > 0);
                assert!(segment.range.is_none_or(|range| range.first <= range.last && range.last < u64::MAX));
            }
            assert!(media.needs.is_sorted_by_key(|need| need.before));
            assert!(media.needs.iter().all(|need| (need.before as usize) < media.segments.len()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    // The ends of its lines do not matter.
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains('\r')
    {
        assert_eq!(parse(text.replace('\n', "\r\n").as_bytes()), found);
    }
    let base = "http://h:8080/a/b/c.m3u8?d".parse().expect("it is an address");
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(url) = resolve(&base, &String::from_utf8_lossy(line)) {
            assert_eq!((url.host.as_str(), url.port), ("h", 8080), "{url}");
            assert!(url.path.bytes().all(|byte| byte.is_ascii_graphic()), "{url}");
            let path = url.path.split('?').next().unwrap_or_default();
            assert!(path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{url}");
        }
    }
    let mut loader = Loader::new(&base);
    let mut asked = 0;
    while loader.wants().is_some() {
        asked += 1;
        assert!(asked <= 65, "it goes round in a loop");
        if loader.take(bytes).is_err() {
            return;
        }
    }
    if let Ok(listing) = loader.listing() {
        assert!(listing.rungs.iter().all(|rung| !rung.segments.is_empty() && !rung.indexes.is_empty()));
    }
}
