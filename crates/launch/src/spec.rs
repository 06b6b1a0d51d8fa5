use std::path::PathBuf;

use rustix::process::Signal;

use crate::User;
use crate::process::STDOUT_LINES;

/// A folder of this machine that a program needs, at the same path wherever it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The folder.
    pub folder: PathBuf,
    /// Whether a container may write to it.
    pub writable: bool,
}

/// What to start, and how.
///
/// Standard input is empty unless [`Spec::input`] asks for one, standard output and error are read by the [`crate::Process`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name in error messages: `memcached`, `generator`.
    pub name: String,
    /// The program: a path, or a name to look up in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to the inherited environment.
    pub env: Vec<(String, String)>,
    /// The processors that it may run on; `None` keeps the calling thread's.
    pub cpus: Option<Vec<usize>>,
    /// The account that it runs under; `None` leaves it the caller's. Only root can choose.
    pub user: Option<User>,
    /// The signal that asks it to end.
    pub stop: Signal,
    /// Whether it has a standard input that [`crate::Process::write_line`] writes to.
    pub input: bool,
    /// The network namespace that it runs in, as a file of the kernel's: `/run/netns/NAME`, `/proc/PID/ns/net`;
    /// `None` leaves it the caller's. Only root can choose.
    pub net: Option<PathBuf>,
    /// The folder that it runs in; `None` leaves it the caller's. A container's program runs at the root.
    pub dir: Option<PathBuf>,
    /// Folders that it needs, which a container gets; without one they are there anyway.
    pub mounts: Vec<Mount>,
    /// Lines of its standard output that are kept for the reader; the oldest go first.
    pub lines: usize,
}

impl Spec {
    /// `program` without arguments, called `name` in messages.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Spec {
        Spec {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cpus: None,
            user: None,
            stop: Signal::TERM,
            input: false,
            net: None,
            dir: None,
            mounts: Vec::new(),
            lines: STDOUT_LINES,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Spec {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Spec {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Its processors in the containers' format, `0,3`; `None` if it keeps the caller's.
    pub(crate) fn cpu_list(&self) -> Option<String> {
        let cpus = self.cpus.as_ref()?;
        Some(cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Spec {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Confines it to `cpus`, before its first instruction.
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Spec {
        self.cpus = Some(cpus.into_iter().collect());
        self
    }

    /// Runs it in the network namespace at `net`.
    pub fn net(mut self, net: impl Into<PathBuf>) -> Spec {
        self.net = Some(net.into());
        self
    }

    /// Runs it in the folder `dir`.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Spec {
        self.dir = Some(dir.into());
        self
    }

    /// Says that it needs a folder, and whether it writes there.
    pub fn mount(mut self, folder: impl Into<PathBuf>, writable: bool) -> Spec {
        self.mounts.push(Mount { folder: folder.into(), writable });
        self
    }

    /// Gives it a standard input that lines can be written to.
    pub fn input(mut self) -> Spec {
        self.input = true;
        self
    }

    /// The program and its arguments, as a result records them.
    pub fn command_line(&self) -> Vec<String> {
        let program = self.program.display().to_string();
        std::iter::once(program).chain(self.args.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_program_and_arguments() {
        let spec = Spec::new("server", "/bin/server").arg("-p").args(["1", "-v"]).cpus([1]).env("A", "b");
        assert_eq!(spec.command_line(), ["/bin/server", "-p", "1", "-v"]);
        assert_eq!((spec.cpus, spec.env), (Some(vec![1]), vec![("A".into(), "b".into())]));
    }
}
