//! A cache that is primed before a load: the site is queried for each user once, and errors end it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use spec::workload::Users;
use workloads::social::{Known, PrimeError, log_in, prime};

use crate::simulated::Direct;
use crate::social::simulation::Setup;
use crate::social::site::{Fault, Logic};

const USERS: u32 = 100;

/// Primes the cache with these users, with `fault` in place of each n-th answer; returns the number of requests, and
/// the site's state.
fn primed(
    users: impl Iterator<Item = u32>,
    fault: Option<(u64, Fault)>,
) -> (Result<u64, PrimeError>, Rc<RefCell<Logic>>) {
    let mut config = Setup::new(1.0, 810).config;
    config.options.users = Users(USERS);
    let known = Known::new(&config, "run").unwrap();
    let logic = Rc::new(RefCell::new(Logic::default()));
    let mut connect = || Ok(Direct::new(&logic));
    let ready = log_in(&known, 0, &mut connect).unwrap();
    logic.borrow_mut().fault = fault;
    logic.borrow_mut().log.clear();
    let mut open = None;
    let each = users.map(|user| prime(&known, &ready, user, &mut open, &mut connect));
    let requests = each.sum::<Result<u64, PrimeError>>();
    (requests, logic)
}

#[test]
fn each_user_is_asked_for_once() {
    let (requests, logic) = primed(0..USERS, None);
    assert_eq!(requests.unwrap(), u64::from(USERS));
    let logic = logic.borrow();
    assert_eq!(logic.wrong, Vec::<String>::new(), "who asks is logged in");
    assert_eq!(logic.log.iter().collect::<Vec<_>>(), [(&"GET /.prime/NAME".to_owned(), &u64::from(USERS))]);
    let names: BTreeSet<&String> = logic.primed.iter().collect();
    let expect: BTreeSet<String> = (1..=USERS).map(|number| format!("u{number:07}")).collect();
    assert_eq!((names, logic.primed.len()), (expect.iter().collect(), USERS as usize));
}

#[test]
fn what_goes_wrong_names_the_user_and_what_came() {
    let check = |fault: Fault, says: &str| {
        let (requests, logic) = primed(3..4, Some((1, fault)));
        let error = requests.unwrap_err().to_string();
        assert!(error.starts_with("the cache cannot be primed with user u0000004: "), "{error}");
        assert!(error.contains(says) && error.contains("--users and --users-seed"), "{fault:?}: {error}");
        assert_eq!(logic.borrow().log["GET /.prime/NAME"], 1, "it is asked no further");
    };
    check(Fault::Status(404), "status 404: the data of user 4 was answered with status 404 and not 200");
    check(Fault::Status(503), "status 503");
    check(Fault::ErrorPage, "wrong page: the data of user 4: the page is not 'primed': it lacks 'primed'");
    check(Fault::Lost, "session lost: the data of user 4: sent to /login");
    check(Fault::Foreign, "foreign redirect");
    check(Fault::Loop, "redirect loop");
    check(Fault::CutOff, "answer cut off: the data of user 4");
    check(Fault::Garbage, "HTTP");
}
