//! The chapter on video: sessions, measured times, the playback seen by viewers, and misses.

use super::{CHUNK, CHUNK_BYTES, CLASSES, FIT, GOOD_START, RUNGS, SHARES};

use spec::{Chapter, Entry, Section};

/// External sources: ISPASS'16, Palit et al., Demystifying cloud benchmarking, §IV-A and §VI-B; CloudSuite's client and request
/// generator; Krishnan and Sitaraman, Video stream quality impacts viewer behavior, IMC 2012; ITU-T P.1203.3.
const TEXT: &str = "\
A session is a viewer who watches one video

  Viewers come at times that know nothing of the server (--rate is viewers per second). Each has a connection of their own,
  a bandwidth, a quality and a part of the video that they watch, all drawn from the seed and their number. When the load
  begins, those are there already who came before it and have not left: as many as the rate times the mean length, with ages,
  so that the first second is like all others.

  A video is asked for in chunks of 10 s, one after the other, by HTTP ranges or as HLS lists them:

  chunk i      is due at the viewer's arrival + max(0, i - 2) x 10 s (--ahead 3): three at once, and then one every 10 s,
               20 s before it is shown. These times are fixed at the arrival: a slow server is not asked later
  eligible     when it is due, the one before it is there and the connection stands
  response     done - intended: a late chunk shows in all that it delays

  --pacing closed and player are closed loops within the session: the next chunk is due 10 s after an answer, as CloudSuite's
  client does it (which makes four chunks leave at once), or when less than 30 s are buffered, as video.js does. A slow server
  is asked less then, and its figures leave out what was not asked meanwhile.

What viewers see

  A video begins with its first chunk (--resume-with), plays what is there, stops when nothing is, and goes on with the next.

  startup         from the arrival to the first picture, of viewers who came in the window
  stall           a stop, and how long it was; stalls_per_hour counts them by the time that was watched
  rebuffer_ratio  time stopped, of time stopped or playing. rebuffer_of_media divides by the time playing (ITU-T P.1203.3)
  slack           how long before its time a chunk was there
  buffer          how much was buffered when a chunk came, over time
  misses          chunks that were not whole within --chunk-timeout after they were eligible, of those due; with --late kill
                  also the rest of a session that a late one ended. A chunk is asked for 20 s before it is shown, so that a miss
                  comes about 10 s before a stall: both are told
  sessions_met    sessions that started within 2 s, and what their first chunks take at their bandwidth, did not stall and missed
                  no chunk, of those with a chunk due in the window
  hopeless        viewers whose quality takes more than their bandwidth: their stalls are no server's fault
  abandoned       viewers who left before the start (--abandon imc12)

  All belongs to the moment at which a chunk was due, so that one due in the window counts whenever it came.

The bandwidth of clients

  --bandwidth read has each viewer read no faster than their bandwidth, by a token bucket, into a receive buffer of 100 ms of it.
  The mean rate, a window that closes and the server's full send buffers are those of a slow client; packets come in bursts
  of that buffer, and nothing is queued or lost in between. It takes no privileges and works with any server.

What counts as an answer

  Status 206 with exactly the bytes that were asked for. The whole file (200), another range and a part that does not say which
  are errors, and end the connection, as what follows is of no use; other statuses, bodies that are cut off or of another
  length are errors as well. --verify checksum compares the content with that of the set.

The target

  taillight fileset make /srv/videos --video 1000x1/160
  taillight load video --target http://HOST --videos 1000x1/160 --rate 2 --window 60s
  taillight peak video --target http://HOST --qos 'startup<2s,rebuffer<1%,misses<1%'

  All options: taillight load video --help.
";

/// The manual of the workload, with its constants.
pub fn chapter() -> Chapter {
    Chapter { text: TEXT.into(), sections: vec![constants()] }
}

fn constants() -> Section {
    let entry = |name: &str, value: String, meaning: &str, source: &str| {
        Entry::of_value(format!("video.{name}"), value, meaning, source)
    };
    let joined = |all: Vec<String>| all.join(", ");
    let rungs = RUNGS.iter().zip(CHUNK_BYTES).map(|(rung, bytes)| {
        let mbps = bytes as f64 * 8.0 / CHUNK.as_secs_f64() / 1e6;
        format!("{rung} {mbps:.2} Mbps")
    });
    let classes =
        CLASSES.iter().map(|class| format!("{} to {} Mbps {} %", class.from, class.to, class.percent));
    let shares = RUNGS.iter().zip(SHARES).map(|(rung, share)| format!("{rung} {share} %"));
    let all = [
        entry(
            "chunk",
            CHUNK.to_string(),
            "How much of a video a request asks for.",
            "CloudSuite's request generator: 10 s",
        ),
        entry(
            "rungs",
            joined(rungs.collect()),
            "The qualities and their bit rates.",
            "ISPASS'16 §IV-A2c: the qualities; CloudSuite's request generator: the bytes of a chunk",
        ),
        entry(
            "classes",
            joined(classes.collect()),
            "The bandwidth of clients, even within each class.",
            "ISPASS'16 §IV-A3, Table I; the end of the first class is ours",
        ),
        entry(
            "shares",
            joined(shares.collect()),
            "The shares of the qualities with --mix cloudsuite.",
            "CloudSuite's client",
        ),
        entry(
            "fit",
            FIT.to_string(),
            "With --mix table-1 a client takes the best quality whose bit rate is at most this share of its bandwidth.",
            "ours, because players leave some for what varies: ExoPlayer 0.3 of it, hls.js 0.05",
        ),
        entry(
            "give-up",
            spec::workload::Video::GIVE_UP.to_string(),
            "With --late keep a chunk is waited for until so many time-outs have passed.",
            "nginx's send_timeout, 60 s, which are six time-outs of 10 s",
        ),
        entry(
            "good-start",
            GOOD_START.to_string(),
            "The longest start-up delay of a session that counts as met, beside what its first chunk takes at its bandwidth.",
            "ours, because viewers leave from 2 s on (Krishnan and Sitaraman, IMC 2012)",
        ),
    ];
    Section::new("Constants of video", all)
}
