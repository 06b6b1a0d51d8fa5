//! Programs and checks, row by row.

use super::pair::Way;
use super::probe::{self, Probe};
use super::program::{Program, Step};
use super::{exporter, proxy};

const OPERATIONS: &str =
    "set, get, add, replace, cas, counters, append, delete, touch, expiry, 500 kB, binary values";

/// The output of every client for these operations.
const STEPS: &[&str] = &[
    "set: stored",
    "get: v1",
    "missing: none",
    "multi: a=1 b=2",
    "add: refused",
    "replace: stored",
    "cas: stored",
    "stale cas: refused",
    "incr: 15",
    "decr: 12",
    "append: <v3>",
    "delete: gone",
    "touch: kept",
    "expiry: 0 left",
    "large: 500000",
    "binary: same",
    "done",
];

/// The names of `stats settings` that memcached has and Sphinx does not have.
const SETTINGS: &[&str] = &[
    "- ext_compact_under",
    "- ext_drop_under",
    "- ext_drop_unread",
    "- ext_item_age",
    "- ext_item_size",
    "- ext_low_ttl",
    "- ext_max_frag",
    "- ext_max_sleep",
    "- ext_recache_rate",
    "- ext_wbuf_size",
    "- ssl_ca_cert",
    "- ssl_ciphers",
    "- ssl_kernel_tls",
    "- ssl_keyformat",
    "- ssl_min_version",
    "- ssl_session_cache",
    "- ssl_verify_mode",
    "- ssl_wbuf_size",
];
const NO_SETTINGS: &str = "without the names `ext_*`, since there is no extstore, and most of `ssl_*`";

const CI: &str = "`cargo xtask ci` brings it where there is Go";
const NPM: &str = "`cargo xtask ci` brings it where there is npm";

pub(crate) fn memcached_exporter() -> Program {
    let probe = Probe::Command(&["memcached_exporter", "--version"]);
    Program::new("memcached_exporter of Prometheus", "0.14.4", CI, probe)
        .with("`memcached_up 1` and all its metrics", Step::Call(exporter::metrics))
        .at_least_the_names()
        .differs(
            &[
                "- memcached_lru_crawler_enabled",
                "- memcached_lru_crawler_hot_max_factor",
                "- memcached_lru_crawler_hot_percent",
                "- memcached_lru_crawler_maintainer_thread",
                "- memcached_lru_crawler_sleep",
                "- memcached_lru_crawler_to_crawl",
                "- memcached_lru_crawler_warm_max_factor",
                "- memcached_lru_crawler_warm_percent",
            ],
            "it leaves out the eight settings `memcached_lru_crawler_…`, as memcached's without a crawler does",
        )
}

pub(crate) fn telegraf_style() -> Program {
    let probe = Probe::Command(&["python3", "--version"]);
    Program::new("a reader of `stats` as Telegraf's", "1.32", "`apt-get install python3` brings it", probe)
        .check("its 48 fields, as integers", "python3 telegraf_style_reader.py {server}")
        .over(Way::Tcp)
        .check("over a Unix socket", "python3 telegraf_style_reader.py {server}")
        .over(Way::Unix)
}

pub(crate) fn memcached_tool() -> Program {
    let probe = Probe::Command(&["perl", "-c", "/usr/share/memcached/scripts/memcached-tool"]);
    Program::new("memcached-tool", "1.6.18", "`apt-get install memcached` brings it", probe)
        .check("`display`", "memcached-tool {server} display")
        .check("`stats`", "memcached-tool {server} stats")
        .at_least_the_names()
        .check("`settings`", "memcached-tool {server} settings")
        .at_least_the_names()
        .differs(SETTINGS, NO_SETTINGS)
        .check("`sizes`", "memcached-tool {server} sizes")
        .check("`dump`", "memcached-tool {server} dump")
        .in_any_order()
        .check("`keys`", "memcached-tool {server} keys")
        .in_any_order()
        .differs_from_old(
            &[
                "+ key=seed-a exp=-N la=N cas=N fetch=yes cls=N size=N flags=N",
                "+ key=seed-b exp=-N la=N cas=N fetch=yes cls=N size=N flags=N",
                "- key=seed-a exp=-N la=N cas=N fetch=yes cls=N size=N",
                "- key=seed-b exp=-N la=N cas=N fetch=yes cls=N size=N",
            ],
            "lines end with the flags, as from memcached 1.6.45",
        )
        .check("`dump` over a Unix socket", "memcached-tool {server} dump")
        .in_any_order()
        .over(Way::Unix)
}

pub(crate) fn libmemcached_tools() -> Program {
    let probe = Probe::Command(&["memcping", "--version"]);
    Program::new("tools of libmemcached", "1.1.4", "`apt-get install libmemcached-tools` brings them", probe)
        .check("`memcping`", "memcping --servers={server}")
        .check("`memcdump`", "memcdump --servers={server}")
        .in_any_order()
        // Before an item of another size is stored, since only memcached has a class of its own for that.
        .check("`memcstat`", "memcstat --servers={server}")
        .at_least_the_names()
        .check("`memcstat`", "memcstat --servers={server} --args=settings")
        .at_least_the_names()
        .differs(SETTINGS, NO_SETTINGS)
        .check("`memcstat`", "memcstat --servers={server} --args=items")
        .at_least_the_names()
        .check("`memcstat`", "memcstat --servers={server} --args=slabs")
        .at_least_the_names()
        .check("`memcstat`", "memcstat --servers={server} --analyze")
        .check("`memcexist`", "memcexist --servers={server} item")
        .check("`memccp`", "memccp --servers={server} {folder}/item")
        .check("`memcexist`", "memcexist --servers={server} item")
        .check("`memccat`", "memccat --servers={server} item")
        .check("`memctouch`", "memctouch --servers={server} --expire=100 item")
        .check("`memcrm`", "memcrm --servers={server} item")
        .check("`memcrm`", "memcrm --servers={server} item")
        .check("`memccat`", "memccat --servers={server} item")
        .check("`memcslap`", "memcslap --servers={server} --concurrency=2 --execute-number=200 --test=set")
        .check("`memcslap`", "memcslap --servers={server} --concurrency=2 --execute-number=200 --test=get")
        .check("`memcslap`", "memcslap --servers={server} --concurrency=2 --execute-number=50 --test=mget")
        .check("`memcaslap`", "memcaslap --servers={server} --threads=1 --concurrency=4 --execute_number=500")
        .check("`memcflush`", "memcflush --servers={server}")
        .check("`memcexist`", "memcexist --servers={server} item")
}

pub(crate) fn memccapable() -> Program {
    let probe = Probe::Command(&["memccapable", "-V"]);
    Program::new("memccapable", "1.1.4", "`apt-get install libmemcached-tools` brings it", probe)
        .check("`-a`: the 27 tests of the text protocol", "memccapable -a -h {host} -p {port}")
        .differs_from_old(
            &[
                "+ N of N tests failed",
                "+ [FAIL]",
                "+ [FAIL]",
                "+ ascii delete ascii delete noreply ascii incr [pass]",
                "+ exit 1",
                "- All tests passed",
                "- ascii delete [pass]",
                "- ascii delete noreply [pass]",
                "- ascii incr [pass]",
                "- exit 0",
            ],
            "`ascii delete` and `ascii delete noreply` fail, as with memcached 1.6.45: both ignore words behind those \
             that `delete` takes, which the tests want refused",
        )
        .check("`-b`: those of the binary protocol", "memccapable -b -h {host} -p {port}")
}

pub(crate) fn twemproxy() -> Program {
    let probe = Probe::Command(&["nutcracker", "--version"]);
    Program::new("twemproxy", "0.5.0", "`apt-get install nutcracker` brings it", probe)
        .with("pymemcache through it", Step::Call(proxy::client_behind_twemproxy))
        .prints(STEPS)
}

pub(crate) fn pymemcache() -> Program {
    let probe = Probe::Command(&[PYTHON, "-c", "import pymemcache"]);
    // Before items of several sizes are stored, since only memcached has more classes then.
    Program::new("pymemcache", "3.5.2", "`apt-get install python3-pymemcache` brings it", probe)
        .check(
            "`stats` of each group, `cache_memlimit`",
            "/usr/bin/python3 pymemcache_admin.py {host} {port}",
        )
        .at_least_the_names()
        .differs(SETTINGS, "as with memcached-tool")
        .check(OPERATIONS, "/usr/bin/python3 pymemcache_client.py {host} {port}")
        .prints(STEPS)
        .check("over a Unix socket", "/usr/bin/python3 pymemcache_client.py {host} {port}")
        .prints(STEPS)
        .over(Way::Unix)
        .check("over TLS", "/usr/bin/python3 pymemcache_client.py {host} {port} {folder}/ca.pem")
        .prints(STEPS)
        .over(Way::Tls)
}

/// Debian's, independent of `PATH`.
const PYTHON: &str = "/usr/bin/python3";

pub(crate) fn pylibmc() -> Program {
    let probe = Probe::Command(&[PYTHON, "-c", "import pylibmc"]);
    Program::new("pylibmc", "1.6.3", "`apt-get install python3-pylibmc` brings it", probe)
        .check(OPERATIONS, "/usr/bin/python3 pylibmc_client.py {host} {port}")
        .prints(STEPS)
        .check("over a Unix socket", "/usr/bin/python3 pylibmc_client.py {host} {port}")
        .prints(STEPS)
        .over(Way::Unix)
        .check("in the binary protocol", "/usr/bin/python3 pylibmc_client.py {host} {port} binary")
        .prints(STEPS)
}

const WITH_PHP: &str = "`apt-get install php-cli php-memcached` brings it";
const PHP: Probe = Probe::Command(&["php", "-r", "exit(class_exists('Memcached') ? 0 : 1);"]);

pub(crate) fn php_memcached() -> Program {
    Program::new("php-memcached", "3.2.0", WITH_PHP, PHP)
        .check(OPERATIONS, "php php_client.php {host} {port}")
        .prints(STEPS)
        .check("over a Unix socket", "php php_client.php {host} {port}")
        .prints(STEPS)
        .over(Way::Unix)
        .check("in the binary protocol", "php php_client.php {host} {port} binary")
        .prints(STEPS)
}

pub(crate) fn php_sessions() -> Program {
    const PRINTS: &[&str] =
        &["count: 1", "count: 2", "id: a new one", "count: 3", "old session: gone", "destroyed: yes"];
    Program::new("sessions of php-memcached", "3.2.0", WITH_PHP, PHP)
        .check(
            "written, locked, read by another process, given a new id, destroyed",
            "php php_sessions.php {host}:{port} text",
        )
        .prints(PRINTS)
        .check("over a Unix socket", "php php_sessions.php {host}:{port} text")
        .prints(PRINTS)
        .over(Way::Unix)
        .check("in the binary protocol, its default", "php php_sessions.php {host}:{port} default")
        .prints(PRINTS)
        .check("the same over a Unix socket", "php php_sessions.php {host}:{port} default")
        .prints(PRINTS)
        .over(Way::Unix)
}

pub(crate) fn gomemcache() -> Program {
    Program::new("gomemcache", "of 3 April 2025", CI, Probe::Call(probe::gomemcache))
        .check(OPERATIONS, "gomemcache_client {host} {port}")
        .prints(STEPS)
        .check("over a Unix socket", "gomemcache_client {host} {port}")
        .prints(STEPS)
        .over(Way::Unix)
}

pub(crate) fn spymemcached() -> Program {
    let from = "`apt-get install libspymemcached-java default-jdk-headless` brings it";
    Program::new("spymemcached", "2.12.3", from, Probe::Call(probe::spymemcached))
        .check(OPERATIONS, "java -cp /usr/share/java/spymemcached.jar SpyClient.java {host} {port}")
        .prints(STEPS)
        .check(
            "in the binary protocol",
            "java -cp /usr/share/java/spymemcached.jar SpyClient.java {host} {port} binary",
        )
        .prints(STEPS)
}

pub(crate) fn npm_memcached() -> Program {
    Program::new("memcached of npm", "2.2.2", NPM, Probe::Command(&["node", "-e", "require('memcached')"]))
        .check(OPERATIONS, "node npm_memcached_client.js {server}")
        .prints(STEPS)
        .check("`stats`, `settings`, `slabs`, `items`, `cachedump`", "node npm_memcached_admin.js {server}")
        .at_least_the_names()
        .differs(SETTINGS, NO_SETTINGS)
        .check("`version`", "node npm_memcached_version.js {server}")
        .differs(
            &["+ major version: N", "- major version: one"],
            "it takes the last three numbers of `1.6.45-sphinx-0.1.0` for the version",
        )
}

pub(crate) fn dalli_style() -> Program {
    let probe = Probe::Command(&["python3", "--version"]);
    Program::new("the meta commands as Dalli sends them", "3.2", "`apt-get install python3` brings it", probe)
        .check(OPERATIONS, "python3 dalli_style_client.py {host} {port}")
        .prints(STEPS)
}

const REFUSED: &str = "a wrong password";

pub(crate) fn dalli() -> Program {
    let probe = Probe::Command(&["ruby", "-e", "require 'dalli'"]);
    Program::new("Dalli", "3.0.6", "`apt-get install ruby ruby-dalli` brings it", probe)
        .check(OPERATIONS, "ruby dalli_client.rb {server}")
        .prints(STEPS)
        .check("over a Unix socket", "ruby dalli_client.rb {server}")
        .prints(STEPS)
        .over(Way::Unix)
        .check("with SASL", "ruby dalli_client.rb {server} ann secret")
        .prints(STEPS)
        .over(Way::Sasl)
        .check(REFUSED, "ruby dalli_client.rb {server} ann wrong")
        .prints(&[])
        .over(Way::Sasl)
}

pub(crate) fn memjs() -> Program {
    const PRINTS: &[&str] = &[
        "set: stored",
        "get: v1",
        "missing: none",
        "add: refused",
        "replace: stored",
        "incr: 15",
        "decr: 12",
        "made: 7",
        // It sends `append` for `prepend`.
        "append: v3><",
        "delete: gone",
        "touch: kept",
        "expiry: 0 left",
        "large: 500000",
        "binary: same",
        "stats: there",
        "done",
    ];
    Program::new("memjs", "1.3.2", NPM, Probe::Command(&["node", "-e", "require('memjs')"]))
        .check(
            "set, get, add, replace, counters, append, delete, touch, expiry, 500 kB, binary values, `stats`",
            "node memjs_client.js {server}",
        )
        .prints(PRINTS)
        .check("with SASL", "node memjs_client.js {server} ann secret")
        .prints(PRINTS)
        .over(Way::Sasl)
        .check(REFUSED, "node memjs_client.js {server} ann wrong")
        .over(Way::Sasl)
}

pub(crate) fn bmemcached() -> Program {
    const PRINTS: &[&str] = &[
        "set: stored",
        "get: v1",
        "missing: none",
        "multi: a=1 b=2",
        "add: refused",
        "replace: stored",
        "cas: stored",
        "stale cas: refused",
        "incr: 15",
        "decr: 12",
        "delete: gone",
        "expiry: 0 left",
        "large: 500000",
        "binary: same",
        "done",
    ];
    let probe = Probe::Command(&[PYTHON, "-c", "import bmemcached"]);
    Program::new("python-binary-memcached", "0.33.0", CI, probe)
        .check(
            "set, get, add, replace, cas, counters, delete, expiry, 500 kB, binary values",
            "/usr/bin/python3 bmemcached_client.py {server}",
        )
        .prints(PRINTS)
        .check("over a Unix socket", "/usr/bin/python3 bmemcached_client.py {server}")
        .prints(PRINTS)
        .over(Way::Unix)
        .check("with SASL", "/usr/bin/python3 bmemcached_client.py {server} ann secret")
        .prints(PRINTS)
        .over(Way::Sasl)
        .check(REFUSED, "/usr/bin/python3 bmemcached_client.py {server} ann wrong")
        .prints(&[])
        .over(Way::Sasl)
}

pub(crate) fn redis_cli() -> Program {
    let from = "`apt-get install redis-tools` brings them";
    let probe = Probe::Command(&["redis-cli", "--version"]);
    Program::new("redis-cli and redis-benchmark", "7.0.15", from, probe)
        .check("commands", "redis-cli -h {host} -p {port} SET k v EX 100 GET")
        .over(Way::Resp)
        .prints(&[""])
        .check("commands", "redis-cli -3 -h {host} -p {port} MGET k none")
        .over(Way::Resp)
        .check("commands", "redis-cli -h {host} -p {port} LPUSH")
        .over(Way::Resp)
        .differs(
            &[
                "+ ERR unknown command 'LPUSH', with args beginning with:",
                "- ERR wrong number of arguments for 'lpush' command",
            ],
            "there are no lists",
        )
        .check("`--scan`", "redis-cli -h {host} -p {port} --scan --pattern k*")
        .over(Way::Resp)
        .check(
            "redis-benchmark",
            "redis-benchmark -h {host} -p {port} -n 2000 -P 8 -t set,get,incr,mset --csv",
        )
        .over(Way::Resp)
}

const CACHE: &str =
    "set, get, mget, counters, append, delete, expiry, 500 kB, pipelines, scan, info, errors, flush";

pub(crate) fn redis_py() -> Program {
    let probe = Probe::Command(&[PYTHON, "-c", "import redis"]);
    Program::new("redis-py", "5.2.1", CI, probe)
        .check(CACHE, "/usr/bin/python3 redis_py_client.py {host} {port}")
        .over(Way::Resp)
        .succeeds()
        .check("in RESP3", "/usr/bin/python3 redis_py_client.py {host} {port} 3")
        .over(Way::Resp)
        .succeeds()
}

pub(crate) fn node_redis() -> Program {
    Program::new("redis of npm", "4.7.0", NPM, Probe::Command(&["node", "-e", "require('redis')"]))
        .check(CACHE, "node node_redis_client.js {host} {port}")
        .over(Way::Resp)
        .succeeds()
}

pub(crate) fn go_redis() -> Program {
    Program::new("go-redis", "9.5.1", CI, Probe::Call(probe::go_redis))
        .check(CACHE, "go_redis_client {host} {port}")
        .over(Way::Resp)
        .succeeds()
}

pub(crate) fn jedis() -> Program {
    const PRINTS: &[&str] = &[
        "set: OK v1",
        "missing: null",
        "multi: [1, 2, null]",
        "add: null",
        "replace: OK",
        "expiry: true 1 -1",
        "getex: v3 true",
        "incr: 15 14",
        "append: 3 v3>",
        "delete: 2 1",
        "getdel: 14 null",
        "large: 500000 500000",
        "pipeline: 199",
        "scan: 200",
        "name: OK test hi PONG",
        "info: true true",
        "error: ERR value is not an integer or out of range",
        "flush: OK false",
    ];
    let from = "`cargo xtask ci` brings it where there is Maven";
    Program::new("Jedis", "7.1.0", from, Probe::Call(probe::jedis))
        .not_run()
        .check(CACHE, "java -cp ../../../../target/tools/jedis/* JedisClient.java {host} {port}")
        .over(Way::Resp)
        .prints(PRINTS)
}
