//! The chapter on the film site: a visitor's requests, the playback of a rented film, and the checks of answers.

use super::SEGMENT;
use spec::workload::{MovieMix, MovieQuery};
use units::Qos;

use spec::{Chapter, Entry, Section};

/// External sources: CAL'18, Gan and Delimitrou, The architectural implications of cloud microservices.
const TEXT: &str = "\
A visitor asks for one thing

  Visitors come at times that know nothing of the site (--rate is visitors per second), each over a connection of their own. What
  they ask for is drawn by the shares of the mix, and which film by its popularity. Reviews and rentals are by users who have
  logged in before the warm-up, a few at a time; these logins are in no figure.

  browse     GET /api/movie/M: the page of a film, with its pictures
  review     POST /api/review: it is stored when it is answered
  search     GET /api/search: the title of a film
  rent       POST /api/rent: charged unless the user has rented the film before; then the film is watched
  login      POST /api/login

A rented film is watched

  playlist   that of the film, when the ticket has come, and that of one quality
  segment    the first three one after the other, then one each 6 s, for --watch in all. Those times do not depend on how late
             the others were; a film whose playlist does not come has its segments as errors

  startup    from when the rental was due to the first segment; of a film that never starts, at least --watch
  misses     the share of the segments that come later than they are shown

What is checked

  Answers are compared with what the site was filled with: a page is of the film that was asked for and has its title, hits
  have the titles of their films, who logs in is who asked, a ticket is for who rents and for clip and price of the film, and no
  review has the number of another. The titles are those of --catalogue, or as the site says them before the load; clips and
  prices those of the data set that the catalogue is a file of, or as the first ticket for the film says them. One wrong answer
  makes the trial invalid (verify_failures). A page that lacks a part is right, and counted (degraded), as is a ticket for
  a film that the user had rented before, which costs nothing (rent_repeated).

Where the time goes

  With --trace 1/100 one query in 100 is traced through all services of a site that is started for the load, by lot. The generator's
  time of each is cut into parts that sum to it: front (load balancer, web server, the wait for PHP), transit, queue, pool wait,
  codec, application, store. A span that is missing makes the trial invalid (spans_lost). The traced against the others say what
  tracing costs. docs/reference/traces.md has the rest.

The target

  taillight load movies --target http://HOST --rate 50 --yes
  taillight peak movies --qos 'browse.p99<50ms,rent.p99<100ms,startup<2s'

  All options: taillight load movies --help.
";

/// The manual of the workload, with its constants.
pub fn chapter() -> Chapter {
    Chapter { text: TEXT.into(), sections: vec![queries(), constants()] }
}

fn queries() -> Section {
    let mix = MovieMix::default();
    let entry = |query: MovieQuery| {
        Entry::of_value(
            format!("movies.{}", query.name()),
            format!("{} %", mix.percent(query)),
            meaning(query),
            "ours, because CAL'18 names the queries and no shares",
        )
    };
    Section::new("Queries of movies", MovieQuery::ALL.map(entry))
}

fn meaning(query: MovieQuery) -> &'static str {
    match query {
        MovieQuery::Browse => "The page of a film, composed from its eight parts.",
        MovieQuery::Review => "A review is written, gathered from its five parts.",
        MovieQuery::Search => "Films whose title, cast or plot has these words.",
        MovieQuery::Rent => "A film is paid for, and watched.",
        MovieQuery::Login => "A user logs in.",
    }
}

fn constants() -> Section {
    let entry = |name: &str, value: String, meaning: &str, source: &str| {
        Entry::of_value(format!("movies.{name}"), value, meaning, source)
    };
    let all = [
        entry(
            "segment",
            SEGMENT.to_string(),
            "How long a segment of a film plays.",
            "Apple, HLS authoring specification: target durations of 6 s",
        ),
        entry(
            "target",
            Qos::of_queries().to_string(),
            "What is judged where --qos asks for nothing else.",
            "ours, because CAL'18 names none: Nielsen, Usability Engineering (1993) §5.5 has 100 ms as what seems instantaneous; IMC'12 (Krishnan and Sitaraman) 2 s of start-up",
        ),
    ];
    Section::new("Constants of movies", all)
}
