use dist::{KeySampler, Popularity};
use proto_http::Url;
use spec::workload::{Abandon, Bandwidth, ClientMix, Header, Late, Pacing, Verify};
use units::{Nanos, ParseError};

use crate::video::classes::SHARES;
use crate::video::library::{Library, Videos};

/// Every parameter of the video workload, as recorded in a result.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoConfig {
    /// The servers' URLs; videos are requested below them. Empty until known.
    pub urls: Vec<Url>,
    /// Further header fields of the requests.
    pub headers: Vec<Header>,
    /// The videos.
    pub library: Library,
    /// How often each video is watched.
    pub popularity: Popularity,
    /// Which clients watch in which quality.
    pub mix: ClientMix,
    /// How the bandwidth of clients is kept.
    pub bandwidth: Bandwidth,
    /// Chunks requested at once. Bounds: at least 1.
    pub ahead: u32,
    /// A chunk that is incomplete this long after it could be requested is a miss. Units: time of a viewer.
    pub chunk_timeout: Nanos,
    /// The reaction to a chunk that is late or fails.
    pub late: Late,
    /// Whether viewers leave while they wait for the start.
    pub abandon: Abandon,
    /// Chunks that must be there before a video plays.
    pub resume_with: u32,
    /// When chunks are requested.
    pub pacing: Pacing,
    /// The checks of each answer.
    pub verify: Verify,
    /// Viewers who arrive per second, which determines how many are present when the load begins.
    pub viewers_per_s: f64,
    /// The time in which arrivals are recorded.
    pub window: Nanos,
    /// The seed of the draws.
    pub seed: u64,
}

impl VideoConfig {
    /// The shortest drain in which work due in the window is followed to its end: a chunk that fell due at its last
    /// moment may take this long, and so may a stall that it ends. It ends earlier if nothing is under way.
    pub fn drain(&self) -> Nanos {
        self.give_up()
    }

    /// The time-out of an answer, from the sending of its request.
    pub fn give_up(&self) -> Nanos {
        match self.late {
            Late::Keep => Nanos(self.chunk_timeout.0.saturating_mul(spec::workload::Video::GIVE_UP)),
            Late::Kill => self.chunk_timeout,
        }
    }

    /// Checks that the parameters go together.
    ///
    /// Errors: shares for qualities that do not exist; checksums for unknown contents; a time-out of 0.
    pub fn check(&self) -> Result<(), ParseError> {
        KeySampler::new(self.popularity, self.library.videos())?;
        let rungs = self.library.rungs();
        if self.mix == ClientMix::CloudSuite && rungs.len() != SHARES.len() {
            return Err(ParseError {
                what: "mix of clients",
                given: self.mix.to_string(),
                problem: format!(
                    "it has shares for {} qualities, and there are {}",
                    SHARES.len(),
                    rungs.len()
                ),
                hint: "use --mix table-1, which takes the best that each client's bandwidth carries",
            });
        }
        if self.verify == Verify::Checksum && matches!(self.library.source(), Videos::Listed(_)) {
            return Err(ParseError {
                what: "check of answers",
                given: self.verify.to_string(),
                problem: "the content of another server's segments is not known".into(),
                hint: "use --verify length, or none",
            });
        }
        if let Some(header) = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case("range")) {
            return Err(ParseError {
                what: "header field",
                given: header.to_string(),
                problem: "each chunk is a range of its own".into(),
                hint: "leave it out",
            });
        }
        if self.chunk_timeout == Nanos::ZERO {
            return Err(ParseError {
                what: "time-out of chunks",
                given: self.chunk_timeout.to_string(),
                problem: "every chunk would be a miss".into(),
                hint: "use --chunk-timeout 10s, or leave it out",
            });
        }
        let has_query = |url: &&Url| url.path.contains('?');
        match self.urls.iter().find(has_query) {
            Some(url) => Err(ParseError {
                what: "URL",
                given: url.to_string(),
                problem: "paths are put behind it, and it ends in a query".into(),
                hint: "leave out what begins with '?'",
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(in crate::video) mod tests {
    use std::sync::Arc;

    use datasets::videos::Catalog;
    use spec::workload::Delivery;

    use super::*;
    use crate::video::playlist::Loader;

    /// 40 videos of 1/160 of the bytes on one server, at 10 times the speed.
    pub(in crate::video) fn config() -> VideoConfig {
        let catalog = Catalog::new(&"40x1/160".parse().unwrap(), 1).unwrap();
        VideoConfig {
            urls: vec!["http://10.0.0.1:8080/v/".parse().unwrap()],
            headers: Vec::new(),
            library: Library::new(Videos::Set(catalog, Delivery::Ranges), 10),
            popularity: Popularity::zipf(0.8).unwrap(),
            mix: ClientMix::Table1,
            bandwidth: Bandwidth::Off,
            ahead: 3,
            chunk_timeout: Nanos::from_secs(1),
            late: Late::Keep,
            abandon: Abandon::Off,
            resume_with: 1,
            pacing: Pacing::Open,
            verify: Verify::Length,
            viewers_per_s: 10.0,
            window: Nanos::from_secs(10),
            seed: 5,
        }
    }

    /// A video of another server in one quality.
    pub(in crate::video) fn listed() -> Library {
        listed_as("#EXTM3U\n#EXTINF:4,\na.ts\n#EXTINF:6,\n#EXT-X-BYTERANGE:70@30\nb.ts\n#EXT-X-ENDLIST\n")
    }

    /// The video of this playlist.
    pub(in crate::video) fn listed_as(text: &str) -> Library {
        let mut loader = Loader::new(&"http://10.0.0.1:8080/live/m.m3u8".parse().unwrap());
        loader.take(text.as_bytes()).unwrap();
        Library::new(Videos::Listed(Arc::new(loader.listing().unwrap())), 1)
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let check = |change: fn(&mut VideoConfig), says: Option<&str>| {
            let mut config = config();
            change(&mut config);
            let found = config.check().map_err(|error| error.to_string());
            match says {
                None => assert_eq!(found, Ok(())),
                Some(says) => assert!(found.as_ref().is_err_and(|e| e.contains(says)), "{found:?}"),
            }
        };
        check(|_| (), None);
        check(|config| config.verify = Verify::Checksum, None);
        check(|config| config.mix = ClientMix::CloudSuite, None);
        check(|config| config.library = listed(), None);
        let mixed =
            |config: &mut VideoConfig| (config.library, config.mix) = (listed(), ClientMix::CloudSuite);
        check(mixed, Some("shares for 4 qualities, and there are 1"));
        let unknown =
            |config: &mut VideoConfig| (config.library, config.verify) = (listed(), Verify::Checksum);
        check(unknown, Some("content of another server's segments"));
        check(|config| config.chunk_timeout = Nanos::ZERO, Some("every chunk would be a miss"));
        check(|config| config.urls = vec!["http://h/a?b".parse().unwrap()], Some("ends in a query"));
    }

    #[test]
    fn a_late_chunk_is_waited_for_or_given_up() {
        let mut config = config();
        assert_eq!(config.give_up(), Nanos::from_secs(6));
        config.late = Late::Kill;
        assert_eq!(config.give_up(), Nanos::from_secs(1));
    }
}
