//! .NET: projects, solutions, `packages.config`, central versions and `packages.lock.json`.

use super::{
    super::{
        report::Purpose,
        tree::{folder_of, join, name_of},
    },
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    reading::{ManifestDraft, ManifestError, ManifestReader, RequestedDependency, outwards},
};
use docent_xml::Node;
use serde::Deserialize;
use std::collections::HashMap;

/// Package that marks a test project.
const TEST_PACKAGE: &str = "Microsoft.NET.Test.Sdk";

/// Suffixes of test and benchmark project names.
const TEST_ENDINGS: [&str; 4] = ["Tests", ".Test", "Benchmarks", ".TestUtilities"];

/// Maximum number of nested property lookups.
const MAX_PROPERTY_LOOKUPS: usize = 4;

/// Maximum length of an expanded value: mutually recursive properties would grow without end.
const MAX_VALUE_BYTES: usize = 1_000;

/// A package in a file.
#[derive(Debug)]
struct DotnetPackage {
    name: String,
    version: Option<String>,
    /// Whether users of the project do not inherit it.
    private: bool,
}

/// A project, or properties for projects below a folder.
#[derive(Debug, Default)]
struct MsBuildFile {
    properties: HashMap<String, String>,
    /// Referenced packages.
    references: Vec<DotnetPackage>,
    /// Development packages added to every project below.
    global: Vec<DotnetPackage>,
    /// Central package versions.
    versions: Vec<DotnetPackage>,
    /// Index in `versions` by lowercase package name.
    index: HashMap<String, usize>,
    /// Paths of referenced projects.
    projects: Vec<String>,
    /// Whether it imports the file with the same name above.
    imports_above: bool,
}

/// Shared build files above projects, by path.
type InheritedBuilds = HashMap<String, MsBuildFile>;

/// Reads every project, solution and package list.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let mut above = InheritedBuilds::new();
    for path in reading.files(PackageFileFormat::DotnetProperties) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::DotnetProperties);
        let build = parse_file(reading, path);
        let known = [&build];
        for item in &build.versions {
            let version = item.version.as_ref().map(|it| expand(it, &known));
            draft.want(&item.name, version, Purpose::Workspace);
        }
        for item in &build.global {
            let version = item.version.as_ref().map(|it| expand(it, &known));
            draft.want(&item.name, version, Purpose::Development);
        }
        take_references(&build, &known, Purpose::Runtime, &mut draft);
        above.insert(path.to_owned(), build);
        reading.drafts.push(draft);
    }
    for path in reading.files(PackageFileFormat::DotnetProject) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::DotnetProject);
        let build = parse_file(reading, path);
        fill(reading, &build, &above, &mut draft);
        reading.drafts.push(draft);
    }
    reading.each(PackageFileFormat::DotnetPackages, fill_packages);
    for path in reading.files(PackageFileFormat::DotnetSolution) {
        read_solution(reading, path);
    }
}

fn parse_file(reading: &mut ManifestReader<'_>, path: &str) -> MsBuildFile {
    let build = reading.text(path).and_then(|text| {
        let build = parse(&text);
        reading.accept(path, build)
    });
    build.unwrap_or_default()
}

fn attribute(node: Node<'_, '_>, name: &str) -> Option<String> {
    let found = node.attributes().find(|attribute| attribute.name().eq_ignore_ascii_case(name));
    found.map(|attribute| attribute.value().trim().to_owned()).filter(|value| !value.is_empty())
}

/// Returns a value written as an attribute or child element.
fn value(node: Node<'_, '_>, name: &str) -> Option<String> {
    attribute(node, name).or_else(|| {
        let child = node.children().find(|child| child.tag_name().name() == name)?;
        Some(child.text()?.trim().to_owned())
    })
}

fn item(node: Node<'_, '_>) -> Option<DotnetPackage> {
    let name = attribute(node, "Include").or_else(|| attribute(node, "Update"))?;
    let version = value(node, "VersionOverride").or_else(|| value(node, "Version"));
    let private = value(node, "PrivateAssets").is_some_and(|it| it.eq_ignore_ascii_case("all"));
    Some(DotnetPackage { name, version, private })
}

fn parse(xml: &str) -> Result<MsBuildFile, ManifestError> {
    let document = docent_xml::parse(xml)?;
    let mut build = MsBuildFile::default();
    for node in document.descendants().filter(Node::is_element) {
        let within =
            |name: &str| node.parent().is_some_and(|parent| parent.tag_name().name() == name);
        match node.tag_name().name() {
            "PackageReference" if attribute(node, "Include").is_some() => {
                build.references.extend(item(node));
            }
            "PackageVersion" => build.versions.extend(item(node)),
            "GlobalPackageReference" => build.global.extend(item(node)),
            "ProjectReference" => {
                let paths = attribute(node, "Include").unwrap_or_default();
                let paths = paths.split(';').map(str::trim).filter(|path| !path.is_empty());
                build.projects.extend(paths.map(str::to_owned));
            }
            "Import" => {
                let from = attribute(node, "Project").unwrap_or_default();
                let above = ["GetPathOfFileAbove", "..\\", "../"];
                build.imports_above |= above.iter().any(|part| from.contains(part));
            }
            name if within("PropertyGroup") => {
                let text = node.text().unwrap_or_default().trim();
                // A conditional value counts only if there is no other.
                let bound = attribute(node, "Condition").is_some()
                    || node.parent().is_some_and(|it| attribute(it, "Condition").is_some());
                if !(bound && build.properties.contains_key(name)) {
                    build.properties.insert(name.to_owned(), text.to_owned());
                }
            }
            _ => {}
        }
    }
    let names = build.versions.iter().enumerate();
    build.index = names.rev().map(|(at, item)| (item.name.to_lowercase(), at)).collect();
    Ok(build)
}

/// Returns the file with a name that applies to a folder, and those above that it imports.
fn nearest<'a>(above: &'a InheritedBuilds, folder: &str, name: &str) -> Vec<&'a MsBuildFile> {
    let files = outwards(folder).filter_map(|folder| above.get(&join(folder, name)?));
    let mut found: Vec<&MsBuildFile> = Vec::new();
    for build in files {
        if found.last().is_some_and(|last| !last.imports_above) {
            break;
        }
        found.push(build);
    }
    found
}

/// Expands `$(…)`; unknown properties stay as written.
fn expand(text: &str, known: &[&MsBuildFile]) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_PROPERTY_LOOKUPS {
        let mut expanded = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("$(") {
            let Some((name, after)) = after.split_once(')') else { break };
            let value = known.iter().find_map(|build| build.properties.get(name));
            expanded.push_str(before);
            match value {
                Some(value) => expanded.push_str(value),
                None => expanded.extend(["$(", name, ")"]),
            }
            rest = after;
        }
        expanded.push_str(rest);
        if expanded == text || expanded.len() > MAX_VALUE_BYTES {
            break;
        }
        text = expanded;
    }
    text
}

fn take_references(
    build: &MsBuildFile,
    known: &[&MsBuildFile],
    otherwise: Purpose,
    draft: &mut ManifestDraft,
) {
    for item in &build.references {
        let name = item.name.to_lowercase();
        let central = || {
            let mut lists = known.iter();
            lists.find_map(|build| build.versions.get(*build.index.get(&name)?))?.version.clone()
        };
        let version = item.version.clone().or_else(central).map(|it| expand(&it, known));
        let purpose = if item.private { Purpose::Development } else { otherwise };
        draft.want(expand(&item.name, known), version, purpose);
    }
}

fn fill(
    reading: &ManifestReader<'_>,
    build: &MsBuildFile,
    above: &InheritedBuilds,
    draft: &mut ManifestDraft,
) {
    let folder = draft.folder().to_owned();
    let mut known = vec![build];
    for name in ["Directory.Build.props", "Directory.Packages.props"] {
        known.extend(nearest(above, &folder, name));
    }
    let property = |name: &str| {
        let value = known.iter().find_map(|build| build.properties.get(name))?;
        let value = expand(value, &known);
        (!value.is_empty() && !value.contains("$(")).then_some(value)
    };
    let manifest = &mut draft.manifest;
    let own = |name: &str| property(name).filter(|_| build.properties.contains_key(name));
    let stem = name_of(&manifest.path).rsplit_once('.').map(|(stem, _)| stem.to_owned());
    manifest.name = own("PackageId").or_else(|| own("AssemblyName")).or(stem.clone());
    manifest.version = property("Version").or_else(|| {
        let prefix = property("VersionPrefix")?;
        Some(match property("VersionSuffix") {
            Some(suffix) => format!("{prefix}-{suffix}"),
            None => prefix,
        })
    });
    manifest.description = property("Description");
    manifest.licence = property("PackageLicenseExpression");
    let is_test = property("IsTestProject").is_some_and(|it| it.eq_ignore_ascii_case("true"))
        || build.references.iter().any(|item| item.name == TEST_PACKAGE)
        || stem.as_ref().is_some_and(|stem| TEST_ENDINGS.iter().any(|it| stem.ends_with(it)));
    let purpose = if is_test { Purpose::Development } else { Purpose::Runtime };
    take_references(build, &known, purpose, draft);
    for project in &build.projects {
        let path = project.replace('\\', "/").replace("$(MSBuildThisFileDirectory)", "");
        let target = join(&folder, &path).filter(|path| reading.has(path));
        let name = name_of(&path).rsplit_once('.').map_or(&*path, |(stem, _)| stem).to_owned();
        draft
            .wanted
            .push(RequestedDependency::new(name, Some(path), purpose).with_local_manifest(target));
    }
}

fn fill_packages(text: &str, draft: &mut ManifestDraft) -> Result<(), ManifestError> {
    let document = docent_xml::parse(text)?;
    for node in document.descendants().filter(|node| node.tag_name().name() == "package") {
        let Some(name) = attribute(node, "id") else { continue };
        let development = attribute(node, "developmentDependency");
        let development = development.is_some_and(|it| it.eq_ignore_ascii_case("true"));
        let purpose = if development { Purpose::Development } else { Purpose::Runtime };
        draft.want(name, attribute(node, "version"), purpose);
    }
    Ok(())
}

fn read_solution(reading: &mut ManifestReader<'_>, path: &str) {
    let mut draft = ManifestDraft::new(path, PackageFileFormat::DotnetSolution);
    let text = reading.text(path).unwrap_or_default();
    let projects = if path.rsplit_once('.').is_some_and(|(_, ending)| ending == "slnx") {
        reading.accept(path, solution_elements(&text)).unwrap_or_default()
    } else {
        // `Project("{kind}") = "Name", "path", "{identity}"`.
        let lines = text.lines().filter(|line| line.starts_with("Project("));
        lines.filter_map(|line| Some(line.split('"').nth(5)?.to_owned())).collect()
    };
    let members = projects.iter().filter_map(|it| join(folder_of(path), &it.replace('\\', "/")));
    let projects = members.filter(|member| {
        PackageFileFormat::by_path(member) == Some(PackageFileFormat::DotnetProject)
            && reading.has(member)
    });
    draft.manifest.members = projects.collect();
    draft.manifest.name = name_of(path).rsplit_once('.').map(|(stem, _)| stem.to_owned());
    reading.drafts.push(draft);
}

fn solution_elements(xml: &str) -> Result<Vec<String>, ManifestError> {
    let document = docent_xml::parse(xml)?;
    let projects = document.descendants().filter(|node| node.tag_name().name() == "Project");
    Ok(projects.filter_map(|node| attribute(node, "Path")).collect())
}

#[derive(Deserialize)]
struct NugetLockFile {
    #[serde(default)]
    dependencies: HashMap<String, HashMap<String, NugetLockedPackage>>,
}

#[derive(Deserialize)]
struct NugetLockedPackage {
    resolved: Option<String>,
}

/// Parses `packages.lock.json`, which has a list per framework; projects of this repository have no version.
pub(super) fn lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: NugetLockFile = serde_json::from_str(text)?;
    let mut fixed = LockedVersions::default();
    for (name, NugetLockedPackage { resolved }) in file.dependencies.into_values().flatten() {
        if let Some(version) = resolved {
            fixed.add(name.to_lowercase(), version);
        }
    }
    Ok(ParsedLockFile::single_version(fixed, str::to_lowercase))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn projects_solutions_and_central_versions() {
        check(
            &[
                (
                    "All.sln",
                    "Microsoft Visual Studio Solution File\r\nProject(\"{1}\") = \"App\", \"src\\App\\App.csproj\", \"{2}\"\r\nEndProject\r\n\
                     Project(\"{1}\") = \"docs\", \"docs\", \"{3}\"\r\nProject(\"{1}\") = \"Gone\", \"Gone.csproj\", \"{4}\"\r\n",
                ),
                ("New.slnx", "<Solution><Folder Name='/t/'><Project Path='check\\Check.fsproj'/></Folder></Solution>"),
                (
                    "Directory.Build.props",
                    "<Project><PropertyGroup><Version>4.0.$(Patch)</Version><Patch>2</Patch><PackageLicenseExpression>MIT</PackageLicenseExpression></PropertyGroup>\
                     <ItemGroup><PackageReference Include='Style.Analyzers' PrivateAssets='all'/></ItemGroup></Project>",
                ),
                (
                    "Directory.Packages.props",
                    "<Project><PropertyGroup><Json>13.0.3</Json></PropertyGroup><ItemGroup><PackageVersion Include='Newtonsoft.Json' Version='$(Json)'/>\
                     <GlobalPackageReference Include='Link' Version='8.0'/></ItemGroup></Project>",
                ),
                (
                    "src/App/App.csproj",
                    "<Project Sdk='Microsoft.NET.Sdk'><PropertyGroup><PackageId>Shop.App</PackageId><Description>Does it.</Description></PropertyGroup><ItemGroup>\
                     <PackageReference Include='newtonsoft.json'/><PackageReference Include='Serilog'><Version>3.1</Version></PackageReference>\
                     <PackageReference Update='Other' Version='1'/><ProjectReference Include='..\\Lib\\Lib.vbproj;\n  ..\\Gone\\Gone.csproj'/></ItemGroup></Project>",
                ),
                (
                    "src/App/packages.lock.json",
                    r#"{"version":1,"dependencies":{"net8.0":{"Newtonsoft.Json":{"type":"Direct","resolved":"13.0.3"},"Serilog":{"resolved":"3.1.1"},"lib":{"type":"Project"}},
                        "net9.0":{"Serilog":{"resolved":"3.1.1"}}}}"#,
                ),
                (
                    "src/Lib/Lib.vbproj",
                    "<Project xmlns='http://schemas.microsoft.com/developer/msbuild/2003'><PropertyGroup><Version>1.0</Version><Version Condition='x'>2.0</Version></PropertyGroup></Project>",
                ),
                ("src/App.Tests/App.Tests.csproj", "<Project><ItemGroup><PackageReference Include='Asserts'/></ItemGroup></Project>"),
                ("src/Lib/packages.config", "<packages><package id='Old' version='1.0'/><package id='Tool' version='2' developmentDependency='true'/></packages>"),
                (
                    "check/Check.fsproj",
                    "<Project><ItemGroup><PackageReference Include='Microsoft.NET.Test.Sdk' Version='17'/><PackageReference Include='Serilog' Version='3'/></ItemGroup></Project>",
                ),
            ],
            "All.sln | .NET nuget | All - | - | - | src/App/App.csproj | - | -
             Directory.Build.props | .NET nuget | - - | - | - | - | - | -
             + development Style.Analyzers - -
             Directory.Packages.props | .NET nuget | - - | - | - | - | - | -
             + development Link 8.0 -
             + workspace Newtonsoft.Json 13.0.3 -
             New.slnx | .NET nuget | New - | - | - | check/Check.fsproj | - | -
             check/Check.fsproj | .NET nuget | Check 4.0.2 | - | MIT | - | New.slnx | -
             + development Microsoft.NET.Test.Sdk 17 -
             + development Serilog 3 -
             src/App.Tests/App.Tests.csproj | .NET nuget | App.Tests 4.0.2 | - | MIT | - | - | -
             + development Asserts - -
             src/App/App.csproj | .NET nuget | Shop.App 4.0.2 | Does it. | MIT | - | All.sln | src/App/packages.lock.json
             + runtime newtonsoft.json 13.0.3 13.0.3
             + runtime Serilog 3.1 3.1.1
             + runtime Lib ../Lib/Lib.vbproj -
             + runtime Gone ../Gone/Gone.csproj -
             src/Lib/Lib.vbproj | .NET nuget | Lib 1.0 | - | MIT | - | - | -
             src/Lib/packages.config | .NET nuget | - - | - | - | - | - | -
             + runtime Old 1.0 -
             + development Tool 2 -
             = 4 direct, 5 development, 2 locked
             = src/App/App.csproj > src/Lib/Lib.vbproj
             = Serilog of .NET by 2
             = src/App/packages.lock.json of .NET with 2",
        );
    }
}
