//! Jaeger, built and started by its description in `apps/`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::{App, BuildOutcome, Plan, Running};

use super::sent;
use crate::http::Http;
use crate::kept::Kept;
use crate::trace::hex;
use crate::{Error, Patience, testing};

/// The application `name`, built and started. If this machine lacks the tools to build it, prints that and returns
/// `None`.
fn started(name: &str) -> Option<Running> {
    let app: Arc<App> = Arc::new(app::of_name(name).unwrap());
    // The build is kept for the next run, with its sources next to it.
    let out: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/sinks").join(name).join("out");
    std::fs::create_dir_all(&out).unwrap();
    let out = out.canonicalize().unwrap();
    for build in &app.builds {
        match app.build(build, &out, &mut |_| true).unwrap() {
            BuildOutcome::There | BuildOutcome::Made(_) => {}
            BuildOutcome::Missing(said) => {
                println!("skipped: {}", said.join("; "));
                return None;
            }
            BuildOutcome::Failed { last, log } => panic!("{}: {}", log.display(), last.join("\n")),
        }
    }
    let mut plan = Plan::new(app, Path::new("/no/such/taillight"));
    plan.built = vec![out];
    Some(plan.start().unwrap_or_else(|e| panic!("{name}: {e}")))
}

fn ports(running: &Running, service: &str) -> Vec<u16> {
    let listening = running.listening();
    listening[service][0].iter().map(|address| address.tcp().unwrap().port()).collect()
}

/// The identities of the first request and of all of its ends.
fn first(kept: &Kept) -> (String, Vec<String>) {
    let (request, spans) = kept.read().unwrap().next().unwrap().unwrap();
    let trace = crate::trace::Telling::new(kept).trace(request, spans).unwrap();
    (trace.hex(), trace.ends.iter().map(|end| hex(&end.span.to_be_bytes())).collect())
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn jaeger_holds_what_was_sent() {
    let Some(mut jaeger) = started("jaeger") else { return };
    let [query, otlp] = ports(&jaeger, "jaeger")[..] else { panic!("two addresses") };
    let folder = tempfile::tempdir().unwrap();
    let kept = [testing::kept(folder.path(), 250)];
    let to = format!("jaeger://127.0.0.1:{otlp}?query={query}");
    for _ in 0..2 {
        let came = sent(&kept, &to, &Patience::default()).unwrap();
        assert_eq!((came.traces, came.spans, came.is_counted), (250, 1250, true));
    }
    // Queries as another client would send them.
    let http = Http::new(Patience::default().answer);
    let json = |path: &str| -> serde_json::Value {
        let body = http.get(&format!("http://127.0.0.1:{query}{path}")).unwrap().ok(path).unwrap();
        serde_json::from_slice(&body).unwrap()
    };
    let services = json("/api/services")["data"].clone();
    for service in ["generator", "php", "plot"] {
        assert!(services.as_array().unwrap().iter().any(|one| one == service), "{services}");
    }
    let (trace, ends) = first(&kept[0]);
    let found = json(&format!("/api/traces/{trace}"))["data"][0].clone();
    let span = |id: &str| {
        let spans = found["spans"].as_array().unwrap();
        spans.iter().find(|span| span["spanID"] == id).unwrap_or_else(|| panic!("{id}: {found}"))
    };
    // The chain from the generator through php to plot's store, with Jaeger's units of µs.
    for pair in ends.windows(2) {
        let references = &span(&pair[1])["references"];
        assert_eq!(
            (&references[0]["refType"], &references[0]["spanID"]),
            (&"CHILD_OF".into(), &pair[0].as_str().into())
        );
    }
    let php = span(&ends[1]);
    assert_eq!((php["operationName"].as_str(), php["duration"].as_u64()), (Some("php.GET"), Some(10_000)));
    assert_eq!(php["startTime"].as_u64(), Some(testing::WALL as u64 / 1000 + 100_000));
    assert_eq!(php["logs"].as_array().unwrap().len(), 4);
    let tags = span(&ends[0])["tags"].clone();
    let front = tags.as_array().unwrap().iter().find(|tag| tag["key"] == "taillight.part.front_ns").unwrap();
    assert_eq!(front["value"].as_u64(), Some(5 * testing::MS));
    jaeger.stop();
    let error = sent(&kept, &to, &super::hasty()).unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error}");
}
