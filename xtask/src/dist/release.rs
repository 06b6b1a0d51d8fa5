//! The parts of a release, and the files made of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::deb;
use super::files::{Files, gzip, sha256};
use super::image::image;
use super::programs::Target;

/// Both programs for one kind of processor.
pub(super) struct Program {
    pub(super) target: Target,
    pub(super) taillight: Vec<u8>,
    pub(super) sphinxd: Vec<u8>,
}

impl Program {
    pub(super) fn binary(&self, name: &str) -> &[u8] {
        if name == "sphinxd" { &self.sphinxd } else { &self.taillight }
    }
}

/// The inputs of the files of a release: the same inputs give the same bytes.
pub(super) struct Release {
    pub(super) version: String,
    pub(super) commit: String,
    /// The time that every file has. Units: s since 1970.
    pub(super) epoch: u64,
    /// That time as in RFC 5322, and as in RFC 3339.
    pub(super) date: String,
    pub(super) timestamp: String,
    /// Name and address, as Debian's packages have them.
    pub(super) maintainer: String,
    /// Host and folder of the images.
    pub(super) registry: String,
    /// The address of the folder that the archives are downloaded from, for the formula of Homebrew.
    pub(super) url: Option<String>,
    pub(super) license: String,
    pub(super) changelog: String,
    pub(super) readme: String,
    pub(super) third_party: String,
    pub(super) bill: Value,
    /// Manual pages and completions, by their paths below `/usr`.
    pub(super) shared: Files,
    /// The Helm chart of this repository.
    pub(super) chart: Files,
    pub(super) programs: Vec<Program>,
}

impl Release {
    pub(super) fn image(&self, name: &str) -> String {
        format!("{}/{name}:{}", self.registry, self.version)
    }

    /// All files by their names, SHA256SUMS included.
    ///
    /// Errors: a path is too long for an archive.
    pub(super) fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let mut files = BTreeMap::new();
        let mut archives = Vec::new();
        for program in &self.programs {
            let (name, archive) = self.archive(program)?;
            archives.push((program, name.clone(), sha256(&archive)));
            files.insert(name, archive);
            for package in ["sphinxd", "taillight"] {
                files.extend([deb::package(self, program, package)?]);
            }
        }
        let [own, cache] = [image(self, "taillight")?, image(self, "sphinxd")?];
        files.insert(format!("taillight-{}-chart.tgz", self.version), self.packed_chart(&own.digest)?);
        files.insert(format!("taillight-{}-image.tar", self.version), own.archive);
        files.insert(format!("sphinxd-{}-image.tar", self.version), cache.archive);
        files.insert(
            format!("taillight-{}.cdx.json", self.version),
            format!("{:#}\n", self.bill).into_bytes(),
        );
        if let Some(url) = &self.url {
            files.insert("taillight.rb".into(), self.formula(url, &archives).into_bytes());
        }
        let sums = files.iter().map(|(name, contents)| format!("{}  {name}\n", sha256(contents)));
        let sums: String = sums.collect();
        files.insert("SHA256SUMS".into(), sums.into_bytes());
        Ok(files)
    }

    /// The programs with what belongs to them, for any system: below `/usr/local`, for example.
    fn archive(&self, program: &Program) -> Result<(String, Vec<u8>), String> {
        let mut files = self.shared.clone();
        files.add_program("bin/taillight", program.binary("taillight"));
        files.add_program("bin/sphinxd", program.binary("sphinxd"));
        for (name, text) in [
            ("LICENSE", &self.license),
            ("README.md", &self.readme),
            ("CHANGELOG.md", &self.changelog),
            ("THIRD-PARTY.txt", &self.third_party),
        ] {
            files.add(name, text.as_str());
        }
        let name = format!("taillight-{}-{}-linux", self.version, program.target.architecture);
        Ok((format!("{name}.tar.gz"), gzip(&files.tar(&format!("{name}/"), self.epoch)?)))
    }

    /// The chart as `helm package` makes it, with the image of this release.
    fn packed_chart(&self, digest: &str) -> Result<Vec<u8>, String> {
        let mut chart = Files::default();
        for (path, contents) in self.chart.iter() {
            let text = String::from_utf8_lossy(contents);
            match path {
                "values.yaml" => {
                    let own = format!("repository: {}/taillight", self.registry);
                    let text = text.replacen("repository: localhost/taillight", &own, 1);
                    chart.add(path, text.replacen("digest: \"\"", &format!("digest: {digest}"), 1));
                }
                _ => chart.add(path, contents),
            }
        }
        Ok(gzip(&chart.tar("taillight/", self.epoch)?))
    }

    fn formula(&self, url: &str, archives: &[(&Program, String, String)]) -> String {
        let archives = archives.iter().map(|(program, name, sum)| {
            let on = if program.target.debian == "arm64" { "on_arm" } else { "on_intel" };
            format!("  {on} do\n    url \"{url}/{name}\"\n    sha256 \"{sum}\"\n  end\n")
        });
        include_str!("../../../deploy/packages/taillight.rb")
            .replace("@ARCHIVES@", &archives.collect::<String>())
            .replace("@URL@", url)
            .replace("@VERSION@", &self.version)
    }
}
