use std::sync::Arc;

use anyhow::{Context, Result};
use reactor::tls::{Identity, Renewable, server_config};
use rustls::ServerConfig;

use crate::Tls;

/// The certificates of TLS, which can be read again while the server runs.
pub(crate) struct Certificates {
    tls: Tls,
    renewable: Arc<Renewable>,
}

impl Certificates {
    /// Reads the files that `tls` names.
    ///
    /// Errors: one of them cannot be read or contains no matching entry; a key that does not fit its certificate.
    pub(crate) fn read(tls: &Tls) -> Result<Certificates> {
        let renewable = Renewable::new(config(tls).context("TLS cannot be set up")?);
        Ok(Certificates { tls: tls.clone(), renewable })
    }

    /// Reads the files again, for new connections. Keeps the old certificates if that fails.
    pub(crate) fn read_again(&self) -> Result<()> {
        self.renewable.replace(config(&self.tls)?);
        Ok(())
    }

    /// The handle that the threads use.
    pub(crate) fn renewable(&self) -> Arc<Renewable> {
        Arc::clone(&self.renewable)
    }
}

fn config(tls: &Tls) -> Result<Arc<ServerConfig>> {
    let identity = Identity { certificates: &tls.certificates, key: &tls.key };
    Ok(server_config(identity, &tls.clients, tls.oldest)?)
}
