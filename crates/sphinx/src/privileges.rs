use std::ffi::CString;

use anyhow::{Context, Result, anyhow, bail};
use nix::unistd::{Uid, User, geteuid, initgroups, setgid, setuid};

/// Gives up root's privileges for those of `name`, in all threads, for good.
///
/// Errors: there is no such user, or this process is not root.
pub(crate) fn become_user(name: &str) -> Result<()> {
    let user = User::from_name(name).with_context(|| format!("cannot look up the user '{name}'"))?;
    let user = user.ok_or_else(|| anyhow!("there is no user '{name}'; name another with -u"))?;
    if geteuid() == user.uid && !geteuid().is_root() {
        return Ok(());
    }
    if !geteuid().is_root() {
        bail!("only root can become '{name}'; leave out -u, or start as root");
    }
    let refused = || format!("the system refuses to become '{name}'");
    let c_name = CString::new(name).context("a user's name has no zero byte")?;
    // Groups first: who is no longer root may not leave them.
    initgroups(&c_name, user.gid).with_context(refused)?;
    setgid(user.gid).with_context(refused)?;
    setuid(user.uid).with_context(refused)?;
    if !user.uid.is_root() && setuid(Uid::from_raw(0)).is_ok() {
        bail!("root's privileges cannot be given up here; leave out -u");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_who_is_not_there() {
        let error = become_user("no-such-user-here").unwrap_err().to_string();
        assert_eq!(error, "there is no user 'no-such-user-here'; name another with -u");
    }
}
