//! A site that behaves as the real one promises, except for planted faults.

use std::collections::HashMap;

use proto_http::server;

use crate::simulated::{Answer, Answers, page};

/// A planted fault, in place of the right answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Status(u16),
    /// An error page that says 200.
    ErrorPage,
    /// A page, but for its token.
    NoToken,
    /// A token of another session.
    ForeignToken,
    /// JSON that ends before its end.
    Truncated,
    /// The user is no longer logged in.
    Lost,
    /// Redirects without end.
    Loop,
    /// A redirect to another server.
    Foreign,
    /// A flood of cookies with the right answer.
    Flood,
    /// The right answer, after which the connection is closed, as announced.
    Close,
    /// The same without a length: the connection's end is its end.
    UntilClose,
    /// Less than its length, and then a close.
    CutOff,
    /// A close instead of an answer.
    Reset,
    /// None.
    Never,
    /// Other bytes.
    Garbage,
}

/// The state of the site.
#[derive(Default)]
pub(crate) struct Logic {
    /// Who has which session; `None` of those who are not logged in.
    sessions: HashMap<String, Option<String>>,
    next: u64,
    asked: u64,
    /// Each so-many-th request that an operation begins with gets this.
    pub(crate) fault: Option<(u64, Fault)>,
    /// Requests by their kind.
    pub(crate) log: HashMap<String, u64>,
    /// Names of new users.
    pub(crate) created: Vec<String>,
    /// Names of those whose data were to be in the cache.
    pub(crate) primed: Vec<String>,
    /// Requests without the right cookie or token, unless a fault planted that.
    pub(crate) wrong: Vec<String>,
}

/// A parsed request.
struct Asked<'a> {
    method: &'a str,
    path: &'a str,
    query: &'a str,
    sid: Option<String>,
    token: Option<String>,
    body: HashMap<String, String>,
}

fn field(head: &str, name: &str) -> Option<String> {
    let value = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
    Some(value.to_owned())
}

fn form(text: &str) -> HashMap<String, String> {
    let decode = |text: &str| {
        let mut out = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'+' => out.push(b' '),
                b'%' => {
                    let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                    out.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
                }
                _ => out.push(byte),
            }
        }
        String::from_utf8(out).unwrap()
    };
    let fields = text.split('&').filter_map(|pair| pair.split_once('='));
    fields.map(|(name, value)| (decode(name), decode(value))).collect()
}

impl Answers for Logic {
    fn answer(&mut self, bytes: &[u8]) -> Option<(usize, Option<Answer>)> {
        let (consumed, request) = match server::request(bytes) {
            server::RequestParse::NeedMore => return None,
            server::RequestParse::Done { consumed, request } => (consumed, request),
            server::RequestParse::Malformed(defect) => panic!("{defect}: {}", bytes.escape_ascii()),
        };
        let head = std::str::from_utf8(&bytes[..consumed - request.body.len()]).unwrap();
        let cookies = field(head, "Cookie").unwrap_or_default();
        let sid = cookies.split("; ").find_map(|pair| pair.strip_prefix("sid=")).map(str::to_owned);
        let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
        let body = form(std::str::from_utf8(request.body).unwrap());
        let token = field(head, "X-CSRF").or_else(|| body.get("csrf").cloned());
        let asked = Asked { method: request.method, path, query, sid, token, body };
        *self.log.entry(format!("{} {}", asked.method, kind(path))).or_default() += 1;
        Some((consumed, self.planted(&asked)))
    }
}

impl Logic {
    fn planted(&mut self, asked: &Asked<'_>) -> Option<Answer> {
        if asked.path.starts_with("/loop") {
            return Some(see(&format!("/loop{}", asked.path.len()), ""));
        }
        let is_any = |of: &[&str]| of.iter().any(|start| asked.path.starts_with(start));
        let begins = is_any(&["/ajax/", "/.prime/"]) || asked.method == "POST" || asked.path == "/";
        self.asked += u64::from(begins);
        let planted =
            self.fault.filter(|(each, _)| begins && self.asked.is_multiple_of(*each)).map(|(_, fault)| fault);
        let Some(fault) = planted else { return Some(self.right(asked)) };
        match fault {
            Fault::Never => None,
            Fault::Reset => Some(Answer { bytes: Vec::new(), close: true }),
            Fault::Garbage => Some(Answer { bytes: b"SSH-2.0\r\n".to_vec(), close: false }),
            Fault::Status(status) => Some(page(status, "", "<main id=\"error\">")),
            Fault::ErrorPage => Some(page(200, "", "<main id=\"error\">Something went wrong")),
            Fault::Loop => Some(see("/loop", "")),
            Fault::Foreign => Some(see("http://elsewhere.example/", "")),
            Fault::Lost => {
                if let Some(sid) = &asked.sid {
                    self.sessions.insert(sid.clone(), None);
                }
                Some(self.right(asked))
            }
            fault => {
                let mut answer = self.right(asked);
                let text = String::from_utf8(answer.bytes).unwrap();
                let (head, body) = text.split_once("\r\n\r\n").unwrap();
                let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
                let fields: String = head
                    .lines()
                    .skip(1)
                    .filter(|line| !line.starts_with("Content-Length"))
                    .map(|line| format!("{line}\r\n"))
                    .collect();
                answer.bytes = match fault {
                    Fault::NoToken => page(status, &fields, &body.replace("content=", "kontent=")).bytes,
                    Fault::ForeignToken => {
                        page(status, &fields, &body.replace("content=\"t", "content=\"x")).bytes
                    }
                    Fault::Truncated => page(status, &fields, &body[..body.len().saturating_sub(1)]).bytes,
                    Fault::Flood => {
                        let flood: String =
                            (0..500).map(|i| format!("Set-Cookie: f{i}=1; Path=/\r\n")).take(30).collect();
                        page(status, &format!("{fields}{flood}"), body).bytes
                    }
                    Fault::Close => page(status, &format!("{fields}Connection: close\r\n"), body).bytes,
                    Fault::UntilClose => format!("HTTP/1.1 {status} X\r\n{fields}\r\n{body}").into_bytes(),
                    Fault::CutOff => {
                        let mut bytes = page(status, &fields, &format!("{body}more")).bytes;
                        bytes.truncate(bytes.len() - 1);
                        bytes
                    }
                    _ => unreachable!("{fault:?}"),
                };
                answer.close = matches!(fault, Fault::Close | Fault::UntilClose | Fault::CutOff);
                Some(answer)
            }
        }
    }

    /// The behaviour that the real site promises.
    fn right(&mut self, asked: &Asked<'_>) -> Answer {
        let user = asked.sid.as_ref().and_then(|sid| self.sessions.get(sid)).cloned().flatten();
        let token = asked.sid.as_ref().map(|sid| format!("t{sid}"));
        let is_ajax = asked.path.starts_with("/ajax/");
        if asked.path.starts_with("/assets/") {
            return page(200, "Cache-Control: max-age=60\r\n", "/* */");
        }
        let open = ["/login", "/register"].contains(&asked.path);
        if user.is_none() && !open {
            if asked.path != "/logout" && asked.path != "/" && self.fault.is_none() {
                self.wrong.push(format!("{} {} without a session", asked.method, asked.path));
            }
            return if is_ajax { page(401, "", "{\"error\":\"log in\"}") } else { see("/login", "") };
        }
        if asked.method == "POST" && (asked.token.is_none() || asked.token != token) {
            if self.fault.is_none() {
                self.wrong.push(format!("POST {} with the token {:?}", asked.path, asked.token));
            }
            return page(403, "", "<main id=\"error\">");
        }
        let value = |name: &str| asked.body.get(name).cloned().unwrap_or_default();
        let id = |logic: &mut Logic| {
            logic.next += 1;
            logic.next
        };
        match (asked.method, asked.path) {
            ("GET", "/login" | "/register") if user.is_some() => see("/", ""),
            ("GET", "/login" | "/register") => {
                let (sid, set) = match &asked.sid {
                    Some(sid) => (sid.clone(), String::new()),
                    None => {
                        let sid = format!("s{}", id(self));
                        self.sessions.insert(sid.clone(), None);
                        (sid.clone(), format!("Set-Cookie: sid={sid}; HttpOnly; SameSite=Lax; Path=/\r\n"))
                    }
                };
                let main = &asked.path[1..];
                page(200, &set, &format!("<meta name=\"csrf\" content=\"t{sid}\"><main id=\"{main}\">"))
            }
            ("POST", "/register") => {
                self.created.push(value("name"));
                see("/login?registered=1", "")
            }
            ("POST", "/login") => {
                assert!(value("name").starts_with('u') && value("password") == "taillight");
                let sid = format!("s{}", id(self));
                self.sessions.insert(sid.clone(), Some(value("name")));
                see("/", &format!("Set-Cookie: sid={sid}; HttpOnly; SameSite=Lax; Path=/\r\n"))
            }
            ("POST", "/logout") => {
                self.sessions.remove(&asked.sid.clone().unwrap());
                let expired = "Set-Cookie: sid=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/\r\n";
                see("/login", expired)
            }
            ("GET", "/") => {
                let timing = "Server-Timing: php;dur=2, db;dur=1.5;desc=\"4\", cache;dur=0.25;desc=\"7\"\r\n";
                let main = format!(
                    "<meta name=\"csrf\" content=\"{}\"><main id=\"home\" data-user=\"{}\" data-post=\"5\" data-message=\"6\">{}",
                    token.unwrap(),
                    user.unwrap(),
                    "<p>a post</p>".repeat(200)
                );
                page(200, timing, &main)
            }
            ("POST", "/wall" | "/friend") => see("/", ""),
            ("POST", path) if path.starts_with("/chat/u") => see(path, ""),
            ("GET", path) if path.starts_with("/.prime/u") => {
                self.primed.push(path["/.prime/".len()..].to_owned());
                page(200, "", "primed\n")
            }
            ("GET", path) if path.starts_with("/chat") => page(200, "", "<main id=\"chat\">"),
            ("GET", "/feed") => page(200, "", "<main id=\"feed\">"),
            ("POST", "/ajax/wall") => {
                assert!(!value("body").is_empty());
                page(200, "", &format!("{{\"id\":{}}}", id(self)))
            }
            ("POST", "/ajax/friend") => {
                assert!(value("user").starts_with('u'));
                page(200, "", "{\"state\":\"requested\"}")
            }
            ("POST", "/ajax/chat") => {
                assert!(value("to").starts_with('u') && !value("body").is_empty());
                page(200, "", &format!("{{\"id\":{}}}", id(self)))
            }
            ("GET", "/ajax/chat") => {
                assert!(asked.query.starts_with("since="), "{}", asked.query);
                page(200, "", "{\"last\":7,\"messages\":[]}")
            }
            ("GET", "/ajax/feed") => {
                assert!(asked.query.starts_with("since="), "{}", asked.query);
                page(200, "", "{\"last\":8,\"posts\":[{\"id\":8,\"body\":\"a \\\"b\\\"\"}]}")
            }
            _ => page(404, "", "<main id=\"error\">"),
        }
    }
}

/// The kind of a path.
fn kind(path: &str) -> &str {
    match path {
        _ if path.starts_with("/chat/u") => "/chat/NAME",
        _ if path.starts_with("/.prime/u") => "/.prime/NAME",
        _ => path,
    }
}

fn see(path: &str, fields: &str) -> Answer {
    page(303, &format!("{fields}Location: {path}\r\n"), "")
}
