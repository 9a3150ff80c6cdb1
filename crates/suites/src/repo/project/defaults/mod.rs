//! Default commands of an ecosystem's tools, if a manifest or tool settings make them certain.

mod compiled;
mod python;
mod scripted;

use super::{
    commands::{CommandCandidate, CommandOrigin},
    sources::{FileRole, OpenedManifest, ProjectSources, depth, read},
};
use crate::repo::{
    report::{CommandPurpose, EntryKind, EntryPoint},
    tree::folder_of,
};

/// Maximum manifest depth; deeper ones are parts of others, or fixtures.
const MAX_MANIFEST_DEPTH: usize = 2;

/// A command, and the file that makes it certain.
#[derive(Debug)]
struct DefaultCommand {
    purpose: CommandPurpose,
    command: String,
    path: String,
}

/// Default commands of one manifest.
struct DefaultCommands<'f> {
    sources: &'f ProjectSources<'f>,
    opened: &'f OpenedManifest<'f>,
    entry_points: &'f [EntryPoint],
    all: Vec<DefaultCommand>,
}

impl DefaultCommands<'_> {
    /// Adds a command that the manifest makes certain.
    fn add(&mut self, purpose: CommandPurpose, command: impl Into<String>) {
        let path = self.opened.manifest.path.clone();
        self.all.push(DefaultCommand { purpose, command: command.into(), path });
    }

    /// Adds a command if one of these files is next to the manifest.
    fn add_if_there(
        &mut self,
        files: &[&str],
        purpose: CommandPurpose,
        command: impl Into<String>,
    ) {
        if let Some(path) = self.sources.first_of(self.opened.folder(), files) {
            self.all.push(DefaultCommand { purpose, command: command.into(), path });
        }
    }

    fn has(&self, name: &str) -> bool {
        self.sources.has(self.opened.folder(), name)
    }

    fn has_folder(&self, name: &str) -> bool {
        let folder = self.opened.folder();
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        self.sources.tree.has_folder(&path)
    }

    /// Returns the only program in the manifest; `None` if there are several.
    fn only_program(&self) -> Option<String> {
        let mut programs = self.declared().filter(|entry| entry.kind == EntryKind::Binary);
        let first = programs.next()?;
        programs.next().is_none().then(|| first.name.clone())
    }

    /// Returns the entry points in the manifest.
    fn declared(&self) -> impl Iterator<Item = &EntryPoint> {
        let path = &self.opened.manifest.path;
        self.entry_points.iter().filter(move |entry| entry.declared_in == *path)
    }
}

/// Returns the default commands from manifests and tool settings.
pub(super) fn commands(
    sources: &ProjectSources<'_>,
    entry_points: &[EntryPoint],
) -> Vec<CommandCandidate> {
    let mut candidates = Vec::new();
    let counts = |opened: &&OpenedManifest<'_>| {
        !opened.is_member && depth(opened.folder()) <= MAX_MANIFEST_DEPTH
    };
    for opened in sources.manifests.iter().filter(counts) {
        let mut found = DefaultCommands { sources, opened, entry_points, all: Vec::new() };
        match opened.manifest.ecosystem.as_str() {
            "Cargo" => compiled::cargo(&mut found),
            "Go" => compiled::go(&mut found),
            "Maven" => compiled::maven(&mut found),
            "Gradle" => compiled::gradle(&mut found),
            ".NET" => compiled::dotnet(&mut found),
            "Swift" => compiled::swift(&mut found),
            "CMake" => compiled::cmake(&mut found),
            "Conan" => found.add(CommandPurpose::Install, "conan install ."),
            "Haskell" => compiled::haskell(&mut found),
            "npm" => scripted::npm(&mut found),
            "Ruby" => scripted::ruby(&mut found),
            "PHP" => scripted::php(&mut found),
            "Elixir" => scripted::elixir(&mut found),
            "Dart" => scripted::dart(&mut found),
            "Python" => python::python(&mut found),
            _ => {}
        }
        let folder = opened.folder();
        candidates.extend(found.all.into_iter().map(|default| candidate(default, folder)));
    }
    candidates.extend(settings(sources));
    candidates
}

fn candidate(default: DefaultCommand, folder: &str) -> CommandCandidate {
    CommandCandidate {
        purpose: default.purpose,
        command: default.command,
        folder: folder.to_owned(),
        path: default.path,
        line: None,
        origin: CommandOrigin::Manifest,
    }
}

/// Returns the default commands from top-level tool settings, for any ecosystem.
fn settings(sources: &ProjectSources<'_>) -> Vec<CommandCandidate> {
    let files: [(&[&str], CommandPurpose, &str); 9] = [
        (&[".pre-commit-config.yaml"], CommandPurpose::Lint, "pre-commit run --all-files"),
        (&["mkdocs.yml"], CommandPurpose::Docs, "mkdocs build"),
        (&["book.toml"], CommandPurpose::Docs, "mdbook build"),
        (
            &["MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE"],
            CommandPurpose::Build,
            "bazel build //...",
        ),
        (
            &["MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE"],
            CommandPurpose::Test,
            "bazel test //...",
        ),
        (&["meson.build"], CommandPurpose::Build, "meson setup build && meson compile -C build"),
        (&["build.zig"], CommandPurpose::Build, "zig build"),
        (&["build.sbt"], CommandPurpose::Test, "sbt test"),
        (&["Dockerfile"], CommandPurpose::Build, "docker build ."),
    ];
    let mut all: Vec<(DefaultCommand, &str)> = Vec::new();
    for (names, purpose, command) in files {
        if let Some(path) = sources.first_of("", names) {
            all.push((DefaultCommand { purpose, command: command.into(), path }, ""));
        }
    }
    let compose = sources.of(FileRole::Compose).first();
    if let Some(path) = compose.filter(|path| read(sources.tree, path).is_ok()) {
        let (purpose, command) = (CommandPurpose::Run, "docker compose up".to_owned());
        all.push((DefaultCommand { purpose, command, path: (*path).to_owned() }, folder_of(path)));
    }
    let top = |path: &&&str| folder_of(path).is_empty();
    if let Some(path) = sources.of(FileRole::Terraform).iter().find(top) {
        for (purpose, command) in [
            (CommandPurpose::Install, "terraform init"),
            (CommandPurpose::Lint, "terraform validate"),
            (CommandPurpose::Format, "terraform fmt -recursive"),
        ] {
            let (command, path) = (command.to_owned(), (*path).to_owned());
            all.push((DefaultCommand { purpose, command, path }, ""));
        }
    }
    all.into_iter().map(|(default, folder)| candidate(default, folder)).collect()
}
