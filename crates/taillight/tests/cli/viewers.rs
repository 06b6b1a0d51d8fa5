//! Viewers against servers of known videos: what is asked for, what is checked, and what a user sees.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use launch::find_program;
use reactor::{Address, Epoll, Reactor};
use results::{Sessions, Trial, Verdict};
use spec::Workload;
use tempfile::TempDir;
use video_server::{Counts, Limits, Stalls, VideoServer};
use videos::Catalog;

use crate::run::{finish, refuses, taillight, text};

/// The set of these tests: 20 videos, of which a chunk of 480p has 5 KiB.
const SET: &str = "20x1/640";

/// A video server in this process, for as long as that lasts.
fn served(faults: &str) -> String {
    let catalog = Catalog::new(&SET.parse().unwrap(), 1).unwrap();
    let faults = faults.parse().unwrap();
    let (send, address) = mpsc::channel();
    thread::spawn(move || {
        let mut reactor = Epoll::new().unwrap();
        let at = reactor.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
        send.send(at.to_string()).unwrap();
        let counts = Arc::new(Counts::default());
        let mut server = VideoServer::new(catalog, faults, Stalls::None, Limits::default(), counts);
        while server.step(&mut reactor).is_ok() {}
    });
    format!("http://{}", address.recv().unwrap())
}

/// A short trial at fifty times the speed; the machine may be busy, so only the accounting is certain and not the verdict.
fn trial(target: &str, options: &[&str]) -> Trial {
    let mut command = taillight(&["load", "video", "--target", target, "--pace", "sleep", "--json"]);
    let usual = [
        ("--videos", SET),
        ("--speed", "50"),
        ("--rate", "20"),
        ("--warmup", "100ms"),
        ("--window", "2s"),
        ("--bandwidth", "off"),
    ];
    for (name, value) in usual {
        let replaced = options.contains(&name) || name == "--videos" && options.contains(&"--playlist");
        if !replaced {
            command.args([name, value]);
        }
    }
    let output = finish(command.args(options));
    assert!(output.status.success(), "{}", text(&output));
    let trial: Trial =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    let a = trial.arrivals;
    assert_eq!(a.intended, a.completed + a.errors + a.timeouts + a.unfinished, "{a:?}");
    let sessions = sessions(&trial);
    assert_eq!(sessions.begun + sessions.underway, sessions.ended + sessions.cut, "{sessions:?}");
    trial
}

fn sessions(trial: &Trial) -> &Sessions {
    trial.sessions.as_ref().expect("its arrivals are sessions")
}

#[track_caller]
fn no_errors(trial: &Trial) {
    assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
    assert!(trial.arrivals.completed > 100, "{:?}", trial.arrivals);
}

#[test]
fn a_trial_accounts_for_every_chunk_and_every_session() {
    let trial = trial(&served(""), &["--verify", "checksum"]);
    no_errors(&trial);
    let names: Vec<&str> = trial.operations.iter().map(|one| one.name.as_str()).collect();
    assert!(names.iter().all(|name| ["240p", "360p", "480p", "720p"].contains(name)), "{names:?}");
    assert_eq!((trial.counters["verify_failures"], trial.counters["partial_content"]), (0.0, 1.0));
    for name in ["misses", "rebuffer_ratio", "sessions_met", "hopeless", "abandoned"] {
        assert!((0.0..=1.0).contains(&trial.counters[name]), "{name}: {:?}", trial.counters);
    }
    let found = sessions(&trial);
    // 40 came in the window, and those who were there before are as many as the rate times 2.7 s.
    assert!(found.underway > 20 && found.begun > 20 && found.live_max > 20, "{found:?}");
    for name in ["startup", "slack", "buffer"] {
        assert!(found.distributions[name].count > 20, "{name}: {found:?}");
    }
    let Some(Workload::Video(video)) = trial.spec.map(|spec| spec.workload) else { panic!("no video") };
    assert_eq!((video.speed, video.videos.to_string().as_str()), (50, SET));
    assert_eq!(video.chunk_timeout, Some(units::Nanos::from_millis(200)), "as it was resolved");
}

#[test]
fn a_server_that_plants_faults_is_seen_through() {
    let check = |faults: &str, kind: &str| {
        let trial = trial(&served(faults), &["--verify", "checksum"]);
        let found = trial.errors.iter().find(|one| one.kind == kind);
        assert!(found.is_some_and(|one| one.count > 0), "{faults}: {:?}", trial.errors);
        assert!(trial.counters["misses"] > 0.0 && trial.counters["sessions_met"] < 1.0);
        assert!(matches!(trial.verdict, Verdict::Invalid { .. }), "{faults}: {:?}", trial.verdict);
    };
    check("whole:3", "whole_file");
    check("wrong-range:3", "wrong_range");
    check("unavailable:3", "status_503");
    check("cut:3", "answer_cut_off");
    check("garbled:3", "wrong_content");
}

#[test]
fn threads_share_the_viewers() {
    let one = trial(&served(""), &["--threads", "1"]);
    let three = trial(&served(""), &["--threads", "3"]);
    no_errors(&three);
    assert_eq!(sessions(&one).underway, sessions(&three).underway, "one seed, the same viewers");
    assert_eq!(sessions(&one).begun, sessions(&three).begun);
}

#[test]
fn playlists_are_followed() {
    let set = trial(&served(""), &["--protocol", "hls"]);
    no_errors(&set);
    assert!(set.operations.iter().any(|one| one.name == "index"), "{:?}", set.operations);
    let target = served("");
    let video = format!("{target}/v000000/master.m3u8");
    let listed = trial(&target, &["--protocol", "hls", "--playlist", &video, "--rate", "30"]);
    no_errors(&listed);
    assert!(listed.operations.iter().any(|one| one.name == "index"), "{:?}", listed.operations);
}

#[test]
fn a_closed_loop_is_called_one() {
    let trial = trial(&served(""), &["--pacing", "closed"]);
    no_errors(&trial);
    let Some(Workload::Video(video)) = trial.spec.map(|spec| spec.workload) else { panic!("no video") };
    assert!(video.pacing.is_closed());
}

#[test]
fn more_viewers_than_there_is_room_for_are_refused() {
    let trial = trial(&served(""), &["--max-sessions", "10"]);
    let found = sessions(&trial);
    assert!(found.refused > 10 && found.live_max <= 10, "{found:?}");
    assert!(matches!(trial.verdict, Verdict::Invalid { .. }), "{:?}", trial.verdict);
}

#[test]
fn a_rate_beyond_this_machine_is_an_invalid_trial_that_says_so() {
    // At fifty times the speed a session lasts 2.7 s: 13 million at a time.
    let beyond = trial(&served(""), &["--rate", "5M"]);
    let Verdict::Invalid { reasons } = &beyond.verdict else { panic!("{:?}", beyond.verdict) };
    let [only] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(only.reason, results::Reason::RateMissed);
    assert!(only.detail.contains("the generator is the limit"), "{}", only.detail);
    assert_eq!((beyond.arrivals.intended, sessions(&beyond).all()), (0, 0), "nothing was sent");
    let drawn = trial(&served(""), &["--rate", "5M", "--max-sessions", "10"]);
    assert!(drawn.verdict.to_string().contains("no more than"), "{}", drawn.verdict);
}

/// A server that answers every request with these bytes and closes.
fn canned(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
            let mut piece = [0; 4096];
            let _ = stream.read(&mut piece);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{at}")
}

#[test]
fn what_cannot_be_watched_is_refused_before_the_load() {
    let check = |target: &str, options: &[&str], code: i32, says: &[&str]| {
        let mut command = taillight(&["load", "video", "--target", target, "--rate", "2", "--json"]);
        refuses(command.args(options), code, says);
    };
    let target = served("");
    check(&target, &["--videos", "30x1/640"], 1, &["has", "name the set that is there"]);
    check(&canned("HTTP/1.1 404 Not Found\r\n\r\n"), &[], 1, &["fileset make", "--video 1000x1/160"]);
    check(&canned("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), &[], 1, &["HTTP ranges"]);
    check(&canned("SSH-2.0-x\r\n"), &[], 1, &["does not begin with HTTP/1"]);
    check("http://127.0.0.1:1", &[], 1, &["cannot connect"]);
    check(&target, &["--closed"], 2, &["--rate"]);
    check(&target, &["--clients", "5"], 1, &["each session is a client"]);
    check("memcached", &[], 1, &["serves no videos"]);
    check(&target, &["--playlist", &format!("{target}/v000000/master.m3u8")], 1, &["add --protocol hls"]);
    let hls = |playlist: &str, says: &str| {
        let target = canned(playlist_answer(playlist));
        let url = format!("{target}/m.m3u8");
        check(&target, &["--protocol", "hls", "--playlist", &url], 1, &[&url, says]);
    };
    hls("#EXTM3U\n#EXTINF:4,\na.ts\n", "it is live");
    hls("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nm.m3u8\n", "round in a loop");
    hls("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://other/m.m3u8\n", "another server");
    hls("#EXTM3U\n#EXT-X-ENDLIST\n", "neither variants nor segments");
    hls("<html>", "no playlist");
}

/// A playlist as an answer; leaked, as servers of tests last as long as these.
fn playlist_answer(playlist: &str) -> &'static str {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{playlist}", playlist.len()).leak()
}

#[test]
fn help_and_chapter_say_what_a_rate_is() {
    let help = text(&finish(&mut taillight(&["load", "video", "--help"])));
    assert!(
        help.contains("sessions per second") && help.contains("CLOSED LOOP WITHIN THE SESSION"),
        "{help}"
    );
    assert!(help.contains("--abandon") && !help.contains("--requests-per-connection"), "{help}");
    let chapter = text(&finish(&mut taillight(&["explain", "video"])));
    for word in ["workload.late", "video.fit = 0.8", "max(0, i - 2) x 10 s", "rebuffer_ratio"] {
        assert!(chapter.contains(word), "{word}: {chapter}");
    }
}

#[test]
fn a_load_of_viewers_is_kept_with_its_report() {
    let out = TempDir::new().unwrap();
    let mut command =
        taillight(&["load", "video", "--target", &served(""), "--videos", SET, "--speed", "50"]);
    command.args(["--rate", "10", "--window", "2s", "--bandwidth", "off", "--pace", "sleep"]);
    command.args(["--pacing", "closed", "--out"]);
    let output = finish(command.arg(out.path()));
    assert!(output.status.success(), "{}", text(&output));
    let folder = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
    let report = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for words in ["Closed loop within each session", "50 times as fast"] {
        assert!(report.contains(words), "{words}");
    }
}

#[test]
fn nginx_serves_a_set_to_viewers() {
    let Some(nginx) = find_program("nginx") else {
        println!("skipped: there is no nginx here");
        return;
    };
    let outer = TempDir::new().unwrap();
    // Its workers run as another user.
    std::fs::set_permissions(outer.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let folder = outer.path().join("set");
    let output = finish(taillight(&["fileset", "make", "--video", "5x1/640"]).arg(&folder));
    assert!(output.status.success(), "{}", text(&output));
    let port = launch::free_port().unwrap();
    let configuration = outer.path().join("nginx.conf");
    let own = outer.path().display();
    let text = format!(
        "daemon off;\npid {own}/pid;\nerror_log {own}/errors;\nevents {{}}\nhttp {{ access_log off; sendfile on;\n\
         client_body_temp_path {own}/b; proxy_temp_path {own}/p; fastcgi_temp_path {own}/f; uwsgi_temp_path {own}/u;\n\
         scgi_temp_path {own}/s; server {{ listen 127.0.0.1:{port}; root {}; }} }}\n",
        folder.display()
    );
    std::fs::write(&configuration, text).unwrap();
    let spec = launch::Spec::new("nginx", &nginx).args(["-c", &configuration.display().to_string()]);
    let spec = spec.args(["-p", &outer.path().display().to_string()]);
    let server = launch::Process::spawn(spec).unwrap();
    let address = format!("127.0.0.1:{port}");
    for _ in 0..6_000 {
        if TcpStream::connect(&address).is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let options = ["--videos", "5x1/640", "--verify", "checksum", "--bandwidth", "read", "--protocol", "hls"];
    let trial = trial(&format!("http://{address}"), &options);
    no_errors(&trial);
    assert_eq!(trial.counters["verify_failures"], 0.0);
    assert!(trial.found.server_version.is_some_and(|version| version.starts_with("nginx/")));
    let _ = server.stop(Duration::from_secs(5));
}
