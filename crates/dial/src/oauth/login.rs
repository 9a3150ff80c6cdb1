//! Gets a first token, or one with more scopes: through the browser, or with the client's own credentials.

use super::{
    DiscoveredAuthority, OauthClient, OauthSignIn, TokenRecord, assertion, callback,
    guarded_client::GuardedHttpClient, now,
};
use crate::{Challenge, TransportFailure, http_sender::shorten};
use rmcp::transport::auth::{
    AuthorizationMetadata, ClientCredentialsConfig, OAuthClientConfig, OAuthTokenResponse,
};
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

const CLIENT_NAME: &str = "docent";

/// The error for a 401 of a server that has no sign-in and requires a key.
fn key_needed(how: &str) -> TransportFailure {
    let text = format!("it needs a key and offers no sign-in: {how}");
    TransportFailure::Refused { status: 401, text }
}

impl OauthSignIn {
    /// Gets a token in the way that fits the kind of client.
    pub(super) async fn sign_in(
        &self,
        authority: &mut DiscoveredAuthority,
        challenge: &Challenge,
        record: Option<TokenRecord>,
    ) -> Result<TokenRecord, TransportFailure> {
        let scopes = self.scopes(authority, challenge, record.as_ref()).await?;
        let issuer = authority.issuer();
        let blank = |client_id: &str| TokenRecord {
            resource: self.resource().to_owned(),
            issuer: issuer.clone(),
            client_id: client_id.to_owned(),
            client_secret: None,
            redirect_port: None,
            scopes: scopes.clone(),
            access_token: None,
            refresh_token: None,
            expires_at: None,
            saved_at: now(),
        };
        let signed_in = match &self.settings.client {
            OauthClient::Machine { id, secret } => {
                let config = ClientCredentialsConfig::ClientSecret {
                    client_id: id.clone(),
                    client_secret: secret.clone(),
                    scopes: scopes.clone(),
                    resource: Some(self.resource().to_owned()),
                };
                let manager = &mut authority.manager;
                let checked = manager.validate_client_credentials_metadata(&config);
                checked.map_err(|error| self.auth_failure(&error))?;
                manager
                    .configure_client_credentials(&config)
                    .map_err(|error| self.auth_failure(&error))?;
                let response = manager.exchange_client_credentials(&config).await;
                blank(id).with_token(&response.map_err(|error| self.auth_failure(&error))?)
            }
            OauthClient::MachineKey { id, key_pem, algorithm } => {
                let assertion = assertion::sign_assertion(id, &issuer, key_pem, *algorithm)
                    .map_err(|why| {
                        TransportFailure::Unauthorized(format!("{}: {why}", self.settings.server))
                    })?;
                let response = self
                    .request_token_with_assertion(&authority.metadata, &assertion, &scopes)
                    .await?;
                blank(id).with_token(&response)
            }
            OauthClient::Unknown { .. } | OauthClient::Registered { .. } => {
                self.sign_in_with_browser(authority, record, blank("")).await?
            }
        };
        self.keep(&signed_in)?;
        Ok(signed_in)
    }

    /// Returns the scopes to request; more than before if the token's were insufficient.
    async fn scopes(
        &self,
        authority: &DiscoveredAuthority,
        challenge: &Challenge,
        record: Option<&TokenRecord>,
    ) -> Result<Vec<String>, TransportFailure> {
        if challenge.status != 403 {
            return Ok(if self.settings.scopes.is_empty() {
                authority.manager.select_initial_scopes(&[]).await
            } else {
                self.settings.scopes.clone()
            });
        }
        let mut scopes = record.map(|record| record.scopes.clone()).unwrap_or_default();
        let before = scopes.len();
        for scope in self.challenged_scopes(challenge) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        if scopes.len() == before && record.is_some() {
            return Err(TransportFailure::Unauthorized(
                "it still refuses, although this account was given the required permissions already"
                    .to_owned(),
            ));
        }
        let supported = authority.metadata.scopes_supported.iter().flatten();
        let offline = "offline_access".to_owned();
        if supported.clone().any(|scope| *scope == offline) && !scopes.contains(&offline) {
            scopes.push(offline);
        }
        Ok(scopes)
    }

    /// Sends the user to the authorization server and exchanges the returned code.
    async fn sign_in_with_browser(
        &self,
        authority: &mut DiscoveredAuthority,
        record: Option<TokenRecord>,
        mut blank: TokenRecord,
    ) -> Result<TokenRecord, TransportFailure> {
        let server = &self.settings.server;
        let Some(browser) = &self.settings.browser else {
            return Err(self.no_browser_failure(authority.is_published));
        };
        let registered = record.filter(|record| record.redirect_port.is_some());
        let wished = self
            .settings
            .redirect_port
            .or(registered.as_ref().and_then(|record| record.redirect_port));
        let door =
            callback::CallbackListener::open(wished, self.settings.redirect_port.is_none()).await?;
        let registered = registered.filter(|record| record.redirect_port == Some(door.port()));
        let uri = callback::callback_uri(door.port());
        let client = self.client(authority, &uri, &blank.scopes, registered).await?;
        let manager = &mut authority.manager;
        blank.client_id = client.client_id.clone();
        blank.client_secret = client.client_secret.clone().filter(|_| self.secret().is_none());
        blank.redirect_port = Some(door.port());
        manager.configure_client(client).map_err(|error| self.auth_failure(&error))?;

        let scopes: Vec<_> = blank.scopes.iter().map(String::as_str).collect();
        let page = manager
            .get_authorization_url(&scopes)
            .await
            .map_err(|error| self.auth_failure(&error))?;
        let state = Url::parse(&page)
            .ok()
            .and_then(|url| {
                url.query_pairs()
                    .find(|(key, _)| key == "state")
                    .map(|(_, state)| state.into_owned())
            })
            .unwrap_or_default();
        browser.open(&page).map_err(|why| {
            TransportFailure::Unauthorized(format!("{server}: cannot show the sign-in page: {why}"))
        })?;
        let back = timeout(self.settings.sign_in_timeout, door.wait(&state)).await.map_err(|_| {
            let waited = self.settings.sign_in_timeout.as_secs();
            TransportFailure::Unauthorized(format!(
                "{server}: no sign-in within {waited} s; run `docent servers login {server}` to try again"
            ))
        })??;
        let response = manager
            .exchange_code_for_token_with_issuer(&back.code, &state, back.issuer.as_deref())
            .await;
        Ok(blank.with_token(&response.map_err(|error| self.auth_failure(&error))?))
    }

    /// The error without a browser: says how to sign in, or how to set a key if the server has no sign-in.
    fn no_browser_failure(&self, is_published: bool) -> TransportFailure {
        let server = &self.settings.server;
        let has_oauth =
            is_published || matches!(self.settings.client, OauthClient::Registered { .. });
        match (has_oauth, self.settings.is_configured) {
            (true, true) => {
                TransportFailure::Unauthorized(format!("run `docent servers login {server}`"))
            }
            (true, false) => TransportFailure::Unauthorized(format!(
                "add it with `docent servers add NAME --url {}`, then run `docent servers login NAME`",
                self.url
            )),
            (false, true) => key_needed(&format!(
                "set `headers = {{ Authorization = \"Bearer ${{KEY}}\" }}` in its entry `mcp_servers.{server}`"
            )),
            (false, false) => key_needed("pass --header 'Authorization: Bearer KEY'"),
        }
    }

    /// Returns docent's client at this authorization server: configured, by metadata document, registered before, or
    /// registered now.
    async fn client(
        &self,
        authority: &mut DiscoveredAuthority,
        uri: &str,
        scopes: &[String],
        registered: Option<TokenRecord>,
    ) -> Result<OAuthClientConfig, TransportFailure> {
        let config = |id: &str, secret: Option<String>| {
            let config = OAuthClientConfig::new(id, uri).with_scopes(scopes.to_vec());
            match secret {
                Some(secret) => config.with_client_secret(secret),
                None => config,
            }
        };
        let OauthClient::Unknown { metadata_url } = &self.settings.client else {
            let OauthClient::Registered { id, secret } = &self.settings.client else {
                return Err(TransportFailure::Unauthorized(
                    "this client does not sign in with a browser".into(),
                ));
            };
            return Ok(config(id, secret.clone()));
        };
        let takes_documents = authority
            .metadata
            .additional_fields
            .get("client_id_metadata_document_supported")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        if let Some(document) = metadata_url
            && takes_documents
        {
            return Ok(config(document, None));
        }
        if let Some(record) = registered.filter(|record| !record.client_id.starts_with("https://"))
        {
            return Ok(config(&record.client_id, record.client_secret));
        }
        let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
        authority.manager.register_client(CLIENT_NAME, uri, &scopes).await.map_err(|error| {
            TransportFailure::Unauthorized(format!(
                "{}: {}; if the server issues client ids, configure one",
                self.settings.server,
                shorten(&error.to_string())
            ))
        })
    }

    /// Requests a token with a signed assertion.
    async fn request_token_with_assertion(
        &self,
        metadata: &AuthorizationMetadata,
        assertion: &str,
        scopes: &[String],
    ) -> Result<OAuthTokenResponse, TransportFailure> {
        let failed = |why: String| {
            TransportFailure::Unauthorized(format!("{}: {}", self.settings.server, shorten(&why)))
        };
        let endpoint = Url::parse(&metadata.token_endpoint)
            .map_err(|error| failed(format!("the token endpoint is not a valid URL ({error})")))?;
        let form = assertion_form(assertion, self.resource(), scopes);
        let outside = GuardedHttpClient::new(&self.url).await?;
        let (status, body) = outside.post_form(&endpoint, form).await?;
        if !(200..300).contains(&status) {
            let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
            let why = answer["error"].as_str().unwrap_or("no reason given");
            return Err(failed(format!("the token endpoint answered {status}: {why}")));
        }
        // An unreadable answer may contain a token, so it is not shown.
        serde_json::from_slice(&body)
            .map_err(|_| failed("the token endpoint's answer can't be read".to_owned()))
    }
}

/// Returns the form that requests a token with a signed assertion, which identifies the client.
fn assertion_form(assertion: &str, resource: &str, scopes: &[String]) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials");
    form.append_pair(
        "client_assertion_type",
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    );
    form.append_pair("client_assertion", assertion);
    form.append_pair("resource", resource);
    if !scopes.is_empty() {
        form.append_pair("scope", &scopes.join(" "));
    }
    form.finish()
}
