//! Expands variables in a server's strings. An unset variable is a problem, never an empty string.

use crate::{
    problem::EntryProblem,
    server::{EntryTransport, McpServerEntry, Requirement},
    template::{TemplatePiece, VariableName, needs, pieces},
};

/// Expands the variables of a server. `lookup` gets the name of a variable, `input:ID`, or an editor's variable such as
/// `workspaceFolder`.
///
/// An unset or empty variable with a default gets the default. The resulting strings are not templates any more: a `${`
/// in them is literal. Secret files are not read yet: see [`crate::with_secrets`].
pub fn expand(
    server: &McpServerEntry,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<McpServerEntry, Vec<EntryProblem>> {
    let mut filler = VariableFiller { lookup, problems: Vec::new() };
    let mut full = server.clone();
    match &mut full.way {
        EntryTransport::Program { command, args, env, inherit, cwd } => {
            filler.fill("command", command);
            for arg in args {
                filler.fill("args", arg);
            }
            for (name, value) in env.iter_mut() {
                filler.fill(&format!("env.{name}"), value);
            }
            if let Some(cwd) = cwd {
                filler.fill("cwd", cwd);
            }
            for name in std::mem::take(inherit) {
                if let Some(value) = lookup(&name)
                    && !env.contains_key(&name)
                {
                    env.insert(name, value);
                }
            }
        }
        EntryTransport::Remote { url, headers, .. } => {
            filler.fill("url", url);
            for (name, value) in headers {
                filler.fill(&format!("headers.{name}"), value);
            }
        }
    }
    if let Some(path) = &mut full.env_file {
        filler.fill("env_file", path);
    }
    for secret in &mut full.secrets {
        filler.fill("file", &mut secret.path);
    }
    let mut problems = filler.problems;
    check_characters(&full.way, &mut problems);
    if problems.is_empty() {
        return Ok(full);
    }
    Err(problems.into_iter().map(|problem| problem.in_entry(&server.name)).collect())
}

/// Expands the variables of one string.
pub fn expand_text(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, EntryProblem> {
    let mut filler = VariableFiller { lookup, problems: Vec::new() };
    let mut full = text.to_owned();
    filler.fill("", &mut full);
    filler.problems.into_iter().next().map_or(Ok(full), Err)
}

impl McpServerEntry {
    /// Lists what the server requires before it can be used, without duplicates.
    pub fn needs(&self) -> Vec<Requirement> {
        let mut all = Vec::new();
        let mut add = |template: &str| {
            for need in needs(template) {
                if !all.contains(&need) {
                    all.push(need);
                }
            }
        };
        match &self.way {
            EntryTransport::Program { command, args, env, cwd, .. } => {
                add(command);
                args.iter().chain(env.values()).chain(cwd).for_each(|text| add(text));
            }
            EntryTransport::Remote { url, headers, .. } => {
                add(url);
                headers.values().for_each(|text| add(text));
            }
        }
        let files = self.env_file.iter().chain(self.secrets.iter().map(|secret| &secret.path));
        files.clone().for_each(|path| add(path));
        all.extend(files.map(|path| Requirement::File(path.clone())));
        all
    }
}

struct VariableFiller<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<EntryProblem>,
}

impl VariableFiller<'_> {
    fn fill(&mut self, field: &str, template: &mut String) {
        let mut text = String::with_capacity(template.len());
        for piece in pieces(template) {
            match piece {
                TemplatePiece::Text(part) => text.push_str(part),
                TemplatePiece::Variable { named, default } => match self.value(named, default) {
                    Ok(value) => text.push_str(&value),
                    Err(problem) => self.problems.push(problem.in_field(field)),
                },
            }
        }
        *template = text;
    }

    fn value(
        &self,
        named: VariableName<'_>,
        default: Option<&str>,
    ) -> Result<String, EntryProblem> {
        let found = match named {
            VariableName::Variable(name) | VariableName::Editor(name) => (self.lookup)(name),
            VariableName::Input(id) => (self.lookup)(&format!("input:{id}")),
        };
        match (found, default) {
            (Some(value), None) => Ok(value),
            (Some(value), Some(_)) if !value.is_empty() => Ok(value),
            (_, Some(default)) => Ok(default.to_owned()),
            (None, None) => Err(missing_value(named)),
        }
    }
}

fn missing_value(named: VariableName<'_>) -> EntryProblem {
    match named {
        VariableName::Variable(name) => EntryProblem::unset_variable(name),
        VariableName::Input(id) => EntryProblem::new(
            format!("an editor asks its user for {id:?}, which docent does not do"),
            format!("write a variable such as ${{env:NAME}} instead of ${{input:{id}}}"),
        ),
        VariableName::Editor(name) => EntryProblem::new(
            format!("only an editor knows ${{{name}}}"),
            "write the path or the value itself",
        ),
    }
}

/// A line break in a header would start another header, and arguments can't contain a NUL.
fn check_characters(way: &EntryTransport, problems: &mut Vec<EntryProblem>) {
    let mut bad = |field: String, what: &str| {
        problems.push(EntryProblem::new(what, "remove it from the value").in_field(&field));
    };
    match way {
        EntryTransport::Program { command, args, env, cwd, .. } => {
            let texts = std::iter::once(("command", command))
                .chain(args.iter().map(|arg| ("args", arg)))
                .chain(cwd.iter().map(|cwd| ("cwd", cwd)));
            for (field, _) in texts.filter(|(_, text)| text.contains('\0')) {
                bad(field.to_owned(), "it contains a NUL character");
            }
            for (name, value) in env {
                if value.contains('\0') || name.contains(['\0', '=']) || name.is_empty() {
                    bad(
                        format!("env.{name}"),
                        "it contains a NUL character, or its name is not valid",
                    );
                }
            }
        }
        EntryTransport::Remote { headers, .. } => {
            for (name, value) in headers {
                let plain = |b: u8| b.is_ascii_graphic() && b != b':';
                if name.is_empty() || !name.bytes().all(plain) {
                    bad(format!("headers.{name}"), "it is not a valid header name");
                }
                if value.contains(['\r', '\n', '\0']) {
                    bad(format!("headers.{name}"), "it contains a line break or a NUL character");
                }
            }
        }
    }
}
