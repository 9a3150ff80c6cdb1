//! Slots for connections, limited in total and per address.

use crate::access_control::network;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// All slots of one kind.
pub(super) struct ConnectionSlots {
    most: usize,
    most_per_address: usize,
    taken: Mutex<SlotCounts>,
}

#[derive(Default)]
struct SlotCounts {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// One connection's slot. Dropping it makes room for the next.
pub(super) struct ConnectionPermit {
    places: Arc<ConnectionSlots>,
    address: IpAddr,
}

impl ConnectionSlots {
    pub(super) fn new(most: usize, most_per_address: usize) -> Self {
        Self { most, most_per_address, taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, SlotCounts> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot; `None` if there is none left, in total or for this address.
    pub(super) fn take(self: &Arc<Self>, remote: IpAddr) -> Option<ConnectionPermit> {
        let address = network(remote);
        let mut taken = self.taken();
        let own = taken.by_address.get(&address).copied().unwrap_or(0);
        if taken.all >= self.most || own >= self.most_per_address {
            return None;
        }
        taken.all += 1;
        taken.by_address.insert(address, own + 1);
        Some(ConnectionPermit { places: Arc::clone(self), address })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.by_address.get_mut(&self.address) {
            *own = own.saturating_sub(1);
            // Addresses must not accumulate.
            if *own == 0 {
                taken.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which of the addresses get a slot, in order, with none of them leaving.
    #[track_caller]
    fn check(most: usize, most_per_address: usize, addresses: &[&str], want: &[bool]) {
        let places = Arc::new(ConnectionSlots::new(most, most_per_address));
        let taken: Vec<_> =
            addresses.iter().map(|address| places.take(address.parse().unwrap())).collect();
        let got: Vec<_> = taken.iter().map(Option::is_some).collect();
        assert_eq!(got, want, "{most} {most_per_address} {addresses:?}");
        drop(taken);
        assert_eq!(places.taken().all, 0, "{addresses:?}");
        assert!(places.taken().by_address.is_empty(), "{addresses:?}");
    }

    #[test]
    fn slots_are_counted_in_total_and_by_address() {
        check(2, 9, &["1.1.1.1", "2.2.2.2", "3.3.3.3"], &[true, true, false]);
        check(9, 1, &["1.1.1.1", "1.1.1.1", "3.3.3.3"], &[true, false, true]);
        check(9, 1, &["1.1.1.1", "::ffff:1.1.1.1"], &[true, false]);
        check(9, 1, &["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], &[true, false, true]);
        check(9, 1, &["127.0.0.1", "127.0.0.1", "::1", "::1"], &[true, false, true, false]);
        check(0, 9, &["1.1.1.1"], &[false]);
    }
}
