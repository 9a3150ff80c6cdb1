//! Who may use what. The only place that makes an [`Admitted`].

use crate::catalogue::Route;
use docent_transport::Principal;
use std::sync::Arc;

/// A call that passed policy. Running a tool takes nothing else.
#[derive(Debug)]
pub(crate) struct Admitted {
    route: Arc<Route>,
}

impl Admitted {
    /// The sole constructor.
    pub(crate) fn check(who: &Principal, route: &Arc<Route>) -> Option<Self> {
        may_use(who, route).then(|| Self { route: Arc::clone(route) })
    }

    /// Where to go.
    pub(crate) fn route(&self) -> &Arc<Route> {
        &self.route
    }
}

/// Whether this principal may call the tool, and therefore sees it in lists.
pub(crate) fn may_use(who: &Principal, route: &Route) -> bool {
    who.scopes.iter().any(|scope| opens(scope, &route.provider, Some(&route.info.name)))
}

/// Whether this principal may read a provider's resources and prompts. A scope of one tool opens that tool alone.
pub(crate) fn may_see(who: &Principal, provider: &str) -> bool {
    who.scopes.iter().any(|scope| opens(scope, provider, None))
}

fn opens(scope: &str, provider: &str, tool: Option<&str>) -> bool {
    scope == "*" || scope.strip_suffix(":*") == Some(provider) || Some(scope) == tool
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
