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
        [(Some(2_800_000), Some(720), "high/720p.m3u8"), (Some(800_000), Some(360), "/vod/low.m3u8")],
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

/// The first and the last byte of a part.
type Ends = Option<(u64, u64)>;

/// Addresses, durations and ranges, without the lines at which they are.
fn requests(text: &str) -> Vec<(String, Nanos, Ends)> {
    let found = media(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let range = |range: ByteRange| (range.first, range.last);
    found.segments.into_iter().map(|s| (s.uri, s.duration, s.range.map(range))).collect()
}

/// A playlist of one segment with these lines.
fn of(lines: &str) -> String {
    format!("#EXTM3U\n{lines}\n#EXT-X-ENDLIST\n")
}

#[test]
fn what_changes_nothing_is_skipped() {
    let with = |tag: &str| MEDIA.replace("#EXTINF:2.5", &format!("{tag}\n#EXTINF:2.5"));
    for tag in [
        "#EXT-X-KEY:METHOD=NONE",
        "#EXT-X-KEY:URI=\"k\"",
        "#EXT-X-DISCONTINUITY",
        "#EXT-X-GAPS",
        "#EXT-X-PROGRAM-DATE-TIME:2020",
        "#EXT-X-UNKNOWN",
        "#EXT-X-UNKNOWN:a,=,\"",
        "#EXT-X-MEDIA-SEQUENCE:7",
        "#EXT-X-TARGETDURATION:x",
        "#EXT-X-VERSION:99",
        "#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI=\"skd://k\"",
        "#EXT-X-BITRATE:1000",
        "# a comment with {$a variable}",
        "#",
        "",
        " ",
        "\t \u{a0}",
        "#EXT-X-PLAYLIST-TYPE:EVENT",
    ] {
        assert_eq!(requests(&with(tag)), requests(MEDIA), "{tag}");
    }
    let inside = "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"x\"\n\
                  #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"s\",NAME=\"y\",URI=\"s.m3u8\"\n\
                  #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=9,URI=\"i.m3u8\"\n#EXT-X-INDEPENDENT-SEGMENTS\n";
    let master = MASTER.replace("#EXT-X-VERSION:4\n", inside);
    assert_eq!(qualities(&master), qualities(MASTER));
}

#[test]
fn ends_of_lines_and_blanks_do_not_matter() {
    let check = |text: String| assert_eq!(requests(&text), requests(MEDIA), "{text:?}");
    check(MEDIA.replace('\n', "\r\n"));
    check(MEDIA.replace('\n', "\r"));
    check(MEDIA.replace('\n', "\n\n"));
    check(MEDIA.replace('\n', " \n"));
    check(MEDIA.replace('\n', "\n\t"));
    check(format!("\u{feff}{MEDIA}"));
    check(MEDIA.trim_end().to_owned());
    check(MEDIA.replace("#EXT-X-ENDLIST", "#EXT-X-PLAYLIST-TYPE:VOD"));
    // Attributes of lists of channels.
    check(MEDIA.replace("#EXTM3U", "#EXTM3U x-tvg-url=\"a\""));
    check(MEDIA.replace("#EXTINF:2.5,", "#EXTINF: 2.5 tvg-id=\"a,b\",Title"));
    check(MEDIA.replace("#EXTINF:2.5,", "#EXTINF:2.5"));
    check(MEDIA.replace("#EXTINF:10,title", "#EXTINF:10.,a, b"));
    // The range may precede the duration.
    check(MEDIA.replace("#EXTINF:10,title\n#EXT-X-BYTERANGE:50", "#EXT-X-BYTERANGE: 50 \n#EXTINF:10,title"));
    let mut latin = MEDIA.replace("title", "caf?").into_bytes();
    let place = latin.iter().position(|byte| *byte == b'?').unwrap();
    latin[place] = 0xe9;
    assert!(parse(&latin).is_ok(), "a title in Latin-1");
    let Err(PlaylistError::Line { line, problem }) = parse(b"#EXTM3U\r\n#EXTINF:1,\r\n\r\ncaf\xe9.ts\r\n")
    else {
        panic!("an address in Latin-1")
    };
    assert!(line == 4 && problem.contains("not in UTF-8"), "{line}: {problem}");
}

#[test]
fn durations_are_as_players_read_them() {
    let check = |text: &str, micros: u64| {
        let found = requests(&of(&format!("#EXTINF:{text}\na.ts")));
        assert_eq!(found[0].1, Nanos::from_micros(micros), "{text}");
    };
    check("0.000000,", 1_000);
    check("0", 1_000);
    check("0.0004,", 1_000);
    check("9,9", 9_000_000);
    check(".5,", 500_000);
    check("10", 10_000_000);
    check("6.006006,", 6_006_006);
    check("86400,", 86_400_000_000);
    // Text after the number is ignored.
    check("10s,", 10_000_000);
    check("2.5sec", 2_500_000);
    check("10.5;title", 10_500_000);
    check("2\u{a0},", 2_000_000);
    check("1.2.3,", 1_200_000);
}

#[test]
fn ranges_without_an_offset_follow_the_part_before() {
    let check = |lines: &str, expect: &[Option<(u64, u64)>]| {
        let found: Vec<_> = requests(&of(lines)).into_iter().map(|(.., range)| range).collect();
        assert_eq!(found, expect, "{lines}");
    };
    check("#EXTINF:1,\n#EXT-X-BYTERANGE:5\na", &[Some((0, 4))]);
    check(
        "#EXTINF:1,\n#EXT-X-BYTERANGE:5@7\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:3\na",
        &[Some((7, 11)), Some((12, 14))],
    );
    check(
        "#EXTINF:1,\n#EXT-X-BYTERANGE:5\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:3\nb",
        &[Some((0, 4)), Some((5, 7))],
    );
    check("#EXTINF:1,\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:3\na", &[None, Some((0, 2))]);
    check("#EXTINF:1,\n#EXT-X-BYTERANGE: 5 @ 7\na", &[Some((7, 11))]);
    // A gap is a part of its file.
    check(
        "#EXTINF:1,\n#EXT-X-GAP\n#EXT-X-BYTERANGE:5\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:3\na",
        &[Some((5, 7))],
    );
}

#[test]
fn gaps_are_not_requested() {
    let text =
        of("#EXTINF:1,\na.ts\n#EXTINF:2,\n#EXT-X-GAP\nb.ts\n#EXT-X-GAP\n#EXTINF:2,\nc.ts\n#EXTINF:4,\nd.ts");
    let found: Vec<String> = requests(&text).into_iter().map(|(uri, ..)| uri).collect();
    assert_eq!(found, ["a.ts", "d.ts"]);
}

/// Headers and keys, with the segment before which each is requested.
fn needs(lines: &str) -> Vec<(u32, NeedKind, String, Ends)> {
    let found = media(&of(lines)).unwrap_or_else(|error| panic!("{lines}: {error}"));
    let needs = found.needs.into_iter();
    needs.map(|need| (need.before, need.kind, need.uri, need.range.map(|r| (r.first, r.last)))).collect()
}

#[test]
fn headers_and_keys_come_before_the_segments_that_need_them() {
    let map = |uri: &str| format!("#EXT-X-MAP:URI=\"{uri}\"\n");
    let key = |uri: &str| format!("#EXT-X-KEY:METHOD=AES-128,URI=\"{uri}\",IV=0x1\n");
    let s = "#EXTINF:1,\ns.mp4\n";
    let header = |before: u32, uri: &str| (before, NeedKind::Header, uri.to_owned(), None);
    let of_key = |before: u32, uri: &str| (before, NeedKind::Key, uri.to_owned(), None);
    let check = |lines: String, expect: Vec<_>| assert_eq!(needs(&lines), expect, "{lines}");
    check(map("a") + s, vec![header(0, "a")]);
    check(map("a") + s + &map("a") + s, vec![header(0, "a")]);
    check(map("a") + s + "#EXT-X-DISCONTINUITY\n" + &map("b") + s, vec![header(0, "a"), header(1, "b")]);
    // An advertisement in between: the first header is requested again.
    check(map("a") + s + &map("b") + s + &map("a") + s, vec![header(0, "a"), header(1, "b"), header(2, "a")]);
    check(map("a") + &map("b") + s, vec![header(0, "b")]);
    check(s.to_owned() + &map("a"), vec![]);
    check("#EXTINF:1,\n".to_owned() + &map("a") + "s.mp4\n", vec![header(0, "a")]);
    check("#EXT-X-GAP\n".to_owned() + &map("a") + s + s, vec![header(0, "a")]);
    check(key("k") + s + s, vec![of_key(0, "k")]);
    check(key("k") + s + &key("l") + s + &key("k") + s, vec![of_key(0, "k"), of_key(1, "l")]);
    check(key("k") + &map("a") + s, vec![of_key(0, "k"), header(0, "a")]);
    let identity = "#EXT-X-KEY:METHOD=SAMPLE-AES,KEYFORMAT=\"identity\",URI=\"k\"\n";
    check(identity.to_owned() + s, vec![of_key(0, "k")]);
    // A DRM key is ignored if an open key is in force, too.
    let drm = "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://k\",KEYFORMAT=\"com.apple.streamingkeydelivery\"\n";
    check(drm.to_owned() + identity + s, vec![of_key(0, "k")]);
    check(key("k") + drm + s + drm + s, vec![of_key(0, "k")]);
    check(drm.to_owned() + "#EXT-X-KEY:METHOD=none\n" + s, vec![]);
    // `data:` URIs are requested from no server.
    check(key("data:text/plain;base64,AAAA") + &map("DATA:video/mp4;base64,AAAA") + s, vec![]);
    let part = "#EXT-X-MAP:URI=\"a\",BYTERANGE=\"20@5\"\n".to_owned() + s;
    assert_eq!(needs(&part), [(0, NeedKind::Header, "a".to_owned(), Some((5, 24)))]);
    let first = "#EXT-X-MAP:BYTERANGE=20,URI=a\n".to_owned() + s;
    assert_eq!(needs(&first), [(0, NeedKind::Header, "a".to_owned(), Some((0, 19)))]);
}

/// The variants of a list: bandwidth, lines and address.
fn qualities(text: &str) -> Vec<(Option<u64>, Option<u32>, String)> {
    let Ok(Playlist::Master(master)) = parse(text.as_bytes()) else {
        panic!("{text}: {:?}", parse(text.as_bytes()))
    };
    master.variants.into_iter().map(|v| (v.bandwidth, v.height, v.uri)).collect()
}

#[test]
fn attributes_are_read_as_hls_js_reads_them() {
    let check = |list: &str, bandwidth: Option<u64>, height: Option<u32>| {
        let found = qualities(&format!("#EXTM3U\n#EXT-X-STREAM-INF:{list}\na b.m3u8\n"));
        assert_eq!(found, [(bandwidth, height, "a b.m3u8".to_owned())], "{list}");
    };
    check("BANDWIDTH=5,RESOLUTION=1x2", Some(5), Some(2));
    check(" BANDWIDTH = 5 , RESOLUTION = 1x2 ", Some(5), Some(2));
    check("BANDWIDTH=\"5\",RESOLUTION=\"1x2\"", Some(5), Some(2));
    check("NAME=\"a,BANDWIDTH=9\",BANDWIDTH=5", Some(5), None);
    check("NAME=\"a\" x,BANDWIDTH=5", Some(5), None);
    check("X,,BANDWIDTH=5,Y", Some(5), None);
    check("BANDWIDTH=5,NAME=\"a", Some(5), None);
    check("BANDWIDTH=5.9", Some(5), None);
    check("AVERAGE-BANDWIDTH=4", Some(4), None);
    check("BANDWIDTH=0,AVERAGE-BANDWIDTH=4", Some(4), None);
    check("BANDWIDTH=x", None, None);
    check("RESOLUTION=640X360", None, Some(360));
    check("RESOLUTION=auto", None, None);
    check("", None, None);
    // Without its colon, too, and with lines before the address.
    assert_eq!(qualities("#EXTM3U\n#EXT-X-STREAM-INF\n\n# x\n a \n"), [(None, None, "a".into())]);
}

#[test]
fn a_variant_like_another_is_kept_for_its_failure() {
    let list = |lists: &[&str]| {
        let lines = lists.iter().zip('a'..).map(|(list, name)| format!("#EXT-X-STREAM-INF:{list}\n{name}\n"));
        format!("#EXTM3U\n{}", lines.collect::<String>())
    };
    let check = |lists: &[&str], expect: &str| {
        let found: String = qualities(&list(lists)).into_iter().map(|(.., uri)| uri).collect();
        assert_eq!(found, expect, "{lists:?}");
    };
    check(&["BANDWIDTH=5,RESOLUTION=1x2", "BANDWIDTH=5,RESOLUTION=1x2"], "a");
    check(&["BANDWIDTH=5,RESOLUTION=1x2", "RESOLUTION=1x2,BANDWIDTH=5,NAME=\"b\""], "a");
    check(&["BANDWIDTH=5", "BANDWIDTH=6", "BANDWIDTH=5"], "ab");
    check(&["BANDWIDTH=5,CODECS=\"avc1\"", "BANDWIDTH=5,CODECS=\"hvc1\""], "ab");
    check(&["BANDWIDTH=5,FRAME-RATE=30", "BANDWIDTH=5,FRAME-RATE=60"], "ab");
    check(&["BANDWIDTH=5,VIDEO-RANGE=SDR", "BANDWIDTH=5,VIDEO-RANGE=PQ"], "ab");
    // Sound alone is for players without a picture.
    check(&["BANDWIDTH=5,CODECS=\"mp4a.40.2\"", "BANDWIDTH=6,CODECS=\"avc1.42,mp4a.40.2\""], "b");
    check(&["BANDWIDTH=5,CODECS=\"mp4a.40.2,ec-3\"", "BANDWIDTH=6,RESOLUTION=1x2"], "b");
    check(&["BANDWIDTH=5,CODECS=\"mp4a.40.2\"", "BANDWIDTH=6"], "b");
    check(&["BANDWIDTH=5,CODECS=\"mp4a.40.2\",RESOLUTION=1x2", "BANDWIDTH=6"], "ab");
    check(&["BANDWIDTH=5,CODECS=\"mp4a.40.2\"", "BANDWIDTH=6,CODECS=\"opus\""], "ab");
    let error = parse(list(&["RESOLUTION=1x2", "BANDWIDTH=5"]).as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("line 3: the variant has no BANDWIDTH"), "{error}");
}

#[test]
fn sound_of_its_own_is_refused_only_if_it_would_be_played() {
    let list = |sounds: &str, group: &str| {
        let variant = format!("#EXT-X-STREAM-INF:BANDWIDTH=5{group}\na\n");
        parse(format!("#EXTM3U\n{sounds}{variant}").as_bytes())
    };
    let sound = |list: &str| format!("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",{list}\n");
    let (apart, within) = (sound("NAME=\"fr\",URI=\"fr.m3u8\""), sound("NAME=\"en\",DEFAULT=YES"));
    let group = ",AUDIO=\"s\"";
    assert!(list(&apart, "").is_ok(), "no variant has it");
    assert!(list(&apart, ",AUDIO=\"t\"").is_ok());
    assert!(list(&(apart.clone() + &within), group).is_ok(), "the usual sound is with the pictures");
    assert!(list(&sound("NAME=\"x\""), group).is_ok());
    let error = list(&apart, group).unwrap_err().to_string();
    assert!(error.starts_with("line 2: its sound is in a playlist of its own"), "{error}");
    let error = list(&(within.replace("YES", "NO") + &sound("DEFAULT=YES,URI=\"a\"")), group).unwrap_err();
    assert!(error.to_string().starts_with("line 3: its sound"), "{error}");
}

#[test]
fn variables_are_filled_in() {
    let check = |lines: &str, query: &str, expect: &[&str]| {
        let imported = Variables::from([("host".into(), "cdn".into())]);
        let found = parse_in(of(lines).as_bytes(), query, &imported);
        let Ok(Playlist::Media(media)) = found else { panic!("{lines}: {found:?}") };
        assert_eq!(media.segments.iter().map(|s| s.uri.as_str()).collect::<Vec<_>>(), expect, "{lines}");
    };
    check("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"x\"\n#EXTINF:1,\n{$a}/{$a}.ts", "", &["x/x.ts"]);
    check("#EXT-X-DEFINE:QUERYPARAM=\"t\"\n#EXTINF:1,\na.ts?t={$t}", "s=1&t=a%20b", &["a.ts?t=a%20b"]);
    check("#EXT-X-DEFINE:IMPORT=\"host\"\n#EXTINF:1,\n/{$host}/a.ts", "", &["/cdn/a.ts"]);
    check("#EXT-X-DEFINE:NAME=\"d\",VALUE=\"5\"\n#EXTINF:{$d},\na{$.ts", "", &["a{$.ts"]);
    let refused = |lines: &str, says: &str| {
        let error = parse(of(lines).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{lines}: {error}");
    };
    refused("#EXTINF:1,\n{$a}.ts", "line 3: the variable a is not defined");
    refused("#EXT-X-DEFINE:IMPORT=\"a\"", "line 2: the variable a has no value");
    refused("#EXT-X-DEFINE:QUERYPARAM=\"a\"", "line 2: the variable a has no value");
    refused("#EXT-X-DEFINE:VALUE=\"a\"", "line 2: the variable has no NAME");
}

#[test]
fn what_cannot_be_played_is_refused_with_a_reason() {
    let check = |text: &str, says: &str| {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    };
    check("", "does not begin with #EXTM3U");
    check("<html>", "does not begin with #EXTM3U");
    check("\n#EXTM3U\n", "does not begin with #EXTM3U");
    check("#EXTM3U\n", "neither variants nor segments");
    check("#EXTM3U\n#EXT-X-ENDLIST\n", "neither variants nor segments");
    check("#EXTM3U\n#EXTINF:1,\n#EXT-X-GAP\na.ts\n", "neither variants nor segments");
    check(&MEDIA.replace("#EXT-X-ENDLIST", ""), "it is live");
    check(&MEDIA.replace("#EXT-X-ENDLIST", "#EXT-X-PLAYLIST-TYPE:EVENT"), "it is live");
    check(&format!("{MASTER}{}", &MEDIA[8..]), "and segments (#EXTINF) at once");
    check("#EXTM3U\na.ts\n", "line 2: the address has no #EXTINF");
    check("#EXTM3U\n#EXTINF:-1,\n", "line 2: the duration is not a number of seconds; write #EXTINF:SECONDS");
    check("#EXTM3U\n#EXTINF:,\n", "line 2: the duration");
    check("#EXTM3U\n#EXTINF\n", "line 2: the duration");
    check("#EXTM3U\n#EXTINF:1e9,\n", "line 2: the duration");
    check("#EXTM3U\n#EXTINF:+1,\n", "line 2: the duration");
    check("#EXTM3U\n#EXTINF:\"1\",\n", "line 2: the duration");
    check("#EXTM3U\n#EXTINF:.,\n", "line 2: the duration");
    check("#EXTM3U\n#EXTINF:86401,\n", "line 2: the segment is longer than a day");
    check("#EXTM3U\n#EXTINF:NaN,\n", "line 2: the duration");
    check("#EXTM3U\n#EXT-X-BYTERANGE:a@b\n", "line 2: the range");
    check("#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:0@5\na.ts\n", "line 4: the range is empty");
    check(
        "#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:2@18446744073709551615\na\n",
        "line 4: the range is empty or",
    );
    check("#EXTM3U\n#EXT-X-MAP:BYTERANGE=\"1@0\"\n", "line 2: the header has no URI");
    check("#EXTM3U\n#EXT-X-MAP:URI=\"a\",BYTERANGE=\"0\"\n", "line 2: the range of the header");
    let drm = "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://k\",KEYFORMAT=\"com.apple.streamingkeydelivery\"";
    check(&format!("#EXTM3U\n{drm}\n#EXTINF:1,\na.ts\n"), "line 2: its segments are encrypted");
    check("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128\n", "line 2: the key has no URI");
    check("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"\"\n", "line 2: the key has no URI");
    check("#EXTM3U\n#EXT-X-I-FRAMES-ONLY\n", "line 2: it lists single pictures");
    let many: String =
        (0..=VARIANTS).map(|i| format!("#EXT-X-STREAM-INF:BANDWIDTH={}\na\n", i + 1)).collect();
    check(&format!("#EXTM3U\n{many}"), "more than 64 variants");
    assert_eq!(parse(&vec![b'#'; LIMIT + 1]), Err(PlaylistError::TooLong));
    assert_eq!(parse(b"\x1f\x8b\x08\0"), Err(PlaylistError::Compressed));
    let large = of(&"#EXTINF:4,\nsegment-of-a-long-recording.ts\n".repeat(100_000));
    assert!(large.len() > 4_000_000 && media(&large).is_ok(), "{} B", large.len());
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
    check("HTTP://H:8080/a.ts", "/a.ts");
    // As browsers encode them.
    check("a b.ts", "/vod/v1/a%20b.ts");
    check("caf\u{e9}.ts", "/vod/v1/caf%C3%A9.ts");
    check("a%20b%2Fc.ts", "/vod/v1/a%20b%2Fc.ts");
    check("50%.ts", "/vod/v1/50%.ts");
    check("a\"<>`{}^.ts", "/vod/v1/a%22%3C%3E%60%7B%7D%5E.ts");
    check("[a]|(b)'!$&*+,;=:@~.ts", "/vod/v1/[a]|(b)'!$&*+,;=:@~.ts");
    check("a.ts?q='a b'\"{\u{e9}}", "/vod/v1/a.ts?q=%27a%20b%27%22{%C3%A9}");
    check("v2\\a.ts", "/vod/v1/v2/a.ts");
    check("\\\\h:8080\\a.ts", "/a.ts");
    check("a\tb.ts", "/vod/v1/ab.ts");
    check("%2e%2E/a.ts", "/vod/a.ts");
    check(".%2e/%2e/a.ts", "/vod/a.ts");
    check("http://h:8080/a b/\u{fc}.ts", "/a%20b/%C3%BC.ts");
    check(" a.ts ", "/vod/v1/a.ts");
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
    refused("http://h:x/a.ts", "cannot be read");
    let root: spec::Url = "http://h:8080".parse().unwrap();
    assert_eq!(resolve(&root, "a.ts").unwrap().path, "/a.ts");
}

#[test]
fn qualities_of_one_name_are_told_apart() {
    let variant = |list: &str, uri: &str| format!("#EXT-X-STREAM-INF:{list}\n{uri}\n");
    let names = |variants: &[(&str, &str)]| {
        let lines: String = variants.iter().map(|(list, uri)| variant(list, uri)).collect();
        let master = format!("#EXTM3U\n{lines}");
        let files = [("/m.m3u8", master.as_str()), ("/a", MEDIA), ("/b", MEDIA), ("/c", MEDIA)];
        let listing = followed("http://h/m.m3u8", &files).unwrap();
        listing.rungs.into_iter().map(|rung| rung.name).collect::<Vec<_>>()
    };
    let (low, high) = ("BANDWIDTH=1000,RESOLUTION=1x720", "BANDWIDTH=2000,RESOLUTION=1x720");
    assert_eq!(names(&[(low, "a"), (high, "b")]), ["720p-1k", "720p-2k"]);
    let (avc, hevc) = (format!("{low},CODECS=\"avc1\""), format!("{low},CODECS=\"hvc1\""));
    assert_eq!(names(&[(&avc, "a"), (&hevc, "b"), (high, "c")]), ["720p-1k-1", "720p-1k-2", "720p-2k"]);
    assert_eq!(names(&[(low, "a"), (low, "b")]), ["720p"]);
    // Without a bit rate the only one has a name, too.
    assert_eq!(names(&[("", "a")]), ["segment"]);
}

#[test]
fn headers_and_keys_are_requested_in_their_order() {
    let segments = "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k e y\"\n#EXT-X-MAP:URI=\"i0\"\n#EXTINF:4,\na\n#EXTINF:4,\nb\n\
                    #EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"i1\"\n#EXTINF:4,\nc\n#EXT-X-ENDLIST\n";
    let listing = followed("http://h/x/a.m3u8", &[("/x/a.m3u8", segments)]).unwrap();
    let indexes = listing.rungs[0].indexes.iter();
    let found: Vec<_> = indexes.map(|i| (i.before, i.is_media, i.target.as_str())).collect();
    let expect =
        [(0, false, "/x/a.m3u8"), (0, false, "/x/k%20e%20y"), (0, true, "/x/i0"), (2, true, "/x/i1")];
    assert_eq!(found, expect);
    let elsewhere = segments.replace("k e y", "https://keys/k");
    let error = followed("http://h/x/a.m3u8", &[("/x/a.m3u8", &elsewhere)]).unwrap_err().to_string();
    assert!(error.starts_with("line 2: 'https://keys/k' is on another server"), "{error}");
}

#[test]
fn variables_of_the_list_of_qualities_are_imported() {
    let master =
        "#EXTM3U\n#EXT-X-DEFINE:NAME=\"v\",VALUE=\"abc\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{$v}.m3u8?t=5\n";
    let media = "#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"v\"\n#EXT-X-DEFINE:QUERYPARAM=\"t\"\n#EXTINF:1,\n{$v}/{$t}.ts\n#EXT-X-ENDLIST\n";
    let files = [("/m.m3u8", master), ("/abc.m3u8?t=5", media)];
    let listing = followed("http://h/m.m3u8", &files).unwrap();
    assert_eq!(&*listing.rungs[0].segments[0].target, "/abc/5.ts");
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
    assert_eq!(listing.rungs[1].indexes[0].before, 0);
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
    check(&[("/m.m3u8", &variant("m.m3u8"))], "leads back to a list of variants");
    check(
        &[("/m.m3u8", &variant("n.m3u8")), ("/n.m3u8", &variant("m.m3u8"))],
        "leads back to a list of variants",
    );
    check(&[("/m.m3u8", &variant("http://other/n.m3u8"))], "another server");
    check(&[("/m.m3u8", &variant("http://other/n.m3u8"))], "line 3: ");
    check(&[("/m.m3u8", &variant("n.m3u8"))], "no playlist");
    check(&[("/m.m3u8", "#EXTM3U\n#EXT-X-ENDLIST\n")], "neither");
    // The same playlist twice is requested once.
    let twice = format!("{}{}", variant("a"), &variant("a")[8..]);
    let listing = followed("http://h/m.m3u8", &[("/m.m3u8", &twice), ("/a", MEDIA)]).unwrap();
    assert_eq!(listing.rungs.len(), 1);
}

#[test]
fn the_playlists_of_a_set_list_its_chunks() {
    let catalog = datasets::videos::Catalog::new(&"10x1/8".parse().unwrap(), 1).unwrap();
    let video = (0..10).find(|video| catalog.has(*video, 3)).unwrap();
    let files: Vec<(String, String)> = (0..4)
        .map(|rung| {
            (
                format!("{}/{}.m3u8", catalog.folder(video), datasets::videos::RUNGS[rung]),
                catalog.playlist(video, rung),
            )
        })
        .chain([(format!("{}/master.m3u8", catalog.folder(video)), catalog.master(video))])
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let first = format!("http://h{}/master.m3u8", catalog.folder(video));
    let listing = followed(&first, &files).unwrap();
    let names: Vec<&str> = listing.rungs.iter().map(|rung| rung.name.as_str()).collect();
    assert_eq!(names, datasets::videos::RUNGS);
    for (number, rung) in listing.rungs.iter().enumerate() {
        assert_eq!(rung.segments.len() as u64, catalog.chunks(video));
        let last = rung.segments.last().unwrap();
        assert_eq!(last.range.unwrap().last + 1, catalog.size(video, number));
        assert_eq!(last.start + last.media, catalog.duration(video));
        assert_eq!(&*last.target, catalog.path(video, number));
    }
}
