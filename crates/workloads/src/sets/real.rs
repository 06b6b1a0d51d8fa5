//! Videos that players can show, made by ffmpeg: a clip for each rung, looped to each length without encoding it again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use super::{MANIFEST, Manifest, Set, Sum, Videos};
use anyhow::{Context, Result, bail};
use datasets::videos::{CHUNK, PICTURES, RUNGS};
use launch::{Process, Spec, find_program};

use super::make::{below, of_disk, unfinished};
use super::work::{Meter, over_folders};

/// How long a clip is. Units: seconds. Source: ours; each lasts for several chunks, and is encoded in some seconds.
const CLIP: u64 = 60;
/// Pictures in a second, and those from one that stands for itself to the next: a chunk of 10 s begins with one.
const PICTURES_PER_S: u64 = 25;
const KEY_EVERY: u64 = 2 * PICTURES_PER_S;
/// The bit rate of the sound. Units: bits per second; of one channel, so that the lowest rung has room for pictures.
const SOUND: u64 = 24_000;
/// The least bit rate of a rung. Units: bits per second; at an eighth of 0.42 Mbps blocks can still be told apart.
const LEAST: u64 = 50_000;
/// Where the clips are while they are needed.
const CLIPS: &str = ".taillight-clips";
/// How often a request to stop is checked for.
const LOOK: Duration = Duration::from_millis(100);

/// The programs that make videos.
pub(super) struct Tools {
    ffmpeg: PathBuf,
}

impl Tools {
    /// Errors: one is not installed, with what to install.
    pub(super) fn find() -> Result<Tools> {
        find_program("ffmpeg").map(|ffmpeg| Tools { ffmpeg }).context(
            "real videos are made by ffmpeg, which is in no folder of PATH; install it (`apt-get install ffmpeg`), or leave \
             out --real for files that a load generator asks for and no player shows",
        )
    }

    /// Runs ffmpeg in `folder` to its end.
    ///
    /// Errors: it fails, with its last words; the run was interrupted.
    fn run(&self, folder: &Path, words: Vec<String>, meter: &Meter<'_>) -> Result<()> {
        let always = ["-nostdin", "-hide_banner", "-loglevel", "error", "-y"].map(str::to_owned);
        let spec = Spec::new("ffmpeg", &self.ffmpeg).args(always).args(words).dir(folder);
        let mut process = Process::spawn(spec)?;
        loop {
            match process.wait(LOOK) {
                Err(launch::Error::StillRunning { .. }) => meter.goes_on()?,
                Ok(status) if status.success() => return Ok(()),
                Ok(status) => {
                    let said = process.stderr_tail().join("\n");
                    bail!("ffmpeg ended with {status} in {}: {said}", folder.display());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Errors: a bit rate of the set is too low for pictures.
pub(super) fn check(videos: &Videos) -> Result<()> {
    let lowest = bits_per_s(videos, 0);
    if lowest < LEAST {
        bail!(
            "{} of seed {}: the lowest rung would have {lowest} bits per second, and {LEAST} are the least that show a \
             picture; write a larger share, such as --video {}x1/8",
            videos.catalog,
            videos.catalog.seed(),
            videos.catalog.videos()
        );
    }
    Ok(())
}

fn bits_per_s(videos: &Videos, rung: usize) -> u64 {
    videos.catalog.chunk_bytes(rung) * 8 * 1_000_000_000 / CHUNK.0
}

/// Makes the missing videos below `root`, and the list of their contents.
///
/// Errors: ffmpeg fails; the run was interrupted.
pub(super) fn make(root: &Path, videos: &Videos, tools: &Tools, meter: &Meter<'_>) -> Result<()> {
    let clips = root.join(CLIPS);
    make_folder(&clips, root)?;
    // Through a link files outside the set would be written and removed.
    if !fs::symlink_metadata(&clips).is_ok_and(|meta| meta.is_dir()) {
        bail!("{} is not a folder of the set; move it away", clips.display());
    }
    // ffmpeg runs in folders of its own, from which a path from here leads elsewhere.
    let clips = fs::canonicalize(&clips).with_context(|| format!("cannot find {}", clips.display()))?;
    for (rung, name) in RUNGS.iter().enumerate() {
        let clip = format!("{name}.mp4");
        if clips.join(&clip).exists() {
            continue;
        }
        tools.run(&clips, clip_words(rung, bits_per_s(videos, rung), &format!("{clip}.part")), meter)?;
        fs::rename(clips.join(format!("{clip}.part")), clips.join(&clip))
            .map_err(|e| of_disk(e, root, "rename", &clips.join(&clip)))?;
    }
    let folders = videos.catalog.videos();
    over_folders(folders, meter, |video| make_video(root, &clips, videos, video, tools, meter))?;
    let set = Set::Videos(videos.clone());
    let manifest = manifest(root, &set, meter)?;
    let path = root.join(MANIFEST);
    fs::write(&path, manifest.text()).map_err(|e| of_disk(e, root, "write", &path))?;
    remove_clips(root, &set)
}

fn make_folder(path: &Path, root: &Path) -> Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other.map_err(|e| of_disk(e, root, "make the folder", path)),
    }
}

/// The arguments that make the clip of a rung: a moving test picture and a tone, at a constant bit rate.
fn clip_words(rung: usize, bits_per_s: u64, name: &str) -> Vec<String> {
    let (width, height) = PICTURES[rung];
    let rate = bits_per_s.saturating_sub(SOUND);
    let words = format!(
        "-f lavfi -i testsrc2=size={width}x{height}:rate={PICTURES_PER_S} -f lavfi -i sine=frequency=440:sample_rate=48000 \
         -t {CLIP} -c:v libx264 -preset veryfast -pix_fmt yuv420p -bf 0 -g {KEY_EVERY} -keyint_min {KEY_EVERY} \
         -sc_threshold 0 -b:v {rate} -minrate {rate} -maxrate {rate} -bufsize {rate} -x264-params nal-hrd=cbr \
         -c:a aac -ac 1 -b:a {SOUND} -movflags +faststart -f mp4 {name}"
    );
    words.split(' ').map(str::to_owned).collect()
}

/// Makes a video under another name, which it keeps until it is whole.
fn make_video(
    root: &Path,
    clips: &Path,
    videos: &Videos,
    video: u64,
    tools: &Tools,
    meter: &Meter<'_>,
) -> Result<()> {
    let catalog = &videos.catalog;
    let folder = below(root, &catalog.folder(video));
    if fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir()) {
        return meter.skip(catalog.video_bytes(video));
    }
    let place = unfinished(&folder);
    match fs::remove_dir_all(&place) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(of_disk(error, root, "remove", &place));
        }
        _ => make_folder(&place, root)?,
    }
    let mut rungs = Vec::new();
    for (rung, name) in RUNGS.iter().enumerate().take(catalog.rungs(video)) {
        tools.run(&place, video_words(clips, rung, catalog.duration(video).0 / 1_000_000), meter)?;
        let name = format!("{name}.m3u8");
        let playlist = fs::read_to_string(place.join(&name))
            .with_context(|| format!("cannot read the playlist that ffmpeg made, {name}"))?;
        let peak = peak_bits_per_s(&playlist).with_context(|| {
            format!("the playlist {name} that ffmpeg made in {} has no ranges in it", place.display())
        })?;
        rungs.push((rung, peak));
        meter.advance(catalog.size(video, rung))?;
    }
    let master = place.join("master.m3u8");
    fs::write(&master, datasets::videos::master(rungs)).map_err(|e| of_disk(e, root, "write", &master))?;
    fs::rename(&place, &folder).map_err(|e| of_disk(e, root, "rename", &place))
}

/// What loops a clip to a length in milliseconds: once as a file whose index comes first, once as chunks in a file.
fn video_words(clips: &Path, rung: usize, ms: u64) -> Vec<String> {
    let (name, seconds) = (RUNGS[rung], format!("{}.{:03}", ms / 1000, ms % 1000));
    let clip = clips.join(format!("{name}.mp4")).display().to_string();
    let head = ["-stream_loop", "-1", "-i"].map(str::to_owned);
    let rest = format!(
        "-t {seconds} -c copy -movflags +faststart -f mp4 {name}.mp4 -t {seconds} -c copy -f hls -hls_time {} \
         -hls_playlist_type vod -hls_segment_type fmp4 -hls_flags single_file -hls_segment_filename {name}.m4s {name}.m3u8",
        CHUNK.0 / 1_000_000_000
    );
    head.into_iter().chain([clip]).chain(rest.split(' ').map(str::to_owned)).collect()
}

/// The highest bit rate of a chunk of a playlist whose chunks are ranges; `None` if the playlist has no such chunk. Source of the tags:
/// RFC 8216 §4.3.2.
fn peak_bits_per_s(playlist: &str) -> Option<u64> {
    let mut seconds = None;
    let mut peak = None;
    for line in playlist.lines() {
        if let Some(time) = line.strip_prefix("#EXTINF:") {
            seconds = time.split(',').next().and_then(|time| time.parse::<f64>().ok()).filter(|s| *s > 0.0);
        } else if let Some(range) = line.strip_prefix("#EXT-X-BYTERANGE:") {
            let bytes: u64 = range.split('@').next()?.parse().ok()?;
            let rate = (bytes as f64 * 8.0 / seconds?).ceil() as u64;
            peak = peak.max(Some(rate));
        }
    }
    peak
}

fn manifest(root: &Path, set: &Set, meter: &Meter<'_>) -> Result<Manifest> {
    let files = Mutex::new(BTreeMap::new());
    over_folders(set.folders(), meter, |folder| {
        for file in set.files_of(folder) {
            let path = below(root, &file.path);
            let sum = File::open(&path)
                .map_err(anyhow::Error::from)
                .and_then(|open| Sum::of(open, |_| meter.goes_on()))
                .with_context(|| format!("cannot read {}", path.display()))?;
            files.lock().unwrap_or_else(|e| e.into_inner()).insert(file.path, sum);
        }
        Ok(())
    })?;
    Ok(Manifest { files: files.into_inner().unwrap_or_else(|e| e.into_inner()) })
}

/// Removes what videos were made of.
pub(super) fn remove_clips(root: &Path, set: &Set) -> Result<()> {
    let clips = root.join(CLIPS);
    if !matches!(set, Set::Videos(Videos { is_real: true, .. })) || !clips.exists() {
        return Ok(());
    }
    for name in RUNGS.iter().flat_map(|rung| [format!("{rung}.mp4"), format!("{rung}.mp4.part")]) {
        let path = clips.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(of_disk(error, root, "remove", &path));
            }
            _ => {}
        }
    }
    fs::remove_dir(&clips).map_err(|e| of_disk(e, root, "remove", &clips))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::video::Catalog;

    fn videos(text: &str) -> Videos {
        Videos { catalog: Catalog::new(&text.parse().unwrap(), 1).unwrap(), is_real: true }
    }

    #[test]
    fn a_bit_rate_that_shows_nothing_is_refused() {
        check(&videos("3x1")).unwrap();
        check(&videos("3x1/8")).unwrap();
        let error = check(&videos("3x1/9")).unwrap_err().to_string();
        assert!(error.contains("46603 bits per second") && error.contains("--video 3x1/8"), "{error}");
    }

    #[test]
    fn the_peak_is_that_of_the_largest_chunk_by_its_time() {
        let check = |text: &str, expect: Option<u64>| assert_eq!(peak_bits_per_s(text), expect, "{text}");
        let two = "#EXTM3U\n#EXTINF:10.0,\n#EXT-X-BYTERANGE:1000@0\na\n#EXTINF:2.5,\n#EXT-X-BYTERANGE:500@1000\na\n";
        check(two, Some(1600));
        check("#EXTM3U\n#EXTINF:10.0,\na\n", None);
        check("#EXT-X-BYTERANGE:1000@0\n", None);
        check("#EXTINF:x,\n#EXT-X-BYTERANGE:1000@0\n", None);
        check("", None);
    }
}
