//! Real processes: started, awaited, stopped, and never left behind.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use launch::testing::comes_true;
use launch::{Error, Process, Spec, User, free_port};

/// Far beyond what anything here takes, and short enough that a hang becomes a failure.
const LONG: Duration = Duration::from_secs(60);

fn sh(script: &str) -> Spec {
    Spec::new("sh", "sh").args(["-c", script])
}

fn start(script: &str) -> Process {
    Process::spawn(sh(script)).unwrap()
}

fn exists(pid: u32) -> bool {
    fs::exists(format!("/proc/{pid}")).unwrap()
}

#[test]
fn waits_for_the_end_and_tells_how_it_was() {
    let check = |script: &str, code: Option<i32>, signal: Option<i32>| {
        let status = start(script).wait(LONG).unwrap();
        assert_eq!((status.code(), status.signal()), (code, signal), "{script}");
    };
    check("exit 0", Some(0), None);
    check("exit 7", Some(7), None);
    check("kill -9 $$", None, Some(9));
}

#[test]
fn a_failure_tells_the_last_words() {
    let error = start("seq 100 >&2; echo 'no memory' >&2; exit 3").wait_success(LONG).unwrap_err();
    let Error::Died { stderr, status, .. } = &error else { panic!("{error:?}") };
    assert_eq!((stderr.len(), stderr.last().unwrap().as_str(), status.code()), (20, "no memory", Some(3)));
    assert!(
        error.to_string().starts_with("sh ended with a failure: exit status: 3; its last words:"),
        "{error}"
    );
    start("exit 0").wait_success(LONG).unwrap();
}

#[test]
fn a_wait_is_bounded() {
    let mut process = start("exec sleep 600");
    let error = process.wait(Duration::from_millis(5)).unwrap_err();
    assert!(matches!(error, Error::StillRunning { .. }), "{error}");
    assert!(process.is_running());
}

#[test]
fn stops_gently_and_then_by_force() {
    let polite = "trap 'echo bye >&2; exit 4' TERM; echo up; while :; do sleep 0.01; done";
    let stubborn = "trap '' TERM; echo up; while :; do sleep 0.01; done";
    let check = |script: &str, grace: Duration, expect: (bool, Option<i32>, Option<i32>)| {
        let mut process = start(script);
        let pid = process.pid();
        process.await_line("up", LONG).unwrap();
        let ended = process.stop(grace).unwrap();
        assert_eq!((ended.killed, ended.status.code(), ended.status.signal()), expect, "{script}");
        assert!(!exists(pid));
        ended.stderr
    };
    assert_eq!(check(polite, LONG, (false, Some(4), None)), ["bye"]);
    check(stubborn, Duration::from_millis(5), (true, None, Some(9)));
    check("echo up; exec sleep 600", LONG, (false, None, Some(15)));
}

#[test]
fn dropping_kills_and_reaps_the_whole_group() {
    let mut process = start("sleep 600 & echo child $!; wait");
    let child: u32 = process.await_line("child ", LONG).unwrap()[6..].parse().unwrap();
    let pid = process.pid();
    assert!(exists(pid) && exists(child));
    drop(process);
    assert!(!exists(pid));
    // Its child has another parent now, which reaps it when it gets to it.
    assert!(ends(child), "the child's child {child} was left behind");
}

/// Whether process `pid` ends soon: it does not exist, or is a zombie that its new parent has not reaped.
fn ends(pid: u32) -> bool {
    comes_true(|| {
        let state = fs::read_to_string(format!("/proc/{pid}/stat"));
        state.map_or(true, |stat| stat.rsplit_once(") ").is_none_or(|(_, s)| s.starts_with('Z')))
    })
}

#[test]
fn what_is_not_read_does_not_block_it() {
    // Ten times the 64 KiB that a pipe holds, on both streams.
    let mut process = start("head -c 655360 /dev/zero | tr '\\0' '\\n'; head -c 655360 /dev/zero >&2");
    assert!(process.wait(LONG).unwrap().success());
}

#[test]
fn ready_when_a_line_says_so() {
    let mut process = start("echo starting; echo 'ready on 127.0.0.1:1'; exec sleep 600");
    assert_eq!(process.await_line("ready on ", LONG).unwrap(), "ready on 127.0.0.1:1");
    assert!(process.is_running());
    // Also when that was the last thing it did.
    assert_eq!(start("echo ready").await_line("ready", LONG).unwrap(), "ready");
    // Output on standard error extends the wait.
    let busy = "for n in 1 2 3 4 5 6; do sleep 0.5; echo still busy >&2; done; echo ready";
    assert_eq!(start(busy).await_line("ready", Duration::from_secs(2)).unwrap(), "ready");
}

#[test]
fn not_ready_says_why() {
    let check = |script: &str, within: Duration, expect: &str| {
        let error = start(script).await_line("ready", within).unwrap_err().to_string();
        assert_eq!(error, expect, "{script}");
    };
    let soon = Duration::from_millis(50);
    let silent = "it wrote nothing to standard error";
    check(
        "echo no port >&2; exit 9",
        LONG,
        "sh ended before it was ready: exit status: 9; its last words: no port",
    );
    check("exec sleep 600", soon, &format!("sh did not print a line 'ready…' within 50ms; {silent}"));
    check("exec sleep 600 >&-", soon, &format!("sh did not print a line 'ready…' within 50ms; {silent}"));
}

#[test]
fn a_port_that_no_process_opens_is_not_ready() {
    let address = SocketAddr::from(([127, 83, 7, 2], free_port().unwrap()));
    let error = start("exec sleep 600").await_port(address, Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, Error::NotReady { .. }), "{error}");
    let error = start("echo broken >&2; exit 1").await_port(address, LONG).unwrap_err();
    assert!(error.to_string().ends_with("its last words: broken"), "{error}");
}

#[test]
fn a_port_that_another_process_has_is_not_ready() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    // Its queue would be full after 129 clients, and would then look as if no process listened.
    std::thread::spawn(move || stranger.incoming().for_each(drop));
    for script in ["exec sleep 600", "echo in use >&2; exit 1"] {
        let error = start(script).await_port(address, Duration::from_millis(400)).unwrap_err();
        assert!(matches!(error, Error::PortTaken { .. }), "{script}: {error}");
    }
}

#[test]
fn a_program_that_cannot_run_is_named() {
    let check = |program: &str, expect: &str| {
        let error = Process::spawn(Spec::new("server", program)).err().unwrap().to_string();
        assert!(error.starts_with(expect), "{error}");
    };
    check("/no/such/program", "server: there is no program /no/such/program; check the path");
    check("no-such-program-here", "server: there is no program no-such-program-here; ");
    check("/etc/passwd", "server: cannot start /etc/passwd: Permission denied");
}

#[test]
fn runs_on_the_processors_it_was_given() {
    let allowed = |process: &mut Process| process.await_line("Cpus_allowed_list:", LONG).unwrap();
    let last = *host_cpus().last().unwrap();
    let mut process = Process::spawn(sh("cat /proc/self/status").cpus([last])).unwrap();
    assert_eq!(allowed(&mut process), format!("Cpus_allowed_list:\t{last}"));
    for cpus in [vec![], vec![1023], vec![last, 1023], vec![100_000]] {
        let error = Process::spawn(sh("exit 0").cpus(cpus.clone())).err().unwrap();
        assert!(matches!(error, Error::Cpus { .. }), "{cpus:?}: {error}");
    }
}

fn host_cpus() -> Vec<usize> {
    let set = rustix::thread::sched_getaffinity(None).unwrap();
    (0..1024).filter(|&cpu| set.is_set(cpu)).collect()
}

#[test]
fn gets_its_environment_and_its_own_process_group() {
    let mut process =
        Process::spawn(sh("echo $TAILLIGHT_TEST; cut -d' ' -f5 /proc/$$/stat").env("TAILLIGHT_TEST", "yes"))
            .unwrap();
    assert_eq!(process.next_line(LONG).as_deref(), Some("yes"));
    // Ctrl-C signals the terminal's process group, so a child in its own is spared.
    let group = process.next_line(LONG).unwrap();
    assert_eq!(group.trim(), process.pid().to_string());
}

#[test]
fn root_can_run_it_as_another_user() {
    let Some(user) = User::is_root().then(User::nobody).flatten() else {
        println!("skipped: needs root");
        return;
    };
    let uid = user.uid;
    let spec = Spec { user: Some(user.clone()), ..sh("id -u; id -G") };
    let mut process = Process::spawn(spec).unwrap();
    assert_eq!(process.next_line(LONG), Some(uid.to_string()));
    assert_eq!(process.next_line(LONG), Some(user.gid.to_string()));
}

#[test]
fn lines_are_written_only_where_an_input_was_asked_for() {
    let mut process = Process::spawn(sh("read line; echo \"got $line\"").input()).unwrap();
    process.write_line("start 5").unwrap();
    assert_eq!(process.await_line("got", LONG).unwrap(), "got start 5");
    let error = start("exec sleep 600").write_line("start 5").unwrap_err();
    assert!(error.to_string().contains("Spec::input"), "{error}");
    // One that has ended is an error, and no signal that ends the writer.
    process.wait(LONG).unwrap();
    assert!(matches!(process.write_line("more"), Err(Error::Os { .. })));
}
