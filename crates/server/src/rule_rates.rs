//! Rate limits of tools: the tool's own, and that of the rule that allows the call.

use crate::{
    admission::RateLimiter,
    live_settings::SettingsSnapshot,
    policy::{Admitted, PolicyRule, ToolPolicy},
    request_caller::RequestCaller,
    server::{McpServer, RequestRefusal, refusal_error},
};
use serde_json::json;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Rate limiters of the rules that have a rate, in the order of the rules.
pub(crate) struct RuleRateLimiters(Vec<Option<Arc<RateLimiter>>>);

impl RuleRateLimiters {
    pub(crate) fn new(policy: &ToolPolicy) -> Self {
        let meter = |rule: &PolicyRule| {
            let rate = rule.bounds.rate_per_minute?;
            Some(Arc::new(RateLimiter::per_minute(rate)))
        };
        Self(policy.rules.iter().map(meter).collect())
    }

    /// Carries over the counts of another policy's rules, regardless of their order and names. A changed rule starts
    /// from zero.
    pub(crate) fn carry_over_counts(
        &mut self,
        policy: &ToolPolicy,
        other: &Self,
        former: &ToolPolicy,
    ) {
        for (rule, meter) in policy.rules.iter().zip(&mut self.0) {
            let mut known = former.rules.iter().zip(&other.0);
            if let Some((_, known)) = known.find(|(other, _)| rule.counts_as(other)) {
                meter.clone_from(known);
            }
        }
    }

    fn of(&self, rule: usize) -> Option<&RateLimiter> {
        self.0.get(rule)?.as_deref()
    }
}

impl McpServer {
    /// Counts a call. A call rejected by its tool's own rate does not count against its rule, which other tools share.
    pub(crate) fn check_rates(
        &self,
        admitted: &Admitted,
        guest: &RequestCaller,
        terms: &SettingsSnapshot,
    ) -> Result<(), RequestRefusal> {
        let (route, verdict) = (admitted.route(), admitted.verdict());
        let tool = &route.info.name;
        if let Some(meter) = &route.meter {
            meter
                .check(&guest.caller.client_at_address())
                .map_err(|wait| self.too_many(tool, None, meter, wait))?;
        }
        if let Some(meter) = verdict.rule.and_then(|rule| terms.rule_rate_limiters.of(rule)) {
            meter
                .check(&guest.caller.client())
                .map_err(|wait| self.too_many(tool, Some(&verdict.decided_by), meter, wait))?;
        }
        Ok(())
    }

    fn too_many(
        &self,
        tool: &str,
        rule: Option<&str>,
        meter: &RateLimiter,
        wait: Duration,
    ) -> RequestRefusal {
        self.counters().refused_rate.fetch_add(1, Ordering::Relaxed);
        let (most, seconds) = (meter.rate().requests, wait.as_secs_f64().ceil());
        let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        let mut data = json!({
            "tool": tool, "perMinute": most, "retryAfterSeconds": seconds, "retryAfterMs": milliseconds,
        });
        let allowed = match rule {
            None => format!("at most {most} per minute are allowed"),
            Some(rule) => {
                data["rule"] = rule.into();
                format!("{rule} allows {most} per minute")
            }
        };
        let message = format!("too many calls of {tool}: {allowed}; try again in {seconds} s");
        RequestRefusal::new("rate", refusal_error(message, Some(data)))
    }
}
