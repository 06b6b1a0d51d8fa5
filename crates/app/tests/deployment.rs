//! Generated pods and charts of applications; needs neither podman nor Helm.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use app::{Deployment, Layout, Plan, Rendered};
use saphyr::{LoadableYamlNode, YamlOwned};

fn documents(text: &str) -> Vec<YamlOwned> {
    let documents = YamlOwned::load_from_str(text).unwrap();
    documents.into_iter().filter(|document| document.as_mapping().is_some()).collect()
}

/// The value of a key that need not be there.
fn found<'a>(yaml: &'a YamlOwned, key: &str) -> Option<&'a YamlOwned> {
    yaml.as_mapping()?.iter().find(|(one, _)| one.as_str() == Some(key)).map(|(_, value)| value)
}

fn deployment(name: &str, layout: Layout, set: &[&str]) -> Deployment {
    let mut plan = Plan::new(Arc::new(app::of_name(name).unwrap()), Path::new("/x"));
    plan.set(set).unwrap();
    if plan.app().needs(app::Need::Files) {
        plan.files = Some("/srv/site".into());
    }
    if plan.app().needs(app::Need::People) {
        plan.people = Some(app::PeopleSet { users: 1000, seed: 1 });
    }
    if plan.app().needs(app::Need::Videos) {
        plan.videos = Some(app::Videos { set: "1000x1/160".into(), seed: 1 });
    }
    Deployment::new(plan, layout).unwrap()
}

fn pod(name: &str, set: &[&str]) -> String {
    deployment(name, Layout::Together, set).podman(8080).unwrap().remove(app::POD).unwrap()
}

/// All files, each behind its path.
fn listed(files: &Rendered) -> String {
    files.iter().map(|(path, text)| format!("=== {path}\n{text}")).collect()
}

#[test]
fn a_pod_is_written_as_it_was() {
    insta::assert_snapshot!("pod_of_memcached", pod("memcached", &[]));
    insta::assert_snapshot!("pod_of_nginx", pod("nginx", &["nginx.threads=2", "nginx.instances=2"]));
}

#[test]
fn a_chart_is_written_as_it_was() {
    insta::assert_snapshot!(
        "chart_of_memcached",
        listed(&deployment("memcached", Layout::Apart, &[]).chart().unwrap())
    );
    let social = deployment("social", Layout::Apart, &[]).chart().unwrap();
    insta::assert_snapshot!("chart_of_social", &social["templates/social-nginx.yaml"]);
}

/// The specifications of all pods, of podman's and of a chart's whose templates were not rendered yet.
fn specs(name: &str) -> Vec<(String, YamlOwned)> {
    let together = documents(&pod(name, &[])).into_iter().filter(|one| one["kind"].as_str() == Some("Pod"));
    let mut all: Vec<_> = together.map(|one| (name.to_owned(), one["spec"].clone())).collect();
    for (path, text) in deployment(name, Layout::Apart, &[]).chart().unwrap() {
        if !path.starts_with("templates/") || !path.ends_with(".yaml") {
            continue;
        }
        // Helm's control lines and unquoted templates are not valid YAML.
        let plain = |line: &str| {
            line.split_once(": {{").map_or(line.to_owned(), |(key, _)| format!("{key}: x")) + "\n"
        };
        let plain: String = text.lines().filter(|line| !line.trim().starts_with("{{")).map(plain).collect();
        let has_pods = |one: &YamlOwned| matches!(one["kind"].as_str(), Some("Deployment" | "StatefulSet"));
        for one in documents(&plain).into_iter().filter(has_pods) {
            all.push((path.clone(), one["spec"]["template"]["spec"].clone()));
        }
    }
    all
}

#[test]
fn every_container_is_held_tight() {
    for name in app::names() {
        let images = deployment(name, Layout::Together, &[]).images();
        let specs = specs(name);
        assert!(specs.len() >= 2, "{name}");
        for (place, spec) in specs {
            assert_eq!(spec["securityContext"]["runAsNonRoot"].as_bool(), Some(true), "{place}");
            assert_eq!(spec["automountServiceAccountToken"].as_bool(), Some(false), "{place}");
            let containers = spec["containers"].as_sequence().unwrap().iter();
            for container in containers.chain(spec["initContainers"].as_sequence().unwrap()) {
                let (name, security) = (container["name"].as_str().unwrap(), &container["securityContext"]);
                assert_eq!(security["readOnlyRootFilesystem"].as_bool(), Some(true), "{place}: {name}");
                assert_eq!(security["allowPrivilegeEscalation"].as_bool(), Some(false), "{place}: {name}");
                assert_eq!(security["capabilities"]["drop"][0].as_str(), Some("ALL"), "{place}: {name}");
                assert_eq!(security["runAsUser"].as_integer(), Some(65_534), "{place}: {name}");
                assert!(container["resources"]["limits"]["memory"].as_str().is_some(), "{place}: {name}");
                let program = container["command"][0].as_str().unwrap();
                assert!(program.starts_with('/'), "podman wants a whole path: {place}: {program}");
                let image = container["image"].as_str().unwrap();
                let (_, image) = image.split_once("taillight-").unwrap();
                assert!(
                    images.iter().any(|one| image.contains(&format!("-{one}:"))),
                    "{place}: {image} is none of {images:?}"
                );
            }
            let volumes = spec["volumes"].as_sequence().unwrap();
            let volumes: BTreeSet<&str> = volumes.iter().map(|one| one["name"].as_str().unwrap()).collect();
            for container in spec["containers"].as_sequence().unwrap() {
                for mount in
                    found(container, "volumeMounts").and_then(YamlOwned::as_sequence).into_iter().flatten()
                {
                    let mounted = mount["name"].as_str().unwrap();
                    assert!(volumes.contains(mounted), "{place}: {mounted}");
                }
            }
        }
    }
}

#[test]
fn the_movie_site_in_one_pod_has_one_way_in() {
    let text = pod("movies", &[]);
    assert_eq!(text, pod("movies", &[]), "the same description gives the same text");
    let all = documents(&text);
    let spec = &all.iter().find(|one| one["kind"].as_str() == Some("Pod")).unwrap()["spec"];
    let containers = spec["containers"].as_sequence().unwrap();
    assert_eq!(containers.len(), 35);
    let with_ports: Vec<&YamlOwned> = containers.iter().filter(|one| found(one, "ports").is_some()).collect();
    let [front] = with_ports[..] else { panic!("one container is reached") };
    assert_eq!(front["name"].as_str(), Some("load-balancer"));
    assert_eq!(front["ports"][0]["hostIP"].as_str(), Some("127.0.0.1"));
    assert_eq!(front["ports"][0]["hostPort"].as_integer(), Some(8080));
    let files = all[0]["data"].as_mapping().unwrap();
    let listening = files.iter().filter_map(|(key, text)| Some((key.as_str()?, text.as_str()?)));
    let mut services = 0;
    for (key, text) in listening.filter(|(key, _)| key.ends_with("service.conf")) {
        services += 1;
        assert!(text.contains("\nlisten=127.0.0.1:"), "{key}: {text}");
        assert!(text.contains("\nsecret=@taillight-secret@\n"), "{key}: {text}");
    }
    assert_eq!(services, 24);
    // Databases begin with their data, and the index of films is made before its service starts.
    let first: Vec<&str> = spec["initContainers"]
        .as_sequence()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(first, ["prepare", "search-prepare-0"]);
    let script =
        files.iter().find(|(key, _)| key.as_str() == Some("prepare.sh")).unwrap().1.as_str().unwrap();
    assert!(script.contains("begin /seeds/movies/data /own/movies-db/data\n"), "{script}");
    assert!(!script.contains("\nawait "), "{script}");
}

#[test]
fn the_movie_site_says_by_how_many_each_service_serves() {
    let files = deployment("movies", Layout::Apart, &[]).chart().unwrap();
    let app = app::of_name("movies").unwrap();
    let said = |name: &str| {
        let serving = app.service(name).unwrap().serving.as_ref()?;
        serving.read(&files[&format!("files/movies-{name}/{name}.{}", serving.path)])
    };
    // Four processes for each of its threads.
    assert_eq!(said("php"), Some(16));
    let compose = &files["files/movies-compose-page/compose-page.service.conf"];
    let rendered = compose.split_once("\nthreads=").unwrap().1.lines().next().unwrap();
    assert_eq!(said("compose-page"), Some(rendered.parse().unwrap()));
    for service in app.services.iter().filter(|one| !one.methods.is_empty()) {
        assert!(said(&service.name).is_some(), "{}", service.name);
    }
    assert_eq!(said("web"), None);
}

/// Each `HOST:PORT` called in a chart's configuration is a service of the chart with that port.
#[test]
fn the_movie_site_apart_reaches_what_it_calls() {
    let files = deployment("movies", Layout::Apart, &["plot.instances=3"]).chart().unwrap();
    let pods: Vec<&str> = files
        .keys()
        .filter_map(|path| path.strip_prefix("templates/")?.strip_suffix(".yaml"))
        .filter(|pod| !["entrance", "secret"].contains(pod))
        .collect();
    assert!(pods.contains(&"movies-plot-2") && pods.contains(&"movies-web-0"), "{pods:?}");
    let has = |host: &str, port: &str| {
        let text = files.get(&format!("templates/{host}.yaml"));
        text.is_some_and(|text| text.contains(&format!("containerPort: {port}\n")))
    };
    let mut called = 0;
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with("files/")) {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "-:".contains(c)));
        for word in words.filter(|word| word.starts_with("movies-")) {
            let Some((host, port)) = word.split_once(':') else { continue };
            called += 1;
            assert!(has(host, port), "{path}: {word}");
        }
    }
    assert!(called > 50, "{called}");
    let compose = &files["files/movies-compose-page/compose-page.service.conf"];
    assert!(
        compose.contains("upstream.plot=movies-plot-0:9090,movies-plot-1:9090,movies-plot-2:9090\n"),
        "{compose}"
    );
    // It starts once its required service is ready, without waiting for optional ones.
    let script = &files["files/movies-compose-page/prepare.sh"];
    assert!(script.contains("\nawait movies-movie-info 9090\n"), "{script}");
    assert!(!script.contains("await movies-plot"), "{script}");
    let policy = files["templates/movies-plot-0.yaml"].rsplit_once("kind: NetworkPolicy").unwrap().1;
    assert!(
        policy.contains("component: movies-compose-page") && !policy.contains("component: movies-php"),
        "{policy}"
    );
    assert!(files["files/movies-movies-db/movies-db.pg_hba.conf"].contains("host movies movies all trust"));
}

#[test]
fn a_secret_is_drawn_anew_and_in_no_other_file() {
    let deployment = deployment("movies", Layout::Together, &[]);
    let drawn = || deployment.new_secret().unwrap().remove(app::SECRET_FILE).unwrap();
    let (one, other) = (drawn(), drawn());
    assert_ne!(one, other);
    let all = documents(&one);
    let secret = all[0]["data"]["secret"].as_str().unwrap();
    assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()), "{secret}");
    assert_eq!(all[0]["metadata"]["name"].as_str(), Some("movies-secret"));
}

/// The script that prepares pods, with its folders in one of ours.
#[test]
fn a_pod_is_prepared_by_its_script() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path.trim_start_matches('/'));
    let text = pod("movies", &[]);
    let all = documents(&text);
    for (key, text) in all[0]["data"].as_mapping().unwrap() {
        let (key, mut text) = (key.as_str().unwrap(), text.as_str().unwrap().to_owned());
        if key == "prepare.sh" {
            for folder in ["/config", "/own", "/beside", "/seeds", "/data-set", "/data"] {
                text = text.replace(&format!(" {folder}/"), &format!(" {}/", at(folder).display()));
            }
        }
        fs::create_dir_all(at("config")).unwrap();
        fs::write(at("config").join(key), text).unwrap();
    }
    for store in ["movies", "reviews", "users"] {
        fs::create_dir_all(at("seeds").join(store).join("data")).unwrap();
        fs::write(at("seeds").join(store).join("data/PG_VERSION"), store).unwrap();
        fs::set_permissions(at("seeds").join(store).join("data"), PermissionsExt::from_mode(0o700)).unwrap();
    }
    fs::create_dir_all(at("data-set/files")).unwrap();
    fs::create_dir_all(at("data")).unwrap();
    fs::write(at("data-set/files/catalogue.tsv"), "film").unwrap();
    // Twice, as it runs again when a pod restarts.
    for secret in ["first", "0123456789abcdef"] {
        let script = at("config/prepare.sh");
        let output = Command::new("bash").arg(script).env("SECRET", secret).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let conf = fs::read_to_string(at("own/plot/service.conf")).unwrap();
        assert!(conf.contains(&format!("\nsecret={secret}\n")) && !conf.contains("@taillight"), "{conf}");
        let mode = |path: &str| fs::metadata(at(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("own/plot/service.conf"), 0o600);
        assert_eq!(mode("own/movies-db/postgresql.conf"), 0o644);
        assert_eq!(mode("own/movies-db/data"), 0o700);
        assert_eq!(fs::read_to_string(at("own/users-db/data/PG_VERSION")).unwrap().trim(), "users");
        assert!(at("data/files/catalogue.tsv").is_file());
        // Later writes of a database are kept.
        fs::write(at("own/users-db/data/PG_VERSION"), "users \n").unwrap();
    }
    assert_eq!(fs::read_to_string(at("own/users-db/data/PG_VERSION")).unwrap(), "users \n");
}

#[test]
fn what_cannot_be_a_pod_is_refused() {
    let check = |name: &str, set: &[&str], says: &str| {
        let mut plan = Plan::new(Arc::new(app::of_name(name).unwrap()), Path::new("/x"));
        plan.set(set).unwrap();
        let error =
            Deployment::new(plan, Layout::Together).and_then(|one| one.podman(80)).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    check("memcached", &["form=lxc"], "memcached: a pod is a form of its own; leave its form out");
    check("memcached", &["agent=10.0.0.5:7070"], "leave its agent out");
    check("memcached", &["binary=/opt/memcached"], "leave its binary out");
    check("nginx", &[], "name it by --files FOLDER");
    let apart = deployment("memcached", Layout::Apart, &[]).podman(80).unwrap_err().to_string();
    assert!(apart.contains("the layout in which all share a pod"), "{apart}");
    let together = deployment("memcached", Layout::Together, &[]).chart().unwrap_err().to_string();
    assert!(together.contains("the layout in which they are apart"), "{together}");
}
