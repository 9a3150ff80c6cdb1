//! The environment as the configuration sees it. The only module that reads the process's environment.

use std::collections::BTreeMap;

/// The variable with the key that was given with `--auth`. Only docent sees it: no setting and no program that docent
/// starts can read it.
pub(crate) const AUTH_KEY_VARIABLE: &str = "DOCENT_HANDED_AUTH";

/// Environment variables. An empty one counts as unset. Contains secrets, so it has no `Debug`.
#[derive(Clone, Default)]
pub struct ConfigEnvironment(BTreeMap<String, String>);

impl ConfigEnvironment {
    /// Returns the key given with `--auth`, after it was removed from the process list. An empty key means that auth is
    /// required and no key is valid, not that there is none.
    pub(crate) fn auth_key() -> Option<String> {
        std::env::var_os(AUTH_KEY_VARIABLE)?.into_string().ok()
    }

    /// Returns the environment of this process without values that are not Unicode.
    pub fn of_process() -> Self {
        let pairs = std::env::vars_os();
        pairs
            .filter(|(name, _)| name != AUTH_KEY_VARIABLE)
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Returns the value of a non-empty variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the names of all non-empty variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for ConfigEnvironment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self(pairs.filter(|(_, value): &(String, String)| !value.is_empty()).collect())
    }
}
