//! The server's listeners, and which of them are encrypted.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use reactor::Address;
use reactor::tls::{Clients, Oldest};

use crate::extended::Extended;
use crate::flags::{Flags, UdpPort};
use crate::listen::Layer;
use crate::memcached_flags::no_effect;
use crate::{Config, Tls};

/// Where the server listens.
pub(super) struct Places {
    /// Without TLS.
    pub(super) listen: Vec<Address>,
    /// For RESP without TLS.
    pub(super) resp: Vec<SocketAddr>,
    pub(super) tls: Option<Tls>,
}

/// Where to listen. `network` is false with a Unix socket alone.
///
/// Errors: options that contradict each other; the port for RESP is another's.
pub(super) fn of(
    flags: &Flags,
    extended: &Extended,
    network: bool,
    warnings: &mut Vec<String>,
) -> Result<Places> {
    let (mut listen, mut encrypted) = (Vec::new(), Vec::new());
    let (mut resp, mut resp_encrypted) = (Vec::new(), Vec::new());
    for listener in flags.listen.iter().flat_map(|listeners| &listeners.0).filter(|_| network) {
        let streams = listener.place.addresses(flags.port)?;
        // As in memcached, a port that is part of an address is for TCP.
        let with = |port: u16| -> Vec<SocketAddr> {
            let mut addresses = streams.clone();
            addresses.iter_mut().for_each(|address| address.set_port(port));
            addresses
        };
        let datagrams = match flags.udp_port {
            UdpPort::None => Vec::new(),
            // One of 0 is known once the listener has taken a free one.
            UdpPort::OfTcp | UdpPort::Any => streams.clone(),
            UdpPort::Port(port) => with(port.get()),
        };
        let beside = flags.tls_port.map_or_else(Vec::new, with);
        let has_tls = is_encrypted(flags, extended, listener.layer)?;
        for own in flags.resp_port.map_or_else(Vec::new, with) {
            // Several addresses of one machine share the port.
            if !resp.contains(&own) && !resp_encrypted.contains(&own) {
                if has_tls { &mut resp_encrypted } else { &mut resp }.push(own);
            }
        }
        if has_tls {
            encrypted.extend(streams);
        } else {
            listen.extend(streams.into_iter().map(Address::Tcp));
        }
        listen.extend(datagrams.into_iter().map(Address::Udp));
        encrypted.extend(beside);
    }
    ensure!(
        network
            || (flags.udp_port == UdpPort::None
                && flags.tls_port.is_none()
                && flags.resp_port.is_none()
                && !flags.enable_ssl),
        "with -s alone there is no network for -U, -Z, --tls-port and --resp-port; give -l, too"
    );
    let others = listen.iter().filter_map(Address::socket).chain(encrypted.iter().copied());
    if let Some(taken) =
        others.filter(|at| at.port() != 0).find(|at| resp.contains(at) || resp_encrypted.contains(at))
    {
        bail!("--resp-port {} is that of memcached's protocol at {taken}; give another one", taken.port());
    }
    if flags.enable_ssl && flags.udp_port != UdpPort::None {
        warnings.push("-Z does not encrypt the datagrams of -U".into());
    }
    listen.extend(flags.unix_socket.clone().map(Address::Unix));
    let tls = tls(flags, extended, encrypted, warnings)?.map(|tls| Tls { resp: resp_encrypted, ..tls });
    Ok(Places { listen, resp, tls })
}

/// The addresses of each thread's own ports, from `first` up, on every TCP address.
///
/// Errors: the server has no TCP address, or too few ports are left, or one of them is the port for all keys; or all
/// ports have TLS.
pub(super) fn of_partitions(flags: &Flags, config: &Config, first: u16) -> Result<Vec<Vec<SocketAddr>>> {
    ensure!(
        !flags.enable_ssl,
        "--partition-ports are not encrypted, and -Z is for all ports; leave one of the two out"
    );
    let streams = config.listen.iter().filter(|address| !address.is_datagram());
    let of_all_keys: Vec<SocketAddr> = streams.filter_map(|address| address.socket()).collect();
    let mut ips: Vec<IpAddr> = of_all_keys.iter().map(SocketAddr::ip).collect();
    ips.sort();
    ips.dedup();
    ensure!(!ips.is_empty(), "with -s alone there is no network for --partition-ports; give -l, too");
    let threads = config.cpus.len();
    let port =
        |thread: usize| if first == 0 { Some(0) } else { first.checked_add(u16::try_from(thread).ok()?) };
    let of_thread = |thread| {
        let Some(port) = port(thread) else {
            bail!(
                "--partition-ports {first} leaves too few ports for {threads} threads; the last is 65535; give a lower one"
            );
        };
        Ok(ips.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
    };
    let ports: Vec<Vec<SocketAddr>> = (0..threads).map(of_thread).collect::<Result<_>>()?;
    let encrypted = config.tls.iter().flat_map(|tls| &tls.listen).copied();
    let resp = config.resp_places().map(|(at, _)| at);
    let taken = of_all_keys.iter().copied().chain(encrypted).chain(resp).find(|socket| {
        // Sockets of one server may share a port, and a client of a thread's would come to any.
        first != 0 && ports.iter().flatten().any(|own| own.port() == socket.port())
    });
    if let Some(taken) = taken {
        bail!(
            "--partition-ports {first} takes ports {first} to {} for {threads} threads, and {taken} is for all keys; give another \
             range, or another -p, --tls-port or --resp-port",
            usize::from(first) + threads - 1
        );
    }
    Ok(ports)
}

fn is_encrypted(flags: &Flags, extended: &Extended, layer: Layer) -> Result<bool> {
    if layer == Layer::Usual {
        return Ok(flags.enable_ssl);
    }
    let prefix = layer.prefix();
    ensure!(
        flags.enable_ssl,
        "{prefix} before an address of -l has a meaning with -Z only; give -Z or leave it out"
    );
    // All encrypted listeners ask their clients for the same.
    let requires = flags.tls_client_ca.is_some() || extended.verify_mode.is_some_and(|mode| mode >= 2);
    let asks = requires || extended.verify_mode == Some(1);
    match layer {
        Layer::Tls if asks => bail!(
            "{prefix} asks clients for no certificate, and -o ssl_verify_mode does so on every address; run a second \
             server for {prefix}"
        ),
        Layer::MutualTls if !requires => bail!(
            "{prefix} requires certificates of clients, which is set for all addresses at once; give \
             -o ssl_verify_mode=2,ssl_ca_cert=FILE"
        ),
        layer => Ok(layer != Layer::Plain),
    }
}

/// The certificate and the clients that it is for, if TLS is used.
fn tls(
    flags: &Flags,
    extended: &Extended,
    listen: Vec<SocketAddr>,
    warnings: &mut Vec<String>,
) -> Result<Option<Tls>> {
    let own = [
        ("--tls-cert", &flags.tls_cert),
        ("--tls-key", &flags.tls_key),
        ("--tls-client-ca", &flags.tls_client_ca),
    ];
    let memcacheds = [
        ("-o ssl_chain_cert", extended.chain_cert.is_some()),
        ("-o ssl_key", extended.key.is_some()),
        ("-o ssl_ca_cert", extended.ca_cert.is_some()),
        ("-o ssl_verify_mode", extended.verify_mode.is_some()),
        ("-o ssl_min_version", extended.min_version.is_some()),
    ];
    if !flags.enable_ssl && flags.tls_port.is_none() {
        for (name, file) in own {
            ensure!(
                file.is_none(),
                "{name} is for TLS, which is off; give -Z or --tls-port, or leave it out"
            );
        }
        let given = memcacheds.iter().filter(|(_, given)| *given);
        warnings.extend(given.map(|(name, _)| no_effect(name, "TLS is off without -Z or --tls-port")));
        return Ok(None);
    }
    let Some(certificates) = flags.tls_cert.clone().or_else(|| extended.chain_cert.clone()) else {
        let name = if flags.enable_ssl { "-Z" } else { "--tls-port" };
        bail!("{name} needs a certificate; name its PEM file with --tls-cert or -o ssl_chain_cert=FILE");
    };
    let key = flags.tls_key.clone().or_else(|| extended.key.clone()).unwrap_or_else(|| certificates.clone());
    let oldest = match extended.min_version {
        Some(3) => Oldest::Tls13,
        Some(version @ 0..=1) => {
            warnings.push(format!(
                "-o ssl_min_version={version} is raised to 2: TLS 1.2 is the oldest version here"
            ));
            Oldest::Tls12
        }
        _ => Oldest::Tls12,
    };
    Ok(Some(Tls {
        listen,
        resp: Vec::new(),
        certificates,
        key,
        clients: clients(flags, extended, warnings)?,
        oldest,
    }))
}

/// Which clients TLS is spoken with.
fn clients(flags: &Flags, extended: &Extended, warnings: &mut Vec<String>) -> Result<Clients> {
    let authorities = flags.tls_client_ca.clone().or_else(|| extended.ca_cert.clone());
    let verified_by = |mode: u32| -> Result<PathBuf> {
        authorities.clone().ok_or_else(|| {
            anyhow::anyhow!(
                "-o ssl_verify_mode={mode} verifies certificates of clients; name the file of their authorities with \
                 -o ssl_ca_cert=FILE"
            )
        })
    };
    match (extended.verify_mode, &flags.tls_client_ca) {
        (None, Some(authorities)) => Ok(Clients::Required(authorities.clone())),
        (Some(0), Some(_)) => {
            bail!(
                "--tls-client-ca requires certificates of clients, and -o ssl_verify_mode=0 none; leave out one of the two"
            )
        }
        (None | Some(0), None) => {
            if extended.ca_cert.is_some() {
                warnings.push(no_effect(
                    "-o ssl_ca_cert",
                    "ssl_verify_mode is 0, so clients need no certificate; give -o ssl_verify_mode=2 to require one",
                ));
            }
            Ok(Clients::Any)
        }
        (Some(1), _) => Ok(Clients::Optional(verified_by(1)?)),
        (Some(mode), _) => Ok(Clients::Required(verified_by(mode)?)),
    }
}
