use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::Size;
use crate::text::as_text;

const HINT: &str = "write a number of files, x, and a size or a distribution of sizes, such as 100000x4KiB, 20000xweb \
     or 1000xuniform:1KiB..64KiB";

/// A set of files: how many and how large.
///
/// Bounds: 1 to [`Files::MAX`] files.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    number: u64,
    sizes: Size,
}

impl Files {
    /// The most files: 4 194 304, in 4096 folders of 1024.
    pub const MAX: u64 = 1 << 22;

    /// A set of `number` files with sizes of a distribution.
    ///
    /// Errors: no file, or more than [`Files::MAX`].
    pub fn new(number: u64, sizes: Size) -> Result<Files, ParseError> {
        if (1..=Files::MAX).contains(&number) {
            Ok(Files { number, sizes })
        } else {
            let problem = format!("it has {number} files, and a set has 1 to {}", Files::MAX);
            Err(error(&format!("{number}x{sizes}"), problem))
        }
    }

    /// The default set. Source: IISWC'17, §III-B.
    pub fn usual() -> Files {
        Files { number: 100_000, sizes: Size::fixed(units::Bytes(4096)).expect("it is under the limit") }
    }

    /// How many there are.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How large they are.
    pub fn sizes(&self) -> &Size {
        &self.sizes
    }
}

impl FromStr for Files {
    type Err = ParseError;

    /// Reads `100000x4KiB` or `20000xweb`, with any distribution of sizes behind the x.
    fn from_str(text: &str) -> Result<Files, ParseError> {
        let (files, sizes) =
            text.trim().split_once('x').ok_or_else(|| error(text, "it has no x in it".into()))?;
        let files = files.trim();
        let number = units::count(files, 0..=u64::MAX)
            .map_err(|_| error(text, format!("'{files}' before the x is not a whole number of files")))?;
        let sizes: Size = sizes.parse().map_err(|e: ParseError| {
            error(text, format!("what follows the x is not a size of files: {}", e.problem))
        })?;
        Files::new(number, sizes).map_err(|e| error(text, e.problem))
    }
}

impl fmt::Display for Files {
    /// A text that reads back as the same set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.sizes.min().0, self.sizes.max().0);
        let sizes = match least {
            _ if least != most => self.sizes.to_string(),
            1.. if least.is_multiple_of(1 << 20) => format!("{}MiB", least >> 20),
            1.. if least.is_multiple_of(1 << 10) => format!("{}KiB", least >> 10),
            bytes => bytes.to_string(),
        };
        f.pad(&format!("{}x{sizes}", self.number))
    }
}

fn error(given: &str, problem: String) -> ParseError {
    ParseError { what: "file set", given: given.into(), problem, hint: HINT }
}

as_text! { Files; }
