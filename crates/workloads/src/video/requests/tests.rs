use datasets::videos::{Catalog, RUNGS};
use openloop::{Moments, Outcome, Step};
use spec::workload::Delivery;

use super::*;
use crate::video::config::tests::{config, listed, with};
use crate::video::library::Library;

fn video(config: &VideoConfig) -> Video {
    Video::new(&Arc::new(Known::new(config).unwrap()), (0, 1)).unwrap()
}

/// The requests of a session, as they are written, if all is answered at once.
fn written(video: &mut Video, seq: u64) -> Vec<String> {
    let mut parts = Parts::new();
    let mut operation = video.draw(seq, &mut parts);
    let (_, mut job) = parts.pop().unwrap();
    let (mut all, mut offset) = (Vec::new(), Nanos::ZERO);
    loop {
        let mut out = Vec::new();
        video.request(&mut job, 0, &mut out);
        let name = video.operations()[operation].clone();
        all.push(format!("{name} {}", String::from_utf8(out).unwrap()));
        let (outcome, moments) = (Outcome::Completed, Moments::default());
        let ended = StepEnd { offset, ended: offset, outcome, in_window: None, moments };
        match video.step_ended(&mut job, &ended) {
            Next::Send(step) => Step { offset, operation } = step,
            Next::End => return all,
            Next::Lose(_) => panic!("nothing failed"),
        }
    }
}

fn hls(config: VideoConfig) -> VideoConfig {
    let Videos::Set(catalog, _) = config.library.source().clone() else { panic!("no set") };
    VideoConfig { library: Library::new(Videos::Set(catalog, Delivery::Hls), 10), ..config }
}

#[test]
fn golden_bytes() {
    let config = config();
    let mut video = video(&config);
    let requests = written(&mut video, 7);
    let viewer = Audience::new(&config, 0, 1).unwrap().arriving(7);
    let (rung, number) = (RUNGS[viewer.watched.rung], viewer.watched.video);
    assert_eq!(requests.len(), viewer.chunks as usize);
    let bytes = Catalog::new(&"40x1/160".parse().unwrap(), 1).unwrap().chunk_bytes(viewer.watched.rung);
    for (i, request) in (0..).zip(&requests[..requests.len() - 1]) {
        let (first, last) = (i * bytes, (i + 1) * bytes - 1);
        let expect = format!(
            "{rung} GET /v/v{number:06}/{rung}.bin HTTP/1.1\r\nHost: 10.0.0.1:8080\r\nRange: bytes={first}-{last}\r\n\r\n"
        );
        assert_eq!(*request, expect);
    }
    assert_eq!(written(&mut video, 7), requests, "one number, the same viewer");
    assert_ne!(written(&mut video, 8), requests);
}

#[test]
fn each_request_has_the_given_fields() {
    let headers = vec!["Cookie: token=abc".parse().unwrap()];
    let mut video = video(&with(hls(config()), |options| options.header = headers));
    let requests = written(&mut video, 7);
    assert!(
        requests.len() > 3 && requests.iter().all(|request| request.contains("\r\nCookie: token=abc\r\n"))
    );
    let headers = vec!["range: bytes=0-9".parse().unwrap()];
    let refused = with(config(), |options| options.header = headers);
    assert!(refused.check().unwrap_err().to_string().contains("each chunk is a range of its own"));
}

#[test]
fn a_viewer_who_saw_nothing_by_the_end_of_the_load_counts() {
    let config = config();
    let mut video = video(&config);
    for seq in 0..20 {
        let mut parts = Parts::new();
        video.draw(seq, &mut parts);
        let (_, mut job) = parts.pop().unwrap();
        let (offset, ended) = (Nanos::ZERO, Nanos::from_millis(5));
        let (outcome, in_window) = (Outcome::Error, Some(Nanos::ZERO));
        let failed = StepEnd { offset, ended, outcome, in_window, moments: Moments::default() };
        // Its next request is due after the load, so that its outcome is never reported.
        video.step_ended(&mut job, &failed);
    }
    let all = video.distributions();
    let startup = &all.iter().find(|one| one.name == "startup").unwrap().values;
    assert_eq!(
        (startup.count(), startup.value_at(0.0) >= Some(config.options.longest_chunk() - Nanos(10_000_000))),
        (20, true)
    );
}

#[test]
fn answers_that_come_in_the_drain_are_not_of_the_window() {
    let mut video = video(&config());
    video.window_opens();
    video.counts.answers.answered = 5;
    video.counts.answers.partial = 4;
    video.window_closes();
    (video.counts.answers.answered, video.counts.answers.partial) = (9, 9);
    (video.counts.answers.verified, video.counts.answers.wrong) = (9, 1);
    let of = |name: &str| {
        let found = video.counts.list(true).into_iter().find(|(known, ..)| known == name).unwrap();
        (found.1, found.2)
    };
    assert_eq!(of("partial_content"), (4, 5));
    assert_eq!(of("verify_failures"), (1, 9), "a wrong content is one whenever it comes");
}

#[test]
fn playlists_are_asked_for_first() {
    let requests = written(&mut video(&hls(config())), 7);
    let first_lines: Vec<&str> = requests.iter().take(3).map(|one| one.lines().next().unwrap()).collect();
    let video = &first_lines[0]["index GET /v/".len()..][..7];
    assert_eq!(first_lines[0], format!("index GET /v/{video}/master.m3u8 HTTP/1.1"));
    assert!(first_lines[1].starts_with(&format!("index GET /v/{video}/")), "{first_lines:?}");
    assert!(first_lines[1].ends_with("p.m3u8 HTTP/1.1") && first_lines[2].ends_with("p.bin HTTP/1.1"));
    assert!(!requests[0].contains("Range:") && requests[2].contains("Range: bytes=0-"), "{requests:?}");
}

#[test]
fn segments_are_asked_for_where_their_playlist_says() {
    let config = VideoConfig { library: listed(), ..config() };
    let mut video = video(&config);
    let longest = (0..50).map(|seq| written(&mut video, seq)).max_by_key(Vec::len).unwrap();
    let host = "HTTP/1.1\r\nHost: 10.0.0.1:8080\r\n";
    assert_eq!(
        longest,
        [
            format!("index GET /live/m.m3u8 {host}\r\n"),
            format!("segment GET /live/a.ts {host}\r\n"),
            format!("segment GET /live/b.ts {host}Range: bytes=30-99\r\n\r\n"),
        ]
    );
}

#[test]
fn a_session_is_small_and_its_place_is_used_again() {
    assert!(size_of::<Job>() <= 32, "{}", size_of::<Job>());
    assert!(size_of::<Session>() <= 256, "{}", size_of::<Session>());
    let mut video = video(&config());
    (0..100).for_each(|seq| drop(written(&mut video, seq)));
    assert_eq!(video.sessions.len(), 1, "one after the other");
}

#[test]
fn a_session_that_is_dropped_leaves_its_place_and_its_link() {
    let mut video = video(&with(config(), |options| options.bandwidth = Bandwidth::Shape));
    for seq in 0..50 {
        let mut parts = Parts::new();
        video.draw(seq, &mut parts);
        let (_, mut job) = parts.pop().unwrap();
        let (outcome, in_window, moments) = (Outcome::Error, Some(Nanos::ZERO), Moments::default());
        let refused = StepEnd { offset: Nanos::ZERO, ended: Nanos::ZERO, outcome, in_window, moments };
        assert_eq!(video.links.as_ref().unwrap().0.viewers(), 1);
        if video.step_ended(&mut job, &refused) != Next::End {
            video.dropped(&mut job);
        }
        assert_eq!(video.links.as_ref().unwrap().0.viewers(), 0, "viewer {seq}");
    }
    assert_eq!(video.sessions.len(), 1, "one after the other");
    let startup = video.distributions().into_iter().find(|one| one.name == "startup").unwrap();
    assert_eq!(startup.values.count(), 50, "none of them saw anything");
}

#[test]
fn a_client_reads_at_its_bandwidth() {
    let read = with(config(), |options| options.bandwidth = Bandwidth::Read);
    let (mut limited, mut parts) = (video(&read), Parts::new());
    limited.draw(1, &mut parts);
    let (_, job) = parts.pop().unwrap();
    let viewer = limited.sessions[0].viewer;
    let route = limited.route(&job);
    let rate = route.read_rate.unwrap();
    assert_eq!(
        (rate.bits_per_s, route.via.receive_buffer),
        (viewer.bandwidth as u64, Some(rate.burst.max(4_096)))
    );
    // 1 to 25 Mbps of 1/160 of the bytes at 10 times the speed.
    assert!((62_500..1_562_500).contains(&rate.bits_per_s), "{rate:?}");
    let check = |mbps: f64, burst: u32| {
        assert_eq!(read_rate(&Viewer { bandwidth: mbps * 1e6, ..viewer }).burst, burst, "{mbps} Mbps");
    };
    check(0.01, 256);
    check(0.1, 1_250);
    check(8.0, 100_000);
    check(200.0, 1_048_576);
    assert_eq!(video(&config()).route(&job), Route::default(), "with --bandwidth off");
}

#[test]
fn sessions_under_way_are_those_of_the_rate() {
    let config = VideoConfig { viewers_per_s: 50.0, ..config() };
    let known = Arc::new(Known::new(&config).unwrap());
    let mut live = 0;
    for share in 0..3 {
        let mut video = Video::new(&known, (share, 3)).unwrap();
        let under = video.underway();
        live += under.len();
        let names = video.operations();
        assert!(under.iter().all(|one| one.step.offset >= one.age && one.step.operation < names.len()));
        assert_eq!(video.sessions.len(), under.len());
    }
    let mean = known.mean_live();
    assert!((live as f64 - mean).abs() < 5.0 * mean.sqrt(), "{live} and {mean} on average");
}

#[test]
fn an_answer_is_waited_for_by_what_follows_a_late_one() {
    assert_eq!(video(&config()).timeout(0), Some(Nanos::from_secs(6)));
}
