//! OAuth sign-in for servers that require it: discovery, registration, the browser or a client's own credentials,
//! storing and refreshing tokens.
//!
//! The SDK implements the protocol. This module decides which flow is used when, where tokens are stored, and how a
//! person takes part. `Debug` of these types shows no token, secret or code.

mod assertion;
mod callback;
mod guarded_client;
mod login;
mod store;

pub use assertion::SigningAlgorithm;
pub use store::{FileTokenStore, MemoryTokenStore, TokenRecord, TokenStore, TokenStoreError};

use crate::{
    Challenge, Running, SignIn, TransportFailure, http_sender::shorten, http_sender::web_url,
};
use guarded_client::GuardedHttpClient;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, InMemoryCredentialStore,
    OAuthClientConfig, OAuthHttpClient, StoredCredentials, WWWAuthenticateParams,
};
use rmcp::transport::auth::{CredentialStore as _, OAuthTokenResponse};
use serde_json::{Value, json};
use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::sync::{Mutex, MutexGuard};
use url::Url;

/// Shows a page to the user of this machine.
pub trait Browser: Send + Sync {
    /// Opens `url`, or asks the user to. It must not wait for the page.
    fn open(&self, url: &str) -> Result<(), String>;
}

/// docent's identity at the authorization server.
#[derive(Clone)]
pub enum OauthClient {
    /// Not registered yet: uses the URL of a metadata document as id if the server accepts those, and registers
    /// otherwise.
    Unknown {
        /// URL of this client's metadata document.
        metadata_url: Option<String>,
    },
    /// Registered beforehand; the user signs in.
    Registered {
        /// The id that the server issued.
        id: String,
        /// The secret that goes with it.
        secret: Option<String>,
    },
    /// A machine with its own secret; no user signs in.
    Machine {
        /// The id that the server issued.
        id: String,
        /// The secret that goes with it.
        secret: String,
    },
    /// A machine with its own key; no user signs in.
    MachineKey {
        /// The id that the server issued.
        id: String,
        /// The private key, PKCS #8 in PEM.
        key_pem: String,
        /// The signature algorithm.
        algorithm: SigningAlgorithm,
    },
}

impl fmt::Debug for OauthClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { metadata_url } => {
                formatter.debug_struct("Unknown").field("metadata_url", metadata_url).finish()
            }
            Self::Registered { id, .. } => {
                formatter.debug_struct("Registered").field("id", id).finish_non_exhaustive()
            }
            Self::Machine { id, .. } => {
                formatter.debug_struct("Machine").field("id", id).finish_non_exhaustive()
            }
            Self::MachineKey { id, .. } => {
                formatter.debug_struct("MachineKey").field("id", id).finish_non_exhaustive()
            }
        }
    }
}

/// Settings for signing in to one server.
#[derive(Clone)]
pub struct OauthSettings {
    /// The server's name here.
    pub server: String,
    /// Whether the server is configured under that name, so that `docent servers login NAME` works.
    pub is_configured: bool,
    /// Its URL.
    pub url: String,
    /// docent's identity.
    pub client: OauthClient,
    /// Requested scopes; if empty, those that the server names.
    pub scopes: Vec<String>,
    /// Shows pages. Without it no one is asked to sign in, and the requirement is reported.
    pub browser: Option<Arc<dyn Browser>>,
    /// Stores the tokens.
    pub store: Arc<dyn TokenStore>,
    /// The redirect port, if it had to be registered.
    pub redirect_port: Option<u16>,
    /// How long the user may take.
    pub sign_in_timeout: Duration,
}

impl OauthSettings {
    /// Creates settings for an unregistered client without a browser.
    pub fn new(
        server: impl Into<String>,
        url: impl Into<String>,
        store: Arc<dyn TokenStore>,
    ) -> Self {
        Self {
            server: server.into(),
            is_configured: true,
            url: url.into(),
            client: OauthClient::Unknown { metadata_url: None },
            scopes: Vec::new(),
            browser: None,
            store,
            redirect_port: None,
            sign_in_timeout: Duration::from_mins(5),
        }
    }
}

/// Tokens for one server, obtained with OAuth.
pub struct OauthSignIn {
    settings: OauthSettings,
    url: Url,
    /// The current tokens. The task that holds the lock signs in or refreshes; others wait and use the outcome.
    known: Mutex<Option<TokenRecord>>,
}

impl fmt::Debug for OauthSignIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OauthSignIn")
            .field("server", &self.settings.server)
            .field("client", &self.settings.client)
            .finish_non_exhaustive()
    }
}

/// The authorization server of a challenge, as discovered.
struct DiscoveredAuthority {
    manager: AuthorizationManager,
    metadata: AuthorizationMetadata,
    /// Whether the server publishes its metadata. If not, the metadata is a guess based on the first revision with
    /// OAuth.
    is_published: bool,
}

impl DiscoveredAuthority {
    /// Returns the issuer of the tokens. Servers of the first revision with OAuth publish none; then it is the token
    /// endpoint.
    fn issuer(&self) -> String {
        let metadata = &self.metadata;
        metadata.issuer.clone().unwrap_or_else(|| metadata.token_endpoint.clone())
    }
}

/// A token that expires sooner than this is not used any more.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

impl SignIn for OauthSignIn {
    fn token(&self) -> Running<'_, Option<String>> {
        Box::pin(async move {
            let mut known = self.known().await;
            let ended = |record: &&TokenRecord| record.is_expired(now() + EXPIRY_MARGIN.as_secs());
            if let Some(record) = known.as_ref().filter(ended).cloned() {
                let issuer = record.issuer.clone();
                match self.renew(record).await {
                    Ok(renewed) => *known = Some(renewed),
                    // The server will send a challenge; this logs the reason.
                    Err(failure) => {
                        tracing::debug!(
                            "{}: cannot refresh the token: {failure}",
                            self.settings.server
                        );
                        *known = self.load_stored(Some(&issuer));
                        return None;
                    }
                }
            }
            known.as_ref().and_then(|record| record.access_token.clone())
        })
    }

    fn challenged(&self, challenge: Challenge) -> Running<'_, Result<(), TransportFailure>> {
        Box::pin(async move {
            let mut known = self.known().await;
            let refused = challenge.refused.as_deref();
            if known.as_ref().is_some_and(|record| record.is_better_than(refused)) {
                // Another request got a token in the meantime.
                return Ok(());
            }
            let record = self.answer(&challenge, known.clone()).await?;
            *known = Some(record);
            Ok(())
        })
    }
}

impl OauthSignIn {
    /// Creates the sign-in. Nothing is requested, sent or read before a server requires it.
    pub fn new(settings: OauthSettings) -> Result<Self, TransportFailure> {
        let url = web_url(&settings.url, &["http", "https", "ws", "wss"])?;
        // The server of a WebSocket is discovered at its HTTP address.
        let scheme = url.as_str().strip_prefix("ws").map(|rest| format!("http{rest}"));
        let url = match scheme {
            Some(text) => web_url(&text, &["http", "https"])?,
            None => url,
        };
        Ok(Self { settings, url, known: Mutex::new(None) })
    }

    /// Signs in now, even if the server has not required it.
    pub async fn login(&self) -> Result<(), TransportFailure> {
        let mut known = self.known().await;
        let challenge = Challenge { status: 401, www_authenticate: String::new(), refused: None };
        let mut authority = self.discover(&challenge).await?;
        let before = self.load_stored(Some(&authority.issuer()));
        let record = self.sign_in(&mut authority, &challenge, before).await?;
        *known = Some(record);
        Ok(())
    }

    /// Deletes the tokens, here and in the store.
    pub async fn logout(&self) -> Result<(), TokenStoreError> {
        let mut known = self.known.lock().await;
        *known = None;
        self.settings.store.forget(self.resource())
    }

    async fn known(&self) -> MutexGuard<'_, Option<TokenRecord>> {
        let mut known = self.known.lock().await;
        if known.is_none() {
            *known = self.load_stored(None);
        }
        known
    }

    fn resource(&self) -> &str {
        self.url.as_str()
    }

    fn load_stored(&self, issuer: Option<&str>) -> Option<TokenRecord> {
        match self.settings.store.load(self.resource(), issuer) {
            Ok(record) => record.filter(|record| self.is_ours(record)),
            Err(error) => {
                tracing::warn!("{}: {error}", self.settings.server);
                None
            }
        }
    }

    /// Tokens of another client are useless once a client is configured.
    fn is_ours(&self, record: &TokenRecord) -> bool {
        match &self.settings.client {
            OauthClient::Unknown { .. } => true,
            OauthClient::Registered { id, .. }
            | OauthClient::Machine { id, .. }
            | OauthClient::MachineKey { id, .. } => *id == record.client_id,
        }
    }

    fn keep(&self, record: &TokenRecord) -> Result<(), TransportFailure> {
        self.settings.store.save(record).map_err(|error| {
            TransportFailure::Unauthorized(format!("signed in, but cannot save the token: {error}"))
        })
    }

    /// Discovers the authorization server, every time, because it may have moved.
    async fn discover(
        &self,
        challenge: &Challenge,
    ) -> Result<DiscoveredAuthority, TransportFailure> {
        let outside = Arc::new(GuardedHttpClient::new(&self.url).await?);
        let client = Arc::clone(&outside) as Arc<dyn OAuthHttpClient>;
        let made = AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), client);
        let mut manager = made.await.map_err(|error| self.auth_failure(&error))?;
        let header = Some(challenge.www_authenticate.as_str()).filter(|header| !header.is_empty());
        let found = manager.resolve_metadata_from_challenge(header).await;
        let found = found.map_err(|error| self.auth_failure(&error))?;
        let (metadata, is_published) = (found.metadata, found.source.is_discovered());
        if let Some(issuer) = metadata.issuer.as_ref().filter(|it| !outside.is_vouched_for(it)) {
            return Err(TransportFailure::Unauthorized(format!(
                "its authorization server claims to be {issuer}, but its metadata is not published there: it must \
                 be at the issuer's own /.well-known/oauth-authorization-server or /.well-known/openid-configuration; \
                 contact the server's operator"
            )));
        }
        manager.set_metadata(metadata.clone());
        Ok(DiscoveredAuthority { manager, metadata, is_published })
    }

    /// Gets another token for a challenge.
    async fn answer(
        &self,
        challenge: &Challenge,
        known: Option<TokenRecord>,
    ) -> Result<TokenRecord, TransportFailure> {
        let mut authority = self.discover(challenge).await?;
        let issuer = authority.issuer();
        let record =
            self.load_stored(Some(&issuer)).or(known.filter(|record| record.issuer == issuer));
        if challenge.status == 401
            && let Some(record) = &record
        {
            if record.is_better_than(challenge.refused.as_deref()) {
                // Another process got a token in the meantime.
                return Ok(record.clone());
            }
            if record.refresh_token.is_some() {
                match self.refresh(&mut authority, record).await {
                    Err(TransportFailure::Unauthorized(why)) => {
                        tracing::debug!("{}: {why}", self.settings.server);
                    }
                    other => return other,
                }
            }
        }
        self.sign_in(&mut authority, challenge, record).await
    }

    /// Replaces the expired token of a record.
    async fn renew(&self, record: TokenRecord) -> Result<TokenRecord, TransportFailure> {
        if let Some(stored) = self.load_stored(Some(&record.issuer))
            && stored.access_token.is_some()
            && !stored.is_expired(now() + EXPIRY_MARGIN.as_secs())
        {
            // Another process has refreshed it.
            return Ok(stored);
        }
        if record.refresh_token.is_none() {
            return Err(TransportFailure::Unauthorized("it has expired".to_owned()));
        }
        let challenge = Challenge { status: 401, www_authenticate: String::new(), refused: None };
        let mut authority = self.discover(&challenge).await?;
        if authority.issuer() != record.issuer {
            return Err(TransportFailure::Unauthorized(
                "the authorization server has changed".to_owned(),
            ));
        }
        self.refresh(&mut authority, &record).await
    }

    async fn refresh(
        &self,
        authority: &mut DiscoveredAuthority,
        record: &TokenRecord,
    ) -> Result<TokenRecord, TransportFailure> {
        let manager = &mut authority.manager;
        let mut client =
            OAuthClientConfig::new(record.client_id.clone(), callback::callback_uri(0));
        if let Some(secret) = self.secret().or(record.client_secret.clone()) {
            client = client.with_client_secret(secret);
        }
        manager.configure_client(client).map_err(|error| self.auth_failure(&error))?;
        let scratch = InMemoryCredentialStore::new();
        let held = json!({
            "access_token": record.access_token.as_deref().unwrap_or_default(),
            "token_type": "bearer",
            "refresh_token": record.refresh_token,
        });
        let held = serde_json::from_value(held)
            .map_err(|_| TransportFailure::Unauthorized("the saved token can't be read".into()))?;
        let credentials = StoredCredentials::new(
            record.client_id.clone(),
            Some(held),
            record.scopes.clone(),
            None,
        );
        let saved = scratch.save(credentials.with_issuer(Some(record.issuer.clone()))).await;
        saved.map_err(|error| self.auth_failure(&error))?;
        manager.set_credential_store(scratch);
        let response = match manager.refresh_token().await {
            Ok(response) => response,
            Err(AuthError::TokenRefreshFailed(why)) => {
                return Err(TransportFailure::Lost(format!(
                    "cannot refresh the token: {}",
                    shorten(&why)
                )));
            }
            Err(error @ AuthError::TokenRefreshRejected(_)) => {
                self.discard_tokens(record);
                return Err(self.auth_failure(&error));
            }
            Err(error) => return Err(self.auth_failure(&error)),
        };
        let renewed = record.clone().with_token(&response);
        self.keep(&renewed)?;
        Ok(renewed)
    }

    /// Discards tokens that were rejected for good. The registration at the issuer is kept.
    fn discard_tokens(&self, record: &TokenRecord) {
        if self.load_stored(Some(&record.issuer)).is_some_and(|stored| stored != *record) {
            // Another process has newer ones.
            return;
        }
        let spent = TokenRecord { access_token: None, refresh_token: None, ..record.clone() };
        if let Err(error) = self.settings.store.save(&spent) {
            tracing::warn!("{}: {error}", self.settings.server);
        }
    }

    fn secret(&self) -> Option<String> {
        match &self.settings.client {
            OauthClient::Registered { secret, .. } => secret.clone(),
            OauthClient::Machine { secret, .. } => Some(secret.clone()),
            OauthClient::Unknown { .. } | OauthClient::MachineKey { .. } => None,
        }
    }

    /// Returns the scopes that a challenge names.
    fn challenged_scopes(&self, challenge: &Challenge) -> Vec<String> {
        let params = WWWAuthenticateParams::parse(&challenge.www_authenticate, &self.url);
        params.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect()
    }

    /// Converts an error of the SDK to a message for people.
    fn auth_failure(&self, error: &AuthError) -> TransportFailure {
        TransportFailure::Unauthorized(format!(
            "{}: {}",
            self.settings.server,
            shorten(&error.to_string())
        ))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl TokenRecord {
    /// Whether there is a token that is neither the refused one nor expired.
    fn is_better_than(&self, refused: Option<&str>) -> bool {
        let token = self.access_token.as_deref();
        token.is_some() && token != refused && !self.is_expired(now() + EXPIRY_MARGIN.as_secs())
    }

    /// Updates the record with the answer of a token endpoint.
    fn with_token(mut self, response: &OAuthTokenResponse) -> Self {
        let response = serde_json::to_value(response).unwrap_or_default();
        let text = |key: &str| response.get(key).and_then(Value::as_str).map(str::to_owned);
        self.access_token = text("access_token");
        if let Some(refresh) = text("refresh_token") {
            self.refresh_token = Some(refresh);
        }
        let lasts = response.get("expires_in").and_then(Value::as_u64);
        self.expires_at = lasts.map(|lasts| now().saturating_add(lasts));
        if let Some(scope) = text("scope") {
            self.scopes = scope.split_whitespace().map(str::to_owned).collect();
        }
        self.saved_at = now();
        self
    }
}
