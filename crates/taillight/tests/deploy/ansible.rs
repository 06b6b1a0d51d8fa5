use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use launch::{Process, Spec, find_program};
use results::ResultFolder;

use crate::sshd::Sshd;
use crate::tools::{deploy, tool};

/// Far beyond what anything here takes on a machine that is busy, and short enough that a hang becomes a failure.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// Four machines that are all this one, reached over SSH.
struct Testbed {
    sshd: Sshd,
    playbook: PathBuf,
    folder: tempfile::TempDir,
}

impl Testbed {
    /// `None`, and says why, where something is missing.
    fn new() -> Option<Testbed> {
        let remedy = "pip install ansible-core, or apt-get install ansible-core";
        let playbook = tool("ansible-playbook", remedy)?;
        if find_program("openssl").is_none() {
            println!("skipped: no openssl here; apt-get install openssl");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let machine = folder.path().join("machine");
        fs::create_dir(&machine).unwrap();
        let sshd = Sshd::start(folder.path(), &machine)?;
        let bed = Testbed { sshd, playbook, folder };
        bed.strip();
        fs::write(bed.path("inventory.json"), bed.inventory().to_string()).unwrap();
        Some(bed)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program without debug information: ten times smaller to copy to each machine.
    fn strip(&self) {
        let (program, to) = (env!("CARGO_BIN_EXE_taillight"), self.path("taillight"));
        let stripped = Command::new("strip").arg("-o").arg(&to).arg(program).status();
        if !stripped.is_ok_and(|status| status.success()) {
            fs::copy(program, &to).unwrap();
        }
    }

    fn inventory(&self) -> serde_json::Value {
        let python = self.playbook.with_file_name("python3");
        let python = if python.is_file() { python } else { find_program("python3").unwrap() };
        serde_json::json!({"all": {
            "vars": {
                "ansible_host": "127.0.0.1",
                "ansible_port": self.sshd.port,
                "ansible_ssh_private_key_file": self.sshd.key,
                "ansible_ssh_common_args": self.sshd.arguments,
                "ansible_python_interpreter": python,
                // Everything that a machine is left with would be found here.
                "ansible_remote_tmp": self.path("machine"),
                "taillight_address": "127.0.0.1",
                "taillight_agent_port": 0,
                "taillight_server_port": 0,
                "taillight_server_memory_mib": 16,
                "taillight_binary": self.path("taillight"),
                "taillight_results": self.path("results"),
                "taillight_run": "run",
            },
            "children": {
                "server": {"hosts": {"server1": {}}},
                "clients": {"hosts": {"client1": {}, "client2": {}}},
                "coordinator": {"hosts": {"control1": {}}},
            },
        }})
    }

    /// Plays the playbook with these variables in addition to the inventory's; returns the exit code and the output.
    fn play(&self, variables: &serde_json::Value) -> (Option<i32>, String) {
        let said = self.path("said");
        let script = "exec \"$@\" >\"$SAID\" 2>&1";
        let spec = Spec::new("ansible-playbook", "/bin/sh").args(["-c", script, "sh"]).args([
            self.playbook.display().to_string(),
            "-i".into(),
            self.path("inventory.json").display().to_string(),
            deploy().join("ansible/measure.yml").display().to_string(),
            "-e".into(),
            variables.to_string(),
        ]);
        let spec = spec
            .env("SAID", said.display().to_string())
            .env("ANSIBLE_CONFIG", deploy().join("ansible/ansible.cfg").display().to_string())
            .env("ANSIBLE_HOME", self.path("home").display().to_string())
            // A connection that is shared would stay for a minute, in a process that no signal to the test reaches.
            .env("ANSIBLE_SSH_ARGS", "-C -o ControlMaster=no")
            // The certificates are made here; all temporary files lie in the folder that the test inspects, as on the machines.
            .env("TMPDIR", self.path("machine").display().to_string())
            .env("LC_ALL", "C.UTF-8");
        let status = Process::spawn(spec).unwrap().wait(LONG).unwrap();
        (status.code(), fs::read_to_string(said).unwrap())
    }

    /// The remains of a run: processes of the copied program, connections, and folders. The list must be empty.
    fn left(&self) -> Vec<PathBuf> {
        let processes: Vec<PathBuf> =
            fs::read_dir("/proc").unwrap().flatten().map(|process| process.path()).collect();
        let programs = processes.iter().filter_map(|process| fs::read_link(process.join("exe")).ok());
        let programs = programs.filter(|program| program.starts_with(self.folder.path()));
        // A connection that outlives its play calls itself by its socket, which lies in the folder.
        let ours = self.folder.path().display().to_string();
        let words = processes.iter().filter_map(|process| fs::read_to_string(process.join("cmdline")).ok());
        let connections = words
            .filter(|words| words.starts_with("ssh") && !words.starts_with("sshd") && words.contains(&ours));
        let folders = fs::read_dir(self.path("machine")).unwrap().flatten().map(|entry| entry.path());
        let named =
            |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("taillight"));
        programs.filter(named).chain(connections.map(PathBuf::from)).chain(folders.filter(named)).collect()
    }
}

/// A load that any machine can carry.
fn light(more: &[&str]) -> serde_json::Value {
    let words = "--rate 1k --connections 4 --keys 1000 --warmup 100ms --window 500ms --pace sleep";
    let words: Vec<&str> = words.split(' ').chain(more.iter().copied()).collect();
    serde_json::json!({ "taillight_options": words })
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_testbed_is_measured_and_left_as_it_was() {
    let Some(bed) = Testbed::new() else { return };
    let (code, said) = bed.play(&light(&[]));
    // The play fails if other tests kept the load from a usable figure. Its result is fetched all the same.
    let busy = said.contains("taillight ended with 75 (75: no usable figure");
    assert_eq!(code, Some(if busy { 2 } else { 0 }), "{said}");
    let experiment = ResultFolder::open(&bed.path("results/run")).unwrap().load().unwrap();
    let agents: Vec<&str> = experiment.trials[0].agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(agents, ["client1", "client2"]);
    assert!(experiment.trials[0].agents.iter().all(|agent| agent.arrivals > 0), "{said}");
    assert!(bed.path("results/run/report.html").is_file(), "{said}");
    assert_eq!(bed.left(), Vec::<PathBuf>::new(), "{said}");
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn where_an_agent_does_not_start_nothing_is_measured_and_nothing_stays() {
    let Some(bed) = Testbed::new() else { return };
    let mut variables = light(&[]);
    // By then the server runs, and so does the other agent.
    let args = "{{ ['--no-such-option'] if inventory_hostname == 'client2' else [] }}";
    variables["taillight_agent_args"] = args.into();
    let (code, said) = bed.play(&variables);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("unexpected argument '--no-such-option'"), "{said}");
    assert!(said.contains("A load that lacks an agent is another load"), "{said}");
    assert!(!bed.path("results").exists(), "{said}");
    assert_eq!(bed.left(), Vec::<PathBuf>::new(), "{said}");
}
