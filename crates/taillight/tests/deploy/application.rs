//! Charts of applications, rendered by Helm and validated by kubeconform.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use app::{Deployment, Layout, Plan};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::chart::{HOW, KUBERNETES, Validator, documents};
use crate::tools::tool;

/// What Helm makes of the chart in `folder` with these values.
fn render(helm: &Path, folder: &Path, values: &str) -> Result<String, String> {
    let mut command = Command::new(helm);
    command.args(["template", "t", "--namespace", "lab", "--kube-version", KUBERNETES]).arg(folder);
    if !values.is_empty() {
        command.args(["--set", values]);
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// The chart of an application in a folder.
fn chart(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = Plan::new(Arc::new(app::of_name(name).unwrap()), Path::new("/x"));
    if plan.app().needs(app::Need::People) {
        plan.people = Some(app::PeopleSet { users: 1000, seed: 1 });
    }
    for (path, text) in Deployment::new(plan, Layout::Apart).unwrap().chart().unwrap() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

const KEPT: &str = "stores.size=2Gi,stores.class=fast,image.registry=registry.example/lab,image.tag=v1,entrance.type=NodePort";

#[test]
fn the_charts_of_applications_are_valid() {
    let Some(helm) = tool("helm", HOW) else { return };
    let Some(validator) = Validator::new() else { return };
    for (name, least) in [("memcached", 6), ("nginx", 6), ("social", 10), ("movies", 140), ("video", 6)] {
        let chart = chart(name);
        let files = if ["nginx", "video"].contains(&name) { "files.claim=site," } else { "" };
        for values in [files.trim_end_matches(',').to_owned(), format!("{files}{KEPT}")] {
            let manifests = render(&helm, chart.path(), &values).unwrap_or_else(|e| panic!("{name}: {e}"));
            let (valid, said) = validator.judge(&manifests);
            assert!(valid && said.contains("Invalid: 0, Errors: 0, Skipped: 0"), "{name}: {values}: {said}");
            let found = documents(&manifests).len();
            assert!(found >= least, "{name}: {found} documents");
            // Files have their place for it, which is filled as a pod starts; a value has none.
            assert!(!manifests.contains("\"@taillight-secret@\"") && !manifests.contains("{{ ."), "{name}");
        }
    }
}

#[test]
fn values_reach_the_pods_and_wrong_ones_are_refused() {
    let Some(helm) = tool("helm", HOW) else { return };
    let chart = chart("movies");
    let text = render(&helm, chart.path(), KEPT).unwrap();
    assert!(text.contains("image: \"registry.example/lab/taillight-movies-plot:v1\""));
    assert!(text.contains("claimName: movies-users-db-data") && text.contains("storage: \"2Gi\""));
    let usual = render(&helm, chart.path(), "").unwrap();
    assert!(
        usual.contains("localhost/taillight-movies-plot:0.1.0") && !usual.contains("PersistentVolumeClaim")
    );
    let secret = |text: &str| {
        let all = documents(text);
        let secret = all.iter().find(|one| one["kind"].as_str() == Some("Secret"));
        secret.map(|secret| secret["data"]["secret"].as_str().unwrap().to_owned())
    };
    let drawn = secret(&usual).unwrap();
    let decoded = String::from_utf8(BASE64_STANDARD.decode(&drawn).unwrap()).unwrap();
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    assert!(decoded.len() == 64 && decoded.bytes().all(is_digit), "services take nothing else: {decoded}");
    assert_ne!(secret(&text).unwrap(), drawn);
    assert_eq!(secret(&render(&helm, chart.path(), "secret.existing=mine").unwrap()), None);
    for (values, says) in [
        ("image.tag=latest", "tag"),
        ("stores.size=much", "size"),
        ("entrance.type=Open", "type"),
        ("entrances.port=1", "entrances"),
    ] {
        let error = render(&helm, chart.path(), values).unwrap_err();
        assert!(error.contains(says), "{values}: {error}");
    }
}
