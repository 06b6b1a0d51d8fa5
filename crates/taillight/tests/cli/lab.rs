//! The commands that run many trials: on a server of known capacity, interrupted, killed, and given nonsense.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use launch::testing::copy_program;
use results::{Experiment, Kind, ResultFolder, Trial};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::run::{Served, answers, closes, finish, is_cut_short, refuses, says, taillight, text};

/// Nothing in these tests takes longer, unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Short trials on shared machines: the test covers the steps, not the figures.
const SHORT: [&str; 12] = [
    "--window",
    "300ms",
    "--warmup",
    "50ms",
    "--drain",
    "50ms",
    "--fill",
    "never",
    "--pace",
    "sleep",
    "--connections",
    "8",
];

/// A server of one request at a time, each of 1 ms: it sustains just under 1 krps.
fn slow() -> Served {
    Served::slow("memcached", "200", "constant:1ms")
}

fn lab(command: &str, out: &Path, options: &[&str]) -> Command {
    let mut program = taillight(&[command]);
    program.args(options).arg("--out").arg(out);
    program
}

/// The result whose folder a run printed.
fn result_of(out: &Path) -> (ResultFolder, Experiment) {
    let mut folders = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let folder = ResultFolder::open(&folders.next().expect("a result")).unwrap();
    assert!(folders.next().is_none(), "one run, one folder");
    let experiment = folder.load().unwrap();
    (folder, experiment)
}

#[test]
fn a_sweep_leaves_a_result_a_table_and_a_page() {
    let (server, out) = (slow(), TempDir::new().unwrap());
    let mut sweep = lab("sweep", out.path(), &["cache", "--target", &server.address, "--loads", "20,60"]);
    let output =
        finish(sweep.args(SHORT).args(["--repeats", "2", "--max-tolerance", "20", "--qos", "p50<1s"]));
    answers(&output);
    let is_cut = is_cut_short(&output);
    let (folder, result) = result_of(out.path());
    assert_eq!((result.kind, result.complete, result.targets.len()), (Kind::Sweep, !is_cut, 1));
    assert_eq!(result.targets[0].name, server.address);
    // One for each block, but those that the host had given up.
    let max = &result.targets[0].max_throughput;
    assert!(max.len() == 2 || is_cut || text(&output).contains("given up"), "{}", text(&output));
    assert!(max.iter().all(|max| max.low_rps < 1_200.0 && max.low_rps > 1.0), "{max:?}");
    let points = result.trials.iter().filter(|t| t.load_share.is_some() && t.instead_of.is_none()).count();
    assert!((points >= 2 * max.len() || is_cut) && points <= 4, "{points} of {max:?}");
    let connections = |trial: &Trial| trial.spec.as_ref().unwrap().generator.connections;
    assert!(result.trials.iter().all(|trial| connections(trial) == 8));
    assert!(result.notes.iter().any(|note| note.contains("neither pinned nor flushed")));
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("</html>"));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        (points == 0 || stdout.contains("60 %"))
            && stdout.contains("report.html")
            && !stdout.contains('\x1b'),
        "{stdout}"
    );
    // In a pipe, progress is plain lines on standard error.
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("block 2 of 2: sweep") || is_cut, "{stderr}");
    assert!(stderr.contains("trial 1 of about"), "{stderr}");
    assert!(!stderr.contains('\x1b'), "{stderr}");

    // The page can be made again from the files on disk.
    fs::remove_file(folder.path().join("report.html")).unwrap();
    let again = finish(taillight(&["report"]).arg(folder.path()));
    assert!(again.status.success() && String::from_utf8_lossy(&again.stdout) == stdout, "{}", text(&again));
    assert_eq!(fs::read_to_string(folder.path().join("report.html")).unwrap(), page);

    // The result can be compared with another one: here a copy of itself under another name.
    let mut other = result.clone();
    other.name = "other".into();
    let beside = ResultFolder::create(out.path(), "other").unwrap();
    beside.save(&other).unwrap();
    let html = out.path().join("both.html");
    let compare = |a: &Path, b: &Path| {
        let mut compare = taillight(&["compare"]);
        compare.args([a, b]).arg("--html").arg(&html);
        compare
    };
    let output = finish(&mut compare(folder.path(), beside.path()));
    answers(&output);
    assert!(html.exists(), "{}", text(&output));
    // On a machine that is too busy there may be no valid trial, and then it says that.
    let said = ["too few to judge a difference", "no valid trials on both sides", "have no load in common"];
    assert!(said.iter().any(|said| text(&output).contains(said)), "{}", text(&output));
    refuses(&mut compare(folder.path(), folder.path()), 1, &["are the same result"]);
    let mut chosen = folder.path().as_os_str().to_owned();
    chosen.push("@redis");
    refuses(&mut compare(Path::new(&chosen), beside.path()), 1, &["no target 'redis'", &server.address]);
    refuses(taillight(&["compare"]).arg(folder.path()), 1, &["1 targets, not two"]);
}

#[test]
fn a_gate_closes_with_99() {
    let (server, out) = (slow(), TempDir::new().unwrap());
    let options =
        ["cache", "--target", &server.address, "--max-tolerance", "30", "--tolerance", "50", "--gate"];
    // No answer of this server takes under 1 ms.
    let mut peak = lab("peak", out.path(), &options);
    let output = finish(peak.args(SHORT).args(["--qos", "p50<100us", "--name", "gated"]));
    closes(&output);
    says(&output, "p50 ≤ 100 µs at no load");
    let (folder, result) = result_of(out.path());
    assert!(result.complete != is_cut_short(&output) && folder.path().ends_with("gated"));
    // No peak at all where the machine was too busy for a valid trial.
    assert_eq!(result.targets[0].peak.as_ref().map_or(0.0, |peak| peak.low_rps), 0.0);
}

/// Processes whose parent is `pid`.
fn children(pid: u32) -> Vec<u32> {
    let stat_of = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("stat")).ok();
    let ours = |stat: String| {
        let id = stat.split(' ').next()?.parse().ok()?;
        let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        (parent == pid).then_some(id)
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(stat_of).filter_map(ours).collect()
}

/// How many of them run the same program as `pid`: its servers and its generator, and not the shells that clean up.
fn own_children(pid: u32) -> usize {
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own = program(pid);
    children(pid).into_iter().filter(|child| own.is_some() && program(*child) == own).count()
}

/// Whether `pid` is there and no zombie.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < LIMIT, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A demo on the embedded server that has at least one trial on disk and is in the middle of another.
fn demo_under_way(out: &Path) -> (Child, PathBuf) {
    let mut demo = lab("demo", out, &["--quick", "--server-memory", "64MiB", "--name", "demo"]);
    let demo = demo.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let folder = out.join("demo");
    wait_until("a trial is on disk and server and generator run", || {
        let trials = ResultFolder::open(&folder).and_then(|f| f.load()).map_or(0, |e| e.trials.len());
        trials > 0 && own_children(demo.id()) == 2
    });
    (demo, folder)
}

#[test]
fn ctrl_c_leaves_no_process_and_says_where_the_partial_result_is() {
    for (signal, words) in [(Signal::INT, "Ctrl-C"), (Signal::TERM, "SIGTERM")] {
        let out = TempDir::new().unwrap();
        let (demo, folder) = demo_under_way(out.path());
        let started_by_it = children(demo.id());
        kill_process(Pid::from_child(&demo), signal).unwrap();
        let output = demo.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output));
        assert!(started_by_it.iter().all(|pid| !runs(*pid)), "{started_by_it:?}");
        let said = text(&output);
        assert!(said.contains("partial result") && said.contains(folder.to_str().unwrap()), "{said}");
        let result = ResultFolder::open(&folder).unwrap().load().unwrap();
        assert_eq!((result.complete, result.interrupted.as_deref()), (false, Some(words)));
        assert!(!result.trials.is_empty());
        assert!(fs::read_to_string(folder.join("report.html")).unwrap().contains("Partial result"));
    }
}

/// Processor time of a process. Units: ticks of 10 ms.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    times.filter_map(|time| time.parse::<u64>().ok()).sum()
}

#[test]
fn a_load_that_is_interrupted_shows_the_part_that_it_has() {
    let (server, out) = (Served::canned(), TempDir::new().unwrap());
    let options = ["cache", "--target", &server.address, "--fill", "never", "-r", "2k", "--pace", "spin"];
    let mut load = lab("load", out.path(), &options);
    load.args(["--warmup", "100ms", "--window", "100s", "--name", "part"]);
    let load = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A generator that spins has used as much time as it ran.
    wait_until("its window is open for a second", || {
        children(load.id()).iter().any(|generator| ticks(*generator) > 150)
    });
    kill_process(Pid::from_child(&load), Signal::INT).unwrap();
    let output = load.wait_with_output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("Partial result") && said.contains("p50"), "{said}");
    let result = ResultFolder::open(&out.path().join("part")).unwrap().load().unwrap();
    assert!(!result.complete && result.interrupted.is_some());
    assert!(result.notes.iter().any(|note| note.contains("of its window of 100.0 s")), "{:?}", result.notes);
    let [trial] = &result.trials[..] else { panic!("{} trials", result.trials.len()) };
    assert!((0.5..99.0).contains(&trial.window_s) && trial.arrivals.completed > 500, "{:?}", trial.arrivals);
}

#[test]
fn sigkill_of_the_program_takes_its_processes_along_and_leaves_the_result() {
    let out = TempDir::new().unwrap();
    let (mut demo, folder) = demo_under_way(out.path());
    let started_by_it = children(demo.id());
    demo.kill().unwrap();
    demo.wait().unwrap();
    wait_until("its processes have ended", || started_by_it.iter().all(|pid| !runs(*pid)));
    let result = ResultFolder::open(&folder).unwrap().load().unwrap();
    assert!(!result.complete && !result.trials.is_empty());
    assert!(finish(taillight(&["report"]).arg(&folder)).status.success());
}

#[test]
fn targets_and_options_that_make_no_sense_start_nothing() {
    let out = TempDir::new().unwrap();
    let results = out.path().join("results");
    let check = |line: &str, code: i32, says: &[&str]| {
        let words: Vec<&str> = line.split_whitespace().collect();
        refuses(&mut lab(words[0], &results, &words[1..]), code, says);
        let left = fs::read_dir(&results).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{line}: nothing was measured, so nothing is left");
    };
    check(
        "sweep cache --target redit",
        2,
        &["did you mean 'redis'?", "sphinx (embedded), memcached", "HOST:PORT"],
    );
    check("peak cache --target localhost:http", 2, &["'http' is not a port"]);
    check("compare --live sphinx dragonfly", 2, &["'dragonfly'", "HOST:PORT"]);
    check("compare --live sphinx", 2, &["<B>"]);
    check("sweep cache --target 127.0.0.1:1", 1, &["127.0.0.1:1 cannot be reached", "start the server"]);
    check("sweep cache --loads 0,50", 2, &["0", "per cent over 0"]);
    check("sweep cache --loads 10,x", 2, &["per cent over 0"]);
    check("sweep cache --repeats 0", 2, &["1..=1000"]);
    check("sweep cache --qos p99<5", 2, &["no unit"]);
    check("sweep cache --conections 5", 2, &["--conections", "--connections"]);
    check("sweep cache --connections 2 --threads 4", 1, &["each thread needs at least one"]);
    check("sweep cache --window 1ms", 1, &["window 1 ms"]);
    check("peak cache --tolerance NaN", 2, &["per cent over 0"]);
    check("demo --name ../x", 2, &["--name", "letters"]);
    check("demo --server-cpus 4000", 1, &["4000", "may use"]);
    check("sweep web", 1, &["sphinx is a cache and answers no HTTP", "--target nginx"]);
}

#[test]
fn a_server_that_hangs_up_leaves_no_result() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || listener.incoming().for_each(drop));
    let out = TempDir::new().unwrap();
    refuses(
        &mut lab("sweep", out.path(), &["cache", "--target", &address]),
        1,
        &["trial 0001", &address, "closed the connection"],
    );
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn what_is_not_a_result_is_refused() {
    let folder = TempDir::new().unwrap();
    refuses(taillight(&["report"]).arg(folder.path()), 1, &["cannot read", "result.json"]);
    refuses(&mut taillight(&["compare", "/no/such/a", "/no/such/b"]), 1, &["cannot read", "/no/such/a"]);
    // `compare` of two results measures nothing, so it refuses options for a measurement instead of ignoring them.
    for option in [["--qos", "p99<1ms"], ["--loads", "30"], ["--server-threads", "2"], ["--probe", "cpu"]] {
        refuses(taillight(&["compare", "/no/a", "/no/b"]).args(option), 1, &[option[0], "add --live"]);
    }
    fs::write(folder.path().join("result.json"), "{}").unwrap();
    refuses(taillight(&["report"]).arg(folder.path()), 1, &["no schema number"]);
    fs::write(folder.path().join("result.json"), "{ \"schema\": 999 }").unwrap();
    refuses(taillight(&["report"]).arg(folder.path()), 1, &["schema 999", "newer"]);
}

#[test]
fn a_folder_that_may_not_be_written_to_is_found_before_anything_runs() {
    let out = TempDir::new().unwrap();
    let results = out.path().join("results");
    fs::create_dir(&results).unwrap();
    let mut demo = lab("demo", &results, &["--quick"]);
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere, so the program runs as a user who may not.
        let program = out.path().join("taillight");
        copy_program(env!("CARGO_BIN_EXE_taillight"), &program);
        let open = |path: &Path| {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap()
        };
        open(out.path());
        open(&program);
        demo = Command::new(program);
        demo.args(["demo", "--quick", "--out"]).arg(&results).uid(65_534).gid(65_534);
    } else {
        fs::set_permissions(&results, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    }
    refuses(&mut demo, 1, &["cannot write", results.to_str().unwrap(), "may write to", "--out"]);
    assert_eq!(fs::read_dir(&results).unwrap().count(), 0);
}
