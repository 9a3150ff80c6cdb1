//! Maven: `pom.xml` with data from parents in this repository: properties, versions, managed dependencies.

use super::{
    super::{
        report::Purpose,
        tree::{folder_of, join},
    },
    format::PackageFileFormat,
    reading::{ManifestDraft, ManifestError, ManifestReader, on_one_line},
};
use docent_xml::Node;
use std::collections::HashMap;

/// Maximum number of parents to follow.
const MAX_PARENTS: usize = 16;

/// Maximum number of nested property lookups.
const MAX_PROPERTY_LOOKUPS: usize = 8;

/// Maximum length of an expanded value: mutually recursive properties would grow without end.
const MAX_VALUE_BYTES: usize = 1_000;

/// A dependency as written.
#[derive(Debug, Default, Clone)]
struct MavenDependency {
    group: String,
    artifact: String,
    version: Option<String>,
    scope: Option<String>,
    kind: Option<String>,
    optional: bool,
}

/// A manifest before its parents are resolved.
#[derive(Debug, Default)]
struct Pom {
    group: Option<String>,
    artifact: Option<String>,
    version: Option<String>,
    description: Option<String>,
    licence: Option<String>,
    /// Group, artifact and version of the parent.
    parent: Option<[String; 3]>,
    /// Path where the parent is expected.
    parent_path: Option<String>,
    properties: HashMap<String, String>,
    modules: Vec<String>,
    entries: Vec<MavenDependency>,
    managed: Vec<MavenDependency>,
}

/// Dependencies managed for a manifest and its children.
#[derive(Debug, Default)]
struct ManagedDependencies {
    /// Index in its list, by package.
    by_name: HashMap<String, usize>,
    /// Manifests of this repository whose managed dependencies it imports.
    imports: Vec<String>,
}

/// All manifests, by path and by name.
#[derive(Debug, Default)]
struct Poms {
    all: HashMap<String, Pom>,
    by_name: HashMap<(String, String), String>,
    managed: HashMap<String, ManagedDependencies>,
}

/// Reads every `pom.xml`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let paths = reading.files(PackageFileFormat::Pom);
    let mut poms = Poms::default();
    for path in &paths {
        let pom = reading.text(path).and_then(|text| {
            let pom = parse(&text);
            reading.accept(path, pom)
        });
        let pom = pom.unwrap_or_default();
        let group = pom.group.clone().or_else(|| Some(pom.parent.as_ref()?[0].clone()));
        if let (Some(group), Some(artifact)) = (group, pom.artifact.clone()) {
            poms.by_name.entry((group, artifact)).or_insert_with(|| (*path).to_owned());
        }
        poms.all.insert((*path).to_owned(), pom);
    }
    for path in &paths {
        let managed = poms.list_managed(path);
        poms.managed.insert((*path).to_owned(), managed);
    }
    for path in &paths {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::Pom);
        if !reading.is_over() {
            fill(path, &poms, &mut draft);
        }
        reading.drafts.push(draft);
    }
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn text(node: Node<'_, '_>, name: &str) -> Option<String> {
    let text = child(node, name)?.text()?.trim();
    (!text.is_empty()).then(|| on_one_line(text))
}

fn elements<'a>(node: Option<Node<'a, 'a>>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.into_iter().flat_map(|node| node.children()).filter(Node::is_element)
}

fn parse(xml: &str) -> Result<Pom, ManifestError> {
    let document = docent_xml::parse(xml)?;
    let root = document.root_element();
    if root.tag_name().name() != "project" {
        return Err(ManifestError::Other("a Maven project: its root element is not `project`"));
    }
    let licences: Vec<_> =
        elements(child(root, "licenses")).filter_map(|licence| text(licence, "name")).collect();
    let parent = child(root, "parent");
    let relative = parent.and_then(|parent| child(parent, "relativePath"));
    let profiles = elements(child(root, "profiles")).map(|profile| child(profile, "modules"));
    let modules = std::iter::once(child(root, "modules")).chain(profiles).flat_map(elements);
    let managed = child(root, "dependencyManagement");
    Ok(Pom {
        group: text(root, "groupId"),
        artifact: text(root, "artifactId"),
        version: text(root, "version"),
        description: text(root, "description"),
        licence: (!licences.is_empty()).then(|| licences.join(" OR ")),
        parent: parent.map(|parent| {
            ["groupId", "artifactId", "version"].map(|key| text(parent, key).unwrap_or_default())
        }),
        parent_path: relative.map(|path| path.text().unwrap_or_default().trim().to_owned()),
        properties: elements(child(root, "properties"))
            .filter_map(|property| {
                let value = property.text()?.trim().to_owned();
                Some((property.tag_name().name().to_owned(), value))
            })
            .collect(),
        modules: modules.filter_map(|module| Some(module.text()?.trim().to_owned())).collect(),
        entries: entries(child(root, "dependencies")),
        managed: entries(managed.and_then(|managed| child(managed, "dependencies"))),
    })
}

fn entries(list: Option<Node<'_, '_>>) -> Vec<MavenDependency> {
    let entry = |node: Node<'_, '_>| {
        Some(MavenDependency {
            group: text(node, "groupId")?,
            artifact: text(node, "artifactId")?,
            version: text(node, "version"),
            scope: text(node, "scope"),
            kind: text(node, "type"),
            optional: text(node, "optional").as_deref() == Some("true"),
        })
    };
    elements(list).filter_map(entry).collect()
}

impl Poms {
    /// Returns the parent of a manifest, if it is in this repository.
    fn parent(&self, path: &str) -> Option<&str> {
        let pom = self.all.get(path)?;
        let [group, artifact, _] = pom.parent.as_ref()?;
        let named = self.by_name.get(&(group.clone(), artifact.clone()));
        let relative = pom.parent_path.as_deref().unwrap_or("../pom.xml");
        let beside = module_path(folder_of(path), relative);
        let beside = beside.filter(|beside| {
            let parent = self.all.get(beside);
            parent.is_some_and(|parent| parent.artifact.as_ref() == Some(artifact))
        });
        let found = beside.and_then(|beside| self.all.get_key_value(&beside));
        found.map(|(path, _)| path.as_str()).or(named.map(String::as_str))
    }

    /// Returns a manifest and its ancestors.
    fn chain(&self, path: &str) -> Vec<(&str, &Pom)> {
        let mut chain = Vec::new();
        let mut next = self.all.get_key_value(path).map(|(path, _)| path.as_str());
        while let Some(path) = next.filter(|_| chain.len() < MAX_PARENTS) {
            chain.extend(self.all.get(path).map(|pom| (path, pom)));
            next = self.parent(path);
        }
        chain
    }

    fn list_managed(&self, path: &str) -> ManagedDependencies {
        let chain = self.chain(path);
        let mut managed = ManagedDependencies::default();
        let Some((_, pom)) = chain.first() else { return managed };
        for (at, entry) in pom.managed.iter().enumerate() {
            let [group, artifact] = [&entry.group, &entry.artifact].map(|it| expand(it, &chain));
            if entry.scope.as_deref() == Some("import") && entry.kind.as_deref() == Some("pom") {
                managed.imports.extend(self.by_name.get(&(group, artifact)).cloned());
            } else {
                managed.by_name.entry(format!("{group}:{artifact}")).or_insert(at);
            }
        }
        managed
    }

    /// Returns version and scope of a package managed or imported by a manifest or its ancestors; the nearest wins.
    fn managed(&self, name: &str, chain: &[(&str, &Pom)]) -> Option<[Option<String>; 2]> {
        let listed = |path: &str, pom: &Pom, chain: &[(&str, &Pom)]| {
            let entry = pom.managed.get(*self.managed.get(path)?.by_name.get(name)?)?;
            // Children may override a parent's properties, so the whole chain is searched.
            let version = entry.version.as_ref().map(|version| expand(version, chain));
            Some([version, entry.scope.clone()])
        };
        chain.iter().find_map(|(path, pom)| {
            listed(path, pom, chain).or_else(|| {
                self.managed.get(*path)?.imports.iter().find_map(|import| {
                    let imported = self.chain(import);
                    imported.iter().find_map(|(path, pom)| listed(path, pom, &imported))
                })
            })
        })
    }
}

/// Resolves a module: a folder with a `pom.xml`, or that file itself.
fn module_path(folder: &str, module: &str) -> Option<String> {
    let path = join(folder, &module.replace('\\', "/"))?;
    if path.rsplit_once('.').is_some_and(|(_, ending)| ending == "xml") {
        return Some(path);
    }
    Some(if path.is_empty() { "pom.xml".into() } else { format!("{path}/pom.xml") })
}

/// Expands `${…}` along a chain; unknown properties stay as written.
fn expand(text: &str, chain: &[(&str, &Pom)]) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_PROPERTY_LOOKUPS {
        let Some(next) = expand_once(&text, chain).filter(|next| next.len() <= MAX_VALUE_BYTES)
        else {
            break;
        };
        text = next;
    }
    text
}

fn expand_once(text: &str, chain: &[(&str, &Pom)]) -> Option<String> {
    let mut expanded = String::new();
    let mut changed = false;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}')?;
        expanded.push_str(before);
        if let Some(value) = property(name, chain) {
            expanded.push_str(&value);
            changed = true;
        } else {
            expanded.push_str("${");
            expanded.push_str(name);
            expanded.push('}');
        }
        rest = after;
    }
    expanded.push_str(rest);
    changed.then_some(expanded)
}

fn property(name: &str, chain: &[(&str, &Pom)]) -> Option<String> {
    let own = chain.iter().find_map(|(_, pom)| pom.properties.get(name));
    let of_project = |chain: &[(&str, &Pom)]| match name
        .strip_prefix("project.")
        .or_else(|| name.strip_prefix("pom."))
        .unwrap_or(name)
    {
        "version" | "parent.version" => version(chain),
        "groupId" | "parent.groupId" => group(chain),
        "artifactId" => chain.first()?.1.artifact.clone(),
        _ => None,
    };
    let chain = if name.contains("parent.") { chain.get(1..).unwrap_or_default() } else { chain };
    own.cloned().or_else(|| of_project(chain))
}

/// Version and group default to the parent's.
fn version(chain: &[(&str, &Pom)]) -> Option<String> {
    let (_, pom) = chain.first()?;
    pom.version.clone().or_else(|| Some(pom.parent.as_ref()?[2].clone()))
}

fn group(chain: &[(&str, &Pom)]) -> Option<String> {
    let (_, pom) = chain.first()?;
    pom.group.clone().or_else(|| Some(pom.parent.as_ref()?[0].clone()))
}

fn fill(path: &str, poms: &Poms, draft: &mut ManifestDraft) {
    let chain = poms.chain(path);
    let Some((_, pom)) = chain.first() else { return };
    let expanded = |text: String| expand(&text, &chain);
    let manifest = &mut draft.manifest;
    let artifact = pom.artifact.clone();
    manifest.name = artifact.map(|artifact| match group(&chain) {
        Some(group) => expanded(format!("{group}:{artifact}")),
        None => artifact,
    });
    manifest.version = version(&chain).filter(|version| !version.is_empty()).map(expanded);
    manifest.description = pom.description.clone().map(expanded);
    manifest.licence = chain.iter().find_map(|(_, pom)| pom.licence.clone());
    let modules = pom.modules.iter().filter_map(|it| module_path(folder_of(path), it));
    manifest.members = modules.filter(|module| poms.all.contains_key(module)).collect();
    for entry in &pom.entries {
        let name = expanded(format!("{}:{}", entry.group, entry.artifact));
        let [version, scope] = poms.managed(&name, &chain).unwrap_or_default();
        let version = entry.version.clone().map(expanded).or(version);
        let scope = entry.scope.clone().or(scope);
        draft.want(name, version, purpose(scope.as_deref(), entry.optional));
    }
    for entry in &pom.managed {
        let name = expanded(format!("{}:{}", entry.group, entry.artifact));
        draft.want(name, entry.version.clone().map(expanded), Purpose::Workspace);
    }
}

/// Returns the purpose of a dependency scope.
fn purpose(scope: Option<&str>, optional: bool) -> Purpose {
    match scope {
        Some("test") => Purpose::Development,
        Some("provided") => Purpose::Peer,
        _ if optional => Purpose::Optional,
        _ => Purpose::Runtime,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn modules_take_from_their_parent() {
        check(
            &[
                (
                    "pom.xml",
                    "<?xml version='1.0'?><project xmlns='http://maven.apache.org/POM/4.0.0'><groupId>org.a</groupId><artifactId>parent</artifactId><version>${revision}</version>
                     <description>\n  Does\n  all. </description><licenses><license><name>Apache-2.0</name></license></licenses>
                     <properties><revision>1.5</revision><junit.version>5.${minor}</junit.version><minor>10</minor><loop>${loop}</loop></properties>
                     <modules><module>core</module><module>web/pom.xml</module><module>gone</module></modules>
                     <dependencyManagement><dependencies>
                       <dependency><groupId>org.junit</groupId><artifactId>junit</artifactId><version>${junit.version}</version><scope>test</scope></dependency>
                       <dependency><groupId>org.a</groupId><artifactId>bom</artifactId><version>1</version><type>pom</type><scope>import</scope></dependency>
                     </dependencies></dependencyManagement></project>",
                ),
                (
                    "core/pom.xml",
                    "<project><parent><groupId>org.a</groupId><artifactId>parent</artifactId><version>1.5</version></parent><artifactId>core</artifactId>
                     <properties><minor>11</minor></properties><dependencies>
                       <dependency><groupId>org.junit</groupId><artifactId>junit</artifactId></dependency>
                       <dependency><groupId>org.log</groupId><artifactId>log</artifactId></dependency>
                       <dependency><groupId>jakarta</groupId><artifactId>servlet</artifactId><version>${loop}</version><scope>provided</scope></dependency>
                       <dependency><groupId>org.opt</groupId><artifactId>opt</artifactId><version>${unknown}</version><optional>true</optional></dependency>
                     </dependencies></project>",
                ),
                (
                    "web/pom.xml",
                    "<project><parent><groupId>org.a</groupId><artifactId>parent</artifactId><version>1.5</version></parent><groupId>org.web</groupId><artifactId>web</artifactId><version>2</version><dependencies>
                       <dependency><groupId>${project.parent.groupId}</groupId><artifactId>core</artifactId><version>${project.version}</version></dependency>
                     </dependencies></project>",
                ),
                (
                    "bom/pom.xml",
                    "<project><groupId>org.a</groupId><artifactId>bom</artifactId><version>1</version><dependencyManagement><dependencies>
                       <dependency><groupId>org.log</groupId><artifactId>log</artifactId><version>3.3</version></dependency>
                     </dependencies></dependencyManagement></project>",
                ),
            ],
            "pom.xml | Maven maven | org.a:parent 1.5 | Does all. | Apache-2.0 | core/pom.xml web/pom.xml | - | -
             + workspace org.junit:junit 5.10 -
             + workspace org.a:bom 1 -
             bom/pom.xml | Maven maven | org.a:bom 1 | - | - | - | - | -
             + workspace org.log:log 3.3 -
             core/pom.xml | Maven maven | org.a:core 1.5 | - | Apache-2.0 | - | pom.xml | -
             + runtime org.log:log 3.3 -
             + optional org.opt:opt ${unknown} -
             + peer jakarta:servlet ${loop} -
             + development org.junit:junit 5.11 -
             web/pom.xml | Maven maven | org.web:web 2 | - | Apache-2.0 | - | pom.xml | -
             + runtime org.a:core 2 -
             = 3 direct, 1 development, 0 locked
             = web/pom.xml > core/pom.xml",
        );
    }

    #[test]
    fn properties_that_grow_are_left() {
        let properties: Vec<_> =
            (0..40).map(|at| format!("<p{at}>${{p{0}}}${{p{0}}}</p{at}>", at + 1)).collect();
        let properties = properties.join("");
        let pom = format!(
            "<project><artifactId>a</artifactId><version>${{p0}}</version><properties>{properties}<p40>x</p40></properties></project>"
        );
        let folder = super::super::tests::folder(&[("pom.xml", pom.as_bytes())]);
        let packages =
            super::super::read(&crate::repo::tree::ProjectTree::of(folder.path()), &|| false);
        let version = packages.manifests[0].version.as_deref().unwrap();
        assert!(version.len() <= super::MAX_VALUE_BYTES, "{}", version.len());
    }
}
