//! Explains how an operator can allow hosts.

use docent_net::PolicySetting;
use std::path::Path;
use url::Url;

/// What to add, and where, to allow these hosts: complete lines if the network is off. If hosts are already listed, the
/// file has the table, and TOML allows no second one.
pub fn what_to_add(hosts: &[String], is_off: bool, setting: &PolicySetting) -> String {
    let quoted: Vec<String> = hosts.iter().map(|host| format!("{host:?}")).collect();
    let quoted = quoted.join(", ");
    match setting {
        PolicySetting::Variable(name) => {
            let hosts = hosts.join(",");
            format!("to allow it, the operator adds {hosts} to the environment variable {name}")
        }
        PolicySetting::File(file) if is_off && is_json(file) => format!(
            "to allow it, the operator adds to {file}:\n{{\"policy\": {{\"network\": {{\"hosts\": [{quoted}]}}}}}}"
        ),
        PolicySetting::File(file) if is_off => {
            format!(
                "to allow it, the operator adds to {file}:\n[policy.network]\nhosts = [{quoted}]"
            )
        }
        PolicySetting::File(file) => format!(
            "to allow it, the operator adds {quoted} to the list policy.network.hosts in {file}"
        ),
    }
}

fn is_json(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// A host as written in a policy rule.
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
    fn advice_can_be_pasted() {
        let hosts = ["https://html.duckduckgo.com/html/", "http://127.0.0.1:9000/"];
        let hosts: Vec<String> =
            hosts.iter().map(|url| rule_of(&Url::parse(url).unwrap())).collect();
        let file = PolicySetting::File("/x/docent.toml".to_owned());
        let json = PolicySetting::File("/x/docent.json".to_owned());
        let variable = PolicySetting::Variable("DOCENT_HOSTS".to_owned());
        for (setting, is_off, want) in [
            (
                &file,
                true,
                "adds to /x/docent.toml:\n[policy.network]\nhosts = [\"html.duckduckgo.com\", \"127.0.0.1:9000\"]",
            ),
            (
                &json,
                true,
                "adds to /x/docent.json:\n\
                 {\"policy\": {\"network\": {\"hosts\": [\"html.duckduckgo.com\", \"127.0.0.1:9000\"]}}}",
            ),
            (
                &file,
                false,
                "adds \"html.duckduckgo.com\", \"127.0.0.1:9000\" to the list policy.network.hosts in /x/docent.toml",
            ),
            (
                &variable,
                false,
                "adds html.duckduckgo.com,127.0.0.1:9000 to the environment variable DOCENT_HOSTS",
            ),
        ] {
            let message = what_to_add(&hosts, is_off, setting);
            assert_eq!(message, format!("to allow it, the operator {want}"));
        }
        let rules = hosts.iter().map(String::as_str);
        assert!(docent_net::NetworkPolicy::parse(rules).is_ok());
    }
}
