//! Paths of configuration files.

use docent_registry::{Client, Places, Platform, Scope, candidates, find, is_installed};
use std::{fs, path::Path};

fn places(folder: &Path, platform: Platform) -> Places {
    Places {
        home: folder.join("home"),
        config_home: folder.join("home/.config"),
        app_data: (platform == Platform::Windows).then(|| folder.join("roaming")),
        project: Some(folder.join("project")),
        platform,
    }
}

#[test]
fn each_platform_has_its_places() {
    let check = |platform: Platform, expected: [&str; 4]| {
        let clients = [Client::ClaudeDesktop, Client::VsCode, Client::Zed, Client::Goose];
        for (client, expected) in clients.into_iter().zip(expected) {
            let all = candidates(client, &places(Path::new("/x"), platform));
            let first = all.first().unwrap();
            assert_eq!(first.path, Path::new("/x").join(expected), "{client} {platform:?}");
            assert_eq!(first.scope, Scope::User);
        }
    };
    check(
        Platform::Linux,
        [
            "home/.config/Claude/claude_desktop_config.json",
            "home/.config/Code/User/mcp.json",
            "home/.config/zed/settings.json",
            "home/.config/goose/config.yaml",
        ],
    );
    check(
        Platform::Mac,
        [
            "home/Library/Application Support/Claude/claude_desktop_config.json",
            "home/Library/Application Support/Code/User/mcp.json",
            "home/.config/zed/settings.json",
            "home/.config/goose/config.yaml",
        ],
    );
    check(
        Platform::Windows,
        [
            "roaming/Claude/claude_desktop_config.json",
            "roaming/Code/User/mcp.json",
            "roaming/Zed/settings.json",
            "roaming/Block/goose/config/config.yaml",
        ],
    );
}

#[test]
fn what_exists_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path(), Platform::Linux);
    assert!(find(&places).is_empty());
    assert!(!is_installed(Client::Codex, &places));
    let files = [
        "home/.claude.json",
        "home/.codex/config.toml",
        "home/.config/Code/User/mcp.json",
        "home/.config/Code/User/profiles/-5a/mcp.json",
        "project/.mcp.json",
        "project/.vscode/mcp.json",
    ];
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
    }
    let found: Vec<(Client, Scope, String)> = find(&places)
        .into_iter()
        .map(|source| {
            let path = source.path.strip_prefix(folder.path()).unwrap().to_owned();
            (source.client, source.scope, path.to_string_lossy().into_owned())
        })
        .collect();
    let of = |client, scope, path: &str| (client, scope, path.to_owned());
    let expected = [
        of(Client::ClaudeCode, Scope::User, "home/.claude.json"),
        of(Client::ClaudeCode, Scope::Project, "project/.mcp.json"),
        of(Client::VsCode, Scope::User, "home/.config/Code/User/mcp.json"),
        of(Client::VsCode, Scope::User, "home/.config/Code/User/profiles/-5a/mcp.json"),
        of(Client::VsCode, Scope::Project, "project/.vscode/mcp.json"),
        of(Client::Codex, Scope::User, "home/.codex/config.toml"),
    ];
    assert_eq!(found, expected);
    let there: Vec<Client> =
        Client::ALL.into_iter().filter(|client| is_installed(*client, &places)).collect();
    assert_eq!(there, [Client::ClaudeCode, Client::VsCode, Client::Codex]);
}

#[test]
fn a_client_goes_by_its_names() {
    for client in Client::ALL {
        assert_eq!(Client::parse(client.id()), Some(client));
        assert_eq!(Client::parse(client.title()), Some(client));
    }
    assert_eq!(Client::parse("VS-Code"), Some(Client::VsCode));
    assert_eq!(Client::parse("emacs"), None);
}
