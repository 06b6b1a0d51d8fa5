//! The movie application as a whole, where its programs are built: `taillight movies build`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use app::Plan;

/// The status and the body of an answer.
fn asked(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), body.to_owned())
}

fn get(address: &str, path: &str) -> (u16, String) {
    asked(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"))
}

#[test]
fn the_site_answers_and_each_service_counts() {
    let mut plan = Plan::new(Arc::new(app::of_name("movies").unwrap()), Path::new("/no/such/taillight"));
    let missing = plan.app().not_built(&plan.built);
    if !missing.is_empty() {
        println!("skipped: not built: {missing:?}; `taillight movies build` does");
        return;
    }
    // Small, so that it is made within a minute.
    plan.set(&["users=200", "movies=20", "clips=1", "web.instances=1"]).unwrap();
    match plan.make_data_set(&mut |_| true) {
        Err(error) => return println!("skipped: {error}"),
        Ok(folder) => assert!(folder.unwrap().join("manifest.json").exists()),
    }
    let mut running = match plan.start() {
        Err(app::Error::Launch(error @ launch::Error::NotFound { .. })) => {
            return println!("skipped: {error}");
        }
        started => started.unwrap_or_else(|e| panic!("{e}")),
    };
    let address = running.address(None);
    assert_eq!(get(&address, "/").0, 200);
    let (status, page) = get(&address, "/api/movie/1?reviews=5");
    assert_eq!(status, 200, "{page}");
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    assert_eq!(
        (page["info"]["movie"].as_u64(), &page["missing"]),
        (Some(1), &serde_json::json!([])),
        "{page}"
    );
    let body = r#"{"name":"user1","password":"password-1"}"#;
    let login = format!(
        "POST /api/login HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nX-Requested-With: movies\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(asked(&address, &login).0, 200);
    let counted: Vec<String> = running
        .services()
        .filter(|one| one.service.interface.is_some())
        .map(|one| one.service.name.clone())
        .collect();
    assert_eq!(counted.len(), 24);
    for name in counted {
        let counters = running.counters(&name).unwrap_or_else(|e| panic!("{name}: {e}")).unwrap();
        assert!(counters.contains_key("requests"), "{name}: {counters:?}");
    }
    assert_eq!(running.gone(), None);
}
