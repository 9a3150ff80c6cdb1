//! Where secrets could be read by others: the process list, and what commands print of the configuration.

use crate::{
    CliRun, TestHome,
    serving::{LEGACY, listen},
};
use docent_testkit::HttpTestClient;
use serde_json::json;
use std::fs;

const KEY: &str = "a-key-of-the-command-line-0123456789";

#[tokio::test]
async fn a_key_of_the_command_line_is_not_in_the_process_list() {
    let whole = format!("--auth={KEY}");
    for args in
        [&["--transport", "http", "--auth", KEY][..], &[whole.as_str(), "--transport", "http"]]
    {
        let place = TestHome::new();
        let (server, address) = listen(&place, args, &[]).await;
        let id = server.process_id().expect("it runs");
        // Some kernels don't tell of children.
        let read = |path: String| fs::read_to_string(path).unwrap_or_default();
        let line = read(format!("/proc/{id}/cmdline"));
        assert!(!line.contains(KEY) && line.contains("--transport\0http\0"), "{line:?}");
        for child in read(format!("/proc/{id}/task/{id}/children")).split_whitespace() {
            let handed = read(format!("/proc/{child}/environ"));
            assert!(!handed.contains(KEY), "{child}: {handed:?}");
        }
        let uri = format!("http://{address}/mcp");
        let bearer = format!("Bearer {KEY}");
        let mut peer = HttpTestClient::new_http(&uri).unwrap().header("authorization", &bearer);
        peer.open(LEGACY).await.unwrap();
        let list = peer.ask("tools/list", json!({})).await.unwrap();
        assert!(list["result"]["tools"].is_array(), "{list}");
        let mut stranger = HttpTestClient::new_http(&uri).unwrap();
        let refused = stranger.ask("tools/list", json!({})).await.unwrap_err().to_string();
        assert!(refused.starts_with("HTTP 401"), "{refused}");
        let log = server.log().join("\n");
        assert!(!log.contains(KEY) && !log.contains("DOCENT_HANDED_AUTH"), "{log}");
    }
}

#[test]
fn a_key_of_the_command_line_is_reported_as_such() {
    let shown = TestHome::new().run(&["config", "show", "--json", "--auth", KEY]).ends(0).json();
    let token = &shown["server.auth.token"];
    assert_eq!(token["value"], "***");
    assert_eq!(token["source"], json!({"kind": "flag", "name": "--auth"}));
}

#[test]
fn no_secret_is_printed_with_the_configuration() {
    let token = format!("ghp_{}", "1234567890abcdefghijABCDEFGHIJ123456");
    let place = TestHome::new();
    place.settings(&format!(
        r#"
        [mcp_servers.a]
        command = "npx"
        args = ["server", "--token", "word-after-a-flag", "--password=hunter2", "{token}", "--token=${{OWN}}", "${{HOME}}/x"]
        env = {{ K = "value-of-a-variable" }}

        [mcp_servers.b]
        url = "https://u:password-of-b@b.test/mcp?api_key=key-in-a-query"

        [docs.collections.x]
        url = "https://u:password-of-x@docs.test/"
        "#
    ));
    let secrets = [
        token.as_str(),
        "word-after-a-flag",
        "hunter2",
        "value-of-a-variable",
        "password-of",
        "key-in-a-query",
        "from-the-environment",
    ];
    for (words, want) in [
        (["config", "show"], &["--token=${OWN}", "${HOME}/x", "@docs.test/", "@b.test/mcp"][..]),
        (["servers", "list"], &["npx server --token", "/x", "@b.test/mcp"]),
    ] {
        for json in [false, true] {
            let args = words.into_iter().chain(json.then_some("--json")).collect::<Vec<_>>();
            let run = CliRun::of(place.command(&args).env("OWN", "from-the-environment"));
            run.ends(0);
            for secret in secrets {
                assert!(!run.out.contains(secret), "{args:?}: {secret} in {}", run.out);
            }
            for part in want {
                run.prints(part);
            }
            run.prints("[redacted: github token]");
            assert!(!json || run.json().is_object(), "{args:?}");
        }
    }
}
