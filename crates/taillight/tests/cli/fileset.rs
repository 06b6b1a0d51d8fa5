//! Sets of files through the command line: make, check, remove, and the files that remain after an interruption.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use launch::User;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use workloads::sets::{MARKER, PARTIAL};
use workloads::web::FileSet;

use crate::run::{finish, refuses, taillight, text};

pub(crate) fn fileset(what: &str, folder: &Path) -> Command {
    let mut command = taillight(&["fileset", what]);
    command.arg(folder);
    command
}

#[track_caller]
pub(crate) fn says(command: &mut Command, words: &[&str]) {
    let output = finish(command);
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
}

/// A folder of a test, and a set made in it.
fn made(files: &str) -> (TempDir, PathBuf) {
    let outer = TempDir::new().unwrap();
    let folder = outer.path().join("set");
    says(fileset("make", &folder).args(["--files", files]), &["made", files]);
    (outer, folder)
}

#[test]
fn a_set_is_made_checked_and_removed() {
    let (outer, folder) = made("2500xweb");
    let set = FileSet::in_folder(&folder).unwrap();
    assert_eq!((set.files(), set.seed()), (2500, 1));
    let whole: u64 = (0..2500)
        .map(|n| {
            let meta = fs::metadata(folder.join(&set.path(n)[1..])).unwrap();
            assert_eq!(meta.permissions().mode() & 0o777, 0o644);
            meta.len()
        })
        .sum();
    assert_eq!(whole, set.total_bytes());
    says(&mut fileset("check", &folder), &["2500xweb of seed 1", "whole and as it was made"]);
    // The same again is there already; it is not written a second time.
    let before = fs::metadata(folder.join("000/000000.txt")).unwrap().modified().unwrap();
    says(fileset("make", &folder).args(["--files", "2500xweb"]), &["holds 2500xweb of seed 1", "already"]);
    assert_eq!(fs::metadata(folder.join("000/000000.txt")).unwrap().modified().unwrap(), before);
    says(&mut fileset("remove", &folder), &["removed 2500xweb of seed 1"]);
    assert!(!folder.exists() && outer.path().exists());
}

#[test]
fn a_seed_decides_what_stands_in_the_files() {
    let outer = TempDir::new().unwrap();
    let bytes = |name: &str, seed: &str, threads: &str| {
        let folder = outer.path().join(name);
        let options = ["--files", "1100x1KiB", "--seed", seed, "--threads", threads];
        says(fileset("make", &folder).args(options), &["made"]);
        [0, 500, 1099].map(|n| fs::read(folder.join(format!("{:03x}/{n:06x}.txt", n >> 10))).unwrap())
    };
    let first = bytes("a", "7", "1");
    assert_eq!(first, bytes("b", "7", "8"));
    assert_ne!(first, bytes("c", "8", "1"));
}

#[test]
fn what_it_did_not_make_is_neither_overwritten_nor_removed() {
    let (_outer, folder) = made("20x100");
    let other = ["--files", "20x200"];
    refuses(fileset("make", &folder).args(other), 1, &["holds another set, 20x100", "fileset remove"]);
    refuses(fileset("make", &folder).args(["--files", "20x100", "--seed", "2"]), 1, &["another set"]);
    let foreign = TempDir::new().unwrap();
    fs::write(foreign.path().join("precious"), "x").unwrap();
    refuses(
        fileset("make", foreign.path()).args(other),
        1,
        &["is not empty", "not made by taillight fileset"],
    );
    refuses(&mut fileset("remove", foreign.path()), 1, &["holds no file set", "nothing is removed"]);
    refuses(&mut fileset("check", foreign.path()), 1, &["holds no file set"]);
    assert_eq!(fs::read(foreign.path().join("precious")).unwrap(), b"x");
    refuses(&mut fileset("make", &foreign.path().join("precious")), 1, &["precious"]);
    refuses(fileset("make", &folder).args(["--files", "many"]), 1, &["'many'", "100000x4KiB"]);

    // Foreign files next to the set and inside it stay.
    fs::write(folder.join("beside"), "x").unwrap();
    fs::write(folder.join("000/inside"), "x").unwrap();
    refuses(&mut fileset("remove", &folder), 1, &["files that are not of the set", "000"]);
    assert!(folder.join("beside").exists() && folder.join("000/inside").exists());
    fs::remove_file(folder.join("000/inside")).unwrap();
    says(&mut fileset("remove", &folder), &["the folder stays"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn one_that_another_process_has_locked_is_left_alone() {
    let (outer, folder) = made("20x100");
    let empty = outer.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let held = [&folder, &empty].map(|folder| {
        let open = fs::File::open(folder).unwrap();
        rustix::fs::flock(&open, rustix::fs::FlockOperation::LockExclusive).unwrap();
        open
    });
    // As another process has it while it makes or removes the set.
    fs::rename(folder.join(MARKER), folder.join(PARTIAL)).unwrap();
    let busy = ["another process makes or removes", "wait until that is done"];
    refuses(fileset("make", &folder).args(["--files", "20x100"]), 1, &busy);
    refuses(&mut fileset("remove", &folder), 1, &busy);
    refuses(fileset("make", &empty).args(["--files", "20x100"]), 1, &busy);
    assert_eq!(fs::read_dir(folder.join("000")).unwrap().count(), 20);
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    drop(held);
    // A child that another test has forked just now holds the locks until it executes its program.
    let make = |_| finish(fileset("make", &folder).args(["--files", "20x100"]));
    let output = (0..1_000).map(make).find(|output| !text(output).contains(busy[0])).expect("it is released");
    assert!(output.status.success() && text(&output).contains("made 20x100"), "{}", text(&output));
}

#[test]
fn a_link_in_place_of_a_folder_is_not_followed() {
    let (outer, folder) = made("10x10");
    let elsewhere = outer.path().join("elsewhere");
    fs::rename(folder.join("000"), &elsewhere).unwrap();
    symlink(&elsewhere, folder.join("000")).unwrap();
    refuses(&mut fileset("remove", &folder), 1, &["is not a folder of the set"]);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 10);
}

#[test]
fn a_check_sees_every_kind_of_damage() {
    let check = |damage: fn(&Path), words: &[&str]| {
        let (_outer, folder) = made("30x5000");
        damage(&folder);
        refuses(&mut fileset("check", &folder), 1, words);
    };
    fn file(folder: &Path, n: u32) -> PathBuf {
        folder.join(format!("000/{n:06x}.txt"))
    }
    check(|folder| fs::remove_file(file(folder, 3)).unwrap(), &["000003.txt", "No such file"]);
    check(|folder| fs::write(file(folder, 3), "short").unwrap(), &["000003.txt has 5 B and not 5000"]);
    check(
        |folder| {
            let mut bytes = fs::read(file(folder, 3)).unwrap();
            bytes[4_321] ^= 1;
            fs::write(file(folder, 3), bytes).unwrap();
        },
        &["000003.txt holds something else"],
    );
    check(|folder| fs::write(folder.join("000/more"), "").unwrap(), &["000/more is not of the set"]);
    check(|folder| fs::write(folder.join("more"), "").unwrap(), &["set/more is not of the set"]);
    check(|folder| fs::remove_dir_all(folder.join("000")).unwrap(), &["and 25 more"]);
    check(|folder| fs::rename(folder.join(MARKER), folder.join(PARTIAL)).unwrap(), &["is not whole"]);
}

/// Starts making a set of more files than a moment suffices for, and returns once the first are there.
fn making(folder: &Path, files: &str) -> std::process::Child {
    let mut command = fileset("make", folder);
    let mut child =
        command.args(["--files", files]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..60_000 {
        if folder.join("000").exists() || child.try_wait().unwrap().is_some() {
            return child;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("it makes nothing");
}

#[test]
fn an_interrupted_set_is_known_as_such() {
    let outer = TempDir::new().unwrap();
    let folder = outer.path().join("set");
    // This number of files takes a second or more on any machine, and less than half a gigabyte. A set that was complete before
    // the signal arrived, for example because the machine stalled, does not test anything.
    let cut = (0..10).find_map(|_| {
        let child = making(&folder, "100000x1");
        // If it has ended already, for example because the disk is full, its output gives the reason.
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        let output = child.wait_with_output().unwrap();
        let is_whole = folder.join(MARKER).exists();
        if is_whole {
            says(&mut fileset("remove", &folder), &["removed"]);
        }
        (!is_whole).then_some(output)
    });
    let output = cut.expect("it was always whole before it was interrupted");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    let said = text(&output);
    assert!(said.contains("only a part") && said.contains("fileset remove"), "{said}");
    assert!(folder.join(PARTIAL).exists() && !folder.join(MARKER).exists());
    refuses(&mut fileset("check", &folder), 1, &["is not whole"]);
    refuses(fileset("make", &folder).args(["--files", "5x1"]), 1, &["a part of another set, 100000x1"]);
    says(&mut fileset("remove", &folder), &["removed 100000x1"]);
    assert!(!folder.exists());
}

#[test]
fn a_killed_make_is_repeated() {
    let outer = TempDir::new().unwrap();
    let folder = outer.path().join("set");
    // A set that was complete before the signal arrived, for example because the machine stalled, does not test anything.
    let is_cut = (0..10).any(|_| {
        let mut child = making(&folder, "30000x100");
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let is_whole = folder.join(MARKER).exists();
        if is_whole {
            says(&mut fileset("remove", &folder), &["removed"]);
        } else {
            assert!(folder.join(PARTIAL).exists() && folder.join("000").exists(), "{}", text(&output));
        }
        !is_whole
    });
    assert!(is_cut, "it was always whole before it was killed");
    refuses(&mut fileset("check", &folder), 1, &["is not whole"]);
    says(fileset("make", &folder).args(["--files", "30000x100"]), &["30000x100"]);
    says(&mut fileset("check", &folder), &["whole"]);
    says(&mut fileset("remove", &folder), &["removed"]);
    assert!(!folder.exists());
}

/// A file system of memory with these options, unmounted when it is dropped.
pub(crate) struct Mounted(pub(crate) TempDir);

impl Mounted {
    pub(crate) fn new(options: &str) -> Mounted {
        let at = TempDir::new().unwrap();
        let words = ["-t", "tmpfs", "-o", options, "taillight-test"];
        assert!(Command::new("mount").args(words).arg(at.path()).status().unwrap().success());
        Mounted(at)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn room_is_looked_for_before_the_first_file() {
    if !User::is_root() {
        println!("skipped: needs root");
        return;
    }
    let check = |options: &str, files: &str, words: &[&str]| {
        let mounted = Mounted::new(options);
        let folder = mounted.0.path().join("set");
        refuses(fileset("make", &folder).args(["--files", files]), 1, words);
        assert!(!folder.exists(), "nothing is left of it");
    };
    check("size=1m", "1000x4KiB", &["no room for 1000x4KiB", "are free", "choose another folder"]);
    check("size=10m,nr_inodes=50", "100x1KiB", &["no room for 100x1KiB", "inodes"]);
    let mounted = Mounted::new("size=10m,nr_inodes=500");
    says(fileset("make", &mounted.0.path().join("set")).args(["--files", "100x1KiB"]), &["made"]);
}
