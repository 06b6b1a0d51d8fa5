use std::str::FromStr;

use units::ParseError;

use crate::formats::{Line, Parser, oracle_general};

units::named! {
    /// The form in which requests were recorded. The places are part of the compiled form: never change one, only add.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Format {
        /// Twitter's cache traces: CSV without a header, seven columns.
        Twitter = "twitter",
        /// CacheLib's traces of key-value caches: CSV with a header.
        Kvcache = "kvcache",
        /// libCacheSim's binary records of 24 bytes.
        OracleGeneral = "oracle-general",
        /// The lines of memcached's and Sphinx's `watch fetchers mutations deletions`.
        Watch = "watch",
        /// The lines of Redis' MONITOR.
        Monitor = "monitor",
    }
}

impl Format {
    /// All names, for messages.
    pub(crate) fn names() -> String {
        Format::ALL.map(Format::name).join(" ")
    }

    /// Whether times are whole seconds, so that the requests of a second have to be spread over it.
    pub(crate) fn has_seconds(self) -> bool {
        matches!(self, Format::Twitter | Format::Kvcache | Format::OracleGeneral)
    }

    /// The longest line. Units: bytes. A line of MONITOR has the value, with up to four characters for each byte; a
    /// value of 1 MB is memcached's default limit.
    pub(crate) fn longest_line(self) -> usize {
        if self == Format::Monitor { 8 << 20 } else { 64 << 10 }
    }

    /// The format that the beginning of a file has; `None` if it is unknown or ambiguous.
    pub fn recognise(beginning: &[u8]) -> Option<Format> {
        let is_text = !beginning.iter().any(|byte| matches!(byte, 0..=8 | 14..=31));
        // Times and sizes of 4 bytes have a zero in nearly every record, which no text has.
        if !is_text {
            return oracle_general::is_one(beginning).then_some(Format::OracleGeneral);
        }
        // The last line may be cut off.
        let whole = beginning.iter().rposition(|byte| *byte == b'\n').unwrap_or(beginning.len());
        let mut fitting = Format::ALL.into_iter().filter(|format| is_read(*format, &beginning[..whole]));
        match (fitting.next(), fitting.next()) {
            (Some(format), None) => Some(format),
            _ => None,
        }
    }
}

/// Whether the first line with a request is one of a format, and those before it are read.
fn is_read(format: Format, text: &[u8]) -> bool {
    // Comments and messages at the beginning are few.
    const LOOKED_AT: usize = 100;
    let Some(mut parser) = Parser::of(format) else { return false };
    for line in text.split(|byte| *byte == b'\n').take(LOOKED_AT) {
        match parser.line(line.trim_ascii(), &mut |_| {}) {
            Ok(Line::Requests) => return true,
            Ok(Line::Nothing | Line::Skipped) => {}
            Err(_) => return false,
        }
    }
    false
}

impl FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Format, ParseError> {
        Format::named(text.trim()).ok_or_else(|| ParseError {
            what: "format of a trace",
            given: text.into(),
            problem: "there is none of this name".into(),
            hint: "write one of: twitter kvcache oracle-general watch monitor",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recipe, make};
    use proptest::prelude::*;

    #[test]
    fn names_read_back() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "csv".parse::<Format>().unwrap_err().to_string();
        assert!(error.ends_with(&Format::names()), "{error}");
    }

    #[test]
    fn is_recognised_by_its_content() {
        for format in Format::ALL {
            let mut made = Vec::new();
            make(&Recipe { format, requests: 50, ..Recipe::default() }, &mut made).unwrap();
            assert_eq!(Format::recognise(&made), Some(format));
            // Also by a part that ends within a line or a record.
            assert_eq!(Format::recognise(&made[..made.len() / 2]), Some(format), "{format}");
        }
        let check = |text: &str, expect: Option<Format>| {
            assert_eq!(Format::recognise(text.as_bytes()), expect, "{text}");
        };
        check("", None);
        check("\n\n", None);
        check("OK\n1339518083.107412 [0 127.0.0.1:60866] \"get\" \"x\"\n", Some(Format::Monitor));
        check(
            "OK\nts=1.5 gid=1 type=item_get key=foo status=not_found clsid=0 cfd=26 size=0\n",
            Some(Format::Watch),
        );
        check("key,op,size,op_count,key_size\n", None);
        check("key_size,value_size,popularity\n30,200,1\n", None);
        check("0,k,3,10,1,frobnicate,0\n", None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_at(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Format::recognise(&bytes);
        }
    }
}
