//! Project gaps outside the documents: license, tests, automation, people.

use super::{can_be_absent, command, counted, describe_command, gap, has_code};
use crate::repo::{
    license,
    report::{CommandPurpose, Depth, Gap, Manifest, ProjectKind, Purpose, Report, Severity},
};

/// A missing license, or one without its text.
pub(super) fn licence(report: &Report) -> Vec<Gap> {
    let presence = &report.presence;
    if presence.licence.is_some() || !can_be_absent(report) {
        return Vec::new();
    }
    let stated =
        report.manifests.iter().find_map(|manifest| Some((manifest, manifest.licence.as_deref()?)));
    match (stated, presence.licence_id.as_deref()) {
        (Some((manifest, named)), _) => vec![gap(
            Severity::Low,
            "No license file",
            "A manifest names a license, but the project does not include its text.",
            format!("Add a LICENSE file with the text of {named}, which {} names.", manifest.path),
        )],
        (None, Some(_)) => Vec::new(),
        // Manifests, which may name one, are read from `standard` on.
        (None, None) if report.depth == Depth::Quick => vec![gap(
            Severity::Medium,
            "No license file",
            "Without a license, others may not use, change or share it.",
            "Add a LICENSE file; choose a license if there is none yet.",
        )],
        (None, None) => vec![gap(
            Severity::High,
            "No license",
            "Without one, others may not use, change or share it.",
            "Choose a license and put its text into LICENSE.",
        )],
    }
}

/// A manifest that names a different license than the license file.
pub(super) fn licences_disagree(report: &Report) -> Vec<Gap> {
    let (Some(file), Some(text)) = (&report.presence.licence, &report.presence.licence_id) else {
        return Vec::new();
    };
    let beside = |manifest: &&Manifest| !manifest.path.contains('/');
    let mut top = report.manifests.iter().filter(beside);
    let differing = top.find_map(|manifest| {
        let named = manifest.licence.as_deref()?;
        let meant = license::normalize_expression(named)?;
        license::disagree(&meant, text).then_some((manifest, named))
    });
    differing.map_or_else(Vec::new, |(manifest, named)| {
        vec![gap(
            Severity::Medium,
            format!("{} says {named}, {file} is {text}", manifest.path),
            "It is unclear which terms apply.",
            format!("Make {} and {file} name the same license.", manifest.path),
        )]
    })
}

/// Code without tests.
pub(super) fn tests(report: &Report) -> Vec<Gap> {
    let presence = &report.presence;
    let found = presence.test_files + presence.inline_test_files > 0;
    // Tests may be in sources that were not read.
    if found || !has_code(report) || !can_be_absent(report) || !report.missing.is_empty() {
        return Vec::new();
    }
    let what =
        if report.depth == Depth::Quick { "No test files by name" } else { "No tests found" };
    let step = match command(report, CommandPurpose::Test) {
        Some(command) => {
            format!("Write a test of the main path that {} runs.", describe_command(command))
        }
        None => "Write a test of the main path, and name the command that runs it.".into(),
    };
    let cost = "Without tests, there are no verified examples of how it works.";
    vec![gap(Severity::Medium, what, cost, step)]
}

/// No continuous integration.
pub(super) fn continuous_integration(report: &Report) -> Vec<Gap> {
    if !has_code(report) || !report.presence.ci.is_empty() || !can_be_absent(report) {
        return Vec::new();
    }
    let purposes = [CommandPurpose::Build, CommandPurpose::Test];
    let commands: Vec<String> = purposes
        .iter()
        .filter_map(|purpose| command(report, *purpose))
        .map(describe_command)
        .collect();
    let what =
        if commands.is_empty() { "build and tests".to_owned() } else { commands.join(" and ") };
    vec![gap(
        Severity::Low,
        "No continuous integration",
        "No check shows whether the instructions still work.",
        format!("Run {what} on every change."),
    )]
}

/// No contributing guide.
pub(super) fn contributing(report: &Report) -> Vec<Gap> {
    if report.presence.contributing.is_some() || !has_code(report) || !can_be_absent(report) {
        return Vec::new();
    }
    // The README may already cover it.
    let readme = report.documentation.as_ref().and_then(|it| it.readme.as_ref());
    let is_in_readme = readme
        .is_some_and(|it| it.items.iter().any(|item| item.item == "contributing" && item.found));
    if is_in_readme {
        return Vec::new();
    }
    let purposes = [CommandPurpose::Install, CommandPurpose::Test, CommandPurpose::Lint];
    let commands: Vec<String> = purposes
        .iter()
        .filter_map(|purpose| command(report, *purpose))
        .map(describe_command)
        .collect();
    let what = if commands.is_empty() {
        "setup, tests, style, review".to_owned()
    } else {
        format!("{}, and how changes are reviewed", commands.join(", "))
    };
    vec![gap(
        Severity::Low,
        "No contributing guide",
        "Contributors have to ask how to make changes.",
        format!("Write CONTRIBUTING.md: {what}."),
    )]
}

/// A program without a lock file.
pub(super) fn lock_file(report: &Report) -> Vec<Gap> {
    use ProjectKind as K;
    let Some(project) = &report.project else { return Vec::new() };
    let program = matches!(
        project.kind,
        K::CommandLine
            | K::Service
            | K::WebApplication
            | K::DesktopApplication
            | K::MobileApplication
    );
    let locks = |manifest: &Manifest| match manifest.ecosystem.as_str() {
        "Cargo" => Some(("Cargo.lock", "cargo generate-lockfile")),
        "npm" => Some(("package-lock.json", "npm install --package-lock-only")),
        "Ruby" => Some(("Gemfile.lock", "bundle lock")),
        "PHP" => Some(("composer.lock", "composer update --lock")),
        "Elixir" => Some(("mix.lock", "mix deps.get")),
        "Dart" => Some(("pubspec.lock", "dart pub get")),
        _ => None,
    };
    let unlocked = |manifest: &&Manifest| {
        let asks = manifest.dependencies.iter().any(|it| it.purpose != Purpose::Workspace);
        manifest.lock_file.is_none()
            && manifest.workspace.is_none()
            && asks
            && !manifest.path.contains('/')
    };
    if !program || !can_be_absent(report) || !report.missing.is_empty() {
        return Vec::new();
    }
    let found = report
        .manifests
        .iter()
        .filter(unlocked)
        .find_map(|manifest| Some((manifest, locks(manifest)?)));
    found.map_or_else(Vec::new, |(manifest, (file, make))| {
        vec![gap(
            Severity::Medium,
            format!("No lock file for {}", manifest.path),
            "Builds may use different versions on each machine.",
            format!("Create {file} with `{make}` and commit it."),
        )]
    })
}

/// Files that change often, are hard to follow, and are not explained.
pub(super) fn hot_spots(report: &Report) -> Vec<Gap> {
    let (Some(history), Some(coverage)) = (&report.history, &report.coverage) else {
        return Vec::new();
    };
    let undocumented =
        |path: &str| coverage.undocumented.iter().filter(|it| it.path == path).count() as u64;
    let worst = history.hot_spots.iter().take(10).find(|spot| undocumented(&spot.path) >= 3);
    worst.map_or_else(Vec::new, |spot| {
        let symbols = counted(undocumented(&spot.path), "public symbol");
        vec![gap(
            Severity::Medium,
            format!("{} changed {} times and has {symbols} without docs", spot.path, spot.changes),
            "The next person has to read the whole file.",
            format!(
                "Describe at the top of {} what it owns, and document its public symbols.",
                spot.path
            ),
        )]
    })
}

/// A project with a bus factor of one.
pub(super) fn bus_factor(report: &Report) -> Vec<Gap> {
    let Some(history) =
        report.history.as_ref().filter(|it| it.bus_factor == 1 && it.commits >= 50 && !it.shallow)
    else {
        return Vec::new();
    };
    // A project with a single author is aware of it.
    let Some(owner) = history.owners.first().filter(|_| history.author_count > 2) else {
        return Vec::new();
    };
    let folder =
        history.folders.iter().filter(|it| it.main_author == owner.name && it.bus_factor == 1);
    let folder = folder.max_by_key(|it| it.changes).map_or(".", |it| it.path.as_str());
    vec![gap(
        Severity::Medium,
        format!("{} made {:.0} % of the changes", owner.name, owner.share),
        "If they leave, undocumented knowledge is lost.",
        format!(
            "Ask {} to write down how {folder} works and why, before anything else.",
            owner.name
        ),
    )]
}
