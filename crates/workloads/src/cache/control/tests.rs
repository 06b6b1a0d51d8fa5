use std::collections::VecDeque;
use std::sync::Mutex;

use super::*;
use crate::cache::Login;

/// A server whose connections follow a script: a question begins with the first words, the answer is the second; an
/// answer that ends in `<close>` closes.
struct Scripted {
    says: VecDeque<u8>,
    script: Vec<(String, String)>,
    closes: bool,
}

impl Read for Scripted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.says.is_empty() && !self.closes {
            // Silent for longer than a stream waits.
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => self.says.read(buffer),
        }
    }
}

impl Write for Scripted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let question = String::from_utf8_lossy(bytes);
        let known = self.script.iter().find(|(begin, _)| question.starts_with(begin));
        let answer = known.map_or("", |(_, answer)| answer);
        self.closes |= answer.ends_with("<close>");
        self.says.extend(answer.trim_end_matches("<close>").bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Connects to a server of this script.
fn open(script: &[(&str, &str)]) -> Result<(Control, Option<String>), ControlError> {
    log_in(script, None)
}

/// The same with a login.
fn log_in(script: &[(&str, &str)], login: Option<Login>) -> Result<(Control, Option<String>), ControlError> {
    Control::over("h:1".into(), &Dialect::Memcached { login }, &|| {
        let greeting = script.iter().find(|(begin, _)| begin.is_empty()).map_or("", |(_, text)| text);
        let says = greeting.bytes().collect();
        let script = script.iter().map(|(begin, answer)| ((*begin).into(), (*answer).into())).collect();
        Ok(Box::new(Scripted { says, script, closes: false }))
    })
}

#[test]
fn a_server_without_a_version_is_a_server() {
    let check = |script: &[(&str, &str)], version: Option<&str>| {
        assert_eq!(open(script).unwrap().1.as_deref(), version)
    };
    check(&[("version", "VERSION 1.6\r\n"), ("get", "END\r\n")], Some("1.6"));
    check(&[("version", "ERROR\r\n"), ("get", "END\r\n")], None);
    check(&[("version", "CLIENT_ERROR unsupported\r\n"), ("get", "END\r\n")], None);
    check(
        &[("version", "SERVER_ERROR no version\r\n"), ("get", "VALUE taillight:probe 0 1\r\nx\r\nEND\r\n")],
        None,
    );
    // As old twemproxies do.
    check(&[("version", "<close>"), ("get", "END\r\n")], None);
    check(&[("version", "ERROR\r\n<close>"), ("get", "END\r\n")], None);
}

#[test]
fn what_cannot_be_measured_is_named() {
    let check = |script: &[(&str, &str)], parts: &[&str]| {
        let error = open(script).err().unwrap().to_string();
        for part in parts {
            assert!(error.contains(part), "it does not say '{part}': {error}");
        }
    };
    check(
        &[("version", "<close>")],
        &["h:1 closed the connection when asked for 'version'", "free connection"],
    );
    check(&[], &["did not answer 'version' within 5 s"]);
    check(&[("version", "hello\r\n")], &["answered 'version' with 'hello'"]);
    check(
        &[("version", "ERROR Too many open connections\r\n<close>"), ("get", "<close>")],
        &["Too many open"],
    );
    let down = "SERVER_ERROR Connection refused\r\n";
    check(
        &[("version", "VERSION 1\r\n"), ("get", down)],
        &["SERVER_ERROR Connection refused", "serves no reads"],
    );
    let locked = "CLIENT_ERROR unauthenticated\r\n";
    check(&[("version", locked)], &["wants authentication", "-Y"]);
    check(&[("version", "VERSION 1\r\n"), ("get", locked)], &["wants authentication"]);
    check(
        &[("version", "-ERR unknown command 'version', with args beginning with: \r\n")],
        &["h:1 is Redis", "'-ERR unknown command 'version'", "add --protocol resp"],
    );
    check(&[("version", "-NOAUTH Authentication required.\r\n")], &["Redis", "-NOAUTH"]);
    check(
        &[("version", "HTTP/1.1 400 Bad Request\r\n\r\n<close>")],
        &["an HTTP server", "HTTP/1.1 400", "taillight load web --target http://h:1/"],
    );
    check(&[("version", "\x15\x03\x01\x00\x02\x02\x46<close>")], &["expects TLS", "--tls-ca FILE"]);
    // These speak first.
    check(&[("", "SSH-2.0-OpenSSH_9.2\r\n")], &["an SSH server", "SSH-2.0"]);
    check(&[("", "220 mail.example ESMTP\r\n")], &["SMTP"]);
    check(&[("", "\x5b\x00\x00\x00\x0a8.0.36\x00")], &["MySQL"]);
}

#[test]
fn a_login_is_sent_only_to_a_server_that_wants_one() {
    let check = |get: &str, set: &str, part: &str| {
        let script =
            [("version", "VERSION 1\r\n"), ("get", get), ("set taillight:login 0 0 9\r\nme secret", set)];
        let error = log_in(&script, Login::read("me:secret")).err().unwrap().to_string();
        assert!(error.contains(part), "it does not say '{part}': {error}");
    };
    let locked = "CLIENT_ERROR unauthenticated\r\n";
    check("END\r\n", "STORED\r\n", "wants no login, and would store the password");
    check(
        locked,
        "CLIENT_ERROR authentication failure\r\n",
        "refused the login: 'CLIENT_ERROR authentication failure'",
    );
    check("SERVER_ERROR down\r\n", "STORED\r\n", "serves no reads");
    check(locked, "<close>", "closed the connection when asked for 'set'");
    // Logged in, the server of the script wants it all the same.
    check(locked, "STORED\r\n", "wants authentication");
}

#[test]
fn an_answer_that_trickles_has_an_end() {
    struct Slow(Mutex<u32>);
    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            *self.0.lock().unwrap() += 1;
            buffer[0] = b'x';
            Ok(1)
        }
    }
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let parser = ResponseParser::default();
    let stream = Box::new(Slow(Mutex::new(0)));
    let mut control = Control {
        server: "h:1".into(),
        stream,
        ahead: 0,
        dialect: Dialect::Memcached { login: None },
        parser,
        replies: ReplyParser::default(),
        received: Vec::new(),
        used: 0,
    };
    let past = Instant::now();
    let error = control.read(Some(past), Expect::Version, VERSION, |_| {}).unwrap_err();
    assert!(matches!(error, ControlError::Silent { .. }), "{error}");
}

#[test]
fn stats_that_are_refused_are_no_error() {
    let holds = |script: &[(&str, &str)]| open(script).unwrap().0.holdings();
    let told = holds(&[
        ("version", "VERSION 1\r\n"),
        ("get", "END\r\n"),
        ("stats", "STAT curr_items 7\r\nSTAT bytes 90\r\nSTAT limit_maxbytes 64\r\nEND\r\n"),
    ]);
    assert_eq!(told.unwrap(), Holdings { items: Some(7), bytes: Some(90), limit: Some(64) });
    for refusal in ["ERROR\r\n", "CLIENT_ERROR no\r\n", "SERVER_ERROR no\r\n", "END\r\n"] {
        assert_eq!(
            holds(&[("version", "VERSION 1\r\n"), ("get", "END\r\n"), ("stats", refusal)]).unwrap(),
            Holdings::default(),
            "{refusal}"
        );
    }
    let closed =
        holds(&[("version", "VERSION 1\r\n"), ("get", "END\r\n"), ("stats", "<close>")]).unwrap_err();
    assert_eq!(closed.fact(), "h:1 closed the connection when asked for 'stats'");
}

#[test]
fn the_first_key_of_others_is_found() {
    let check = |list: &str, expect: Result<Option<&str>, &str>| {
        let script =
            [("version", "VERSION 1\r\n"), ("get", "END\r\n"), ("lru_crawler metadump all\r\n", list)];
        let found = open(&script).unwrap().0.foreign_key(b"taillight:");
        match expect {
            Ok(key) => assert_eq!(found.unwrap().as_deref(), key, "{list}"),
            Err(part) => assert!(found.unwrap_err().to_string().contains(part), "{list}"),
        }
    };
    check("END\r\n", Ok(None));
    check("OK\r\nkey=taillight%3A001 exp=-1 la=1 cas=2 fetch=no cls=1 size=64\r\nEND\r\n", Ok(None));
    check("key=taillight%3a1 exp=-1\nkey=session%3A9f2c exp=-1\n", Ok(Some("session:9f2c")));
    check("key=tail exp=-1\r\n", Ok(Some("tail")));
    check("ERROR lru crawler disabled\r\n", Err("lru crawler disabled"));
    check("CLIENT_ERROR bad\r\n", Err("CLIENT_ERROR"));
    check("<close>", Err("closed the connection"));
    check("", Err("did not answer"));
    assert_eq!(unescaped(b"a%25%C3%A9~%4"), "a%é~%4".as_bytes());
}
