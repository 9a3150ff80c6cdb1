//! Tracks who wants which change notifications. Nothing is kept of a session or stream that has ended.
#![expect(deprecated, reason = "the protocol marks logging as going; older revisions keep it")]

use crate::{catalog::with_parts, convert, verbatim};
use docent_tool::{Object, ProviderChange, SyslogLevel, ToolProvider};
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{
        LoggingMessageNotification, LoggingMessageNotificationParam, PromptListChangedNotification,
        ResourceListChangedNotification, ResourceUpdatedNotification,
        ResourceUpdatedNotificationParam, ServerNotification, SubscriptionFilter,
        ToolListChangedNotification,
    },
    service::SubscriptionContext,
};
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Maximum addresses that one session or stream may watch.
const MAX_WATCHED_URIS: usize = 1024;
/// Maximum bytes of a watched address, because addresses are kept for as long as their session or stream.
const MAX_WATCHED_URI_BYTES: usize = 8 * 1024;
/// Maximum log lines that wait for one session.
const MAX_PENDING_LOG_LINES: usize = 64;

/// From least to most urgent, in the encoding that a session stores.
pub(crate) const LEVELS: [SyslogLevel; 8] = [
    SyslogLevel::Debug,
    SyslogLevel::Info,
    SyslogLevel::Notice,
    SyslogLevel::Warning,
    SyslogLevel::Error,
    SyslogLevel::Critical,
    SyslogLevel::Alert,
    SyslogLevel::Emergency,
];

/// Tracks all subscribers and watched addresses.
pub(crate) struct Broadcaster {
    providers: Arc<[Arc<dyn ToolProvider>]>,
    inner: Mutex<BroadcasterState>,
}

#[derive(Default)]
struct BroadcasterState {
    next: u64,
    subscribers: HashMap<u64, Arc<Subscriber>>,
    watched: HashMap<String, WatchedUri>,
}

/// A watched address and the number of its watchers; its provider is notified of the first and the last.
struct WatchedUri {
    /// The provider's key: the provider itself may be replaced.
    provider: String,
    watchers: usize,
}

/// Why an address cannot be watched.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WatchRefusal {
    /// It belongs to no provider that this principal may see.
    Unknown,
    /// This session watches too many addresses already.
    TooMany,
}

/// One session or stream. A pending change is kept once, however often it happens.
struct Subscriber {
    wants: Mutex<PendingNotifications>,
    pending: Mutex<PendingNotifications>,
    ready: Notify,
    /// A session of the older revisions is notified through its peer.
    peer: Option<Peer<RoleServer>>,
    access: SubscriberAccess,
    is_sending: AtomicBool,
}

/// What has changed, or which changes are wanted.
#[derive(Debug, Default, Clone, PartialEq)]
struct PendingNotifications {
    tools: bool,
    resources: bool,
    prompts: bool,
    uris: BTreeSet<String>,
    log_lines: Vec<SessionLogLine>,
}

/// A log line that belongs to no call.
#[derive(Debug, Clone, PartialEq)]
struct SessionLogLine {
    level: SyslogLevel,
    logger: String,
    data: Value,
    extra: Object,
}

/// What a session or a stream may receive.
pub(crate) struct SubscriberAccess {
    /// Which log lines, as the session chose: 0, or one more than the index of the level. A stream gets none.
    pub(crate) level: Option<Arc<AtomicU8>>,
    /// Whether its caller may see a provider. Checked each time, because that can change while a connection stays open.
    pub(crate) may_see: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl SubscriberAccess {
    fn accepts_level(&self, provider: &str, level: SyslogLevel) -> bool {
        let Some(chosen) = &self.level else { return false };
        let quietest = match usize::from(chosen.load(Ordering::Relaxed)) {
            0 => SyslogLevel::Info,
            chosen => LEVELS.get(chosen - 1).copied().unwrap_or(SyslogLevel::Info),
        };
        level >= quietest && (self.may_see)(provider)
    }
}

impl PendingNotifications {
    fn everything_listed() -> Self {
        Self { tools: true, resources: true, prompts: true, ..Self::default() }
    }

    fn holds(&self, change: &ProviderChange) -> bool {
        match change {
            ProviderChange::Tools => self.tools,
            ProviderChange::Resources => self.resources,
            ProviderChange::Prompts => self.prompts,
            ProviderChange::Updated(uri) => self.uris.contains(uri),
            ProviderChange::Said { .. } => false,
        }
    }

    fn add(&mut self, change: &ProviderChange) {
        match change {
            ProviderChange::Tools => self.tools = true,
            ProviderChange::Resources => self.resources = true,
            ProviderChange::Prompts => self.prompts = true,
            ProviderChange::Updated(uri) => {
                self.uris.insert(uri.clone());
            }
            // A client that does not keep up misses lines.
            ProviderChange::Said { level, logger, data, extra, .. }
                if self.log_lines.len() < MAX_PENDING_LOG_LINES =>
            {
                let (logger, data, extra) = (logger.clone(), data.clone(), extra.clone());
                self.log_lines.push(SessionLogLine { level: *level, logger, data, extra });
            }
            ProviderChange::Said { .. } => {}
        }
    }

    fn notifications(self) -> Vec<ServerNotification> {
        let line = |line: SessionLogLine| {
            let level = convert::logging_level(line.level);
            let params = LoggingMessageNotificationParam::new(level, line.data);
            let params = verbatim::keep(params.with_logger(line.logger), &line.extra.into());
            LoggingMessageNotification::new(params)
        };
        let said = self.log_lines.into_iter().map(line);
        let mut all: Vec<_> = said.map(ServerNotification::LoggingMessageNotification).collect();
        if self.tools {
            all.push(ServerNotification::ToolListChangedNotification(
                ToolListChangedNotification::default(),
            ));
        }
        if self.resources {
            all.push(ServerNotification::ResourceListChangedNotification(
                ResourceListChangedNotification::default(),
            ));
        }
        if self.prompts {
            all.push(ServerNotification::PromptListChangedNotification(
                PromptListChangedNotification::default(),
            ));
        }
        let updated =
            |uri| ResourceUpdatedNotification::new(ResourceUpdatedNotificationParam::new(uri));
        all.extend(
            self.uris.into_iter().map(updated).map(ServerNotification::ResourceUpdatedNotification),
        );
        all
    }
}

fn locked(news: &Mutex<PendingNotifications>) -> MutexGuard<'_, PendingNotifications> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscriber {
    /// Stores a wanted change. The provider of a changed address must be visible to the caller.
    fn notify(self: &Arc<Self>, change: &ProviderChange, watched: Option<&str>) {
        let wanted = match change {
            ProviderChange::Said { provider, level, .. } => {
                self.access.accepts_level(provider, *level)
            }
            ProviderChange::Updated(_) => {
                locked(&self.wants).holds(change) && watched.is_some_and(&self.access.may_see)
            }
            _ => locked(&self.wants).holds(change),
        };
        if !wanted {
            return;
        }
        locked(&self.pending).add(change);
        match &self.peer {
            None => self.ready.notify_one(),
            Some(peer) => self.send_pending(peer),
        }
    }

    /// Notifies a session in a task of its own, so that one slow client blocks no other.
    fn send_pending(self: &Arc<Self>, peer: &Peer<RoleServer>) {
        if self.is_sending.swap(true, Ordering::AcqRel) {
            return;
        }
        let (this, peer) = (Arc::clone(self), peer.clone());
        tokio::spawn(async move {
            loop {
                let pending = std::mem::take(&mut *locked(&this.pending));
                for notification in pending.notifications() {
                    if peer.send_notification(notification).await.is_err() {
                        return;
                    }
                }
                this.is_sending.store(false, Ordering::Release);
                let more = *locked(&this.pending) != PendingNotifications::default();
                if !more || this.is_sending.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        });
    }
}

impl Broadcaster {
    pub(crate) fn new(providers: Arc<[Arc<dyn ToolProvider>]>) -> Arc<Self> {
        Arc::new(Self { providers, inner: Mutex::default() })
    }

    fn inner(&self) -> MutexGuard<'_, BroadcasterState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies all interested subscribers.
    pub(crate) fn announce(&self, change: &ProviderChange) {
        let inner = self.inner();
        let subscribers: Vec<_> = inner.subscribers.values().cloned().collect();
        let watched = match change {
            ProviderChange::Updated(uri) => {
                inner.watched.get(uri).map(|watch| watch.provider.clone())
            }
            _ => None,
        };
        drop(inner);
        for subscriber in subscribers {
            subscriber.notify(change, watched.as_deref());
        }
    }

    /// Changes were missed: every list and every watched address may be different.
    pub(crate) fn announce_all(&self) {
        let watched: Vec<String> = self.inner().watched.keys().cloned().collect();
        for change in [ProviderChange::Tools, ProviderChange::Resources, ProviderChange::Prompts] {
            self.announce(&change);
        }
        for uri in watched {
            self.announce(&ProviderChange::Updated(uri));
        }
    }

    fn join(
        self: &Arc<Self>,
        wants: PendingNotifications,
        ear: SubscriberAccess,
        peer: Option<Peer<RoleServer>>,
    ) -> BroadcastSubscription {
        let subscriber = Arc::new(Subscriber {
            wants: Mutex::new(wants),
            pending: Mutex::default(),
            ready: Notify::new(),
            peer,
            access: ear,
            is_sending: AtomicBool::new(false),
        });
        let mut inner = self.inner();
        inner.next += 1;
        let id = inner.next;
        inner.subscribers.insert(id, Arc::clone(&subscriber));
        drop(inner);
        BroadcastSubscription { hub: Arc::clone(self), id, subscriber }
    }

    /// A session of the older revisions is notified about every list.
    pub(crate) fn join_session(
        self: &Arc<Self>,
        peer: Peer<RoleServer>,
        ear: SubscriberAccess,
    ) -> BroadcastSubscription {
        self.join(PendingNotifications::everything_listed(), ear, Some(peer))
    }

    fn watch(&self, uri: &str, may_see: impl Fn(&str) -> bool) -> bool {
        if uri.len() > MAX_WATCHED_URI_BYTES {
            return false;
        }
        let mut inner = self.inner();
        if let Some(watch) = inner.watched.get_mut(uri) {
            if !may_see(&watch.provider) {
                return false;
            }
            watch.watchers += 1;
            return true;
        }
        // The table stays locked, so that a provider sees the first and the last watcher in that order.
        let found = with_parts(&self.providers)
            .into_iter()
            .find(|provider| may_see(provider.key()) && provider.watch(uri));
        let Some(provider) = found else { return false };
        let provider = provider.key().to_owned();
        inner.watched.insert(uri.to_owned(), WatchedUri { provider, watchers: 1 });
        true
    }

    fn unwatch(&self, uri: &str) {
        let mut inner = self.inner();
        let Some(watch) = inner.watched.get_mut(uri) else { return };
        watch.watchers -= 1;
        if watch.watchers > 0 {
            return;
        }
        let Some(watch) = inner.watched.remove(uri) else { return };
        let all = with_parts(&self.providers);
        if let Some(provider) = all.iter().find(|provider| provider.key() == watch.provider) {
            provider.unwatch(uri);
        }
    }

    /// The part of a filter that can be served: every list, and the addresses that can be watched.
    pub(crate) fn accept(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.truncate(MAX_WATCHED_URIS);
            let all = with_parts(&self.providers);
            uris.retain(|uri| {
                uri.len() <= MAX_WATCHED_URI_BYTES
                    && all.iter().any(|provider| provider.can_watch(uri))
            });
        }
        accepted
    }

    /// Serves one `subscriptions/listen` until it is cancelled or the server stops.
    pub(crate) async fn listen(
        self: &Arc<Self>,
        context: SubscriptionContext,
        ear: SubscriberAccess,
        stopping: &CancellationToken,
    ) -> Result<(), ErrorData> {
        let accepted = context.accepted();
        let wants = PendingNotifications {
            tools: accepted.tools_list_changed == Some(true),
            resources: accepted.resources_list_changed == Some(true),
            prompts: accepted.prompts_list_changed == Some(true),
            ..PendingNotifications::default()
        };
        let membership = self.join(wants, ear, None);
        for uri in accepted.resource_subscriptions.iter().flatten() {
            if membership.watch(uri, &membership.subscriber.access.may_see).is_err() {
                tracing::debug!(
                    uri,
                    "cannot watch an address of a subscription for this principal"
                );
            }
        }
        loop {
            tokio::select! {
                () = membership.subscriber.ready.notified() => {}
                () = context.cancelled() => return Ok(()),
                () = stopping.cancelled() => return Ok(()),
            }
            let pending = std::mem::take(&mut *locked(&membership.subscriber.pending));
            for notification in pending.notifications() {
                if context.sink().send(notification).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    #[cfg(test)]
    fn sizes(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.subscribers.len(), inner.watched.len())
    }
}

/// A subscriber's membership. Dropping it unsubscribes.
pub(crate) struct BroadcastSubscription {
    hub: Arc<Broadcaster>,
    id: u64,
    subscriber: Arc<Subscriber>,
}

impl BroadcastSubscription {
    /// Starts watching an address. Watching it again changes nothing.
    pub(crate) fn watch(
        &self,
        uri: &str,
        may_see: &dyn Fn(&str) -> bool,
    ) -> Result<(), WatchRefusal> {
        let mut wants = locked(&self.subscriber.wants);
        if wants.uris.contains(uri) {
            return Ok(());
        }
        if wants.uris.len() >= MAX_WATCHED_URIS {
            return Err(WatchRefusal::TooMany);
        }
        if !self.hub.watch(uri, may_see) {
            return Err(WatchRefusal::Unknown);
        }
        wants.uris.insert(uri.to_owned());
        Ok(())
    }

    /// Stops watching an address, if it was watched.
    pub(crate) fn unwatch(&self, uri: &str) {
        if locked(&self.subscriber.wants).uris.remove(uri) {
            self.hub.unwatch(uri);
        }
    }
}

impl Drop for BroadcastSubscription {
    fn drop(&mut self) {
        self.hub.inner().subscribers.remove(&self.id);
        let uris = std::mem::take(&mut locked(&self.subscriber.wants).uris);
        for uri in uris {
            self.hub.unwatch(&uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolPolicy;
    use docent_transport::Principal;

    #[derive(Default)]
    struct WatchedFilesProvider(Mutex<Vec<String>>);

    impl ToolProvider for WatchedFilesProvider {
        fn key(&self) -> &'static str {
            "files"
        }
        fn watch(&self, uri: &str) -> bool {
            let known = uri.starts_with("file:");
            if known {
                self.0.lock().unwrap().push(format!("+{uri}"));
            }
            known
        }
        fn unwatch(&self, uri: &str) {
            self.0.lock().unwrap().push(format!("-{uri}"));
        }
    }

    fn ear(scope: &str) -> SubscriberAccess {
        SubscriberAccess { level: None, may_see: Box::new(principal(scope)) }
    }

    fn principal(scope: &str) -> impl Fn(&str) -> bool + use<> {
        let kind = docent_transport::PrincipalKind::Key;
        let scopes = [scope.to_owned()].into();
        let who = Principal { name: "ann".into(), scopes, kind, grant: None };
        move |provider| ToolPolicy::default().may_see(&who, provider)
    }

    #[test]
    fn a_provider_is_notified_of_the_first_and_the_last_watcher() {
        let files = Arc::new(WatchedFilesProvider::default());
        let hub = Broadcaster::new(Arc::from([Arc::clone(&files) as Arc<dyn ToolProvider>]));
        let all = principal("*");
        let first = hub.join(PendingNotifications::default(), ear("*"), None);
        let second = hub.join(PendingNotifications::default(), ear("*"), None);
        assert_eq!(first.watch("file:a", &all), Ok(()));
        assert_eq!(first.watch("file:a", &all), Ok(()));
        assert_eq!(second.watch("file:a", &all), Ok(()));
        assert_eq!(first.watch("other:a", &all), Err(WatchRefusal::Unknown));
        assert_eq!(
            second.watch("file:a", &principal("web:*")),
            Ok(()),
            "already watched by this session"
        );
        let third = hub.join(PendingNotifications::default(), ear("*"), None);
        assert_eq!(third.watch("file:a", &principal("web:*")), Err(WatchRefusal::Unknown));
        assert_eq!(third.watch("file:b", &principal("web:*")), Err(WatchRefusal::Unknown));
        first.unwatch("file:a");
        first.unwatch("file:a");
        assert_eq!(*files.0.lock().unwrap(), ["+file:a"]);
        assert_eq!(hub.sizes(), (3, 1));
        drop((first, second, third));
        assert_eq!(*files.0.lock().unwrap(), ["+file:a", "-file:a"]);
        assert_eq!(hub.sizes(), (0, 0));
    }

    #[test]
    fn a_filter_is_accepted_as_far_as_providers_know_it() {
        let files = Arc::new(WatchedFilesProvider::default());
        let hub = Broadcaster::new(Arc::from([Arc::clone(&files) as Arc<dyn ToolProvider>]));
        let asked = SubscriptionFilter::builder()
            .tools_list_changed()
            .resource_subscription("file:a")
            .resource_subscription("nowhere:b")
            .build();
        let accepted = hub.accept(&asked);
        assert_eq!(accepted.resource_subscriptions, Some(vec!["file:a".to_owned()]));
        assert_eq!(accepted.tools_list_changed, Some(true));
        assert_eq!(hub.sizes(), (0, 0), "looking does not watch");
    }

    #[test]
    fn changes_are_kept_once_and_only_when_wanted() {
        let hub = Broadcaster::new(Arc::from([]));
        let member = hub.join(
            PendingNotifications { tools: true, ..PendingNotifications::default() },
            ear("*"),
            None,
        );
        for _ in 0..3 {
            hub.announce(&ProviderChange::Tools);
            hub.announce(&ProviderChange::Prompts);
            hub.announce(&ProviderChange::Updated("file:a".into()));
        }
        let pending = locked(&member.subscriber.pending).clone();
        assert_eq!(
            pending,
            PendingNotifications { tools: true, ..PendingNotifications::default() }
        );
    }

    #[test]
    fn a_session_watches_a_bounded_number() {
        let hub = Broadcaster::new(Arc::from([
            Arc::new(WatchedFilesProvider::default()) as Arc<dyn ToolProvider>
        ]));
        let member = hub.join(PendingNotifications::default(), ear("*"), None);
        for n in 0..MAX_WATCHED_URIS {
            assert_eq!(member.watch(&format!("file:{n}"), &principal("*")), Ok(()));
        }
        assert_eq!(member.watch("file:one-more", &principal("*")), Err(WatchRefusal::TooMany));
    }

    #[test]
    fn a_long_address_is_not_kept() {
        let files = Arc::new(WatchedFilesProvider::default());
        let hub = Broadcaster::new(Arc::from([Arc::clone(&files) as Arc<dyn ToolProvider>]));
        let member = hub.join(PendingNotifications::default(), ear("*"), None);
        let address = |length: usize| format!("file:{}", "a".repeat(length - 5));
        let (longest, long) = (address(MAX_WATCHED_URI_BYTES), address(MAX_WATCHED_URI_BYTES + 1));
        assert_eq!(member.watch(&longest, &principal("*")), Ok(()));
        assert_eq!(member.watch(&long, &principal("*")), Err(WatchRefusal::Unknown));
        assert_eq!(hub.sizes(), (1, 1));
        let asked = [longest.clone(), long];
        let asked = SubscriptionFilter::builder().resource_subscriptions(asked).build();
        assert_eq!(hub.accept(&asked).resource_subscriptions, Some(vec![longest]));
    }
}
