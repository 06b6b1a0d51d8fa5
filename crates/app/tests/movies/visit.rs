//! A person's visit to the site, in a browser.

use crate::movies::site::Site;

/// With pictures of each page in the folder that `SCREENSHOTS` names.
#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_person_does_everything_in_a_browser() {
    let browser = match crate::browser::Browser::find() {
        Err(reason) => return println!("skipped: {reason}"),
        Ok(browser) => browser,
    };
    // On a busy machine advertisements would not come in their 20 ms, and the page go without.
    let Some(mut site) = Site::start(&["ads_deadline_ms=2000"]) else { return };
    let result = browser.scenario("movies", &format!("http://{}", site.address), &[]);
    let did: Vec<&str> = result["did"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    let expect = [
        "browse",
        "search",
        "sign up",
        "write",
        "rent",
        "watch",
        "see the account",
        "log out",
        "log in",
        "see the review",
    ];
    assert_eq!(did, expect);
    assert!(result["stats"].as_str().unwrap().starts_with("Started after"), "{result}");
    assert_eq!(site.running.gone(), None);
}
