//! The current settings: keys, policy, and limits of individual tools. A reload replaces them atomically.

use crate::{
    Screening,
    admit::Keyring,
    catalogue::Builder,
    policy::Policy,
    rates::RuleMeters,
    setup::{SetupError, Terms},
};
use std::time::Duration;

pub(crate) struct InForce {
    pub(crate) keyring: Keyring,
    pub(crate) policy: Policy,
    pub(crate) rule_meters: RuleMeters,
    pub(crate) screening: Screening,
    pub(crate) builder: Builder,
}

impl InForce {
    pub(crate) fn new(terms: Terms, timeout: Duration) -> Result<Self, SetupError> {
        let Terms { keys, strangers, auth_required, policy, screening, .. } = terms;
        let Terms { tool_timeouts, tool_rates, .. } = terms;
        Ok(Self {
            keyring: Keyring::new(keys, strangers, auth_required)?,
            rule_meters: RuleMeters::new(&policy),
            policy,
            screening,
            builder: Builder::new(timeout, tool_timeouts, tool_rates),
        })
    }

    /// New settings that carry over the counts of these, and remember their keys.
    pub(crate) fn renewed(&self, terms: Terms, timeout: Duration) -> Result<Self, SetupError> {
        let mut next = Self::new(terms, timeout)?;
        next.keyring.succeed(&self.keyring);
        next.builder.count_on(&self.builder);
        next.rule_meters.count_on(&next.policy, &self.rule_meters, &self.policy);
        Ok(next)
    }
}
