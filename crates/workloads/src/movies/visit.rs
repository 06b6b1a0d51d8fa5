//! A visitor's requests, and their times.

use dist::{KeySampler, Rng};
use openloop::{Next, Outcome, Step, StepEnd, Traced};
use rand::RngExt;
use spec::workload::MovieQuery;
use units::Nanos;

use crate::movies::config::{ARRIVING, Known};
use crate::movies::counts::MoviesCounts;

/// How long a segment of a film plays. Source: the data set's ladders, as Apple's HLS authoring guidelines recommend.
pub const SEGMENT: Nanos = Nanos::from_secs(6);
/// A player's operations in addition to the queries, after those in order: playlists and segments.
pub const STREAM: [&str; 2] = ["playlist", "segment"];
const PLAYLIST: usize = MovieQuery::ALL.len();
const SEGMENTS: usize = PLAYLIST + 1;
/// Segments that a player requests in succession before its requests follow its playback. Source: movies.md §2, as
/// hls.js does with its usual buffer at the start.
const AT_ONCE: u32 = 3;

/// The next request of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Query(MovieQuery),
    /// The playlist that lists the qualities.
    Master,
    /// The playlist of the chosen quality.
    Variant,
    /// A segment, from 0 on.
    Segment(u32),
}

/// A visitor: one query, and the requests that follow from it.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) seq: u64,
    pub(super) at: At,
    /// From 1 on.
    pub(super) film: u32,
    /// Who logs in. From 1 on.
    pub(super) user: u32,
    /// The place of who writes or rents among those who are logged in.
    pub(super) member: u32,
    /// Chooses the quality, the stars and the words.
    pub(super) lot: u64,
    /// For a traced query: its trace, and its parent span.
    pub(super) trace: Option<([u8; 16], u64)>,
    /// Bytes of the answer's content.
    pub(super) bytes: u64,
    /// The path that the next request of a stream is for.
    pub(super) path: Vec<u8>,
    /// The names of the segments, below the folder of `path`.
    pub(super) segments: Vec<Vec<u8>>,
    /// The film is due from here on, and to be watched since; set once its first segment is due.
    base: Nanos,
    /// When its rental was requested, in the window.
    rented: Option<Nanos>,
    started: bool,
}

impl Visit {
    /// The visit of an arrival.
    pub(super) fn new(seq: u64, known: &Known, films: &mut KeySampler) -> Visit {
        let mut rng = known.streams.stream(ARRIVING, seq);
        let query = known.config.options.mix.at(100.0 * rng.random::<f64>());
        let film = 1 + films.sample(&mut rng, 0) as u32;
        Visit {
            seq,
            at: At::Query(query),
            film,
            user: rng.random_range(1..=known.config.options.users.0),
            member: rng.random_range(0..known.members.len() as u32),
            lot: rng.random(),
            // Drawn last, so that the visits of a seed are the same with it and without.
            trace: known.config.options.trace.one_in().and_then(|one_in| traced(one_in, &mut rng)),
            bytes: 0,
            path: Vec::new(),
            segments: Vec::new(),
            base: Nanos::ZERO,
            rented: None,
            started: false,
        }
    }

    /// The operation that it is at, in the order of the workload's names.
    pub(super) fn operation(&self) -> usize {
        match self.at {
            At::Query(query) => query.place(),
            At::Master | At::Variant => PLAYLIST,
            At::Segment(_) => SEGMENTS,
        }
    }

    /// A step has ended: returns the next.
    pub(super) fn ended(&mut self, end: &StepEnd, known: &Known, counts: &mut MoviesCounts) -> Next {
        let is_well = end.outcome == Outcome::Completed;
        match self.at {
            At::Query(query) => {
                if end.in_window.is_some() {
                    counts.ended(query);
                    let traced = |trace| Traced::of(end, trace, query.place(), self.bytes);
                    counts.traced.extend(self.trace.map(traced));
                }
                if query != MovieQuery::Rent || !is_well {
                    return Next::End;
                }
                self.rented = end.in_window.map(|_| end.offset);
                self.goes_on(At::Master, end.ended)
            }
            At::Master if is_well => self.goes_on(At::Variant, end.ended),
            At::Variant if is_well => {
                self.base = end.ended;
                self.goes_on(At::Segment(0), end.ended)
            }
            // Without a playlist the next requests are unknown.
            At::Master | At::Variant => {
                self.never_starts(end, known, counts);
                self.base = end.ended;
                self.loses(0, known)
            }
            At::Segment(number) => {
                self.watched(number, end, is_well, known, counts);
                if self.segments.is_empty() {
                    self.loses(number + 1, known)
                } else {
                    self.next(number + 1, end.ended, known)
                }
            }
        }
    }

    /// When a segment is due. The first ones follow each other, and then one each time that one has been played.
    fn due(&self, number: u32, before: Nanos) -> Nanos {
        match number.checked_sub(AT_ONCE) {
            None => before,
            Some(later) => self.base + Nanos(SEGMENT.0 * u64::from(later + 1)),
        }
    }

    fn next(&mut self, number: u32, before: Nanos, known: &Known) -> Next {
        if number >= segments_of(known) || number as usize >= self.segments.len() {
            return Next::End;
        }
        let due = self.due(number, before);
        self.goes_on(At::Segment(number), due)
    }

    /// The segments of a film whose playlist did not come.
    fn loses(&mut self, number: u32, known: &Known) -> Next {
        if number >= segments_of(known) {
            return Next::End;
        }
        self.at = At::Segment(number);
        Next::Lose(Step { offset: self.due(number, self.base), operation: self.operation() })
    }

    fn goes_on(&mut self, at: At, offset: Nanos) -> Next {
        self.at = at;
        Next::Send(Step { offset, operation: self.operation() })
    }

    fn watched(
        &mut self,
        number: u32,
        end: &StepEnd,
        is_well: bool,
        known: &Known,
        counts: &mut MoviesCounts,
    ) {
        if number == 0 && is_well && !self.started {
            self.started = true;
            if let Some(rented) = self.rented.take() {
                counts.started(end.ended - rented);
            }
        } else if number == 0 {
            self.never_starts(end, known, counts);
        }
        if end.in_window.is_some() {
            counts.segments.due += 1;
            // The first is shown when it arrives, and each of the others after the one before.
            let shown = self.base + Nanos(SEGMENT.0 * u64::from(number));
            let in_time = is_well && (number == 0 || end.ended <= shown.max(end.offset + SEGMENT));
            counts.segments.missed += u64::from(!in_time);
        }
    }

    /// The start-up delay of a film that does not start is at least the time waited.
    fn never_starts(&mut self, end: &StepEnd, known: &Known, counts: &mut MoviesCounts) {
        if let Some(rented) = self.rented.take() {
            counts.started((end.ended - rented).max(known.config.options.watch).max(SEGMENT));
        }
    }
}

/// Draws whether a query is traced: one in `one_in`, under a random number. Zero means none in `traceparent`.
fn traced(one_in: u32, rng: &mut Rng) -> Option<([u8; 16], u64)> {
    (rng.random_range(0..one_in) == 0).then(|| (rng.random(), rng.random_range(1..=u64::MAX)))
}

/// Segments of the part of a film that is watched; at least the first.
fn segments_of(known: &Known) -> u32 {
    known.config.options.watch.0.div_ceil(SEGMENT.0).clamp(1, u64::from(u32::MAX)) as u32
}
