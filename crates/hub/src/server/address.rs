//! Addresses of resources: which server one belongs to, and what it is called where two servers have the same.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Addresses that are remembered because an answer named them.
const MOST_SEEN: usize = 10_000;

/// Who has an address. One that is listed goes before one that an answer has named.
#[derive(Default)]
pub(crate) struct Addresses {
    owners: Mutex<HashMap<String, Owner>>,
    /// Servers in the order configured: of two that list the same address, the first has it.
    order: Mutex<Vec<String>>,
}

struct Owner {
    server: String,
    listed: bool,
}

impl Addresses {
    fn owners(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_order(&self, servers: Vec<String>) {
        *self.order.lock().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    fn rank(&self, server: &str) -> usize {
        let order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        order.iter().position(|known| known == server).unwrap_or(usize::MAX)
    }

    /// A server lists an address.
    pub(crate) fn claim_listed(&self, address: &str, server: &str) {
        let mut owners = self.owners();
        let goes_before =
            |owner: &Owner| !owner.listed || self.rank(server) < self.rank(&owner.server);
        if owners.get(address).is_none_or(goes_before) {
            let server = server.to_owned();
            owners.insert(address.to_owned(), Owner { server, listed: true });
        }
    }

    /// An answer of a server names an address that nobody has.
    pub(crate) fn claim_seen(&self, address: &str, server: &str) {
        let mut owners = self.owners();
        if owners.len() < MOST_SEEN {
            let owner = || Owner { server: server.to_owned(), listed: false };
            owners.entry(address.to_owned()).or_insert_with(owner);
        }
    }

    /// Whether this server has it.
    pub(crate) fn is_of(&self, address: &str, server: &str) -> bool {
        self.owners().get(address).is_some_and(|owner| owner.server == server)
    }

    /// Whether some other server has it.
    pub(crate) fn is_of_another(&self, address: &str, server: &str) -> bool {
        self.owners().get(address).is_some_and(|owner| owner.server != server)
    }

    /// As docent's clients know it.
    pub(crate) fn public(&self, address: &str, server: &str) -> String {
        if self.is_of_another(address, server) {
            format!("{}{address}", prefix(server))
        } else {
            address.to_owned()
        }
    }

    /// A server has ended. Where another of the same name is configured, it goes on with what was claimed.
    pub(crate) fn release(&self, server: &str) {
        if self.rank(server) != usize::MAX {
            return;
        }
        self.owners().retain(|_, owner| owner.server != server);
    }
}

/// Stands before an address that two servers have.
pub(crate) fn prefix(server: &str) -> String {
    format!("docent+{server}:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_owner_of_an_address_gets_a_longer_one() {
        let addresses = Addresses::default();
        addresses.claim_seen("a:b", "three");
        addresses.claim_listed("a:b", "one");
        addresses.claim_listed("a:b", "two");
        assert_eq!(addresses.public("a:b", "one"), "a:b", "who lists it goes before who names it");
        assert_eq!(addresses.public("a:b", "two"), "docent+two:a:b");
        addresses.set_order(vec!["one".into(), "two".into()]);
        addresses.release("one");
        assert_eq!(addresses.public("a:b", "two"), "docent+two:a:b", "another `one` has followed");
        addresses.set_order(vec!["two".into()]);
        addresses.release("one");
        assert_eq!(addresses.public("a:b", "two"), "a:b");
    }
}
