//! A memcached with SASL, and its users.

use std::fs::{self, Permissions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use launch::Process;

use super::{PATIENCE, Words, memcached_program};

/// The one user that every server of the tests has.
pub(crate) const USER: &str = "ann";
pub(crate) const PASSWORD: &str = "secret";

/// Starts a memcached with `-S`, whose user is in a database of Cyrus SASL in `folder`: Debian's reads no other.
///
/// Errors: the reason why it is unavailable.
pub(crate) fn memcached(folder: &Path) -> Result<(Process, SocketAddr, Words), String> {
    let (memcached, words) = memcached_program().ok_or("there is no memcached")?;
    let database = folder.join("sasldb");
    let mut make = Command::new("/usr/sbin/saslpasswd2")
        .args(["-p", "-c", "-a", "memcached", "-f"])
        .arg(&database)
        .arg(USER)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| format!("saslpasswd2: {error}; `apt-get install sasl2-bin` brings it"))?;
    let mut stdin = make.stdin.take().expect("it was asked for");
    stdin.write_all(format!("{PASSWORD}\n").as_bytes()).map_err(|error| error.to_string())?;
    drop(stdin);
    if !make.wait().map_err(|error| error.to_string())?.success() {
        return Err("saslpasswd2 could not make a database of users".into());
    }
    let config = format!(
        "mech_list: plain\npwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: {}\n",
        database.display()
    );
    fs::write(folder.join("memcached.conf"), config).map_err(|error| error.to_string())?;
    // It runs as another user if the tests are root's.
    for (file, mode) in [(folder, 0o777), (&database, 0o644)] {
        fs::set_permissions(file, Permissions::from_mode(mode)).map_err(|error| error.to_string())?;
    }
    let options = launch::memcached::Options {
        threads: 2,
        memory: units::Bytes(64 << 20),
        connections: 1024,
        cpus: None,
        extra: vec!["-S".into()],
    };
    loop {
        let port = launch::free_port().map_err(|error| error.to_string())?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let spec = memcached.spec(port, &options).env("SASL_CONF_PATH", folder.display().to_string());
        let mut process = Process::spawn(spec).map_err(|error| error.to_string())?;
        match process.await_port(address, PATIENCE) {
            Ok(()) => return Ok((process, address, words)),
            // Another process took the port first.
            Err(launch::Error::PortTaken { .. }) => {}
            Err(error) => return Err(format!("a memcached with SASL does not start: {error}")),
        }
    }
}
