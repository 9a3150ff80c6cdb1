//! The environment as the configuration sees it: the one place that reads the process's own.

use std::collections::BTreeMap;

/// Holds the key that was among the arguments when docent was started. It is docent's alone: no setting, and no program
/// that docent starts, gets to see it.
pub(crate) const AUTH_KEY_VARIABLE: &str = "DOCENT_HANDED_AUTH";

/// Environment variables. An empty one counts as unset. Holds secrets, so it can't be printed.
#[derive(Clone, Default)]
pub struct ConfigEnvironment(BTreeMap<String, String>);

impl ConfigEnvironment {
    /// The key that docent was started with, where it was taken off the process list. An empty one is a demand for a key that
    /// nobody has, and not the lack of one.
    pub(crate) fn auth_key() -> Option<String> {
        std::env::var_os(AUTH_KEY_VARIABLE)?.into_string().ok()
    }

    /// The environment of this process; what is not Unicode is left out.
    pub fn of_process() -> Self {
        let pairs = std::env::vars_os();
        pairs
            .filter(|(name, _)| name != AUTH_KEY_VARIABLE)
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// A variable that is set to something.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The names of all variables that are set to something.
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
