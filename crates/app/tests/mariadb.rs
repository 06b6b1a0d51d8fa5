//! A store of MariaDB whose data are made once: over a socket of its own folder, with and without root.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use app::{PeopleSet, Plan, Running};
use datasets::people::{People, Table};
use launch::testing::comes_true;

const APP: &str = r#"
name = "kept"
title = "MariaDB with the tables of a social network"

[[service]]
name = "mariadb"
account = "nobody"
needs = ["people"]
args = ["--defaults-file={{ own }}/my.cnf"]
program = { name = "mariadbd", package = "mariadb-server", version = { args = ["--no-defaults", "--version"], pattern = 'Ver (\S+)' } }
file = [{ path = "my.cnf", template = "my.cnf.j2" }]
prepare = [{ program = "mariadb-install-db", args = ["--defaults-file={{ own }}/my.cnf", "--auth-root-authentication-method=normal", "--skip-test-db"] }]
listen = [{ protocol = "unix" }]
ready = { error-line = "ready for connections" }
stop = { grace = "60s" }

[[store]]
name = "tables"
service = "mariadb"
[store.seed]
folder = "data"
hash-cost = "4"
check = { program = "mariadb", args = ["--no-defaults", "--socket={{ listen.main.path }}", "--batch", "social", "-e", "CHECKSUM TABLE users, friendship, posts, chats, messages"] }
[[store.seed.step]]
program = "mariadb"
args = ["--no-defaults", "--socket={{ listen.main.path }}", "--batch"]
input = "schema.sql"
[[store.seed.step]]
program = "mariadb"
args = ["--no-defaults", "--socket={{ listen.main.path }}", "--local-infile=1", "social", "-e", "SET unique_checks = 0, foreign_key_checks = 0; LOAD DATA LOCAL INFILE '/dev/stdin' INTO TABLE {{ table.name }} CHARACTER SET utf8mb4 ({{ table.columns | join(',') }})"]
tables = true
"#;

const CONFIGURATION: &str = "[mysqld]
datadir={{ own }}/data
socket={{ listen.main.path }}
pid-file={{ own }}/pid
tmpdir={{ own }}
skip-networking
skip-grant-tables
performance_schema=0
innodb_log_file_size=8M
innodb_buffer_pool_size=32M
innodb_buffer_pool_dump_at_shutdown=0
local_infile=1
character_set_server=utf8mb4
";

const SCHEMA: &str = "CREATE DATABASE social CHARACTER SET utf8mb4;
USE social;
CREATE TABLE users (id INT UNSIGNED PRIMARY KEY, name VARCHAR(32) NOT NULL UNIQUE, display VARCHAR(64) NOT NULL,
  hash CHAR(60) NOT NULL, avatar INT NOT NULL DEFAULT 0, created BIGINT NOT NULL);
CREATE TABLE friendship (a INT UNSIGNED, b INT UNSIGNED, state ENUM('requested','asked','friends') NOT NULL,
  since BIGINT NOT NULL, PRIMARY KEY (a, b));
CREATE TABLE posts (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, author INT UNSIGNED NOT NULL,
  wall INT UNSIGNED NOT NULL, body VARCHAR(2000) NOT NULL, at BIGINT NOT NULL, KEY (author, id));
CREATE TABLE chats (id INT UNSIGNED PRIMARY KEY, a INT UNSIGNED NOT NULL, b INT UNSIGNED NOT NULL, UNIQUE KEY (a, b));
CREATE TABLE messages (id BIGINT UNSIGNED PRIMARY KEY, chat INT UNSIGNED NOT NULL, author INT UNSIGNED NOT NULL,
  body VARCHAR(2000) NOT NULL, at BIGINT NOT NULL, KEY (chat, id));
";

fn plan(root: &Path) -> Plan {
    let folder = root.join("kept");
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in [("app.toml", APP), ("my.cnf.j2", CONFIGURATION), ("schema.sql", SCHEMA)] {
        fs::write(folder.join(name), text).unwrap();
    }
    let mut plan = Plan::new(Arc::new(app::of_folder(&folder).unwrap()), Path::new("/no/such/taillight"));
    plan.cache = Some(root.join("cache"));
    plan.people = Some(PeopleSet { users: 100, seed: 1 });
    plan
}

/// The database's answer, without column names.
fn asked(running: &Running, sql: &str) -> String {
    let address = running.listening()["mariadb"][0][0].to_string();
    let socket = address.strip_prefix("unix:").unwrap();
    let mut command = Command::new("mariadb");
    command.args([
        "--no-defaults",
        "--batch",
        "--skip-column-names",
        "--socket",
        socket,
        "social",
        "-e",
        sql,
    ]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn is_there() -> bool {
    let there =
        launch::find_program("mariadbd").is_some() && launch::find_program("mariadb-install-db").is_some();
    if !there {
        println!("skipped: there is no mariadbd (apt-get install mariadb-server)");
    }
    there
}

#[test]
fn its_tables_are_those_that_were_made_after_each_start() {
    if !is_there() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut running = plan(root.path()).start().unwrap_or_else(|e| panic!("{e}"));
    let people = People::new(100, 1).unwrap();
    for table in Table::ALL {
        let count = asked(&running, &format!("SELECT COUNT(*) FROM {}", table.name()));
        assert_eq!(count.trim(), table.rows(&people).to_string(), "{}", table.name());
    }
    let (name, display) = (people.name(41), people.display(41));
    let found = asked(&running, &format!("SELECT id, name, hex(display) FROM users WHERE name = '{name}'"));
    let hex: String = display.bytes().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(found.trim(), format!("42\t{name}\t{hex}"), "letters beyond ASCII are whole");
    let sums = |running: &Running| asked(running, "CHECKSUM TABLE users, friendship, posts, chats, messages");
    let before = sums(&running);
    let change =
        "DELETE FROM posts; UPDATE users SET display = 'x'; INSERT INTO chats VALUES (1000000, 1, 1)";
    asked(&running, change);
    assert_ne!(sums(&running), before);
    for _ in 0..2 {
        running.restart().unwrap();
        assert_eq!(sums(&running), before);
    }
    let pids = running.pids();
    let socket = running.address(None);
    drop(running);
    let is_there = |pid: &u32| Path::new(&format!("/proc/{pid}/exe")).exists();
    assert!(comes_true(|| !pids.iter().any(is_there)), "{socket}: {pids:?} run after a minute");
}

#[test]
fn it_takes_no_root() {
    if !is_there() {
        return;
    }
    if !launch::User::is_root() {
        println!("skipped: all of these tests run without root already");
        return;
    }
    let Some(user) = launch::User::nobody() else {
        println!("skipped: there is no unprivileged account");
        return;
    };
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new("setpriv");
    command
        .args([&format!("--reuid={}", user.uid), &format!("--regid={}", user.gid), "--clear-groups"])
        .arg(&this)
        .args(["--exact", "mariadb::its_tables_are_those_that_were_made_after_each_start", "--nocapture"])
        .env_remove("HOME")
        .current_dir("/");
    match command.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            if said.contains("Permission denied") && !said.contains("running 1 test") {
                println!("skipped: {} is not open to other accounts", this.display());
                return;
            }
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
        }
        Err(error) => println!("skipped: setpriv: {error}"),
    }
}
