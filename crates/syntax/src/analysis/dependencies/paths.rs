//! Paths of a repository: relative, with slashes, without `.` and `..`. The top folder is the empty path.

/// The folder that holds a path.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name of a file without its last ending.
pub(super) fn stem_of(path: &str) -> &str {
    let name = name_of(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether a file has this ending after its last dot.
pub(super) fn has_ending(path: &str, ending: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, found)| found == ending)
}

/// `path` as seen from `folder`; `None` where it leaves the repository.
pub(super) fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// `name` in `folder`; both are known to stay in the repository.
pub(super) fn within(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else if name.is_empty() {
        folder.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// A folder and those around it, innermost first, the top folder last.
pub(super) fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| (!folder.is_empty()).then(|| folder_of(folder)))
}

/// What is left of `path` below `folder`.
pub(super) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() {
        return Some(path);
    }
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// How many folders two paths share.
pub(super) fn shared_folder_count(a: &str, b: &str) -> usize {
    a.split('/').zip(b.split('/')).take_while(|(a, b)| a == b).count()
}

/// Of several paths, the one that is nearest to `from`; of equally near ones the first.
pub(super) fn nearest<'a>(from: &str, paths: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for path in paths {
        let near = shared_folder_count(from, path);
        if best.is_none_or(|(other, _)| near > other) {
            best = Some((near, path));
        }
    }
    best.map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_within_the_repository() {
        let cases = [
            ("a/b", "./c", Some("a/b/c")),
            ("a/b", "../c/./d", Some("a/c/d")),
            ("", "x", Some("x")),
            ("a", "..", Some("")),
            ("a", "../..", None),
        ];
        for (folder, path, want) in cases {
            assert_eq!(join(folder, path).as_deref(), want, "{folder} {path}");
        }
        assert_eq!(upwards("a/b").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(below("a/bc", "a/b"), None);
        assert_eq!(below("a/b/c", "a/b"), Some("c"));
        assert_eq!(nearest("m/a/x", ["n/a/y", "m/b/y"].into_iter()), Some("m/b/y"));
    }
}
