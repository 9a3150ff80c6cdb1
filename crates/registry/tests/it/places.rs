//! Paths of configuration files.

use docent_registry::{
    ClientFolders, ConfigScope, McpClient, OsPlatform, candidates, find, is_installed,
    settings_candidates,
};
use std::{fs, path::Path};

fn places(folder: &Path, platform: OsPlatform) -> ClientFolders {
    ClientFolders {
        home: folder.join("home"),
        config_home: folder.join("home/.config"),
        app_data: (platform == OsPlatform::Windows).then(|| folder.join("roaming")),
        project: Some(folder.join("project")),
        platform,
    }
}

#[test]
fn each_platform_has_its_places() {
    let check = |platform: OsPlatform, expected: [&str; 4]| {
        let clients =
            [McpClient::ClaudeDesktop, McpClient::VsCode, McpClient::Zed, McpClient::Goose];
        for (client, expected) in clients.into_iter().zip(expected) {
            let all = candidates(client, &places(Path::new("/x"), platform));
            let first = all.first().unwrap();
            assert_eq!(first.path, Path::new("/x").join(expected), "{client} {platform:?}");
            assert_eq!(first.scope, ConfigScope::User);
        }
    };
    check(
        OsPlatform::Linux,
        [
            "home/.config/Claude/claude_desktop_config.json",
            "home/.config/Code/User/mcp.json",
            "home/.config/zed/settings.json",
            "home/.config/goose/config.yaml",
        ],
    );
    check(
        OsPlatform::Mac,
        [
            "home/Library/Application Support/Claude/claude_desktop_config.json",
            "home/Library/Application Support/Code/User/mcp.json",
            "home/.config/zed/settings.json",
            "home/.config/goose/config.yaml",
        ],
    );
    check(
        OsPlatform::Windows,
        [
            "roaming/Claude/claude_desktop_config.json",
            "roaming/Code/User/mcp.json",
            "roaming/Zed/settings.json",
            "roaming/Block/goose/config/config.yaml",
        ],
    );
}

#[test]
fn settings_of_an_editor_are_apart_from_its_own_file_of_servers() {
    let places = places(Path::new("/x"), OsPlatform::Linux);
    let settings = settings_candidates(McpClient::VsCode, &places);
    let paths: Vec<_> = settings.iter().map(|file| file.path.as_path()).collect();
    let expected = [
        "/x/home/.config/Code/User/settings.json",
        "/x/home/.config/Code - Insiders/User/settings.json",
        "/x/project/.vscode/settings.json",
    ];
    assert_eq!(paths, expected.map(Path::new));
    assert_eq!(settings[2].scope, ConfigScope::Project);
    assert!(settings_candidates(McpClient::Cursor, &places).is_empty());
    let own = candidates(McpClient::VsCode, &places);
    assert!(own.iter().all(|file| !settings.contains(file)), "docent writes to {own:?}");
}

#[test]
fn what_exists_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path(), OsPlatform::Linux);
    assert!(find(&places).is_empty());
    assert!(!is_installed(McpClient::Codex, &places));
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
    let found: Vec<(McpClient, ConfigScope, String)> = find(&places)
        .into_iter()
        .map(|source| {
            let path = source.path.strip_prefix(folder.path()).unwrap().to_owned();
            (source.client, source.scope, path.to_string_lossy().into_owned())
        })
        .collect();
    let of = |client, scope, path: &str| (client, scope, path.to_owned());
    let expected = [
        of(McpClient::ClaudeCode, ConfigScope::User, "home/.claude.json"),
        of(McpClient::ClaudeCode, ConfigScope::Project, "project/.mcp.json"),
        of(McpClient::VsCode, ConfigScope::User, "home/.config/Code/User/mcp.json"),
        of(McpClient::VsCode, ConfigScope::User, "home/.config/Code/User/profiles/-5a/mcp.json"),
        of(McpClient::VsCode, ConfigScope::Project, "project/.vscode/mcp.json"),
        of(McpClient::Codex, ConfigScope::User, "home/.codex/config.toml"),
    ];
    assert_eq!(found, expected);
    let there: Vec<McpClient> =
        McpClient::ALL.into_iter().filter(|client| is_installed(*client, &places)).collect();
    assert_eq!(there, [McpClient::ClaudeCode, McpClient::VsCode, McpClient::Codex]);
}

#[test]
fn a_client_goes_by_its_names() {
    for client in McpClient::ALL {
        assert_eq!(McpClient::parse(client.id()), Some(client));
        assert_eq!(McpClient::parse(client.title()), Some(client));
    }
    assert_eq!(McpClient::parse("VS-Code"), Some(McpClient::VsCode));
    assert_eq!(McpClient::parse("emacs"), None);
}
