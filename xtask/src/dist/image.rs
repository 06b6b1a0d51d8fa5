//! Container images from scratch, as an archive of the OCI image layout.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::files::{Files, gzip, sha256};
use super::release::Release;

/// The unprivileged user and group of containers, as in deploy/kubernetes/taillight/values.yaml.
const USER: &str = "65532:65532";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// An image for every architecture under one name.
pub(super) struct Image {
    /// The digest of the index, by which `NAME@DIGEST` is fetched, with `sha256:` before it.
    pub(super) digest: String,
    pub(super) archive: Vec<u8>,
}

/// The image of a program. Source: the OCI image specification 1.1, its layout, index, manifest and configuration.
///
/// Errors: a path is too long for the archive.
pub(super) fn image(release: &Release, name: &'static str) -> Result<Image, String> {
    let mut blobs = Blobs::default();
    let mut manifests = Vec::new();
    let labels = json!({
        "org.opencontainers.image.title": name,
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.revision": release.commit,
        "org.opencontainers.image.licenses": "Apache-2.0",
    });
    for program in &release.programs {
        let mut root = Files::default();
        root.add_program(name, program.binary(name));
        root.add("LICENSE", release.license.as_str());
        root.add("THIRD-PARTY.txt", release.third_party.as_str());
        let layer = root.tar("", release.epoch)?;
        let identity = format!("sha256:{}", sha256(&layer));
        let layer = blobs.add("application/vnd.oci.image.layer.v1.tar+gzip", gzip(&layer));
        let config = json!({
            "created": release.timestamp,
            "architecture": program.target.debian,
            "os": "linux",
            "config": { "User": USER, "Entrypoint": [format!("/{name}")], "WorkingDir": "/", "Labels": labels },
            "rootfs": { "type": "layers", "diff_ids": [identity] },
        });
        let config = blobs.add_json("application/vnd.oci.image.config.v1+json", &config);
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({ "schemaVersion": 2, "mediaType": kind, "config": config, "layers": [layer] });
        let mut manifest = blobs.add_json(kind, &manifest);
        manifest["platform"] = json!({ "architecture": program.target.debian, "os": "linux" });
        manifests.push(manifest);
    }
    let index =
        json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests, "annotations": labels });
    let mut index = blobs.add_json(INDEX, &index);
    let digest = index["digest"].as_str().unwrap_or_default().to_owned();
    index["annotations"] = json!({ "org.opencontainers.image.ref.name": release.image(name) });
    let mut layout = Files::default();
    layout.add("oci-layout", json!({ "imageLayoutVersion": "1.0.0" }).to_string());
    let entry = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [index] });
    layout.add("index.json", entry.to_string());
    blobs.0.iter().for_each(|(digest, contents)| {
        layout.add(&format!("blobs/sha256/{digest}"), contents.as_slice());
    });
    Ok(Image { digest, archive: layout.tar("", release.epoch)? })
}

#[derive(Default)]
struct Blobs(BTreeMap<String, Vec<u8>>);

impl Blobs {
    /// Adds contents; their descriptor.
    fn add(&mut self, kind: &str, contents: Vec<u8>) -> Value {
        let (digest, size) = (sha256(&contents), contents.len());
        let descriptor = json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": size });
        self.0.insert(digest, contents);
        descriptor
    }

    fn add_json(&mut self, kind: &str, contents: &Value) -> Value {
        self.add(kind, contents.to_string().into_bytes())
    }
}
