//! The video server of `apps/video`, if this machine has NGINX: ranges, playlists, the page, and rejected paths.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use app::{Error, Plan, Running};
use tempfile::TempDir;

/// A set of one video, readable by every account.
fn videos() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let video = folder.path().join("v000000");
    fs::create_dir(&video).unwrap();
    let bytes: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    fs::write(video.join("240p.bin"), bytes).unwrap();
    fs::write(video.join("240p.m3u8"), "#EXTM3U\n").unwrap();
    fs::write(folder.path().join("videos.json"), "{\"videos\": 1, \"real\": false}\n").unwrap();
    fs::write(folder.path().join(".taillight-fileset.json"), "{}").unwrap();
    folder
}

/// The application over `folder`; prints the reason and returns `None` if NGINX is unavailable.
fn started(folder: &Path, words: &[&str]) -> Option<Running> {
    let mut plan = Plan::new(Arc::new(app::of_name("video").unwrap()), Path::new("/no/such/taillight"));
    plan.files = Some(folder.into());
    plan.set(words).unwrap();
    match plan.start() {
        Ok(running) => Some(running),
        Err(Error::Launch(error @ launch::Error::NotFound { .. })) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The head and the body of an answer.
fn get(running: &Running, path: &str, fields: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(running.address(None)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{fields}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let body = answer.split_off(end);
    (String::from_utf8(answer).unwrap(), body)
}

/// Ranges are served as requested, for all settings.
fn serves_ranges(running: &Running) {
    let whole: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    for (first, last) in [(0, 0), (1_000, 50_999), (99_990, 99_999)] {
        let (head, body) = get(running, "/v000000/240p.bin", &format!("Range: bytes={first}-{last}\r\n"));
        assert!(head.starts_with("HTTP/1.1 206 "), "{head}");
        assert!(head.contains(&format!("Content-Range: bytes {first}-{last}/100000\r\n")), "{head}");
        assert!(body == whole[first..=last]);
    }
    let (head, _) = get(running, "/v000000/240p.bin", "Range: bytes=100000-\r\n");
    assert!(head.starts_with("HTTP/1.1 416 "), "{head}");
}

#[test]
fn videos_their_playlists_and_the_page_are_served_and_nothing_else() {
    let folder = videos();
    let Some(mut running) = started(folder.path(), &[]) else { return };
    serves_ranges(&running);
    let check = |path: &str, status: u16, kind: &str| {
        let (head, body) = get(&running, path, "");
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        assert!(head.to_ascii_lowercase().contains(&format!("content-type: {kind}")), "{path}: {head}");
        String::from_utf8_lossy(&body).into_owned()
    };
    assert_eq!(check("/v000000/240p.m3u8", 200, "application/vnd.apple.mpegurl"), "#EXTM3U\n");
    check("/videos.json", 200, "application/json");
    let page = check("/.page/player.html", 200, "text/html");
    assert!(
        page.contains("<video") && page.contains("`${ahead.toFixed(1)} s`"),
        "templates leave the page alone"
    );
    assert!(!page.contains("http://") && !page.contains("https://"), "nothing comes from elsewhere");
    assert!(get(&running, "/", "").0.contains("Location: "), "the page is found");
    for path in
        ["/.taillight-fileset.json", "/.page/../nginx.conf", "/.page/", "/v000001/240p.bin", "/v000000/"]
    {
        let (head, _) = get(&running, path, "");
        assert!(!head.starts_with("HTTP/1.1 2"), "{path}: {head}");
    }
    let counters = running.counters("nginx").unwrap().unwrap();
    assert!(counters["requests"] > 8.0, "{counters:?}");
    running.stop();
}

#[test]
fn every_setting_serves_the_same_bytes() {
    let folder = videos();
    let all: [&[&str]; 6] = [
        &["sendfile=off"],
        &["sendfile=off", "output_buffers=4", "output_buffer_size=8KiB"],
        &["aio=threads", "aio_threads=4"],
        &["sendfile_max_chunk=16KiB", "open_file_cache=off", "keepalive=5"],
        &["directio=64KiB", "read_ahead=1MiB"],
        &["sendfile_max_chunk=0", "reuseport=on", "access_log=on", "open_file_cache=10"],
    ];
    for words in all {
        let Some(mut running) = started(folder.path(), words) else { return };
        serves_ranges(&running);
        running.stop();
    }
}
