//! The canned-answer server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    /// Starts a server on a processor. With `address`, it shares the port of the server that already listens there.
    pub(crate) fn start(cpu: usize, address: Option<&str>, options: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taillight"))
            .args(["serve", "null", "--dialect", "memcached", "--cpus", &cpu.to_string()])
            .args(["--listen", address.unwrap_or("127.0.0.1:0")])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the null server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().rsplit(' ').next().expect("the address is the last word").to_owned();
        Server { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
