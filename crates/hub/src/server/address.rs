//! Addresses of resources: which server owns one, and its public form when two servers have the same.

use docent_tool::UriTemplate;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Addresses that are remembered because a result mentioned them.
const MAX_SEEN_ADDRESSES: usize = 10_000;

/// Owners of addresses. A server that lists an address takes precedence over one that mentioned it in a result.
#[derive(Default)]
pub(crate) struct Addresses {
    owners: Mutex<HashMap<String, AddressOwner>>,
    /// Listed resource templates. Their owners are looked up like those of addresses.
    families: Mutex<BTreeMap<String, UriTemplate>>,
    /// Servers in the configured order: of two that list the same address, the first owns it.
    order: Mutex<Vec<String>>,
}

struct AddressOwner {
    server: String,
    listed: bool,
}

impl Addresses {
    fn owners(&self) -> MutexGuard<'_, HashMap<String, AddressOwner>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_order(&self, servers: Vec<String>) {
        *self.order.lock().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    fn rank(&self, server: &str) -> usize {
        let order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        order.iter().position(|known| known == server).unwrap_or(usize::MAX)
    }

    /// Records that a server lists an address.
    pub(crate) fn claim_listed(&self, address: &str, server: &str) {
        let mut owners = self.owners();
        let goes_before =
            |owner: &AddressOwner| !owner.listed || self.rank(server) < self.rank(&owner.server);
        if owners.get(address).is_none_or(goes_before) {
            let server = server.to_owned();
            owners.insert(address.to_owned(), AddressOwner { server, listed: true });
        }
    }

    /// Records that a server lists a resource template.
    pub(crate) fn claim_family(&self, template: &str, server: &str) {
        self.claim_listed(template, server);
        if let Some(family) = UriTemplate::new(template) {
            self.families().insert(template.to_owned(), family);
        }
    }

    fn families(&self) -> MutexGuard<'_, BTreeMap<String, UriTemplate>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an address without an owner matches a template, but no template of this server.
    fn is_in_other_family(&self, address: &str, server: &str) -> bool {
        let fits = |family: &(&String, &UriTemplate)| family.1.matches(address);
        let families: Vec<String> =
            self.families().iter().filter(fits).map(|(template, _)| template.clone()).collect();
        !families.is_empty() && !families.iter().any(|family| self.is_owned_by(family, server))
    }

    /// Records that a server's result mentions an address without an owner.
    pub(crate) fn claim_seen(&self, address: &str, server: &str) {
        if self.is_in_other_family(address, server) {
            return;
        }
        let mut owners = self.owners();
        if owners.len() < MAX_SEEN_ADDRESSES {
            let owner = || AddressOwner { server: server.to_owned(), listed: false };
            owners.entry(address.to_owned()).or_insert_with(owner);
        }
    }

    /// Whether this server owns the address.
    pub(crate) fn is_owned_by(&self, address: &str, server: &str) -> bool {
        self.owners().get(address).is_some_and(|owner| owner.server == server)
    }

    /// Whether another server owns the address.
    pub(crate) fn is_owned_by_another(&self, address: &str, server: &str) -> bool {
        self.owners().get(address).is_some_and(|owner| owner.server != server)
    }

    /// Returns the address that docent's clients use.
    pub(crate) fn public_address(&self, address: &str, server: &str) -> String {
        let is_own = self.is_owned_by(address, server);
        if !is_own
            && (self.is_owned_by_another(address, server)
                || self.is_in_other_family(address, server))
        {
            format!("{}{address}", prefix(server))
        } else {
            address.to_owned()
        }
    }

    /// Releases the addresses of a stopped server, unless another of the same name is configured.
    pub(crate) fn release(&self, server: &str) {
        if self.rank(server) != usize::MAX {
            return;
        }
        let mut owners = self.owners();
        owners.retain(|_, owner| owner.server != server);
        self.families().retain(|template, _| owners.contains_key(template));
    }
}

/// Returns the prefix that makes a server's address unique.
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
        assert_eq!(
            addresses.public_address("a:b", "one"),
            "a:b",
            "a listing takes precedence over a mention"
        );
        assert_eq!(addresses.public_address("a:b", "two"), "docent+two:a:b");
        addresses.set_order(vec!["one".into(), "two".into()]);
        addresses.release("one");
        assert_eq!(
            addresses.public_address("a:b", "two"),
            "docent+two:a:b",
            "another `one` took its place"
        );
        addresses.set_order(vec!["two".into()]);
        addresses.release("one");
        assert_eq!(addresses.public_address("a:b", "two"), "a:b");
    }

    #[test]
    fn the_second_owner_of_a_family_gets_longer_addresses() {
        let addresses = Addresses::default();
        for server in ["one", "two"] {
            addresses.claim_family("a:{b}", server);
        }
        assert_eq!(addresses.public_address("a:{b}", "one"), "a:{b}");
        assert_eq!(addresses.public_address("a:{b}", "two"), "docent+two:a:{b}");
        // Mentioning a matching address does not make it a server's own.
        for server in ["two", "three"] {
            addresses.claim_seen("a:1", server);
            assert_eq!(addresses.public_address("a:1", server), format!("docent+{server}:a:1"));
        }
        assert_eq!(addresses.public_address("a:1", "one"), "a:1");
        addresses.release("one");
        assert_eq!(addresses.public_address("a:1", "three"), "a:1");
    }
}
