use std::ffi::CString;

use anyhow::{Context, Result, anyhow, bail};
use nix::unistd::{Uid, User, geteuid, initgroups, setgid, setuid};

/// The user whose privileges the server is to have once its ports are open.
pub(crate) struct Account {
    user: User,
}

impl Account {
    /// Looks the user up, so that a wrong name is found before anything else is done.
    ///
    /// Errors: the user does not exist, or this process is not root.
    pub(crate) fn find(name: &str) -> Result<Account> {
        let user = User::from_name(name).with_context(|| format!("cannot look up the user '{name}'"))?;
        let user = user.ok_or_else(|| anyhow!("there is no user '{name}'; name another with -u"))?;
        if geteuid() != user.uid && !geteuid().is_root() {
            bail!("only root can become '{name}'; leave out -u, or start as root");
        }
        Ok(Account { user })
    }

    pub(crate) fn uid(&self) -> u32 {
        self.user.uid.as_raw()
    }

    /// Drops root's privileges in favour of the user's, in all threads, irrevocably.
    ///
    /// Needs no more than `CAP_SETUID` and `CAP_SETGID`.
    ///
    /// Errors: the system refuses.
    pub(crate) fn take_on(self) -> Result<()> {
        let User { name, uid, gid, .. } = self.user;
        if geteuid() == uid && !geteuid().is_root() {
            return Ok(());
        }
        let refused = || format!("the system refuses to become '{name}'");
        let c_name = CString::new(name.as_str()).context("a user's name has no zero byte")?;
        // Groups first: only root may leave them.
        initgroups(&c_name, gid).with_context(refused)?;
        setgid(gid).with_context(refused)?;
        setuid(uid).with_context(refused)?;
        if !uid.is_root() && setuid(Uid::from_raw(0)).is_ok() {
            bail!("root's privileges cannot be given up here; leave out -u");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_an_unknown_user() {
        let error = Account::find("no-such-user-here").err().unwrap().to_string();
        assert_eq!(error, "there is no user 'no-such-user-here'; name another with -u");
    }
}
