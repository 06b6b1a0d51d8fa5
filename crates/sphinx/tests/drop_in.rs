//! Started as memcached is: its flags, in the background, by Debian's configuration.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use crate::support::client::Client;
use crate::support::{PATIENCE, sphinxd};
use rustix::process::{Pid, Signal, getsid, kill_process};

/// Runs `sphinxd` to its end in `folder`.
fn run(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sphinxd"));
    command.args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// The output, split into lines.
fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// A server in the background, which is killed with its handle.
struct Background(Pid);

impl Background {
    fn of(pidfile: &Path) -> Background {
        let text = fs::read_to_string(pidfile).unwrap();
        Background(Pid::from_raw(text.trim().parse().unwrap()).unwrap())
    }

    fn number(&self) -> u64 {
        self.0.as_raw_nonzero().get() as u64
    }

    fn link(&self, name: &str) -> String {
        fs::read_link(format!("/proc/{}/{name}", self.number())).unwrap().display().to_string()
    }

    /// Whether it runs; a process that has ended may wait for its parent to notice.
    fn runs(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.number())).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

#[test]
fn in_the_background_it_returns_when_the_server_answers() {
    let folder = tempfile::tempdir().unwrap();
    let check = |extra: &[&str], directory: &str| {
        let words =
            ["-d", "-p", "0", "-t", "1", "-m", "8", "-P", "own.pid", "-s", "own.sock", "-l", "127.0.0.1"];
        let words: Vec<&str> = words.iter().chain(extra).copied().collect();
        let output = run(folder.path(), &words);
        assert!(output.status.success(), "{output:?}");
        let pidfile = folder.path().join("own.pid");
        let background = Background::of(&pidfile);
        let ready = &lines(&output.stdout)[0];
        let address = ready.strip_prefix(launch::sphinx::READY).unwrap().split(' ').next().unwrap();
        let mut client = Client::connect(address.parse().unwrap());
        client.set("k", "v");
        assert_eq!(client.get("k").as_deref(), Some(&b"v"[..]));
        assert_eq!(client.stat("pid"), background.number());
        assert_eq!(getsid(Some(background.0)).unwrap(), background.0, "a session of its own");
        assert_eq!(background.link("cwd"), directory);
        for descriptor in ["fd/0", "fd/1", "fd/2"] {
            assert_eq!(background.link(descriptor), "/dev/null", "{descriptor}");
        }
        kill_process(background.0, Signal::TERM).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while background.runs() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        // Relative paths are of the directory in which the command was started.
        assert!(!pidfile.exists() && !folder.path().join("own.sock").exists());
    };
    check(&[], "/");
    let own = folder.path().canonicalize().unwrap();
    check(&["-r"], own.to_str().unwrap());
}

#[test]
fn in_the_background_a_failed_start_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let check = |words: &[&str], code: i32, expect: &str| {
        let output = run(folder.path(), words);
        let said = lines(&output.stderr).join("\n");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(expect), "{words:?}: {said}");
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    check(&["-d", "-p", &port], 1, "the port is taken; choose another with -p");
    check(&["-d", "-p", "0", "-Y", "no-such-file"], 1, "cannot read the users' file");
    check(&["-d", "-p", "0", "-o", "proxy_config=x"], 1, "is refused: there is no proxy");
    check(&["-d", "-p", "0", "-S"], 1, "-S needs users");
}

#[test]
fn a_start_in_the_background_that_nothing_waits_for_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    // The server is ready when it can write its line; standard output has no room until the command has ended.
    let (reader, writer) = full_pipe();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sphinxd"))
        .args(["-d", "-p", "0", "-t", "1", "-m", "8", "-P", "own.pid"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !folder.path().join("own.pid").exists() {
        assert!(Instant::now() < deadline, "it does not start");
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    command.kill().unwrap();
    command.wait().unwrap();
    // Now there is room, and the daemon finds no waiting writer.
    drop(reader);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut command.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("the command that started the server has ended before it was ready"), "{said}");
    assert!(!folder.path().join("own.pid").exists());
}

/// A pipe that is full.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    use std::io::Write;
    let (reader, mut writer) = std::io::pipe().unwrap();
    // The default capacity of a pipe: pipe(7).
    writer.write_all(&[b' '; 65_536]).unwrap();
    (reader, writer)
}

#[test]
fn each_warning_is_one_line_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["-d", "-p", "0", "-t", "2", "-m", "8", "-P", "own.pid"];
    let strange = ["-f", "1.25", "-C", "-C", "-L", "-o", "hashpower=20,no_modern", "-I", "3m", "-B", "auto"];
    let words: Vec<&str> = words.iter().chain(&strange).copied().collect();
    let output = run(folder.path(), &words);
    let _background = Background::of(&folder.path().join("own.pid"));
    let said = lines(&output.stderr);
    let expect = [
        "-f has no effect: there are no slabs",
        "-L has no effect: huge pages",
        "-C has no effect: every item",
        "-o hashpower has no effect",
        "-o no_modern has no effect",
        "-I 3 MiB is lowered to 2 MiB, half of what each of 2 partitions has",
    ];
    assert_eq!(said.len(), expect.len(), "{said:#?}");
    for (line, expect) in said.iter().zip(expect) {
        assert!(line.contains("WARN") && line.contains(expect), "{line}");
    }
}

#[test]
fn little_memory_starts_fewer_threads_and_the_ready_line_says_so() {
    let server = sphinxd("-t 40 -m 6");
    let mut client = Client::connect(server.address);
    assert_eq!(client.stat("threads"), 3);
    assert_eq!(client.stat("limit_maxbytes"), 6 << 20);
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["-d", "-p", "0", "-t", "5", "-m", "6", "-P", "own.pid"]);
    let _background = Background::of(&folder.path().join("own.pid"));
    let ready = &lines(&output.stdout)[0];
    assert!(ready.contains("with 3 threads on cpus "), "{ready}");
    assert!(
        ready.ends_with("and 6 MiB; 5 threads were asked for, and 6 MiB is too little for them"),
        "{ready}"
    );
}

#[test]
fn the_version_begins_as_tools_expect() {
    let folder = tempfile::tempdir().unwrap();
    let expect = format!("memcached 1.6.45 (sphinxd {}, ", env!("CARGO_PKG_VERSION"));
    for flag in ["-V", "--version", "-h", "--help"] {
        let output = run(folder.path(), &[flag]);
        assert!(output.status.success(), "{flag}");
        let printed = lines(&output.stdout);
        assert!(printed[0].starts_with(&expect) && printed[0].ends_with(')'), "{flag}: {}", printed[0]);
        assert!(flag.ends_with(['h', 'p']) || printed.len() == 1, "{flag}: {printed:?}");
    }
    // As the laboratory itself asks a memcached.
    let found = launch::memcached::at(Path::new(env!("CARGO_BIN_EXE_sphinxd"))).unwrap();
    assert!(found.version.starts_with("1.6.45"), "{}", found.version);
}

#[test]
fn dumps_are_disabled_by_x() {
    let server = sphinxd("-t 2 -X");
    let mut client = Client::connect(server.address);
    assert_eq!(client.ask("stats detail on"), "CLIENT_ERROR stats detail not allowed");
    assert_eq!(client.ask("stats cachedump 1 1"), "CLIENT_ERROR stats cachedump not allowed");
    let other = sphinxd("-t 2");
    assert_eq!(Client::connect(other.address).ask("stats detail on"), "OK");
}

#[test]
fn prefixes_end_where_they_are_told() {
    let server = sphinxd("-t 2 -D /");
    let mut client = Client::connect(server.address);
    client.set("a/b", "v");
    client.set("a:b", "v");
    assert_eq!(client.ask("stats detail dump"), "PREFIX a get 0 hit 0 set 1 del 0");
    assert_eq!(client.text(), "END");
}

/// How much of a process's memory is locked. Units: bytes.
fn locked(pid: u64) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn memory_is_locked_where_the_system_allows_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["-d", "-k", "-p", "0", "-t", "1", "-m", "8", "-P", "own.pid"]);
    let background = Background::of(&folder.path().join("own.pid"));
    let locked = locked(background.number());
    match &lines(&output.stderr)[..] {
        [] => assert!(locked >= 8 << 20, "{locked} B are locked"),
        [warning] => {
            assert!(warning.contains("-k: the memory is not locked"), "{warning}");
            assert_eq!(locked, 0);
            println!("skipped: the half with locked memory, as this system refuses it");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn core_files_are_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let start = "ulimit -S -c 0 && exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", start, env!("CARGO_BIN_EXE_sphinxd")])
        .args(["-d", "-r", "-p", "0", "-t", "1", "-m", "8", "-P", "own.pid"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let background = Background::of(&folder.path().join("own.pid"));
    let limits = fs::read_to_string(format!("/proc/{}/limits", background.number())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let soft = line["Max core file size".len()..].split_whitespace().next().unwrap();
    let warned = lines(&output.stderr).iter().any(|line| line.contains("no core file can be written"));
    assert_eq!(soft == "0", warned, "{line}");
    if warned {
        println!("skipped: the half with core files, as this system's hard limit is 0");
    }
}

/// The lines of Debian's /etc/memcached.conf, each as its start wrapper and unit pass it, and as a shell may: one word.
#[test]
fn debians_configuration_is_understood() {
    let folder = tempfile::tempdir().unwrap();
    let port = crate::support::free_udp_port();
    let pidfile = folder.path().join("memcached.pid");
    let user =
        nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().map_or("root".into(), |user| user.name);
    let conf = [
        "-d".to_owned(),
        "-m 64".into(),
        format!("-p {port}"),
        format!("-u {user}"),
        "-l 127.0.0.1".into(),
        "-l ::1".into(),
        format!("-P {}", pidfile.display()),
        "-c 1024".into(),
        "-k".into(),
        "-M".into(),
        "-r".into(),
    ];
    let ipv6 = std::net::TcpListener::bind("[::1]:0").is_ok();
    let whole: Vec<&str> =
        conf.iter().map(String::as_str).filter(|line| ipv6 || !line.contains("::1")).collect();
    let split: Vec<&str> = whole.iter().flat_map(|line| line.split(' ')).collect();
    for words in [split, whole] {
        let output = run(folder.path(), &words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        let background = Background::of(&pidfile);
        let mut client = Client::connect(std::net::SocketAddr::from(([127, 0, 0, 1], port)));
        assert_eq!(client.stat("limit_maxbytes"), 64 << 20);
        client.send("quit\r\n");
        kill_process(background.0, Signal::TERM).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while background.runs() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
    }
}
