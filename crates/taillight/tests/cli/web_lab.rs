//! Searches and comparisons of web servers: the laboratory treats pages as it treats caches.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use launch::find_program;
use results::{Experiment, Kind, Purpose, ResultFolder};
use tempfile::TempDir;

use crate::run::{
    Served, answers, closes, finish, has_ended, is_cut_short, is_not_measurable, refuses, says, taillight,
    text, web,
};

/// Short trials on shared machines: the test covers the steps, not the figures.
const SHORT: &str = "--window 300ms --warmup 50ms --drain 50ms --pace sleep --connections 8 --no-live";

/// A web server that handles one request at a time with the given service time.
fn slow(service: &str) -> Served {
    Served::slow("http", "100", service)
}

fn command(words: &str, out: &Path) -> Command {
    let mut command = taillight(&words.split_whitespace().collect::<Vec<_>>());
    command.args(SHORT.split_whitespace()).arg("--out").arg(out);
    command
}

/// The result of this name, left by the run with this output; every trial asked for the pages of the set.
fn result_of(out: &Path, name: &str, output: &Output) -> Experiment {
    let result = ResultFolder::open(&out.join(name)).unwrap().load().unwrap();
    assert!(result.complete != is_cut_short(output) && !result.trials.is_empty());
    for trial in &result.trials {
        assert_eq!(web(trial).files.as_ref().unwrap().to_string(), "50x100");
        // None where the machine was too busy for a single answer.
        assert!(trial.operations.iter().all(|operation| operation.name == "get"));
    }
    result
}

#[test]
fn a_peak_of_pages_lies_under_the_maximum() {
    let (server, out) = (slow("constant:1ms"), TempDir::new().unwrap());
    let words = format!(
        "peak web --target http://{} --files 50x100 --qos p50<1s --tolerance 50 --max-tolerance 30 --name p",
        server.address
    );
    let output = finish(&mut command(&words, out.path()));
    answers(&output);
    let result = result_of(out.path(), "p", &output);
    assert_eq!(result.kind, Kind::Peak);
    // One request takes 1 ms, so that no more than 1000 can be answered in a second.
    let max = &result.targets[0].max_throughput;
    assert!(max.iter().all(|max| max.low_rps > 1.0 && max.low_rps < 1_200.0), "{max:?}");
    assert!(!max.is_empty() || is_not_measurable(&output), "{}", text(&output));
    // None where the machine was too busy for a valid trial.
    let peak = result.targets[0].peak.as_ref().map_or(0.0, |peak| peak.low_rps);
    assert!(peak <= max.first().map_or(0.0, |max| max.high_rps), "{peak} of {max:?}");
    assert!(out.path().join("p/report.html").exists());
}

#[test]
fn a_gate_closes_on_pages_that_are_never_in_time() {
    let (server, out) = (slow("constant:1ms"), TempDir::new().unwrap());
    let words = format!(
        "peak web --target http://{} --files 50x100 --qos p50<100us --tolerance 50 --max-tolerance 30 --name p --gate",
        server.address
    );
    let output = finish(&mut command(&words, out.path()));
    closes(&output);
    says(&output, "p50 ≤ 100 µs at no load");
    result_of(out.path(), "p", &output);
}

#[test]
fn two_web_servers_are_compared_in_one_run() {
    let servers = [slow("constant:1ms"), slow("constant:3ms")];
    let urls = servers.each_ref().map(|server| format!("http://{}", server.address));
    let out = TempDir::new().unwrap();
    let words = format!(
        "compare --live {} {} --workload web --files 50x100 --loads 20,50 --repeats 1 --qos p50<1s --tolerance 50 --name c",
        urls[0], urls[1]
    );
    let output = finish(&mut command(&words, out.path()));
    answers(&output);
    let result = result_of(out.path(), "c", &output);
    assert_eq!(result.kind, Kind::CompareLive);
    let names: Vec<&str> = result.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, urls);
    for trial in &result.trials {
        assert_eq!(trial.found.servers, [trial.target.as_str()], "each trial asks its own server");
        assert_eq!(trial.spec.as_ref().unwrap().target.server.to_string(), trial.target);
    }
    // Both targets are offered the same load: a share of the block's smaller maximum, which is the slower target's.
    for share in [0.2, 0.5] {
        let offered = |url: &String| -> Vec<f64> {
            let is_first =
                |trial: &&results::Trial| trial.purpose == Purpose::LoadPoint && trial.instead_of.is_none();
            let points = result.trials.iter().filter(is_first);
            let of_it = points.filter(|trial| trial.target == *url);
            of_it.filter(|trial| trial.load_share == Some(share)).map(|trial| trial.offered_rps).collect()
        };
        let [one, other] = urls.each_ref().map(offered);
        // One for each block whose maximum is known.
        let blocks = result.targets[0].max_throughput.len();
        assert!(one.len() >= blocks && one == other, "{one:?} and {other:?}");
        assert!(blocks == 1 || is_cut_short(&output), "{}", text(&output));
    }
    for block in result.targets[0].max_throughput.iter().map(|maximum| maximum.block) {
        let maximum = |target: &results::Target| {
            let of_it = target.max_throughput.iter().find(|maximum| maximum.block == block);
            of_it.map(results::MaxThroughput::reference_rps)
        };
        let [Some(fast), Some(slow)] = [0, 1].map(|target| maximum(&result.targets[target])) else {
            continue;
        };
        assert!(slow < fast, "{slow} and {fast} rps");
        for trial in result.trials.iter().filter(|trial| trial.block == block) {
            if let Some(share) = trial.load_share.filter(|_| trial.purpose == Purpose::LoadPoint) {
                assert!(
                    (trial.offered_rps / (share * slow) - 1.0).abs() < 0.01,
                    "{share} of {slow}: {trial:?}"
                );
            }
        }
    }
    let page = fs::read_to_string(out.path().join("c/compare.html")).unwrap();
    assert!(page.contains(&urls[0]) && page.contains(&urls[1]));
}

#[test]
fn applications_of_a_folder_are_targets() {
    let lighttpd = (&["lighttpd"][..], &["lighttpd"][..]);
    let varnish = (&["varnishd", "nginx"][..], &["nginx", "varnish"][..]);
    for (name, (programs, services)) in [("lighttpd", lighttpd), ("varnish-nginx", varnish)] {
        if let Some(missing) = programs.iter().find(|program| find_program(program).is_none()) {
            println!("skipped: there is no {missing} here");
            continue;
        }
        let out = TempDir::new().unwrap();
        let words = format!(
            "sweep web --target {name} --files 50x100 --loads 20,50 --repeats 1 --max-tolerance 50 --name s"
        );
        let output = finish(&mut command(&words, out.path()));
        let printed = text(&output);
        // On a busy machine the generator may be too late to tell what such a server sustains.
        assert!(has_ended(&output), "{printed}");
        let result = ResultFolder::open(&out.path().join("s")).unwrap().load().unwrap();
        assert_eq!(result.complete, !is_cut_short(&output));
        let target = &result.targets[0];
        assert_eq!(target.name, name);
        assert!(!target.version.is_empty() && !target.command.is_empty(), "{target:?}");
        assert_eq!(target.services.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), services);
        assert!(target.services.iter().all(|one| !one.version.is_empty() && one.threads == 1), "{target:?}");
        assert!(result.trials.iter().any(|trial| trial.arrivals.completed > 0), "{printed}");
        for trial in &result.trials {
            assert!(trial.services.iter().map(|one| one.name.as_str()).eq(services.iter().copied()));
            assert!(trial.services.iter().all(|one| one.cpu_s.is_some()), "{:?}", trial.services);
        }
        let page = fs::read_to_string(out.path().join("s/report.html")).unwrap();
        assert!(page.contains("id=\"services\""));
        assert_eq!(page.contains("<h3>Topology</h3>"), services.len() > 1);
    }
}

#[test]
fn an_application_of_ones_own_is_named_by_its_folder() {
    if find_program("lighttpd").is_none() {
        return println!("skipped: there is no lighttpd here");
    }
    let out = TempDir::new().unwrap();
    let own = out.path().join("mine/lighttpd");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/lighttpd");
    fs::create_dir_all(&own).unwrap();
    for file in fs::read_dir(shipped).unwrap() {
        let file = file.unwrap().path();
        fs::copy(&file, own.join(file.file_name().unwrap())).unwrap();
    }
    let words = format!(
        "load web --target {} --files 50x100 --rate 200 --server-set threads=1 --name l",
        own.display()
    );
    let output = finish(&mut command(&words, out.path()));
    answers(&output);
    assert_eq!(result_of(out.path(), "l", &output).targets[0].name, "lighttpd");
    fs::write(own.join("app.toml"), "name = 5").unwrap();
    refuses(&mut command(&words, out.path()), 2, &["mine/lighttpd/app.toml"]);
    refuses(
        &mut command("load web --target lightttpd --rate 200", out.path()),
        2,
        &["did you mean 'lighttpd'?"],
    );
    refuses(
        &mut command("load web --target nginx --rate 200 --server-set nginx.gzib=6", out.path()),
        2,
        &["no setting 'gzib'"],
    );
    refuses(
        &mut command("load web --target nginx --rate 200 --server-set varnish.threads=6", out.path()),
        1,
        &["no target has a service 'varnish'"],
    );
}

#[test]
fn a_cache_is_compared_with_no_web_server() {
    let out = TempDir::new().unwrap();
    let words = "compare --live sphinx http://127.0.0.1:1 --workload web";
    refuses(&mut command(words, out.path()), 1, &["sphinx is a cache and answers no HTTP"]);
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

/// The statements of the chapter on web servers hold for this program.
#[test]
fn the_chapter_on_web_servers_is_true() {
    let explained = text(&finish(&mut taillight(&["explain", "web"])));
    for part in ["done - intended", "connection wait", "--requests-per-connection", "status_404", "p99<20ms"]
    {
        assert!(explained.contains(part), "it does not say '{part}': {explained}");
    }
    let help = text(&finish(&mut taillight(&["load", "web", "--help"])));
    let options = explained.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let options: Vec<&str> = options.filter(|word| word.starts_with("--")).collect();
    assert!(options.len() > 10, "{options:?}");
    assert!(options.iter().all(|option| *option == "--quick" || help.contains(option)), "{options:?}");
    let out = TempDir::new().unwrap();
    for line in explained.lines().map(str::trim).filter(|line| line.starts_with("taillight ")) {
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('\'')).skip(1).collect();
        let check = if words[0] == "study" { "--dry-run" } else { "--resolve" };
        let output = finish(taillight(&words).args([check, "--out"]).arg(out.path()));
        assert!(has_ended(&output), "{line}: {}", text(&output));
    }
}
