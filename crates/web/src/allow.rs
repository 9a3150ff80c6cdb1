//! How an operator lets hosts be reached: the very lines to add.

use url::Url;

/// Where an operator's own settings are; a project's file can't name hosts.
const FILE: &str = "~/.config/docent/docent.toml";

/// What to add, and where, so that these hosts may be reached.
pub fn lines_to_add(hosts: &[String]) -> String {
    let quoted: Vec<String> = hosts.iter().map(|host| format!("{host:?}")).collect();
    format!(
        "to allow it, the operator adds to {FILE}:\n[policy.network]\nhosts = [{}]",
        quoted.join(", ")
    )
}

/// A host as a rule of the policy names it.
pub(crate) fn rule_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) if !matches!(port, 80 | 443) => format!("{host}:{port}"),
        _ => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_can_be_pasted() {
        let hosts = ["https://html.duckduckgo.com/html/", "http://127.0.0.1:9000/"];
        let hosts: Vec<String> =
            hosts.iter().map(|url| rule_of(&Url::parse(url).unwrap())).collect();
        assert_eq!(
            lines_to_add(&hosts),
            "to allow it, the operator adds to ~/.config/docent/docent.toml:\n[policy.network]\n\
             hosts = [\"html.duckduckgo.com\", \"127.0.0.1:9000\"]"
        );
        let rules = hosts.iter().map(String::as_str);
        assert!(docent_net::Policy::parse(rules).is_ok());
    }
}
