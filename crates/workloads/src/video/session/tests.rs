use datasets::videos::Catalog;
use openloop::Moments;
use spec::workload::{Bandwidth, Delivery, Pacing};

use super::*;
use crate::video::config::tests::{config, listed_as, with};
use crate::video::library::{Videos, Watched};

const fn s(n: u64) -> Nanos {
    Nanos::from_secs(n)
}

/// A viewer of `chunks` chunks of a video at the usual speed.
fn setup(chunks: u32, change: impl FnOnce(&mut VideoConfig)) -> (VideoConfig, Viewer) {
    let catalog = Catalog::new(&"40x1/160".parse().unwrap(), 1).unwrap();
    let video = (0..40).find(|video| catalog.chunks(*video) >= 30).unwrap();
    let mut config = VideoConfig {
        library: Library::new(Videos::Set(catalog, Delivery::Ranges), 1),
        window: s(1_000),
        ..config()
    };
    config.options.speed = 1;
    change(&mut config);
    let viewer = Viewer {
        watched: Watched { video, rung: 0 },
        until: s(10 * u64::from(chunks)),
        chunks,
        bandwidth: 1e6,
        hopeless: false,
        leaves: Nanos(u64::MAX),
        server: 0,
    };
    (config, viewer)
}

/// The server's handling of a request: how long after it could be sent it ends, and how.
type Does = (Nanos, Outcome);

/// A session that arrives 100 s after the window opened, with an outcome for each of its requests, and 0 s for later ones.
/// Returns when each was due, whether it was sent, and the counters.
fn played(config: &VideoConfig, viewer: Viewer, does: &[Does]) -> (Vec<(Nanos, bool)>, VideoCounts) {
    let rules = Rules::new(config);
    let (mut session, mut counts) = (Session::new(viewer, &rules), VideoCounts::new(config.window));
    let (mut all, mut offset, mut before, mut sent) = (Vec::new(), Nanos::ZERO, Nanos::ZERO, true);
    loop {
        all.push((offset, sent));
        let (takes, outcome) = does.get(all.len() - 1).copied().unwrap_or((Nanos::ZERO, Outcome::Completed));
        let (ended, outcome) =
            if sent { (offset.max(before) + takes, outcome) } else { (offset, Outcome::Error) };
        let (in_window, moments) = (Some(s(100) + offset), Moments::default());
        let end = StepEnd { offset, ended, outcome, in_window, moments };
        before = ended;
        (offset, sent) = match session.ended(&end, &rules, &mut counts) {
            Next::Send(step) => (step.offset, true),
            Next::Lose(step) => (step.offset, false),
            Next::End => return (all, counts),
        };
    }
}

fn figure(counts: &VideoCounts, name: &str) -> (u64, u64) {
    let found = counts.list(true).into_iter().find(|(known, ..)| known == name).unwrap();
    (found.1, found.2)
}

fn largest(counts: &VideoCounts, name: &str) -> Option<u64> {
    let all = counts.distributions();
    let found = all.iter().find(|one| one.name == name).unwrap();
    found.values.max().map(|max| (max.0 + 500_000_000) / 1_000_000_000)
}

const GOOD: Outcome = Outcome::Completed;

#[test]
fn a_good_session_meets_all_and_stops_nowhere() {
    let (config, viewer) = setup(6, |_| ());
    let (steps, counts) = played(&config, viewer, &[(s(1), GOOD); 6]);
    let due: Vec<u64> = steps.iter().map(|(offset, _)| offset.0 / 1_000_000_000).collect();
    assert_eq!(due, [0, 0, 0, 10, 20, 30]);
    assert_eq!(figure(&counts, "misses"), (0, 6));
    assert_eq!(figure(&counts, "rebuffer_ratio"), (0, 60_000));
    assert_eq!(figure(&counts, "stalls"), (0, 60_000));
    assert_eq!(figure(&counts, "sessions_met"), (1, 1));
    assert_eq!((largest(&counts, "startup"), largest(&counts, "stall")), (Some(1), None));
    // Chunk 2 arrives at 3 and is shown from 21 on; later ones come a second after they are due, 20 s before they are
    // shown.
    assert_eq!(largest(&counts, "slack"), Some(20));
}

#[test]
fn a_late_chunk_is_a_miss_and_stops_the_video() {
    let (config, viewer) = setup(8, |_| ());
    // Chunk 4 is due at 20 and comes at 55; it was to be shown at 41.
    let mut does = [(s(1), GOOD); 8];
    does[4].0 = s(35);
    let (steps, counts) = played(&config, viewer, &does);
    assert_eq!(steps.len(), 8, "the session goes on");
    assert_eq!(figure(&counts, "misses"), (1, 8), "those behind it were not late by themselves");
    assert_eq!(figure(&counts, "rebuffer_ratio"), (14_000, 94_000));
    assert_eq!(figure(&counts, "rebuffer_of_media"), (14_000, 80_000));
    assert_eq!(figure(&counts, "stalls"), (1, 80_000));
    assert_eq!(figure(&counts, "sessions_met"), (0, 1));
    assert_eq!(largest(&counts, "stall"), Some(14));
}

#[test]
fn what_follows_a_killed_session_are_misses() {
    for outcome in [Outcome::Timeout, Outcome::Error] {
        let (config, viewer) = setup(8, |config| config.options.late = Late::Kill);
        let mut does = [(s(1), GOOD); 8];
        does[4] = (s(10), outcome);
        let (steps, counts) = played(&config, viewer, &does);
        let sent: Vec<bool> = steps.iter().map(|(_, sent)| *sent).collect();
        assert_eq!(sent, [true, true, true, true, true, false, false, false]);
        assert_eq!(steps[7].0, s(50), "each at its own time");
        assert_eq!(figure(&counts, "misses"), (4, 8));
        assert_eq!(figure(&counts, "sessions_met"), (0, 1));
        assert_eq!(figure(&counts, "rebuffer_ratio"), (0, 40_000), "the viewer has left");
        // The same with --late keep loses one chunk.
        let kept = with(config, |options| options.late = Late::Keep);
        let (steps, counts) = played(&kept, viewer, &does);
        assert!(steps.iter().all(|(_, sent)| *sent));
        assert_eq!(figure(&counts, "misses"), (1, 8));
        assert_eq!(figure(&counts, "rebuffer_ratio").0, 0, "it is known before its time, and passed over");
    }
}

#[test]
fn viewers_leave_who_see_nothing() {
    let (config, viewer) = setup(8, |_| ());
    let check = |leaves: Nanos, start: Nanos, steps: usize, abandoned: u64| {
        let viewer = Viewer { leaves, ..viewer };
        let (all, counts) = played(&config, viewer, &[(start, GOOD)]);
        assert_eq!((all.len(), figure(&counts, "abandoned")), (steps, (abandoned, 1)), "{leaves} {start}");
        assert_eq!(figure(&counts, "sessions_met").0, u64::from(start <= s(2)));
        // A viewer who left waited until then, independent of later chunks.
        let waited = start.min(leaves).0 / 1_000_000_000;
        assert_eq!(largest(&counts, "startup"), Some(waited), "{leaves} {start}");
    };
    check(s(5), s(1), 8, 0);
    check(s(5), s(5), 8, 0);
    check(s(5), s(6), 1, 1);
    check(Nanos(u64::MAX), s(9), 8, 0);
}

/// How many start-up delays there are.
fn starts(counts: &VideoCounts) -> u64 {
    counts.distributions().iter().find(|one| one.name == "startup").unwrap().values.count()
}

#[test]
fn a_session_that_fails_before_its_start_counts_as_the_slowest() {
    let check = |late: Late, does: &[Does], start_up: u64| {
        let (config, viewer) = setup(3, |config| config.options.late = late);
        let (_, counts) = played(&config, viewer, does);
        assert_eq!((starts(&counts), largest(&counts, "startup")), (1, Some(start_up)), "{does:?}");
        assert_eq!(figure(&counts, "sessions_met"), (0, 1));
    };
    // No chunk arrived: the time-out of a chunk, or the time until the failure was known.
    check(Late::Keep, &[(s(1), Outcome::Error); 3], 60);
    check(Late::Keep, &[(s(30), Outcome::Error); 3], 90);
    check(Late::Kill, &[(s(1), Outcome::Error)], 10);
    check(Late::Kill, &[(s(10), Outcome::Timeout)], 10);
    // A refused request fails at once, which must not look like a fast start.
    check(Late::Keep, &[(Nanos::ZERO, Outcome::Error); 3], 60);
    // The second chunk comes, and with it the start.
    check(Late::Keep, &[(s(1), Outcome::Error), (s(4), GOOD)], 5);
}

#[test]
fn what_no_server_can_answer_in_time_excuses_nothing_else() {
    let possible = |hopeless: bool, does: &[Does]| {
        let (config, viewer) = setup(6, |_| ());
        let (_, counts) = played(&config, Viewer { hopeless, ..viewer }, does);
        figure(&counts, "possible_steps_completed")
    };
    let mut does = [(s(1), GOOD); 6];
    assert_eq!(possible(false, &does), (6, 6));
    does[2].1 = Outcome::Error;
    assert_eq!(possible(false, &does), (5, 6));
    assert_eq!(possible(true, &does), (0, 0), "its chunks are in neither number");
}

#[test]
fn closed_pacing_waits_for_answers() {
    let (config, viewer) = setup(7, |config| config.options.pacing = Pacing::Closed);
    let mut does = [(s(1), GOOD); 7];
    does[5].0 = s(25);
    let (steps, _) = played(&config, viewer, &does);
    let due: Vec<u64> = steps.iter().map(|(offset, _)| offset.0 / 1_000_000_000).collect();
    // Four without a pause, and then 10 s after each answer: a stall of 25 s is requested once.
    assert_eq!(due, [0, 1, 2, 3, 14, 25, 60]);
}

#[test]
fn a_player_asks_when_its_buffer_has_room() {
    let (config, viewer) = setup(8, |config| config.options.pacing = Pacing::Player);
    let (steps, _) = played(&config, viewer, &[(s(1), GOOD); 8]);
    let due: Vec<u64> = steps.iter().map(|(offset, _)| offset.0 / 1_000_000_000).collect();
    // It plays from 1 on and has 10 s more with each chunk: 28 s at 3, 37 s at 4, of which 7 s must be shown first.
    assert_eq!(due, [0, 1, 2, 3, 11, 21, 31, 41]);
    let (steps, _) = played(&config, viewer, &[(Nanos::ZERO, Outcome::Error); 8]);
    let due: Vec<u64> = steps.iter().map(|(offset, _)| offset.0 / 1_000_000_000).collect();
    assert_eq!(due, [0, 0, 0, 0, 10, 20, 30, 40], "what fails at once is not asked for in a tight loop");
}

#[test]
fn only_what_was_due_in_the_window_counts() {
    let (config, viewer) = setup(5, |_| ());
    let rules = Rules::new(&config);
    let (mut session, mut counts) = (Session::new(viewer, &rules), VideoCounts::new(config.window));
    // It arrived 15 s before the window opened: the first four chunks are due before.
    let mut before = Nanos::ZERO;
    let mut next = Next::Send(Step { offset: Nanos::ZERO, operation: 0 });
    while let Next::Send(Step { offset, .. }) = next {
        let ended = offset.max(before) + s(12);
        let in_window = (offset >= s(15)).then(|| offset - s(15));
        let end = StepEnd { offset, ended, outcome: GOOD, in_window, moments: Moments::default() };
        next = session.ended(&end, &rules, &mut counts);
        before = ended;
    }
    assert_eq!(figure(&counts, "misses"), (1, 1));
    assert_eq!(figure(&counts, "hopeless"), (0, 0), "it did not come in the window");
    assert_eq!(largest(&counts, "startup"), None);
    assert_eq!(figure(&counts, "sessions_met"), (0, 1), "and is judged by what it saw there");
    // Chunks come at 12, 24, 36, 48 and 60, and each lasts 10 s: of four stalls of 2 s one is of the last chunk.
    assert_eq!(figure(&counts, "rebuffer_ratio"), (2_000, 12_000));
}

#[test]
fn the_end_of_the_load_is_no_miss_unless_it_is_known() {
    let check = |age: Nanos, misses: (u64, u64), start_up: Option<u64>, met: (u64, u64)| {
        let (config, viewer) = setup(5, |_| ());
        let (steps, counts) = played(&config, viewer, &[(age, Outcome::Unfinished); 5]);
        assert_eq!(steps.len(), 5);
        assert_eq!(figure(&counts, "misses"), misses, "{age}");
        assert_eq!(largest(&counts, "startup"), start_up, "as an unfinished request enters at its age");
        assert_eq!(figure(&counts, "sessions_met"), met);
    };
    check(s(1), (0, 0), Some(1), (0, 0));
    check(s(5), (0, 0), Some(5), (0, 1));
    // Each of the five has its own time-out here.
    check(s(11), (5, 5), Some(11), (0, 1));
}

/// The figures of a session whose next request is due after the load.
fn at_the_end(config: &VideoConfig, viewer: Viewer, does: &[Does]) -> VideoCounts {
    let rules = Rules::new(config);
    let (mut session, mut counts) = (Session::new(viewer, &rules), VideoCounts::new(config.window));
    let (mut offset, mut before) = (Nanos::ZERO, Nanos::ZERO);
    for &(takes, outcome) in does {
        let ended = offset.max(before) + takes;
        let (in_window, moments) = (Some(s(100) + offset), Moments::default());
        let next =
            session.ended(&StepEnd { offset, ended, outcome, in_window, moments }, &rules, &mut counts);
        before = ended;
        let Next::Send(step) = next else { panic!("{next:?}") };
        offset = step.offset;
    }
    session.over(&rules, &mut counts);
    counts
}

#[test]
fn a_stall_that_nothing_ends_is_known_until_the_last_answer() {
    // Three chunks from 1 s on last until 31 s; the fourth is due at 10 s and fails at 60 s.
    let (config, viewer) = setup(8, |_| ());
    let does = [(s(1), GOOD), (s(1), GOOD), (s(1), GOOD), (s(50), Outcome::Timeout)];
    let counts = at_the_end(&config, viewer, &does);
    assert_eq!(figure(&counts, "rebuffer_ratio"), (29_000, 59_000));
    assert_eq!(figure(&counts, "sessions_met"), (0, 1));
    // No stall if it plays on.
    let counts = at_the_end(&config, viewer, &does[..3]);
    assert_eq!(figure(&counts, "stalls").0, 0);
    // The viewer whose session is lost stood still until then: from 11 s on.
    let (config, viewer) = setup(8, |config| (config.options.late, config.options.ahead) = (Late::Kill, 1));
    let (_, counts) = played(&config, viewer, &[(s(1), GOOD), (s(10), Outcome::Timeout)]);
    assert_eq!(figure(&counts, "rebuffer_ratio").0, 9_000);
}

#[test]
fn who_has_seen_nothing_when_the_load_ends_has_waited_that_long() {
    let (config, viewer) =
        setup(8, |config| (config.options.pacing, config.options.resume_with) = (Pacing::Closed, 2));
    let counts = at_the_end(&config, viewer, &[(s(30), GOOD)]);
    assert_eq!((starts(&counts), largest(&counts, "startup")), (1, Some(30)));
    assert_eq!(figure(&counts, "sessions_met"), (0, 1));
    let counts = at_the_end(&config, viewer, &[(s(1), GOOD)]);
    assert_eq!((largest(&counts, "startup"), figure(&counts, "sessions_met")), (Some(1), (1, 1)));
}

#[test]
fn who_leaves_before_any_server_could_have_shown_something_speaks_against_none() {
    let (config, viewer) = setup(6, |config| config.options.bandwidth = Bandwidth::Pace);
    let viewer = Viewer { bandwidth: 1e4, ..viewer };
    let rules = Rules::new(&config);
    let starts = rules.pace.starts(&rules.library, &viewer);
    assert!(starts > s(1), "{starts}");
    let possible = |leaves: Nanos| {
        let viewer = Viewer { leaves, ..viewer };
        let (_, counts) = played(&config, viewer, &[(leaves + Nanos(1), Outcome::Unfinished)]);
        assert_eq!(figure(&counts, "abandoned"), (1, 1));
        let audience = Audience::new(&config, 0, 1).unwrap();
        (figure(&counts, "possible_steps_completed"), audience.length(&viewer) <= leaves)
    };
    assert_eq!(possible(starts - Nanos(1)), ((0, 0), true));
    assert_eq!(possible(starts + Nanos(1)), ((0, 1), false), "one could have, in time");
}

#[test]
fn without_its_playlist_nothing_of_a_session_is_left() {
    let (config, viewer) = setup(4, |config| {
        let Videos::Set(catalog, _) = config.library.source().clone() else { panic!("no set") };
        config.library = Library::new(Videos::Set(catalog, Delivery::Hls), 1);
    });
    let rules = Rules::new(&config);
    assert_eq!(Session::new(viewer, &rules).operation(&rules), 4, "playlists are an operation of their own");
    let (steps, counts) = played(&config, viewer, &[(s(1), GOOD); 6]);
    assert_eq!(steps.len(), 6, "two playlists and four chunks");
    assert_eq!(figure(&counts, "misses"), (0, 4));
    assert_eq!(largest(&counts, "startup"), Some(3));
    let (steps, counts) = played(&config, viewer, &[(s(1), GOOD), (s(1), Outcome::Error)]);
    assert_eq!(
        steps.iter().map(|(_, sent)| *sent).collect::<Vec<_>>(),
        [true, true, false, false, false, false]
    );
    assert_eq!(figure(&counts, "misses"), (4, 4));
}

#[test]
fn one_who_is_there_goes_on_where_they_would_be() {
    let (config, viewer) = setup(8, |_| ());
    let (rules, audience) = (Rules::new(&config), Audience::new(&config, 0, 1).unwrap());
    let check = |age: u64, chunk: u32, due: u64| {
        let (session, step) = Session::underway(viewer, s(age), &rules, &audience);
        assert_eq!(session.ask(&config.library), Ask::Chunk(chunk), "{age} s old");
        assert_eq!(step.offset, s(due));
        // All chunks due before have arrived, and playback began at the beginning.
        let buffered = 10 * u64::from(chunk) - due;
        assert_eq!(session.player.buffered(s(due)), s(buffered));
    };
    check(0, 0, 0);
    check(1, 3, 10);
    check(10, 3, 10);
    check(11, 4, 20);
    check(49, 7, 50);
}

#[test]
fn a_start_is_judged_without_what_the_own_bandwidth_takes() {
    let (config, viewer) = setup(5, |config| config.options.bandwidth = Bandwidth::Read);
    // Half of its bandwidth: 5 s for a chunk.
    let viewer = Viewer { bandwidth: 2.0 * config.library.bit_rate(0), ..viewer };
    let check = |config: &VideoConfig, start: Nanos, met: u64| {
        let (_, counts) = played(config, viewer, &[(start, GOOD)]);
        assert_eq!(figure(&counts, "sessions_met"), (met, 1), "{start}");
    };
    check(&config, s(6), 1);
    check(&config, s(8), 0);
    let two = with(config.clone(), |options| options.resume_with = 2);
    check(&two, s(9), 1);
    let unlimited = with(config, |options| options.bandwidth = Bandwidth::Off);
    check(&unlimited, s(3), 0);
    check(&unlimited, s(2), 1);
    // The second chunk is due at 10 s and comes at once.
    let later = with(unlimited, |options| (options.resume_with, options.ahead) = (2, 1));
    check(&later, s(1), 1);
    check(&later, s(13), 0);
}

#[test]
fn a_header_is_requested_before_the_segment_that_needs_it() {
    let map = |uri: &str| format!("#EXT-X-MAP:URI=\"{uri}\"\n");
    let segments = "#EXTINF:10,\na\n".repeat(5);
    let text = format!("#EXTM3U\n{}{segments}{}{segments}#EXT-X-ENDLIST\n", map("h"), map("i"));
    let run = |pacing: Pacing, takes: Nanos| {
        let (config, viewer) = setup(7, |config| {
            (config.library, config.options.pacing) = (listed_as(&text), pacing);
        });
        let viewer = Viewer { watched: Watched { video: 0, rung: 0 }, ..viewer };
        let (steps, counts) = played(&config, viewer, &[(takes, GOOD); 10]);
        assert_eq!(figure(&counts, "misses"), (0, 7), "chunks alone");
        steps.iter().map(|(offset, _)| offset.0 / 1_000_000_000).collect::<Vec<u64>>()
    };
    // Playlist, header and three segments at once; the second header when its segment is due.
    assert_eq!(run(Pacing::Open, Nanos::ZERO), [0, 0, 0, 0, 0, 10, 20, 30, 30, 40]);
    assert_eq!(run(Pacing::Closed, s(1)), [0, 1, 2, 3, 4, 5, 16, 27, 28, 39]);
}

#[test]
fn a_header_that_fails_ends_the_session() {
    let map = |uri: &str| format!("#EXT-X-MAP:URI=\"{uri}\"\n#EXTINF:10,\na\n");
    let text = format!("#EXTM3U\n{}{}{}#EXT-X-ENDLIST\n", map("h"), map("i"), map("h"));
    let (config, viewer) = setup(3, |config| config.library = listed_as(&text));
    let viewer = Viewer { watched: Watched { video: 0, rung: 0 }, ..viewer };
    let fails = (Nanos::ZERO, Outcome::Error);
    let good = (Nanos::ZERO, GOOD);
    let (steps, counts) = played(&config, viewer, &[good, good, good, fails]);
    let sent: Vec<bool> = steps.iter().map(|(_, sent)| *sent).collect();
    assert_eq!(sent, [true, true, true, true, false, false, false]);
    assert_eq!(figure(&counts, "misses"), (2, 3));
}

#[test]
fn a_viewer_who_has_come_before_goes_on_behind_their_headers() {
    let header = |i: u32| format!("#EXT-X-MAP:URI=\"{i}\"\n#EXTINF:10,\na\n");
    let text = format!("#EXTM3U\n{}#EXT-X-ENDLIST\n", (0..30).map(header).collect::<String>());
    let (config, viewer) = setup(30, |config| config.library = listed_as(&text));
    let viewer = Viewer { watched: Watched { video: 0, rung: 0 }, ..viewer };
    let (rules, audience) = (Rules::new(&config), Audience::new(&config, 0, 1).unwrap());
    let (session, step) = Session::underway(viewer, s(95), &rules, &audience);
    // Chunk 12 is due at 100 s, and its header before it.
    assert_eq!((session.ask(&rules.library), step.offset), (Ask::Index(13), s(100)));
    assert_eq!(step.operation, 1, "no quality");
}
