//! The current settings: keys, policy, and limits of individual tools. A reload replaces them atomically.

use crate::{
    Screening,
    admission::ApiKeys,
    catalog::CatalogBuilder,
    policy::ToolPolicy,
    rule_rates::RuleRateLimiters,
    setup::{LiveSettings, ServerSetupError},
};
use std::time::Duration;

pub(crate) struct SettingsSnapshot {
    pub(crate) api_keys: ApiKeys,
    pub(crate) policy: ToolPolicy,
    pub(crate) rule_rate_limiters: RuleRateLimiters,
    pub(crate) screening: Screening,
    pub(crate) builder: CatalogBuilder,
}

impl SettingsSnapshot {
    pub(crate) fn new(terms: LiveSettings, timeout: Duration) -> Result<Self, ServerSetupError> {
        let LiveSettings {
            keys, external_auth: strangers, auth_required, policy, screening, ..
        } = terms;
        let LiveSettings { tool_timeouts, tool_rates, .. } = terms;
        Ok(Self {
            api_keys: ApiKeys::new(keys, strangers, auth_required)?,
            rule_rate_limiters: RuleRateLimiters::new(&policy),
            policy,
            screening,
            builder: CatalogBuilder::new(timeout, tool_timeouts, tool_rates),
        })
    }

    /// New settings that carry over the counts of these, and remember their keys.
    pub(crate) fn reload(
        &self,
        terms: LiveSettings,
        timeout: Duration,
    ) -> Result<Self, ServerSetupError> {
        let mut next = Self::new(terms, timeout)?;
        next.api_keys.remember_former_keys(&self.api_keys);
        next.builder.carry_over_counts(&self.builder);
        next.rule_rate_limiters.carry_over_counts(
            &next.policy,
            &self.rule_rate_limiters,
            &self.policy,
        );
        Ok(next)
    }
}
