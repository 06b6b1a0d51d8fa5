//! The generator role: load of this program on servers that run.

use std::path::{Path, PathBuf};

use agent::{Generate, Generators, Tune};
use spec::workload::OwnFile;

use super::host_knobs::{HostKnobs, Running, allowed};

/// Generators of this program.
pub struct AgentGenerators {
    /// This program.
    pub exe: PathBuf,
    /// Knobs of this machine, where its operator allowed them.
    pub knobs: Option<HostKnobs>,
}

impl Generators for AgentGenerators {
    fn spec(&self, task: &Generate, recording: &Path) -> Result<launch::Spec, String> {
        check(task)?;
        let beside = |name: &str| recording.with_file_name(name).display().to_string();
        let (file, trial, share) =
            (beside("spec.json"), beside("trial.json"), format!("{}/{}", task.share, task.shares));
        std::fs::write(&file, &task.spec).map_err(|e| format!("it cannot write {file}: {e}"))?;
        let recording = recording.display().to_string();
        let spec = launch::Spec::new("generator", &self.exe);
        let spec = spec.args(["load", "--spec", &file, "--share", &share, "--start-on-stdin", "--live"]);
        Ok(spec.args(["--recording", &recording, "--trial", &trial]))
    }

    fn tune(&self, session: u64, tune: &Tune) -> Result<String, String> {
        let cpus = crate::allowed_cpus().into_iter().collect();
        let generator = Running { cpus, is_bare: true, ..Running::default() };
        allowed(self.knobs.as_ref())?.tune(session, tune, &generator)
    }

    fn leave(&self, session: u64) {
        self.knobs.iter().for_each(|knobs| knobs.leave(session));
    }
}

/// Checks that a task from the network only asks for load on a running server.
fn check(task: &Generate) -> Result<(), String> {
    let whole = serde_json::from_str(&task.spec).map_err(|e| format!("the specification is damaged: {e}"))?;
    let spec = crate::read_spec(whole).map_err(|e| e.to_string())?;
    if !spec.target.server.is_external() {
        return Err("an agent starts no server; name one that runs".into());
    }
    if !spec.generator.agents.agents.is_empty() {
        return Err("an agent cannot ask further agents".into());
    }
    if !spec.knobs.is_empty() || !spec.client_knobs.is_empty() || !spec.probes.is_empty() {
        return Err("a generator changes and observes nothing; leave out knobs and probes".into());
    }
    // It would send any file of this machine to any address, whole or in an error message.
    if let Some(OwnFile { file, option, is_sent, instead }) = spec.workload.own_file() {
        let (does, file) = (if is_sent { "sends" } else { "reads" }, file.display());
        return Err(format!("an agent {does} none of its files, as --{option} {file} asks for; {instead}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(spec: &str) -> Generate {
        Generate { spec: spec.into(), share: 1, shares: 2 }
    }

    #[test]
    fn only_load_on_a_server_that_runs() {
        let check = |target: &str, more: &str, expect: Result<(), &str>| {
            let spec = format!("{{ \"target\": {{ \"server\": \"{target}\" }}, {more} }}");
            let found = check(&task(&spec));
            match expect {
                Ok(()) => assert_eq!(found, Ok(()), "{spec}"),
                Err(says) => assert!(found.as_ref().is_err_and(|e| e.contains(says)), "{spec}: {found:?}"),
            }
        };
        let rate = r#""load": { "rate": "5krps" }"#;
        check("10.0.0.5:11211", r#""seed": 7, "workload": { "mix": "get:100", "yes": true }"#, Ok(()));
        check("10.0.0.5:1", r#""workload": { "kind": "null" }"#, Ok(()));
        let web = |fields: &str| format!(r#""workload": {{ "kind": "web", {fields} }}"#);
        check("http://h:80/x", &web(r#""files": "10x4KiB", "files-seed": 3, "verify": "checksum""#), Ok(()));
        let social = |site: &str| format!(r#""workload": {{ "kind": "social", "site": "{site}" }}"#);
        check("http://h:80", &social("elgg"), Ok(()));
        check("http://h:80", &social("/etc/passwd"), Err("--site /etc/passwd asks for"));
        check("10.0.0.5:1", r#""workload": { "kind": "rm" }"#, Err("'rm' is not known"));
        check("sphinx", rate, Err("starts no server"));
        check("", rate, Err("HOST:PORT"));
        for section in ["trial", "recording", "out", "share"] {
            check("10.0.0.5:1", &format!("\"{section}\": \"x\""), Err(section));
        }
        check("10.0.0.5:1", r#""generator": { "agents": ["10.0.0.6:7070"] }"#, Err("further agents"));
        check("10.0.0.5:1", r#""knobs": ["smt=off"]"#, Err("leave out knobs"));
        check("10.0.0.5:1", r#""client-knobs": ["smt=off"]"#, Err("leave out knobs"));
        check("http://h", &web(r#""method": "POST", "body-size": "1KiB""#), Ok(()));
        check("http://h", &web(r#""method": "POST", "body": "/etc/passwd""#), Err("none of its files"));
        check("http://h", &web(r#""urls": "/etc/passwd""#), Err("use --files"));
        check("10.0.0.5:1", r#""stray": 1"#, Err("stray"));
        assert!(super::check(&task("{")).unwrap_err().contains("damaged"));
    }

    #[test]
    fn its_place_among_the_generators_is_told() {
        let loads = AgentGenerators { exe: "/bin/taillight".into(), knobs: None };
        assert!(loads.tune(1, &Tune::default()).unwrap_err().contains("--allow-knobs"));
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let text = r#"{"target":{"server":"h:1"},"load":{"rate":"5krps"}}"#;
        let spec = loads.spec(&task(text), &folder.path().join("recording.json")).unwrap();
        assert_eq!(
            spec.args.join(" "),
            format!(
                "load --spec {} --share 1/2 --start-on-stdin --live --recording {} --trial {}",
                at("spec.json"),
                at("recording.json"),
                at("trial.json")
            )
        );
        assert_eq!(std::fs::read_to_string(at("spec.json")).unwrap(), text);
    }
}
