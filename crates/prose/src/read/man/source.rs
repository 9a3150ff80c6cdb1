//! Preprocesses a page's lines: removes comments, evaluates conditions, expands strings and macros.
//!
//! The result is text lines and macro lines with arguments. Independent of macro packages.

use super::{
    condition::{self, ManDefinitions},
    escape::named,
};
use std::{cell::Cell, collections::HashMap, rc::Rc};

/// Maximum depth of macro and string expansion.
const MAX_EXPANSION_DEPTH: usize = 10;
/// Maximum lines expanded from macros of a page.
const MAX_EXPANDED_LINES: usize = 50_000;
/// Maximum growth of a line by string expansion, in bytes.
const MAX_LINE_GROWTH_BYTES: usize = 64 << 10;

/// Maximum bytes inserted by strings of a page.
const MAX_STRING_BYTES: usize = 16 << 20;

/// A line of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ManLine {
    /// Text, with escapes.
    Text(String),
    /// A request or a macro, with its arguments.
    Macro(String, Vec<String>),
}

/// Strings that macro packages define.
const STRINGS: &[(&str, &str)] = &[
    ("R", "\\(rg"),
    ("Tm", "\\(tm"),
    ("lq", "\\(lq"),
    ("rq", "\\(rq"),
    ("S", ""),
    ("Ba", "|"),
    ("Ne", "\\(!="),
    ("Ge", "\\(>="),
    ("Le", "\\(<="),
    ("Gt", ">"),
    ("Lt", "<"),
    ("Pm", "\\(+-"),
    ("Na", "NaN"),
    ("If", "\\(if"),
    ("q", "\\(dq"),
    ("Am", "&"),
    ("aq", "\\(aq"),
    ("Px", "POSIX"),
    ("Ai", "ANSI"),
    ("Pi", "\\(*p"),
    ("Lq", "\\(lq"),
    ("Rq", "\\(rq"),
    ("ua", "\\(ua"),
    (".T", "utf8"),
];

/// A source of lines: the page itself, or the body of a macro with its arguments.
#[derive(Debug)]
struct ManInput<'a> {
    lines: ManInputLines<'a>,
    arguments: Option<Rc<[String]>>,
}

#[derive(Debug)]
enum ManInputLines<'a> {
    Page(std::str::Lines<'a>),
    Macro(Rc<[String]>, usize),
}

/// Reads a page line by line.
#[derive(Debug)]
pub(super) struct ManSource<'a> {
    frames: Vec<ManInput<'a>>,
    /// A line that passed a condition.
    pending: Option<String>,
    strings: HashMap<String, String>,
    registers: HashMap<String, i64>,
    macros: HashMap<String, Rc<[String]>>,
    /// Results of `.ie` that wait for their `.el`.
    answers: Vec<bool>,
    expanded: usize,
    /// Bytes inserted by strings so far.
    spent: Cell<usize>,
    /// Names with a standard meaning, which the page cannot redefine.
    known: fn(&str) -> bool,
}

impl ManDefinitions for ManSource<'_> {
    fn defined(&self, name: &str) -> bool {
        self.strings.contains_key(name) || self.macros.contains_key(name) || (self.known)(name)
    }

    fn register(&self, name: &str) -> bool {
        self.registers.contains_key(name)
    }
}

impl<'a> ManSource<'a> {
    /// The lines of a text.
    pub(super) fn new(text: &'a str, known: fn(&str) -> bool) -> Self {
        let strings = STRINGS.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let registers = [(".g", 1), (".x", 1), (".y", 22), (".H", 24), (".V", 40), (".l", 1872)];
        Self {
            frames: vec![ManInput { lines: ManInputLines::Page(text.lines()), arguments: None }],
            pending: None,
            strings: strings.collect(),
            registers: registers.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            macros: HashMap::new(),
            answers: Vec::new(),
            expanded: 0,
            spent: Cell::new(0),
            known,
        }
    }

    /// The next line as it is written, with those that it is continued on.
    fn raw(&mut self) -> Option<String> {
        if let Some(line) = self.pending.take() {
            return Some(line);
        }
        let mut line = self.physical()?;
        while continues(&line) && line.len() < MAX_LINE_GROWTH_BYTES {
            line.pop();
            match self.physical() {
                Some(more) => line.push_str(&more),
                None => break,
            }
        }
        Some(line)
    }

    fn physical(&mut self) -> Option<String> {
        loop {
            let frame = self.frames.last_mut()?;
            let line = match &mut frame.lines {
                ManInputLines::Page(lines) => lines.next().map(str::to_owned),
                ManInputLines::Macro(lines, at) => {
                    *at += 1;
                    lines.get(*at - 1).cloned()
                }
            };
            let Some(line) = line else {
                self.frames.pop();
                continue;
            };
            let arguments = frame.arguments.clone();
            return Some(match arguments {
                Some(arguments) if line.contains("\\$") => with_arguments(&line, &arguments),
                _ => line,
            });
        }
    }

    /// The lines up to one that starts with `end`, strings put in; for tables and equations.
    pub(super) fn until(&mut self, end: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.raw() {
            if line.starts_with(end) {
                break;
            }
            if !is_comment(&line) {
                lines.push(self.interpolate(&line));
            }
        }
        lines
    }

    /// The next line with content.
    pub(super) fn next(&mut self) -> Option<ManLine> {
        loop {
            let raw = self.raw()?;
            if is_comment(&raw) {
                continue;
            }
            let line = strip_comment(&raw);
            let Some(request) = line.strip_prefix(['.', '\'']) else {
                return Some(ManLine::Text(self.interpolate(line)));
            };
            if let Some(line) = self.request(request) {
                return Some(line);
            }
        }
    }

    /// Executes a request, or passes on lines that are not roff requests.
    fn request(&mut self, request: &str) -> Option<ManLine> {
        let request = request.trim_start_matches([' ', '\t']);
        let end = request.find([' ', '\t', '\\']).unwrap_or(request.len());
        let (name, rest) = request.split_at(end);
        match name {
            "" if request.starts_with("\\*") || request.starts_with("\\n") => {
                let line = self.interpolate(request);
                let end = line.find([' ', '\t', '\\']).unwrap_or(line.len());
                let (name, rest) = line.split_at(end);
                return self.call(name, rest);
            }
            // `.\}` and `.\"` without other content.
            "" => {}
            "if" | "ie" | "while" => self.branch(name, rest),
            "el" => {
                let taken = self.answers.pop().unwrap_or(true);
                self.take(!taken, rest);
            }
            "do" | "nop" => return self.next_from(rest.trim_start()),
            "ds" | "as" | "ds1" | "as1" => self.define_string(name.starts_with('a'), rest),
            "nr" => self.define_register(rest),
            "de" | "de1" | "dei" | "am" | "am1" => self.define_macro(rest),
            "ig" => {
                let end = rest.trim();
                let end = if end.is_empty() { ".".to_owned() } else { end.to_owned() };
                self.body(&end);
            }
            "als" => {
                let mut names = rest.split_whitespace();
                if let (Some(new), Some(old)) = (names.next(), names.next()) {
                    let body = self.macros.get(old).cloned();
                    // A macro of the package under another name calls the package's.
                    let body = body.unwrap_or_else(|| Rc::new([format!(".{old} \\$@")]));
                    self.macros.insert(new.to_owned(), body);
                }
            }
            "rm" => {
                for name in rest.split_whitespace() {
                    self.macros.remove(name);
                    self.strings.remove(name);
                }
            }
            _ => {
                let rest = self.interpolate(rest);
                return self.call(name, &rest);
            }
        }
        None
    }

    /// A line contained in another.
    fn next_from(&mut self, line: &str) -> Option<ManLine> {
        if line.starts_with(['.', '\'']) {
            self.pending = Some(line.to_owned());
            return None;
        }
        let text = self.interpolate(line);
        let first = text.split_whitespace().next().unwrap_or_default();
        if self.macros.contains_key(first) { None } else { Some(ManLine::Text(text)) }
    }

    /// Expands a macro of the page; passes on any other.
    fn call(&mut self, name: &str, rest: &str) -> Option<ManLine> {
        let arguments = arguments(rest);
        if !(self.known)(name)
            && let Some(body) = self.macros.get(name).cloned()
        {
            if self.frames.len() < MAX_EXPANSION_DEPTH && self.expanded < MAX_EXPANDED_LINES {
                self.expanded += body.len();
                let lines = ManInputLines::Macro(body, 0);
                self.frames.push(ManInput { lines, arguments: Some(arguments.into()) });
            }
            return None;
        }
        Some(ManLine::Macro(name.to_owned(), arguments))
    }

    fn branch(&mut self, name: &str, rest: &str) {
        let rest = self.interpolate(rest);
        let (answer, rest) = condition::split(&rest, self);
        let rest = rest.to_owned();
        if name == "ie" && self.answers.len() < 1000 {
            self.answers.push(answer);
        }
        // A loop is never entered: what it would write is unknown.
        self.take(answer && name != "while", &rest);
    }

    /// Reads or skips the body of a condition.
    fn take(&mut self, answer: bool, rest: &str) {
        let rest = rest.trim_start_matches([' ', '\t']);
        if answer {
            let rest = rest.strip_prefix("\\{").unwrap_or(rest);
            if !rest.trim().is_empty() {
                self.pending = Some(rest.trim_start_matches([' ', '\t']).to_owned());
            }
            return;
        }
        let mut depth = braces(rest);
        while depth > 0 {
            let Some(line) = self.raw() else { return };
            depth += braces(&line);
        }
    }

    fn define_string(&mut self, append: bool, rest: &str) {
        let rest = rest.trim_start();
        let (name, value) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        let value = value.trim_start_matches([' ', '\t']);
        let value = value.strip_prefix('"').unwrap_or(value);
        // Its own value is put in now, or it would contain itself.
        let value = self.interpolate(value).replace("\\\\", "\\");
        let string = self.strings.entry(name.to_owned()).or_default();
        if !append {
            string.clear();
        }
        if string.len() + value.len() <= MAX_LINE_GROWTH_BYTES {
            string.push_str(&value);
        }
    }

    fn define_register(&mut self, rest: &str) {
        let rest = self.interpolate(rest);
        let mut parts = rest.split_whitespace();
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { return };
        let number = condition::value(value.trim_start_matches('+'));
        let relative = value.starts_with(['+', '-']);
        let register = self.registers.entry(name.to_owned()).or_default();
        *register = if relative { register.saturating_add(number) } else { number };
    }

    fn define_macro(&mut self, rest: &str) {
        let mut names = rest.split_whitespace();
        let name = names.next().unwrap_or_default().to_owned();
        let end = names.next().unwrap_or(".").to_owned();
        let body = self.body(&end);
        if self.macros.len() < 1000 {
            self.macros.insert(name, body.into());
        }
    }

    /// The lines up to `.end`, as they are kept: with half of their backslashes.
    fn body(&mut self, end: &str) -> Vec<String> {
        let mut body = Vec::new();
        while let Some(line) = self.raw() {
            let ends = line.strip_prefix(['.', '\'']).is_some_and(|rest| {
                let rest = rest.trim_start();
                rest.strip_prefix(end)
                    .is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t', '\\']))
            });
            if ends {
                break;
            }
            body.push(line.replace("\\\\", "\\"));
        }
        body
    }

    /// Expands strings and registers.
    fn interpolate(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for _ in 0..MAX_EXPANSION_DEPTH {
            if !line.contains("\\*") && !line.contains("\\n") {
                break;
            }
            let next = self.interpolate_once(&line);
            let spent = self.spent.get() + next.len();
            if next == line
                || next.len() > MAX_LINE_GROWTH_BYTES.max(line.len())
                || spent > MAX_STRING_BYTES
            {
                break;
            }
            self.spent.set(spent);
            line = next;
        }
        line
    }

    fn interpolate_once(&self, line: &str) -> String {
        let mut out = String::with_capacity(line.len());
        let mut rest = line.chars();
        while let Some(c) = rest.next() {
            if c != '\\' {
                out.push(c);
                continue;
            }
            if out.len() > line.len() + MAX_LINE_GROWTH_BYTES {
                // The line has outgrown its bound, and is thrown away.
                return out;
            }
            match rest.next() {
                Some('*') => {
                    let name = named(&mut rest);
                    let name = name.split(' ').next().unwrap_or_default();
                    out.push_str(self.strings.get(name).map(String::as_str).unwrap_or_default());
                }
                Some('n') => {
                    if rest.as_str().starts_with(['+', '-']) {
                        rest.next();
                    }
                    let name = named(&mut rest);
                    let value = match name.as_str() {
                        ".$" => self.frames.last().and_then(|frame| frame.arguments.as_ref()),
                        _ => None,
                    };
                    let value = value.and_then(|arguments| i64::try_from(arguments.len()).ok());
                    let value =
                        value.or_else(|| self.registers.get(&name).copied()).unwrap_or_default();
                    out.push_str(&value.to_string());
                }
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => out.push('\\'),
            }
        }
        out
    }
}

fn braces(line: &str) -> isize {
    let count = |mark: &str| isize::try_from(line.matches(mark).count()).unwrap_or_default();
    count("\\{") - count("\\}")
}

/// Whether a line ends in a backslash that is not itself escaped.
fn continues(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

fn is_comment(line: &str) -> bool {
    let request = line.strip_prefix(['.', '\'']).map(|rest| rest.trim_start_matches([' ', '\t']));
    request.unwrap_or(line).starts_with("\\\"")
        || request.is_some_and(str::is_empty)
        || line.starts_with("\\#")
}

/// Removes a comment.
fn strip_comment(line: &str) -> &str {
    let mut from = 0;
    while let Some(at) = line.get(from..).and_then(|rest| rest.find('\\')) {
        let at = from + at;
        let rest = line.get(at + 1..).unwrap_or_default();
        if rest.starts_with(['"', '#']) {
            return line.get(..at).unwrap_or_default().trim_end_matches([' ', '\t']);
        }
        from = at + 1 + rest.chars().next().map_or(0, char::len_utf8);
    }
    line
}

/// Splits arguments: words or quoted text.
fn arguments(rest: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut chars = rest.chars().peekable();
    loop {
        while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        if chars.peek().is_none() {
            return all;
        }
        let mut argument = String::new();
        let quoted = chars.next_if_eq(&'"').is_some();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted && chars.next_if_eq(&'"').is_some() => argument.push('"'),
                '"' if quoted => break,
                ' ' | '\t' if !quoted => break,
                '\\' => {
                    argument.push('\\');
                    argument.extend(chars.next());
                }
                c => argument.push(c),
            }
        }
        all.push(argument);
    }
}

/// A line of a macro with the arguments of its call.
fn with_arguments(line: &str, arguments: &[String]) -> String {
    let mut parts = line.split("\\$");
    let mut out = parts.next().unwrap_or_default().trim_end_matches('\\').to_owned();
    for part in parts {
        let mut rest = part.chars();
        let name = named(&mut rest);
        match name.as_str() {
            "*" => out.push_str(&arguments.join(" ")),
            "@" => {
                let quoted: Vec<String> = arguments
                    .iter()
                    .map(|argument| format!("\"{}\"", argument.replace('"', "\"\"")))
                    .collect();
                out.push_str(&quoted.join(" "));
            }
            name => {
                let at = name.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
                let argument = at.and_then(|at| arguments.get(at));
                out.push_str(argument.map(String::as_str).unwrap_or_default());
            }
        }
        out.push_str(rest.as_str());
        if out.len() > MAX_LINE_GROWTH_BYTES {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        let mut source = ManSource::new(text, |name| name == "SH");
        let mut lines = Vec::new();
        while let Some(line) = source.next() {
            lines.push(match line {
                ManLine::Text(text) => text,
                ManLine::Macro(name, arguments) => format!(".{name}({})", arguments.join(";")),
            });
        }
        assert_eq!(lines.join("/"), want, "{text}");
    }

    #[test]
    fn roff_is_done_with_before_macros_are_read() {
        check(
            ".\\\" comment\n'\\\" t\ntext \\\" more\n.SH \"A \"\"B\"\"\" c\\ d",
            "text/.SH(A \"B\";c\\ d)",
        );
        check(".ds x one\n.ds y \\*x two\n\\*y and \\*[x]", "one two and one");
        check(".ie n \\{\\\n.B yes\n.\\}\n.el \\{\\\n.B no\n.\\}\nend", ".B(yes)/end");
        check(".ie t a\n.el b\n.if !n c\n.if \\n(.g d", "b/d");
        check(".de Xx\n.B \\\\$1 \\\\n(.$\ntext\n..\n.Xx \"a b\" c\nafter", ".B(a;b;2)/text/after");
        check(".de SH\nno\n..\n.SH x", ".SH(x)");
        check(".ig\nno\n..\nyes", "yes");
        check(".ig zz\nno\n..\n.zz\nyes", "yes");
        check("one\\\ntwo", "onetwo");
        check(".als Aa Bb\n.Aa x y", ".Bb(x;y)");
        check(".nr x 3\n.nr x +2\n.if \\nx=5 five", "five");
        check(".de X\n.X\n..\n.X\nend", "end");
    }

    #[test]
    fn what_calls_itself_ends() {
        check(".ds a \\\\*b\n.ds b \\\\*a\nx\\*a", "x\\*a");
        let doubling: Vec<String> =
            (0..60).map(|n| format!(".ds s{n} \\\\*[s{}]\\\\*[s{}]", n - 1, n - 1)).collect();
        let text = format!(".ds s-1 xx\n{}\n\\*[s59]", doubling.join("\n"));
        let mut source = ManSource::new(&text, |_| false);
        let Some(ManLine::Text(line)) = source.next() else { panic!("a line") };
        assert!(line.len() <= 2 * MAX_LINE_GROWTH_BYTES, "{}", line.len());
        check(".if n \\{\nnever closed", "never closed");
        check(".if t \\{\nnever closed", "");
        check(".de X\nnever closed", "");
    }
}
