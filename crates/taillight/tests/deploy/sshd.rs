use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use launch::{Process, Spec, find_program, free_port};

use crate::ansible::LONG;

/// A private SSH server for the test: loopback, a free port, keys of its own.
pub(crate) struct Sshd {
    _process: Process,
    pub(crate) port: u16,
    pub(crate) key: PathBuf,
    /// What `ssh` needs to believe it and to leave the user's files alone.
    pub(crate) arguments: String,
}

impl Sshd {
    /// Sessions keep their temporary files in `machine`. `None`, with the reason printed, if sshd is not installed.
    pub(crate) fn start(folder: &Path, machine: &Path) -> Option<Sshd> {
        let (Some(sshd), Some(_), Some(keygen)) =
            (find_program("sshd"), find_program("ssh"), find_program("ssh-keygen"))
        else {
            println!("skipped: no sshd and ssh here; apt-get install openssh-server openssh-client");
            return None;
        };
        let (host, key) = (folder.join("host"), folder.join("key"));
        for file in [&host, &key] {
            let made = Command::new(&keygen).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file).status();
            assert!(made.unwrap().success());
        }
        let public = |key: &Path| fs::read_to_string(key.with_extension("pub")).unwrap();
        fs::write(folder.join("authorized"), public(&key)).unwrap();
        if rustix::process::geteuid().is_root() {
            // It refuses to start as root without this folder, which is empty and stays so.
            let _ = fs::create_dir_all("/run/sshd");
        }
        let port = free_port().unwrap();
        fs::write(folder.join("known"), format!("[127.0.0.1]:{port} {}", public(&host))).unwrap();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n\
             Subsystem sftp internal-sftp\nSetEnv TMPDIR={}\n",
            host.display(),
            folder.join("authorized").display(),
            machine.display()
        );
        fs::write(folder.join("sshd_config"), config).unwrap();
        let config = folder.join("sshd_config").display().to_string();
        let mut process = Process::spawn(Spec::new("sshd", sshd).args(["-D", "-e", "-f", &config])).unwrap();
        process.await_port(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), LONG).unwrap();
        let known = folder.join("known").display().to_string();
        let arguments = format!("-F none -o UserKnownHostsFile={known} -o StrictHostKeyChecking=yes");
        Some(Sshd { _process: process, port, key, arguments })
    }
}
