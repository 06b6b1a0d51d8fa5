//! The configuration, each line with its reason. Meanings of directives: nginx.org/en/docs, by the name of the module.

use std::net::SocketAddr;
use std::path::Path;

use super::{Nginx, Options};
use crate::asked_from;

/// Modules that make a folder for temporary files when the server starts, and how a build leaves each out.
const TEMPORARY: [(&str, &str); 5] = [
    ("client_body_temp_path", ""),
    ("proxy_temp_path", "--without-http_proxy_module"),
    ("fastcgi_temp_path", "--without-http_fastcgi_module"),
    ("uwsgi_temp_path", "--without-http_uwsgi_module"),
    ("scgi_temp_path", "--without-http_scgi_module"),
];

/// How a build has the page that tells of it. Source: nginx.org/en/docs/http/ngx_http_stub_status_module.html.
const STUB_STATUS: &str = "--with-http_stub_status_module";

/// What `nginx` is told to serve at `address`, with all that it writes in `folder`.
pub fn configuration(nginx: &Nginx, address: SocketAddr, folder: &Path, options: &Options) -> String {
    let mut file = File::default();
    file.head(options);
    process(&mut file, folder, options);
    events(&mut file, options);
    http(&mut file, nginx, address, folder, options);
    file.text
}

/// A configuration that is being written.
#[derive(Default)]
struct File {
    text: String,
    depth: usize,
}

impl File {
    fn head(&mut self, options: &Options) {
        self.text = format!(
            "# Written by taillight for one server, whose files it goes with. Sources: nginx.org/en/docs; the set-up of\n\
             # IISWC'17 (Chen et al., Workload characterization of interactive cloud services, §III-B), where it is named.\n\
             # Settings: {}\n",
            options.settings
        );
    }

    /// A directive below its reason.
    fn line(&mut self, reason: &str, directive: impl AsRef<str>) {
        let indent = "    ".repeat(self.depth);
        let directive = directive.as_ref();
        self.text += &format!("\n{indent}# {reason}\n{indent}{directive};\n");
    }

    /// Further directives of the same reason.
    fn also(&mut self, directive: impl AsRef<str>) {
        self.text += &format!("{}{};\n", "    ".repeat(self.depth), directive.as_ref());
    }

    fn open(&mut self, reason: &str, block: &str) {
        let indent = "    ".repeat(self.depth);
        let reason = if reason.is_empty() { String::new() } else { format!("{indent}# {reason}\n") };
        self.text += &format!("\n{reason}{indent}{block} {{\n");
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.text += &format!("{}}}\n", "    ".repeat(self.depth));
    }
}

fn process(file: &mut File, folder: &Path, options: &Options) {
    let own = |name: &str| quoted(&folder.join(name));
    file.line(
        "In the foreground, so that it is a child that can be waited for and stopped by a handle.",
        "daemon off",
    );
    file.line(
        "Nothing of it lies where the machine's own nginx has its files, so that no rights are needed.",
        format!("pid {}", own("nginx.pid")),
    );
    file.also(format!("lock_file {}", own("nginx.lock")));
    file.line(
        "Errors go where taillight reads them, and into its message if the server ends.",
        "error_log stderr warn",
    );
    file.line(
        "One process for each core of the service (IISWC'17: 7 workers on 7 cores).",
        format!("worker_processes {}", options.workers),
    );
    if let Some(masks) = masks(&options.cpus, options.workers) {
        let reason = if options.workers <= options.cpus.len() {
            "Each worker stays on a core of its own (IISWC'17: pinned), so that its caches stay warm."
        } else {
            "There are fewer cores than workers, so that all may run on any of them: the kernel spreads them."
        };
        file.line(reason, format!("worker_cpu_affinity {masks}"));
    }
    file.line(
        "Connections and cached files are open files; this is the most that this account may have.",
        format!("worker_rlimit_nofile {}", options.open_files),
    );
}

fn events(file: &mut File, options: &Options) {
    file.open("", "events");
    file.line("The way of waiting that costs the same for any number of connections; named so that no other is taken.", "use epoll");
    file.line(
        "All connections of a generator may reach one worker, so that each has room for all of them.",
        format!("worker_connections {}", options.connections),
    );
    file.line(
        "A worker takes what comes without asking the others, the default since 1.11.3: turns would add a wait.",
        "accept_mutex off",
    );
    file.close();
}

fn http(file: &mut File, nginx: &Nginx, address: SocketAddr, folder: &Path, options: &Options) {
    let settings = &options.settings;
    let flag = |on: bool| if on { "on" } else { "off" };
    file.open("", "http");
    file.line(
        "The kernel sends file pages as they lie in its cache, without a copy in the server.",
        format!("sendfile {}", flag(settings.sendfile)),
    );
    file.line(
        "With sendfile: head and first bytes of the file leave in one segment instead of two.",
        "tcp_nopush on",
    );
    file.line(
        "The last, short segment of an answer leaves at once, without waiting for an acknowledgement.",
        "tcp_nodelay on",
    );
    file.line(
        "A generator's connections last as long as it does (IISWC'17: wrk2's do): neither idle time nor requests end one. \
         The default of 1000 requests would have every connection set up anew some times a second.",
        "keepalive_timeout 86400s",
    );
    file.also("keepalive_requests 2000000000");
    if nginx.is_at_least([1, 19, 10]) {
        file.also("keepalive_time 604800s");
    }
    open_file_cache(file, options);
    match settings.access_log {
        true => file.line(
            "Each request is written down as it is answered: the post-processing of IISWC'17 §IV-A.",
            format!("access_log {} combined", quoted(&folder.join("access.log"))),
        ),
        false => file.line("No write to a file for each request.", "access_log off"),
    }
    file.line(
        "A path that is not there is the generator's to count and no line in a log.",
        "log_not_found off",
    );
    match settings.gzip {
        0 => file.line("Files go out as they are, so that sendfile can be used.", "gzip off"),
        level => {
            file.line(
                "Answers are compressed for who accepts it: the post-processing of IISWC'17 §IV-A.",
                "gzip on",
            );
            file.also(format!("gzip_comp_level {level}"));
            file.also("gzip_types text/plain");
        }
    }
    file.open("The types of what a file set holds, so that a browser shows it.", "types");
    file.also("text/html html");
    file.also("text/plain txt");
    file.close();
    file.also("default_type application/octet-stream");
    let there = TEMPORARY.iter().filter(|(_, without)| !nginx.built.iter().any(|built| built == without));
    for (i, (path, _)) in there.enumerate() {
        let directive = format!("{path} {}", quoted(&folder.join(path)));
        match i {
            0 => file.line("Folders that it makes at its start and does not need here.", directive),
            _ => file.also(directive),
        }
    }
    server(file, nginx, address, options);
    file.close();
}

fn open_file_cache(file: &mut File, options: &Options) {
    let room = options.room();
    let files = options.settings.open_file_cache.map_or(room, |asked| asked.min(room));
    if files == 0 {
        file.line("Every request looks its file up, opens and closes it.", "open_file_cache off");
        return;
    }
    file.line(
        "Descriptors, sizes and times of files are kept (IISWC'17: on), as many as a worker may have open beside its \
         connections; a file leaves when it was not asked for in this time.",
        format!("open_file_cache max={files} inactive=86400s"),
    );
    file.line(
        "Files do not change while they are served: none is looked after again.",
        "open_file_cache_valid 86400s",
    );
    file.also("open_file_cache_min_uses 1");
}

fn server(file: &mut File, nginx: &Nginx, address: SocketAddr, options: &Options) {
    let reuseport = if options.settings.reuseport { " reuseport" } else { "" };
    file.open("", "server");
    file.line(
        "The one address that it is reached at. The queue of connections that wait is as long as the kernel allows \
         (net.core.somaxconn), as a generator opens all of its own at once.",
        format!("listen {address} backlog=65535{reuseport}"),
    );
    file.line("Any name is served.", "server_name _");
    file.line("The files.", format!("root {}", quoted(&options.files)));
    file.open("What says which file set this is, is not part of it.", "location ^~ /.");
    file.also("return 404");
    file.close();
    let built = |option: &str| nginx.built.iter().any(|built| built == option);
    if built(STUB_STATUS) && !built("--without-http_access_module") {
        file.open(
            "What it counts itself, for `--probe server` on this machine: such a build counts whether it is asked or not.",
            "location = /.status",
        );
        file.also("stub_status");
        file.also("access_log off");
        for from in asked_from(address.ip()) {
            file.also(format!("allow {from}"));
        }
        file.also("deny all");
        file.close();
    }
    file.close();
}

/// A path as one word, whatever it holds. Source: `ngx_conf_file.c`: a word in quotes ends at the next one, and
/// backslashes keep what follows; a `$` in `root` would begin a variable and has no other form.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', r"\\").replace('"', "\\\""))
}

/// The processors of each worker, as strings of bits with processor 0 at the end; `None` leaves them all.
fn masks(cpus: &[usize], workers: usize) -> Option<String> {
    let last = cpus.iter().max()?;
    let mask = |of: &[usize]| -> String {
        (0..=*last).rev().map(|cpu| if of.contains(&cpu) { '1' } else { '0' }).collect()
    };
    let all: Vec<String> = if workers <= cpus.len() {
        cpus[..workers].iter().map(|cpu| mask(&[*cpu])).collect()
    } else {
        // The last mask holds for all further workers, too.
        vec![mask(cpus)]
    };
    Some(all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    fn nginx(version: &str, built: &[&str]) -> Nginx {
        let built = built.iter().map(|one| (*one).to_owned()).collect();
        Nginx { path: "/usr/sbin/nginx".into(), version: version.into(), built }
    }

    fn text_of(nginx: &Nginx, settings: &[&str], workers: usize, cpus: &[usize]) -> String {
        let options = Options {
            files: "/srv/a \"set\"".into(),
            workers,
            cpus: cpus.to_vec(),
            connections: 1024,
            open_files: 20_000,
            settings: Settings::read(settings).unwrap(),
        };
        configuration(nginx, "127.0.0.1:8080".parse().unwrap(), Path::new("/tmp/own"), &options)
    }

    #[test]
    fn every_line_has_its_reason() {
        let text = text_of(&nginx("1.22.1", &[]), &["gzip=6"], 2, &[0, 1]);
        // A block of directives begins below a comment; a brace needs none.
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.ends_with(';')) {
            let before = lines[i - 1];
            let explained = before.starts_with('#') || before.ends_with([';', '{', '}']);
            assert!(explained && !before.is_empty(), "{line} stands alone");
        }
        assert!(lines.iter().filter(|line| line.starts_with("# ")).count() > 20, "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }

    #[test]
    fn settings_become_directives() {
        let check = |settings: &[&str], there: &[&str], not: &[&str]| {
            let text = text_of(&nginx("1.22.1", &[]), settings, 1, &[]);
            let has = |directive: &&&str| text.lines().any(|line| line.trim() == **directive);
            assert_eq!(there.iter().find(|line| !has(line)), None, "{settings:?}: {text}");
            assert_eq!(not.iter().find(has), None, "{settings:?}: {text}");
        };
        let cache = "open_file_cache max=18848 inactive=86400s;";
        check(&[], &["sendfile on;", "gzip off;", "access_log off;", cache, "daemon off;"], &["gzip on;"]);
        check(&[], &["listen 127.0.0.1:8080 backlog=65535;", r#"root "/srv/a \"set\"";"#], &[]);
        check(&["reuseport=on"], &["listen 127.0.0.1:8080 backlog=65535 reuseport;"], &[]);
        check(&["open_file_cache=off"], &["open_file_cache off;"], &[cache, "open_file_cache_valid 86400s;"]);
        check(&["open_file_cache=1000"], &["open_file_cache max=1000 inactive=86400s;"], &[]);
        check(&["open_file_cache=1000000"], &[cache], &[]);
        check(&["gzip=6"], &["gzip on;", "gzip_comp_level 6;"], &["gzip off;"]);
        check(&["access_log=on"], &[r#"access_log "/tmp/own/access.log" combined;"#], &["access_log off;"]);
        check(&["sendfile=off"], &["sendfile off;"], &[]);
    }

    #[test]
    fn a_build_is_told_only_what_it_knows() {
        let check = |version: &str, built: &[&str], line: &str, expect: bool| {
            let text = text_of(&nginx(version, built), &[], 1, &[]);
            assert_eq!(text.contains(line), expect, "{version} {built:?}: {line}");
        };
        check("1.22.1", &[], "keepalive_time 604800s;", true);
        check("1.12.0", &[], "keepalive_time 604800s", false);
        check("1.22.1", &[], "scgi_temp_path", true);
        check("1.22.1", &["--with-threads", "--without-http_scgi_module"], "scgi_temp_path", false);
        check("1.22.1", &["--without-http_scgi_module"], "uwsgi_temp_path", true);
        check("1.22.1", &["--with-http_stub_status_module"], "location = /.status {", true);
        check("1.22.1", &[], "stub_status", false);
    }

    #[test]
    fn workers_have_a_processor_each_or_share_all() {
        let check = |cpus: &[usize], workers: usize, expect: Option<&str>| {
            assert_eq!(masks(cpus, workers).as_deref(), expect, "{cpus:?} {workers}");
        };
        check(&[0], 1, Some("1"));
        check(&[0, 1], 2, Some("01 10"));
        check(&[2, 0, 5], 2, Some("000100 000001"));
        check(&[0, 3], 7, Some("1001"));
        check(&[1], 2, Some("10"));
        check(&[], 2, None);
    }
}
