//! The workloads: one type each, with its options on the command line and its [`Facts`].
//!
//! A further one is a file here, and a line in `workloads!`.

mod cache;
mod digits;
mod expiry;
mod facts;
mod files;
mod mix;
mod movies;
mod null;
mod operation;
mod prefix;
mod replay;
mod request;
mod sampling;
mod social;
mod social_mix;
mod video;
mod video_set;
mod web;

use std::ops::{Deref, DerefMut};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SpecError;
use crate::read::section;

pub use cache::{Cache, Fill, OnMiss, Placement, Protocol};
pub use digits::Digits;
pub use expiry::Expiry;
pub use facts::{ClientKnob, Facts, MadeFiles, OwnFile};
pub use files::Files;
pub use mix::{Mix, Share};
pub use movies::{MovieMix, MovieQuery, Movies};
pub use null::Null;
pub use operation::Operation;
pub use prefix::Prefix;
pub use replay::{KeySample, Replay, Speed};
pub use request::{Header, Method, check_target};
pub use sampling::Sampling;
pub use social::{Assets, Site, SiteCache, Social, Users};
pub use social_mix::{OperationShare, SocialLimits, SocialMix, SocialOperation};
pub use video::{Abandon, Bandwidth, ClientMix, Delivery, Late, Pacing, Video};
pub use video_set::{ByteShare, VideoSet};
pub use web::{Http, Verify, Web};

/// Declares [`Workload`] and [`Kind::ALL`] from the type, name and description of each.
macro_rules! workloads {
    ($($of:ident $name:literal $about:literal;)*) => {
        /// What is sent.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Workload {
            $(
                #[doc = $about]
                $of(Box<$of>),
            )*
        }

        impl Kind {
            /// All workloads, the default first.
            pub const ALL: &[Kind] = &[$(Kind {
                name: $name,
                about: $about,
                usual: || Workload::$of(Box::default()),
                options: |command| $of::augment_args(command),
                given: |matches| Ok(Workload::$of(Box::new($of::from_arg_matches(matches)?))),
                read: |fields| Ok(Workload::$of(Box::new(section("workload", fields)?))),
            },)*];
        }

        impl Workload {
            /// Its name on the command line.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Workload::$of(_) => $name,)*
                }
            }
        }

        impl Deref for Workload {
            type Target = dyn Facts;

            fn deref(&self) -> &(dyn Facts + 'static) {
                match self {
                    $(Workload::$of(one) => &**one,)*
                }
            }
        }

        impl DerefMut for Workload {
            fn deref_mut(&mut self) -> &mut (dyn Facts + 'static) {
                match self {
                    $(Workload::$of(one) => &mut **one,)*
                }
            }
        }
    };
}

workloads! {
    Cache "cache" "Requests to a cache by the protocol of memcached or Redis.";
    Web "web" "Requests to a web server.";
    Video "video" "Sessions of viewers, who watch videos of a server in chunks; --rate is the number of viewers per second.";
    Social "social" "Sessions of users of a social network, who log in, do what the mix says and log out; --rate is the number of users per second.";
    Movies "movies" "Visitors of a site of films, who browse, search, review, rent and watch; --rate is the number of visitors per second.";
    Null "null" "Lines to a null server, to test the ruler.";
}

/// A kind of workload, before its options are known.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// Its description, for the help.
    pub about: &'static str,
    usual: fn() -> Workload,
    options: fn(Command) -> Command,
    given: fn(&ArgMatches) -> Result<Workload, clap::Error>,
    read: fn(Value) -> Result<Workload, SpecError>,
}

impl Kind {
    /// The kind of this name; `None` if unknown.
    pub fn named(name: &str) -> Option<&'static Kind> {
        Kind::ALL.iter().find(|kind| kind.name == name)
    }

    /// The workload with its defaults.
    pub fn usual(&self) -> Workload {
        (self.usual)()
    }

    /// Adds its options to a command.
    pub fn options(&self, command: Command) -> Command {
        (self.options)(command)
    }

    /// The workload of the options that were given to such a command.
    ///
    /// Errors: an option that is missing, or a value that it does not take.
    pub fn given(&self, matches: &ArgMatches) -> Result<Workload, clap::Error> {
        (self.given)(matches)
    }

    /// The workload of the fields of a file.
    pub(crate) fn read(&self, fields: Value) -> Result<Workload, SpecError> {
        (self.read)(fields)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.name == other.name
    }
}

impl Workload {
    /// The workload of this name with its defaults; `None` if unknown.
    pub fn named(name: &str) -> Option<Workload> {
        Kind::named(name).map(Kind::usual)
    }
}

impl Default for Workload {
    fn default() -> Workload {
        Kind::ALL[0].usual()
    }
}
