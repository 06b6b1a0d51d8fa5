use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent::{Agent, Clock, Coordinator, CredentialFiles, Credentials, Error};

use crate::setup::{agent, agent_config, agent_with, children, load_of, run, settings};

fn token(text: &str) -> Credentials {
    Credentials::read(&CredentialFiles::default(), Some(text)).unwrap()
}

fn refused(config: &agent::AgentConfig) -> String {
    match Coordinator::open(config) {
        Ok(_) => panic!("it was let in"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_second_coordinator_is_told_who_is_there() {
    let a = agent("a");
    let first =
        Coordinator::open(&agent::AgentConfig { name: "ada@lab".into(), ..agent_config(&[&a]) }).unwrap();
    let error = refused(&agent_config(&[&a]));
    assert!(error.contains("in use by ada@lab (127.0.0.1:"), "{error}");
    drop(first);
    drop(Coordinator::open(&agent_config(&[&a])).unwrap());
}

#[test]
fn only_who_knows_the_token_is_let_in() {
    let a = agent_with("a", Clock::monotonic(), token("0123456789abcdef"));
    let check = |credentials: Credentials, expect: Option<&str>| {
        let config = agent::AgentConfig { credentials, ..agent_config(&[&a]) };
        match expect {
            None => drop(Coordinator::open(&config).unwrap()),
            Some(says) => assert!(refused(&config).contains(says), "{}", refused(&config)),
        }
    };
    check(Credentials::default(), Some("it wants a token"));
    check(token("0123456789abcdeX"), Some("not the one"));
    check(token("0123456789abcdef"), None);
}

#[test]
fn beyond_loopback_it_does_not_listen_unprotected() {
    let (settings, _log) = settings("a", Clock::monotonic(), Credentials::default());
    let Err(error) = Agent::start("0.0.0.0:0".parse().unwrap(), settings) else { panic!("it listens") };
    assert!(matches!(error, Error::Exposed { .. }), "{error}");
}

#[test]
fn what_is_no_agent_is_told_from_one() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    // No other test is given this port.
    let gone = "127.0.0.1:1";
    let a = agent("a");
    let check = |address: &str, says: &str| {
        let config = agent::AgentConfig { agents: vec![a.address(), address.into()], ..agent_config(&[]) };
        let error = refused(&config);
        assert!(error.contains(says), "{error}");
    };
    check(gone, "is 'taillight agent' running there");
    check(&silent.local_addr().unwrap().to_string(), "did not answer");
    check("no-such-host.invalid:7070", "no-such-host.invalid:7070");
    check("10.0.0.5", "10.0.0.5");
    check(&a.address(), "named twice");
    // No session holds the first agent after all this.
    assert_eq!(run(&[&a], &[""]).unwrap().lost(), None);
}

#[test]
fn a_task_that_cannot_be_is_refused_and_the_agent_stays() {
    let a = agent("a");
    let mut coordinator = Coordinator::open(&agent_config(&[&a])).unwrap();
    let stop = AtomicBool::new(false);
    let load = load_of(&["other"]);
    let error = coordinator.run(&load, &stop, |_, _| {}).unwrap_err().to_string();
    assert!(error.contains("nothing to pretend"), "{error}");
    let load = agent::AgentsLoad { end_within: Duration::ZERO, ..load_of(&["hang too-long"]) };
    let error = coordinator.run(&load, &stop, |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Stuck { what: "done", .. }), "{error}");
    assert_eq!(children("too-long"), Vec::<u32>::new());
    assert_eq!(coordinator.run(&load_of(&[""]), &stop, |_, _| {}).unwrap().lost(), None);
}
