//! Fair shares: slots for which several clients compete, assigned so that none of them can take all.
//!
//! A client may take one more slot only while more are free than it has itself. A greedy client alone gets half of
//! them, the next one half of the rest, and so on, so that a late client still gets one. A configured number per client
//! replaces that rule. Waiting clients get their slots in turn, one each.
//!
//! This module shares out sessions, streams, blocking threads and index work; it does not know what a slot is for.

use docent_transport::ClientKey;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

/// Slots of one kind.
pub(crate) struct FairShares {
    slots: usize,
    per_client: Option<usize>,
    state: Mutex<ShareState>,
}

#[derive(Default)]
struct ShareState {
    taken: usize,
    held: HashMap<ClientKey, HeldSlots>,
    /// The lanes of the clients that have slots.
    lanes: BTreeSet<usize>,
    /// Clients with a queue, the next to be served first.
    turns: VecDeque<ClientKey>,
    queues: HashMap<ClientKey, VecDeque<oneshot::Sender<SharePermit>>>,
}

/// The slots of one client.
#[derive(Clone, Copy)]
struct HeldSlots {
    slots: usize,
    /// A small number, unique among the clients that have slots.
    lane: usize,
}

/// Why no slot is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// Every slot is taken.
    Full,
    /// The client has its share.
    OwnShare,
}

impl FairShares {
    /// `per_client` is the maximum of one client, unless the rule applies.
    pub(crate) fn new(slots: usize, per_client: Option<usize>) -> Arc<Self> {
        Arc::new(Self { slots, per_client, state: Mutex::default() })
    }

    /// Number of slots in use.
    pub(crate) fn taken(&self) -> usize {
        self.state().taken
    }

    /// Takes a slot, if one is available to this client now.
    pub(crate) fn try_take(self: &Arc<Self>, client: ClientKey) -> Result<SharePermit, Shortage> {
        self.take_now(&mut self.state(), client)
    }

    /// Takes a slot, waiting for the client's turn. Dropping the future leaves the queue.
    pub(crate) async fn take(self: &Arc<Self>, client: ClientKey) -> SharePermit {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.state();
            if !state.queues.contains_key(&client)
                && let Ok(permit) = self.take_now(&mut state, client.clone())
            {
                return permit;
            }
            let queue = state.queues.entry(client.clone()).or_default();
            queue.push_back(sender);
            if queue.len() == 1 {
                state.turns.push_back(client.clone());
            }
        }
        match receiver.await {
            Ok(permit) => permit,
            // The sender is dropped only with the shares themselves, which this borrows.
            Err(_) => SharePermit { shares: Arc::clone(self), client, lane: 0, is_counted: false },
        }
    }

    fn state(&self) -> MutexGuard<'_, ShareState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_now(
        self: &Arc<Self>,
        state: &mut ShareState,
        client: ClientKey,
    ) -> Result<SharePermit, Shortage> {
        let free = self.slots.saturating_sub(state.taken);
        let held = state.held.get(&client).map_or(0, |held| held.slots);
        if free == 0 {
            return Err(Shortage::Full);
        }
        if held >= self.per_client.unwrap_or(free) {
            return Err(Shortage::OwnShare);
        }
        let lane = state.hold(&client);
        Ok(SharePermit { shares: Arc::clone(self), client, lane, is_counted: true })
    }

    /// Returns a slot and assigns free ones to waiting clients.
    fn give_back(self: &Arc<Self>, client: &ClientKey) {
        let granted = {
            let mut state = self.state();
            state.let_go(client);
            self.grant(&mut state)
        };
        for (sender, permit) in granted {
            // A permit whose client no longer waits is returned by dropping it.
            drop(sender.send(permit));
        }
    }

    /// Serves the queues in turn while one of their clients may have a slot.
    fn grant(
        self: &Arc<Self>,
        state: &mut ShareState,
    ) -> Vec<(oneshot::Sender<SharePermit>, SharePermit)> {
        let mut granted = Vec::new();
        let mut passed_over = 0;
        while passed_over < state.turns.len() {
            let Some(client) = state.turns.pop_front() else { break };
            let Some(mut queue) = state.queues.remove(&client) else { continue };
            queue.retain(|sender| !sender.is_closed());
            if queue.is_empty() {
                continue;
            }
            match self.take_now(state, client.clone()) {
                Ok(permit) => {
                    passed_over = 0;
                    granted.extend(queue.pop_front().map(|sender| (sender, permit)));
                }
                Err(_) => passed_over += 1,
            }
            if !queue.is_empty() {
                state.queues.insert(client.clone(), queue);
                state.turns.push_back(client);
            }
        }
        granted
    }
}

impl ShareState {
    /// Counts one more slot of a client; returns its lane.
    fn hold(&mut self, client: &ClientKey) -> usize {
        self.taken += 1;
        if let Some(held) = self.held.get_mut(client) {
            held.slots += 1;
            return held.lane;
        }
        // The lanes are sorted, so the first one that differs from its index leaves the lowest number free.
        let gap = self.lanes.iter().enumerate().find(|(at, lane)| at != *lane);
        let lane = gap.map_or(self.lanes.len(), |(at, _)| at);
        self.lanes.insert(lane);
        self.held.insert(client.clone(), HeldSlots { slots: 1, lane });
        lane
    }

    fn let_go(&mut self, client: &ClientKey) {
        self.taken = self.taken.saturating_sub(1);
        let Some(held) = self.held.get_mut(client) else { return };
        held.slots = held.slots.saturating_sub(1);
        // Clients must not accumulate.
        if held.slots == 0 {
            self.lanes.remove(&held.lane);
            self.held.remove(client);
        }
    }
}

impl fmt::Debug for FairShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairShares").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// One slot of a client. Dropping it makes room for the next.
#[derive(Debug)]
pub(crate) struct SharePermit {
    shares: Arc<FairShares>,
    client: ClientKey,
    lane: usize,
    is_counted: bool,
}

impl SharePermit {
    /// A small number, unique among the clients that have slots at the same time.
    pub(crate) fn lane(&self) -> usize {
        self.lane
    }
}

impl Drop for SharePermit {
    fn drop(&mut self) {
        if self.is_counted {
            self.shares.give_back(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_transport::{Caller, ConnectionKind, Principal, PrincipalKind};
    use futures::FutureExt;
    use std::{future::Future, pin::Pin};

    fn client(name: &str) -> ClientKey {
        let kind = PrincipalKind::Key;
        let principal = Principal { name: name.into(), scopes: [].into(), kind, grant: None };
        Caller { principal, via: ConnectionKind::Http, remote: None }.client()
    }

    /// Takes as many slots as a client can get.
    fn greedy(shares: &Arc<FairShares>, name: &str) -> Vec<SharePermit> {
        std::iter::from_fn(|| shares.try_take(client(name)).ok()).collect()
    }

    #[test]
    fn greedy_clients_cannot_take_everything() {
        for (slots, want) in
            [(1, [1, 0, 0]), (2, [1, 1, 0]), (12, [6, 3, 2]), (2000, [1000, 500, 250])]
        {
            let shares = FairShares::new(slots, None);
            let held = ["a", "b", "c"].map(|name| greedy(&shares, name));
            assert_eq!(held.each_ref().map(Vec::len), want, "{slots}");
            assert_eq!(shares.taken(), want.iter().sum::<usize>());
        }
    }

    #[test]
    fn a_used_share_is_distinguished_from_all_slots_in_use() {
        let shares = FairShares::new(4, None);
        let first = greedy(&shares, "a");
        assert_eq!(shares.try_take(client("a")).err(), Some(Shortage::OwnShare));
        let second = greedy(&shares, "b");
        let third = greedy(&shares, "c");
        assert_eq!((first.len(), second.len(), third.len()), (2, 1, 1));
        assert_eq!(shares.try_take(client("d")).err(), Some(Shortage::Full));
        drop(second);
        assert!(shares.try_take(client("d")).is_ok());
        drop((first, third));
        assert_eq!(shares.taken(), 0);
        assert!(shares.state().held.is_empty(), "clients that left are not remembered");
    }

    #[test]
    fn a_configured_number_replaces_the_rule() {
        let shares = FairShares::new(8, Some(7));
        let first = greedy(&shares, "a");
        assert_eq!((first.len(), greedy(&shares, "b").len()), (7, 1));
        assert_eq!(shares.try_take(client("a")).err(), Some(Shortage::OwnShare));
    }

    #[test]
    fn clients_with_slots_have_unique_lanes() {
        let shares = FairShares::new(64, None);
        let lane = |name: &str| shares.try_take(client(name)).unwrap();
        let (a, b, again) = (lane("a"), lane("b"), lane("a"));
        assert_eq!((a.lane(), b.lane(), again.lane()), (0, 1, 0));
        drop((a, again));
        assert_eq!((lane("c").lane(), lane("b").lane()), (0, 1));
    }

    type Waiting<'a> = Pin<Box<dyn Future<Output = SharePermit> + 'a>>;

    /// Waits in the queue as a client; its request is queued when this returns.
    fn wait<'a>(shares: &'a Arc<FairShares>, name: &str) -> Waiting<'a> {
        let mut waiting: Waiting<'a> = Box::pin(shares.take(client(name)));
        assert!(waiting.as_mut().now_or_never().is_none(), "{name} does not have to wait");
        waiting
    }

    #[test]
    fn clients_that_wait_are_served_in_turn() {
        let shares = FairShares::new(1, None);
        let mut running = shares.take(client("a")).now_or_never().unwrap();
        let mut line: Vec<(&str, Waiting<'_>)> = ["a", "a", "a", "b", "b", "c"]
            .into_iter()
            .map(|name| (name, wait(&shares, name)))
            .collect();
        let mut served = Vec::new();
        while !line.is_empty() {
            drop(running);
            let ready = line.iter_mut().enumerate().find_map(|(at, (name, waiting))| {
                Some((at, *name, waiting.as_mut().now_or_never()?))
            });
            let (at, name, permit) = ready.unwrap();
            running = permit;
            served.push(name);
            drop(line.remove(at));
        }
        assert_eq!(served, ["a", "b", "c", "a", "b", "a"]);
        drop(running);
        assert_eq!(shares.taken(), 0);
        assert!(shares.state().queues.is_empty() && shares.state().turns.is_empty());
    }

    #[test]
    fn an_abandoned_wait_keeps_no_slot() {
        let shares = FairShares::new(1, None);
        let running = shares.take(client("a")).now_or_never().unwrap();
        let gone = wait(&shares, "b");
        let granted = wait(&shares, "c");
        let mut last = wait(&shares, "d");
        drop(gone);
        drop(running);
        // Its turn has come, and it leaves while it has the slot.
        assert!(last.as_mut().now_or_never().is_none());
        drop(granted);
        assert!(last.as_mut().now_or_never().is_some());
        assert_eq!(shares.taken(), 0);
    }
}
