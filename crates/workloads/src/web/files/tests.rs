use std::collections::HashSet;
use std::io::Read;

use super::*;
use proptest::prelude::*;

fn set(text: &str) -> FileSet {
    FileSet::read(text, 42).unwrap()
}

#[test]
fn reads_and_prints() {
    let check = |text: &str, shown: &str, bytes: u64| {
        let set = set(text);
        assert_eq!((set.to_string().as_str(), set.total_bytes()), (shown, bytes), "{text}");
        assert_eq!(FileSet::read(shown, 42).unwrap(), set);
    };
    check("100000x4KiB", "100000x4KiB", 409_600_000);
    check("1000x4096", "1000x4KiB", 4_096_000);
    check(" 3 x 5 ", "3x5", 15);
    check("2xfixed:3MiB", "2x3MiB", 6 << 20);
    check("7x0", "7x0", 0);
    assert_eq!(set("20000xweb").to_string(), "20000xweb");
    assert_eq!(set("20xuniform:1KiB..64KiB").to_string(), "20xuniform:1024..65536");
    assert_eq!(set("20xexponential:500").to_string(), "20xexponential:500");
}

#[test]
fn refuses_with_a_reason() {
    let check = |text: &str, expect: &str| {
        let error = FileSet::read(text, 0).unwrap_err().to_string();
        assert!(error.contains(expect) && error.contains("100000x4KiB"), "{text}: {error}");
    };
    check("", "it has no x");
    check("100000", "it has no x");
    check("x4KiB", "'' before the x");
    check("-1x4KiB", "'-1' before the x");
    check("1.5x4KiB", "'1.5' before the x");
    check("0x4KiB", "it has 0 files");
    check("4194305x1", "a set has 1 to 4194304");
    check("10x", "not a size of files");
    check("10xlarge", "'large' is not a distribution");
    check("10x2GiB", "over the limit");
}

#[test]
fn a_set_never_changes() {
    // One release makes the files and another asks for them; a result says a seed and means these bytes.
    let set = set("4194304xweb");
    assert_eq!(set.path(0), "/000/000000.txt");
    assert_eq!(set.path(42), "/000/00002a.txt");
    assert_eq!(set.path(1024), "/001/000400.txt");
    assert_eq!(set.path(4_194_303), "/fff/3fffff.txt");
    let sizes: Vec<u64> = (0..4).map(|file| set.size(file)).collect();
    let mut text = String::new();
    set.content(0).take(40).read_to_string(&mut text).unwrap();
    let golden = "franbar doloros moralan incairo moranor ";
    assert_eq!(
        (sizes, text.as_str(), set.checksum(1)),
        (vec![53, 238, 133, 64], golden, 13_897_577_417_769_087_514)
    );
}

#[test]
fn half_of_a_web_sites_files_are_under_1_kib() {
    let set = set("20000xweb");
    let under = |bytes: u64| (0..20_000).filter(|file| set.size(*file) < bytes).count();
    // 20 000 draws have a standard deviation of 71 at a share of 50 %, and of 31 at 95 %; five of them.
    assert!(under(1 << 10).abs_diff(10_000) < 355, "{}", under(1 << 10));
    assert!(under(64 << 10).abs_diff(19_000) < 155, "{}", under(64 << 10));
}

#[test]
fn the_checksum_is_that_of_the_content() {
    let set = set("50xweb");
    for file in 0..50 {
        let mut bytes = Vec::new();
        set.content(file).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, set.size(file));
        assert_eq!(set.checksum(file), xxhash_rust::xxh3::xxh3_64(&bytes), "{file}");
    }
}

#[test]
fn another_seed_is_another_set() {
    let sizes = |seed| {
        let set = FileSet::read("100xweb", seed).unwrap();
        (0..100).map(|file| set.size(file)).collect::<Vec<_>>()
    };
    assert_eq!(sizes(1), sizes(1));
    assert_ne!(sizes(1), sizes(2));
    let check = |seed| FileSet::read("100x4KiB", seed).unwrap().checksum(5);
    assert_ne!(check(1), check(2));
}

#[test]
fn folders_hold_each_file_once() {
    let check = |files: u64, folders: u64| {
        let set = FileSet::new(files, "1".parse().unwrap(), 1).unwrap();
        assert_eq!(set.folders(), folders);
        let mut paths = HashSet::new();
        for folder in 0..folders {
            assert!(set.files_of(folder).count() <= 1024);
            for file in set.files_of(folder) {
                let path = set.path(file);
                assert_eq!(path.rsplit_once('/').unwrap().0, set.folder(folder));
                assert!(paths.insert(path));
            }
        }
        assert_eq!(paths.len() as u64, files);
    };
    check(1, 1);
    check(1024, 1);
    check(1025, 2);
    check(100_000, 98);
}

proptest! {
    #[test]
    fn a_path_is_one_whichever_way_it_is_written(file in 0..Files::MAX) {
        let set = set("4194304x1");
        let mut written = b"GET ".to_vec();
        set.append_path(file, &mut written);
        prop_assert_eq!(String::from_utf8(written).unwrap(), format!("GET {}", set.path(file)));
    }

    #[test]
    fn no_text_breaks_the_reader(text in "\\PC{0,40}", near in "[0-9]{0,4}x(web|[0-9]{0,12}(k|MiB)?)(\\[[0-9]{1,3}..\\])?") {
        let _ = FileSet::read(&text, 1);
        if let Ok(set) = FileSet::read(&near, 1) {
            prop_assert_eq!(FileSet::read(&set.to_string(), 1).unwrap().total_bytes(), set.total_bytes());
        }
    }
}
