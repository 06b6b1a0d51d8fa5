use dist::KeySampler;
use proto_http::Url;
use spec::workload::{ClientMix, Verify};
use units::{Nanos, ParseError};

use crate::video::classes::SHARES;
use crate::video::library::{Library, Videos};

/// Every parameter of the video workload.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoConfig {
    /// The servers' URLs; videos are requested below them. Empty until known.
    pub urls: Vec<Url>,
    /// The videos.
    pub library: Library,
    /// The options; the library was made from the options of videos.
    pub options: spec::workload::Video,
    /// Viewers who arrive per second, which determines how many are present when the load begins.
    pub viewers_per_s: f64,
    /// The time in which arrivals are recorded.
    pub window: Nanos,
    /// The seed of the draws.
    pub seed: u64,
}

impl VideoConfig {
    /// Checks that the parameters go together.
    ///
    /// Errors: shares for qualities that do not exist; checksums for unknown contents; a time-out of 0.
    pub fn check(&self) -> Result<(), ParseError> {
        let options = &self.options;
        KeySampler::new(options.popularity, self.library.videos())?;
        let rungs = self.library.rungs();
        if options.mix == ClientMix::CloudSuite && rungs.len() != SHARES.len() {
            return Err(ParseError {
                what: "mix of clients",
                given: options.mix.to_string(),
                problem: format!(
                    "it has shares for {} qualities, and there are {}",
                    SHARES.len(),
                    rungs.len()
                ),
                hint: "use --mix table-1, which takes the best that each client's bandwidth carries",
            });
        }
        if options.verify == Some(Verify::Checksum) && matches!(self.library.source(), Videos::Listed(_)) {
            return Err(ParseError {
                what: "check of answers",
                given: Verify::Checksum.to_string(),
                problem: "the content of another server's segments is not known".into(),
                hint: "use --verify length, or none",
            });
        }
        if let Some(header) = options.header.iter().find(|header| header.name.eq_ignore_ascii_case("range")) {
            return Err(ParseError {
                what: "header field",
                given: header.to_string(),
                problem: "each chunk is a range of its own".into(),
                hint: "leave it out",
            });
        }
        if options.timeout() == Nanos::ZERO {
            return Err(ParseError {
                what: "time-out of chunks",
                given: Nanos::ZERO.to_string(),
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
    use spec::workload::{Bandwidth, Delivery};

    use super::*;
    use crate::video::playlist::Loader;

    /// 40 videos of 1/160 of the bytes on one server, at 10 times the speed.
    pub(in crate::video) fn config() -> VideoConfig {
        let catalog = Catalog::new(&"40x1/160".parse().unwrap(), 1).unwrap();
        VideoConfig {
            urls: vec!["http://10.0.0.1:8080/v/".parse().unwrap()],
            library: Library::new(Videos::Set(catalog, Delivery::Ranges), 10),
            options: spec::workload::Video { bandwidth: Bandwidth::Off, speed: 10, ..Default::default() },
            viewers_per_s: 10.0,
            window: Nanos::from_secs(10),
            seed: 5,
        }
    }

    /// The configuration with other options.
    pub(in crate::video) fn with(
        mut config: VideoConfig,
        change: impl FnOnce(&mut spec::workload::Video),
    ) -> VideoConfig {
        change(&mut config.options);
        config
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
        check(|config| config.options.verify = Some(Verify::Checksum), None);
        check(|config| config.options.mix = ClientMix::CloudSuite, None);
        check(|config| config.library = listed(), None);
        let mixed = |config: &mut VideoConfig| {
            (config.library, config.options.mix) = (listed(), ClientMix::CloudSuite);
        };
        check(mixed, Some("shares for 4 qualities, and there are 1"));
        let unknown = |config: &mut VideoConfig| {
            (config.library, config.options.verify) = (listed(), Some(Verify::Checksum));
        };
        check(unknown, Some("content of another server's segments"));
        let timeout = |config: &mut VideoConfig| config.options.chunk_timeout = Some(Nanos::ZERO);
        check(timeout, Some("every chunk would be a miss"));
        check(|config| config.urls = vec!["http://h/a?b".parse().unwrap()], Some("ends in a query"));
    }
}
