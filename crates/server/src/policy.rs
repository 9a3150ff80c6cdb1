//! Who may use what. The only place that makes an [`Admitted`].

use crate::catalogue::Route;
use docent_transport::Principal;
use std::{fmt, sync::Arc};

/// Rules on top of keys' scopes: the first one that speaks of a caller and a tool decides. Where none does, the scopes do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// In the order in which they are asked.
    pub rules: Vec<Rule>,
}

/// What is done about some tools when some callers use them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// How it is told in refusals and by `docent policy test`.
    pub name: String,
    /// Names of keys; none for everybody.
    pub keys: Vec<String>,
    /// Scopes, of which the caller holds one; none for everybody.
    pub scopes: Vec<String>,
    /// Tool names, suites (`web:*`) or `*`.
    pub tools: Vec<String>,
    /// What is done.
    pub action: Action,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The tool may be used.
    Allow,
    /// The tool is neither shown nor run.
    Deny,
    /// The person at the client is asked before each call.
    Approve,
}

impl fmt::Display for Action {
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
pub struct Verdict {
    /// What is done.
    pub action: Action,
    /// Which rule, or which of the caller's scopes, said so.
    pub by: String,
}

impl Policy {
    /// Decides about a tool of a provider, or about the provider's resources and prompts where no tool is named.
    pub fn decide(&self, who: &Principal, provider: &str, tool: Option<&str>) -> Verdict {
        let Some(scope) = who.scopes.iter().find(|scope| opens(scope, provider, tool)) else {
            let by = format!("the scopes of `{}`: {:?}", who.name, who.scopes);
            return Verdict { action: Action::Deny, by };
        };
        match self.rules.iter().find(|rule| rule.speaks_of(who, provider, tool)) {
            // Reading has no way to ask a person.
            Some(rule) if rule.action == Action::Approve && tool.is_none() => {
                Verdict { action: Action::Deny, by: rule.name.clone() }
            }
            Some(rule) => Verdict { action: rule.action, by: rule.name.clone() },
            None => Verdict {
                action: Action::Allow,
                by: format!("the scope {scope:?} of `{}`; no rule speaks of it", who.name),
            },
        }
    }

    /// Whether this principal may call the tool, and therefore sees it in lists.
    pub(crate) fn may_use(&self, who: &Principal, route: &Route) -> bool {
        self.decide(who, &route.provider, Some(&route.info.name)).action != Action::Deny
    }

    /// Whether this principal may read a provider's resources and prompts. A scope of one tool opens that tool alone.
    pub(crate) fn may_see(&self, who: &Principal, provider: &str) -> bool {
        self.decide(who, provider, None).action == Action::Allow
    }
}

impl Rule {
    /// A rule about every caller.
    pub fn for_everybody(name: &str, tools: Vec<String>, action: Action) -> Self {
        Self { name: name.to_owned(), keys: Vec::new(), scopes: Vec::new(), tools, action }
    }

    fn speaks_of(&self, who: &Principal, provider: &str, tool: Option<&str>) -> bool {
        let everybody = |names: &[String]| names.is_empty();
        (everybody(&self.keys) || self.keys.iter().any(|key| **key == *who.name))
            && (everybody(&self.scopes) || self.scopes.iter().any(|own| who.scopes.contains(own)))
            && self.tools.iter().any(|pattern| opens(pattern, provider, tool))
    }
}

/// A call that passed policy. Running a tool takes nothing else.
#[derive(Debug)]
pub(crate) struct Admitted {
    route: Arc<Route>,
    /// The rule that wants a person's approval first.
    approval: Option<String>,
}

impl Admitted {
    /// The sole constructor; an error says which rule refused.
    pub(crate) fn check(
        policy: &Policy,
        who: &Principal,
        route: &Arc<Route>,
    ) -> Result<Self, String> {
        let Verdict { action, by } = policy.decide(who, &route.provider, Some(&route.info.name));
        let approval = match action {
            Action::Deny => return Err(by),
            Action::Approve => Some(by),
            Action::Allow => None,
        };
        Ok(Self { route: Arc::clone(route), approval })
    }

    /// Where to go.
    pub(crate) fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// The rule that wants a person's approval first.
    pub(crate) fn approval(&self) -> Option<&str> {
        self.approval.as_deref()
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

    fn rule(name: &str, keys: &[&str], scopes: &[&str], tools: &[&str], action: Action) -> Rule {
        let own = |all: &[&str]| all.iter().map(ToString::to_string).collect();
        Rule { name: name.into(), keys: own(keys), scopes: own(scopes), tools: own(tools), action }
    }

    /// A caller with its scopes, a provider and a tool; what is done, and by what.
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static str,
        Option<&'static str>,
        Action,
        &'static str,
    );

    #[test]
    fn the_first_rule_that_speaks_decides() {
        let policy = Policy {
            rules: vec![
                rule("ops may", &["ops"], &[], &["web:*"], Action::Allow),
                rule("readers ask", &[], &["docs:*"], &["web_search"], Action::Approve),
                rule("no web", &[], &[], &["web:*"], Action::Deny),
                rule("ask before parsing", &[], &[], &["parse_files"], Action::Approve),
            ],
        };
        let cases: [Case; 9] = [
            ("ops", &["*"], "web", Some("web_search"), Action::Allow, "ops may"),
            ("ann", &["*"], "web", Some("web_search"), Action::Deny, "no web"),
            (
                "ann",
                &["docs:*", "web:*"],
                "web",
                Some("web_search"),
                Action::Approve,
                "readers ask",
            ),
            ("ann", &["docs:*", "web:*"], "web", Some("fetch_page"), Action::Deny, "no web"),
            ("ann", &["*"], "web", None, Action::Deny, "no web"),
            ("ann", &["*"], "code", Some("parse_files"), Action::Approve, "ask before parsing"),
            ("ann", &["*"], "code", None, Action::Allow, "no rule speaks of it"),
            ("ann", &["docs:*"], "code", Some("parse_files"), Action::Deny, "the scopes of `ann`"),
            // A rule opens nothing that the key's scopes don't.
            ("ops", &["code:*"], "web", Some("web_search"), Action::Deny, "the scopes of `ops`"),
        ];
        for (name, scopes, provider, tool, action, by) in cases {
            let scopes = scopes.iter().map(ToString::to_string).collect();
            let kind = PrincipalKind::Key;
            let who = Principal { name: name.into(), scopes, kind, until: None };
            let verdict = policy.decide(&who, provider, tool);
            assert_eq!(verdict.action, action, "{name} {provider} {tool:?}: {verdict:?}");
            assert!(verdict.by.contains(by), "{name} {provider} {tool:?}: {verdict:?}");
        }
    }

    #[test]
    fn what_wants_approval_is_not_read() {
        let policy = Policy { rules: vec![rule("ask", &[], &[], &["docs:*"], Action::Approve)] };
        let who = Principal {
            name: "ann".into(),
            scopes: Arc::from(["*".to_owned()]),
            kind: PrincipalKind::Key,
            until: None,
        };
        assert!(!policy.may_see(&who, "docs") && policy.may_see(&who, "code"));
    }
}
