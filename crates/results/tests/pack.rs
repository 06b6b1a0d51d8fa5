//! A result survives packing into one file; malicious contents of such a file have no effect.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use results::ResultFolder;
use results::pack::{Contents, pack, unpack};
use results::study::{Study, StudyFolder};
use tempfile::TempDir;

const EXPERIMENT: &[u8] = include_bytes!("fixtures/v1-load.json");

/// A study's folder with an experiment in it, as a run leaves it.
fn study(root: &Path) -> PathBuf {
    let folder = StudyFolder::create(root, "a-study").unwrap();
    folder.save(&Study { schema: 1, name: "a-study".into(), ..Study::default() }).unwrap();
    let folder = folder.complete().unwrap();
    let experiment = folder.path().join("memcached/trials");
    fs::create_dir_all(&experiment).unwrap();
    fs::write(experiment.join("0001.hlog"), vec![7; 100_000]).unwrap();
    fs::write(folder.path().join("memcached/result.json"), EXPERIMENT).unwrap();
    fs::write(folder.path().join("report.html"), "").unwrap();
    folder.path().to_owned()
}

/// Every file below `folder` with its contents.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push((path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_study_comes_out_as_it_went_in() {
    let root = tempfile::tempdir().unwrap();
    let folder = study(root.path());
    let file = root.path().join("packed");
    let packed = pack(&folder, &file, Contents::All).unwrap();
    assert_eq!((packed.files, packed.bytes > 100_000), (4, true));
    let unpacked = unpack(&file, &root.path().join("elsewhere/results")).unwrap();
    assert_eq!(unpacked.path, root.path().join("elsewhere/results/a-study"));
    assert_eq!(contents(&unpacked.path), contents(&folder));
    assert_eq!((unpacked.files, unpacked.bytes), (packed.files, packed.bytes));
    // The same result gives the same file, wherever and whenever it is packed.
    let again = root.path().join("again");
    pack(&unpacked.path, &again, Contents::All).unwrap();
    assert_eq!(fs::read(&again).unwrap(), fs::read(&file).unwrap());
    // Only the folder is left.
    assert_eq!(fs::read_dir(root.path().join("elsewhere/results")).unwrap().count(), 1);
}

#[test]
fn figures_are_packed_alone() {
    let root = tempfile::tempdir().unwrap();
    let folder = study(root.path());
    fs::write(folder.join("tables.json"), "{}").unwrap();
    let file = root.path().join("packed");
    assert_eq!(pack(&folder, &file, Contents::Figures).unwrap().files, 2);
    let unpacked = unpack(&file, &root.path().join("out")).unwrap();
    let names: Vec<_> = contents(&unpacked.path).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["study.json", "tables.json"].map(PathBuf::from));
}

#[test]
fn an_experiment_goes_by_itself() {
    let root = tempfile::tempdir().unwrap();
    let folder = study(root.path()).join("memcached");
    let file = root.path().join("packed");
    pack(&folder, &file, Contents::All).unwrap();
    let unpacked = unpack(&file, &root.path().join("out")).unwrap();
    let [here, there] =
        [&folder, &unpacked.path].map(|path| ResultFolder::open(path).unwrap().load().unwrap());
    assert_eq!(here, there);
}

#[test]
fn nothing_is_written_over() {
    let root = tempfile::tempdir().unwrap();
    let folder = study(root.path());
    let file = root.path().join("packed");
    pack(&folder, &file, Contents::All).unwrap();
    let before = contents(&folder);
    let error = unpack(&file, root.path()).unwrap_err().to_string();
    assert!(error.contains("a-study") && error.contains("exists"), "{error}");
    assert_eq!(contents(&folder), before);
    let error = pack(&folder, &file, Contents::All).unwrap_err().to_string();
    assert!(error.contains("exists"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    assert!(pack(empty.path(), &root.path().join("none"), Contents::All).is_err());
    assert!(!root.path().join("none").exists());
}

#[test]
fn what_is_no_plain_file_is_not_packed() {
    let root = tempfile::tempdir().unwrap();
    let folder = study(root.path());
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
    let error = pack(&folder, &root.path().join("packed"), Contents::All).unwrap_err().to_string();
    assert!(error.contains("neither a file nor a folder"), "{error}");
    assert!(!root.path().join("packed").exists());
}

/// An archive of entries, each a path, a kind and its contents, written without checks.
fn archive(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, kind, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_entry_type(*kind);
        if *kind == tar::EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(bytes))
}

fn list(name: &str, files: &[(&str, &[u8])]) -> String {
    let files: Vec<serde_json::Value> = files
        .iter()
        .map(|(path, bytes)| serde_json::json!({"path": path, "bytes": bytes.len(), "xxh3": hash(bytes)}))
        .collect();
    serde_json::json!({"format": 1, "name": name, "files": files}).to_string()
}

/// Unpacks `bytes` in its own folder below a new one, and returns the outcome.
fn tried(bytes: &[u8]) -> (TempDir, Result<PathBuf, String>) {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("packed");
    fs::File::create(&file).unwrap().write_all(bytes).unwrap();
    let outcome =
        unpack(&file, &root.path().join("into")).map(|packed| packed.path).map_err(|e| e.to_string());
    (root, outcome)
}

#[test]
fn a_hostile_file_is_refused_and_leaves_nothing() {
    use tar::EntryType::{Regular, Symlink};
    let check = |entries: &[(&str, tar::EntryType, &[u8])], expect: &str| {
        let (root, outcome) = tried(&archive(entries));
        let error = outcome.unwrap_err();
        assert!(error.contains(expect), "{expect}: {error}");
        let into = root.path().join("into");
        assert_eq!(fs::read_dir(&into).map(Iterator::count).unwrap_or(0), 0, "{expect}");
        // Nor are there files above it.
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), if into.exists() { 2 } else { 1 }, "{expect}");
    };
    let with = |name: &str, files: &[(&str, &[u8])]| list(name, files);
    let good = with("r", &[("result.json", EXPERIMENT)]);
    // A correct archive of the same kind is accepted.
    let (_root, outcome) =
        tried(&archive(&[("pack.json", Regular, good.as_bytes()), ("result.json", Regular, EXPERIMENT)]));
    assert!(outcome.is_ok(), "{outcome:?}");

    check(&[("result.json", Regular, EXPERIMENT)], "does not begin with a list");
    check(&[("pack.json", Regular, b"{}")], "list cannot be read");
    check(&[("pack.json", Regular, br#"{"format":9,"name":"r","files":[]}"#)], "use a newer taillight");
    for name in ["..", "/tmp/x", "a/b", "", "."] {
        let list = with(name, &[("result.json", EXPERIMENT)]);
        check(
            &[("pack.json", Regular, list.as_bytes()), ("result.json", Regular, EXPERIMENT)],
            "calls its folder",
        );
    }
    for path in ["../evil", "/tmp/evil", "a/../../evil", "./x"] {
        let list = with("r", &[("result.json", EXPERIMENT), (path, b"x")]);
        let entries: [(&str, tar::EntryType, &[u8]); 3] = [
            ("pack.json", Regular, list.as_bytes()),
            ("result.json", Regular, EXPERIMENT),
            (path, Regular, b"x"),
        ];
        check(&entries, "leads elsewhere");
        // An entry that is not in the list.
        let entries: [(&str, tar::EntryType, &[u8]); 2] =
            [("pack.json", Regular, good.as_bytes()), (path, Regular, b"x")];
        check(&entries, "not in its list");
    }
    check(&[("pack.json", Regular, good.as_bytes()), ("result.json", Symlink, b"")], "not a plain file");
    check(&[("pack.json", Regular, good.as_bytes())], "result.json is missing");
    check(&[("pack.json", Regular, good.as_bytes()), ("result.json", Regular, b"{}")], "damaged on its way");
    let twice = with("r", &[("result.json", EXPERIMENT), ("result.json", EXPERIMENT)]);
    check(&[("pack.json", Regular, twice.as_bytes())], "is listed twice");
    let no_result = with("r", &[("x", b"x")]);
    check(&[("pack.json", Regular, no_result.as_bytes()), ("x", Regular, b"x")], "cannot read");
}

#[test]
fn damage_anywhere_is_found() {
    let root = tempfile::tempdir().unwrap();
    let folder = study(root.path());
    let file = root.path().join("packed");
    pack(&folder, &file, Contents::All).unwrap();
    let whole = fs::read(&file).unwrap();
    // Truncated, and with one byte changed in many places; gzip's header has bytes without meaning, such as a time.
    for length in (0..whole.len()).step_by(whole.len() / 20) {
        let (_root, outcome) = tried(&whole[..length]);
        assert!(outcome.is_err(), "cut to {length}");
    }
    for at in (10..whole.len() - 8).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        let (_root, outcome) = tried(&bytes);
        assert!(outcome.is_err(), "byte {at} of {}", whole.len());
    }
}
