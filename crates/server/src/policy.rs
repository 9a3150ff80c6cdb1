//! Decides who may use what. The only place that creates an [`Admitted`].

use crate::catalog::ToolRoute;
use docent_transport::Principal;
use std::{fmt, num::NonZeroU32, sync::Arc, time::Duration};

/// Rules on top of keys' scopes: the first rule that matches a caller and a tool decides. Without a match, the scopes
/// do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    /// In order of precedence.
    pub rules: Vec<PolicyRule>,
}

/// An action for some tools when some callers use them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// Its name in refusals and in `docent policy test`.
    pub name: String,
    /// Names of keys; empty for every caller.
    pub keys: Vec<String>,
    /// Scopes, of which the caller must have one; empty for every caller.
    pub scopes: Vec<String>,
    /// Tool names, suites (`web:*`) or `*`.
    pub tools: Vec<String>,
    /// The action.
    pub action: PolicyAction,
    /// Limits for the calls that it allows.
    pub bounds: RuleLimits,
}

/// Limits of a rule. They only tighten: a tool's own limits apply as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleLimits {
    /// Calls per minute that one caller may make of all tools of the rule together.
    pub rate_per_minute: Option<NonZeroU32>,
    /// The timeout of one call.
    pub timeout: Option<Duration>,
}

/// The action of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyAction {
    /// The tool may be used.
    Allow,
    /// The tool is neither listed nor run.
    Deny,
    /// The user at the client is asked before each call.
    Approve,
}

impl fmt::Display for PolicyAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Approve => "approve",
        })
    }
}

/// The policy's decision about one caller and one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// The action.
    pub action: PolicyAction,
    /// The rule, or the caller's scope, that decided.
    pub decided_by: String,
    /// The index of the rule, if a rule decided.
    pub rule: Option<usize>,
    /// The limits of that rule; empty if nothing may be called.
    pub bounds: RuleLimits,
}

impl PolicyDecision {
    fn of_scopes(action: PolicyAction, decided_by: String) -> Self {
        Self { action, decided_by, rule: None, bounds: RuleLimits::default() }
    }
}

impl ToolPolicy {
    /// Decides about a tool of a provider, or about the provider's resources and prompts if no tool is named.
    pub fn decide(&self, who: &Principal, provider: &str, tool: Option<&str>) -> PolicyDecision {
        let Some(scope) = who.scopes.iter().find(|scope| scope_covers(scope, provider, tool))
        else {
            let by = format!("the scopes of `{}`: {:?}", who.name, who.scopes);
            return PolicyDecision::of_scopes(PolicyAction::Deny, by);
        };
        let mut rules = self.rules.iter().enumerate();
        let Some((at, rule)) = rules.find(|(_, rule)| rule.applies_to(who, provider, tool)) else {
            let by = format!("the scope {scope:?} of `{}`; no matching rule", who.name);
            return PolicyDecision::of_scopes(PolicyAction::Allow, by);
        };
        let action = match rule.action {
            // A read cannot ask a person.
            PolicyAction::Approve if tool.is_none() => PolicyAction::Deny,
            action => action,
        };
        let bounds = if action == PolicyAction::Deny { RuleLimits::default() } else { rule.bounds };
        PolicyDecision { action, decided_by: rule.name.clone(), rule: Some(at), bounds }
    }

    /// Whether this principal may call the tool, and therefore sees it in lists.
    pub(crate) fn may_use(&self, who: &Principal, route: &ToolRoute) -> bool {
        self.decide(who, &route.provider, Some(&route.info.name)).action != PolicyAction::Deny
    }

    /// Whether this principal may read a provider's resources and prompts. A scope for one tool grants only that tool.
    pub(crate) fn may_see(&self, who: &Principal, provider: &str) -> bool {
        self.decide(who, provider, None).action == PolicyAction::Allow
    }
}

impl PolicyRule {
    /// A rule for every caller.
    pub fn for_everybody(name: &str, tools: Vec<String>, action: PolicyAction) -> Self {
        let (name, bounds) = (name.to_owned(), RuleLimits::default());
        Self { name, keys: Vec::new(), scopes: Vec::new(), tools, action, bounds }
    }

    /// Whether the counts of the other rule carry over to this one: both have the same callers, tools and rate.
    pub(crate) fn counts_as(&self, other: &Self) -> bool {
        self.keys == other.keys
            && self.scopes == other.scopes
            && self.tools == other.tools
            && self.bounds.rate_per_minute == other.bounds.rate_per_minute
    }

    fn applies_to(&self, who: &Principal, provider: &str, tool: Option<&str>) -> bool {
        let everybody = |names: &[String]| names.is_empty();
        (everybody(&self.keys) || self.keys.iter().any(|key| **key == *who.name))
            && (everybody(&self.scopes) || self.scopes.iter().any(|own| who.scopes.contains(own)))
            && self.tools.iter().any(|pattern| scope_covers(pattern, provider, tool))
    }
}

/// A call that passed policy. Required to run a tool.
#[derive(Debug)]
pub(crate) struct Admitted {
    route: Arc<ToolRoute>,
    verdict: PolicyDecision,
}

impl Admitted {
    /// The only constructor; an error names the rule that refused.
    pub(crate) fn check(
        policy: &ToolPolicy,
        who: &Principal,
        route: &Arc<ToolRoute>,
    ) -> Result<Self, String> {
        let verdict = policy.decide(who, &route.provider, Some(&route.info.name));
        if verdict.action == PolicyAction::Deny {
            return Err(verdict.decided_by);
        }
        Ok(Self { route: Arc::clone(route), verdict })
    }

    /// The route to the tool.
    pub(crate) fn route(&self) -> &Arc<ToolRoute> {
        &self.route
    }

    /// The rule that requires a person's approval first.
    pub(crate) fn approval(&self) -> Option<&str> {
        (self.verdict.action == PolicyAction::Approve).then_some(self.verdict.decided_by.as_str())
    }

    /// The decision that allowed it.
    pub(crate) fn verdict(&self) -> &PolicyDecision {
        &self.verdict
    }

    /// The timeout of a call, which a rule may shorten.
    pub(crate) fn within(&self, timeout: Duration) -> Duration {
        self.verdict.bounds.timeout.map_or(timeout, |own| own.min(timeout))
    }

    /// The rule that determines this timeout, if one does.
    pub(crate) fn timed_by(&self, timeout: Duration) -> Option<&str> {
        (self.verdict.bounds.timeout == Some(timeout)).then_some(self.verdict.decided_by.as_str())
    }
}

/// Whether a scope, or a pattern of a rule, covers a tool of a provider, or everything of the provider.
pub(crate) fn scope_covers(scope: &str, provider: &str, tool: Option<&str>) -> bool {
    scope == "*" || scope.strip_suffix(":*") == Some(provider) || Some(scope) == tool
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_transport::PrincipalKind;

    #[test]
    fn scopes() {
        let cases = [
            ("*", "code", Some("parse_files"), true),
            ("code:*", "code", Some("parse_files"), true),
            ("code:*", "coder", Some("parse_files"), false),
            ("cod:*", "code", Some("parse_files"), false),
            ("parse_files", "code", Some("parse_files"), true),
            ("parse_file", "code", Some("parse_files"), false),
            ("parse_files_more", "code", Some("parse_files"), false),
            ("code", "code", Some("parse_files"), false),
            ("", "code", Some("parse_files"), false),
            ("code:*", "code", None, true),
            ("*", "code", None, true),
            ("parse_files", "code", None, false),
        ];
        for (scope, provider, tool, want) in cases {
            assert_eq!(scope_covers(scope, provider, tool), want, "{scope} {provider} {tool:?}");
        }
    }

    fn rule(
        name: &str,
        keys: &[&str],
        scopes: &[&str],
        tools: &[&str],
        action: PolicyAction,
    ) -> PolicyRule {
        let own = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<String>>();
        let (keys, scopes) = (own(keys), own(scopes));
        PolicyRule { keys, scopes, ..PolicyRule::for_everybody(name, own(tools), action) }
    }

    /// A caller with its scopes, a provider and a tool; the action, and what decided.
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static str,
        Option<&'static str>,
        PolicyAction,
        &'static str,
    );

    #[test]
    fn the_first_matching_rule_decides() {
        let policy = ToolPolicy {
            rules: vec![
                rule("ops may", &["ops"], &[], &["web:*"], PolicyAction::Allow),
                rule("readers ask", &[], &["docs:*"], &["web_search"], PolicyAction::Approve),
                rule("no web", &[], &[], &["web:*"], PolicyAction::Deny),
                rule("ask before parsing", &[], &[], &["parse_files"], PolicyAction::Approve),
            ],
        };
        let cases: [Case; 9] = [
            ("ops", &["*"], "web", Some("web_search"), PolicyAction::Allow, "ops may"),
            ("ann", &["*"], "web", Some("web_search"), PolicyAction::Deny, "no web"),
            (
                "ann",
                &["docs:*", "web:*"],
                "web",
                Some("web_search"),
                PolicyAction::Approve,
                "readers ask",
            ),
            ("ann", &["docs:*", "web:*"], "web", Some("fetch_page"), PolicyAction::Deny, "no web"),
            ("ann", &["*"], "web", None, PolicyAction::Deny, "no web"),
            (
                "ann",
                &["*"],
                "code",
                Some("parse_files"),
                PolicyAction::Approve,
                "ask before parsing",
            ),
            ("ann", &["*"], "code", None, PolicyAction::Allow, "no matching rule"),
            (
                "ann",
                &["docs:*"],
                "code",
                Some("parse_files"),
                PolicyAction::Deny,
                "the scopes of `ann`",
            ),
            // A rule grants nothing beyond the key's scopes.
            (
                "ops",
                &["code:*"],
                "web",
                Some("web_search"),
                PolicyAction::Deny,
                "the scopes of `ops`",
            ),
        ];
        for (name, scopes, provider, tool, action, by) in cases {
            let scopes = scopes.iter().map(ToString::to_string).collect();
            let kind = PrincipalKind::Key;
            let who = Principal { name: name.into(), scopes, kind, grant: None };
            let verdict = policy.decide(&who, provider, tool);
            assert_eq!(verdict.action, action, "{name} {provider} {tool:?}: {verdict:?}");
            assert!(verdict.decided_by.contains(by), "{name} {provider} {tool:?}: {verdict:?}");
        }
    }

    fn ann() -> Principal {
        let scopes = Arc::from(["*".to_owned()]);
        Principal { name: "ann".into(), scopes, kind: PrincipalKind::Key, grant: None }
    }

    #[test]
    fn a_rule_names_callers_of_every_kind() {
        for (name, kind) in [
            ("ops", PrincipalKind::Key),
            ("oauth:https://login.example.com/#ann", PrincipalKind::Oauth),
            ("builder", PrincipalKind::Certificate),
            ("anonymous", PrincipalKind::Anonymous),
        ] {
            let policy = ToolPolicy {
                rules: vec![rule("not they", &[name], &[], &["*"], PolicyAction::Deny)],
            };
            let who = Principal { name: name.into(), kind, ..ann() };
            let other = Principal { name: format!("{name}e").into(), ..who.clone() };
            let decide = |who| policy.decide(who, "web", Some("web_search")).action;
            assert_eq!(
                (decide(&who), decide(&other)),
                (PolicyAction::Deny, PolicyAction::Allow),
                "{name}"
            );
        }
    }

    #[test]
    fn a_rule_that_needs_approval_denies_reads() {
        let policy =
            ToolPolicy { rules: vec![rule("ask", &[], &[], &["docs:*"], PolicyAction::Approve)] };
        let who = ann();
        assert!(!policy.may_see(&who, "docs") && policy.may_see(&who, "code"));
    }

    #[test]
    fn the_deciding_rule_limits_the_call() {
        let slow = RuleLimits { rate_per_minute: NonZeroU32::new(2), timeout: None };
        let short = RuleLimits { rate_per_minute: None, timeout: Some(Duration::from_secs(1)) };
        let with = |bounds, rule: PolicyRule| PolicyRule { bounds, ..rule };
        let policy = ToolPolicy {
            rules: vec![
                with(short, rule("no pages", &[], &[], &["fetch_page"], PolicyAction::Deny)),
                with(slow, rule("slow web", &["ann"], &[], &["web:*"], PolicyAction::Allow)),
                with(short, rule("short web", &[], &[], &["web:*"], PolicyAction::Approve)),
            ],
        };
        let bob = Principal { name: "bob".into(), ..ann() };
        for (who, tool, rule, bounds) in [
            (&ann(), "fetch_page", Some(0), RuleLimits::default()),
            (&ann(), "web_search", Some(1), slow),
            (&bob, "web_search", Some(2), short),
        ] {
            let verdict = policy.decide(who, "web", Some(tool));
            assert_eq!((verdict.rule, verdict.bounds), (rule, bounds), "{} {tool}", who.name);
        }
        let unsaid = policy.decide(&bob, "code", Some("parse_files"));
        assert_eq!((unsaid.rule, unsaid.bounds), (None, RuleLimits::default()));
    }
}
