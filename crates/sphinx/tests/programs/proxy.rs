use std::fs;
use std::net::Ipv4Addr;

use launch::Process;

use super::pair::Server;
use super::run::{self, Ended};
use crate::support::PATIENCE;

/// The output of a client that reaches the server through twemproxy.
pub(crate) fn client_behind_twemproxy(server: &Server) -> Ended {
    loop {
        let (port, own_port) = (launch::free_port().unwrap(), launch::free_port().unwrap());
        let file = server.folder.path().join("nutcracker.yml");
        let pool = format!(
            "pool:\n  listen: 127.0.0.1:{port}\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n   - {}:1\n",
            server.place
        );
        fs::write(&file, pool).unwrap();
        let own_port = own_port.to_string();
        let words = ["nutcracker", "-c", &file.display().to_string(), "-a", "127.0.0.1", "-s", &own_port];
        let mut proxy = Process::spawn(run::spec(&words.map(str::to_owned)).unwrap()).unwrap();
        match proxy.await_port((Ipv4Addr::LOCALHOST, port).into(), PATIENCE) {
            Ok(()) => {}
            // Another program took a port that was free before.
            Err(launch::Error::PortTaken { .. } | launch::Error::Died { .. }) => continue,
            Err(error) => panic!("{error}"),
        }
        let port = port.to_string();
        let client = ["/usr/bin/python3", "pymemcache_client.py", "127.0.0.1", &port, "--no-stats"];
        return run::end(run::spec(&client.map(str::to_owned)).unwrap());
    }
}
