//! The workloads: one type each, with its options on the command line.

mod cache;
mod digits;
mod expiry;
mod files;
mod mix;
mod movies;
mod null;
mod operation;
mod prefix;
mod request;
mod sampling;
mod social;
mod social_mix;
mod video;
mod video_set;
mod web;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Preset;

pub use cache::{Cache, Fill, OnMiss, Placement, Protocol};
pub use digits::Digits;
pub use expiry::Expiry;
pub use files::Files;
pub use mix::{Mix, Share};
pub use movies::{MovieMix, MovieQuery, Movies};
pub use null::Null;
pub use operation::Operation;
pub use prefix::Prefix;
pub use request::{Header, Method, check_target};
pub use sampling::Sampling;
pub use social::{Assets, Site, SiteCache, Social, Users};
pub use social_mix::{OperationShare, SocialLimits, SocialMix, SocialOperation};
pub use video::{Abandon, Bandwidth, ClientMix, Delivery, Late, Pacing, Video};
pub use video_set::{ByteShare, VideoSet};
pub use web::{Verify, Web};

/// What is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Operations of a memcached-compatible cache.
    Cache(Box<Cache>),
    /// Requests to a web server.
    Web(Box<Web>),
    /// Viewers of videos.
    Video(Box<Video>),
    /// Users of a social network.
    Social(Box<Social>),
    /// Visitors of a site of films.
    Movies(Box<Movies>),
    /// Lines to a null server.
    Null(Null),
}

impl Workload {
    /// All names.
    pub const NAMES: [&str; 6] = ["cache", "web", "video", "social", "movies", "null"];

    /// The workload of this name with its defaults; `None` if unknown.
    pub fn named(name: &str) -> Option<Workload> {
        match name {
            "cache" => Some(Workload::Cache(Box::default())),
            "web" => Some(Workload::Web(Box::default())),
            "video" => Some(Workload::Video(Box::default())),
            "social" => Some(Workload::Social(Box::default())),
            "movies" => Some(Workload::Movies(Box::default())),
            "null" => Some(Workload::Null(Null::default())),
            _ => None,
        }
    }

    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Workload::Cache(_) => "cache",
            Workload::Web(_) => "web",
            Workload::Video(_) => "video",
            Workload::Social(_) => "social",
            Workload::Movies(_) => "movies",
            Workload::Null(_) => "null",
        }
    }

    /// Whether its arrivals are sessions: each owns a connection and sends one step after the other, and is judged by
    /// its user's experience.
    pub fn has_sessions(&self) -> bool {
        match self {
            Workload::Video(_) | Workload::Social(_) | Workload::Movies(_) => true,
            Workload::Cache(_) | Workload::Web(_) | Workload::Null(_) => false,
        }
    }

    /// Whether its servers speak HTTP and are named by URLs.
    pub fn is_http(&self) -> bool {
        match self {
            Workload::Web(_) | Workload::Video(_) | Workload::Social(_) | Workload::Movies(_) => true,
            Workload::Cache(_) | Workload::Null(_) => false,
        }
    }

    /// The published load that it names.
    pub fn preset(&self) -> Option<Preset> {
        if let Workload::Cache(cache) = self { cache.preset } else { None }
    }

    /// Agrees to store items in the servers, which were started for the run.
    pub fn agree(&mut self) {
        match self {
            Workload::Cache(cache) => cache.yes = true,
            Workload::Web(web) => web.yes = true,
            Workload::Video(_) | Workload::Social(_) | Workload::Movies(_) | Workload::Null(_) => {}
        }
    }
}

impl Default for Workload {
    fn default() -> Workload {
        Workload::Cache(Box::default())
    }
}
