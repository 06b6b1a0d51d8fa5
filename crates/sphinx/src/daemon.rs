//! `-d`: the server continues in the background, and the command that started it returns when the server answers.

use std::fs::{self, File};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use nix::unistd::{ForkResult, Pid, fork};
use reactor::Address;
use reactor::tls::Clients;
use rustix::process::{WaitOptions, chdir, setsid, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::Config;

/// The process in the background, while the one that started it waits.
pub(crate) struct Daemon {
    ready: PipeWriter,
    keep_log: bool,
}

impl Daemon {
    /// Duplicates the process and returns in the duplicate, which has a session of its own. The original waits until
    /// [`Daemon::ready`] and ends; if the duplicate ends first, with the duplicate's exit code, but never with 0.
    ///
    /// The working directory becomes `/`, so that no file system is kept busy; not with `-r`, as core files are written
    /// to it. The paths in `config` become absolute before.
    ///
    /// Errors: the process has more than one thread, or the system refuses.
    pub(crate) fn start(config: &mut Config) -> Result<Daemon> {
        let threads = fs::read_dir("/proc/self/task").context("cannot count the process's threads")?.count();
        ensure!(threads == 1, "-d needs a process with one thread, and this one has {threads}; leave out -d");
        absolute_paths(config)?;
        let (wait, ready) = pipe().context("cannot make a pipe")?;
        // SAFETY: the process has one thread, so that no lock is taken and no memory is half changed in the duplicate.
        match unsafe { fork() }.context("cannot go on in the background")? {
            ForkResult::Parent { child } => {
                drop(ready);
                end(code_after_start(wait, child));
            }
            ForkResult::Child => {
                drop(wait);
                setsid().context("cannot start a session")?;
                if !config.core_dumps {
                    chdir("/").context("cannot change to the directory /")?;
                }
                Ok(Daemon { ready, keep_log: config.verbose > 0 })
            }
        }
    }

    /// Lets the process that waits end with 0. Standard input and output become `/dev/null`, and so does standard error
    /// unless `-v` is given, as in memcached.
    ///
    /// Errors: that process has ended, so the start is abandoned.
    pub(crate) fn ready(mut self) -> Result<()> {
        let null =
            File::options().read(true).write(true).open("/dev/null").context("cannot open /dev/null")?;
        self.ready
            .write_all(&[0])
            .context("the command that started the server has ended before it was ready")?;
        dup2_stdin(&null)?;
        dup2_stdout(&null)?;
        if !self.keep_log {
            dup2_stderr(&null)?;
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "all that a destructor would end belongs to the duplicate")]
fn end(code: i32) -> ! {
    std::process::exit(code)
}

/// Waits until the daemon is ready or has ended; returns the exit code for the result.
fn code_after_start(mut wait: PipeReader, child: Pid) -> i32 {
    if wait.read_exact(&mut [0]).is_ok() {
        return 0;
    }
    // It has written the reason to standard error itself.
    let child = rustix::process::Pid::from_raw(child.as_raw());
    let status = waitpid(child, WaitOptions::empty()).ok().flatten();
    status.and_then(|(_, status)| status.exit_status()).filter(|code| *code != 0).unwrap_or(1)
}

/// Makes each path in `config` independent of the working directory.
fn absolute_paths(config: &mut Config) -> Result<()> {
    let listen = config.listen.iter_mut().filter_map(|address| match address {
        Address::Unix(path) => Some(path),
        _ => None,
    });
    let mut paths: Vec<&mut PathBuf> = listen.collect();
    paths.extend(&mut config.pidfile);
    paths.extend(&mut config.ports_file);
    paths.extend(&mut config.memory_file);
    paths.extend(&mut config.auth_file);
    if let Some(tls) = &mut config.tls {
        paths.extend([&mut tls.certificates, &mut tls.key]);
        match &mut tls.clients {
            Clients::Any => {}
            Clients::Optional(file) | Clients::Required(file) => paths.push(file),
        }
    }
    for path in paths {
        *path = std::path::absolute(&*path)
            .with_context(|| format!("cannot make {} absolute", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use reactor::tls::Oldest;

    use super::*;
    use crate::Tls;

    #[test]
    fn every_path_becomes_absolute() {
        let tls = Tls {
            resp: Vec::new(),
            listen: Vec::new(),
            certificates: "c".into(),
            key: "/k".into(),
            clients: Clients::Required("a".into()),
            oldest: Oldest::default(),
        };
        let mut config = Config {
            listen: vec![Address::Unix("s".into())],
            pidfile: Some("p".into()),
            auth_file: Some("u".into()),
            memory_file: Some("m".into()),
            tls: Some(tls),
            ..Config::for_tests()
        };
        absolute_paths(&mut config).unwrap();
        let here = std::env::current_dir().unwrap();
        assert_eq!(config.listen, [Address::Unix(here.join("s"))]);
        assert_eq!((config.pidfile, config.auth_file), (Some(here.join("p")), Some(here.join("u"))));
        assert_eq!(config.memory_file, Some(here.join("m")));
        let tls = config.tls.unwrap();
        assert_eq!((tls.certificates, tls.key), (here.join("c"), "/k".into()));
        assert_eq!(tls.clients, Clients::Required(here.join("a")));
    }

    #[test]
    fn a_process_with_several_threads_is_not_duplicated() {
        // The test harness has another thread.
        let error = Daemon::start(&mut Config::for_tests()).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("-d needs a process with one thread, and this one has"), "{error}");
    }
}
