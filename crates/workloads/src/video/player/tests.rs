use dist::{Purpose, Streams};
use rand::RngExt;

use super::*;

const fn s(n: u64) -> Nanos {
    Nanos::from_secs(n)
}

/// All that a viewer has seen of a session.
#[derive(Debug, Default, PartialEq, Eq)]
struct Viewed {
    /// From the arrival to the first picture; `None`: there was none.
    start_up: Option<Nanos>,
    /// Each stall: when it ended, and its length.
    stalls: Vec<(Nanos, Nanos)>,
    /// How much of the video was shown.
    played: Nanos,
    /// How long before its time each chunk arrived; `None` if it was late, began the video or failed.
    slack: Vec<Option<Nanos>>,
}

impl Viewed {
    /// The playback of chunks with their times and lengths; `None` for the length of a chunk that failed at its time.
    fn of(chunks: &[(Nanos, Option<Nanos>)], resume_with: u32) -> Viewed {
        let (mut player, mut viewed) = (Player::new(resume_with), Viewed::default());
        for (i, &(at, media)) in chunks.iter().enumerate() {
            let last = i + 1 == chunks.len();
            let seen = match media {
                Some(media) => player.arrived(at, media, last),
                None => player.failed(at, last),
            };
            viewed.start_up = viewed.start_up.or(seen.start_up);
            viewed.stalls.extend(seen.stall.map(|stall| (at, stall)));
            viewed.slack.push(seen.slack);
        }
        if player.started {
            viewed.played = chunks.iter().filter_map(|(_, media)| *media).sum();
        }
        viewed
    }
}

/// Chunks of 10 s that arrive at these seconds.
fn chunks(at: &[u64]) -> Vec<(Nanos, Option<Nanos>)> {
    at.iter().map(|at| (s(*at), Some(s(10)))).collect()
}

#[test]
fn a_late_chunk_stops_the_video_for_as_long_as_it_is_late() {
    let check = |at: &[u64], resume_with: u32, start_up: u64, stalls: &[(u64, u64)]| {
        let viewed = Viewed::of(&chunks(at), resume_with);
        assert_eq!(viewed.start_up, Some(s(start_up)), "{at:?}");
        let expect: Vec<(Nanos, Nanos)> = stalls.iter().map(|(at, length)| (s(*at), s(*length))).collect();
        assert_eq!(viewed.stalls, expect, "{at:?}");
        assert_eq!(viewed.played, s(10 * at.len() as u64));
    };
    check(&[1, 2, 3, 10, 20], 1, 1, &[]);
    // Each chunk just in time.
    check(&[1, 11, 21], 1, 1, &[]);
    check(&[1, 12, 22], 1, 1, &[(12, 1)]);
    check(&[1, 2, 3, 40], 1, 1, &[(40, 9)]);
    // When two chunks are needed to resume, the start waits for the second, and so does the end of a stall.
    check(&[1, 2, 3, 40, 45, 46], 2, 2, &[(45, 13)]);
    // The last chunk starts playback in any case.
    check(&[1, 2, 3, 40], 2, 2, &[(40, 8)]);
    check(&[5], 3, 5, &[]);
}

#[test]
fn a_chunk_that_fails_is_passed_over() {
    let mut all = chunks(&[1, 2, 25, 30]);
    all[2].1 = None;
    let viewed = Viewed::of(&all, 1);
    // The buffer lasts until 21; the failure is known at 25, and the next chunk comes at 30.
    assert_eq!((viewed.stalls, viewed.played), (vec![(s(30), s(9))], s(30)));
    let mut end = chunks(&[1, 15]);
    end[1].1 = None;
    assert_eq!(Viewed::of(&end, 1).stalls, [(s(15), s(4))], "the video ends when the last chunk is given up");
    let none: Vec<_> = chunks(&[1, 2]).into_iter().map(|(at, _)| (at, None)).collect();
    let nothing = Viewed::of(&none, 1);
    assert_eq!((nothing.start_up, nothing.played), (None, s(0)));
}

#[test]
fn slack_is_the_time_to_spare() {
    let viewed = Viewed::of(&chunks(&[1, 2, 3, 40, 41]), 1);
    // Chunk 1 is shown from 11 on and chunk 2 from 21; chunk 3 was due at 31, and chunk 4 is shown from 50 on.
    assert_eq!(viewed.slack, [None, Some(s(9)), Some(s(18)), None, Some(s(9))]);
}

#[test]
fn a_stall_that_goes_on_is_known() {
    let mut player = Player::new(1);
    assert_eq!(player.stalled(s(5)), None, "it has not begun");
    player.arrived(s(1), s(10), false);
    assert_eq!((player.stalled(s(11)), player.stalled(s(14))), (None, Some(s(3))));
    assert_eq!((player.buffered(s(4)), player.buffered(s(14))), (s(7), s(0)));
}

/// The same by looking at every millisecond.
fn brute_force(chunks: &[(u64, Option<u64>)], resume_with: u32) -> Viewed {
    let ms = Nanos::from_millis;
    let mut viewed = Viewed { slack: vec![None; chunks.len()], ..Viewed::default() };
    let (mut buffer, mut come, mut next) = (0, 0, 0);
    let (mut playing, mut stall) = (false, 0);
    for now in 0u64.. {
        // Chunks that arrive now, each before its time to be shown passes.
        while let Some(&(_, media)) = chunks.get(next).filter(|(at, _)| *at == now) {
            let last = next + 1 == chunks.len();
            if !playing {
                come += u32::from(media.is_some());
                buffer += media.unwrap_or(0);
                let begins = come >= resume_with || last && come > 0;
                if viewed.start_up.is_none() && begins {
                    viewed.start_up = Some(ms(now));
                    playing = true;
                } else if viewed.start_up.is_some() && (begins || last) {
                    viewed.stalls.push((ms(now), ms(stall)));
                    playing = true;
                }
            } else {
                viewed.slack[next] = media.map(|_| ms(buffer));
                buffer += media.unwrap_or(0);
            }
            next += 1;
        }
        if next == chunks.len() {
            // The rest is shown without a stop.
            viewed.played += ms(if playing { buffer } else { 0 });
            return viewed;
        }
        if playing && buffer == 0 {
            (playing, come, stall) = (false, 0, 0);
        }
        if playing {
            buffer -= 1;
            viewed.played += ms(1);
        } else {
            stall += 1;
        }
    }
    unreachable!("all chunks come")
}

/// A million inputs take about a second; `TAILLIGHT_PLAYER_INPUTS` asks for another number.
#[test]
fn agrees_with_a_look_at_every_millisecond() {
    let given =
        std::env::var("TAILLIGHT_PLAYER_INPUTS").map(|text| text.parse().expect("a number of inputs"));
    let inputs: u64 = given.unwrap_or(1_000_000);
    for seed in 0..inputs {
        let mut random = Streams::new(seed).stream(Purpose::Other(41), 0);
        let (number, spread) = (random.random_range(1..=12), random.random_range(1..=60));
        let resume_with = random.random_range(1..=3);
        let failures = if random.random_range(0..4) == 0 { 4 } else { u32::MAX };
        let mut at = 0;
        let chunks: Vec<(u64, Option<u64>)> = (0..number)
            .map(|_| {
                // Several may come in one millisecond, and some take long.
                at += random.random_range(0..=spread);
                let fails = random.random_range(0..failures) == 0;
                (at, (!fails).then(|| random.random_range(1..=40)))
            })
            .collect();
        let in_time: Vec<(Nanos, Option<Nanos>)> = chunks
            .iter()
            .map(|(at, media)| (Nanos::from_millis(*at), media.map(Nanos::from_millis)))
            .collect();
        let (found, expect) = (Viewed::of(&in_time, resume_with), brute_force(&chunks, resume_with));
        assert_eq!(found, expect, "seed {seed}: {chunks:?}, {resume_with} to go on");
    }
}
