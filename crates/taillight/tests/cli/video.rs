//! Video servers as the command line starts them: NGINX over a set, whose page plays in a browser, and the embedded one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use datasets::videos::Catalog;
use launch::find_program;
use serde_json::Value;
use tempfile::TempDir;

use crate::browser::Browser;
use crate::fileset::{fileset, says};
use crate::run::{Served, refuses, taillight};

/// A bound on waiting: a browser that plays nothing by then is stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// What `cargo xtask tools` installs.
const PLAYER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/player/node_modules");

/// The head and the body of the answer to a GET.
fn get(address: &str, path: &str, range: Option<(u64, u64)>) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let range = range.map_or(String::new(), |(first, last)| format!("Range: bytes={first}-{last}\r\n"));
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{range}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let body = answer.split_off(end);
    (String::from_utf8(answer).unwrap(), body)
}

/// That a server at `address` has the videos of a catalogue, by parts of some of them.
fn has(address: &str, catalog: &Catalog) {
    for video in [0, catalog.videos() / 2, catalog.videos() - 1] {
        for rung in 0..catalog.rungs(video) {
            let size = catalog.size(video, rung);
            let last = size.min(catalog.chunk_bytes(rung)) - 1;
            for (first, last) in [(0, last), (size - 1, size - 1)] {
                let (head, body) = get(address, &catalog.path(video, rung), Some((first, last)));
                assert!(head.starts_with("HTTP/1.1 206 "), "{head}");
                assert_eq!(body.len() as u64, last - first + 1);
                let mut content = catalog.content(video, rung).range(first..last + 1);
                assert!(content.matches(&body), "{video} {rung} {first}");
            }
            let (head, body) = get(
                address,
                &format!("{}/{}.m3u8", catalog.folder(video), datasets::videos::RUNGS[rung]),
                None,
            );
            assert!(head.contains("application/vnd.apple.mpegurl"), "{head}");
            assert_eq!(String::from_utf8(body).unwrap(), catalog.playlist(video, rung));
        }
    }
}

fn catalog(text: &str, seed: u64) -> Catalog {
    Catalog::new(&text.parse().unwrap(), seed).unwrap()
}

#[test]
fn the_embedded_server_and_nginx_serve_the_same_videos() {
    let words = ["serve", "video-server", "--videos", "6x1/256", "--videos-seed", "3", "--threads", "2"];
    let served = Served::start(&words, "video server ready on ");
    has(&served.address, &catalog("6x1/256", 3));
    let (head, page) = get(&served.address, "/", None);
    assert!(
        head.starts_with("HTTP/1.1 200 ") && String::from_utf8(page).unwrap().contains("6x1/256 of seed 3")
    );
    drop(served);
    if find_program("nginx").is_none() {
        println!("skipped: there is no nginx here");
        return;
    }
    // Made for the run, and gone with it.
    let words = ["serve", "video", "--videos", "6x1/256", "--files-seed", "3"];
    let served = Served::start(&words, "video ready on ");
    has(&served.address, &catalog("6x1/256", 3));
}

#[test]
fn the_embedded_server_plants_what_it_is_told_to() {
    let words = ["serve", "video-server", "--videos", "2x1/256", "--faults", "unavailable:2,gone:3"];
    let served = Served::start(&words, "video server ready on ");
    let status = || get(&served.address, "/v000000/240p.bin", Some((0, 9))).0[9..12].to_owned();
    let all: Vec<String> = (0..6).map(|_| status()).collect();
    assert_eq!(all, ["206", "503", "404", "503", "206", "503"]);
    let (_, counts) = get(&served.address, "/.status", None);
    let counts: Value = serde_json::from_slice(&counts).unwrap();
    assert_eq!((&counts["media"], &counts["faults"]), (&6.into(), &4.into()));
}

#[test]
fn what_the_embedded_server_cannot_be_told_is_said() {
    let check = |words: &[&str], code: i32, says: &[&str]| {
        refuses(taillight(&["serve", "video-server"]).args(words), code, says);
    };
    check(&["--listen", "0.0.0.0:0"], 1, &["0.0.0.0:0", "127.0.0.1:PORT"]);
    check(&["--videos", "0x1"], 2, &["0x1", "8000x1"]);
    check(&["--faults", "explode:3"], 2, &["no fault 'explode'"]);
    check(&["--stall", "1s:2s"], 2, &["never ends"]);
    refuses(&mut taillight(&["serve", "video", "--files", "10x1KiB"]), 1, &["--videos 1000x1/160"]);
    refuses(&mut taillight(&["serve", "nginx", "--videos", "10x1/8"]), 1, &["--files 100000x4KiB"]);
}

/// A browser that is killed with this.
struct Chromium(Child);

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The text of the page at `url` in a browser, until a line contains one of `ends`.
fn said(chromium: &Path, url: &str, ends: &[&str]) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    let browser = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"])
        .args(["--no-proxy-server", "--autoplay-policy=no-user-gesture-required", "--mute-audio"])
        .args(["--enable-logging=stderr", "--log-level=0", "--remote-debugging-port=0"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut browser = Chromium(browser.unwrap());
    let lines = BufReader::new(browser.0.stderr.take().unwrap()).lines();
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok).filter(|line| line.contains("videos: ")) {
            let _ = send.send(line);
        }
    });
    let mut all = Vec::new();
    while !all.last().is_some_and(|line: &String| ends.iter().any(|end| line.contains(end))) {
        match receive.recv_timeout(PATIENCE) {
            Ok(line) => all.push(line),
            Err(_) => panic!("{url}: none of {ends:?}: {all:?}"),
        }
    }
    all
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn the_page_plays_in_a_browser() {
    for program in ["nginx", "ffmpeg"] {
        if find_program(program).is_none() {
            println!("skipped: there is no {program} here (apt-get install {program})");
            return;
        }
    }
    let browser = match Browser::find() {
        Ok(browser) => browser,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    if !Path::new(PLAYER).join("hls.js/dist/hls.min.js").is_file() {
        println!("skipped: hls.js is not installed (cargo xtask tools)");
        return;
    }
    let outer = TempDir::new().unwrap();
    std::fs::set_permissions(outer.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let folder = outer.path().join("set");
    says(fileset("make", &folder).args(["--video", "1x1/4", "--real"]), &["made 1x1/4 real videos"]);
    let served =
        Served::start(&["serve", "video", "--file-set", folder.to_str().unwrap()], "video ready on ");
    let plays = |quality: &str, by: &str, height: Option<u64>| {
        let url = format!("http://{}/.page/player.html?video=0&quality={quality}", served.address);
        let seen = browser.scenario("video", &url, &["3"]);
        let (first, last) = (&seen["first"], &seen["last"]);
        let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
        // Its own clock goes on, and new pictures are decoded: 25 are in a second of the video.
        assert!(number(last, "at") >= number(first, "at") + 3.0, "{quality}: {seen}");
        assert!(number(last, "pictures") > number(first, "pictures"), "{quality}: {seen}");
        assert!(last["player"].as_str().unwrap().starts_with(by), "{quality}: {seen}");
        assert!(last["startup"].as_str().unwrap().ends_with(" ms"), "{quality}: {seen}");
        assert!((last["about"] == "1 videos") && last["failed"].is_null(), "{quality}: {seen}");
        assert!(height.is_none_or(|height| last["height"] == height), "{quality}: {seen}");
        let qualities = last["qualities"].as_array().unwrap();
        assert!(qualities.iter().any(|one| one == "480p as a file"), "{quality}: {seen}");
    };
    // A file by ranges needs no player but the browser's own.
    plays("360p%20as%20a%20file", "the browser's own, a file by ranges", Some(360));
    plays("auto", "hls.js 1.", None);
    plays("240p", "hls.js 1.", Some(240));
}

#[test]
fn the_page_says_what_is_missing() {
    for program in ["nginx", "chromium"] {
        if find_program(program).is_none() {
            println!("skipped: there is no {program} here (apt-get install {program})");
            return;
        }
    }
    let chromium = find_program("chromium").unwrap();
    let served = Served::start(&["serve", "video", "--videos", "2x1/1024"], "video ready on ");
    let url = format!("http://{}/.page/player.html", served.address);
    let all = said(&chromium, &url, &["videos: "]);
    assert!(all[0].contains("2 videos for load generators") && all[0].contains("--real"), "{all:?}");
}
