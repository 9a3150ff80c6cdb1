//! Problems in a file or an entry, described so that a person can fix them.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// A problem: where, what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryProblem {
    /// The file, if known.
    pub file: Option<PathBuf>,
    /// The entry: a server's name.
    pub entry: Option<String>,
    /// The field of the entry, as written.
    pub field: Option<String>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl EntryProblem {
    /// Creates a problem without a location.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { file: None, entry: None, field: None, what: what.into(), remedy: remedy.into() }
    }

    /// Creates the problem of an unset variable.
    pub fn unset_variable(name: &str) -> Self {
        let remedy = format!("set {name}, or write a default: ${{{name}:-…}}");
        Self::new(format!("the variable {name} is not set"), remedy)
    }

    /// Sets the file.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    /// Sets the entry.
    #[must_use]
    pub fn in_entry(mut self, entry: &str) -> Self {
        self.entry = Some(entry.to_owned());
        self
    }

    /// Sets the field.
    #[must_use]
    pub fn in_field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }
}

impl fmt::Display for EntryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        match (&self.entry, &self.field) {
            (Some(entry), Some(field)) => write!(f, "{entry:?}, `{field}`: ")?,
            (Some(entry), None) => write!(f, "{entry:?}: ")?,
            (None, Some(field)) => write!(f, "`{field}`: ")?,
            (None, None) => {}
        }
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for EntryProblem {}
