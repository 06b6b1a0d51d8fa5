use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use reactor::Address;
use reactor::tls::{Identity, Trust, client_config};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use workloads::cache::{Control, ControlError, PATIENCE};

/// How the connections are encrypted.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsOptions {
    /// Encrypt: trust the authorities in this PEM file.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Encrypt, and take any certificate: for test beds. Nobody knows then whom one talks to.
    #[arg(long, conflicts_with = "tls_ca")]
    tls_insecure: bool,
    /// The name that the servers' certificates must bear [default: the host of the target].
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
    /// A certificate of one's own, for servers that ask for one: PEM, the own first.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of --tls-cert: PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// What the connections need to be encrypted.
#[derive(Clone)]
pub(crate) struct TlsClient {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

impl TlsOptions {
    /// What was asked for; `None`: plain connections. `host` is what the target is called.
    ///
    /// Errors: a file that is no PEM of its kind, or a name that cannot be one.
    pub(crate) fn client(&self, host: &str) -> Result<Option<TlsClient>> {
        let trust = match (&self.tls_ca, self.tls_insecure) {
            (Some(file), _) => Trust::Authorities(file),
            (None, true) => Trust::AnyCertificateInsecurely,
            (None, false) if self.tls_cert.is_some() || self.tls_name.is_some() => {
                bail!("TLS without anybody to trust: add --tls-ca FILE, or --tls-insecure on a test bed")
            }
            (None, false) => return Ok(None),
        };
        let identity = match (&self.tls_cert, &self.tls_key) {
            (Some(certificates), Some(key)) => Some(Identity { certificates, key }),
            _ => None,
        };
        let config = client_config(trust, identity)?;
        let name = self.tls_name.as_deref().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name.clone()).with_context(|| {
            format!("'{name}' cannot be the name in a certificate; give it with --tls-name")
        })?;
        Ok(Some(TlsClient { config, name }))
    }
}

/// Connects for what is asked outside of the measurement.
pub(crate) fn control(address: &Address, tls: Option<&TlsClient>) -> Result<(Control, String), ControlError> {
    let Some(tls) = tls else { return Control::connect(address) };
    let server = address.to_string();
    let failed = |source| ControlError::Connect { server: server.clone(), source };
    let session = ClientConnection::new(Arc::clone(&tls.config), tls.name.clone())
        .map_err(|error| failed(std::io::Error::other(error)))?;
    let patience: Duration = PATIENCE;
    match address {
        Address::Tcp(socket) | Address::Udp(socket) => {
            let stream = TcpStream::connect_timeout(socket, patience).map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            stream.set_read_timeout(Some(patience)).map_err(failed)?;
            stream.set_write_timeout(Some(patience)).map_err(failed)?;
            Control::over(Box::new(StreamOwned::new(session, stream)), server)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).map_err(failed)?;
            stream.set_read_timeout(Some(patience)).map_err(failed)?;
            stream.set_write_timeout(Some(patience)).map_err(failed)?;
            Control::over(Box::new(StreamOwned::new(session, stream)), server)
        }
    }
}
