//! The settings of each application with their sources, to be explained.

use spec::{Entry, Section};

use crate::{App, Error, Setting, names, of_name};

/// Why a setting has its default: the application, the setting, the source.
const SETTINGS: [(&str, &str, &str); 54] = [
    (
        "nginx",
        "open_file_cache",
        "IISWC'17 §III-B: the open file cache is enabled; its size is what the limit of open files leaves",
    ),
    ("nginx", "gzip", "nginx's default; IISWC'17 §IV-A has it as a part of post-processing"),
    (
        "nginx",
        "access_log",
        "ours, because each request would wait for a file; IISWC'17 §IV-A has it as a part of post-processing",
    ),
    ("nginx", "reuseport", "nginx's default: one listening socket for all workers"),
    ("nginx", "sendfile", "ISPASS'16 §IV-A.1: it saves a copy in the server"),
    (
        "sphinx",
        "published",
        "docs/decisions/0011-any-thread-reads-by-default.md: absent, any thread reads; ANCS'19 §IV-A shares nothing",
    ),
    (
        "sphinx",
        "sharing",
        "docs/decisions/0011-any-thread-reads-by-default.md: absent, it is what sphinxd takes",
    ),
    (
        "sphinx",
        "steering",
        "ours, because which thread has a key is then no secret, and it takes a privilege",
    ),
    ("sphinx", "udp", "memcached's default since 1.5.6: no datagrams"),
    ("sphinx", "partition_ports", "ours, because only clients that know of them have a use for them"),
    ("null", "dialect", "ours, because a cache is what most loads are for"),
    ("null", "value_size", "IISWC'17 §III-B: values of 200 B"),
    ("null", "service", "ours, because a server without service time shows the generator's own"),
    ("null", "stall", "ours, because nothing is planted unless it is asked for"),
    ("null", "spin", "ours, because waiting by spinning takes a whole processor"),
    ("lighttpd", "stat_cache", "ours, because it is what lighttpd does unless it is told otherwise"),
    ("lighttpd", "sendfile", "ISPASS'16 §IV-A.1, of NGINX: it saves a copy in the server"),
    ("varnish-nginx", "ttl", "ours, because an answer must not expire within a measurement: a day"),
    ("video", "sendfile", "ISPASS'16 §IV-A1: sendfile saves a copy in the server"),
    ("video", "sendfile_max_chunk", "nginx's default since 1.21.4: 2 MiB"),
    ("video", "aio", "nginx's default: a worker reads by itself; ISPASS'16 §IV-A1 names no pool of threads"),
    ("video", "aio_threads", "nginx's default: 32 threads in a pool"),
    ("video", "directio", "nginx's default: files are read through the kernel's memory of them"),
    ("video", "read_ahead", "nginx's default: the kernel is told nothing"),
    ("video", "output_buffers", "nginx's default since 1.9.5: 2 buffers"),
    ("video", "output_buffer_size", "nginx's default since 1.9.5: buffers of 32 KiB"),
    (
        "video",
        "open_file_cache",
        "ours, because a viewer comes back to a file for each chunk, and opening it reads no video",
    ),
    ("video", "keepalive", "ISPASS'16 §IV-A1: 60 s"),
    ("video", "access_log", "ours, because each request would wait for a file"),
    ("video", "reuseport", "nginx's default: one listening socket for all workers"),
    ("video-server", "faults", "ours, because nothing is planted unless it is asked for"),
    ("video-server", "stall", "ours, because nothing is planted unless it is asked for"),
    ("social", "cache", "ISPASS'16 §IV-B1: memcached keeps the results of queries"),
    ("social", "hash_cost", "PHP's default until 8.3: a cost of 10"),
    (
        "social",
        "workers",
        "ours, because a worker that waits for the database leaves its processor to three others",
    ),
    ("social", "backlog", "PHP's default where the system names none: 511"),
    ("social", "jit", "PHP's default: nothing is compiled beyond its own bytecode"),
    ("social", "stall_ms", "ours, because nothing is planted unless it is asked for"),
    ("social", "stall_every_ms", "ours, because a window of 20 s then has two of them"),
    ("social", "flush_log", "MariaDB's default, and the only one that loses no answered commit"),
    ("social", "buffer_pool", "ours, because twice the data of 10 000 users fit into 256 MiB"),
    ("movies", "cache", "CAL'18 Fig. 1: memcached before each database"),
    ("movies", "users", "ours, because their data are made within a minute"),
    ("movies", "movies", "ours, because those that are rated best have all fields of a page"),
    ("movies", "seed", "ours, because any will do as long as it is told"),
    ("movies", "clips", "ours, because to make one takes a while, and films may share them"),
    (
        "movies",
        "hash_cost",
        "ours, because a guess at a stolen hash then takes 50 ms of a processor; bcrypt's libraries have the same",
    ),
    ("movies", "ads_deadline_ms", "ours, because a page is not to wait for its advertisements"),
    ("movies", "durable", "ours, because PostgreSQL does so, and a review that was answered is to stay"),
    (
        "movies",
        "workers",
        "ours, because a worker that waits for services leaves its processor to three others",
    ),
    ("movies", "backlog", "PHP's default where the system names none: 511"),
    ("movies", "jit", "PHP's default: nothing is compiled beyond its own bytecode"),
    ("movies", "videos", "ours, because the data set has them; CAL'18 keeps them on an NFS server"),
    ("social", "redo_log", "ours, because a log of 32 MiB is restored within a second"),
];

/// The settings of every application that comes along and has some.
///
/// Errors: a description is damaged.
pub fn explain() -> Result<Vec<Section>, Error> {
    let mut sections = names().map(settings_of).collect::<Result<Vec<_>, Error>>()?;
    sections.retain(|section| !section.entries.is_empty());
    Ok(sections)
}

/// The settings of an application and of its services.
fn all_of(app: &App) -> impl Iterator<Item = &Setting> {
    app.settings.iter().chain(app.services.iter().flat_map(|service| &service.settings))
}

fn settings_of(name: &str) -> Result<Section, Error> {
    let app = of_name(name)?;
    // Settings that an application inherits are explained at the application it is based on.
    let other = app.like.as_deref().map(of_name).transpose()?;
    let is_own = |setting: &&Setting| {
        other.as_ref().is_none_or(|other| all_of(other).all(|one| one.name != setting.name))
    };
    let entries = all_of(&app).filter(is_own).map(|setting| {
        let known = SETTINGS.iter().find(|(of, known, _)| *of == name && *known == setting.name);
        Entry {
            name: format!("{name}.{}", setting.name),
            value: Some(setting.default.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)),
            option: Some(format!("--server-set {}=…", setting.name)),
            meaning: setting.doc.clone(),
            source: known.map_or_else(
                || format!("ours, because apps/{name}/app.toml has it so"),
                |known| known.2.into(),
            ),
        }
    });
    Ok(Section::new(&format!("Settings of {name}: {}", app.title), entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_every_application_has_its_source() {
        let told: Vec<Entry> = explain().unwrap().into_iter().flat_map(|section| section.entries).collect();
        for (app, setting, source) in SETTINGS {
            let entry = told.iter().find(|entry| entry.name == format!("{app}.{setting}"));
            assert_eq!(entry.map(|entry| entry.source.as_str()), Some(source), "{app}.{setting}");
            assert!(spec::is_source(source), "{source}");
        }
        assert_eq!(told.len(), SETTINGS.len(), "{told:?}");
    }
}
