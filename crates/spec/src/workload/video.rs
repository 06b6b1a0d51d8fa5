use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ArgPredicate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Qos};

use super::facts::{ClientKnob, Facts, MadeFiles};
use super::{Header, Verify, VideoSet};
use crate::defaults::default_options;
use crate::text::{count, exact_or_none, list, number, words};
use crate::{Load, Popularity, QosTarget, Time, Url};

/// The video workload: viewers, each of whom watches a video in chunks of 10 s over their own connection.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Video workload")]
#[serde(default, rename_all = "kebab-case")]
pub struct Video {
    /// The videos below the target, and the share of their bytes that is made: 8000x1, 1000x1/160; as taillight fileset
    /// makes them. The bandwidth of clients shrinks with the bytes.
    #[arg(long, default_value_t = VideoSet::default(), value_name = "VIDEOS", conflicts_with = "playlist")]
    #[schemars(extend("x-source" = "ours, because it takes 1 GB, which any machine has room for; ISPASS'16 §VI-B has 8000 videos, of 1.1 TB"))]
    pub videos: VideoSet,
    /// The seed of that set.
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "playlist")]
    #[serde(deserialize_with = "number::deserialize")]
    #[schemars(extend("x-source" = "ours, because any number does, and the same one makes the same files"))]
    pub videos_seed: u64,
    /// A local folder with an existing set of videos, which the server serves; no set is made for the run.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["videos", "videos_seed", "playlist"])]
    #[schemars(extend("x-source" = "ours, because videos are made for the run unless a folder is named"))]
    pub file_set: Option<PathBuf>,
    /// How often each video is watched: zipf:ALPHA, uniform and more; see taillight explain cache.
    #[arg(long, default_value_t = Popularity::Zipf { alpha: 0.8 }, value_name = "POPULARITY")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-A2b: Zipf with the exponent 0.8; its §VI-B has uniform for the mix that is unaware of popularity"))]
    pub popularity: Popularity,
    /// The quality of each client: table-1 (the best that its bandwidth carries) or cloudsuite (10, 30, 40 and 20 % of
    /// 240p, 360p, 480p and 720p, independently of bandwidth).
    #[arg(long, default_value_t = ClientMix::default(), value_name = "MIX")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-A3, Table I: the bandwidth of clients; its shares of the qualities are lost with Fig. 1"))]
    pub mix: ClientMix,
    /// How the bandwidth of clients is limited: read (each client reads no faster), pace (the server sends to each no
    /// faster; needs root and a server on loopback), shape (each client has its own link; needs root and --form
    /// bridged) or off (no limit).
    #[arg(long, default_value_t = Bandwidth::default(), value_name = "HOW")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-A3: a limit for each TCP connection, there by dummynet; ours, because reading takes no privileges and works with any server"))]
    pub bandwidth: Bandwidth,
    /// Chunks requested at once when a viewer arrives; the others are paced.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "CloudSuite's request generator: 3; ISPASS'16 §IV-A says some"))]
    pub ahead: u32,
    /// A chunk that is not complete this long after it could be requested is a miss [default: the length of a chunk,
    /// 10s divided by --speed].
    #[arg(long, value_name = "TIME")]
    #[serde(with = "exact_or_none")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-source" = "CloudSuite's request generator: 10 s; ISPASS'16 §IV-A2a has a time-out for each request without its value"))]
    pub chunk_timeout: Option<Nanos>,
    /// The reaction to a chunk that is late or fails: keep (wait for it, for at most six time-outs; the viewer stays)
    /// or kill (abandon the chunk and end the session: its other chunks are misses).
    #[arg(long, default_value_t = Late::default(), value_name = "WHAT")]
    #[schemars(extend("x-source" = "ours, because viewers stay when a video stops; CloudSuite's client ends the session and counts none of the rest"))]
    pub late: Late,
    /// Whether viewers leave while they wait for a video to start: off, or imc12 (from 2 s on, 5.8 % of them in each second).
    #[arg(long, default_value_t = Abandon::default(), value_name = "MODEL")]
    #[schemars(extend("x-source" = "ours, because viewers who leave take load off a slow server; the model is that of Krishnan and Sitaraman, IMC 2012"))]
    pub abandon: Abandon,
    /// Chunks that must have arrived before a video plays, at its start and after a stall.
    #[arg(long, default_value_t = 1, value_name = "1..3", value_parser = clap::value_parser!(u32).range(1..=3))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "ours, because a player that shows what it has is the kindest to the server; a chunk is 10 s"))]
    pub resume_with: u32,
    /// When chunks are requested: open (each at its own time, independently of answers) or, as a CLOSED LOOP WITHIN THE
    /// SESSION, closed (10 s after each answer) or player (when less than 30 s are buffered).
    #[arg(long, default_value_t = Pacing::default(), value_name = "PACING")]
    #[schemars(extend("x-source" = "ours, because a slow server must not lower its own load; CloudSuite's client pauses 10 s after each answer"))]
    pub pacing: Pacing,
    /// How videos are requested: ranges (parts of files) or hls (playlists first).
    /// [default with --playlist: hls]
    #[arg(long, default_value_t = Delivery::default(), default_value_if("playlist", ArgPredicate::IsPresent, "hls"), value_name = "PROTOCOL")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-A: chunks by HTTP range requests"))]
    pub protocol: Delivery,
    /// A playlist of any server that speaks HLS, master or media, instead of --videos: http://HOST/PATH/master.m3u8.
    #[arg(long, value_name = "URL")]
    #[schemars(extend("x-source" = "ours, because the set that taillight fileset makes is asked for unless another server's is named"))]
    pub playlist: Option<Url>,
    /// A header field of the requests, such as 'Cookie: token=abc'. May be given more than once.
    #[arg(long, value_name = "NAME: VALUE")]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    #[schemars(extend("x-source" = "ours, because a request has the header fields that HTTP wants unless others are given"))]
    pub header: Vec<Header>,
    /// Check the answers: length (the default), checksum or none. A wrong answer makes the run invalid.
    #[arg(long, value_name = "length|checksum|none", num_args = 0..=1, default_missing_value = "checksum")]
    #[schemars(extend("x-source" = "ours, because comparing lengths costs next to nothing; checksums take 0.3 ns a byte, 2 ms for a chunk of 720p"))]
    pub verify: Option<Verify>,
    /// Maximum number of viewers at once, divided among the threads; further viewers are refused, and their chunks are
    /// errors [default: as many as descriptors and ports allow].
    #[arg(long, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=1_000_000))]
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "ours, because a limit of this machine must show as such and end no run"))]
    pub max_sessions: Option<u32>,
    /// Play this many times as fast, for short tests: chunks, pauses, time-outs and the patience of viewers are divided
    /// by it, and the bandwidth of clients is multiplied by it. Figures at another speed do not apply to real viewers.
    #[arg(long, default_value_t = 1, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "ours, because viewers watch in real time; a session lasts 154 s on average"))]
    pub speed: u32,
}

default_options! { Video; }

words! {
    /// Which clients watch in which quality.
    #[derive(Default)]
    pub enum ClientMix: "mix of clients", "write table-1 or cloudsuite" {
        /// The bandwidth of ISPASS'16, Table I, and the best quality that takes at most 0.8 of it.
        #[default]
        Table1 = "table-1",
        /// The same bandwidth, and qualities by the shares of CloudSuite's client, independently of the bandwidth.
        CloudSuite = "cloudsuite",
    }

    /// How the bandwidth of clients is kept.
    #[derive(Default)]
    pub enum Bandwidth: "way to keep a bandwidth", "write read, pace, shape or off" {
        /// Clients read as fast as the server sends.
        Off = "off",
        /// Each reads no faster than its bandwidth, into a small receive buffer.
        #[default]
        Read = "read",
        /// The server's kernel paces the bytes to each client, by its address.
        Pace = "pace",
        /// Each has a link of its own, by its address: a queue in the server's device.
        Shape = "shape",
    }

    /// The reaction to a chunk that is late or fails.
    #[derive(Default)]
    pub enum Late: "treatment of late chunks", "write keep or kill" {
        /// It is waited for, and the session goes on.
        #[default]
        Keep = "keep",
        /// The session ends with it.
        Kill = "kill",
    }

    /// Whether viewers leave while they wait for the start.
    #[derive(Default)]
    pub enum Abandon: "model of leaving", "write off or imc12" {
        /// They stay.
        #[default]
        Off = "off",
        /// By the model of Krishnan and Sitaraman, IMC 2012.
        Imc12 = "imc12",
    }

    /// When chunks are requested.
    #[derive(Default)]
    pub enum Pacing: "pacing", "write open, closed or player" {
        /// At times that were fixed when the viewer came.
        #[default]
        Open = "open",
        /// A chunk's length after the answer before: a closed loop within the session.
        Closed = "closed",
        /// When the buffer has less than its goal: a closed loop within the session, too.
        Player = "player",
    }

    /// How videos are requested.
    #[derive(Default)]
    pub enum Delivery: "protocol", "write ranges or hls" {
        /// By ranges of files.
        #[default]
        Ranges = "ranges",
        /// By the playlists and segments of HTTP Live Streaming.
        Hls = "hls",
    }
}

impl Bandwidth {
    /// Whether clients have no more than their bandwidth.
    pub fn is_limited(self) -> bool {
        self != Bandwidth::Off
    }
}

impl Video {
    /// Default limit of the sessions that a server must accept at once. Source: the ports that Linux gives to
    /// connections of one address to another, 32768 to 60999.
    pub const MOST_SESSIONS: u32 = 28_232;
    /// Time-outs after which a late chunk is abandoned. Source: ours; it makes 60 s of the usual 10 s, after which
    /// nginx drops a client that takes nothing (`send_timeout`).
    pub const GIVE_UP: u64 = 6;
    /// How long a chunk lasts, and the default of its time-out, at real speed. Source: CloudSuite's request generator.
    const CHUNK: Nanos = Nanos::from_secs(10);

    /// A chunk that is incomplete this long after it could be requested is a miss.
    pub fn timeout(&self) -> Nanos {
        self.chunk_timeout.unwrap_or(Nanos(Video::CHUNK.0 / u64::from(self.speed.max(1))))
    }

    /// The longest that a chunk may take: this long after a window the result of its last chunk is known.
    pub fn longest_chunk(&self) -> Nanos {
        match self.late {
            Late::Keep => Nanos(self.timeout().0.saturating_mul(Video::GIVE_UP)),
            Late::Kill => self.timeout(),
        }
    }

    /// Longest transfer of a chunk to a client with the best quality that its bandwidth carries. Source: 10 s of video
    /// at up to 0.8 of the bandwidth.
    const CHUNK_READ: Nanos = Nanos::from_secs(8);

    /// The longest time, on a server that answers at once, until the first chunks have arrived with which a video
    /// begins, at real speed. Hopeless sessions take longer.
    pub fn first_chunks(&self) -> Nanos {
        let takes = if self.bandwidth.is_limited() { Video::CHUNK_READ } else { Nanos::ZERO };
        (0..self.resume_with).fold(Nanos::ZERO, |before, chunk| {
            let due = match self.pacing {
                Pacing::Open => Nanos(Video::CHUNK.0 * u64::from((chunk + 1).saturating_sub(self.ahead))),
                Pacing::Closed if chunk > self.ahead => before + Video::CHUNK,
                // The player's buffer goal is above this number of chunks.
                Pacing::Closed | Pacing::Player => before,
            };
            before.max(due) + takes
        })
    }

    /// The bandwidth of the fastest client, of all the bytes and at the usual speed. Units: bits per second. Source: ISPASS'16,
    /// Table I has no end for its first class; 25 Mbps are ours, because more than 6.6 carry every quality anyway.
    pub const FASTEST: f64 = 25e6;

    /// The same for the configured share of the bytes and speed.
    pub fn fastest(&self) -> f64 {
        let share = if self.playlist.is_some() { 1.0 } else { self.videos.bytes.as_f64() };
        Video::FASTEST * share * f64::from(self.speed)
    }
}

impl Pacing {
    /// Whether the times of chunks follow from answers, so that a slow server gets requests later.
    pub fn is_closed(self) -> bool {
        self != Pacing::Open
    }
}

/// The start-up delay that viewers bear, in addition to the unavoidable time of their first chunks. Source: from 2 s
/// on they begin to leave (Krishnan and Sitaraman, IMC'12).
const STARTUP: Nanos = Nanos::from_secs(2);
/// The load before the window, at real speed. Source: the time-out of a chunk, the longest that an earlier chunk may be
/// under way; from then on as many end as fall due.
const WARMUP: Nanos = Nanos::from_secs(10);
/// The window, at real speed. Source: six chunks of each viewer, so that stalls are seen.
const WINDOW: Nanos = Nanos::from_secs(60);
/// The window of a trial that searches, at real speed. Source: half of the other.
const SEARCH: Nanos = Nanos::from_secs(30);

impl Facts for Video {
    fn has_sessions(&self) -> bool {
        true
    }

    fn is_http(&self) -> bool {
        true
    }

    fn usual_target(&self, has: &dyn Fn(&str) -> bool) -> Option<String> {
        Some(match &self.playlist {
            Some(url) => url.origin(),
            None if has("nginx") => "video".into(),
            None => "video-server".into(),
        })
    }

    fn usual_qos(&self) -> QosTarget {
        let startup = STARTUP + self.first_chunks();
        Qos::of_sessions(Nanos(startup.0 / u64::from(self.speed.max(1)))).into()
    }

    fn usual_time(&self) -> Time {
        let [warmup, window, search] =
            [WARMUP, WINDOW, SEARCH].map(|time| Nanos(time.0 / u64::from(self.speed.max(1))));
        Time { warmup, window, search }
    }

    fn longest_step(&self) -> Nanos {
        self.longest_chunk()
    }

    fn connections(&self, _load: &Load) -> Option<u32> {
        Some(self.max_sessions.unwrap_or(Video::MOST_SESSIONS))
    }

    fn is_unlimited(&self) -> bool {
        self.max_sessions.is_none()
    }

    fn divide(&mut self, part: &dyn Fn(u32) -> u32) {
        self.max_sessions = self.max_sessions.map(|all| part(all).max(1));
        // The folder exists only here; number, lengths and seed describe its contents.
        self.file_set = None;
    }

    fn served_folder(&self) -> Option<(Option<&Path>, &'static str)> {
        Some((self.file_set.as_deref(), "--videos"))
    }

    fn made_files(&self) -> Option<MadeFiles> {
        let bytes = self.videos.videos as f64 * VideoSet::MEAN_BYTES as f64 * self.videos.bytes.as_f64();
        self.file_set.is_none().then(|| MadeFiles { set: self.videos.to_string(), count: 0, bytes })
    }

    fn client_knob(&self) -> Option<ClientKnob> {
        let knob = match self.bandwidth {
            Bandwidth::Off | Bandwidth::Read => return None,
            Bandwidth::Pace => "client.pace=on".into(),
            Bandwidth::Shape => format!("client.shape={}bit", (self.fastest() as u64).max(1)),
        };
        Some(ClientKnob {
            knob,
            option: format!("--bandwidth {}", self.bandwidth),
            instead: "--bandwidth read",
        })
    }

    fn in_words(&self) -> String {
        let speed =
            if self.speed > 1 { format!(" at {} times the speed", self.speed) } else { String::new() };
        format!("videos {}{speed}", self.videos)
    }

    fn notes(&self, _load: &Load, _lacks: &[String]) -> Vec<String> {
        let closed = self.pacing.is_closed().then(|| {
            format!(
                "Closed loop within each session (--pacing {}): chunks are due after answers, so that a slow server is asked \
                 less, and what was not asked meanwhile is missing from response times and misses.",
                self.pacing
            )
        });
        let fast = (self.speed > 1).then(|| {
            format!(
                "Videos were played {} times as fast (--speed): figures are not those of viewers in real time.",
                self.speed
            )
        });
        closed.into_iter().chain(fast).chain(self.beyond_any_server()).collect()
    }

    fn beyond_any_server(&self) -> Option<String> {
        let why = match (self.mix, self.pacing) {
            _ if !self.bandwidth.is_limited() => return None,
            (ClientMix::CloudSuite, _) => {
                "--mix cloudsuite gives viewers a quality whatever their bandwidth is; the hopeless among them miss their \
                 chunks on any server, and count in the start-up delay, the rebuffer ratio and the misses"
            }
            (ClientMix::Table1, Pacing::Closed) => {
                "with --pacing closed each pause begins when a chunk is there, so that clients of limited bandwidth show more \
                 than comes, and stop on any server"
            }
            (ClientMix::Table1, _) => return None,
        };
        let instead = "no server meets the target that is used where none is given: give --bandwidth off, or a --qos with room \
                       for them";
        Some(format!("Clients are too slow by themselves: {why}. So {instead}."))
    }

    fn is_closed_within_sessions(&self) -> bool {
        self.pacing.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn parsed(line: &str) -> Result<Video, String> {
        let command = Video::augment_args(Command::new("x").no_binary_name(true));
        let matches =
            command.try_get_matches_from(line.split_whitespace()).map_err(|error| error.to_string())?;
        Video::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    #[test]
    fn words_read_back() {
        fn check<T>(all: &[T])
        where
            T: std::fmt::Debug + std::fmt::Display + PartialEq + std::str::FromStr,
            T::Err: std::fmt::Debug,
        {
            for one in all {
                assert_eq!(&one.to_string().parse::<T>().unwrap(), one);
            }
        }
        check(&[ClientMix::Table1, ClientMix::CloudSuite]);
        check(&[Bandwidth::Off, Bandwidth::Read, Bandwidth::Pace, Bandwidth::Shape]);
        check(&[Late::Keep, Late::Kill]);
        check(&[Abandon::Off, Abandon::Imc12]);
        check(&[Pacing::Open, Pacing::Closed, Pacing::Player]);
        check(&[Delivery::Ranges, Delivery::Hls]);
        let error = "paced".parse::<Pacing>().unwrap_err().to_string();
        assert!(error.contains("open, closed or player"), "{error}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let check = |line: &str, says: &str| {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        };
        check("--videos 0x1", "a set has 1 to");
        check("--playlist http://h/a.m3u8 --videos 5x1", "cannot be used with");
        check("--resume-with 4", "1..=3");
        check("--ahead 0", "1..=100");
        check("--speed 0", "1..=1000");
        check("--mix get:100", "write table-1 or cloudsuite");
        check("--playlist master.m3u8", "no http://");
    }

    #[test]
    fn a_playlist_names_its_server_and_protocol() {
        let check = |line: &str, expect: (Delivery, &str)| {
            let video = parsed(line).unwrap();
            let target = video.usual_target(&|_| false).unwrap();
            assert_eq!((video.protocol, &*target), expect, "{line}");
        };
        check("", (Delivery::Ranges, "video-server"));
        check("--playlist http://h/live/a.m3u8", (Delivery::Hls, "http://h:80"));
        check("--playlist https://[::1]:8443/a.m3u8?x", (Delivery::Hls, "https://[::1]:8443"));
        check("--playlist http://h/a.m3u8 --protocol ranges", (Delivery::Ranges, "http://h:80"));
    }

    #[test]
    fn a_chunk_takes_no_longer_than_it_is_waited_for() {
        let check = |line: &str, seconds: f64| {
            assert_eq!(parsed(line).unwrap().longest_chunk().as_secs_f64(), seconds, "{line}");
        };
        check("", 60.0);
        check("--speed 20", 3.0);
        check("--late kill", 10.0);
        check("--late kill --chunk-timeout 4s --speed 20", 4.0);
    }

    #[test]
    fn only_one_pacing_is_an_open_loop() {
        let closed = |word: &str| word.parse::<Pacing>().unwrap().is_closed();
        assert_eq!(["open", "closed", "player"].map(closed), [false, true, true]);
    }

    #[test]
    fn a_target_that_no_server_meets_is_told() {
        let check = |mix: ClientMix, pacing: Pacing, bandwidth: Bandwidth, says: Option<&str>| {
            let note = Video { mix, pacing, bandwidth, ..Video::default() }.beyond_any_server();
            match says {
                None => assert_eq!(note, None, "{mix} {pacing} {bandwidth}"),
                Some(says) => assert!(note.as_ref().is_some_and(|note| note.contains(says)), "{note:?}"),
            }
        };
        check(ClientMix::Table1, Pacing::Open, Bandwidth::Read, None);
        check(ClientMix::Table1, Pacing::Player, Bandwidth::Read, None);
        check(ClientMix::CloudSuite, Pacing::Open, Bandwidth::Off, None);
        check(ClientMix::Table1, Pacing::Closed, Bandwidth::Off, None);
        check(ClientMix::CloudSuite, Pacing::Open, Bandwidth::Pace, Some("hopeless"));
        check(
            ClientMix::Table1,
            Pacing::Closed,
            Bandwidth::Read,
            Some("each pause begins when a chunk is there"),
        );
    }
}
