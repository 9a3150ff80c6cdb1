//! Paths of the clients' configuration files on each platform.

use crate::client::McpClient;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folders of a user and a project, passed in by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFolders {
    /// The user's home folder.
    pub home: PathBuf,
    /// The configuration folder: `~/.config`, or the value of `XDG_CONFIG_HOME`.
    pub config_home: PathBuf,
    /// `%APPDATA%`, on Windows.
    pub app_data: Option<PathBuf>,
    /// The current project.
    pub project: Option<PathBuf>,
    /// The platform.
    pub platform: OsPlatform,
}

/// The platform, as far as the paths depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OsPlatform {
    /// Linux and similar systems.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

/// The scope of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigScope {
    /// All projects of the user.
    User,
    /// One project.
    Project,
}

/// A client's configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// The client that it belongs to.
    pub client: McpClient,
    /// Its scope.
    pub scope: ConfigScope,
    /// Its path.
    pub path: PathBuf,
}

/// Finds the existing configuration files.
pub fn find(places: &ClientFolders) -> Vec<ConfigFile> {
    let all = McpClient::ALL.iter().flat_map(|client| candidates(*client, places));
    all.filter(|source| source.path.is_file()).collect()
}

/// Lists where a client looks for its configuration, existing or not: the user's files first, and the preferred one to
/// write to before others.
pub fn candidates(client: McpClient, places: &ClientFolders) -> Vec<ConfigFile> {
    let user = |path: PathBuf| ConfigFile { client, scope: ConfigScope::User, path };
    let mut all: Vec<ConfigFile> = user_files(client, places).into_iter().map(user).collect();
    if let (Some(project), Some(file)) = (&places.project, project_file(client)) {
        let path = project.join(file);
        if all.iter().all(|source| source.path != path) {
            all.push(ConfigFile { client, scope: ConfigScope::Project, path });
        }
    }
    all
}

/// Lists the settings of a client that may have servers among much else, existing or not. They are only read: docent
/// writes to the client's own file for servers.
pub fn settings_candidates(client: McpClient, places: &ClientFolders) -> Vec<ConfigFile> {
    if client != McpClient::VsCode {
        return Vec::new();
    }
    let of_user = editor_folders(places).map(|folder| (ConfigScope::User, folder));
    let project = places.project.as_ref().map(|project| project.join(".vscode"));
    let of_project = project.map(|folder| (ConfigScope::Project, folder));
    let all = of_user.into_iter().chain(of_project);
    all.map(|(scope, folder)| ConfigFile { client, scope, path: folder.join("settings.json") })
        .collect()
}

/// Whether this user has used the client: one of its folders or files exists.
pub fn is_installed(client: McpClient, places: &ClientFolders) -> bool {
    match client {
        // Its file is directly in the home folder.
        McpClient::ClaudeCode => {
            places.home.join(".claude.json").exists() || places.home.join(".claude").is_dir()
        }
        McpClient::VsCode => editor_folders(places).iter().any(|folder| folder.is_dir()),
        _ => user_files(client, places).iter().any(|file| file.parent().is_some_and(Path::is_dir)),
    }
}

/// Returns the folder for user data of desktop programs.
fn support(places: &ClientFolders) -> PathBuf {
    match places.platform {
        OsPlatform::Linux => places.config_home.clone(),
        OsPlatform::Mac => places.home.join("Library/Application Support"),
        OsPlatform::Windows => app_data(places),
    }
}

fn app_data(places: &ClientFolders) -> PathBuf {
    places.app_data.clone().unwrap_or_else(|| places.home.join("AppData").join("Roaming"))
}

fn editor_folders(places: &ClientFolders) -> [PathBuf; 2] {
    ["Code", "Code - Insiders"].map(|name| support(places).join(name).join("User"))
}

fn user_files(client: McpClient, places: &ClientFolders) -> Vec<PathBuf> {
    let home = &places.home;
    let windows = places.platform == OsPlatform::Windows;
    let file = match client {
        McpClient::ClaudeDesktop => {
            support(places).join("Claude").join("claude_desktop_config.json")
        }
        McpClient::ClaudeCode => home.join(".claude.json"),
        McpClient::VsCode => return editor_files(places),
        McpClient::Cursor => home.join(".cursor").join("mcp.json"),
        McpClient::Windsurf => home.join(".codeium").join("windsurf").join("mcp_config.json"),
        McpClient::Zed if windows => app_data(places).join("Zed").join("settings.json"),
        McpClient::Zed => places.config_home.join("zed").join("settings.json"),
        McpClient::Codex => home.join(".codex").join("config.toml"),
        McpClient::GeminiCli => home.join(".gemini").join("settings.json"),
        McpClient::Goose if windows => {
            app_data(places).join("Block").join("goose").join("config").join("config.yaml")
        }
        McpClient::Goose => places.config_home.join("goose").join("config.yaml"),
    };
    vec![file]
}

/// Lists the files of the default profile and the other profiles of each edition.
fn editor_files(places: &ClientFolders) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in editor_folders(places) {
        files.push(folder.join("mcp.json"));
        let profiles = fs::read_dir(folder.join("profiles")).into_iter().flatten().flatten();
        let mut profiles: Vec<PathBuf> = profiles
            .map(|entry| entry.path().join("mcp.json"))
            .filter(|file| file.is_file())
            .collect();
        profiles.sort();
        files.append(&mut profiles);
    }
    files
}

const fn project_file(client: McpClient) -> Option<&'static str> {
    match client {
        McpClient::ClaudeDesktop | McpClient::Windsurf | McpClient::Goose => None,
        McpClient::ClaudeCode => Some(".mcp.json"),
        McpClient::VsCode => Some(".vscode/mcp.json"),
        McpClient::Cursor => Some(".cursor/mcp.json"),
        McpClient::Zed => Some(".zed/settings.json"),
        McpClient::Codex => Some(".codex/config.toml"),
        McpClient::GeminiCli => Some(".gemini/settings.json"),
    }
}
