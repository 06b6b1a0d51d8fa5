//! Viewers against servers of known videos: requests, checks of the answers, and the playback seen by a user.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use datasets::videos::Catalog;
use launch::find_program;
use reactor::{Address, Epoll, Reactor};
use reference_servers::Stalls;
use reference_servers::video::{Limits, ServerCounters, VideoServer};
use results::{Sessions, Trial, Verdict};
use spec::Workload;
use tempfile::TempDir;

use crate::run::{answers, finish, on_free_port, refuses, taillight, text};

/// The set of these tests: 20 videos, of which a chunk of 480p has 5 KiB.
const SET: &str = "20x1/640";

/// A video server in this process, for as long as that lasts.
fn served(faults: &str) -> String {
    served_with(faults, Stalls::default())
}

/// The same with stalls of the whole server.
fn served_with(faults: &str, stalls: Stalls) -> String {
    let catalog = Catalog::new(&SET.parse().unwrap(), 1).unwrap();
    let faults = faults.parse().unwrap();
    let (send, address) = mpsc::channel();
    thread::spawn(move || {
        let mut reactor = Epoll::new().unwrap();
        let at = reactor.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
        send.send(at.to_string()).unwrap();
        let counts = Arc::new(ServerCounters::default());
        let mut server = VideoServer::new(catalog, faults, stalls, Limits::default(), counts);
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
    answers(&output);
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
    check("gone:3", "status_404");
    check("reset:3", "connection_lost");
}

#[test]
fn a_server_that_is_late_costs_viewers_their_chunks_and_no_other_arrival() {
    let due = trial(&served(""), &[]).arrivals.intended;
    let check = |faults: &str, stalls: Stalls| {
        let trial = trial(&served_with(faults, stalls.clone()), &[]);
        let a = trial.arrivals;
        // Here a chunk lasts 200 ms, and its request is abandoned after six times this duration.
        assert!(a.timeouts + a.unfinished > 0, "{faults} {stalls:?}: {a:?}");
        assert!(
            trial.counters["misses"] > 0.0 && trial.counters["rebuffer_ratio"] > 0.0,
            "{:?}",
            trial.counters
        );
        assert_eq!(a.intended, due, "{faults} {stalls:?}: what is due does not follow from what came");
    };
    check("delay:5:30s", Stalls::default());
    check("trickle:5:16B", Stalls::default());
    let [every, span] = [2_000, 1_900].map(units::Nanos::from_millis);
    check("", Stalls::periodic(units::Time(0), every, span, u64::MAX));
}

#[test]
fn what_becomes_of_files_while_they_are_served_is_seen() {
    let Some(nginx) = Nginx::over("5x1/640") else { return };
    let rung = |video: u64, rung: &str| nginx.folder.join(format!("v{video:06}/{rung}.bin"));
    let all = |change: &dyn Fn(&std::path::Path)| {
        for video in 1..5 {
            ["240p", "360p", "480p", "720p"]
                .map(|name| rung(video, name))
                .iter()
                .filter(|file| file.exists())
                .for_each(|file| change(file));
        }
    };
    let options = ["--videos", "5x1/640", "--verify", "checksum", "--popularity", "uniform"];
    let check = |kinds: &[&str]| {
        let trial = trial(&nginx.target, &options);
        let kind = |kind: &&&str| trial.errors.iter().any(|one| one.kind == **kind && one.count > 0);
        assert!(kinds.iter().any(|one| kind(&one)), "{kinds:?}: {:?}", trial.errors);
        // The one video that is as it was is watched on.
        assert!(trial.arrivals.completed > 0, "{:?}", trial.arrivals);
    };
    no_errors(&trial(&nginx.target, &options));
    // As long as before, with other bytes.
    all(&|file| {
        let size = std::fs::metadata(file).unwrap().len() as usize;
        std::fs::write(file, vec![7; size]).unwrap();
    });
    check(&["wrong_content"]);
    // Truncated files: the viewer requests bytes past the end.
    all(&|file| std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(1_000).unwrap());
    check(&["status_416", "wrong_range"]);
    all(&|file| std::fs::remove_file(file).unwrap());
    check(&["status_404"]);
}

#[test]
fn more_sessions_than_descriptors_make_the_trial_invalid_before_the_load() {
    let target = served("");
    let mut command = std::process::Command::new("sh");
    let line = format!(
        "ulimit -n 200 && exec '{}' load video --target {target} --videos {SET} --rate 20 --bandwidth off --json",
        env!("CARGO_BIN_EXE_taillight")
    );
    command.args(["-c", &line]).stdin(std::process::Stdio::null());
    let says = ["rate_missed", "at a time here", "descriptors and ports", "--max-sessions"];
    refuses(&mut command, 75, &says);
}

/// Half of the descriptors at most, of which the server needs the others for files, also where a trial by itself starts it.
#[test]
fn a_server_of_a_trial_by_itself_makes_room_for_no_more_than_descriptors_allow() {
    if find_program("nginx").is_none() {
        return println!("skipped: nginx is not installed (apt-get install nginx)");
    }
    let mut command = std::process::Command::new("sh");
    let line = format!(
        "ulimit -n 4000 && exec '{}' load video --target video --videos {SET} --rate 2 --speed 50 --bandwidth off --warmup 100ms \
         --window 500ms --drain 500ms --pace sleep --json",
        env!("CARGO_BIN_EXE_taillight")
    );
    command.args(["-c", &line]).stdin(std::process::Stdio::null());
    let output = finish(&mut command);
    answers(&output);
    let trial: Trial = serde_json::from_slice(&output.stdout).unwrap();
    assert!(trial.arrivals.completed > 0, "{:?}", trial.arrivals);
}

/// A server that answers parts of the set over TLS, and the certificate that it shows.
fn over_tls(folder: &std::path::Path) -> (String, String) {
    let (certificate, config) = crate::web::certificate(folder);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let stream = rustls::StreamOwned::new(tls, stream.unwrap());
            // One that does not trust the certificate goes away.
            thread::spawn(move || parts(stream));
        }
    });
    (format!("https://{at}"), certificate)
}

/// Answers requests for parts of files of the set, until the client has gone.
fn parts(mut stream: impl Read + Write) -> Option<()> {
    let catalog = Catalog::new(&SET.parse().unwrap(), 1).unwrap();
    let mut head = Vec::new();
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
        let path = text.split(' ').nth(1)?;
        let all =
            (0..catalog.videos()).flat_map(|video| (0..catalog.rungs(video)).map(move |rung| (video, rung)));
        let (video, rung) = all.into_iter().find(|(video, rung)| catalog.path(*video, *rung) == path)?;
        let range = text.split("bytes=").nth(1)?.split("\r\n").next()?;
        let (first, last) = range.split_once('-')?;
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        let size = catalog.size(video, rung);
        let mut body = vec![0; (last - first + 1) as usize];
        assert_eq!(catalog.content(video, rung).range(first..last + 1).fill(&mut body), body.len());
        let length = body.len();
        let head = format!("HTTP/1.1 206 Partial Content\r\nContent-Length: {length}\r\n");
        write!(stream, "{head}Content-Range: bytes {first}-{last}/{size}\r\n\r\n").ok()?;
        stream.write_all(&body).ok()?;
        stream.flush().ok()?;
    }
}

#[test]
fn videos_are_watched_over_tls() {
    let folder = TempDir::new().unwrap();
    let (target, certificate) = over_tls(folder.path());
    let trusted = trial(&target, &["--verify", "checksum", "--tls-ca", &certificate]);
    no_errors(&trusted);
    assert_eq!(trusted.transport, Some(results::Transport::Tls));
    no_errors(&trial(&target, &["--tls-insecure", "--bandwidth", "read", "--warmup", "400ms"]));
    let mut command = taillight(&["load", "video", "--target", &target, "--rate", "2", "--json"]);
    refuses(command.args(["--videos", SET]), 1, &["certificate"]);
}

/// Viewers with a bandwidth at twenty times the speed. The first chunk of 480p, which two in three watch, has 51 KB of which at most
/// 14 KB are sent at once, and takes 50 to 330 ms at what those viewers have: half of all viewers cannot start within 40 ms.
const BOUNDED: [&str; 10] =
    ["--videos", "20x1/64", "--speed", "20", "--rate", "10", "--warmup", "2s", "--window", "4s"];

/// The trial of a run that sets knobs and keeps its result.
fn kept(target: &str, options: &[&str]) -> Trial {
    let out = TempDir::new().unwrap();
    let mut command = taillight(&["load", "video", "--target", target, "--pace", "sleep", "--out"]);
    // A separate state folder: other tests set other knobs at the same time.
    let state = TempDir::new().unwrap();
    command.env("TAILLIGHT_STATE", state.path());
    let output = finish(command.arg(out.path()).args(BOUNDED).args(options));
    answers(&output);
    let folder = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
    results::ResultFolder::open(&folder).unwrap().load().unwrap().trials.remove(0)
}

/// How long viewers wait for the start, as of sessions that came in the window. Units: microseconds.
fn startup_us(trial: &Trial) -> f64 {
    sessions(trial).distributions["startup"].p50_us.unwrap()
}

#[test]
fn a_server_of_loopback_paces_its_clients_by_their_addresses() {
    let group = host::Host::here().cgroups.hierarchies.into_iter().find(|tree| tree.version == 2);
    let (true, Some(group)) = (launch::User::is_root(), group) else {
        println!("skipped: needs root and control groups of version 2");
        return;
    };
    let here = knobs::LocalKernel::new(std::path::Path::new("/"));
    let paces = || knobs::Kernel::paces(&here, std::path::Path::new(&group.mount));
    if paces().is_err() {
        println!("skipped: no programs in the kernel here");
        return;
    }
    let paced = kept("video-server", &["--bandwidth", "pace"]);
    no_errors(&paced);
    assert!(!paces().unwrap(), "the program was left");
    assert!(startup_us(&paced) > 40_000.0, "{} us", startup_us(&paced));
}

#[test]
fn each_client_of_a_server_behind_a_bridge_has_a_link_of_its_own() {
    if !launch::User::is_root() || find_program("nginx").is_none() || find_program("tc").is_none() {
        println!("skipped: needs root, nginx and tc");
        return;
    }
    let route = || {
        let words = ["-4", "route", "show", "table", "local", "198.18.0.0/22"];
        std::process::Command::new("ip").args(words).output().unwrap().stdout
    };
    let options = ["--bandwidth", "shape", "--form", "bridged", "--max-sessions", "200"];
    let shaped = kept("video", &options);
    no_errors(&shaped);
    assert!(startup_us(&shaped) > 40_000.0, "{} us", startup_us(&shaped));
    assert_eq!(route(), b"", "the route was left");
}

#[test]
fn a_bandwidth_that_could_not_be_kept_is_refused() {
    let check = |options: &[&str], says: &[&str]| {
        let mut command = taillight(&["load", "video", "--rate", "2", "--videos", SET]);
        refuses(command.args(options), 1, says);
    };
    let mut alone = taillight(&["load", "video", "--rate", "2", "--bandwidth", "pace", "--json"]);
    refuses(&mut alone, 2, &["--bandwidth pace", "changes nothing", "--bandwidth read"]);
    check(&["--target", "video-server", "--bandwidth", "shape"], &["--form bridged"]);
    let bridged = ["--target", "video", "--bandwidth", "pace", "--form", "bridged", "--max-sessions", "200"];
    check(&bridged, &["--form bare"]);
    check(
        &["--target", "http://198.51.100.7:80", "--bandwidth", "pace"],
        &["do not lead to 198.51.100.7:80"],
    );
    check(
        &["--target", &served(""), "--bandwidth", "pace", "--agents", "127.0.0.1:1"],
        &["agents are on others", "--bandwidth read"],
    );
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
    check(&canned("HTTP/1.1 404 Not Found\r\n\r\n"), &[], 1, &["fileset make FOLDER", "--video 1000x1/160"]);
    check(&canned("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), &[], 1, &["HTTP ranges"]);
    check(&canned("SSH-2.0-x\r\n"), &[], 1, &["is an SSH server", "URL of an HTTP server"]);
    check("http://127.0.0.1:1", &[], 1, &["cannot connect"]);
    check(&target, &["--closed"], 2, &["--rate"]);
    check(&target, &["--clients", "5"], 1, &["each session is a client"]);
    check("memcached", &[], 1, &["serves no videos"]);
    let playlist = format!("{target}/v000000/master.m3u8");
    check(&target, &["--playlist", &playlist, "--protocol", "ranges"], 1, &["use --protocol hls"]);
    let hls = |playlist: &str, says: &str| {
        let target = canned(playlist_answer(playlist));
        let url = format!("{target}/m.m3u8");
        check(&target, &["--protocol", "hls", "--playlist", &url], 1, &[&url, says]);
    };
    hls("#EXTM3U\n#EXTINF:4,\na.ts\n", "it is live");
    hls("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nm.m3u8\n", "line 3: 'm.m3u8' leads back");
    hls("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://other/m.m3u8\n", "another server");
    hls("#EXTM3U\n#EXT-X-ENDLIST\n", "neither variants nor segments");
    hls("<html>", "no playlist");
    let keyed = |key: &str| format!("#EXTM3U\n#EXT-X-KEY:{key}\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n");
    hls(&keyed("METHOD=AES-128"), "line 2: the key has no URI");
    let drm = keyed("METHOD=SAMPLE-AES,URI=\"skd://k\",KEYFORMAT=\"com.apple.streamingkeydelivery\"");
    hls(&drm, "line 2: its segments are encrypted");
    let endless = format!("#EXTM3U\n{}", "#EXTINF:4,\na.ts\n".repeat(1_100_000));
    let target = canned(playlist_answer(&endless));
    let url = format!("{target}/m.m3u8");
    check(&target, &["--protocol", "hls", "--playlist", &url], 1, &["more than 16 MiB"]);
}

/// A server with a playlist, and these bytes in place of each segment.
fn with_segments(answer: &'static str) -> String {
    let playlist = playlist_answer("#EXTM3U\n#EXTINF:2,\na b.ts\n#EXTINF:2,\n\u{e9}.ts\n#EXT-X-ENDLIST\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut piece) {
                    let is_list = piece[..length].windows(5).any(|part| part == b".m3u8");
                    let _ = stream.write_all(if is_list { playlist } else { answer }.as_bytes());
                }
            });
        }
    });
    format!("http://{at}")
}

#[test]
fn a_page_or_nothing_in_place_of_segments_is_an_error_of_the_window_and_no_answer() {
    let check = |answer: &'static str, kind: &str| {
        let target = with_segments(answer);
        let playlist = format!("{target}/m.m3u8");
        let mut command = taillight(&["load", "video", "--target", &target, "--pace", "sleep", "--json"]);
        command.args(["--protocol", "hls", "--playlist", &playlist, "--rate", "20", "--speed", "50"]);
        command.args(["--warmup", "1s", "--window", "500ms", "--bandwidth", "off"]);
        let output = finish(&mut command);
        assert_eq!(output.status.code(), Some(75), "{}", text(&output));
        let trial: Trial = serde_json::from_slice(&output.stdout).unwrap();
        let found: Vec<(&str, u64)> = trial.errors.iter().map(|one| (one.kind.as_str(), one.count)).collect();
        assert!(matches!(found[..], [(only, count)] if only == kind && count > 0), "{found:?}");
        assert_eq!(found[0].1, trial.arrivals.errors, "the warm-up is twice as long as the window");
        let chunk = |operation: &&results::Operation| operation.name != "index";
        let completed = trial.operations.iter().filter(chunk).filter_map(|operation| operation.outcomes);
        assert_eq!(completed.map(|outcomes| outcomes.completed).sum::<u64>(), 0, "no segment came");
    };
    check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "empty_answer");
    check("HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n<!doctype html><p>Back soon", "no_media");
    check("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "status_404");
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
    answers(&output);
    let folder = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
    let report = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for words in ["Closed loop within each session", "50 times as fast"] {
        assert!(report.contains(words), "{words}");
    }
}

/// NGINX over a set of its own.
struct Nginx {
    target: String,
    folder: std::path::PathBuf,
    // In this order: the process goes before its folder.
    _server: launch::Process,
    _outer: TempDir,
}

impl Nginx {
    /// `None`, with the reason printed, if NGINX is not installed.
    fn over(set: &str) -> Option<Nginx> {
        let Some(nginx) = find_program("nginx") else {
            println!("skipped: there is no nginx here");
            return None;
        };
        let outer = TempDir::new().unwrap();
        // Its workers run as another user.
        std::fs::set_permissions(outer.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let folder = outer.path().join("set");
        let output = finish(taillight(&["fileset", "make", "--video", set]).arg(&folder));
        answers(&output);
        let configuration = outer.path().join("nginx.conf");
        let spec = |port: u16| {
            let own = outer.path().display();
            let text = format!(
                "daemon off;\npid {own}/pid;\nerror_log {own}/errors;\nevents {{}}\nhttp {{ access_log off; sendfile on;\n\
                 client_body_temp_path {own}/b; proxy_temp_path {own}/p; fastcgi_temp_path {own}/f; uwsgi_temp_path {own}/u;\n\
                 scgi_temp_path {own}/s; server {{ listen 127.0.0.1:{port}; root {}; }} }}\n",
                folder.display()
            );
            std::fs::write(&configuration, text).unwrap();
            let spec = launch::Spec::new("nginx", &nginx).args(["-c", &configuration.display().to_string()]);
            spec.args(["-p", &own.to_string()])
        };
        let (server, address) = on_free_port(Duration::from_secs(60), spec);
        Some(Nginx { target: format!("http://{address}"), folder, _server: server, _outer: outer })
    }
}

#[test]
fn nginx_serves_a_set_to_viewers() {
    let Some(nginx) = Nginx::over("5x1/640") else { return };
    let options = ["--videos", "5x1/640", "--verify", "checksum", "--bandwidth", "read", "--protocol", "hls"];
    let trial = trial(&nginx.target, &options);
    no_errors(&trial);
    assert_eq!(trial.counters["verify_failures"], 0.0);
    assert!(trial.found.server_version.is_some_and(|version| version.starts_with("nginx/")));
}
