//! Sets of videos through the command line: made, resumed, checked by range, evicted, removed, and made real by ffmpeg.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use datasets::videos::Catalog;
use tempfile::TempDir;
use workloads::sets::{MARKER, PARTIAL, Set, Videos};

use crate::fileset::{Mounted, fileset, says};
use crate::run::{finish, refuses, text};

/// A folder of a test, and videos made in it.
fn made(videos: &str) -> (TempDir, PathBuf) {
    let outer = TempDir::new().unwrap();
    let folder = outer.path().join("set");
    says(fileset("make", &folder).args(["--video", videos]), &["made", videos, "videos of seed 1"]);
    (outer, folder)
}

fn catalog(folder: &Path) -> Catalog {
    Videos::in_folder(folder).unwrap().catalog
}

#[test]
fn videos_are_made_checked_and_removed() {
    let (outer, folder) = made("5x1/1024");
    let catalog = catalog(&folder);
    let mut content = Vec::new();
    for video in 0..5 {
        for rung in 0..catalog.rungs(video) {
            let bytes = fs::read(folder.join(&catalog.path(video, rung)[1..])).unwrap();
            assert_eq!(bytes.len() as u64, catalog.size(video, rung));
            assert!(catalog.content(video, rung).matches(&bytes), "{video} {rung}");
            content.push(bytes);
        }
        let read = |name: &str| fs::read_to_string(folder.join(format!("v{video:06}/{name}"))).unwrap();
        assert_eq!(read("master.m3u8"), catalog.master(video));
        assert_eq!(read("360p.m3u8"), catalog.playlist(video, 1));
    }
    assert_eq!(content.len(), 16);
    let index: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("videos.json")).unwrap()).unwrap();
    assert_eq!(index, serde_json::json!({ "videos": 5, "real": false }));
    says(&mut fileset("check", &folder), &["5x1/1024 videos of seed 1", "whole and as it was made"]);
    says(fileset("check", &folder).args(["--sample", "10"]), &["where it was read: about 10 %"]);
    says(&mut fileset("evict", &folder), &["5x1/1024 videos", "asked the kernel to drop"]);
    says(fileset("make", &folder).args(["--video", "5x1/1024"]), &["holds 5x1/1024 videos", "already"]);
    says(&mut fileset("check", &folder), &["whole"]);
    says(&mut fileset("remove", &folder), &["removed 5x1/1024 videos"]);
    assert!(!folder.exists() && outer.path().exists());
}

#[test]
fn what_does_not_go_together_is_refused() {
    let outer = TempDir::new().unwrap();
    let folder = outer.path().join("set");
    let make = || fileset("make", &folder);
    refuses(make().args(["--video", "many"]), 2, &["'many'", "8000x1"]);
    refuses(make().args(["--video", "5x1", "--files", "10x1"]), 2, &["--video", "--files"]);
    refuses(make().arg("--real"), 2, &["--video"]);
    refuses(make().args(["--video", "5x1/100", "--real"]), 1, &["bits per second", "--video 5x1/8"]);
    refuses(make().args(["--video", "1000000x1"]), 1, &["no room for 1000000x1 videos", "are free"]);
    assert!(!folder.exists() || fs::read_dir(&folder).unwrap().next().is_none());
    let (_other, videos) = made("1x1/4096");
    refuses(fileset("make", &videos).args(["--files", "10x1"]), 1, &["holds another set, 1x1/4096 videos"]);
    refuses(fileset("make", &videos).args(["--video", "2x1/4096"]), 1, &["holds another set"]);
}

#[test]
fn links_in_a_set_are_not_followed() {
    let (outer, folder) = made("2x1/1024");
    let file = |name: &str| folder.join(name);
    let precious = outer.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    fs::rename(file(MARKER), file(PARTIAL)).unwrap();
    fs::remove_file(file("v000001/360p.bin")).unwrap();
    std::os::unix::fs::symlink(&precious, file("v000001/360p.bin.part")).unwrap();
    let mut make = fileset("make", &folder);
    refuses(
        make.args(["--video", "2x1/1024"]),
        1,
        &["360p.bin.part", "it is a symbolic link", "move it away"],
    );
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    fs::remove_file(file("v000001/360p.bin.part")).unwrap();
    says(fileset("make", &folder).args(["--video", "2x1/1024"]), &["made"]);
}

#[test]
fn a_disk_that_fills_up_meanwhile_ends_it_with_what_to_do() {
    if !launch::User::is_root() {
        println!("skipped: needs root");
        return;
    }
    let mounted = Mounted::new("size=3m");
    let folder = mounted.0.path().join("set");
    // 1/512 of 20 videos: 5 MB. A resumed set is measured by the lengths of its files. The file here is sparse and takes no disk space,
    // as if another program had used up the space.
    let videos = ["--video", "20x1/512"];
    let (_outer, whole) = made(videos[1]);
    fs::create_dir_all(folder.join("v000000")).unwrap();
    fs::copy(whole.join(MARKER), folder.join(PARTIAL)).unwrap();
    File::create(folder.join("v000000/240p.bin")).unwrap().set_len(1 << 30).unwrap();
    let words = ["there is no room left below", "make room and repeat", "taillight fileset remove"];
    refuses(fileset("make", &folder).args(videos), 1, &words);
    let remount = ["-o", "remount,size=64m"];
    assert!(Command::new("mount").args(remount).arg(mounted.0.path()).status().unwrap().success());
    says(fileset("make", &folder).args(videos), &["made 20x1/512 videos"]);
    says(&mut fileset("check", &folder), &["whole and as it was made"]);
}

/// When a file was last written.
fn written(path: &Path) -> std::time::SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn an_interrupted_set_goes_on_where_it_was() {
    let (_outer, folder) = made("4x1/1024");
    let file = |name: &str| folder.join(name);
    fs::rename(file(MARKER), file(PARTIAL)).unwrap();
    // A missing file; a truncated file; a file truncated before its rename; and a video without any file.
    fs::remove_file(file("v000001/240p.bin")).unwrap();
    OpenOptions::new().write(true).open(file("v000001/360p.bin")).unwrap().set_len(100).unwrap();
    fs::rename(file("v000002/480p.bin"), file("v000002/480p.bin.part")).unwrap();
    OpenOptions::new().write(true).open(file("v000002/480p.bin.part")).unwrap().set_len(10).unwrap();
    fs::remove_dir_all(file("v000003")).unwrap();
    let whole = file("v000000/480p.bin");
    let before = written(&whole);
    refuses(&mut fileset("check", &folder), 1, &["is not whole"]);
    says(fileset("make", &folder).args(["--video", "4x1/1024"]), &["made 4x1/1024 videos"]);
    says(&mut fileset("check", &folder), &["whole and as it was made"]);
    assert_eq!(written(&whole), before, "what was whole is not written again");
    // An unfinished set is removed as a whole.
    fs::rename(file(MARKER), file(PARTIAL)).unwrap();
    fs::rename(file("v000002/480p.bin"), file("v000002/480p.bin.part")).unwrap();
    says(&mut fileset("remove", &folder), &["removed 4x1/1024 videos"]);
    assert!(!folder.exists());
}

#[test]
fn a_killed_make_leaves_no_half_file_that_looks_whole() {
    let outer = TempDir::new().unwrap();
    let folder = outer.path().join("set");
    // 630 MB: it takes some tenths of a second at least.
    let videos = ["--video", "40x1/10"];
    let catalog = Catalog::new(&videos[1].parse().unwrap(), 1).unwrap();
    let mut cut = false;
    for _ in 0..10 {
        let mut child = fileset("make", &folder)
            .args(videos)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        for _ in 0..60_000 {
            if folder.join("v000001/240p.bin").exists() || child.try_wait().unwrap().is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if folder.join(MARKER).exists() {
            says(&mut fileset("remove", &folder), &["removed"]);
            continue;
        }
        assert!(folder.join(PARTIAL).exists(), "{}", text(&output));
        for (video, rung) in (0..40).flat_map(|video| (0..4).map(move |rung| (video, rung))) {
            if let Ok(meta) = fs::metadata(folder.join(&catalog.path(video, rung)[1..])) {
                assert_eq!(meta.len(), catalog.size(video, rung), "video {video}, rung {rung}");
            }
        }
        cut = true;
        break;
    }
    assert!(cut, "it was always whole before it was killed");
    let first = folder.join("v000001/240p.bin");
    let before = written(&first);
    says(fileset("make", &folder).args(videos), &["made"]);
    assert_eq!(written(&first), before);
    says(fileset("check", &folder).args(["--sample", "5"]), &["whole"]);
    says(&mut fileset("remove", &folder), &["removed"]);
}

#[test]
fn a_check_sees_every_kind_of_damage_and_where_it_is() {
    let check = |damage: fn(&Path), words: &[&str]| {
        let (_outer, folder) = made("2x1/64");
        damage(&folder);
        refuses(&mut fileset("check", &folder), 1, words);
    };
    /// Changes the byte at `at`.
    fn change(path: PathBuf, at: u64) {
        let open = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut byte = [0];
        open.read_exact_at(&mut byte, at).unwrap();
        open.write_all_at(&[byte[0] ^ 1], at).unwrap();
    }
    check(|folder| fs::remove_file(folder.join("v000001/240p.bin")).unwrap(), &["240p.bin", "No such file"]);
    check(
        |folder| change(folder.join("v000000/480p.bin"), 300_000),
        &["480p.bin holds something else between bytes 262144 and 524288"],
    );
    check(|folder| change(folder.join("v000000/360p.m3u8"), 3), &["360p.m3u8 holds something else"]);
    check(|folder| fs::write(folder.join("videos.json"), "{}").unwrap(), &["videos.json has 2 B"]);
    check(
        |folder| fs::write(folder.join("v000001/240p.bin.part"), "").unwrap(),
        &["240p.bin.part is not of the set"],
    );
    check(
        |folder| {
            let file = File::create(folder.join("v000001/480p.bin")).unwrap();
            file.set_len(catalog(folder).size(1, 2)).unwrap();
        },
        &["480p.bin was not written from byte 0 on: it has a hole there"],
    );
}

#[test]
fn a_sample_sees_the_first_range_of_each_file() {
    let (_outer, folder) = made("2x1/64");
    let open = OpenOptions::new().write(true).open(folder.join("v000001/480p.bin")).unwrap();
    open.write_all_at(b"something else", 1000).unwrap();
    refuses(fileset("check", &folder).args(["--sample", "0.001"]), 1, &["480p.bin holds something else"]);
    for wrong in ["0", "-1", "much"] {
        refuses(fileset("check", &folder).args([&format!("--sample={wrong}")]), 2, &["--sample"]);
    }
}

/// The output of a program; `None` if it is not installed.
fn printed(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    assert!(output.status.success(), "{program} {words:?}: {}", text(&output));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn real_videos_are_as_long_as_their_catalogue_says_and_play() {
    let outer = TempDir::new().unwrap();
    let folder = outer.path().join("set");
    if printed("ffprobe", &["-version"]).is_none() {
        println!("skipped: needs ffmpeg (apt-get install ffmpeg)");
        return;
    }
    // A path relative to the current folder: ffmpeg runs in another one.
    let mut make = fileset("make", Path::new("set"));
    let make = make.args(["--video", "2x1/8", "--real"]).current_dir(outer.path());
    says(make, &["made 2x1/8 real videos"]);
    let Set::Videos(Videos { catalog, is_real: true }) = Set::in_folder(&folder).unwrap() else {
        panic!("it holds something else");
    };
    for (video, rung) in (0..2).flat_map(|video| (0..4).map(move |rung| (video, rung))) {
        let lines = datasets::videos::RUNGS[rung];
        let file = |end: &str| folder.join(format!("v{video:06}/{lines}.{end}"));
        if !catalog.has(video, rung) {
            assert!(!file("mp4").exists());
            continue;
        }
        let wanted = catalog.duration(video).as_secs_f64();
        for end in ["mp4", "m3u8"] {
            let path = file(end).display().to_string();
            let of = "stream=height,codec_name:format=duration";
            let said =
                printed("ffprobe", &["-v", "error", "-show_entries", of, "-of", "json", &path]).unwrap();
            let said: serde_json::Value = serde_json::from_str(&said).unwrap();
            let seconds: f64 = said["format"]["duration"].as_str().unwrap().parse().unwrap();
            assert!((seconds - wanted).abs() < 1.0, "{path}: {seconds} s and not {wanted}");
            let streams = said["streams"].as_array().unwrap();
            let height = streams.iter().find_map(|stream| stream["height"].as_u64()).unwrap();
            assert_eq!(format!("{height}p"), lines);
            assert!(streams.iter().any(|stream| stream["codec_name"] == "aac"), "{said}");
        }
        // The index comes before the pictures, so that a browser begins to play at once.
        let begins = fs::read(file("mp4")).unwrap();
        let at = |name: &[u8]| begins.windows(4).position(|four| four == name).unwrap();
        assert!(at(b"moov") < at(b"mdat"));
        let playlist = fs::read_to_string(file("m3u8")).unwrap();
        let chunks = playlist.matches("#EXT-X-BYTERANGE:").count() as u64;
        assert!(chunks.abs_diff(catalog.chunks(video)) <= 1, "{chunks}: {playlist}");
        assert!(playlist.contains(&format!("{lines}.m4s")) && playlist.contains("#EXT-X-ENDLIST"));
    }
    says(&mut fileset("check", &folder), &["2x1/8 real videos", "whole"]);
    // The sample selects files: with a tiny share, all sizes are checked and no content is read.
    let sample = ["--sample", "0.0000001"];
    let large = folder.join("v000001/480p.mp4");
    let open = OpenOptions::new().read(true).write(true).open(&large).unwrap();
    let mut byte = [0];
    open.read_exact_at(&mut byte, 9_000).unwrap();
    open.write_all_at(&[byte[0] ^ 1], 9_000).unwrap();
    says(fileset("check", &folder).args(sample), &["whole, and as it was made where it was read"]);
    refuses(fileset("check", &folder).args(["--sample", "100"]), 1, &["480p.mp4 holds something else"]);
    open.write_all_at(&byte, 9_000).unwrap();
    let damaged = folder.join("v000000/240p.mp4");
    let open = OpenOptions::new().write(true).open(&damaged).unwrap();
    open.write_all_at(b"something else", 5_000).unwrap();
    refuses(&mut fileset("check", &folder), 1, &["240p.mp4 holds something else"]);
    says(&mut fileset("remove", &folder), &["removed"]);
    assert!(!folder.exists());
}

#[test]
fn what_real_videos_take_is_said_where_it_is_not_there() {
    if finish(Command::new("sh").args(["-c", "ls /usr/bin/ffmpeg /usr/local/bin/ffmpeg"])).stdout.is_empty() {
        let outer = TempDir::new().unwrap();
        let folder = outer.path().join("set");
        let words = ["--video", "2x1/8", "--real"];
        refuses(fileset("make", &folder).args(words), 1, &["apt-get install ffmpeg", "leave out --real"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    } else {
        println!("skipped: ffmpeg is installed");
    }
}
