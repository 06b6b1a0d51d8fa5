use std::fmt;
use std::str::FromStr;

use units::ParseError;

/// What a person may choose of an NGINX, each as `NAME=VALUE`; what is not chosen is as the paper has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many files' descriptors, sizes and times a worker keeps; `None` for as many as it may have open, 0 for none.
    pub open_file_cache: Option<u64>,
    /// The level at which answers are compressed; 0 for not at all.
    pub gzip: u8,
    /// Whether each request is written to a file.
    pub access_log: bool,
    /// Whether each worker has a listening socket of its own, among which the kernel spreads connections.
    pub reuseport: bool,
    /// Whether the kernel sends files without a copy in the server.
    pub sendfile: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { open_file_cache: None, gzip: 0, access_log: false, reuseport: false, sendfile: true }
    }
}

const HINT: &str = "write open_file_cache=auto, off or a number of files; gzip=off or a level from 1 to 9; access_log, \
                     reuseport or sendfile =on or =off";

impl Settings {
    /// Reads settings, the later ones over the earlier.
    ///
    /// Errors: the first that does not exist, with all that do.
    pub fn read<S: AsRef<str>>(texts: &[S]) -> Result<Settings, ParseError> {
        let mut settings = Settings::default();
        texts.iter().try_for_each(|text| settings.set(text.as_ref()))?;
        Ok(settings)
    }

    /// Changes one. Errors: it does not exist.
    fn set(&mut self, text: &str) -> Result<(), ParseError> {
        let error = |problem: String| ParseError {
            what: "setting of nginx",
            given: text.into(),
            problem,
            hint: HINT,
        };
        let (name, value) = text.split_once('=').ok_or_else(|| error("it is not NAME=VALUE".into()))?;
        let flag = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(error(format!("'{value}' is neither on nor off"))),
        };
        match name {
            "open_file_cache" => {
                self.open_file_cache = match value {
                    "auto" => None,
                    "off" => Some(0),
                    count => Some(
                        count.parse().map_err(|_| error(format!("'{count}' is not a number of files")))?,
                    ),
                };
            }
            "gzip" => {
                self.gzip = match (value, value.parse()) {
                    ("off", _) => 0,
                    (_, Ok(level @ 1..=9)) => level,
                    _ => return Err(error(format!("'{value}' is not a level from 1 to 9"))),
                };
            }
            "access_log" => self.access_log = flag()?,
            "reuseport" => self.reuseport = flag()?,
            "sendfile" => self.sendfile = flag()?,
            _ => return Err(error(format!("there is none called '{name}'"))),
        }
        Ok(())
    }
}

impl FromStr for Settings {
    type Err = ParseError;

    /// One setting, over the defaults.
    fn from_str(text: &str) -> Result<Settings, ParseError> {
        Settings::read(&[text])
    }
}

impl fmt::Display for Settings {
    /// All of them, as they are read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = |on: bool| if on { "on" } else { "off" };
        let cache = match self.open_file_cache {
            None => "auto".into(),
            Some(0) => "off".into(),
            Some(count) => count.to_string(),
        };
        let gzip = if self.gzip == 0 { "off".into() } else { self.gzip.to_string() };
        let (log, reuseport, sendfile) = (flag(self.access_log), flag(self.reuseport), flag(self.sendfile));
        write!(
            f,
            "open_file_cache={cache} gzip={gzip} access_log={log} reuseport={reuseport} sendfile={sendfile}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_prints() {
        let check = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(Settings::read(&words).unwrap().to_string(), text);
        };
        check("open_file_cache=auto gzip=off access_log=off reuseport=off sendfile=on");
        check("open_file_cache=off gzip=6 access_log=on reuseport=on sendfile=off");
        check("open_file_cache=1000 gzip=1 access_log=off reuseport=off sendfile=on");
        assert_eq!(Settings::read::<&str>(&[]).unwrap(), Settings::default());
        assert_eq!(Settings::read(&["gzip=3", "gzip=off"]).unwrap(), Settings::default());
        assert_eq!(Settings::read(&["open_file_cache=0"]), Settings::read(&["open_file_cache=off"]));
    }

    #[test]
    fn refuses_with_all_that_there_are() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Settings>().unwrap_err().to_string();
            assert!(error.contains(expect) && error.contains("open_file_cache=auto"), "{text}: {error}");
        };
        check("gzip", "not NAME=VALUE");
        check("gzip=0", "not a level");
        check("gzip=10", "not a level");
        check("access_log=yes", "neither on nor off");
        check("open_file_cache=-1", "not a number of files");
        check("workers=4", "none called 'workers'");
        check("", "not NAME=VALUE");
    }
}
