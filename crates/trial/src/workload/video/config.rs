use std::sync::Arc;

use anyhow::{Result, bail};
use proto_http::Url;
use spec::workload::Facts;
use spec::{Form, Spec, workload};
use units::{Nanos, Rate};
use workloads::sets;
use workloads::video::playlist::Listing;
use workloads::video::{Catalog, Library, VideoConfig, Videos};

/// The workload of a specification on these servers; `urls` is empty if they are not known yet. `None` if it plays a
/// playlist that was not fetched yet.
///
/// Errors: parameters that contradict each other.
pub(super) fn config(
    video: &workload::Video,
    spec: &Spec,
    urls: Vec<Url>,
    listing: Option<Arc<Listing>>,
) -> Result<Option<VideoConfig>> {
    check(video, spec)?;
    let videos = match (&video.playlist, listing) {
        (None, _) => Videos::Set(catalog(video)?, video.protocol),
        (Some(_), Some(listing)) => Videos::Listed(listing),
        (Some(_), None) => return Ok(None),
    };
    let config = VideoConfig {
        urls,
        library: Library::new(videos, video.speed),
        options: video.clone(),
        // Other loads set it when they are planned.
        viewers_per_s: spec.load.rate().map_or(0.0, Rate::rps),
        window: spec.time.window,
        seed: spec.seed,
    };
    config.check()?;
    Ok(Some(config))
}

/// The videos of a set, which a folder may hold.
///
/// Errors: the folder has no videos, or none with known contents.
pub(crate) fn catalog(video: &workload::Video) -> Result<Catalog> {
    let Some(folder) = &video.file_set else { return Ok(Catalog::new(&video.videos, video.videos_seed)?) };
    let found = sets::Videos::in_folder(folder)?;
    if found.is_real {
        bail!(
            "--file-set {}: it holds videos that ffmpeg has made, whose sizes do not follow from the set; ask for them by their \
             playlists: --playlist http://HOST:PORT/v000000/master.m3u8",
            folder.display()
        );
    }
    Ok(found.catalog)
}

/// Errors: a playlist that would not be fetched; a window that opens while fewer chunks end than fall due; a bandwidth
/// that could not be enforced.
fn check(video: &workload::Video, spec: &Spec) -> Result<()> {
    let warmup = spec.time.warmup;
    bandwidth(video, spec)?;
    let least = Nanos(video.usual_time().warmup.0 / 2);
    if video.bandwidth.is_limited() && warmup < least {
        bail!(
            "--warmup {warmup}: chunks take seconds with --bandwidth {}, and a window that opens sooner than {least} sees \
             fewer end than fall due; use --warmup {} or more",
            video.bandwidth,
            Nanos(2 * least.0)
        );
    }
    match (&video.playlist, video.protocol) {
        (Some(url), workload::Delivery::Ranges) => {
            bail!("--playlist {url}: playlists are those of HLS; use --protocol hls")
        }
        _ => Ok(()),
    }
}

/// Errors: clients cannot use the addresses that encode their bandwidth, or these addresses would have no effect.
fn bandwidth(video: &workload::Video, spec: &Spec) -> Result<()> {
    use workload::Bandwidth::{Pace, Shape};
    let kept = video.bandwidth;
    if !matches!(kept, Pace | Shape) {
        return Ok(());
    }
    if !spec.generator.agents.agents.is_empty() || spec.target.agent.is_some() {
        bail!(
            "--bandwidth {kept}: it goes by clients' addresses that only this machine has, and agents are on others; use \
             --bandwidth read"
        );
    }
    let form = spec.target.form;
    match (kept, form) {
        (Pace, Form::Bare) => Ok(()),
        (Pace, _) => {
            bail!(
                "--bandwidth pace: its clients come by loopback, which does not lead to --form {form}; use --form bare"
            )
        }
        (_, Form::Bare) => bail!(
            "--bandwidth shape: the links are in the device of the server's own network namespace; use --form bridged, or \
             --bandwidth pace"
        ),
        _ if video.file_set.is_some() => bail!(
            "--bandwidth shape: the links are made before --file-set is read, and need the share of its bytes; name the set by \
             --videos, or use --bandwidth pace"
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::workload::{Delivery, Video};

    fn of(video: Video) -> Result<Option<VideoConfig>> {
        let load = spec::Load::Rate("2".parse().unwrap());
        let workload = spec::Workload::Video(Box::new(video.clone()));
        let spec = Spec { time: workload.usual_time(), workload, load, ..Spec::default() };
        config(&video, &spec, Vec::new(), None)
    }

    #[test]
    fn a_folder_says_which_videos_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let write = |is_real| {
            let catalog = Catalog::new(&"20x1/8".parse().unwrap(), 5).unwrap();
            let set = sets::Set::Videos(sets::Videos { catalog, is_real });
            std::fs::write(folder.path().join(sets::MARKER), sets::Marker::of(&set).text()).unwrap();
        };
        let video = Video { file_set: Some(folder.path().into()), ..Video::default() };
        assert!(of(video.clone()).unwrap_err().to_string().contains("holds no file set"));
        write(false);
        let found = catalog(&video).unwrap();
        assert_eq!((found.description().to_string().as_str(), found.seed()), ("20x1/8", 5));
        write(true);
        assert!(of(video).unwrap_err().to_string().contains("--playlist"));
    }

    #[test]
    fn the_time_out_is_as_long_as_a_chunk_unless_it_is_given() {
        let check = |video: Video, expect: Nanos| {
            let config = of(video).unwrap().unwrap();
            assert_eq!((config.options.timeout(), config.viewers_per_s), (expect, 2.0));
        };
        check(Video::default(), Nanos::from_secs(10));
        check(Video { speed: 20, ..Video::default() }, Nanos::from_millis(500));
        let given = Some(Nanos::from_secs(3));
        check(Video { speed: 20, chunk_timeout: given, ..Video::default() }, Nanos::from_secs(3));
    }

    #[test]
    fn a_playlist_is_known_once_it_was_asked_for() {
        let playlist = Some("http://h/a.m3u8".parse().unwrap());
        let hls = Video { playlist: playlist.clone(), protocol: Delivery::Hls, ..Video::default() };
        assert_eq!(of(hls).unwrap(), None);
        let error = of(Video { playlist, ..Video::default() }).unwrap_err().to_string();
        assert!(error.contains("use --protocol hls"), "{error}");
    }
}
