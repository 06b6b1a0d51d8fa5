use units::Nanos;

use super::*;

const MASTER: &str = "#EXTM3U\n#EXT-X-VERSION:4\n\
    #EXT-X-STREAM-INF:BANDWIDTH=2800000,RESOLUTION=1280x720,CODECS=\"avc1.64001f,mp4a.40.2\"\nhigh/720p.m3u8\n\
    #EXT-X-STREAM-INF:RESOLUTION=640x360,BANDWIDTH=800000\n/vod/low.m3u8\n";
const MEDIA: &str = "#EXTM3U\n#EXT-X-TARGETDURATION:10\n\
    #EXTINF:10.000,\n#EXT-X-BYTERANGE:100@0\nall.bin\n\
    #EXTINF:10,title\n#EXT-X-BYTERANGE:50\nall.bin\n\
    #EXTINF:2.5,\nlast.ts\n#EXT-X-ENDLIST\n";

fn media(text: &str) -> Result<Media, PlaylistError> {
    match parse(text.as_bytes())? {
        Playlist::Media(media) => Ok(media),
        Playlist::Master(master) => panic!("{master:?}"),
    }
}

#[test]
fn reads_variants_and_segments() {
    let Playlist::Master(master) = parse(MASTER.as_bytes()).unwrap() else { panic!("no variants") };
    let found: Vec<_> = master.variants.iter().map(|v| (v.bandwidth, v.height, v.uri.as_str())).collect();
    assert_eq!(
        found,
        [(2_800_000, Some(720), "high/720p.m3u8"), (800_000, Some(360), "/vod/low.m3u8")],
        "a comma in quotation marks parts no attributes"
    );
    let found = media(MEDIA).unwrap();
    let ranges: Vec<_> = found
        .segments
        .iter()
        .map(|s| (s.duration.0 / 1_000_000, s.range.map(|r| (r.first, r.last))))
        .collect();
    assert_eq!(ranges, [(10_000, Some((0, 99))), (10_000, Some((100, 149))), (2_500, None)]);
}

#[test]
fn what_changes_nothing_is_passed_over() {
    let with = |tag: &str| MEDIA.replace("#EXTINF:2.5", &format!("{tag}\n#EXTINF:2.5"));
    for tag in
        ["#EXT-X-KEY:METHOD=NONE", "#EXT-X-DISCONTINUITY", "#EXT-X-GAPS", "#EXT-X-PROGRAM-DATE-TIME:2020"]
    {
        assert_eq!(parse(with(tag).as_bytes()), parse(MEDIA.as_bytes()), "{tag}");
    }
    let inside = "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"x\"\n\
                  #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"s\",NAME=\"y\",URI=\"s.m3u8\"\n";
    let master = MASTER.replace("#EXT-X-VERSION:4\n", inside);
    assert_eq!(parse(master.as_bytes()), parse(MASTER.as_bytes()));
}

#[test]
fn the_ends_of_lines_do_not_matter() {
    let windows = MEDIA.replace('\n', "\r\n");
    assert_eq!(parse(windows.as_bytes()), parse(MEDIA.as_bytes()));
    assert_eq!(parse(MEDIA.trim_end().as_bytes()), parse(MEDIA.as_bytes()), "nor does the last one");
}

#[test]
fn what_cannot_be_played_is_refused_with_a_reason() {
    let check = |text: &str, says: &str| {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    };
    check("", "does not begin with #EXTM3U");
    check("<html>", "does not begin with #EXTM3U");
    check("\u{feff}#EXTM3U\n", "does not begin with #EXTM3U");
    check("#EXTM3U\n", "neither variants nor segments");
    check("#EXTM3U\n#EXT-X-ENDLIST\n", "neither variants nor segments");
    check(&MEDIA.replace("#EXT-X-ENDLIST", ""), "it is live");
    check(&format!("{MASTER}{}", &MEDIA[8..]), "variants and segments at once");
    check("#EXTM3U\na.ts\n", "line 2: an address without #EXTINF");
    check("#EXTM3U\n#EXTINF:0,\na.ts\n", "line 2: its length");
    check("#EXTM3U\n#EXTINF:-1,\n", "line 2: its length");
    check("#EXTM3U\n#EXTINF:1e9,\n", "line 2: its length");
    check("#EXTM3U\n#EXTINF:86401,\n", "line 2: its length");
    check("#EXTM3U\n#EXTINF:NaN,\n", "line 2: its length");
    check("#EXTM3U\n#EXT-X-BYTERANGE:a@b\n", "line 2: its range");
    check("#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:5\na.ts\n", "line 4: its range has no offset");
    check("#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:0@5\na.ts\n", "line 4: its range is empty");
    check(
        "#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:2@18446744073709551615\na\n",
        "line 4: its range is empty or",
    );
    check("#EXTM3U\n#EXT-X-STREAM-INF:RESOLUTION=1x1\na\n", "line 2: its variant has no BANDWIDTH");
    check("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=0\na\n", "line 2: its variant has no BANDWIDTH");
    check("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,NAME=\"a\n", "line 2: a quotation mark is not closed");
    check("#EXTM3U\n#EXT-X-MAP:URI=\"a\"\n#EXT-X-MAP:URI=\"b\"\n", "line 3: a second header");
    check(
        "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n#EXTINF:1,\na\n",
        "line 2: its segments are encrypted",
    );
    check("#EXTM3U\n#EXT-X-KEY:URI=\"k\"\n", "line 2: its segments are encrypted");
    check("#EXTM3U\n#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI=\"k\"\n", "line 2: its segments are encrypted");
    check("#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"x\",URI=\"a.m3u8\"\n", "line 2: its sound");
    check("#EXTM3U\n#EXTINF:1,\n#EXT-X-GAP\na.ts\n", "line 3: the segment that follows is not there");
    check("#EXTM3U\n#EXT-X-I-FRAMES-ONLY\n", "line 2: it lists single pictures");
    check("#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"b\"\n", "line 2: it has variables");
    let many = "#EXT-X-STREAM-INF:BANDWIDTH=1\na\n".repeat(VARIANTS + 1);
    check(&format!("#EXTM3U\n{many}"), "more than 64 variants");
    assert_eq!(parse(&vec![b'#'; LIMIT + 1]), Err(PlaylistError::TooLong));
    assert_eq!(parse(b"#EXTM3U\n\xff\n"), Err(PlaylistError::NotText));
}

#[test]
fn addresses_are_relative_to_their_playlist() {
    let base: spec::Url = "http://h:8080/vod/v1/master.m3u8?token=1".parse().unwrap();
    let check = |uri: &str, path: &str| {
        let found = resolve(&base, uri).unwrap_or_else(|e| panic!("{uri}: {e}"));
        assert_eq!((found.path.as_str(), found.port), (path, 8080), "{uri}");
    };
    check("720p.m3u8", "/vod/v1/720p.m3u8");
    check("./a/../b.m3u8?x=../y", "/vod/v1/b.m3u8?x=../y");
    check("../v2/a.ts", "/vod/v2/a.ts");
    check("../../../../a.ts", "/a.ts");
    check("..", "/vod/");
    check("/other/a.ts", "/other/a.ts");
    check("?token=2", "/vod/v1/master.m3u8?token=2");
    check("//h:8080/x/../a.ts", "/a.ts");
    check("http://h:8080/a.ts#t=10", "/a.ts");
    check("http://h:8080", "/");
    check("./a:b.ts/../c.ts?", "/vod/v1/c.ts?");
    let refused = |uri: &str, says: &str| {
        let error = resolve(&base, uri).unwrap_err().to_string();
        assert!(error.contains(says), "{uri}: {error}");
    };
    refused("http://cdn:8080/a.ts", "another server than h:8080");
    refused("//h/a.ts", "another server");
    refused("https://h:8080/a.ts", "another server");
    refused("ftp://h/a.ts", "neither http nor https");
    refused("data:video/mp4;base64,AAAA", "neither http nor https");
    refused("", "it is empty");
    refused("#a", "it is empty");
    refused("a b.ts", "blanks");
    refused("ä.ts", "not ASCII");
    let root: spec::Url = "http://h:8080".parse().unwrap();
    assert_eq!(resolve(&root, "a.ts").unwrap().path, "/a.ts");
}

/// Follows playlists on a server that has these.
fn followed(first: &str, files: &[(&str, &str)]) -> Result<Listing, PlaylistError> {
    let mut loader = Loader::new(&first.parse().unwrap());
    for _ in 0..1_000 {
        let Some(url) = loader.wants().cloned() else { return loader.listing() };
        let file = files.iter().find(|(path, _)| *path == url.path);
        loader.take(file.map_or("", |(_, text)| text).as_bytes())?;
    }
    panic!("it goes round in a loop")
}

#[test]
fn a_listing_has_all_qualities_by_their_bit_rate() {
    let files = [("/vod/m.m3u8", MASTER), ("/vod/high/720p.m3u8", MEDIA), ("/vod/low.m3u8", MEDIA)];
    let listing = followed("http://h/vod/m.m3u8", &files).unwrap();
    let rungs: Vec<_> = listing.rungs.iter().map(|r| (r.name.as_str(), r.bits_per_s)).collect();
    assert_eq!(rungs, [("360p", 800_000), ("720p", 2_800_000)]);
    let master = listing.master.unwrap();
    assert_eq!((master.target.as_str(), master.known.unwrap().0), ("/vod/m.m3u8", MASTER.len() as u64));
    let high = &listing.rungs[1];
    assert_eq!(high.indexes[0].target, "/vod/high/720p.m3u8");
    let last = &high.segments[2];
    assert_eq!((&*last.target, last.start), ("/vod/high/last.ts", Nanos::from_secs(20)));
}

#[test]
fn a_playlist_of_segments_is_one_quality() {
    let ranges = MEDIA.replace("last.ts", "#EXT-X-BYTERANGE:75\nall.bin");
    let listing = followed("http://h/a.m3u8", &[("/a.m3u8", &ranges)]).unwrap();
    assert_eq!((listing.master, listing.rungs.len()), (None, 1));
    // 225 B in 22.5 s.
    assert_eq!((listing.rungs[0].bits_per_s, listing.rungs[0].name.as_str()), (80, "0k"));
    let listing = followed("http://h/a.m3u8", &[("/a.m3u8", MEDIA)]).unwrap();
    assert_eq!((listing.rungs[0].bits_per_s, listing.rungs[0].name.as_str()), (0, "segment"));
    let header =
        MEDIA.replace("#EXTINF:10.000", "#EXT-X-MAP:URI=\"../init.mp4\",BYTERANGE=\"20@5\"\n#EXTINF:10.000");
    let listing = followed("http://h/x/a.m3u8", &[("/x/a.m3u8", &header)]).unwrap();
    let map = &listing.rungs[0].indexes[1];
    assert_eq!((map.target.as_str(), map.range), ("/init.mp4", ByteRange::new(20, 5)));
}

#[test]
fn playlists_that_lead_nowhere_end() {
    let check = |files: &[(&str, &str)], says: &str| {
        let error = followed("http://h/m.m3u8", files).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    let variant = |uri: &str| format!("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{uri}\n");
    check(&[("/m.m3u8", &variant("m.m3u8"))], "round in a loop");
    check(&[("/m.m3u8", &variant("n.m3u8")), ("/n.m3u8", &variant("m.m3u8"))], "round in a loop");
    check(&[("/m.m3u8", &variant("http://other/n.m3u8"))], "another server");
    check(&[("/m.m3u8", &variant("n.m3u8"))], "no playlist");
    check(&[("/m.m3u8", "#EXTM3U\n#EXT-X-ENDLIST\n")], "neither");
    let alike = format!("{}{}", variant("a"), &variant("b")[8..]);
    check(&[("/m.m3u8", &alike), ("/a", MEDIA), ("/b", MEDIA)], "cannot be told apart");
    // The same playlist twice is requested once.
    let twice = format!("{}{}", variant("a"), &variant("a")[8..]);
    let listing = followed("http://h/m.m3u8", &[("/m.m3u8", &twice), ("/a", MEDIA)]).unwrap();
    assert_eq!(listing.rungs.len(), 1);
}

#[test]
fn the_playlists_of_a_set_list_its_chunks() {
    let catalog = videos::Catalog::new(&"10x1/8".parse().unwrap(), 1).unwrap();
    let video = (0..10).find(|video| catalog.has(*video, 3)).unwrap();
    let files: Vec<(String, String)> = (0..4)
        .map(|rung| {
            (format!("{}/{}.m3u8", catalog.folder(video), videos::RUNGS[rung]), catalog.playlist(video, rung))
        })
        .chain([(format!("{}/master.m3u8", catalog.folder(video)), catalog.master(video))])
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let first = format!("http://h{}/master.m3u8", catalog.folder(video));
    let listing = followed(&first, &files).unwrap();
    let names: Vec<&str> = listing.rungs.iter().map(|rung| rung.name.as_str()).collect();
    assert_eq!(names, videos::RUNGS);
    for (number, rung) in listing.rungs.iter().enumerate() {
        assert_eq!(rung.segments.len() as u64, catalog.chunks(video));
        let last = rung.segments.last().unwrap();
        assert_eq!(last.range.unwrap().last + 1, catalog.size(video, number));
        assert_eq!(last.start + last.media, catalog.duration(video));
        assert_eq!(&*last.target, catalog.path(video, number));
    }
}
