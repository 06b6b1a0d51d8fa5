//! The users of a social network: as tables, and in a store that is made once, whole or not there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use datasets::people::{People, Table};
use tempfile::TempDir;

use crate::run::{finish, refuses, taillight, text};

/// A bound on waiting.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// Files below `data` that a shell writes. If there is a file `block` next to the description, the shell waits forever at a table and
/// prints its folder.
const APP: &str = r#"
name = "kept"
title = "T"
[[service]]
name = "keeper"
account = "nobody"
needs = ["people"]
program = { name = "sh" }
args = ["-c", "echo up; exec sleep 600"]
prepare = [{ program = "mkdir", args = ["data"] }]
ready = { line = "up" }
[[store]]
name = "rows"
service = "keeper"
[store.seed]
folder = "data"
check = { program = "sh", args = ["-c", "cat data/* | cksum"] }
[[store.seed.step]]
program = "sh"
args = ["-c", "cat > data/{{ table.name }}; if [ {{ table.name }} = posts -a -e ROOT/block ]; then pwd > ROOT/at; exec sleep 600; fi"]
tables = true
"#;

struct Site {
    root: TempDir,
}

impl Site {
    fn new(app: &str) -> Site {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("kept");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let app = app.replace("ROOT", &root.path().display().to_string());
        fs::write(folder.join("app.toml"), app).unwrap();
        Site { root }
    }

    fn load(&self) -> Command {
        let site = self.root.path().join("kept");
        let words = ["data-set", "social", "--users", "40", "--load", "--target", site.to_str().unwrap()];
        let mut command = taillight(&words);
        command.env("TAILLIGHT_CACHE", self.root.path().join("cache"));
        command
    }

    /// The entries of the cache, without the lock files.
    fn kept(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.path().join("cache/seeds")) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".lock")).collect()
    }
}

/// Waits until `holds`.
#[track_caller]
pub(crate) fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not so after {PATIENCE:?}");
        thread::park_timeout(LOOK);
    }
}

/// The processes that descend from `pid`, each with the folder that it runs in.
pub(crate) fn descendants(pid: u32) -> Vec<(u32, PathBuf)> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    let entries = fs::read_dir("/proc").unwrap();
    let all: Vec<u32> = entries.filter_map(|one| one.ok()?.file_name().to_str()?.parse().ok()).collect();
    let below = |mut at: u32| {
        while let Some(up) = parent(at).filter(|up| *up > 1) {
            if up == pid {
                return true;
            }
            at = up;
        }
        false
    };
    let place = |pid: u32| fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    all.into_iter().filter(|one| below(*one)).map(|pid| (pid, place(pid))).collect()
}

/// Whether a process runs; one that has ended and that its parent has not looked at does not.
pub(crate) fn runs(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

#[test]
fn tables_are_written_whole_and_over_none() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("tables");
    let words =
        ["data-set", "social", "--users", "50", "--users-seed", "3", "--out", folder.to_str().unwrap()];
    let output = finish(&mut taillight(&words));
    assert!(output.status.success(), "{}", text(&output));
    let said = text(&output);
    let people = People::new(50, 3).unwrap();
    let numbers = format!("50 users of seed 3: {} friendships, 500 posts", people.friendships());
    assert!(said.contains(&numbers) && said.contains("friends of a user: mean"), "{said}");
    for table in Table::ALL {
        let mut expect = Vec::new();
        table.write(&people, datasets::people::hash(10).unwrap(), &mut expect).unwrap();
        assert!(
            fs::read(folder.join(format!("{}.tsv", table.name()))).unwrap() == expect,
            "{}",
            table.name()
        );
        assert!(said.contains(&format!("{}.tsv: {}", table.name(), table.columns().join(", "))), "{said}");
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing else");
    refuses(&mut taillight(&words), 1, &["it exists; name a new folder"]);
    let no_parent = ["data-set", "social", "--users", "50", "--out", "/no/such/folder"];
    refuses(&mut taillight(&no_parent), 1, &["cannot write the tables to /no/such/folder"]);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let check = |words: &[&str], code, says: &[&str]| {
        refuses(&mut taillight(&[&["data-set", "social"], words].concat()), code, says);
    };
    check(&[], 2, &["--out", "--load"]);
    check(&["--load", "--users", "9"], 2, &["number of users '9'"]);
    check(&["--load", "--users", "2M"], 2, &["number of users '2M'"]);
    check(&["--load", "--target", "nginx"], 1, &["nginx has no store that begins with users"]);
    check(&["--load", "--target", "127.0.0.1:9"], 1, &["127.0.0.1:9 already runs"]);
    refuses(&mut taillight(&["serve", "nginx", "--users", "1k"]), 1, &["nginx has no users; leave it out"]);
}

#[test]
fn data_are_made_once_and_said_to_be_kept() {
    let site = Site::new(APP);
    let first = finish(&mut site.load());
    assert!(first.status.success(), "{}", text(&first));
    let said = text(&first);
    assert!(
        said.contains("making the data of 40 users, which are kept") && said.contains("reset: "),
        "{said}"
    );
    let [kept] = &site.kept()[..] else { panic!("{:?}", site.kept()) };
    assert!(said.contains(kept.as_str()), "{said}");
    let again = finish(&mut site.load());
    assert!(again.status.success() && !text(&again).contains("making"), "{}", text(&again));
    assert_eq!(site.kept().len(), 1);
}

#[test]
fn a_kill_leaves_neither_a_seed_nor_processes_nor_a_folder() {
    let site = Site::new(APP);
    let block = site.root.path().join("block");
    fs::write(&block, "").unwrap();
    let mut child = site.load().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let at = site.root.path().join("at");
    await_that("it has come to the posts", || fs::read_to_string(&at).is_ok_and(|text| text.ends_with('\n')));
    let folder = PathBuf::from(fs::read_to_string(&at).unwrap().trim());
    let started = descendants(child.id());
    assert!(started.iter().filter(|(_, place)| *place == folder).count() >= 2, "{started:?}");
    kill(&mut child);
    await_that("all of its processes have ended", || !started.iter().any(|(pid, _)| runs(*pid)));
    await_that("its folder is gone", || !folder.exists());
    assert_eq!(site.kept(), [""; 0]);
    fs::remove_file(&block).unwrap();
    let output = finish(&mut site.load());
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(site.kept().len(), 1);
}

pub(crate) fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A small file system, which is gone with this.
pub(crate) struct SmallDisk<'a> {
    at: &'a Path,
}

impl SmallDisk<'_> {
    /// One of `size` on the folder `at`; `None`, and says so, where this account may not mount any.
    pub(crate) fn mount<'a>(at: &'a Path, size: &str) -> Option<SmallDisk<'a>> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(at);
        if mount.output().is_ok_and(|output| output.status.success()) {
            return Some(SmallDisk { at });
        }
        println!("skipped: this account may not mount a small file system");
        None
    }

    /// Unmounts once the mount is unused: the kernel closes the files of a process after its end, and the files of an io_uring ring some
    /// milliseconds later.
    pub(crate) fn unmount(self) {
        let unmounted = || {
            Command::new("umount")
                .arg(self.at)
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        };
        await_that("nothing uses the file system", unmounted);
    }
}

impl Drop for SmallDisk<'_> {
    /// Lazy, because a failed test may leave a process that uses the mount; the error of an unmounted one is ignored.
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.at).stderr(Stdio::null()).status();
    }
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    let check = |size: &str, app: &str, says: &[&str]| {
        let site = Site::new(app);
        let cache = site.root.path().join("cache");
        fs::create_dir(&cache).unwrap();
        let Some(disk) = SmallDisk::mount(&cache, size) else { return };
        let output = finish(&mut site.load());
        let (said, kept) = (text(&output), site.kept());
        let left: Vec<_> = fs::read_dir(&cache).unwrap().map(|one| one.unwrap().path()).collect();
        disk.unmount();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(says.iter().all(|part| said.contains(part)), "{said}");
        assert_eq!(kept, [""; 0], "{left:?}");
    };
    check("5m", APP, &["no room in ", "cache/seeds: they take about", "TAILLIGHT_CACHE"]);
    // Data larger than the estimate only fail during the copy.
    let large = APP.replace(
        "cat > data/{{ table.name }};",
        "cat > data/{{ table.name }}; head -c 150M /dev/zero > data/large;",
    );
    check("120m", &large, &["No space left on device"]);
}

/// The programs that the site of apps/social takes, with its usual cache.
const PROGRAMS: [&str; 6] = ["nginx", "php-fpm8.2", "php", "mariadbd", "mariadb-install-db", "memcached"];

pub(crate) fn has_programs() -> bool {
    let lacks = PROGRAMS.iter().find(|name| launch::find_program(name).is_none());
    if let Some(name) = lacks {
        println!("skipped: there is no {name} here");
    }
    lacks.is_none()
}

/// Starts the site, with an unprivileged user if root runs the test. Its services have their folders in `temporary`, if given. Returns
/// its process and its address.
pub(crate) fn serve(cache: &Path, temporary: Option<&Path>) -> (Child, String) {
    let words = ["serve", "social", "--users", "30", "--set", "hash_cost=4"];
    let mut command = match launch::User::nobody().filter(|_| launch::User::is_root()) {
        Some(user) => {
            std::os::unix::fs::chown(cache, Some(user.uid), Some(user.gid)).unwrap();
            let mut command = Command::new("setpriv");
            command.args([
                &format!("--reuid={}", user.uid),
                &format!("--regid={}", user.gid),
                "--clear-groups",
            ]);
            command.arg(env!("CARGO_BIN_EXE_taillight")).args(words).current_dir("/");
            command
        }
        None => taillight(&words),
    };
    let errors = cache.join("errors");
    if let Some(folder) = temporary {
        command.env("TMPDIR", folder);
    }
    let mut child = command
        .env("TAILLIGHT_CACHE", cache)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let line = lines.find_map(|line| line.ok().filter(|line| line.starts_with("social ready on ")));
    let line = line.unwrap_or_else(|| panic!("{}", fs::read_to_string(&errors).unwrap()));
    let address = line["social ready on ".len()..].split(' ').next().unwrap().to_owned();
    (child, address)
}

#[test]
fn the_site_runs_without_root_and_a_kill_leaves_nothing_of_it() {
    if !has_programs() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let (mut child, address) = serve(cache.path(), None);
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /.ready HTTP/1.0\r\nHost: test\r\n\r\n").unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nready\n"), "{answer}");
    let started = descendants(child.id());
    let names: Vec<String> = started
        .iter()
        .map(|(pid, _)| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned())
        .collect();
    for name in ["nginx", "php-fpm8.2", "mariadbd", "memcached"] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    let temporary = std::env::temp_dir();
    let folders: Vec<PathBuf> = started
        .iter()
        .map(|(_, place)| place.clone())
        .filter(|place| place.starts_with(&temporary))
        .collect();
    assert!(folders.len() >= 3, "{started:?}");
    kill(&mut child);
    await_that("all of its processes have ended", || !started.iter().any(|(pid, _)| runs(*pid)));
    await_that("its folders are gone", || !folders.iter().any(|folder| folder.exists()));
}

#[test]
fn each_trial_but_the_first_begins_with_a_reset_unless_none_is_asked_for() {
    if !has_programs() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let check = |more: &[&str], restarts: u64, primed: Option<f64>| {
        let out = root.path().join(format!("results-{restarts}"));
        let words =
            ["load", "social", "--users", "100", "--rate", "0.2", "--repeats", "2", "--window", "500ms"];
        let rest = ["--warmup", "100ms", "--server-set", "hash_cost=4", "--out", out.to_str().unwrap()];
        let mut command = taillight(&[&words[..], &rest, more].concat());
        let output = finish(command.env("TAILLIGHT_CACHE", root.path().join("cache")));
        let folder =
            fs::read_dir(&out).unwrap_or_else(|_| panic!("{}", text(&output))).next().unwrap().unwrap();
        let result = fs::read_to_string(folder.path().join("result.json")).unwrap();
        let result: serde_json::Value = serde_json::from_str(&result).unwrap();
        let trials = result["trials"].as_array().unwrap();
        let of_trials: Vec<_> = trials.iter().map(|one| one["counters"]["primed_users"].as_f64()).collect();
        assert_eq!(of_trials, [primed, primed], "{}", text(&output));
        let services = result["targets"][0]["services"].as_array().unwrap();
        assert_eq!(services.len(), 4, "{services:?}");
        for service in services {
            assert_eq!(service["restarts"].as_u64(), Some(restarts), "{service}");
        }
    };
    check(&["--cache", "primed"], 1, Some(100.0));
    check(&["--reset", "never"], 0, None);
}
