use proto_http::Url;
use spec::workload::{self, Verify};
use units::ParseError;

use crate::web::{Body, Pages};

/// Every parameter of the web workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WebConfig {
    /// The servers' URLs; paths are requested below them. Empty until known.
    pub urls: Vec<Url>,
    /// The options.
    pub options: workload::Web,
    /// The pages that they name.
    pub pages: Pages,
    /// The body of every request; `None`: no body.
    pub body: Option<Body>,
    /// The seed of the draws.
    pub seed: u64,
}

impl WebConfig {
    /// Checks that the parameters go together.
    ///
    /// Errors: checksums for unknown contents, or for answers that do not contain them.
    pub fn check(&self) -> Result<(), ParseError> {
        dist::KeySampler::new(self.options.popularity, self.pages.count())?;
        let error = |problem: &str| {
            Err(ParseError {
                what: "check of answers",
                given: self.verify().to_string(),
                problem: problem.into(),
                hint: "use --verify length, or none",
            })
        };
        let has_query = |url: &&Url| url.path.contains('?');
        if let Some(url) = self.urls.iter().find(has_query).filter(|_| self.pages != Pages::One) {
            return Err(ParseError {
                what: "URL",
                given: url.to_string(),
                problem: "paths are put behind it, and it ends in a query".into(),
                hint: "leave out what begins with '?'",
            });
        }
        let method = &self.options.method;
        let without = ["GET", "HEAD", "TRACE"].contains(&method.to_string().as_str());
        if self.body.is_some() && without {
            return Err(ParseError {
                what: "method",
                given: method.to_string(),
                problem: "its requests carry no body, which servers refuse or pass over".into(),
                hint: "use --method POST or PUT, or leave out --body and --body-size",
            });
        }
        if self.verify() != Verify::Checksum {
            return Ok(());
        }
        if !matches!(self.pages, Pages::Files(_)) {
            return error("only a file set knows the content of its files");
        }
        if !method.is_get() {
            return error("only GET brings a whole file");
        }
        if self.has_header("range") || self.has_header("accept-encoding") {
            return error("with a Range or an Accept-Encoding the files come in parts or compressed");
        }
        Ok(())
    }

    /// The checks of each answer.
    pub fn verify(&self) -> Verify {
        self.options.verify.unwrap_or_default()
    }

    pub(super) fn has_header(&self, name: &str) -> bool {
        self.options.header.iter().any(|header| header.name.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::web::FileSet;

    /// 100 files of 1 KiB below `/x` of one server.
    pub(in crate::web) fn config() -> WebConfig {
        WebConfig {
            urls: vec!["http://10.0.0.1:8080/x/".parse().unwrap()],
            options: workload::Web::default(),
            pages: Pages::Files(FileSet::read("100x1KiB", 3).unwrap()),
            body: None,
            seed: 5,
        }
    }

    /// The same with other options.
    pub(in crate::web) fn with(change: impl FnOnce(&mut workload::Web)) -> WebConfig {
        let mut config = config();
        change(&mut config.options);
        config
    }

    #[test]
    fn checksums_need_whole_files() {
        let check = |change: fn(&mut WebConfig), says: Option<&str>| {
            let mut config = with(|options| options.verify = Some(Verify::Checksum));
            change(&mut config);
            let found = config.check().map_err(|error| error.to_string());
            match says {
                None => assert_eq!(found, Ok(())),
                Some(says) => assert!(found.as_ref().is_err_and(|e| e.contains(says)), "{found:?}"),
            }
        };
        check(|_| (), None);
        check(|config| config.pages = Pages::One, Some("file set"));
        check(|config| config.options.method = "HEAD".parse().unwrap(), Some("GET"));
        check(|config| config.options.header = vec!["range: bytes=0-9".parse().unwrap()], Some("Range"));
    }

    #[test]
    fn a_body_takes_a_method_that_has_one() {
        let check = |method: &str, expect: bool| {
            let body = Some(Body::new("f", b"x".to_vec()).unwrap());
            let config = with(|options| options.method = method.parse().unwrap());
            let config = WebConfig { body, ..config };
            assert_eq!(config.check().is_ok(), expect, "{method}");
        };
        check("POST", true);
        check("PUT", true);
        check("PROPFIND", true);
        check("GET", false);
        check("HEAD", false);
    }

    #[test]
    fn words_read_back() {
        for verify in [Verify::None, Verify::Length, Verify::Checksum] {
            assert_eq!(verify.to_string().parse(), Ok(verify));
        }
        assert!("all".parse::<Verify>().is_err());
    }
}
