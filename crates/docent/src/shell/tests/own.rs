//! docent asked by itself.

use super::*;

/// Real tools of docent, through the session that a client gets.
#[test]
fn docent_itself_is_asked() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("a.py"), "def hello():\n    return 1\n").unwrap();
    let inputs = ConfigInputs { working_dir: place.path().into(), ..ConfigInputs::default() };
    let config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let console = Arc::new(ShellConsole::with_streams(
            PIPE,
            Box::new(io::sink()),
            Box::new(io::sink()),
            Box::new(io::empty()),
        ));
        let questions = Arc::new(ClientRequestHandler::new(console, config.roots.clone()));
        let servers = ConfiguredServers {
            config,
            environment: ConfigEnvironment::default(),
            begun: Mutex::default(),
        };
        let peer = servers.connect(&ServerTarget::Docent, questions).await.unwrap();
        assert_eq!(peer.server().name, "docent");
        assert!(peer.server().instructions.is_some());
        let tools = connection::list(&*peer, "tools/list", "tools").await.unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "analyze_repository"));
        let params = json!({"name": "analyze_repository", "arguments": {"path": "."}});
        let answer = peer.request("tools/call", params, &|_| {}).await.unwrap();
        assert!(answer["content"][0]["text"].as_str().unwrap().contains("Python"), "{answer}");
        let error = peer.request("no/such", json!({}), &|_| {}).await.unwrap_err();
        assert_eq!(error.code, -32601);
    });
}
