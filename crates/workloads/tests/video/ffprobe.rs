//! Playlists as FFmpeg plays them: it requests the same objects.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use launch::find_program;
use workloads::video::playlist::{Listing, Loader};

/// A target without percent-encoding, and the requested part.
type Requested = (String, Option<(u64, u64)>);

/// Files on a server of this process, which notes the requests.
struct Site {
    files: HashMap<String, Vec<u8>>,
    requested: Mutex<Vec<Requested>>,
}

impl Site {
    /// Serves them for as long as the process lasts; returns the URL.
    fn serve(self: &Arc<Site>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let site = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let site = Arc::clone(&site);
                thread::spawn(move || site.answer(&stream));
            }
        });
        url
    }

    fn answer(&self, mut stream: &TcpStream) -> Option<()> {
        stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        // FFmpeg leaves blanks in it as they are.
        let line = lines.next()?;
        let target = decoded(line.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?);
        let mut range = None;
        for field in lines.take_while(|field| !field.is_empty()) {
            let ends = field.strip_prefix("Range: bytes=").and_then(|ends| ends.split_once('-'));
            range = ends.map(|(first, last)| (first.parse().unwrap(), last.parse().ok())).or(range);
        }
        let Some(body) = self.files.get(&target) else {
            return write!(
                stream,
                "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            .ok();
        };
        let end = body.len() as u64 - 1;
        let (first, last) =
            range.map_or((0, end), |(first, last): (u64, Option<u64>)| (first, last.unwrap_or(end)));
        // `bytes=0-` is FFmpeg's request for the whole.
        let part = (first, last) != (0, end);
        let mut requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        requested.push((target, part.then_some((first, last))));
        drop(requested);
        let slice = &body[first as usize..=last.min(end) as usize];
        let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
        let length = slice.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Range: bytes {first}-{last}/{}\r\nContent-Length: {length}",
            body.len()
        );
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).ok()?;
        stream.write_all(slice).ok()
    }

    /// The requests since the last call, each once, sorted, without playlists.
    fn taken(&self) -> Vec<Requested> {
        let mut requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen: Vec<Requested> =
            requested.drain(..).filter(|(target, _)| !target.ends_with(".m3u8")).collect();
        seen.sort();
        seen.dedup();
        seen
    }
}

fn decoded(target: &str) -> String {
    let bytes = target.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let code =
            (bytes[at] == b'%').then(|| u8::from_str_radix(target.get(at + 1..at + 3)?, 16).ok()).flatten();
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap()
}

/// Runs a program to its end; returns whether it succeeded, and its errors.
fn run(program: &Path, words: &[&str]) -> (bool, String) {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The requests of a viewer of the only quality, each once, sorted, without playlists.
fn of_listing(listing: &Listing) -> Vec<Requested> {
    let rung = &listing.rungs[0];
    let mut all = Vec::new();
    for (chunk, segment) in (0..).zip(&rung.segments) {
        let needed = rung.indexes[1..].iter().filter(|index| index.before == chunk);
        all.extend(needed.map(|index| (decoded(&index.target), index.range.map(|r| (r.first, r.last)))));
        all.push((decoded(&segment.target), segment.range.map(|r| (r.first, r.last))));
    }
    all.sort();
    all.dedup();
    all
}

#[test]
fn ffprobe_requests_what_a_viewer_does() {
    let (Some(ffmpeg), Some(ffprobe)) = (find_program("ffmpeg"), find_program("ffprobe")) else {
        return println!("skipped: there is no ffmpeg here (apt-get install ffmpeg)");
    };
    let folder = tempfile::tempdir().unwrap();
    let video = ["-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=10", "-t", "2", "-g", "10"];
    let make = |rest: &[&str]| {
        let (made, errors) = run(&ffmpeg, &[&video[..], rest].concat());
        assert!(made, "{errors}");
    };
    let at = |name: &str| folder.path().join(name).display().to_string();
    make(&["-c:v", "mpeg2video", "-f", "mpegts", &at("s.ts")]);
    let hls = [
        "-c:v",
        "mpeg4",
        "-f",
        "hls",
        "-hls_time",
        "1",
        "-hls_segment_type",
        "fmp4",
        "-hls_playlist_type",
        "vod",
    ];
    make(&[&hls[..], &["-hls_segment_filename", &at("f%d.m4s"), &at("f.m3u8")]].concat());
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let (ts, init) = (read("s.ts"), read("init.mp4"));
    let length = ts.len();

    let segment = |name: &str| format!("#EXTINF:2,\n{name}\n");
    let map = |name: &str| format!("#EXT-X-MAP:URI=\"{name}\"\n");
    let (two, fragments) = (segment("a.ts") + &segment("b.ts"), [segment("f0.m4s"), segment("f1.m4s")]);
    let lists: Vec<(&str, String)> = vec![
        ("plain", two.clone()),
        ("durations of 0", two.replace("#EXTINF:2,", "#EXTINF:0.000000,")),
        ("no comma", two.replace("#EXTINF:2,", "#EXTINF:2")),
        ("a title", two.replace("#EXTINF:2,", "#EXTINF:2.000,a, b")),
        ("lines of blanks", two.replace('\n', "\n \n\n")),
        ("Windows", two.replace('\n', "\r\n")),
        ("unknown tags", format!("#EXT-X-FOO:a=b\n# x\n{two}")),
        ("a discontinuity", two.replace("b.ts", "#EXT-X-DISCONTINUITY\nb.ts")),
        ("no encryption", format!("#EXT-X-KEY:METHOD=NONE\n{two}")),
        ("blanks in names", segment("a b.ts") + &segment("sub/../c d.ts")),
        ("names in UTF-8", segment("caf\u{e9}.ts")),
        ("queries", segment("a.ts?x=1&y=2") + &segment("a.ts?x=2")),
        ("from the root", segment("/v/a.ts") + &segment("./../v/b.ts")),
        (
            "ranges without an offset",
            format!(
                "#EXTINF:2,\n#EXT-X-BYTERANGE:{length}\nall.ts\n#EXTINF:2,\n#EXT-X-BYTERANGE:{length}\nall.ts\n"
            ),
        ),
        ("a header", map("i0.mp4") + &fragments.concat()),
        (
            "a second header",
            map("i0.mp4") + &fragments[0] + "#EXT-X-DISCONTINUITY\n" + &map("i1.mp4") + &fragments[1],
        ),
    ];
    let mut files = HashMap::new();
    for name in ["a.ts", "b.ts", "a b.ts", "c d.ts", "caf\u{e9}.ts", "a.ts?x=1&y=2", "a.ts?x=2"] {
        files.insert(format!("/v/{name}"), ts.clone());
    }
    files.insert("/v/all.ts".into(), ts.repeat(2));
    files.extend(["i0.mp4", "i1.mp4"].map(|name| (format!("/v/{name}"), init.clone())));
    files.extend(["f0.m4s", "f1.m4s"].map(|name| (format!("/v/{name}"), read(name))));
    let head = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n";
    let text = |lines: &str| format!("{head}{lines}#EXT-X-ENDLIST\n").into_bytes();
    files.extend(lines_of(&lists).map(|(i, lines)| (format!("/v/{i}.m3u8"), text(lines))));
    let site = Arc::new(Site { files, requested: Mutex::default() });
    let address = site.serve();

    for (i, (name, _)) in lists.iter().enumerate() {
        let target = format!("/v/{i}.m3u8");
        let url = format!("{address}{target}");
        let mut loader = Loader::new(&url.parse().unwrap());
        loader.take(&site.files[&target]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let listing = loader.listing().unwrap_or_else(|error| panic!("{name}: {error}"));
        let words = ["-v", "error", "-rw_timeout", "20000000", "-count_packets", "-show_streams", &url];
        let (read, errors) = run(&ffprobe, &words);
        assert!(read, "{name}: {errors}");
        assert_eq!(of_listing(&listing), site.taken(), "{name}: {errors}");
    }
}

fn lines_of<'a>(lists: &'a [(&str, String)]) -> impl Iterator<Item = (usize, &'a str)> {
    lists.iter().enumerate().map(|(i, (_, lines))| (i, lines.as_str()))
}
