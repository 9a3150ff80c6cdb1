//! How an operator lets hosts be reached: what to add, and where.

use url::Url;

/// Where an operator's own settings are; a project's file can't name hosts.
const FILE: &str = "~/.config/docent/docent.toml";

/// What to add, and where, so that these hosts may be reached: the very lines, where the network is off. Where hosts are
/// named already, the file has the table, and TOML takes no second one.
pub fn what_to_add(hosts: &[String], is_off: bool) -> String {
    let quoted: Vec<String> = hosts.iter().map(|host| format!("{host:?}")).collect();
    let quoted = quoted.join(", ");
    if is_off {
        format!("to allow it, the operator adds to {FILE}:\n[policy.network]\nhosts = [{quoted}]")
    } else {
        format!(
            "to allow it, the operator adds {quoted} to the list `hosts` of [policy.network] in {FILE}"
        )
    }
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
    fn what_is_told_can_be_pasted() {
        let hosts = ["https://html.duckduckgo.com/html/", "http://127.0.0.1:9000/"];
        let hosts: Vec<String> =
            hosts.iter().map(|url| rule_of(&Url::parse(url).unwrap())).collect();
        assert_eq!(
            what_to_add(&hosts, true),
            "to allow it, the operator adds to ~/.config/docent/docent.toml:\n[policy.network]\n\
             hosts = [\"html.duckduckgo.com\", \"127.0.0.1:9000\"]"
        );
        assert_eq!(
            what_to_add(&hosts, false),
            "to allow it, the operator adds \"html.duckduckgo.com\", \"127.0.0.1:9000\" to the list `hosts` of \
             [policy.network] in ~/.config/docent/docent.toml"
        );
        let rules = hosts.iter().map(String::as_str);
        assert!(docent_net::Policy::parse(rules).is_ok());
    }
}
