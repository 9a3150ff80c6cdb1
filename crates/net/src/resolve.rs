//! Resolves a URL to the addresses that may be connected to.
//!
//! The client connects to these addresses, not to a name, so that it reaches exactly what was checked.

use crate::{
    address::AddressClass,
    policy::{AccessGrant, NetworkPolicy},
    refusal::FetchRefusal,
};
use std::{
    fmt, io,
    net::{SocketAddr, ToSocketAddrs},
    sync::{Arc, mpsc},
    thread,
};
use ureq::{
    Error,
    config::Config,
    http::Uri,
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::NextTimeout,
    },
};
use url::Url;

/// Maximum number of addresses tried per host; the capacity of the connection.
const MAX_ADDRESSES: usize = 16;

/// A name resolver.
pub trait AddressLookup: fmt::Debug + Send + Sync {
    /// Returns all addresses of a host.
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The system resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl AddressLookup for SystemLookup {
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok((host, port).to_socket_addrs()?.collect())
    }
}

/// Resolves a host once, and returns its addresses only if all of them are allowed.
#[derive(Debug)]
pub(crate) struct GuardedResolver {
    pub(crate) policy: NetworkPolicy,
    pub(crate) lookup: Arc<dyn AddressLookup>,
}

impl GuardedResolver {
    /// The system resolver has no deadline, so it runs on its own thread.
    fn look_up(&self, leave: &AccessGrant, timeout: NextTimeout) -> Result<Vec<SocketAddr>, Error> {
        if let Some(address) = leave.address {
            return Ok(vec![SocketAddr::new(address, leave.port)]);
        }
        let (answer, answered) = mpsc::sync_channel(1);
        let (lookup, host, port) = (Arc::clone(&self.lookup), leave.host.clone(), leave.port);
        thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            // The receiver is dropped once the deadline has passed.
            answer.send(lookup.addresses(&host, port)).ok();
        })?;
        match answered.recv_timeout(*timeout.after) {
            Ok(found) => Ok(found?),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(Error::Timeout(timeout.reason)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(Error::HostNotFound),
        }
    }
}

/// A single non-public address refuses the whole name: attackers add a public one to disguise it.
fn check_addresses(leave: &AccessGrant, found: &[SocketAddr]) -> Result<(), FetchRefusal> {
    if leave.address.is_some() {
        // The policy lists this address.
        return Ok(());
    }
    for address in found {
        let class = AddressClass::of(address.ip());
        if class != AddressClass::Public && !(leave.private && class.at_home()) {
            let (host, setting) = (leave.host.clone(), leave.setting.clone());
            return Err(FetchRefusal::Inside { host, address: address.ip(), class, setting });
        }
    }
    Ok(())
}

impl Resolver for GuardedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        // Parsed again from the sent URL, so that two parsers can't disagree.
        let url = Url::parse(&uri.to_string()).map_err(|error| Error::BadUri(error.to_string()))?;
        let refuse = |refusal: FetchRefusal| Error::Other(Box::new(refusal));
        let leave = self.policy.permit(&url).map_err(refuse)?;
        let found = self.look_up(&leave, timeout)?;
        check_addresses(&leave, &found).map_err(refuse)?;
        let mut addresses = self.empty();
        for address in found.into_iter().take(MAX_ADDRESSES) {
            // The lookup does not change the port.
            addresses.push(SocketAddr::new(address.ip(), leave.port));
        }
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}
