//! Programs that speak to memcached do the same with Sphinx: clients, tools, monitoring, a proxy. So do those that speak to
//! Redis, as far as it is a cache.
//!
//! Each runs its checks against a memcached and a Sphinx started for it, and the results are compared. [`table`] lists
//! programs and checks, with the known differences and their reasons; an unlisted difference fails the test, and so
//! does a listed one that no longer occurs. `docs/reference/sphinx.md` shows the same table.
//!
//! `cargo xtask ci` installs the programs. A missing one is skipped, with the reason.

mod compare;
mod document;
mod exporter;
mod moving;
mod pair;
mod probe;
mod program;
mod proxy;
mod run;
mod table;

use pair::{Pair, Way};
use program::{Check, Program, Step};
use run::Ended;

/// Makes one test of each row of the table, so that they run side by side.
macro_rules! programs {
    ($($name:ident),* $(,)?) => {
        /// The rows in the order of the documentation.
        const ALL: &[fn() -> Program] = &[$(table::$name),*];

        $(#[test]
        fn $name() {
            check_program(&table::$name());
        })*
    };
}

programs! {
    memcached_exporter,
    telegraf_style,
    memcached_tool,
    libmemcached_tools,
    memccapable,
    twemproxy,
    pymemcache,
    pylibmc,
    php_memcached,
    php_sessions,
    gomemcache,
    spymemcached,
    npm_memcached,
    dalli_style,
    dalli,
    memjs,
    bmemcached,
    redis_cli,
    redis_py,
    node_redis,
    go_redis,
    jedis,
}

fn check_program(program: &Program) {
    if let Err(reason) = program.probe.ready() {
        return println!("skipped: {}: {reason}; {}", program.name, program.from);
    }
    let mut failures = Vec::new();
    for way in [Way::Tcp, Way::Unix, Way::Tls, Way::Sasl, Way::Resp] {
        let mut checks = program.checks.iter().filter(|check| check.way == way).peekable();
        if checks.peek().is_none() {
            continue;
        }
        let pair = Pair::start(way);
        for check in checks {
            failures.extend(failure(check, &pair).map(|failure| format!("{}: {failure}", check.name)));
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", program.name, failures.join("\n"));
}

/// The failure of a check, if any.
fn failure(check: &Check, pair: &Pair) -> Option<String> {
    let ended = |server| match &check.step {
        Step::Command(command) => run::run(command, server),
        Step::Call(call) => call(server),
    };
    let outcome = |server| {
        let Ended { lines, status, errors } = ended(server);
        if let Some(expected) = check.expected
            && lines != expected
        {
            let name = server.name;
            return Err(format!(
                "on {name}, printed {lines:#?} instead of {expected:#?}\n{}",
                errors.join("\n")
            ));
        }
        if check.succeeds && status != "0" {
            return Err(format!("on {}, ended with {status}\n{}", server.name, errors.join("\n")));
        }
        let masked = lines.iter().chain(&errors).map(|line| check.mask.apply(&server.unnamed(line)));
        Ok(masked.chain([format!("{}{status}", compare::EXIT)]).collect::<Vec<_>>())
    };
    let sphinx = outcome(&pair.sphinx);
    // Without memcached only these checks are possible.
    let Some(server) = &pair.memcached else { return sphinx.err() };
    let (sphinx, memcached) = match (sphinx, outcome(server)) {
        (Ok(sphinx), Ok(memcached)) => (sphinx, memcached),
        (Err(failure), _) | (_, Err(failure)) => return Some(failure),
    };
    let differences = compare::differences(&memcached, &sphinx, check.order);
    let listed = check.difference.as_ref().map_or(&[][..], |difference| difference.lines(server.words));
    (differences != listed).then(|| format!("differs by {differences:#?}\nwhere table.rs lists {listed:#?}"))
}
