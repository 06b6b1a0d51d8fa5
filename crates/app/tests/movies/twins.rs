//! The same site as services in Java, and as one program.

use traces::RequestTree;

use crate::movies::edges::{each_query_makes_the_calls_of_its_graph, requests_in, traced};
use crate::movies::http::Request;
use crate::movies::site::{Site, until};

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn the_same_services_in_java_are_the_same_site() {
    let Some(mut site) = Site::start_of("movies-java", &["web.instances=1"]) else { return };
    site.keeps_the_contract();
    each_query_makes_the_calls_of_its_graph(&site, "front");
    site.each_service_counts();
    assert_eq!(site.running.gone(), None);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn one_program_is_the_same_site() {
    let Some(mut site) = Site::start_of("movies-monolith", &["web.instances=1"]) else { return };
    site.keeps_the_contract();
    site.whole_page("/api/movie/3?reviews=3");
    traced(&site, 9, Request::get("/api/movie/3?reviews=3"));
    let own = || requests_in(site.spans()).into_iter().find(|request: &RequestTree| request.trace.0[0] == 9);
    until("the span of a request that was traced is there", || own().is_some());
    let request = own().unwrap();
    // Its own work plus its caches' and databases'.
    assert_eq!((request.root.span.service, request.root.span.method), (3, 0));
    assert!(
        request.root.calls.iter().all(|call| (32..=37).contains(&call.span.peer) && call.served.is_none())
    );
    assert!(request.root.calls.iter().any(|call| call.span.peer == 32), "the page of a film asks its cache");
    let sum: u64 = request.parts().iter().map(|part| part.time.0).sum();
    assert_eq!(sum, request.root.span.length().0);
    let counters = site.running.counters("monolith").unwrap().unwrap();
    assert!(counters["requests"] > 100.0 && counters["spans"] >= 1.0, "{counters:?}");
    assert_eq!(site.running.gone(), None);
}
