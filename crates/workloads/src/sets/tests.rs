use std::collections::HashSet;

use super::*;

fn files(text: &str) -> Set {
    Set::Files(FileSet::read(text, 7).unwrap())
}

fn videos(text: &str, is_real: bool) -> Set {
    Set::Videos(Videos { catalog: Catalog::new(&text.parse().unwrap(), 7).unwrap(), is_real })
}

/// The content of a file from an offset on.
fn rest(set: &Set, file: &SetFile, from: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    set.content(file, from)?.read_to_end(&mut out).unwrap();
    Some(out)
}

#[test]
fn what_follows_an_offset_is_the_end_of_the_whole() {
    let (text, video) = (files("3x1000"), videos("1x1/4096", false));
    let of_text = text.files_of(0);
    let of_video = [video.files_of(0), video.files_beside()].concat();
    let all = of_text.iter().map(|file| (&text, file)).chain(of_video.iter().map(|file| (&video, file)));
    for (set, file) in all {
        let whole = rest(set, file, 0).unwrap();
        for offset in [0, 1, 7, 63, 64, 100, whole.len(), whole.len() + 5] {
            let end = &whole[offset.min(whole.len())..];
            assert_eq!(rest(set, file, offset as u64).unwrap(), end, "{offset}");
        }
    }
}

#[test]
fn a_folder_tells_its_set() {
    let folder = tempfile::tempdir().unwrap();
    let check = |set: &Set| {
        std::fs::write(folder.path().join(MARKER), Marker::of(set).text()).unwrap();
        assert_eq!(Set::in_folder(folder.path()).unwrap(), *set);
    };
    check(&files("100x4KiB"));
    check(&files("100xweb"));
    check(&files("100xuniform:1..1024[5..70]"));
    check(&videos("100x1", false));
    check(&videos("20x3/7", true));
}

#[test]
fn the_marker_of_a_web_servers_files_stays_as_it_was() {
    let marker = Marker::of(&files("10x4KiB")).text();
    let words: String = marker.split_whitespace().collect();
    assert_eq!(words, r#"{"schema":1,"files":10,"sizes":"fixed:4096","seed":7,"bytes":40960}"#);
}

#[test]
fn other_folders_are_refused_with_a_reason() {
    let check = |name: &str, text: &str, expect: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        let error = Set::in_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains(expect), "{text}: {error}");
    };
    let good = r#"{"schema": 1, "files": 10, "sizes": "fixed:4096", "seed": 1, "bytes": 40960}"#;
    check("other", good, "holds no file set");
    check(PARTIAL, good, "is not whole");
    check(MARKER, &good.replace("\"schema\": 1", "\"schema\": 2"), "schema is 2 and not 1");
    check(MARKER, &good.replace("40960", "40961"), "has 40960 B, and it says 40961");
    check(MARKER, &good.replace("fixed:4096", "large"), "'large' is not a distribution");
    check(MARKER, &good.replace("10,", "0,"), "it has 0 files");
    check(MARKER, "{}", "missing field");
    check(MARKER, "", "EOF");
    let video = Marker::of(&videos("10x1/8", false)).text();
    check(MARKER, &video.replace("10x1/8", "10x1/7"), "and it says");
    check(MARKER, &video.replace("10x1/8", "ten"), "describes no file set");
    check(MARKER, &video.replace("\"real\"", "\"reel\""), "describes no file set");
}

#[test]
fn a_set_of_another_kind_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |set: &Set| std::fs::write(folder.path().join(MARKER), Marker::of(set).text()).unwrap();
    write(&videos("10x1/8", false));
    let error = FileSet::in_folder(folder.path()).unwrap_err().to_string();
    assert!(error.contains("holds 10x1/8 videos and not files of a web server"), "{error}");
    assert!(Videos::in_folder(folder.path()).is_ok());
    write(&files("10x4KiB"));
    let error = Videos::in_folder(folder.path()).unwrap_err().to_string();
    assert!(error.contains("holds 10x4KiB and not videos") && error.contains("--video"), "{error}");
    assert!(FileSet::in_folder(folder.path()).is_ok());
}

#[test]
fn every_file_lies_in_the_folder_that_lists_it() {
    for set in [files("2500x10"), videos("12x1/4096", false), videos("12x1/8", true)] {
        let mut paths = HashSet::new();
        for folder in 0..set.folders() {
            for file in set.files_of(folder) {
                assert_eq!(file.path.rsplit_once('/').unwrap().0, set.folder(folder));
                assert_eq!(rest(&set, &file, 0).map(|all| all.len() as u64), file.size, "{}", file.path);
                assert!(paths.insert(file.path));
            }
        }
        for file in set.files_beside() {
            assert_eq!(file.path.matches('/').count(), 1);
            assert_eq!(rest(&set, &file, 0).map(|all| all.len() as u64), file.size);
            assert!(paths.insert(file.path));
        }
        let Set::Videos(of) = &set else {
            assert_eq!(paths.len(), 2500);
            continue;
        };
        // Of 12 videos 3 have 4 rungs; in addition to the rungs' files a master each, and one index.
        let each = if of.is_real { 3 } else { 2 };
        assert_eq!(paths.len(), each * (12 * 3 + 3) + 12 + 1);
    }
}

#[test]
fn the_bytes_of_a_set_are_those_of_its_files() {
    let set = videos("9x1/64", false);
    let all = (0..9).flat_map(|video| set.files_of(video));
    let media: u64 = all.filter(|file| file.path.ends_with(".bin")).filter_map(|file| file.size).sum();
    assert_eq!(media, set.bytes());
}
