//! A chart for Kubernetes, by Helm.

use super::layout::Instance;
use super::pod::{Dialect, Whole, port_name};
use super::podman::secret_name;
use super::yaml::{Yaml, map};
use super::{Deployment, Layout, Rendered, VERSION};
use crate::{Error, Need};

/// The lowest version of Kubernetes: older ones are no longer maintained.
const KUBERNETES: &str = ">=1.31.0-0";
/// Prefix of Kubernetes' standard application labels.
const LABEL: &str = "app.kubernetes.io";
/// Between two documents.
const NEXT: &str = "---\n";

impl Deployment {
    /// The files of a chart: each instance a Deployment of one pod with a Service and a NetworkPolicy that lets in those that call it.
    /// The same description gives the same files.
    ///
    /// Errors: it is not of [`Layout::Apart`]; a template fails.
    pub fn chart(&self) -> Result<Rendered, Error> {
        let app = self.plan.app();
        if self.layout != Layout::Apart {
            let problem =
                "in a cluster each service has its own pods; take the layout in which they are apart";
            return Err(Error::Unfit { service: app.name.clone(), problem: problem.into() });
        }
        let whole = self.whole()?;
        let mut files = Rendered::new();
        for one in &whole {
            for (key, text) in &one.prepare.files {
                files.insert(format!("files/{}/{key}", one.pod.name), text.clone());
            }
            files.insert(format!("templates/{}.yaml", one.pod.name), self.pod_documents(&whole, one));
        }
        files.insert("templates/entrance.yaml".into(), self.entrance_documents(&whole));
        files.insert("templates/secret.yaml".into(), secret(&app.name));
        files.insert("templates/NOTES.txt".into(), notes(&app.name));
        files.insert("Chart.yaml".into(), self.about());
        files.insert("values.yaml".into(), values(self.serves_files()));
        files.insert("values.schema.json".into(), schema(self.serves_files()));
        Ok(files)
    }

    fn serves_files(&self) -> bool {
        self.plan.app().needs(Need::Files)
    }

    fn about(&self) -> String {
        let app = self.plan.app();
        let about = map! {
            "apiVersion" => "v2",
            "name" => format!("taillight-{}", app.name),
            "description" => &app.title,
            "type" => "application",
            "version" => VERSION,
            "appVersion" => VERSION,
            "kubeVersion" => KUBERNETES,
        };
        format!("# Written by taillight from the description of {}.\n{}", app.name, about.document())
    }

    fn pod_documents(&self, all: &[Whole<'_>], whole: &Whole<'_>) -> String {
        let (app, pod) = (self.plan.app(), &whole.pod);
        let image = |name: &str| {
            format!(
                "{{{{ .Values.image.registry }}}}/taillight-{}-{name}:{{{{ .Values.image.tag | default .Chart.AppVersion }}}}",
                app.name
            )
        };
        let kept = |instance: &Instance<'_>| {
            let claim = claim_name(&app.name, instance);
            Some(
                Yaml::Map(Vec::new())
                    .helm("{{- if .Values.stores.size }}")
                    .with("persistentVolumeClaim", map! { "claimName" => claim })
                    .helm("{{- else }}")
                    .with("emptyDir", Yaml::Map(Vec::new()))
                    .helm("{{- end }}"),
            )
        };
        let claim = map! { "claimName" => Yaml::Helm("{{ required \"files.claim: the claim of the files that are served\" .Values.files.claim }}") };
        let secret = format!("{{{{ .Values.secret.existing | default `{}` }}}}", secret_name(&app.name));
        let dialect = Dialect {
            image: &image,
            secret: map! { "secretKeyRef" => map! { "name" => secret, "key" => "secret" } },
            restart: "Always",
            host_port: None,
            kept: &kept,
            files: Some(map! { "persistentVolumeClaim" => claim.with("readOnly", true) }),
        };
        let mut text = format!(
            "# Written by taillight.\napiVersion: v1\nkind: ConfigMap\n{}data:\n  {{{{- (.Files.Glob \"files/{}/*\").AsConfig | nindent 2 }}}}\n",
            self.metadata(&format!("{}-config", pod.name), &pod.name),
            pod.name
        );
        let store = pod.instances.iter().filter(|one| self.seed(one.service).is_some());
        for instance in store {
            text += &format!(
                "{{{{- if .Values.stores.size }}}}\n{NEXT}{}{{{{- end }}}}\n",
                self.claim(instance, &pod.name)
            );
        }
        let spec = self
            .spec(whole, &dialect)
            .with("imagePullSecrets", Yaml::Helm("{{ toJson .Values.image.pullSecrets }}"));
        let checksum = format!("{{{{ (.Files.Glob `files/{}/*`).AsConfig | sha256sum }}}}", pod.name);
        // The version is not among its labels: another would replace all pods, and the data of databases that keep none.
        let template = map! {
            "metadata" => map! {
                "labels" => self.selector(&pod.name),
                "annotations" => map! { "checksum/config" => checksum },
            },
            "spec" => spec,
        };
        let many = map! {
            "replicas" => 1_u64,
            "selector" => map! { "matchLabels" => self.selector(&pod.name) },
            "template" => template,
        };
        let named = self.metadata(&pod.name, &pod.name);
        // Two databases must never share data: a StatefulSet waits for a pod to end before it starts the next, even
        // after a failure.
        let (kind, many) = if pod.instances.iter().any(|one| self.seed(one.service).is_some()) {
            ("StatefulSet", many.with("serviceName", pod.name.as_str()))
        } else {
            ("Deployment", many.with("strategy", map! { "type" => "Recreate" }))
        };
        text += &format!(
            "{NEXT}apiVersion: apps/v1\nkind: {kind}\n{named}{}",
            map! { "spec" => many }.document()
        );
        let ports = ports(whole);
        if !ports.is_empty() {
            // With an address of its own, which stays where a pod is replaced: many look a name up once.
            let of = |(name, port): &(String, u16)| map! { "name" => name, "port" => *port, "targetPort" => *port };
            let service = map! { "selector" => self.selector(&pod.name), "ports" => ports.iter().map(of).collect::<Vec<_>>() };
            text += &format!(
                "{NEXT}apiVersion: v1\nkind: Service\n{named}{}",
                map! { "spec" => service }.document()
            );
        }
        text += &format!(
            "{NEXT}apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n{named}{}",
            self.policy(all, whole).document()
        );
        text
    }

    /// Who may reach a pod: the pods of those that call it; the front everyone.
    fn policy(&self, all: &[Whole<'_>], whole: &Whole<'_>) -> Yaml {
        let app = self.plan.app();
        let calls = |caller: &Whole<'_>| {
            let called = |name: &String| whole.pod.instances.iter().any(|one| one.service.name == *name);
            caller.pod.instances.iter().any(|one| app.before(one.service).any(called))
        };
        let callers = all.iter().filter(|other| other.pod.name != whole.pod.name && calls(other));
        let from: Vec<Yaml> = callers
            .map(|other| map! { "podSelector" => map! { "matchLabels" => self.selector(&other.pod.name) } })
            .collect();
        let port = |(_, port): &(String, u16)| map! { "port" => *port };
        let ports: Vec<Yaml> = ports(whole).iter().map(port).collect();
        let is_front = whole.pod.instances.iter().any(|one| self.is_front(one));
        let ingress: Vec<Yaml> = match (is_front, from.is_empty()) {
            (true, _) => vec![map! { "ports" => ports }],
            (false, true) => Vec::new(),
            (false, false) => vec![map! { "from" => from, "ports" => ports }],
        };
        map! { "spec" => map! {
            "podSelector" => map! { "matchLabels" => self.selector(&whole.pod.name) },
            "policyTypes" => vec!["Ingress"],
            "ingress" => ingress,
        } }
    }

    fn claim(&self, instance: &Instance<'_>, component: &str) -> String {
        let spec = map! {
            "accessModes" => vec!["ReadWriteOnce"],
            "resources" => map! { "requests" => map! { "storage" => "{{ .Values.stores.size }}" } },
        };
        let spec = spec
            .helm("{{- if .Values.stores.class }}")
            .with("storageClassName", "{{ .Values.stores.class }}")
            .helm("{{- end }}");
        let metadata = map! {
            "name" => claim_name(&self.plan.app().name, instance),
            "labels" => self.labels(component),
            // Helm leaves it where the release is uninstalled or has no claims any more.
            "annotations" => map! { "helm.sh/resource-policy" => "keep" },
        };
        let all = map! { "metadata" => metadata, "spec" => spec };
        format!("apiVersion: v1\nkind: PersistentVolumeClaim\n{}", all.document())
    }

    /// The one Service for clients outside the cluster.
    fn entrance_documents(&self, all: &[Whole<'_>]) -> String {
        let fronts =
            all.iter().flat_map(|whole| whole.pod.instances.iter().map(move |one| (&whole.pod.name, one)));
        let mut text = String::from("# Written by taillight: the one way in.\n");
        for (pod, front) in fronts.filter(|(_, one)| self.is_front(one)).take(1) {
            let Some((_, port)) = front.tcp().next() else { continue };
            let spec = map! {
                "type" => "{{ .Values.entrance.type }}",
                "selector" => self.selector(pod),
                "ports" => vec![map! {
                    "name" => "entrance",
                    "port" => Yaml::Helm("{{ .Values.entrance.port }}"),
                    "targetPort" => port,
                }],
            };
            let name = format!("{}-entrance", self.plan.app().name);
            text += &format!(
                "apiVersion: v1\nkind: Service\n{}{}",
                self.metadata(&name, pod),
                map! { "spec" => spec }.document()
            );
        }
        text
    }

    fn selector(&self, component: &str) -> Yaml {
        map! {
            format!("{LABEL}/name") => format!("taillight-{}", self.plan.app().name),
            format!("{LABEL}/instance") => "{{ .Release.Name }}",
            format!("{LABEL}/component") => component,
        }
    }

    fn labels(&self, component: &str) -> Yaml {
        let labels = self.selector(component);
        let labels = labels.with(&format!("{LABEL}/version"), "{{ .Chart.AppVersion }}");
        labels.with(&format!("{LABEL}/managed-by"), "{{ .Release.Service }}")
    }

    fn metadata(&self, name: &str, component: &str) -> String {
        map! { "metadata" => map! { "name" => name, "labels" => self.labels(component) } }.document()
    }
}

fn claim_name(app: &str, instance: &Instance<'_>) -> String {
    format!("{app}-{}-data", instance.name)
}

fn ports(whole: &Whole<'_>) -> Vec<(String, u16)> {
    let all = whole.pod.instances.iter();
    all.flat_map(|one| one.tcp().map(|(listen, port)| (port_name(one, &listen.name), port))).collect()
}

/// Helm draws the secret once: running services keep the secret that they were started with, so an upgrade must reuse
/// it. It has the format of [`crate::secret::Secret`], which services require.
fn secret(app: &str) -> String {
    let name = secret_name(app);
    format!(
        "{{{{- if not .Values.secret.existing }}}}\n\
         {{{{- $old := (lookup \"v1\" \"Secret\" .Release.Namespace \"{name}\").data | default dict }}}}\n\
         apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\ntype: Opaque\ndata:\n  \
         secret: {{{{ index $old \"secret\" | default (randAlphaNum 64 | sha256sum | b64enc) }}}}\n\
         {{{{- end }}}}\n"
    )
}

fn notes(app: &str) -> String {
    format!(
        "{app} is reached by the Service {app}-entrance, once its pods are ready:\n\n  \
         kubectl -n {{{{ .Release.Namespace }}}} wait --for=condition=ready --timeout=10m pod -l {LABEL}/name=taillight-{app}\n  \
         kubectl -n {{{{ .Release.Namespace }}}} port-forward service/{app}-entrance 8080:{{{{ .Values.entrance.port }}}}\n\n\
         Names of services are those of this application, so that a namespace has room for one release of it.\n"
    )
}

/// The values of a chart; an application that serves files has the values of the second file too.
fn values(serves_files: bool) -> String {
    let files = if serves_files { include_str!("values-files.yaml") } else { "" };
    [include_str!("values.yaml"), files].concat()
}

fn schema(serves_files: bool) -> String {
    use serde_json::json;
    let text = json!({ "type": "string" });
    let object = |properties: serde_json::Value| json!({ "type": "object", "additionalProperties": false, "properties": properties });
    let tag = json!({ "type": "string", "pattern": "^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$", "not": { "const": "latest" } });
    let port = json!({ "type": "integer", "minimum": 1, "maximum": 65535 });
    let mut all = json!({
        "global": { "type": "object" },
        "image": object(json!({
            "registry": { "type": "string", "minLength": 1 },
            "tag": tag,
            "pullSecrets": { "type": "array", "items": object(json!({ "name": text })) },
        })),
        "entrance": object(json!({ "type": { "enum": ["ClusterIP", "NodePort", "LoadBalancer"] }, "port": port })),
        "stores": object(json!({ "size": { "type": "string", "pattern": "^([0-9]+(Mi|Gi|Ti))?$" }, "class": text })),
        "secret": object(json!({ "existing": text })),
    });
    if serves_files {
        all["files"] = object(json!({ "claim": text }));
    }
    let mut schema = object(all);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    let text = serde_json::to_string_pretty(&schema).expect("a value is written");
    text + "\n"
}
