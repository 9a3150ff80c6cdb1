//! Fair shares: a number of slots that several clients want, handed out so that none of them can take all.
//!
//! A client may take one more slot only while more are free than it holds itself. A greedy client alone gets half of
//! them, the next one half of what is left, and so on, so that the client that comes last still finds one. A configured
//! number per client takes the place of that rule. Clients that wait get their slots in turn, one each.
//!
//! Sessions, streams, blocking threads and index work are all shared out by this module; it knows nothing of what a
//! slot is.

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
    /// Those of the clients that hold slots.
    lanes: BTreeSet<usize>,
    /// Clients with a queue, the next to be served first.
    turns: VecDeque<ClientKey>,
    queues: HashMap<ClientKey, VecDeque<oneshot::Sender<SharePermit>>>,
}

/// What one client holds.
#[derive(Clone, Copy)]
struct HeldSlots {
    slots: usize,
    /// A small number that no other client has while this one holds slots.
    lane: usize,
}

/// Why there is no slot now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// Every slot is taken.
    Full,
    /// The client has its share.
    OwnShare,
}

impl FairShares {
    /// `per_client` is what one client may hold at most, where it is not left to the rule.
    pub(crate) fn new(slots: usize, per_client: Option<usize>) -> Arc<Self> {
        Arc::new(Self { slots, per_client, state: Mutex::default() })
    }

    /// Slots that are taken now.
    pub(crate) fn taken(&self) -> usize {
        self.state().taken
    }

    /// Takes a slot, if there is one for this client now.
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

    /// Takes a slot back and gives what is free to those who wait.
    fn give_back(self: &Arc<Self>, client: &ClientKey) {
        let granted = {
            let mut state = self.state();
            state.let_go(client);
            self.grant(&mut state)
        };
        for (sender, permit) in granted {
            // A permit that its client no longer waits for comes back here by being dropped.
            drop(sender.send(permit));
        }
    }

    /// Serves the queues in turn for as long as one of their clients may have a slot.
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
    /// Counts one more slot of a client; gives its lane.
    fn hold(&mut self, client: &ClientKey) -> usize {
        self.taken += 1;
        if let Some(held) = self.held.get_mut(client) {
            held.slots += 1;
            return held.lane;
        }
        // The lanes are sorted, so that the first that is not where it would be leaves the least number free.
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
        // Clients that come and go must not be remembered.
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

/// One slot of a client's. Dropping it makes room for the next.
#[derive(Debug)]
pub(crate) struct SharePermit {
    shares: Arc<FairShares>,
    client: ClientKey,
    lane: usize,
    is_counted: bool,
}

impl SharePermit {
    /// A small number that tells the clients apart that hold slots at the same time.
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
    use docent_transport::{Caller, Principal, PrincipalKind, ConnectionKind};
    use futures::FutureExt;
    use std::{future::Future, pin::Pin};

    fn client(name: &str) -> ClientKey {
        let kind = PrincipalKind::Key;
        let principal = Principal { name: name.into(), scopes: [].into(), kind, grant: None };
        Caller { principal, via: ConnectionKind::Http, remote: None }.client()
    }

    /// Takes as many slots as there are for a client.
    fn greedy(shares: &Arc<FairShares>, name: &str) -> Vec<SharePermit> {
        std::iter::from_fn(|| shares.try_take(client(name)).ok()).collect()
    }

    #[test]
    fn no_number_of_greedy_clients_takes_everything() {
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
    fn who_has_its_share_is_told_apart_from_all_being_taken() {
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
    fn a_configured_number_takes_the_place_of_the_rule() {
        let shares = FairShares::new(8, Some(7));
        let first = greedy(&shares, "a");
        assert_eq!((first.len(), greedy(&shares, "b").len()), (7, 1));
        assert_eq!(shares.try_take(client("a")).err(), Some(Shortage::OwnShare));
    }

    #[test]
    fn clients_that_hold_slots_have_lanes_of_their_own() {
        let shares = FairShares::new(64, None);
        let lane = |name: &str| shares.try_take(client(name)).unwrap();
        let (a, b, again) = (lane("a"), lane("b"), lane("a"));
        assert_eq!((a.lane(), b.lane(), again.lane()), (0, 1, 0));
        drop((a, again));
        assert_eq!((lane("c").lane(), lane("b").lane()), (0, 1));
    }

    type Waiting<'a> = Pin<Box<dyn Future<Output = SharePermit> + 'a>>;

    /// Waits in line as a client; it has asked for its slot when this returns.
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
    fn who_no_longer_waits_keeps_no_slot() {
        let shares = FairShares::new(1, None);
        let running = shares.take(client("a")).now_or_never().unwrap();
        let gone = wait(&shares, "b");
        let granted = wait(&shares, "c");
        let mut last = wait(&shares, "d");
        drop(gone);
        drop(running);
        // Its turn has come, and it leaves with the slot in its hands.
        assert!(last.as_mut().now_or_never().is_none());
        drop(granted);
        assert!(last.as_mut().now_or_never().is_some());
        assert_eq!(shares.taken(), 0);
    }
}
