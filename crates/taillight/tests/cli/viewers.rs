    let faults = faults.parse().unwrap();
    let (send, address) = mpsc::channel();
    thread::spawn(move || {
        let (tell, told) = mpsc::channel();
    let faults = faults.to_owned();
    // An event loop belongs to the thread that made it.
    thread::spawn(move || {
        let mut reactor = Epoll::new().unwrap();
        tell.send(reactor.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap()).unwrap();
        let catalog = Catalog::new(&SET.parse().unwrap(), 1).unwrap();
        let (faults, counts) = (faults.parse().unwrap(), Arc::new(Counts::default()));
        let mut server = VideoServer::new(catalog, faults, Stalls::None, Limits::default(), counts);
        while server.step(&mut reactor).is_ok() {}
    });
    let at = told.recv().unwrap();
    format!("http://{at}")
}

#[test]
fn what_cannot_be_watched_is_refused_before_the_load() {
    let check = |target: &str, options: &[&str], code: i32, says: &[&str]| {
        let mut command = taillight(&["load", "video", "--target", target, "--rate", "2", "--json"]);
        refuses(command.args(options), code, says);
    };
    let target = served("");
    check(&target, &["--videos", "30x1/640"], 1, &["has", "name the set that is there"]);
    check(&canned("HTTP/1.1 404 Not Found\r\n\r\n"), &[], 1, &["fileset make", "--video 1000x1/160"]);
    check(&canned("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), &[], 1, &["HTTP ranges"]);
    check(&canned("SSH-2.0-x\r\n"), &[], 1, &["does not begin with HTTP/1"]);
    check("http://127.0.0.1:1", &[], 1, &["cannot connect"]);
    check(&target, &["--closed"], 2, &["--rate"]);
    check(&target, &["--clients", "5"], 1, &["each session is a client"]);
    check("memcached", &[], 1, &["serves no videos"]);
    check(&target, &["--playlist", &format!("{target}/v000000/master.m3u8")], 1, &["add --protocol hls"]);
    let hls = |playlist: &str, says: &str| {
        let target = canned(playlist_answer(playlist));
        let url = format!("{target}/m.m3u8");
        check(&target, &["--protocol", "hls", "--playlist", &url], 1, &[&url, says]);
    };
    hls("#EXTM3U\n#EXTINF:4,\na.ts\n", "it is live");
    hls("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nm.m3u8\n", "round in a loop");
    hls("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://other/m.m3u8\n", "another server");
    hls("#EXTM3U\n#EXT-X-ENDLIST\n", "neither variants nor segments");
    hls("<html>", "no playlist");
}

/// A playlist as an answer; leaked, as servers of tests last as long as these.
fn playlist_answer(playlist: &str) -> &'static str {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{playlist}", playlist.len()).leak()
}

#[test]
fn help_and_chapter_say_what_a_rate_is() {
    let help = text(&finish(&mut taillight(&["load", "video", "--help"])));
    assert!(help.contains("sessions per second") && help.contains("CLOSED LOOP WITHIN THE SESSION"), "{help}");
    assert!(help.contains("--abandon") && !help.contains("--requests-per-connection"), "{help}");
    let chapter = text(&finish(&mut taillight(&["explain", "video"])));
    for word in ["workload.late", "video.fit = 0.8", "max(0, i - 2) x 10 s", "rebuffer_ratio"] {
        assert!(chapter.contains(word), "{word}: {chapter}");
    }
}

#[test]
fn a_load_of_viewers_is_kept_with_its_report() {
    let out = TempDir::new().unwrap();
    let mut command = taillight(&["load", "video", "--target", &served(""), "--videos", SET, "--speed", "50"]);
    command.args(["--rate", "10", "--window", "2s", "--bandwidth", "off", "--pace", "sleep"]);
    command.args(["--pacing", "closed", "--out"]);
    let output = finish(command.arg(out.path()));
    assert!(output.status.success(), "{}", text(&output));
    let folder = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
    let report = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for words in ["Closed loop within each session", "50 times as fast"] {
        assert!(report.contains(words), "{words}");
    }
}

#[test]
fn nginx_serves_a_set_to_viewers() {
    let Some(nginx) = find_program("nginx") else {
        println!("skipped: there is no nginx here");
        return;
    };
    let outer = TempDir::new().unwrap();
    // Its workers run as another user.
    std::fs::set_permissions(outer.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let folder = outer.path().join("set");
    let output = finish(taillight(&["fileset", "make", "--video", "5x1/640"]).arg(&folder));
    assert!(output.status.success(), "{}", text(&output));
    let port = launch::free_port().unwrap();
    let configuration = outer.path().join("nginx.conf");
    let own = outer.path().display();
    let text = format!(
        "daemon off;\npid {own}/pid;\nerror_log {own}/errors;\nevents {{}}\nhttp {{ access_log off; sendfile on;\n\
         client_body_temp_path {own}/b; proxy_temp_path {own}/p; fastcgi_temp_path {own}/f; uwsgi_temp_path {own}/u;\n\
         scgi_temp_path {own}/s; server {{ listen 127.0.0.1:{port}; root {}; }} }}\n",
        folder.display()
    );
    std::fs::write(&configuration, text).unwrap();
    let spec = launch::Spec::new("nginx", &nginx).args(["-c", &configuration.display().to_string()]);
    let spec = spec.args(["-p", &outer.path().display().to_string()]);
    let server = launch::Process::spawn(spec).unwrap();
    let address = format!("127.0.0.1:{port}");
    for _ in 0..6_000 {
        if TcpStream::connect(&address).is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let options = ["--videos", "5x1/640", "--verify", "checksum", "--bandwidth", "read", "--protocol", "hls"];
    let trial = trial(&format!("http://{address}"), &options);
    no_errors(&trial);
    assert_eq!(trial.counters["verify_failures"], 0.0);
    assert!(trial.found.server_version.is_some_and(|version| version.starts_with("nginx/")));
    let _ = server.stop(Duration::from_secs(5));
}
