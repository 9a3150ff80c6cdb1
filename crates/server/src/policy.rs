//! Who may use what. The only place that makes an [`Admitted`].

use crate::catalog::ToolRoute;
use docent_transport::Principal;
use std::{fmt, num::NonZeroU32, sync::Arc, time::Duration};

/// Rules on top of keys' scopes: the first one that speaks of a caller and a tool decides. Where none does, the scopes do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    /// In the order in which they are asked.
    pub rules: Vec<PolicyRule>,
}

/// What is done about some tools when some callers use them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// How it is told in refusals and by `docent policy test`.
    pub name: String,
    /// Names of keys; none for everybody.
    pub keys: Vec<String>,
    /// Scopes, of which the caller holds one; none for everybody.
    pub scopes: Vec<String>,
    /// Tool names, suites (`web:*`) or `*`.
    pub tools: Vec<String>,
    /// What is done.
    pub action: PolicyAction,
    /// How far it bounds the calls that it lets through.
    pub bounds: RuleLimits,
}

/// Bounds of a rule. They only tighten: what holds for a tool without them holds as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleLimits {
    /// Calls a minute that one caller may make of all tools of the rule together.
    pub rate_per_minute: Option<NonZeroU32>,
    /// How long one call may take.
    pub timeout: Option<Duration>,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyAction {
    /// The tool may be used.
    Allow,
    /// The tool is neither shown nor run.
    Deny,
    /// The person at the client is asked before each call.
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

/// What the policy says of one caller and one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// What is done.
    pub action: PolicyAction,
    /// Which rule, or which of the caller's scopes, said so.
    pub decided_by: String,
    /// The place of the rule among the others, where a rule said so.
    pub rule: Option<usize>,
    /// The bounds of that rule; none where nothing may be called.
    pub bounds: RuleLimits,
}

impl PolicyDecision {
    fn of_scopes(action: PolicyAction, decided_by: String) -> Self {
        Self { action, decided_by, rule: None, bounds: RuleLimits::default() }
    }
}

impl ToolPolicy {
    /// Decides about a tool of a provider, or about the provider's resources and prompts where no tool is named.
    pub fn decide(&self, who: &Principal, provider: &str, tool: Option<&str>) -> PolicyDecision {
        let Some(scope) = who.scopes.iter().find(|scope| opens(scope, provider, tool)) else {
            let by = format!("the scopes of `{}`: {:?}", who.name, who.scopes);
            return PolicyDecision::of_scopes(PolicyAction::Deny, by);
        };
        let mut rules = self.rules.iter().enumerate();
        let Some((at, rule)) = rules.find(|(_, rule)| rule.speaks_of(who, provider, tool)) else {
            let by = format!("the scope {scope:?} of `{}`; no rule speaks of it", who.name);
            return PolicyDecision::of_scopes(PolicyAction::Allow, by);
        };
        let action = match rule.action {
            // Reading has no way to ask a person.
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

    /// Whether this principal may read a provider's resources and prompts. A scope of one tool opens that tool alone.
    pub(crate) fn may_see(&self, who: &Principal, provider: &str) -> bool {
        self.decide(who, provider, None).action == PolicyAction::Allow
    }
}

impl PolicyRule {
    /// A rule about every caller.
    pub fn for_everybody(name: &str, tools: Vec<String>, action: PolicyAction) -> Self {
        let (name, bounds) = (name.to_owned(), RuleLimits::default());
        Self { name, keys: Vec::new(), scopes: Vec::new(), tools, action, bounds }
    }

    /// Whether what was counted for the other counts for this one: both have the same callers, tools and rate.
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
            && self.tools.iter().any(|pattern| opens(pattern, provider, tool))
    }
}

/// A call that passed policy. Running a tool takes nothing else.
#[derive(Debug)]
pub(crate) struct Admitted {
    route: Arc<ToolRoute>,
    verdict: PolicyDecision,
}

impl Admitted {
    /// The sole constructor; an error says which rule refused.
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

    /// Where to go.
    pub(crate) fn route(&self) -> &Arc<ToolRoute> {
        &self.route
    }

    /// The rule that wants a person's approval first.
    pub(crate) fn approval(&self) -> Option<&str> {
        (self.verdict.action == PolicyAction::Approve).then_some(self.verdict.decided_by.as_str())
    }

    /// What let it through.
    pub(crate) fn verdict(&self) -> &PolicyDecision {
        &self.verdict
    }

    /// The time that a call has, of which a rule may leave less.
    pub(crate) fn within(&self, timeout: Duration) -> Duration {
        self.verdict.bounds.timeout.map_or(timeout, |own| own.min(timeout))
    }

    /// The rule that leaves a call this time, if one does.
    pub(crate) fn timed_by(&self, timeout: Duration) -> Option<&str> {
        (self.verdict.bounds.timeout == Some(timeout)).then_some(self.verdict.decided_by.as_str())
    }
}

/// Whether a scope, or a pattern of a rule, is about a tool of a provider, or about all that the provider has.
pub(crate) fn opens(scope: &str, provider: &str, tool: Option<&str>) -> bool {
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
            assert_eq!(opens(scope, provider, tool), want, "{scope} {provider} {tool:?}");
        }
    }

    fn rule(name: &str, keys: &[&str], scopes: &[&str], tools: &[&str], action: PolicyAction) -> PolicyRule {
        let own = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<String>>();
        let (keys, scopes) = (own(keys), own(scopes));
        PolicyRule { keys, scopes, ..PolicyRule::for_everybody(name, own(tools), action) }
    }

    /// A caller with its scopes, a provider and a tool; what is done, and by what.
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static str,
        Option<&'static str>,
        PolicyAction,
        &'static str,
    );

    #[test]
    fn the_first_rule_that_speaks_decides() {
        let policy = ToolPolicy {
            rules: vec![
                rule("ops may", &["ops"], &[], &["web:*"], Action::Allow),
                rule("readers ask", &[], &["docs:*"], &["web_search"], Action::Approve),
                rule("no web", &[], &[], &["web:*"], Action::Deny),
                rule("ask before parsing", &[], &[], &["parse_files"], Action::Approve),
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
            ("ann", &["*"], "code", Some("parse_files"), PolicyAction::Approve, "ask before parsing"),
            ("ann", &["*"], "code", None, PolicyAction::Allow, "no rule speaks of it"),
            ("ann", &["docs:*"], "code", Some("parse_files"), PolicyAction::Deny, "the scopes of `ann`"),
            // A rule opens nothing that the key's scopes don't.
            ("ops", &["code:*"], "web", Some("web_search"), PolicyAction::Deny, "the scopes of `ops`"),
        ];
        for (name, scopes, provider, tool, action, by) in cases {
            let scopes = scopes.iter().map(ToString::to_string).collect();
            let kind = PrincipalKind::Key;
            let who = Principal { name: name.into(), scopes, kind, grant: None };
            let verdict = policy.decide(&who, provider, tool);
            assert_eq!(verdict.action, action, "{name} {provider} {tool:?}: {verdict:?}");
            assert!(verdict.by.contains(by), "{name} {provider} {tool:?}: {verdict:?}");
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
            let policy =
                ToolPolicy { rules: vec![rule("not they", &[name], &[], &["*"], Action::Deny)] };
            let who = Principal { name: name.into(), kind, ..ann() };
            let other = Principal { name: format!("{name}e").into(), ..who.clone() };
            let decide = |who| policy.decide(who, "web", Some("web_search")).action;
            assert_eq!((decide(&who), decide(&other)), (Action::Deny, Action::Allow), "{name}");
        }
    }

    #[test]
    fn what_wants_approval_is_not_read() {
        let policy = ToolPolicy { rules: vec![rule("ask", &[], &[], &["docs:*"], Action::Approve)] };
        let who = ann();
        assert!(!policy.may_see(&who, "docs") && policy.may_see(&who, "code"));
    }

    #[test]
    fn the_rule_that_decides_bounds_what_it_lets_through() {
        let slow = RuleLimits { rate_per_minute: NonZeroU32::new(2), timeout: None };
        let short = RuleLimits { rate_per_minute: None, timeout: Some(Duration::from_secs(1)) };
        let with = |bounds, rule: PolicyRule| PolicyRule { bounds, ..rule };
        let policy = ToolPolicy {
            rules: vec![
                with(short, rule("no pages", &[], &[], &["fetch_page"], Action::Deny)),
                with(slow, rule("slow web", &["ann"], &[], &["web:*"], Action::Allow)),
                with(short, rule("short web", &[], &[], &["web:*"], Action::Approve)),
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
        assert_eq!((unsaid.rule, unsaid.bounds), (None, RuleBounds::default()));
    }
}
