//! From a URL to the addresses that may be connected to.
//!
//! The client hands these, and no name, to the connection: what was checked is what is reached.

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

/// The most addresses of one host that are tried; what the connection has room for.
const MAX_ADDRESSES: usize = 16;

/// Where a name's addresses come from.
pub trait AddressLookup: fmt::Debug + Send + Sync {
    /// All addresses of a host.
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// Asks the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl AddressLookup for SystemLookup {
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok((host, port).to_socket_addrs()?.collect())
    }
}

/// Looks a host up once, and lets its addresses pass only if all of them may be reached.
#[derive(Debug)]
pub(crate) struct GuardedResolver {
    pub(crate) policy: NetworkPolicy,
    pub(crate) lookup: Arc<dyn AddressLookup>,
}

impl GuardedResolver {
    /// The system's lookup knows no deadline, so that it has a thread of its own.
    fn look_up(&self, leave: &AccessGrant, timeout: NextTimeout) -> Result<Vec<SocketAddr>, Error> {
        if let Some(address) = leave.address {
            return Ok(vec![SocketAddr::new(address, leave.port)]);
        }
        let (answer, answered) = mpsc::sync_channel(1);
        let (lookup, host, port) = (Arc::clone(&self.lookup), leave.host.clone(), leave.port);
        thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            // Nobody listens any more once the deadline has passed.
            answer.send(lookup.addresses(&host, port)).ok();
        })?;
        match answered.recv_timeout(*timeout.after) {
            Ok(found) => Ok(found?),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(Error::Timeout(timeout.reason)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(Error::HostNotFound),
        }
    }
}

/// One address that leads inside refuses the whole name: a good one beside it is how such names are disguised.
fn check_addresses(leave: &AccessGrant, found: &[SocketAddr]) -> Result<(), FetchRefusal> {
    if leave.address.is_some() {
        // The policy names this very address.
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
        // Read again from what is sent, so that two readings of one URL can't differ.
        let url = Url::parse(&uri.to_string()).map_err(|error| Error::BadUri(error.to_string()))?;
        let refuse = |refusal: FetchRefusal| Error::Other(Box::new(refusal));
        let leave = self.policy.leave(&url).map_err(refuse)?;
        let found = self.look_up(&leave, timeout)?;
        check_addresses(&leave, &found).map_err(refuse)?;
        let mut addresses = self.empty();
        for address in found.into_iter().take(MAX_ADDRESSES) {
            // A lookup has no say in the port.
            addresses.push(SocketAddr::new(address.ip(), leave.port));
        }
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}
